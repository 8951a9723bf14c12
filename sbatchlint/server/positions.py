"""Places of a text as clients count them: lines that end as the protocol says, and columns in units of an encoding."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from lsprotocol import types

from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_END = Regex(r"\r\n|\n|\r")
_SURROGATE = Regex("[\ud800-\udfff]")
ENCODING = types.PositionEncodingKind.Utf16


def cleaned(text: str) -> str:
    """A text without halves of characters, which no file holds."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


class Positions:
    """The lines of a text. `encoding`: in which columns are counted."""

    def __init__(self, text: str, encoding: str = ENCODING) -> None:
        self._text = text
        self._encoding = encoding
        self._is_plain = encoding == types.PositionEncodingKind.Utf32 or text.isascii()
        self._starts = [0, *(match.end() for match in _END.finditer(text))]

    def _line_end(self, line: int) -> int:
        """The offset after the last character of a line, without what ends it."""
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)
        start = self._starts[line]
        if line + 1 < len(self._starts):
            end -= 2 if self._text.startswith("\r\n", max(end - 2, start)) and end - start >= 2 else 1
        return end

    def _width(self, character: str) -> int:
        if self._encoding == types.PositionEncodingKind.Utf8:
            return len(character.encode("utf-8", "surrogatepass"))
        return 2 if ord(character) > 0xFFFF else 1

    def offset(self, position: types.Position) -> int:
        """The offset of a place; one outside the text is the nearest in it."""
        if position.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[position.line], self._line_end(position.line)
        if self._is_plain:
            return min(start + position.character, end)
        units = 0
        for at in range(start, end):
            if units >= position.character:
                return at
            units += self._width(self._text[at])
        return end

    def position(self, offset: int) -> types.Position:
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        if self._is_plain:
            return types.Position(line, offset - start)
        return types.Position(line, sum(map(self._width, self._text[start:offset])))

    def range(self, span: Span) -> types.Range:
        return types.Range(self.position(span.start), self.position(span.end))

    def span(self, found: types.Range) -> Span:
        start = self.offset(found.start)
        return Span(start, max(self.offset(found.end), start))

    def text_edits(self, edits: Iterable[Edit]) -> list[types.TextEdit]:
        return [types.TextEdit(self.range(edit.span), edit.content) for edit in edits]


def changed(text: str, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: str = ENCODING) -> str:
    """The text after a client's changes, one after the other."""
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            span = Positions(text, encoding).span(change.range)
            text = text[: span.start] + change.text + text[span.end :]
        else:
            text = change.text
    return cleaned(text)
