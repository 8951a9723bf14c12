"""An ignore comment has no effect: the check that it names finds nothing there.

The mistake has been fixed, or the comment is in the wrong place. If it stays, it hides the next mistake of its kind.
Only checks that ran count: nothing is reported for a check that `--select` or the settings leave out.

## Fix

Removes the name from the comment, or the comment when no other name is left. A range (`disable`) is not removed, as its
`enable` would be left over.

## References

docs/ignoring.md
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, remove, replace
from sbatchlint.source.ignores import IgnoreComment, Selector
from sbatchlint.source.text import Span
from sbatchlint.triggers import IgnoreComments

CARD = Card(
    "SB010", "unused-ignore", severity="warning", fix="sometimes", since="0.1.0", alone=True, when=IgnoreComments(),
    whole_script=True, seen="ShellCheck 645 and its duplicates",
    unseen="Nothing in a log: it is about a comment for sbatchlint.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    by_comment: dict[Span, list[Selector]] = {}
    for comment, selector in job.unused_ignores:
        by_comment.setdefault(comment.span, []).append(selector)
    for comment in job.ignores:
        unused = by_comment.get(comment.span, [])
        if unused:
            names = ", ".join(selector.text for selector in unused)
            message = f"this comment is unused: {names} {'reports' if len(unused) == 1 else 'report'} nothing here"
            span = unused[0].span if comment.selectors != tuple(unused) else comment.span
            fix = None
            if comment.verb != "disable":
                fix = Fix(f"remove {names}", [_removal(job, comment, unused)], safe=True)
            yield Finding(span, f"{message}; remove it", fix=fix)


def _removal(job: Job, comment: IgnoreComment, unused: list[Selector]) -> Edit:
    """Removes the unused names from a comment; with the last one also the comment, and a line that holds only it."""
    assert comment.selectors is not None
    gone = {selector.span for selector in unused}
    remaining = [selector.text for selector in comment.selectors if selector.span not in gone]
    if remaining:
        return replace(Span(comment.selectors[0].span.start, comment.selectors[-1].span.end), ", ".join(remaining))
    source = job.source
    if comment.own_line:
        return remove(source.full_line(source.row(comment.span.start)))
    line = source.line_of(comment.span.start)
    before = source.text[line.start : comment.span.start]
    return remove(Span(line.start + len(before.rstrip()), comment.span.end))


CASES = [
    Bad(
        """\
        #!/bin/bash
        «# sbatchlint: ignore[short-option-equals] it was -N=2»
        #SBATCH -N 2
        srun ./a.out
        """,
        fixed={"# sbatchlint: ignore[short-option-equals] it was -N=2\n": ""},
    ),
    Bad(
        """\
        #!/bin/bash
        # sbatchlint: ignore[invalid-count, «SB108»]
        #SBATCH --nodes=two
        srun ./a.out
        """,
        fixed={"ignore[invalid-count, SB108]": "ignore[invalid-count]"},
        title="one of two",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 2
        srun ./a.out  «# sbatchlint: ignore[SB301]»
        """,
        fixed={"./a.out  # sbatchlint: ignore[SB301]": "./a.out"},
        title="at the end of a line",
    ),
    Bad(
        """\
        #!/bin/bash
        «# sbatchlint: disable[SB107]»
        #SBATCH -N 2
        # sbatchlint: enable[SB107]
        srun ./a.out
        """,
        title="a range",
    ),
    Good("#!/bin/bash\n# sbatchlint: ignore[SB107]\n#SBATCH -N=2\nsrun ./a.out\n", title="used"),
    Bad(
        """\
        #!/bin/bash
        sbatch <<'EOF'
        #!/bin/bash
        #SBATCH --nodes=1
        «# sbatchlint: ignore[SB107]»
        srun ./a.out
        EOF
        """,
        fixed={"# sbatchlint: ignore[SB107]\n": ""},
        title="in a script that this one submits",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cat > helper.sh <<'EOF'
        # sbatchlint: ignore[SB107] of no concern here
        # sbatchlint: ignore all
        EOF
        srun bash helper.sh
        """,
        title="in text that may be anything",
    ),
    Good("#!/bin/bash\n# sbatchlint: ignore-file[directives]\n#SBATCH -N=2\nsrun ./a.out\n", title="a group, used"),
]
