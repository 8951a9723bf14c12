"""What the evaluation of a word gives: pieces of text that know where they stand in the file.

A `Field` is one word as a command would receive it: a sequence of pieces. A piece of literal text stands one to one in
the file, so every character of it has an offset of its own. A piece that an expansion gave knows the expansion: its
name, the phase in which it happened, and where in the file it is written. Text that cannot be known is a piece with
`text` None; unknown means silent.
"""

from bisect import bisect_right
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.text import BYTE_ORDER_MARK, SLOT, Span

# The word comes first, so that most of a text is skipped quickly. A mail address is not a slot.
_SLOT = Regex(
    r"#SBATCH\b(?<![^\n]#SBATCH)"
    r".*?(?:@\[?[A-Za-z_]\w*[]@]|(?<!\w)(?:@[A-Z]|__?[A-Z]|__[a-z])|##[A-Z][A-Z0-9_]*##|%(?:%[A-Za-z]|\(|[A-Z][A-Z0-9_]{3})|(?<!\$)\{|XXX[A-Za-z]|PLACEHOLDER)"
)
# Stands for an unknown piece where a value is parsed as a program.
UNKNOWN_CHARACTER = SLOT
# What of a file's characters is not known.
_UNKNOWN = Regex(f"[\0{SLOT}]")


class Phase(IntEnum):
    """Which shell expands a text.

    `SUBMIT`: a shell on the login node. `BATCH`: the batch script, on the first node of the job, where SLURM_PROCID,
    SLURM_LOCALID and SLURM_NODEID are 0. `TASK`: each task of a step.
    """

    SUBMIT = 0
    BATCH = 1
    TASK = 2


class Expansion(NamedTuple):
    """A `$NAME`, `$(…)` or `$((…))` that was expanded.

    `name`: the variable, or the command of a substitution written as `$(hostname -s)`, or `$((…))`.
    `inputs`: for arithmetic, substrings and the like, the expansions that went into it (see `flattened`).
    `commands`: for a substitution, the known words of every command that ran in it.
    """

    name: str
    span: Span
    phase: Phase
    inputs: "tuple[Expansion, ...]" = ()
    commands: tuple[tuple[str, ...], ...] = ()

    def all(self) -> "tuple[Expansion, ...]":
        """This expansion and every one that went into it."""
        return (self, *self.inputs)


# An expansion keeps at most this many inputs.
MOST_INPUTS = 24


def flattened(expansions: Iterable[Expansion]) -> tuple[Expansion, ...]:
    """Expansions and what went into them, each once and without inputs of its own, for the inputs of another."""
    found: dict[Expansion, None] = {}
    for expansion in expansions:
        for item in (expansion, *expansion.inputs):
            if item.inputs:
                item = item._replace(inputs=())
            found[item] = None
        if len(found) >= MOST_INPUTS:
            break
    return tuple(found)[:MOST_INPUTS]


class Piece:
    """A part of a field; it is never changed.

    `text`: None where it is unknown. `start`, `end`: where it is written in the file; for literal text (no
    `expansion`) the characters stand there one to one, unless it is one character written with a backslash
    (`end - start` is 2, the character itself is at `end - 1`).
    `open`: an unknown that may be no word at all or several ones (unquoted, or `"$@"`). `filled`: an unknown that is
    certainly not empty; it is one word, unless it is `loose`, as the value of a variable from outside.
    """

    __slots__ = ("end", "expansion", "filled", "loose", "open", "start", "text")

    def __init__(
        self, string: str | None, start: int, end: int, expansion: Expansion | None = None,
        open: bool = False,  # noqa: A002
        filled: bool = False,
        loose: bool = False,
    ) -> None:  # fmt: skip
        self.text = string
        self.start = start
        self.end = end
        self.expansion = expansion
        self.open = open
        self.filled = filled
        self.loose = loose

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Piece{self._key()!r}"

    def _key(self) -> tuple[object, ...]:
        return self.text, self.start, self.end, self.expansion, self.open, self.filled, self.loose

    def replace(self, **changes: object) -> "Piece":
        """A piece that differs in these attributes."""
        new = Piece(self.text, self.start, self.end, self.expansion, self.open, self.filled, self.loose)
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def offset(self, index: int) -> int:
        """Where character `index` of `text` is in the file."""
        if self.expansion is None and self.text is not None:
            if len(self.text) == self.end - self.start:
                return self.start + index
            if len(self.text) == 1:
                return self.end - 1
        return self.start


Pieces = tuple[Piece, ...]
_TEXT, _OPEN = attrgetter("text"), attrgetter("open")


def text_of(field: Pieces) -> str | None:
    """The text of a field, or None where a piece of it is unknown."""
    if len(field) == 1:  # as nearly all fields, also below: together this saves 0.6 % of a run
        return field[0].text
    parts = texts_of(field)
    return None if None in parts else "".join(parts)  # type: ignore[arg-type]


def texts_of(field: Pieces) -> list[str | None]:
    """The texts of the pieces, of which a value may have hundreds: read without a step of the interpreter for each."""
    return list(map(_TEXT, field))


def shown_text(field: Pieces) -> str:
    """The text of a field with `UNKNOWN_CHARACTER` for each unknown piece."""
    if len(field) == 1:
        text = field[0].text
        return UNKNOWN_CHARACTER if text is None else text
    texts = texts_of(field)
    if None not in texts:
        return "".join(texts)  # type: ignore[arg-type]
    return "".join([UNKNOWN_CHARACTER if each is None else each for each in texts])


def least_size(field: Pieces) -> int:
    """How many characters a field has at least."""
    texts = texts_of(field)
    known = sum(map(len, filter(None, texts)))
    return known + sum([piece.filled for piece in field if piece.text is None]) if None in texts else known


def not_empty(field: Pieces) -> Pieces:
    """A field of which it is known that it is not empty."""
    if len(field) != 1 or field[0].text is not None or field[0].filled:
        return field
    return (field[0].replace(filled=True, loose=True),)


def maybe_empty(field: Pieces) -> Pieces:
    """A field of which something may have been taken away."""
    return tuple([piece.replace(filled=False, loose=False) if piece.loose else piece for piece in field])


def known_prefix(field: Pieces) -> str:
    """The string of a field up to its first unknown piece."""
    parts = []
    for piece in field:
        if piece.text is None:
            break
        parts.append(piece.text)
    return "".join(parts)


def is_open(field: Pieces) -> bool:
    """Whether the field may turn out to be several words, or none."""
    return any(map(_OPEN, field))


def span_of(field: Pieces) -> Span:
    """From the first to the last character of a field; only its first piece where the pieces are not in order."""
    if not field:
        return Span(0, 0)
    start, end = field[0].start, field[0].end
    for piece in field[1:]:
        if piece.start < end:
            return field[0].span
        end = piece.end
    return Span(start, end)


def span_of_words(fields: Iterable[Pieces]) -> Span:
    """The place of several words in the file; as `span_of`."""
    return span_of(tuple(piece for field in fields for piece in field))


def cut(field: Pieces, start: int, end: int) -> Pieces:
    """Characters `start` to `end` of a field, counted as in `shown_text` (an unknown piece is one character)."""
    out: list[Piece] = []
    at = 0
    for piece in field if start < end else ():
        if at >= end:
            break
        size = 1 if piece.text is None else len(piece.text)
        low, high = start - at, end - at
        at += size
        if low <= 0 and high >= size:
            if size:
                out.append(piece)
        elif low < size:
            out.append(part_of(piece, max(low, 0), min(high, size)))
    return tuple(out)


def part_of(piece: Piece, low: int, high: int) -> Piece:
    """Characters `low` to `high` of a piece; an unknown one has just one."""
    text, start = piece.text, piece.start
    if text is None:
        return piece
    if piece.expansion is None:
        return Piece(text[low:high], start + low, start + high, None, piece.open)
    return Piece(text[low:high], start, piece.end, piece.expansion, piece.open)


def expansions(field: Pieces) -> tuple[Expansion, ...]:
    """Every expansion that went into a field, inputs included."""
    return tuple([each for piece in field if piece.expansion is not None for each in piece.expansion.all()])


def literal(text: str, start: int) -> Piece:
    """A piece that is in the file as it is."""
    return Piece(text, start, start + len(text))


@lru_cache(maxsize=2)  # asked for each finding of a file
def may_have_slots(text: str) -> bool:
    """Whether a program may fill in a text; False only where it has no slot and no tag for certain."""
    tags = "{%" in text or "{{" in text or "<%" in text or "\n%" in text or SLOT in text
    return tags or "#SBATCH" in text and _SLOT.search(text) is not None


# What follows this many NUL bytes or slots is not a script any more, and unknown.
MOST_UNKNOWN = 10_000


class Text:
    """A program's text: a whole file, or a value that a shell parses again.

    Its characters are those of `shown_text(pieces)`; `span` maps a range of them back to the file, and `pieces` gives
    the pieces of a range, so that what was already expanded keeps its history when the text is parsed again.
    `is_plain`: its characters follow each other in the file, from `start` on.
    `whole`: the text as sbatch gets it: of a file, also what no shell reads of it (a byte-order mark, NUL bytes).
    """

    __slots__ = ("_starts", "field", "is_plain", "start", "string", "whole")

    def __init__(self, field: Pieces, whole: str | None = None) -> None:
        self.field = field
        # one piece, and no expansion's: its characters follow each other in the file
        self.is_plain = len(field) == 1 and field[0].expansion is None and field[0].text is not None
        self.start = field[0].start if field else 0
        self.string = shown_text(field)
        self.whole = self.string if whole is None else whole
        sizes = [1 if piece.text is None else len(piece.text) for piece in field[:-1]]
        self._starts = list(accumulate(sizes, initial=0))

    @classmethod
    def of_file(cls, text: str) -> "Text":
        """A file's text without its byte-order mark; a NUL byte or a slot is a piece that is not known."""
        if not text.startswith(BYTE_ORDER_MARK) and "\0" not in text and SLOT not in text:
            return cls((literal(text, 0),))
        at = 1 if text.startswith(BYTE_ORDER_MARK) else 0
        pieces: list[Piece] = []
        for part in _UNKNOWN.split(text[at:], MOST_UNKNOWN):
            if pieces:
                pieces.append(Piece(None, at - 1, at, open=text[at - 1] == SLOT))
            pieces.append(literal(part, at) if _UNKNOWN.search(part) is None else Piece(None, at, len(text)))
            at += len(part) + 1
        return cls(tuple(piece for piece in pieces if piece.text != "" or len(pieces) == 1), text)

    def without_template_marks(self) -> "Text":
        """The text as a shell gets it after a template engine: unknown values for expressions, statements left out."""
        if not self.is_plain or not may_have_slots(self.string):
            return self
        from sbatchlint.source.templates import rendered  # few files have such tags

        string, base = self.string, self.start
        parts = rendered(string)
        if len(parts) < 2:
            return self
        return Text(
            tuple(
                literal(string[start:end], base + start) if known else Piece(None, base + start, base + end)
                for start, end, known in parts
            )
        )

    def _piece_at(self, index: int) -> int:
        return bisect_right(self._starts, index) - 1 if index > 0 else 0

    def offset(self, index: int) -> int:
        """Where character `index` is in the file; the end of the text maps to the end of its last character."""
        if not self.field:
            return 0
        if index >= len(self.string):
            return self.field[-1].end
        number = self._piece_at(index)
        return self.field[number].offset(index - self._starts[number])

    def span(self, start: int, end: int) -> Span:
        """Where characters `start` to `end` stand in the file, from the first to the last of them."""
        if self.is_plain:
            return Span(self.start + start, self.start + end)
        first = self.offset(start)
        if end <= start:
            return Span(first, first)
        number = self._piece_at(end - 1)
        piece = self.field[number]
        if piece.text is None or piece.expansion is not None:
            last = piece.end
        else:
            last = piece.offset(end - 1 - self._starts[number]) + 1
        return Span(first, last if last >= first else first + 1)

    def pieces(self, start: int, end: int) -> Pieces:
        """The pieces that make characters `start` to `end`."""
        if end <= start:
            return ()
        if self.is_plain:
            return (Piece(self.string[start:end], self.start + start, self.start + end),)
        first = self._piece_at(start)
        low, high = start - self._starts[first], end - self._starts[first]
        return cut(self.field[first : self._piece_at(end - 1) + 1], low, high)
