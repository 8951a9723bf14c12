"""The characters of Python's strings, each with its place in the program.

What a program fills in is a `SLOT`: expressions of f-strings, fields of `format`, of `%` and of `string.Template`.
"""

import ast
import re
import textwrap
from collections.abc import Callable

from sbatchlint.source.documents.snippet import Character
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT, Source, Span

Characters = list[Character]

_LITERAL = Regex(r"([rRuUfFbB]{0,2})('''|\"\"\"|'|\")")
_BETWEEN = Regex(r"(?:[\s()]|\\\n|#[^\n]*+)+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_OPENING, _CLOSING = "([{", ")]}"
_PERCENT = Regex(r"%(?:\((\w+)\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?([diouxXeEfFgGcrsa%])")
_DOLLAR = Regex(r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_FIELD = Regex(r"\{\{|\}\}|\{(?:[^{}]|\{[^{}]*\})*\}")


def string_of(characters: Characters) -> str:
    return "".join([each.string for each in characters])


def slot(span: Span) -> Character:
    return Character(SLOT, span, False)


def at_place(string: str, span: Span) -> Characters:
    """A string that is nowhere in the program as it is."""
    return [Character(each, span, False) for each in string]


def place(source: Source, row: int | None, column: int | None) -> int:
    """The offset of a place as ast gives it, in bytes of a line."""
    line = source.line(row or 1)
    written = source.slice(line).encode("utf-8", "surrogateescape")[: column or 0]
    return line.start + len(written.decode("utf-8", "surrogateescape"))


def span_of(source: Source, node: ast.expr | ast.stmt) -> Span:
    return Span(place(source, node.lineno, node.col_offset), place(source, node.end_lineno, node.end_col_offset))


def characters_of(source: Source, node: ast.Constant | ast.JoinedStr) -> Characters:
    """The characters of a string that is written as one literal, or as several in a row."""
    span = span_of(source, node)
    if isinstance(node, ast.Constant):
        expected = [str(node.value)]
    else:
        expected = [str(each.value) if isinstance(each, ast.Constant) else SLOT for each in node.values]
    found = _read(source.text, span)
    if found is not None and string_of(found) == "".join(expected):
        return found
    return [each for part in expected for each in ([slot(span)] if part == SLOT else at_place(part, span))]


def _read(text: str, span: Span) -> Characters | None:
    found: Characters = []
    at, end = span
    while at < end:
        between = _BETWEEN.match(text, at, end)
        at = at if between is None else between.end()
        if at >= end:
            break
        literal = _LITERAL.match(text, at, end)
        kind = "" if literal is None else literal[1].lower()
        if literal is None or "b" in kind:
            return None
        body = _body(text, literal.end(), end, literal[2], "r" in kind, "f" in kind)
        if body is None:
            return None
        found += body[0]
        at = body[1]
    return found


def _body(text: str, at: int, end: int, quote: str, raw: bool, formatted: bool) -> tuple[Characters, int] | None:
    """The characters of a literal up to its closing quote, and where it ends; None for escapes by number or name."""
    found: Characters = []
    while at < end and not text.startswith(quote, at):
        string, size = text[at], 1
        if formatted and string in "{}":
            if not text.startswith(string * 2, at):
                close = _closing(text, at + 1, end)
                if close is None:
                    return None
                found.append(slot(Span(at, close)))
                at = close
                continue
            size = 2
        elif string == "\\" and not raw and text[at + 1] in _ESCAPES:
            string, size = _ESCAPES[text[at + 1]], 2
        elif string == "\\" and not raw and text[at + 1] in "01234567xuUN":
            return None
        elif string == "\\" and not raw and text[at + 1] in "\r\n":  # the line goes on
            string, size = "", 3 if text.startswith("\r\n", at + 1) else 2
        elif string == "\\":  # an unknown escape stands for both of its characters
            found.append(Character("\\", Span(at, at + 1)))
            at += 1
            string = text[at]
        elif text.startswith("\r\n", at):
            string, size = "\n", 2
        found += [Character(string, Span(at, at + size))] if string else []
        at += size
    return (found, at + len(quote)) if at < end else None


def _closing(text: str, at: int, end: int) -> int | None:
    """Where an expression of an f-string ends, after its brace."""
    depth = 1
    while at < end:
        if text[at] in "'\"":
            quote = text[at] * (3 if text.startswith(text[at] * 3, at) else 1)
            after = text.find(quote, at + len(quote), end)
            if after < 0:
                return None
            at = after + len(quote)
            continue
        depth += (text[at] in _OPENING) - (text[at] in _CLOSING)
        at += 1
        if depth == 0:
            return at
    return None


# --- what programs make of strings --------------------------------------------------------------------------------


def filled_in(
    characters: Characters, pattern: Regex | re.Pattern[str], known: Callable[[re.Match[str]], str | None]
) -> Characters:
    """A string with what `known` returns for each match of a pattern in its place, or with a slot for None."""
    found: Characters = []
    at = 0
    for match in pattern.finditer(string_of(characters)):
        start, end = match.span()
        span = Span(characters[start].span.start, max(characters[end - 1].span.end, characters[start].span.end))
        text = known(match)
        found += [*characters[at:start], *([slot(span)] if text is None else at_place(text, span))]
        at = end
    return found + characters[at:]


def formatted(characters: Characters) -> Characters:
    """What `format` makes of a string."""
    return filled_in(characters, _FIELD, lambda field: field[0][0] if field[0] in ("{{", "}}") else None)


def interpolated(characters: Characters) -> Characters:
    """What `%` makes of a string."""
    return filled_in(characters, _PERCENT, lambda field: "%" if field[2] == "%" else None)


def substituted(characters: Characters, names: frozenset[str] | None) -> Characters:
    """What `string.Template` makes of a string; `names`: the only ones that it replaces."""

    def known(field: re.Match[str]) -> str | None:
        if field[1]:
            return "$"
        return field[0] if names is not None and (field[2] or field[3]) not in names else None

    return filled_in(characters, _DOLLAR, known)


def replaced(characters: Characters, old: str, new: Characters) -> Characters:
    """What `replace` makes of a string."""
    return filled_in(characters, re.compile(re.escape(old)), lambda _: string_of(new)) if old else characters


def dedented(characters: Characters) -> Characters:
    lines = lines_of(characters)
    after = textwrap.dedent(string_of(characters)).split("\n")
    found: Characters = []
    for line, text in zip(lines, after):
        ends = line[-1:] if line and line[-1].string == "\n" else []
        body = line[: len(line) - len(ends)]
        found += body[len(body) - len(text) :] if text else []
        found += ends
    return found


def lines_of(characters: Characters) -> list[Characters]:
    """The lines, each with its newline; the last one has none."""
    lines: list[Characters] = [[]]
    for character in characters:
        lines[-1].append(character)
        if character.string == "\n":
            lines.append([])
    return lines


def words_of(characters: Characters) -> list[Characters]:
    """The words between whitespace."""
    found: list[Characters] = []
    is_inside = False
    for character in characters:
        if character.string.isspace():
            is_inside = False
        elif is_inside:
            found[-1].append(character)
        else:
            found.append([character])
            is_inside = True
    return found


def shell_words(characters: Characters) -> list[Characters] | None:
    """The words that `shlex.split` makes; None where a quote is left open."""
    found: list[Characters] = []
    word: Characters | None = None
    quote = ""
    left = iter(characters)
    for character in left:
        string = character.string
        if not quote and string.isspace():
            if word is not None:
                found.append(word)
            word = None
            continue
        word = [] if word is None else word
        if string == quote:
            quote = ""
        elif not quote and string in "'\"":
            quote = string
        elif string == "\\" and quote != "'":
            after = next(left, None)
            if after is None:
                return None
            word += [after] if not quote or after.string in '"\\' else [character, after]
        else:
            word.append(character)
    if quote:
        return None
    return found if word is None else [*found, word]


def stripped(characters: Characters, method: str, what: str | None = None) -> Characters:
    low, high = 0, len(characters)

    def goes(index: int) -> bool:
        string = characters[index].string
        return string.isspace() if what is None else string in what

    while method != "rstrip" and low < high and goes(low):
        low += 1
    while method != "lstrip" and low < high and goes(high - 1):
        high -= 1
    return characters[low:high]
