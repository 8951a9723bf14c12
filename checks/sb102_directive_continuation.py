"""A `\\` at the end of a `#SBATCH` line does not continue it.

sbatch drops the backslash and treats the next line like any other. If that holds further options without `#SBATCH`, it
is a command to the shell: its options are lost, so are all directives below it, without any message. A `\\` before
another `#SBATCH` line is harmless and useless.

An error where sbatch then refuses the script or options are lost; advice for a backslash that does nothing.

## Fix

Makes each continued line a `#SBATCH` line of its own, and removes the backslashes. Safe; unsafe where the continued
line is a comment, which may have been switched off.

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.continuations import Continuation, continuations
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, remove
from sbatchlint.slurm.versions import is_before
from sbatchlint.triggers import Written

CARD = Card(
    "SB102", "directive-continuation", severity="error", fix="always", since="0.1.0", alone=True,
    when=Written("quoted", "dropped"), seen="runs of Slurm 22.05 and 26.05",
)  # fmt: skip

REFUSED_SINCE = "24.05"


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for continuation in continuations(job.directives):
        commented = any(piece.commented for piece in continuation.pieces)
        related = [
            (text.span(piece.words, piece.last), "a comment" if piece.commented else "a command to the shell")
            for piece in continuation.pieces
        ]
        severity = None
        if continuation.swallowed:
            message = "`\\` does not continue a directive, so the options below run as a command"
            lost = [line for line in job.directives.unread if line.tokens and line.tokens[0].text[:1] == "-"]
            if lost:
                related.append((Span(lost[0].span.start, lost[-1].span.end), "not read"))
                message += ", where sbatch stops reading"
            message += "; start each line with #SBATCH"
        elif commented:
            message = "`\\` does not continue a directive, so the options below it are only a comment"
            message += "; start each line with #SBATCH"
        else:
            refusing = tuple(version for version in job.versions.majors if not is_before(version, REFUSED_SINCE))
            if continuation.refused and refusing:
                when = job.versions.in_brackets(refusing)
                message = f"sbatch refuses the script{when}: `\\` turns the space after it into a word; "
                message += "remove the backslash"
            else:
                message, severity = "`\\` does not continue a directive; remove it", "info"
        yield Finding(
            text.span(continuation.backslash, continuation.backslash + 1),
            message,
            severity,
            related,
            _fix(job, continuation),
        )


def _fix(job: Job, continuation: Continuation) -> Fix:
    text = job.directives.text
    edits = [remove(text.span(continuation.start, continuation.end))]
    pieces = list(continuation.pieces)
    if pieces and continuation.start == continuation.line.words_start:
        # The directive is only the backslash: the first continued line takes its place.
        piece = pieces.pop(0)
        edits = [Edit(text.span(continuation.start, piece.words), " ")]
        if piece.last < piece.end:
            edits.append(remove(text.span(piece.last, piece.end)))
    for piece in pieces:
        edits.append(Edit(text.span(piece.start, piece.words), "#SBATCH "))
        if piece.last < piece.end:
            edits.append(remove(text.span(piece.last, piece.end)))
    title = "start each line with #SBATCH" if continuation.pieces else "remove the backslash"
    return Fix(title, edits, safe=not any(piece.commented for piece in continuation.pieces))


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
        fixed={
            "--time=5 \\": "--time=5",
            "        --mem=4G \\": "#SBATCH --mem=4G",
            "        --exclusive": "#SBATCH --exclusive",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «\\»
        #SBATCH --ntasks=4
        srun ./a.out
        """,
        fixed={"--nodes=2 \\": "--nodes=2"},
        severity="info",
        title="the next line is a directive anyway",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «\\»
        #       --mem=4G
        srun ./a.out
        """,
        unsafe_fixed={"--nodes=2 \\": "--nodes=2", "#      ": "#SBATCH"},
        title="the options became a comment",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2  # two \\\n#SBATCH --comment='a\\\\b' -J a\\\\\nsrun ./a.out \\\n  --steps=5\n"
    ),
]
