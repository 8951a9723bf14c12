"""A script inside a document, as a source of its own whose characters know their places in the document."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sbatchlint.source.edits import Edit, apply, edits_between
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import SLOT, Source, Span

# Encloses the offset of a character for whose row a message has a mark (private use area).
ROW = "\ue00f"
_ROW = re.compile(f"{ROW}([0-9]{{1,9}}){ROW}")


class Character(NamedTuple):
    """A character of a script, and where it is in the document. `SLOT`: what a program fills in is not known.

    `is_written`: the script has it from there alone, so that it may be changed there.
    """

    string: str
    span: Span
    is_written: bool = True


class Unreadable(Exception):
    """Why nothing of a document was read."""


class Row(int):
    """A row of an embedded script; in a message it is what people call it, or a mark that stands for that."""

    source: "Embedded"
    offset: int

    @classmethod
    def of(cls, row: int, source: "Embedded", offset: int) -> "Row":
        found = cls(row)
        found.source, found.offset = source, offset
        return found

    def __str__(self) -> str:
        return f"{ROW}{self.offset}{ROW}" if self.source.marks_rows else self.source.shown_row(self.offset)

    def __format__(self, form: str) -> str:
        return str(self)


class Embedded(Source):
    """The text of a script in a document.

    `marks_rows`: messages do not name rows of the document, but have marks for them (see `with_rows`), so that they
    hold wherever the text stands.
    """

    __slots__ = ("_is_partial", "marks_rows")

    def __init__(self, string: str, path: str, is_fragment: bool, is_partial: bool = False) -> None:
        super().__init__(string, path)
        self.is_fragment = is_fragment
        self._is_partial = is_partial
        self.marks_rows = False

    @property
    def key(self) -> tuple[str, bool, bool]:
        """Equal for scripts of a document in which the same is found."""
        return self.text, self.is_fragment, self._is_partial

    def row(self, offset: int) -> int:
        return Row.of(super().row(offset), self, offset)

    def shown_row(self, offset: int) -> str:
        """What people call the row of a character."""
        return str(super().row(offset))

    @property
    def is_partial(self) -> bool:
        return self._is_partial

    @property
    def has_files_beside(self) -> bool:
        return False

    def with_text(self, text: str) -> Source:
        new = Embedded(text, self.path, self.is_fragment, self._is_partial)
        new.marks_rows = self.marks_rows
        new.others = self.others or (self.text,)
        return new

    def with_rows(self, message: str) -> str:
        """A message with rows in place of their marks."""
        return _ROW.sub(lambda mark: self.shown_row(parse_integer(mark[1])), message) if ROW in message else message


class Snippet(Embedded):
    """The text of some lines of `outer`, each without what the document puts before it; or of some `characters`.

    `lines`: where their characters stand, without the line's end; None for characters, each of which has a place of its
    own (in strings, with escapes and slots). `special`: characters that mean something else there. `rows`: what people
    call the line at a place of the document, where that is not its number.
    """

    __slots__ = ("_characters", "_places", "_rows", "_starts", "lines", "outer", "special")

    def __init__(
        self, outer: Source, lines: Sequence[Span], is_fragment: bool, *, characters: Sequence[Character] = (),
        special: str = "", rows: Callable[[int], str] | None = None, is_partial: bool = False,
    ) -> None:  # fmt: skip
        self.outer = outer
        self._rows = rows
        self.special = special
        self.lines: Sequence[Span] | None = None if characters else lines
        self._characters = characters
        if characters:
            string = "".join([each.string for each in characters])
            found = [(index, each.span) for index, each in enumerate(characters)]
        else:
            string, found = _joined(outer.text, lines)
        super().__init__(string, outer.path, is_fragment, is_partial)
        self.others = (outer.text, *outer.others)
        self._starts = [start for start, _ in found]
        self._places = [place for _, place in found]

    def with_text(self, text: str) -> Source:
        new = super().with_text(text)
        new.others = (self.text, *self.others)
        return new

    def shown_row(self, offset: int) -> str:
        place = self.place(offset)
        return self._rows(place) if self._rows else str(self.outer.row(place))

    def where(self, offset: int) -> str:
        """What people call the line of a character, where they do not see the lines of the document; else ''."""
        return "" if self._rows is None else f"line {self._rows(self.place(offset))}"

    # --- from the snippet to the document -----------------------------------------------------

    def place(self, offset: int) -> int:
        """Where a character is in the document; the end of the text maps to after its last character."""
        if offset >= len(self.text) or not self._places:
            return self._places[-1].end if self._places else 0
        number = bisect_right(self._starts, offset) - 1
        start, end = self._places[number]
        one_to_one = self._size(number) == end - start
        return start + offset - self._starts[number] if one_to_one else start

    def offset(self, place: int) -> int | None:
        """Which character is at a place of the document; None where none does."""
        for start, (first, last) in zip(self._starts, self._places):
            if first <= place <= last:
                return min(start + (place - first if self.lines is not None else place > first), len(self.text))
        return None

    def span(self, span: Span) -> Span:
        """Where a range is in the document, from its first to its last character."""
        first = self.place(span.start)
        if span.end <= span.start:
            return Span(first, first)
        number = bisect_right(self._starts, span.end - 1) - 1
        start, end = self._places[number]
        one_to_one = self._size(number) == end - start
        last = min(start + span.end - self._starts[number], end) if one_to_one else end
        return Span(first, last) if last >= first else self._places[bisect_right(self._starts, span.start) - 1]

    def _size(self, number: int) -> int:
        """How many characters a run has."""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return end - self._starts[number]

    # --- writing back --------------------------------------------------------------------------

    def edits(self, edits: Sequence[Edit]) -> list[Edit] | None:
        """The edits of the document that make edits of this snippet; None where they cannot be written."""
        if self.lines is None:
            return self._placed(edits)
        if any("\n" in each.content or "\n" in self.slice(each.span) for each in edits):
            return self.rewriting(apply(self.text, edits))
        if any(set(self.special) & set(each.content) for each in edits):
            return None
        return [Edit(self.span(each.span), each.content) for each in edits]

    def rewriting(self, text: str) -> list[Edit] | None:
        """The edits of the document that make another text of this snippet; None where that cannot be written.

        Only the lines change that are others; new ones begin as those around them.
        """
        if self.lines is None:
            return self._placed(edits_between(self.text, text))
        from sbatchlint.source.differences import changes  # used for fixes only

        before, after = self.text.split("\n"), text.split("\n")
        if len(before) != len(self.lines) + self.text.endswith("\n"):
            return None
        edits = []
        for low, high, new_low, new_high in changes(before, after):
            edit = self._replacing(low, high, after[new_low:new_high])
            if edit is None or set(self.special) & set(edit.content):
                return None
            edits.append(edit)
        return edits

    def _placed(self, edits: Sequence[Edit]) -> list[Edit] | None:
        """The edits of the document that make edits of these characters; None where one of them cannot be written."""
        found = []
        for edit in edits:
            for each in _by_line(self.slice(edit.span), edit):
                placed = self._in_place(each)
                if placed is None:
                    return None
                found.append(placed)
        return found

    def _in_place(self, edit: Edit) -> Edit | None:
        """The edit of the document that makes an edit of these characters; None where they do not stand together there.

        New lines are only written between lines of the document, and begin as those around them.
        """
        (start, end), content = _narrowed(self.slice(edit.span), edit)
        if SLOT in content or set(self.special) & set(content):
            return None
        if "\n" in content:
            prefix = self._indentation(start)
            if prefix is None:
                return None
            content = content.replace("\n", self.outer.newline + prefix)
        if start < end:
            if not self._stands_together(start, end):
                return None
            last = self._places[end - 1].end
            if self.text[end - 1] == "\n" and end < len(self.text):
                last = self._places[end].start  # with what comes before the next line
            return Edit(Span(self._places[start].start, last), content)
        if start < len(self.text) and self._is_written(start) and (not start or self.text[start - 1] == "\n"):
            at = self._places[start].start
        elif start and self._is_written(start - 1):
            at = self._places[start - 1].end
        elif start < len(self.text) and self._is_written(start):
            at = self._places[start].start
        else:
            return None
        return Edit(Span(at, at), content)

    def _is_written(self, index: int) -> bool:
        """Whether a character is in the document as it is, and for this script alone."""
        string, (start, end), is_written = self._characters[index]
        return is_written and end - start == 1 and self.outer.text[start] == string

    def _stands_together(self, start: int, end: int) -> bool:
        """Whether characters follow each other in the document, but for what comes before lines."""
        for index in range(start, end):
            if not self._is_written(index):
                return False
            if index > start or index and self.text[index - 1] == "\n" and self._is_written(index - 1):
                between = self.outer.text[self._places[index - 1].end : self._places[index].start]
                if between.strip(" \t") or between and self.text[index - 1] != "\n":
                    return False
        return True

    def _indentation(self, at: int) -> str | None:
        """What comes before a line in the document; None where its line is not a line of the document."""
        begin = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        ends = [each for each in (begin - 1, end) if 0 <= each < len(self.text)]
        if not ends or not all(map(self._is_written, ends)) or begin >= len(self.text):
            return None
        place = self._places[begin].start
        prefix = self.outer.text[self.outer.line_of(place).start : place]
        return prefix if not prefix.strip(" \t") else None if begin else ""

    def _replacing(self, low: int, high: int, new: list[str]) -> Edit | None:
        """The edit that puts lines in place of those from `low` to before `high`."""
        assert self.lines is not None
        count = len(self.lines)
        if high > count or low == count and not self.text.endswith("\n"):
            return None  # the end of the last line is the document's
        old = self.lines[low:high]
        if not new:  # whole lines go
            begin = self._line_start(low)
            end = self._line_start(high) if high < count else self._line_after(high - 1)
            return Edit(Span(begin, end), "")
        common = min(len(old), len(new))
        rest = [self._prefix(low) + line if line else self._prefix(low).rstrip() for line in new[common:]]
        if not old:
            begin = self._line_start(low) if low < count else self._line_after(count - 1)
            return Edit(Span(begin, begin), "".join(line + self.outer.newline for line in rest))
        parts = []
        for number in range(common):
            if number:
                parts.append(self.outer.text[old[number - 1].end : old[number].start])
            parts.append(new[number])
        content = "".join(parts) + "".join(self.outer.newline + line for line in rest)
        return Edit(Span(old[0].start, old[-1].end), content)

    def _line_start(self, number: int) -> int:
        assert self.lines is not None
        return self.outer.line_of(self.lines[number].start).start

    def _line_after(self, number: int) -> int:
        """Where the line after a line begins."""
        assert self.lines is not None
        return self.outer.full_line(Source.row(self.outer, self.lines[number].end)).end

    def _prefix(self, near: int) -> str:
        """What comes before the text of a line, at the nearest one that has any."""
        assert self.lines is not None
        order = sorted(range(len(self.lines)), key=lambda number: abs(number - near))
        chosen = next((number for number in order if self.lines[number].start < self.lines[number].end), near)
        line = self.lines[min(chosen, len(self.lines) - 1)]
        return self.outer.text[self.outer.line_of(line.start).start : line.start]


def _by_line(old: str, edit: Edit) -> list[Edit]:
    """The edit, or one for each line where it replaces as many lines as it writes."""
    before, after = old.split("\n"), edit.content.split("\n")
    if len(before) < 2 or len(before) != len(after):
        return [edit]
    found = []
    at = edit.span.start
    for line, content in zip(before, after):
        if line != content:
            found.append(Edit(Span(at, at + len(line)), content))
        at += len(line) + 1
    return found


def _narrowed(old: str, edit: Edit) -> Edit:
    """The edit without the characters that it leaves as they are at its ends."""
    content = edit.content
    most = min(len(old), len(content))
    first = next((at for at in range(most) if old[at] != content[at]), most)
    most -= first
    last = next((at for at in range(most) if old[-1 - at] != content[-1 - at]), most)
    span = Span(edit.span.start + first, edit.span.end - last)
    return Edit(span, content[first : len(content) - last])


def _joined(text: str, lines: Sequence[Span]) -> tuple[str, list[tuple[int, Span]]]:
    """The text of some lines of a document, and where each part of it is."""
    parts: list[str] = []
    places: list[tuple[int, Span]] = []
    at = 0
    for number, line in enumerate(lines):
        if line.end > line.start:
            parts.append(text[line.start : line.end])
            places.append((at, line))
            at += line.end - line.start
        newline = text.find("\n", line.end)
        if number + 1 < len(lines) or newline >= 0:
            parts.append("\n")
            places.append((at, Span(line.end, newline + 1)))
            at += 1
    return "".join(parts), places
