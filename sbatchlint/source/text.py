"""Source files and the spans in them.

Everywhere in the engine a position is an offset in characters from the start of the decoded file, and a span is a
half-open pair of them. Rows and columns exist only in reports.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class Span(NamedTuple):
    """Characters `start` (inclusive) to `end` (exclusive) of the file."""

    start: int
    end: int

    def contains(self, inner: "Span") -> bool:
        """Whether a span is in this one, or is the same."""
        return self.start <= inner.start and inner.end <= self.end


class Position(NamedTuple):
    """Row and column, both counted from 1; columns in characters."""

    row: int
    column: int


BYTE_ORDER_MARK = "\ufeff"
# Stands for text that is not known: what a program fills in. No script holds it (private use area).
SLOT = "\ue000"
_MARK = b"\xef\xbb\xbf"
# The first bytes of a script in UTF-16, with and without a byte-order mark.
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"#\0": "utf-16-le", b"\0#": "utf-16-be"}


class Undecodable(ValueError):
    """The file is not text: it holds NUL bytes, and does not begin like a script."""


def utf_16(data: bytes) -> str | None:
    """The text of a file in UTF-16, without its byte-order mark; None for any other file."""
    encoding = _UTF_16.get(data[:2])
    if encoding is None or data[:2] == b"\0#" and data[2:3] != b"\0":
        return None
    try:
        return data.decode(encoding).removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        return None


def begins_as_script(data: bytes) -> bool:
    """Whether a file with NUL bytes may still be a script: it begins with `#!` or a directive."""
    text = utf_16(data)
    if text is not None:
        return text.startswith("#") or "\n#SBATCH" in text
    return data.removeprefix(_MARK).startswith((b"#!", b"#SBATCH"))


# The path of a command line, which stands for a script in the current folder.
COMMAND_LINE = "<command>"


def script_of_words(words: Sequence[str]) -> str:
    """A command line as a script; it may be one word, as a string for a shell."""
    from shlex import join  # for few

    is_string = len(words) == 1 and len(words[0].split()) > 1
    return f"#!/bin/bash\n{words[0].strip() if is_string else join(words)}\n"


class Source:
    """One file: its decoded text, and how to get its bytes back.

    Bytes that are not UTF-8 become lone surrogates, so that `encode` restores every byte. `is_fragment`: it is a piece
    of a script, and what is missing in it may stand elsewhere. `is_plain`: it is known to have no secrets, so that
    reports show it as it is; `redacted`: as they show it otherwise, once that was asked for. `others`: texts whose
    secrets they do not show of it either, as what it was before it was fixed.
    """

    __slots__ = ("_line_starts", "is_fragment", "is_plain", "newline", "others", "path", "redacted", "text")

    def __init__(self, string: str, path: str = "<stdin>") -> None:
        self.text = string
        self.path = path
        self.is_fragment = False
        self.is_plain = False
        self.redacted: Source | None = None
        self.others: tuple[str, ...] = ()
        self._line_starts = [0, *accumulate([len(line) + 1 for line in string.split("\n")[:-1]])]
        lines = len(self._line_starts)
        self.newline = "\r\n" if "\r\n" in string and string.count("\r\n") * 2 > lines - 1 else "\n"

    @classmethod
    def from_bytes(cls, data: bytes, path: str = "<stdin>") -> "Source":
        """Decodes a file. Raises `Undecodable` where it is not text.

        NUL bytes of a script are kept as characters, in one in UTF-16 every second character.
        """
        if b"\0" in data and not begins_as_script(data):
            raise Undecodable("it is not a text file (it contains NUL bytes)")
        return cls(data.decode("utf-8", "surrogateescape"), path)

    @property
    def is_utf_16(self) -> bool:
        """Whether the file is a script in UTF-16; `text` then has a character for each byte."""
        return "\0" in self.text and utf_16(self.encode(self.text)) is not None

    @property
    def has_files_beside(self) -> bool:
        """Whether the files in its folder are those that its commands find there."""
        return True

    @property
    def is_partial(self) -> bool:
        """Whether any of it may be missing, or be there or not, jobs that it submits included."""
        return False

    def with_text(self, text: str) -> "Source":
        """What it is with another text; of several changes, it knows the text before the first."""
        new = Source(text, self.path)
        new.others = self.others or (self.text,)
        return new

    @staticmethod
    def encode(text: str) -> bytes:
        """The bytes of a text that came from `from_bytes`, edited or not."""
        return text.encode("utf-8", "surrogateescape")

    def row(self, offset: int) -> int:
        """The row, from 1, on which a character is."""
        return bisect_right(self._line_starts, offset)

    def position(self, offset: int) -> Position:
        row = bisect_right(self._line_starts, offset)
        return Position(row, offset - self._line_starts[row - 1] + 1)

    @property
    def rows(self) -> int:
        """The number of lines; a final newline does not begin another one."""
        count = len(self._line_starts)
        return count - 1 if count > 1 and self._line_starts[-1] == len(self.text) else count

    def line(self, row: int) -> Span:
        """The span of row `row` (from 1), without its newline."""
        start = self._line_starts[row - 1]
        end = self._line_starts[row] - 1 if row < len(self._line_starts) else len(self.text)
        if end > start and self.text[end - 1] == "\r":
            end -= 1
        return Span(start, end)

    def line_of(self, offset: int) -> Span:
        """The span of the line on which a character is, without its newline."""
        return self.line(self.row(offset))

    def full_line(self, row: int) -> Span:
        """The span of row `row` with its newline, if it has one."""
        start = self._line_starts[row - 1]
        return Span(start, self._line_starts[row] if row < len(self._line_starts) else len(self.text))

    def slice(self, span: Span) -> str:
        return self.text[span.start : span.end]


def end_of_line(text: str, offset: int) -> int:
    """The offset of the first newline from an offset on, or the end of the text."""
    found = text.find("\n", offset)
    return found if found >= 0 else len(text)


def lines_of(text: str) -> list[str]:
    """The lines of a text with their newlines; only a line feed ends a line."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return lines + ([parts[-1]] if parts[-1] else [])


class Nested(Generic[Item]):
    """Items by their places, as of the parts of a program: none begins in another one and ends beyond it."""

    def __init__(self, items: Iterable[tuple[Span, Item]]) -> None:
        """Of items with the same place, the outer one comes first."""
        self._items = sorted(items, key=lambda each: (each[0].start, -each[0].end))
        self._starts = [span.start for span, _ in self._items]
        self._outer: list[int] = []  # for each item the number of the one around it, -1 if there is none
        for number, (span, _) in enumerate(self._items):
            self._outer.append(self._enclosing(number - 1, span))

    def around(self, place: Span) -> Iterator[Item]:
        """The items around a place, innermost first."""
        number = self._enclosing(bisect_right(self._starts, place.start) - 1, place)
        while number >= 0:
            yield self._items[number][1]
            number = self._outer[number]

    def _enclosing(self, number: int, place: Span) -> int:
        """The first item around a place among one and those around that, which all begin no later; -1 if none."""
        while number >= 0 and self._items[number][0].end < place.end:
            number = self._outer[number]
        return number
