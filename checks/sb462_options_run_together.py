"""Two options are one word: a space is missing between them.

`--use_bn--save results` gives the program one option `--use_bn--save`, which it does not know: it ends with an error,
or ignores both. So does `--lr 0.1--epochs 5`, and a line that ends with `5\\` before one that begins with `--epochs`:
bash joins them, as it removes the backslash with its line break.

Not reported where the program's own text is known, as [SB628](program-refuses-arguments.md) reads that.

## Fix

Puts a space between the two. Unsafe: the program may have an option of this name.

## References

bash(1), "QUOTING": a backslash before a line break
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, known_prefix, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, shortened
from sbatchlint.job.programs import all_words
from sbatchlint.job.python.program import python_program
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB462", "options-run-together", severity="warning", fix="always", since="0.1.0",
    seen="a review of public scripts", unseen="An error of the program about an unknown option.",
)  # fmt: skip

_TWO = Regex(r"(--[A-Za-z](?:[\w.]|-(?!-))*\w(?:=\d[\d.]*)?)--[A-Za-z][\w-]{2,}(?:=.*)?")
_NUMBER = Regex(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)--[A-Za-z][\w-]{2,}(?:=.*)?")
_EITHER = Regex(r"\w--[A-Za-z]")


def check(job: Job) -> Iterator[Finding]:
    if not _EITHER.search(all_words(job)):
        return
    seen: set[Span] = set()
    for command in job.invocations:
        if has_trait(command.name, "text", "prints", "tells", "slurm") or command.name in ("echo", "printf"):
            continue
        finding = _finding(job, command)
        if finding is not None and finding.span not in seen:
            seen.add(finding.span)
            yield finding


def _finding(job: Job, command: Invocation) -> Finding | None:
    if command.children or python_program(job, command) is not None:
        return None  # the command that it starts has the words, too
    for at, field in enumerate(command.argv[1:], 1):
        before = command.words[at - 1]
        if before == "--" or before in ("-c", "-e"):
            return None
        found = _TWO.fullmatch(known_prefix(field))
        if found is None and before[:1] == "-" and text_of(field) is not None:
            found = _NUMBER.fullmatch(shown_text(field))
        if found is None:
            continue
        first, second = found[1], shown_text(field)[len(found[1]) :]
        place = _place(field, len(first))
        start, end = field[0].start, max(each.end for each in field)
        span = Span(start, end) if job.source.text[start:end].count("\n") <= 1 and end > start else command.span
        fix = None if place is None else Fix("put a space between them", [insert(place, " ")])
        message = (
            f"`{shortened(first + second.partition('=')[0], 60)}` reaches the program as one word; put a space before"
        )
        return Finding(span, f"{message} `{shortened(second.partition('=')[0], 30)}`", fix=fix)
    return None


def _place(field: Pieces, length: int) -> int | None:
    """The offset in the file of a character of a literal word; None where it does not stand there as it is."""
    at = 0
    for piece in field:
        if piece.text is None or piece.expansion is not None:
            return None
        if at <= length < at + len(piece.text):
            return piece.start + length - at if piece.end - piece.start == len(piece.text) else None
        at += len(piece.text)
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        python train.py --lr 0.1 «--use_bn--save» results
        """,
        unsafe_fixed={"--use_bn--save": "--use_bn --save"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        python train.py --model /data/models--meta--llama --lr 0.1 --save -- --a--b
        """,
        title="a path, and words after `--`",
    ),
]
