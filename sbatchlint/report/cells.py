"""Text for a terminal: escaping of control characters, and widths in cells."""

from unicodedata import category, combining, east_asian_width

TAB = "    "


def shown(character: str) -> tuple[str, int]:
    """The text that shows a character in a report, and its width in cells.

    Control characters, whitespace other than the space, direction marks and the like are shown by their codes, so that
    a script can neither move the cursor nor hide anything.
    """
    if " " <= character <= "~":
        return character, 1
    if character == "\t":
        return TAB, 4
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0:
        names = {"\r": "\\r", "\n": "\\n", "\x1b": "\\x1b"}
        text = names.get(character, f"\\x{code:02x}")
        return text, len(text)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}", 4
    kind = category(character)
    if kind[0] == "C" or kind in ("Zs", "Zl", "Zp"):
        text = f"<U+{code:04X}>"
        return text, len(text)
    if combining(character) or kind in ("Mn", "Me"):
        return character, 0
    return character, 2 if east_asian_width(character) in "WF" else 1


def escape(text: str) -> str:
    """The text on one line, with each character as returned by `shown`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([shown(character)[0] for character in text])


def width(text: str) -> int:
    """The width of an escaped text in cells."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(shown(character)[1] for character in text)


def fits(text: str, room: int) -> bool:
    """Whether an escaped text has at most `room` cells, without looking at the rest of a longer one."""
    if text.isascii() and text.isprintable():
        return len(text) <= room
    left = room
    for character in text:
        left -= shown(character)[1]
        if left < 0:
            return False
    return True


# Code in backquotes up to this length is not broken, so that it can be copied.
LONGEST_CODE = 40


def wrap(text: str, room: int, first: int | None = None) -> list[str]:
    """The lines of a text, broken at spaces, of at most `room` cells (the first: `first`); long words stay whole."""
    measure = len if text.isascii() and text.isprintable() else width
    if measure(text) <= (room if first is None else min(room, first)) and text[:1] != " ":
        return [text]
    lines: list[str] = []
    line = ""
    used = 0
    for word in _words(text, min(room, LONGEST_CODE)):
        size = measure(word)
        limit = room if lines or first is None else first
        if line and used + 1 + size > limit:
            lines.append(line)
            line, used = word, size
        else:
            line, used = (f"{line} {word}", used + 1 + size) if line else (word, size)
    return [*lines, line]


def _words(text: str, longest: int) -> list[str]:
    """The words of a text; code in backquotes of at most `longest` cells is one word."""
    if "`" not in text:
        return text.split(" ")
    words: list[str] = []
    code = ""
    for word in text.split(" "):
        if code and width(joined := f"{code} {word}") <= longest:
            words[-1] = joined
        else:
            words.append(word)
            if "`" not in word:
                code = ""
                continue
        code = words[-1] if words[-1].count("`") % 2 else ""
    return words
