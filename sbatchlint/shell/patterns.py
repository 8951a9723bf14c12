"""Shell patterns as regular expressions."""

from __future__ import annotations

import re
from functools import lru_cache

CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
}


@lru_cache(maxsize=512)
def pattern_to_regex(pattern: str, greedy: bool = True) -> re.Pattern[str] | None:
    """The regular expression of a shell pattern (`*`, `?`, `[…]`, backslash), or None where it is not understood."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            out.append(".*" if greedy else ".*?")
        elif character == "?":
            out.append(".")
        elif character == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        elif character == "[":
            end = pattern.find("]", at + 2 if pattern[at : at + 1] in ("!", "^") else at + 1)
            if end < 0:
                out.append(re.escape(character))
                continue
            inside = pattern[at:end]
            negated = inside[:1] in ("!", "^")
            inside = inside[1:] if negated else inside
            while "[:" in inside:
                return _with_classes(pattern, greedy)
            out.append(("[^" if negated else "[") + inside.replace("\\", "\\\\").replace("[", "\\[") + "]")
            at = end + 1
        elif character in "@!+" and pattern[at : at + 1] == "(":
            return None  # extended patterns
        else:
            out.append(re.escape(character))
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return None


def _with_classes(pattern: str, greedy: bool) -> re.Pattern[str] | None:
    for name, characters in CLASSES.items():
        pattern = pattern.replace(f"[:{name}:]", characters)
    return None if "[:" in pattern else pattern_to_regex(pattern, greedy)


def matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern matches a whole text; None for a pattern that is not understood."""
    regex = pattern_to_regex(pattern)
    return None if regex is None else regex.fullmatch(text) is not None


def removed_range(text: str, operator: str, pattern: str) -> tuple[int, int] | None:
    """The part of `text` that `${X#pattern}` and its kin keep, as (start, end); None where it is not understood."""
    regex = pattern_to_regex(pattern)
    if regex is None:
        return None
    size = len(text)
    if operator == "#":
        cuts = range(size + 1)
    elif operator == "##" or operator == "%":
        cuts = range(size, -1, -1)
    else:
        cuts = range(size + 1)
    for at in cuts:
        if operator[0] == "#" and regex.fullmatch(text[:at]):
            return at, size
        if operator[0] == "%" and regex.fullmatch(text[at:]):
            return 0, at
    return 0, size
