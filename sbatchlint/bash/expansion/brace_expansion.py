"""Brace expansion, which turns one word into several before all other expansions."""

import re
from collections.abc import Sequence
from itertools import pairwise

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.syntax.characters import END
from sbatchlint.bash.syntax.closings import Closings
from sbatchlint.bash.syntax.tree import CommandSubstitution, Literal, Parameter, Part, Word
from sbatchlint.bash.values import Piece
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# A word that would become more words is unknown.
MOST_BRACES = 64
# Braces in it, and how many characters may be searched for their ends.
MOST_OPENED = 150
MOST_SEARCHED = 1_000_000
EMPTY_QUOTES = Regex(r"\"\"|''")
_SEVERAL = Regex(r",|\.\.")
SEQUENCE = Regex(r"([-+]?\d+)\.\.([-+]?\d+)(?:\.\.([-+]?\d+))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.([-+]?\d+))?", re.ASCII)


def sequence(string: str) -> list[str] | None:
    """The items of `1..5`, `a..e` or `01..10..2`; None for anything else, empty for what is too long or not known."""
    match = SEQUENCE.fullmatch(string)
    if match is None:
        return None
    if match[4]:
        first, last, step = ord(match[4]), ord(match[5]), parse_integer(match[6] or "1")
    else:
        first, last, step = parse_integer(match[1]), parse_integer(match[2]), parse_integer(match[3] or "1")
    step = abs(step) or 1
    if abs(last - first) // step >= MOST_BRACES:
        return []
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if match[4]:
        items = [chr(each) for each in numbers]
        # bash then reads these two as a quote and as the begin of a substitution: `{A..c}`
        return [] if "\\" in items or "`" in items else items
    width = 0
    if any(re.match(r"-?0\d", end) for end in (match[1], match[2])):
        width = max(len(match[1]), len(match[2]))
    return [f"{each:0{width}d}" for each in numbers]


def brace_words(string: str) -> list[list[int | str]] | None:
    """Brace expansion of a word given as characters, in which `\\0` stands for a quoted part or an expansion.

    Each resulting word is a list of indices into `string` and of new texts. None where there is too much; a single
    word with all indices where there are no braces to expand.
    """
    if "{" not in string:
        return [list(range(len(string)))]
    opened = string.count("{")
    if opened > MOST_OPENED or opened * len(string) > MOST_SEARCHED:
        return None
    return _expanded(string, 0, len(string))


def _expanded(string: str, start: int, end: int) -> list[list[int | str]] | None:
    """The expansion of a range of the text."""
    at = start
    while at < end:
        if string[at] == "{":
            close, commas = _closing(string, at, end)
            if close is not None:
                found = _with_brace(string, start, at, close, commas, end)
                if found is None or found:
                    return found
        at += 1
    return [list(range(start, end))]


def _closing(string: str, at: int, end: int) -> tuple[int | None, list[int]]:
    depth = 0
    commas: list[int] = []
    for index in range(at, end):
        character = string[index]
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return index, commas
        elif character == "," and depth == 1:
            commas.append(index)
    return None, commas


def _with_brace(
    string: str, start: int, at: int, close: int, commas: list[int], end: int
) -> list[list[int | str]] | None:
    """The expansion of a range with the braces at `at` and `close`; empty where they are literal."""
    middle: list[list[int | str]] = []
    if commas:
        edges = [at, *commas, close]
        for low, high in pairwise(edges):
            inner = _expanded(string, low + 1, high)
            if inner is None:
                return None
            middle.extend(inner)
    else:
        numbers = sequence(string[at + 1 : close])
        if numbers is None:
            return []
        if not numbers:
            return None
        middle = [[each] for each in numbers]
    after = _expanded(string, close + 1, end)
    if after is None or len(middle) * len(after) > MOST_BRACES:
        return None
    before: list[int | str] = list(range(start, at))
    return [[*before, *each, *rest] for each in middle for rest in after]


def with_empty_quotes(word: Word, scope: Scope) -> list[Part | Piece]:
    """The parts of a word, with an empty piece for each `""` between them."""
    out: list[Part | Piece] = []
    at = word.start
    for part in (*word.parts, None):
        end = word.end if part is None else part.start
        if EMPTY_QUOTES.search(scope.text.string, at, end):
            offset = scope.text.offset(at)
            out.append(Piece("", offset, offset))
        if part is not None:
            out.append(part)
            at = part.end
    return out


def has_braces(parts: Sequence[Part | Piece]) -> bool:
    """Whether there may be something to expand."""
    return "{" in "".join([part.text for part in parts if isinstance(part, Literal) and not part.quoted])


def has_other_braces(word: Word, scope: Scope) -> bool:
    """Whether bash expands braces that are written inside a part of the word, as in `` "`echo "{a,b}"`" ``.

    Brace expansion comes first, and of double quotes it knows only that `"` ends them, except in `$(…)`: what stands
    between quotes in quoted backquotes or a quoted `${…}` is not quoted to it (bash 5.2, braces.c, brace_gobbler).
    """
    string, start, end = scope.text.string, word.start, word.end
    if min(string.find(each, start, end) for each in '{"}') < 0 or not _SEVERAL.search(string, start, end):
        return False
    if not any(_is_cut_by_quotes(part, string) for part in word.parts):
        return False
    whole = {part.start: part.end for part in word.parts if not isinstance(part, Literal) and not _is_read(part)}
    closings = Closings(string[start:end] + END)
    read = ["\0"] * (end - start)
    quote = ""
    at = start
    while at < end:
        character = string[at]
        after = at + 1
        if at in whole:
            after = whole[at]
        elif character == "\\" and quote != "'":
            after = at + 2
        elif character == "$" and quote != "'" and string.startswith(("(", "{"), after):
            # between quotes only the two characters of `${` are passed over
            after = at + 2
            if string[at + 1] == "(" or not quote:
                closing = closings.of(after - start, ")" if string[at + 1] == "(" else "}")
                if closing < 0:
                    return True
                after = start + closing + 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'`":
            quote = character
        else:
            read[at - start] = character
        at = after
    words = brace_words("".join(read))
    for part in filter(_is_read, word.parts):
        read[part.start - start : part.end - start] = ["\0"] * (part.end - part.start)
    return words is None or words != brace_words("".join(read))


def _is_cut_by_quotes(part: Part, string: str) -> bool:
    return _is_read(part) and string.find('"', part.start, part.end) >= 0


def _is_read(part: Part) -> bool:
    """Whether brace expansion reads what is in a part."""
    return getattr(part, "quoted", False) and (
        isinstance(part, Parameter) or isinstance(part, CommandSubstitution) and part.backquoted
    )


def _joins_a_name(word: Sequence[Part | Piece], scope: Scope) -> bool:
    """Whether a `$x` is followed by what braces made of it, which may belong to the name: `{$a,$b}_c`, `$a{1,2}`."""
    return any(
        isinstance(part, Parameter)
        and not part.quoted
        and part.name.isidentifier()
        and scope.written(part)[1:2] != "{"
        and not (isinstance(after, Literal) and (after.quoted or after.start == part.end))
        and _in_name(getattr(after, "text", None) or "")
        for part, after in pairwise(word)
    )


def _in_name(text: str) -> bool:
    return text[:1].isalnum() or text[:1] == "_"


def expand_braces(parts: Sequence[Part | Piece], scope: Scope) -> list[list[Part | Piece]] | None:
    """The words that brace expansion makes of one; None where there are too many."""
    units: list[tuple[Part | Piece, int]] = []
    characters = []
    for part in parts:
        if isinstance(part, Literal) and not part.quoted and len(part.text) == part.end - part.start:
            units.extend((part, index) for index in range(len(part.text)))
            characters.append(part.text)
        else:
            units.append((part, 0))
            characters.append("\0")
    expanded = brace_words("".join(characters))
    if expanded is None:
        return None
    first = units[0][0]
    last = units[-1][0]
    span = (
        scope.text.span(first.start, last.end) if not isinstance(first, Piece) and not isinstance(last, Piece)
        else Span(0, 0)
    )  # fmt: skip
    words: list[list[Part | Piece]] = []
    for result in expanded:
        word: list[Part | Piece] = []
        for item in result:
            if isinstance(item, str):
                word.append(scope.expanded(item, "{}", span))
                continue
            part, index = units[item]
            if not isinstance(part, Literal) or len(part.text) != part.end - part.start or part.quoted:
                word.append(part)
                continue
            before = word[-1] if word else None
            at = part.start + index
            if isinstance(before, Literal) and not before.quoted and before.end == at:
                word[-1] = Literal(before.text + part.text[index], before.start, at + 1, False)
            else:
                word.append(Literal(part.text[index], at, at + 1, False))
        if len(expanded) > 1 and _joins_a_name(word, scope):
            return None
        words.append(word)
    return words
