"""What texts say in another form than a command line has it: lists of words, addresses in parts, quotes within quotes.

`restated` writes such places as a command line or an address, in which places of secrets are known, and says where each
piece of it came from; `unquoted` does so for a text within quotes.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sbatchlint.source.regex import Regex

_WORD = r"(?:'(?:[^'\\\n]|\\.){0,2000}'|\"(?:[^\"\\\n]|\\.){0,2000}\")"
# `['wandb', 'login', 'x']`, `["curl","-H","Authorization: x"]`
_LIST = Regex(rf"[\[(][ ]?{_WORD}(?:,[ ]?{_WORD})+")
_IN_LIST = Regex(_WORD)
_TO_QUOTE = Regex(r"[\s'\";|&<>()]")
# `HTTPSConnectionPool(host='h', port=443): Max retries exceeded with url: /path`,
# `https://h:443 "POST /path HTTP/1.1"`, and `POST /path HTTP/1.1` before `Host: h`
_ADDRESSES = (
    ("with url:", Regex(r"host='(?P<host>[^'\n]{1,200})'[^\n]{0,200}?with url: (?P<path>/[^\s'\"]{1,2000})")),
    ("HTTP/", Regex(r"https?://(?P<host>[^\s/'\"]{1,200}) \"[A-Z]{3,7} (?P<path>/[^\s'\"]{1,2000}) HTTP/")),
    (
        "HTTP/",
        Regex(
            r"\b[A-Z]{3,7} (?P<path>/[^\s'\"]{1,2000}) HTTP/[\d.]{1,4}"
            r"(?:\\r|\\n|[\s'\">]){1,20}Host: (?P<host>[\w.-]{1,200})"
        ),
    ),
)
# A quote within quotes: `'\''`, `'"'"'`, `"'"'"`, `\\\"`, `\x27`; first the longer ones of what is quoted twice.
_QUOTE_IN_QUOTES = Regex(
    r"(?P<twice>'\\''\\'\\'''\\''|'\"'\"'\"'\"'\"'\"'\"'\"')"
    r"|'\\{0,8}\"(?P<single>')\\{0,8}\"'|\\{0,8}\"'\\{0,8}(?P<double>\")'\\{0,8}\"|'\\{1,8}(?P<escaped>['\"])'"
    r"|\\{1,8}(?:(?P<plain>['\"])|(?:x2|0?4|u002)(?P<number>[27]))"
)


class Restated(NamedTuple):
    """A text, and its pieces in order: their places in it and in what was restated."""

    text: str
    pieces: list[tuple[int, int, int]]

    def original(self, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The places in what was restated of places in the text."""
        starts = [start for start, _, _ in self.pieces]
        for start, end in spans:
            for piece, size, at in self.pieces[max(bisect(starts, start) - 1, 0) : bisect(starts, end - 1)]:
                first, last = max(start, piece), min(end, piece + size)
                if first < last:
                    yield at + first - piece, at + last - piece


def restated(string: str) -> Restated | None:
    """The lists of words of a text as command lines, and addresses in parts as one; `None` without any."""
    parts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    size = 0

    def add(text: str, at: int | None = None) -> None:
        nonlocal size
        if at is not None:
            pieces.append((size, len(text), at))
        parts.append(text)
        size += len(text)

    for match in _LIST.finditer(string) if "'," in string or '",' in string else ():
        for word in _IN_LIST.finditer(string, match.start(), match.end()):
            inner, start = word[0][1:-1], word.start() + 1
            if _TO_QUOTE.search(inner) is None:
                add(inner, start)
            else:
                add(word[0][0])
                add(inner, start)
                add(word[0][0])
            add(" ")
        add("\n\n")
    for sign, pattern in _ADDRESSES:
        for match in pattern.finditer(string) if sign in string else ():
            add("https://")
            add(match["host"].partition(":")[0])
            add(match["path"], match.start("path"))
            add("\n\n")
    return Restated("".join(parts), pieces) if pieces else None


def unquoted(string: str) -> Restated | None:
    """A text with the quotes that stand within quotes by themselves; `None` without any."""
    if "\\" not in string and '"\'"' not in string:
        return None
    parts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    size = at = 0
    for match in _QUOTE_IN_QUOTES.finditer(string):
        if match.start() > at:
            parts.append(string[at : match.start()])
            pieces.append((size, match.start() - at, at))
            size += match.start() - at
        if match["twice"]:
            parts.append("'")
        elif match["number"]:
            parts.append('"' if match["number"] == "2" else "'")
        else:
            parts.append(match[match.lastgroup or 0])
        size, at = size + 1, match.end()
    if not parts:
        return None
    pieces.append((size, len(string) - at, at))
    return Restated("".join((*parts, string[at:])), pieces)
