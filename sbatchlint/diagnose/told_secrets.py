"""The values of secrets that lines of a log tell, which may stand in its other lines without what tells them."""

import re

from sbatchlint.diagnose.lines import LONGEST, plain
from sbatchlint.source.secrets import values_in

# So many different lines are read for their secrets, of those that differ in digits only so many, and so many values;
# so many lines together, as each search has its price.
MOST_LINES, MOST_ALIKE, MOST_VALUES, TOGETHER = 2000, 20, 1000, 100
# On so many lines below a name its value may stand; a private key has about so many bytes.
MOST_BELOW, OF_KEY = 3, 8192
_DIGITS = b"0123456789"
# The names of secrets, and what may stand between them and a value.
_NAMES = (b"token", b"key", b"secret", b"pass", b"credential", b"jwt", b"_pat", b"-pat", b"pw", b"_auth", b"_dsn")
_SIGN = rb"\w{0,20}(?:['\"\\\]]{0,4}[ \t]*[=:,]|['\"\\]{0,2}[ \t]+['\"\\]{0,2}[\w+/.$-]|['\"]?>)"
# What else tells one: an address with a user, a header, the beginning of a key, .netrc, a command of `set -x`.
_SIGNS = (
    *((name, re.compile(re.escape(name) + _SIGN)) for name in _NAMES),
    (b"://", re.compile(rb"://[^\s/@]{1,400}@")),
    (b"bearer", re.compile(rb"bearer[ \t:]")),
    (b"authorization", re.compile(rb"authorization")),
    (b"private key-----", re.compile(rb"-----begin [a-z ]{0,30}private key-----")),
    (b"machine", re.compile(rb"machine[ \t]+\S+[ \t\n]+login")),
    (b"login", re.compile(rb"login[ \t(]")),
    (b"+", re.compile(rb"(?<![^\n])\+{1,8} \S")),
)


class ToldSecrets:
    """Collects the values as the log is read; bounded, whatever its size."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, int] = {}
        self._lines: list[str] = []

    def look(self, text: bytes, end: int) -> None:
        """Looks at the lines before `end`."""
        lowered = text[:end].lower()
        for sign, pattern in _SIGNS:
            if sign not in lowered:
                continue
            done = 0
            for match in pattern.finditer(lowered):
                if len(self._lines) >= MOST_LINES:
                    return
                if match.start() < done:
                    continue
                done = self._read(text, match.start(), OF_KEY if match[0].startswith(b"-----") else 0)

    def _read(self, text: bytes, at: int, most: int) -> int:
        """Reads a line and a few more, on which its value may stand; returns the end of the line."""
        first = max(at - LONGEST // 4, 0)
        start = text.rfind(b"\n", first, at) + 1 or first
        end = _end_of_line(text, at, at + LONGEST)
        shape = text[start:end].translate(None, _DIGITS)
        count = self._shapes.get(shape, 0)
        if count < MOST_ALIKE:
            self._shapes[shape] = count + 1
            last = end
            for _ in range(MOST_BELOW):
                last = _end_of_line(text, last + 1, end + LONGEST)
            read = text[start : max(last, at + most)].replace(b"\r", b"\n")
            self._lines.append("\n".join(map(plain, read.split(b"\n"))))
        return end

    def values(self) -> tuple[str, ...]:
        """The values, the longest first."""
        found: dict[str, None] = {}
        for at in range(0, len(self._lines), TOGETHER):
            found |= dict.fromkeys(values_in("\n\n".join(self._lines[at : at + TOGETHER])))
            if len(found) >= MOST_VALUES:
                break
        return tuple(sorted(found, key=len, reverse=True)[:MOST_VALUES])


def _end_of_line(text: bytes, start: int, most: int) -> int:
    found = text.find(b"\n", start, most)
    return min(most, len(text)) if found < 0 else found
