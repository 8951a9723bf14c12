"""Secrets that a log reveals in some lines (`TOKEN=…`), redacted in its other lines too, where nothing marks them."""

import re

from sbatchlint.diagnose.lines import LONGEST_LINE, plain
from sbatchlint.source.secrets import values_in

# At most this many different lines are searched.
MOST_LINES = 2000
# At most this many of lines that differ only in digits.
MOST_SIMILAR_LINES = 20
# At most this many secrets are kept.
MOST_VALUES = 1000
# So many lines are searched in one call, as each call has a fixed cost.
LINES_PER_SEARCH = 100
# A value is looked for up to this many lines below its name.
MOST_LINES_BELOW = 3
# A private key has at most about this many bytes.
MOST_KEY_BYTES = 8192
_DIGITS = b"0123456789"
# The names of secrets, and what may stand between them and a value.
_NAMES = (b"token", b"key", b"secret", b"pass", b"credential", b"jwt", b"_pat", b"-pat", b"pw", b"_auth", b"_dsn")
_BEFORE_VALUE = rb"\w{0,20}(?:['\"\\\]]{0,4}[ \t]*[=:,]|['\"\\]{0,2}[ \t]+['\"\\]{0,2}[\w+/.$-]|['\"]?>)"
# What marks a secret: its name, a URL with credentials, a header, the beginning of a key, .netrc, a command traced by
# `set -x`.
_MARKERS = (
    *((name, re.compile(re.escape(name) + _BEFORE_VALUE)) for name in _NAMES),
    (b"://", re.compile(rb"://[^\s/@]{1,400}@")),
    (b"bearer", re.compile(rb"bearer[ \t:]")),
    (b"authorization", re.compile(rb"authorization")),
    (b"private key-----", re.compile(rb"-----begin [a-z ]{0,30}private key-----")),
    (b"machine", re.compile(rb"machine[ \t]+\S+[ \t\n]+login")),
    (b"login", re.compile(rb"login[ \t(]")),
    (b"+", re.compile(rb"(?<![^\n])\+{1,8} \S")),
)


class LoggedSecrets:
    """Collects the secrets of a log while it is read, in bounded memory."""

    def __init__(self) -> None:
        self._count_by_shape: dict[bytes, int] = {}  # the shape: a line without its digits
        self._lines: list[str] = []

    def scan(self, text: bytes, end: int) -> None:
        """Notes the lines of `text[:end]` that may contain a secret."""
        lowered = text[:end].lower()
        for marker, pattern in _MARKERS:
            if marker not in lowered:
                continue
            read_to = 0
            for match in pattern.finditer(lowered):
                if len(self._lines) >= MOST_LINES:
                    return
                if match.start() < read_to:
                    continue
                read_to = self._note(text, match.start(), MOST_KEY_BYTES if match[0].startswith(b"-----") else 0)

    def _note(self, text: bytes, offset: int, at_least: int) -> int:
        """Notes the line at `offset` and the next few, which may hold the secret that it names; returns its end."""
        search_from = max(offset - LONGEST_LINE // 4, 0)
        start = text.rfind(b"\n", search_from, offset) + 1 or search_from
        end = _end_of_line(text, offset, offset + LONGEST_LINE)
        shape = text[start:end].translate(None, _DIGITS)
        count = self._count_by_shape.get(shape, 0)
        if count < MOST_SIMILAR_LINES:
            self._count_by_shape[shape] = count + 1
            last_end = end
            for _ in range(MOST_LINES_BELOW):
                last_end = _end_of_line(text, last_end + 1, end + LONGEST_LINE)
            excerpt = text[start : max(last_end, offset + at_least)].replace(b"\r", b"\n")
            self._lines.append("\n".join(map(plain, excerpt.split(b"\n"))))
        return end

    def values(self) -> tuple[str, ...]:
        """The secrets that were found, longest first."""
        found: dict[str, None] = {}
        for start in range(0, len(self._lines), LINES_PER_SEARCH):
            found |= dict.fromkeys(values_in("\n\n".join(self._lines[start : start + LINES_PER_SEARCH])))
            if len(found) >= MOST_VALUES:
                break
        return tuple(sorted(found, key=len, reverse=True)[:MOST_VALUES])


def _end_of_line(text: bytes, start: int, limit: int) -> int:
    found = text.find(b"\n", start, limit)
    return min(limit, len(text)) if found < 0 else found
