"""What the evaluation of one script may cost, and which bounds it met.

A bound that is met makes something unknown that could be known with more patience, so the run reports it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, texts_of
from sbatchlint.source.text import Span

# Statements that are walked for one script, loops recorded once. Long values cost as much as several statements, and
# so does what starts programs, branches or repeats: the checks then have more to look at. Of 1,500 real scripts two
# need more than 3,000.
MOST_WORK = 10_000
WORK_OF = {"start": 3, "program": 3, "submission": 20}
PIECES_OF_A_STATEMENT = 400
# Words of one command or array that cost as much as a statement, and characters of a script that is submitted.
WORDS_OF_A_STATEMENT = 20
CHARACTERS_OF_A_STATEMENT = 40
# Pieces of the value of a variable: the longest of some 2,000 real scripts has 343.
MOST_PIECES = 400
# Pieces of one word of a command, of a heredoc, of what a substitution prints.
MOST_PARTS = 5_000
# Of what has more pieces than allowed, one in so many of those that are allowed is kept.
KEPT_OF_MOST = 10
# Characters of a string to which an operator of `${…}` is applied: patterns may cost the square of it.
MOST_OPERATED = 4_000
# Characters of an arithmetic expression in which names are looked for.
MOST_NOTED = 100_000
# Characters of one value that is put together from several pieces, or made by an operator.
MOST_CHARACTERS = 1 << 20
# Elements of an array, and words of a command.
MOST_FIELDS = 20_000


def fits(field: Pieces, most: int) -> bool:
    """Whether a field has at most `most` pieces, and at most `MOST_CHARACTERS`."""
    return len(field) < 2 or len(field) <= most and sum(map(len, filter(None, texts_of(field)))) <= MOST_CHARACTERS


def cost_of_script(string: str) -> int:
    """What another script in the same file costs, besides the evaluation of its commands."""
    return WORK_OF["submission"] + len(string) // CHARACTERS_OF_A_STATEMENT


class WorkBudgetExceeded(Exception):
    """The file is too large to be walked further."""


class Limit(NamedTuple):
    """A bound that was met: `kind` is "work", "value", "depth", "options" or "files", `span` where it was met first."""

    kind: str
    span: Span


class Limits:
    """What one evaluation has cost so far. `met`: the bounds that were met, by kind."""

    def __init__(self) -> None:
        self.work = 0
        self.met: dict[str, Limit] = {}

    @property
    def exhausted(self) -> bool:
        """Whether the evaluation stopped at some statement, so that what comes after it was not looked at."""
        return "work" in self.met

    def note(self, kind: str, span: Span) -> None:
        self.met.setdefault(kind, Limit(kind, span))

    def bounded(self, field: Pieces, most: int, span: Span, phase: Phase) -> Pieces:
        """The field, or where it is longer than `most` pieces or `MOST_CHARACTERS`, its beginning with an unknown piece
        for the rest. The beginning is short, as what is made of such a value would be as dear each time."""
        if fits(field, most):
            return field
        kept = field if len(field) <= most else field[: most // KEPT_OF_MOST]
        if not fits(kept, most):
            sizes = accumulate(len(each.text) if each.text else 0 for each in kept)
            kept = kept[: bisect_right(list(sizes), MOST_CHARACTERS)]
        self.note("value", span)
        return (*kept, Piece(None, span.start, span.end, Expansion("", span, phase)))

    def bounded_fields(self, fields: Sequence[Pieces], span: Span, phase: Phase) -> tuple[Pieces, ...]:
        """The first `MOST_FIELDS` fields, and an unknown number of unknown ones for the rest."""
        if len(fields) <= MOST_FIELDS:
            return tuple(fields)
        self.note("value", span)
        return (*fields[:MOST_FIELDS], (Piece(None, span.start, span.end, Expansion("", span, phase), open=True),))
