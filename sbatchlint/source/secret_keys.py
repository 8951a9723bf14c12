"""Private keys: a mark, and lines of base 64 after it, on lines of their own, within escapes or among commands."""

import re
from bisect import bisect
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_BEGIN = Regex(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\bPrivate-Lines: ?\d{1,4}\b")
_END = Regex(r"-{4,5} ?END [A-Z0-9 ]{0,30}PRIVATE KEY|\bPrivate-MAC:")
# No key is longer, with what is between its lines.
_LONGEST = 20_000
# What is between two lines of a key: line breaks, written out or lost their backslash; quotes, marks of comments.
_BETWEEN = r"(?>(?:[\s\"'#>|,+;]|\\[nrt]?){1,200})"
# `Proc-Type: 4,ENCRYPTED`, `Version: GnuPG v2`
_HEADERS = rf"(?>(?:{_BETWEEN}[A-Z][\w-]{{1,30}}: [^\n\\]{{0,200}})*)"
_LINE = r"[A-Za-z0-9+/=]++"
_BODY = Regex(rf"{_HEADERS}(?P<body>n?(?:{_BETWEEN})?{_LINE}(?:{_BETWEEN}{_LINE})*)")
# The same without the end of the key, where words of something else may follow.
_LONG = r"(?>[A-Za-z0-9+/]{24,}={0,2}|[A-Za-z0-9+/]{1,23}={1,2})"
_CUT_OFF = Regex(rf"{_HEADERS}(?P<body>n?(?:{_BETWEEN})?{_LONG}(?![\w.-])(?:{_BETWEEN}{_LONG}(?![\w.-]))*)")
_WORD = Regex(r"(?<![\w+/])[A-Za-z0-9+/]{16,}={0,2}|(?<![\w+/])[A-Za-z0-9+/]{1,15}={1,2}")
_LEAST = 40  # characters of a key


class PrivateKey(NamedTuple):
    """Where a key is, from its mark on; its lines; and whether nothing else is between them."""

    span: Span
    lines: tuple[Span, ...]
    is_whole: bool


@lru_cache(maxsize=8)
def private_keys(string: str) -> tuple[PrivateKey, ...]:
    """The private keys of a text, by place."""
    if "PRIVATE KEY" not in string and "Private-Lines:" not in string:
        return ()
    begins = [each.span() for each in _BEGIN.finditer(string)]
    ends = [each.start() for each in _END.finditer(string)]
    found: list[PrivateKey] = []
    for number, (start, at) in enumerate(begins):
        limit = min(at + _LONGEST, begins[number + 1][0] if number + 1 < len(begins) else len(string))
        next_end = bisect(ends, at)
        is_ended = next_end < len(ends) and ends[next_end] <= limit
        limit = ends[next_end] if is_ended else limit
        body = (_BODY if is_ended else _CUT_OFF).match(string, at, limit)
        rest = "" if body is None else string[body.end() : limit]
        is_whole = body is not None and not (is_ended and re.search(r"[A-Za-z0-9]{2}", rest))
        first = at if body is None or not is_whole else body.start("body")
        last = body.end() if body is not None and is_whole else limit if is_ended else at
        lines = tuple([Span(*each.span()) for each in _WORD.finditer(string, first, last)])
        if is_whole:
            size = sum(map(str.isalnum, string[first:last]))
        else:
            size = max([each.end - each.start for each in lines], default=0)
        if size >= _LEAST:
            found.append(PrivateKey(Span(start, last), lines, is_whole))
    return tuple(found)
