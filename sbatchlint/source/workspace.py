"""A script and the files beside it that it reads or starts, as one text with one count of offsets.

The script's own characters come first, so its spans are those of the file; the included files follow.
`part` leads from an offset to its file.
"""

from bisect import bisect_right

from sbatchlint.source.text import Position, Source, Span

# The path of what is in for options of sbatch that are not in the file.
# The path of the options with which a script is submitted; a space and the settings that name them may follow.
SBATCH_OPTIONS = "--sbatch-options"


def origin_of_options(path: str) -> str | None:
    """Where the options come from with which a script is submitted; None for the path of a file."""
    head, _, origin = path.partition(" ")
    return (origin or "command line") if head == SBATCH_OPTIONS else None


class IncludedRow(int):
    """A row of an included file; in a message it names that file."""

    path: str

    @classmethod
    def of(cls, row: int, path: str) -> "IncludedRow":
        found = cls(row)
        found.path = path
        return found

    def __str__(self) -> str:
        origin = origin_of_options(self.path)
        if origin is None:
            return f"{int(self)} of {self.path}"
        return "1 of the command line" if origin == "command line" else f"1 of {origin}"

    def __format__(self, form: str) -> str:
        return str(self)


class Workspace(Source):
    """`own`: the script. `text`: its characters, and after them, each after a newline, those of the attached files."""

    __slots__ = ("_bases", "_parts", "own")

    def __init__(self, source: Source) -> None:
        self.own = source
        self.text = source.text
        self.path = source.path
        self.newline = source.newline
        self.is_fragment = source.is_fragment
        self.is_plain = False
        self.redacted = None
        self.others = source.others
        self._line_starts = source._line_starts
        self._bases: list[int] = []
        self._parts: list[tuple[Source, Span]] = []

    @property
    def has_included_files(self) -> bool:
        return bool(self._bases)

    def attach(self, source: Source, included_from: Span) -> int:
        """Adds a file and returns the offset of its first character. `included_from`: the command that led to it."""
        base = len(self.text) + 1
        self.text += "\n" + source.text
        self.redacted = None
        self._bases.append(base)
        self._parts.append((source, included_from))
        return base

    def files(self) -> list[tuple[Source, int]]:
        """The script and the attached files, each with the offset at which it begins."""
        return [(self.own, 0), *((source, base) for (source, _), base in zip(self._parts, self._bases))]

    def part(self, offset: int) -> tuple[Source, int]:
        """The file in which a character is, and the offset at which that file begins."""
        index = bisect_right(self._bases, offset) - 1
        return (self.own, 0) if index < 0 else (self._parts[index][0], self._bases[index])

    def included_from(self, offset: int) -> Span | None:
        """The command that led to the file of a character; None for the script itself."""
        index = bisect_right(self._bases, offset) - 1
        return None if index < 0 else self._parts[index][1]

    def row(self, offset: int) -> int:
        """The row, from 1, on which a character is; see `IncludedRow`."""
        source, base = self.part(offset)
        row = source.row(offset - base)
        return row if source is self.own else IncludedRow.of(row, source.path)

    def position(self, offset: int) -> Position:
        source, base = self.part(offset)
        return source.position(offset - base)

    def line_of(self, offset: int) -> Span:
        source, base = self.part(offset)
        start, end = source.line_of(offset - base)
        return Span(start + base, end + base)

    @property
    def rows(self) -> int:
        return self.own.rows

    def line(self, row: int) -> Span:
        return self.own.line(row)

    def full_line(self, row: int) -> Span:
        return self.own.full_line(row)
