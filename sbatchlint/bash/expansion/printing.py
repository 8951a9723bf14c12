"""The output of `echo` and `printf`, and how bash quotes a text so that it can read it again."""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion.arithmetic import parse_number
from sbatchlint.bash.expansion.globs import printed
from sbatchlint.bash.syntax.characters import NOT_KNOWN, ansi_escape, unescape
from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, cut, flattened, span_of, text_of
from sbatchlint.bash.values import expansions as expansions_of
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

# With more arguments the output is unknown.
MOST_ARGUMENTS = 200
# A format with a larger width or precision is not computed.
WIDEST = 300
DIRECTIVE = Regex(r"%([-+ 0#']*)(\d*)(?:\.(\d*))?([a-zA-Z%])")
ESCAPE = Regex(r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[abeEfnrtv\\\"'?])")
ECHO_ESCAPE = Regex(r"\\(?:0[0-7]{0,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[abceEfnrtv\\])")
B_ESCAPE = Regex(r"\\(?:0[0-7]{0,3}|[1-7][0-7]{0,2}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[abceEfnrtv\\\"'?])")
ECHO_OPTIONS = Regex(r"-[neE]+")
ANSI_NAMES = {"\a": "\\a", "\b": "\\b", "\x1b": "\\E", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def computed(string: str, sources: Pieces, name: str) -> Piece:
    """A piece whose text was computed from others."""
    span = span_of(sources)
    if sources and sources[0].expansion is not None:
        return Piece(string, span.start, span.end, sources[0].expansion)
    return Piece(string, span.start, span.end, Expansion(name, span, Phase.BATCH, flattened(expansions_of(sources))))


_QUOTES = Regex(r"\\.|['\"]", re.DOTALL)


def join_fields(fields: Sequence[Pieces], swallowing: bool = False) -> Pieces:
    """Fields joined by spaces. `swallowing`: a field that may be none swallows the space beside it.

    Otherwise they are words of a program, in which some more spaces change nothing but in quotes.
    """
    pieces: list[Piece] = []
    separated = False
    quote, has_quotes = "", False
    for number, field in enumerate(fields):
        vanishing = (swallowing or quote != "") and bool(field) and all(piece.open for piece in field)
        if separated and not vanishing:
            start = field[0].start if field else 0
            pieces.append(Piece(" ", start, start + 1))
        pieces.extend(field)
        separated = not vanishing or number > 0
        for piece in field if not swallowing else ():
            for mark in _QUOTES.findall(piece.text or ""):
                has_quotes = True
                quote = "" if mark == quote else quote or (mark if len(mark) == 1 else "")
    return tuple(pieces if swallowing or has_quotes else _with_breaks(_with_breaks(pieces, 1)[::-1], -1)[::-1])


def _with_breaks(pieces: Sequence[Piece], direction: int) -> list[Piece]:
    """Words of a program with a space for a break that may be none, if a space is on the other side of the element."""
    out: list[Piece] = []
    for piece in pieces:
        if piece.open and piece.text == "" and len(out) > 1 and out[-1].open and out[-1].text is None:
            beside = out[-2].text or ""
            if (beside[-1:] if direction > 0 else beside[:1]).isspace():
                piece = Piece(" ", piece.start, piece.start)
        out.append(piece)
    return out


def unescaped(string: str, escapes: Regex) -> tuple[str, bool]:
    """The text with its backslash escapes resolved, and whether `\\c` ended it."""
    out: list[str] = []
    at = 0
    for match in escapes.finditer(string):
        out.append(string[at : match.start()])
        at = match.end()
        found = match[0]
        if found == "\\c":
            return "".join(out), True
        if escapes is not ESCAPE and found[1] == "0":
            found = "\\" + (found[2:] or "0")
        out.append(unescape(found))
    return "".join(out) + string[at:], False


def echo_output(arguments: Sequence[Pieces], end: int) -> Pieces | None:
    """What `echo` writes; None where unknown. `end`: where the command ends in the file."""
    newline = True
    escapes = False
    while arguments:
        text = text_of(arguments[0])
        if text is None and (not arguments[0] or (arguments[0][0].text or "-")[0] == "-"):
            return None  # maybe an option
        if text is None or not ECHO_OPTIONS.fullmatch(text):
            break
        newline = newline and "n" not in text
        for letter in text[1:]:
            escapes = letter == "e" if letter in "eE" else escapes
        arguments = arguments[1:]
    written = join_fields(list(map(printed, arguments)), swallowing=True)
    if escapes:
        whole = text_of(written)
        if whole is None:
            if any("\\" in (piece.text or "\\") for piece in written):
                return None
        elif "\\" in whole:
            text, stopped = unescaped(whole, ECHO_ESCAPE)
            if "\0" in text or NOT_KNOWN in text:
                return None
            written = (computed(text, written, "echo"),)
            newline = newline and not stopped
    return (*written, Piece("\n", end, end + 1)) if newline else written


def printf_output(pattern: Pieces, arguments: Sequence[Pieces]) -> Pieces | None:
    """What `printf pattern arguments…` writes; None where unknown."""
    text = text_of(pattern)
    if text is None or len(arguments) > MOST_ARGUMENTS or any(p.open for field in (pattern, *arguments) for p in field):
        return None
    out: list[Piece] = []
    used = 0
    while True:
        before = used
        at = 0
        while at < len(text):
            character = text[at]
            if character not in "%\\":
                end = at
                while end < len(text) and text[end] not in "%\\":
                    end += 1
                out.extend(cut(pattern, at, end))
                at = end
                continue
            match = (DIRECTIVE if character == "%" else ESCAPE).match(text, at)
            place = cut(pattern, at, at + 1)[0]
            if match is None and character == "%":
                return None
            if match is None:
                out.append(place)
                at += 1
                continue
            if character == "\\" or match[0] == "%%":
                character = "%" if match[0] == "%%" else unescaped(match[0], ESCAPE)[0]
                if character in (NOT_KNOWN, "\0"):
                    return None
                out.append(Piece(character, place.start, place.start + 2))
            elif match[4] == "%":
                return None
            else:
                argument = arguments[used] if used < len(arguments) else None
                used += 1
                done = _conversion(match, argument, place)
                if done is None:
                    return None
                pieces, stopped = done
                out.extend(pieces)
                if stopped:
                    return tuple(out)
            at = match.end()
        if used >= len(arguments) or used == before:
            return tuple(out)


def _conversion(match: re.Match[str], argument: Pieces | None, place: Piece) -> tuple[Pieces, bool] | None:
    flags, width, precision, letter = match[1], parse_integer(match[2] or "0"), match[3], match[4]
    source: Pieces = argument if argument is not None else ()
    if letter == "s" and not width and precision is None:
        return source, False
    text = text_of(source)
    if text is None or width > WIDEST or precision is not None and parse_integer(precision or "0") > WIDEST:
        return None
    stopped = False
    if letter in "sbqc":
        if letter == "b":
            text, stopped = unescaped(text, B_ESCAPE)
        elif letter == "q":
            text = printf_quoted(text)
        elif letter == "c":
            text = text[:1] or "\0"  # printf writes NUL, which no variable can hold
        if "\0" in text or NOT_KNOWN in text:
            return None
        if (width or precision is not None or letter == "c") and not text.isascii():
            return None
        if precision is not None:
            text = text[: parse_integer(precision or "0")]
    elif letter in "diuxXo":
        number = printf_number(text)
        if number is None or "'" in flags or "#" in flags:
            return None
        if letter in "uxXo":
            number %= 1 << 64
        digits = format(abs(number), letter if letter in "xXo" else "d")
        if precision is not None:
            digits = digits.rjust(parse_integer(precision or "0"), "0") if precision.strip("0") or number else ""
        sign = "-" if number < 0 else ""
        if number >= 0 and letter in "di":
            sign = "+" if "+" in flags else " " if " " in flags else ""
        if "0" in flags and "-" not in flags and precision is None:
            digits = digits.rjust(width - len(sign), "0")
        text = sign + digits
    else:
        return None
    text = text.ljust(width) if "-" in flags else text.rjust(width)
    if text == text_of(source):
        return source, stopped
    return (computed(text, source or (place,), "printf"),), stopped


def printf_number(string: str) -> int | None:
    """The number of an argument of `%d`; None where printf rejects it."""
    if not string:
        return 0
    if string[0] in "'\"":
        return ord(string[1]) if len(string) > 1 and string.isascii() else None
    stripped = string.lstrip(" \t\n")
    return None if "#" in string else parse_number(stripped, wrapping=False)


# --- quoting -------------------------------------------------------------------------------------


def needs_ansi(string: str) -> bool:
    return any(not each.isprintable() for each in string)


def ansi_quoted(string: str) -> str:
    """A text as `$'…'`."""
    out = []
    for character in string:
        if character in ANSI_NAMES:
            out.append(ANSI_NAMES[character])
        elif character in "\\'":
            out.append("\\" + character)
        elif character.isprintable():
            out.append(character)
        else:
            errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
            out.append("".join([f"\\{byte:03o}" for byte in character.encode(errors=errors)]))
    return "$'" + "".join(out) + "'"


def quoted_as_input(string: str) -> str:
    """A text as `${X@Q}` quotes it."""
    if needs_ansi(string):
        return ansi_quoted(string)
    if string == "'":
        return "\\'"
    return "'" + string.replace("'", "'\\''") + "'"


def printf_quoted(string: str) -> str:
    """A text as `printf %q` quotes it."""
    if not string:
        return "''"
    if needs_ansi(string):
        return ansi_quoted(string)
    out = []
    for at, character in enumerate(string):
        special = character in " '\"\\|&;()<>!{}*[]?^$`," or character == "#" and not at
        special = special or character == "~" and (not at or string[at - 1] in ":=")
        out.append("\\" + character if special else character)
    return "".join(out)


def ansi_unquoted(string: str) -> str:
    """A text with its escapes resolved as in `$'…'`, for `${X@E}`."""
    return ansi_escape.sub(lambda match: unescape(match[0]), string)
