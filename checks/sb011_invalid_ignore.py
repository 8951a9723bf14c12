"""An ignore comment has no effect: it is malformed.

A comment names the checks that it switches off, by code, name, prefix or group: `# sbatchlint: ignore[SB107] why`. One
without names would also hide what is found there next year, so it counts as a mistake. The words are `ignore` (this
line or the next), `ignore-file` (in the comments at the head), `disable` and `enable` (from here, to here).

## Fix

Corrects a word or a name where only one is similar, and puts codes that follow the word into brackets. A comment that
belongs at the head of the file is moved there.

## References

docs/ignoring.md
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, remove, replace
from sbatchlint.source.ignores import VERBS, IgnoreComment
from sbatchlint.triggers import IgnoreComments

CARD = Card(
    "SB011", "invalid-ignore", severity="error", fix="sometimes", since="0.1.0", alone=True, when=IgnoreComments(),
    seen="ruff 14531, ShellCheck 1391",
    unseen="Nothing in a log: it is about a comment for sbatchlint.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for comment in job.ignores:
        if comment.verb not in VERBS:
            near = comment.near
            written = f"'{comment.verb}'" if comment.verb else "this"
            message = f"sbatchlint has no comment {written}, so nothing is ignored; write "
            fix = Fix(f"write {near}", [replace(comment.verb_span, near)], safe=True) if near else None
            yield Finding(
                comment.verb_span if comment.verb else comment.span,
                f"{message}{near or 'ignore[...], ignore-file[...], or disable[...] and enable[...]'}",
                fix=fix,
            )
            continue
        problem = _problem(job, comment)
        if problem:
            yield Finding(comment.span, problem, fix=_fix(job, comment))
        for selector in comment.selectors or ():
            if not selector.codes:
                near = selector.near
                fix = Fix(f"write {near}", [replace(selector.span, near)], safe=True) if near else None
                hint = f"; did you mean {near}?" if near else "; `sbatchlint checks` lists them all"
                yield Finding(selector.span, f"no check or group is named '{selector.text}'{hint}", fix=fix)


def _problem(job: Job, comment: IgnoreComment) -> str:
    verb = comment.verb
    if comment.selectors is None:
        return f"nothing is ignored: no check is named; write {verb}[CODE], with codes or names of checks"
    if not comment.closed:
        return f"nothing is ignored: the closing `]` is missing; write {verb}[CODE]"
    if not comment.selectors:
        return f"nothing is ignored: the brackets are empty; name the checks, as in {verb}[SB107]"
    if verb == "ignore-file" and not comment.at_head:
        return "this comment works only at the top of the file; move it there, or write disable[...]"
    if verb == "enable":
        names = {selector.text for selector in comment.selectors}
        before = [other for other in job.ignores if other.verb == "disable" and other.span < comment.span]
        if not any(names & {selector.text for selector in other.selectors or ()} for other in before):
            return (
                "no disable[...] above names these checks; remove this comment, or write disable[...] where the range "
                "begins"
            )
    return ""


def _fix(job: Job, comment: IgnoreComment) -> Fix | None:
    """The fix that makes the comment effective, where its meaning is certain."""
    if comment.meant is not None:
        place, names = comment.meant
        return Fix(f"write {comment.verb}{names}", [replace(place, names)], safe=True)
    text, line = job.source.text, job.source.line_of(comment.span.start)
    late = comment.verb == "ignore-file" and comment.selectors and not comment.at_head
    if not late or not comment.own_line or not text.startswith("#!") or job.in_quoted_text(comment.span.start):
        return None
    if text[: line.start].endswith("\\\n"):
        return None  # inside a continued command
    head, whole = job.source.full_line(1).end, job.source.full_line(job.source.row(line.start))
    return Fix("move it to the top", [insert(head, job.source.slice(comment.span) + "\n"), remove(whole)], safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 2
        srun ./a.out  «# sbatchlint: ignore»
        """,
        title="no names",
    ),
    Bad(
        """\
        #!/bin/bash
        # sbatchlint: ignore[«invalid-cuont»]
        #SBATCH --nodes=two
        srun ./a.out
        """,
        fixed={"ignore[invalid-cuont]": "ignore[invalid-count]"},
        title="a name that no check has",
    ),
    Bad(
        """\
        #!/bin/bash
        # sbatchlint: «ignroe»[SB125]
        #SBATCH --nodes=two
        srun ./a.out
        """,
        fixed={"ignroe[SB125]": "ignore[SB125]"},
        title="an unknown word",
    ),
    Bad(
        """\
        #!/bin/bash
        «# sbatchlint: ignore[SB125, invalid-count: on purpose»
        #SBATCH -N two
        «# sbatchlint: ignore SB125 filled in later»
        #SBATCH -n four
        srun ./a.out
        """,
        fixed={"invalid-count:": "invalid-count]:", "ignore SB125": "ignore[SB125]"},
        title="not in brackets",
    ),
    Bad("#!/bin/bash\n«# sbatchlint: ignore[]»\n#SBATCH -N 2\nsrun ./a.out\n", title="empty"),
    Bad(
        "#!/bin/bash\n#SBATCH -N two\nsrun ./a.out\n«# sbatchlint: ignore-file[SB125]»\n",
        fixed="#!/bin/bash\n# sbatchlint: ignore-file[SB125]\n#SBATCH -N two\nsrun ./a.out\n",
        title="too late",
    ),
    Bad("#!/bin/bash\n#SBATCH -N 2\n«# sbatchlint: enable[SB107]»\nsrun ./a.out\n", title="nothing to enable"),
    Good("#!/bin/bash\n# sbatchlint: disable[SB1]\n#SBATCH -N=2\n# sbatchlint: enable[SB1]\nsrun ./a.out\n"),
    Good("#!/bin/bash\n# checked by sbatchlint: nothing found\n#SBATCH -N 2\nsrun ./a.out\n", title="prose"),
]
