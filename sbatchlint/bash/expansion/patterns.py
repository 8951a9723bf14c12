"""Shell patterns, and the regular expressions of `=~`, as Python regular expressions.

A pattern is a text in which quoted characters are escaped by a backslash (see `quoted`).
"""

import re
from functools import lru_cache
from math import comb

from sbatchlint.bash.limits import MOST_CHARACTERS
from sbatchlint.bash.values import Pieces, least_size, text_of
from sbatchlint.source.regex import Regex

CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "word": "a-zA-Z0-9_",
}
# In how many ways a string may be divided among the repeated parts of a pattern: in the worst case all are tried. A
# match that may take longer is unknown.
MOST_WAYS = 500_000
_LITERAL = Regex(r"(?:[^\\*?\[\]()|+@!]|\\.)*", re.DOTALL)
SPECIAL = Regex(r"[\\*?\[\]()|+@!&~#%/^$.{}<>=-]")


def quoted(string: str) -> str:
    """A pattern that matches only this text."""
    return SPECIAL.sub(r"\\\g<0>", string)


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The bracket expression after the `[` at `at - 1`, and the index after it; None for a literal `[`."""
    size = len(pattern)
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    out: list[str] = []
    first = True
    while at < size:
        character = pattern[at]
        if character == "]" and not first:
            inside = "".join(out)
            return (f"[{'^' if negated else ''}{inside}]" if inside else ("." if negated else "(?!)")), at + 1
        first = False
        if character == "[" and pattern[at + 1 : at + 2] == ":":
            end = pattern.find(":]", at + 2)
            name = pattern[at + 2 : end] if end > 0 else ""
            if name in CLASSES:
                out.append(CLASSES[name])
                at = end + 2
                continue
        if character == "[" and pattern[at + 1 : at + 2] in (".", "="):
            raise ValueError(pattern)
        if character == "\\" and at + 1 < size:
            at += 1
            character = pattern[at]
        low = character
        at += 1
        if pattern[at : at + 1] == "-" and at + 1 < size and pattern[at + 1] != "]":
            at += 1
            high = pattern[at]
            if high == "\\" and at + 1 < size:
                at += 1
                high = pattern[at]
            elif high == "[":
                raise ValueError(pattern)
            at += 1
            if low <= high:
                out.append(f"{re.escape(low)}-{re.escape(high)}")
            continue
        out.append(re.escape(low))
    return None


def _translated(pattern: str, extended: bool | None) -> str | None:
    out: list[str] = []
    closers: list[str] = []
    at = 0
    size = len(pattern)
    while at < size:
        character = pattern[at]
        at += 1
        if character in "?*+@!" and pattern[at : at + 1] == "(" and extended is not False:
            if extended is None or character == "!":
                return None
            out.append("(?:")
            closers.append({"?": ")?", "*": ")*", "+": ")+", "@": ")"}[character])
            at += 1
        elif character == "|" and closers:
            out.append("|")
        elif character == ")" and closers:
            out.append(closers.pop())
        elif character == "*":
            if not out or out[-1] != ".*":
                out.append(".*")
        elif character == "?":
            out.append(".")
        elif character == "\\":
            if at == size:
                return None
            out.append(re.escape(pattern[at]))
            at += 1
        elif character == "[":
            found = _bracket(pattern, at)
            if found is None:
                out.append(re.escape(character))
            else:
                out.append(found[0])
                at = found[1]
        else:
            out.append(re.escape(character))
    return None if closers else "".join(out)


@lru_cache(maxsize=512)
def pattern_to_regex(pattern: str, extended: bool | None = None) -> re.Pattern[str] | None:
    """The regular expression of a shell pattern, or None where it is not understood.

    `extended`: whether `@(a|b)` and the like are patterns (`shopt -s extglob`, `[[ ]]`); None: not known.
    """
    try:
        source = _translated(pattern, extended)
        return None if source is None else re.compile(source, re.DOTALL)
    except (re.error, ValueError, OverflowError, RecursionError):
        return None


@lru_cache(maxsize=512)
def _repeats(source: str) -> tuple[int, int, int]:
    """What makes matching slow: how many parts of a regular expression repeat, how deep they are nested, and how many
    choices its alternatives leave."""
    count = alternatives = at = 0
    ways = 1
    depth = 0
    groups: list[tuple[int, int]] = []
    while at < len(source):
        character = source[at]
        at += 1
        closed = 0
        if character == "\\":
            at += 1
        elif character == "[":
            at += 1 + (source[at] == "^")
            while source[at : at + 1] not in ("]", ""):
                at += 1 + (source[at] == "\\")
            at += 1
        elif character == "(":
            at += 2 if source.startswith("?", at) else 0
            groups.append((depth, alternatives))
            depth = alternatives = 0
        elif character == "|":
            alternatives += 1
        elif character == ")" and groups:
            closed = depth + (alternatives > 0)
            ways *= alternatives + 1
            above, alternatives = groups.pop()
            depth = max(depth, above)
        if source[at : at + 1] in ("*", "+", "?", "{"):
            at += 1
            count += 1
            depth = max(depth, closed + 1)
    return count, depth, ways * (alternatives + 1)


def is_affordable(regex: re.Pattern[str], size: int, attempts: int = 0) -> bool:
    """Whether a string of `size` characters is matched soon even in the worst case. `attempts`: 1 where the match is
    tried at each character, 2 for each part of the text."""
    count, depth, ways = _repeats(regex.pattern)
    if depth > 2 or count > 30:
        return False
    if depth == 2 and (ways + 1) ** min(size, 30) > MOST_WAYS:
        return False
    return ways * comb(size + count + attempts, count + attempts) <= MOST_WAYS


def only_text(pattern: str) -> str | None:
    """The only text that a pattern matches; None for one that matches several."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL) if _LITERAL.fullmatch(pattern) else None


def depends_on_locale(pattern: str, string: str) -> bool:
    """Whether the locale decides what a class, a range or one character is in a text."""
    return not string.isascii() and ("[" in pattern or "?" in pattern or "." in pattern)


def matches(pattern: str, string: str, extended: bool | None = None) -> bool | None:
    """Whether a pattern matches a whole text; None for a pattern that is not understood."""
    regex = None if depends_on_locale(pattern, string) else pattern_to_regex(pattern, extended)
    return None if regex is None or not is_affordable(regex, len(string)) else regex.fullmatch(string) is not None


def text_matches(
    pattern: str | None, subject: Pieces, extended: bool | None = None, folded: bool | None = False
) -> bool | None:
    """Whether a `case` pattern or `[[ == ]]` pattern matches; None where that is not known.

    `folded`: whether small and capital letters are the same (`shopt -s nocasematch`).
    """
    if pattern == "*":
        return True
    text = text_of(subject)
    if pattern is None or text is not None:
        if pattern is None or text is None:
            return None
        exactly = matches(pattern, text, extended)
        if folded is False or exactly is None:
            return exactly
        loosely = None if "[" in pattern else matches(pattern.lower(), text.lower(), extended)
        return loosely if folded or loosely == exactly else None
    least = least_size(subject)
    if pattern in ("?*", "*?"):
        return True if least else None
    literal = only_text(pattern)
    return False if literal is not None and least > len(literal) else None


def removed_range(string: str, operator: str, pattern: str, extended: bool | None = None) -> tuple[int, int] | None:
    """The part of `string` that `${X#pattern}` and the like keep, as (start, end); None where unknown."""
    regex = None if depends_on_locale(pattern, string) else pattern_to_regex(pattern, extended)
    size = len(string)
    literal = only_text(pattern)
    if literal is not None:
        if operator[0] == "#":
            return len(literal) if string.startswith(literal) else 0, size
        return 0, size - len(literal) if string.endswith(literal) else size
    if regex is None or not is_affordable(regex, size, 1):
        return None
    longest = len(operator) == 2
    sizes = range(size, -1, -1) if longest else range(size + 1)
    for count in sizes:
        if operator[0] == "#" and regex.fullmatch(string, 0, count):
            return count, size
        if operator[0] == "%" and regex.fullmatch(string, size - count):
            return 0, size - count
    return 0, size


def replaced(string: str, operator: str, pattern: str, replacement: str, extended: bool | None = None) -> str | None:
    """The result of `${X/pattern/replacement}` and the like; None where unknown."""
    if not pattern:
        return {"/#": replacement + string, "/%": string + replacement}.get(operator, string)
    literal = only_text(pattern)
    if literal is not None:
        return _replaced_literal(string, operator, literal, replacement)
    regex = None if depends_on_locale(pattern, string) else pattern_to_regex(pattern, extended)
    if regex is None or not is_affordable(regex, len(string), 1):
        return None
    if len(string) * (len(replacement) + 1) > MOST_CHARACTERS:
        return None
    if not string:
        # bash replaces an empty text where `*` and the like match it
        return replacement if regex.fullmatch("") else string
    if operator == "/#":
        end = _longest(regex, string, 0)
        return string if end is None else replacement + string[end:]
    if operator == "/%":
        for start in range(len(string) + 1):
            if regex.fullmatch(string, start):
                return string[:start] + replacement
        return string
    out: list[str] = []
    at = 0
    while at < len(string):
        end = _longest(regex, string, at)
        if end is not None:
            out.append(replacement)
            if operator == "/":
                at = end
                break
        if end is None or end == at:  # behind an empty match the next character stays
            out.append(string[at])
            at += 1
            continue
        at = end
    return "".join(out) + string[at:]


def _replaced_literal(string: str, operator: str, literal: str, replacement: str) -> str | None:
    most = string.count(literal) if operator == "//" else 1
    if len(string) + most * len(replacement) > MOST_CHARACTERS:
        return None
    if operator == "/#":
        return replacement + string.removeprefix(literal) if string.startswith(literal) else string
    if operator == "/%":
        return string.removesuffix(literal) + replacement if string.endswith(literal) else string
    return string.replace(literal, replacement, most)


def _longest(regex: re.Pattern[str], string: str, start: int) -> int | None:
    found = regex.match(string, start)
    if found is None:
        return None
    if "|" not in regex.pattern:
        return found.end()
    return next(end for end in range(len(string), start - 1, -1) if regex.fullmatch(string, start, end))


@lru_cache(maxsize=256)
def extended_regex(source: str) -> re.Pattern[str] | None:
    """A POSIX extended regular expression for Python; None where it is not understood."""
    out: list[str] = []
    at = 0
    repeated = True  # nothing before it to be repeated
    while at < len(source):
        character = source[at]
        at += 1
        before, repeated = repeated, False
        if character == "[":
            try:
                found = _bracket(source, at)
            except ValueError:
                return None
            if found is None or source[at : at + 1] == "!" or "\\" in source[at : found[1]]:
                return None
            out.append(found[0])
            at = found[1]
        elif character == "\\":
            if at == len(source) or source[at].isalnum():
                return None
            out.append(re.escape(source[at]))
            at += 1
        elif character in "*+?":
            if before:
                return None
            out.append(character)
            repeated = True
        elif character == "{":
            bounds = re.compile(r"\d+(,\d*)?\}").match(source, at)
            if before or not bounds:
                return None
            out.append("{" + bounds[0])
            at = bounds.end()
            repeated = True
        elif character in "(|":
            out.append(character)
            repeated = True
        elif character == "^":
            out.append(r"\A")
            repeated = True
        elif character == "$":
            out.append(r"\Z")
            repeated = True
        elif character in ").":
            out.append(character)
        else:
            out.append(re.escape(character))
    try:
        return re.compile("".join(out), re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        return None
