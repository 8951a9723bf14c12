"""What texts say in another form than a command line has it: lists of words, addresses in parts, quotes within quotes.

`restated` writes such places as a command line or an address, in which places of secrets are known, and says where each
piece of it came from; `unquoted` does so for a text within quotes, `decoded` for percent codes, entities and escapes.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.source.numbers import parse_integer
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
# What stands for one character, or for none: a quote within the quotes of a shell, percent codes of an address (of a
# character beyond ASCII all of its bytes), an entity of HTML, an escape.
_CODE = Regex(
    r"'\\''|'\"'\"'"
    r"|%(?:[2-7][0-9A-Fa-f]|0[9ADad])|%[CDcd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}"
    r"|&(?:#[0-9]{1,6}|#[xX][0-9A-Fa-f]{1,5}|amp|lt|gt|quot|apos);"
    r"|\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|\r?\n|[^\r\n])"
)
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\n": "", "\\\r\n": ""}
# A word with percent codes, and what they stand for.
_WITH_PERCENT = Regex(r"(?<![^\s'\"`])[^\s'\"`]{0,2000}?%[0-9A-Fa-f]{2}[^\s'\"`]{0,20000}")
_PERCENT = Regex(r"%[0-9A-Fa-f]{2}")


class Restated(NamedTuple):
    """A text, and its pieces in order: their places in it and in what was restated.

    A piece has its start and size in the text, and its start and size in what was restated; where the sizes differ, it
    is a character and the code for it.
    """

    text: str
    pieces: list[tuple[int, int, int, int]]

    def original(self, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The places in what was restated of places in the text."""
        starts = [each[0] for each in self.pieces]
        for start, end in spans:
            for piece, size, at, width in self.pieces[max(bisect(starts, start) - 1, 0) : bisect(starts, end - 1)]:
                first, last = max(start, piece), min(end, piece + size)
                if first < last and size != width:
                    yield at, at + width
                elif first < last:
                    yield at + first - piece, at + last - piece


def restated(string: str) -> Restated | None:
    """The lists of words of a text as command lines, and addresses in parts as one; `None` without any."""
    parts: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    size = 0

    def add(text: str, at: int | None = None) -> None:
        nonlocal size
        if at is not None:
            pieces.append((size, len(text), at, len(text)))
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
    pieces: list[tuple[int, int, int, int]] = []
    size = at = 0
    for match in _QUOTE_IN_QUOTES.finditer(string):
        if match.start() > at:
            parts.append(string[at : match.start()])
            pieces.append((size, match.start() - at, at, match.start() - at))
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
    pieces.append((size, len(string) - at, at, len(string) - at))
    return Restated("".join((*parts, string[at:])), pieces)


@lru_cache(maxsize=8)
def decoded(string: str) -> Restated | None:
    """A text without percent codes, entities and escapes, as a program reads it; `None` without any."""
    if "\\" not in string and "%" not in string and "&" not in string and "'\"'\"'" not in string:
        return None
    return _decoded(string, [(0, len(string))])


@lru_cache(maxsize=8)
def addresses_decoded(string: str) -> Restated | None:
    """The words of a text that have percent codes, without these; `None` without any."""
    if "%" not in string or _PERCENT.search(string) is None:
        return None
    return _decoded(string, [each.span() for each in _WITH_PERCENT.finditer(string)])


def _decoded(string: str, places: list[tuple[int, int]]) -> Restated | None:
    """The parts of a text at some places, each after another on lines of its own."""
    parts: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    size, is_coded = 0, False
    for start, end in places:
        at = start
        for match in _CODE.finditer(string, start, end):
            if match.start() > at:
                pieces.append((size, match.start() - at, at, match.start() - at))
                parts.append(string[at : match.start()])
                size += match.start() - at
            character = _character(match[0])
            if character:
                pieces.append((size, len(character), match.start(), len(match[0])))
                parts.append(character)
                size += len(character)
            at, is_coded = match.end(), True
        pieces.append((size, end - at, at, end - at))
        parts += string[at:end], "\n\n"
        size += end - at + 2
    return Restated("".join(parts), pieces) if is_coded else None


def _character(code: str) -> str:
    """What a code stands for."""
    if code[0] == "%":
        return bytes.fromhex(code.replace("%", "")).decode("utf-8", "replace")
    if code[0] == "&":
        number = code[2:-1]
        return _ENTITIES.get(code) or chr(parse_integer(number[1:], 16) if number[0] in "xX" else parse_integer(number))
    if code[0] == "'":
        return "'"
    if code in _ESCAPES:
        return _ESCAPES[code]
    if len(code) == 2:
        return code[1]
    return chr(parse_integer(code[2:], 16) if code[1] in "ux" else parse_integer(code[1:], 8))


def readings(value: str) -> set[str]:
    """A value as programs read it, by what it may be written in: an address, HTML, JSON, the quotes of a shell."""
    found: set[str] = set()
    wanted = [value]
    for _ in range(2):
        for each in wanted:
            other = decoded(each)
            if other is not None:
                found.add(other.text[:-2])
            if "'" in each or '"' in each:
                found.add(re.sub(r"(?<!\\)['\"]", "", each))
        wanted = list(found)
    return found - {value}
