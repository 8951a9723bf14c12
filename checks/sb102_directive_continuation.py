"""A `\\` at the end of a `#SBATCH` line does not continue it.

sbatch drops the backslash and reads on with the next line as with any other. If that holds further options without
`#SBATCH`, it is a command to the shell: its options are lost, so are all directives below it, and nothing says so. A
`\\` in front of another `#SBATCH` line does no harm, and no good.

## Fix

Makes each continued line a `#SBATCH` line of its own, and takes the backslashes out. Safe; unsafe where the continued
line is a comment, which may have been switched off.

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, remove

CARD = Card("SB102", "directive-continuation", severity="error", fix="always", since="0.1.0")

REFUSED_SINCE = "24.05"


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for each in job.directives.continuations():
        span = text.span(each.backslash, each.backslash + 1)
        commented = [piece for piece in each.pieces if piece.commented]
        related = [
            (text.span(piece.words, piece.last), "a comment" if piece.commented else "a command to the shell")
            for piece in each.pieces
        ]
        severity = None
        if each.swallowed:
            message = "`\\` does not continue a directive, so the options below it are a command to the shell"
            lost = [line for line in job.directives.unread if line.tokens and line.tokens[0].text[:1] == "-"]
            if lost:
                related.append((Span(lost[0].span.start, lost[-1].span.end), "not read"))
                message += ", at which sbatch stops reading"
            message += "; write each line as a #SBATCH line of its own"
        elif commented:
            message = "`\\` does not continue a directive, so the options below it are only a comment"
            message += "; write each line as a #SBATCH line of its own"
        else:
            message = "`\\` does not continue a directive; remove it"
            severity = "warning"
            refused = _refusing(job) if each.refused else ()
            if refused:
                severity = None
                when = job.versions.in_brackets(refused)
                message = (
                    f"`\\` makes a word of the blank behind it, for which sbatch refuses the script{when}; remove it"
                )
        yield Finding(span, message, severity, related, _fix(text, each, safe=not commented))


def _refusing(job: Job) -> tuple[str, ...]:
    """The releases in which a backslash joins a blank to a word."""
    majors = job.versions.majors
    return tuple(each for each in majors if each >= REFUSED_SINCE)


def _fix(text: Any, continuation: Any, safe: bool) -> Fix:
    edits = [remove(text.span(continuation.start, continuation.end))]
    pieces = list(continuation.pieces)
    if pieces and continuation.start == continuation.line.words_start:
        # Nothing but the backslash: the first line takes its place.
        piece = pieces[0]
        edits = [Edit(text.span(continuation.start, piece.words), " ")]
        if piece.last < piece.end:
            edits.append(remove(text.span(piece.last, piece.end)))
        del pieces[0]
    for piece in pieces:
        edits.append(Edit(text.span(piece.start, piece.words), "#SBATCH "))
        if piece.last < piece.end:
            edits.append(remove(text.span(piece.last, piece.end)))
    title = "write a #SBATCH line for each" if continuation.pieces else "remove the backslash"
    return Fix(title, edits, safe)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=5 «\\»
                --mem=4G \\
                --exclusive
        #SBATCH --ntasks=2
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --time=5
        #SBATCH --mem=4G
        #SBATCH --exclusive
        #SBATCH --ntasks=2
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «\\»
        #SBATCH --ntasks=4
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks=4
        srun ./a.out
        """,
        severity="warning",
        title="the next line is a directive anyway",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «\\»
        #       --mem=4G
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --mem=4G
        srun ./a.out
        """,
        title="the options became a comment",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2  # two \\\n#SBATCH --comment='a\\\\b' -J a\\\\\nsrun ./a.out \\\n  --steps=5\n"
    ),
]
