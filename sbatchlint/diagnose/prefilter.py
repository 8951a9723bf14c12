"""One regular expression for all literals of all symptoms, which quickly skips lines with none of them.

An expression of `re` is fast if few characters can begin a match. So each literal is searched from one of its rarest
characters on, and these are chosen together so that they make up little of a log: about a sixth. Only a part of at most
`_PART` characters is searched; a match has to be verified in the line itself.
"""

import re
from collections.abc import Iterable
from math import log

# Characters of logs, the most frequent first; all others are rarer.
_BY_FREQUENCY = " eotairnsl0c1d2-u/m3p.5:4h6,8f79_g=byv\"Tk[]EwINAS()RLOP'DCMGFUxBWHVKq*zj>YXQJZ+<#"
_RANK = {character: 1.0 / (place + 1) for place, character in enumerate(_BY_FREQUENCY)}
_PART, _LEAST = 10, 4


def _frequency(character: str) -> float:
    return _RANK.get(character, 0.01)


def parts(literals: Iterable[str]) -> dict[str, str]:
    """By literal, the part to search for, which begins with a rare character."""
    strings = sorted(set(literals))
    starts = {each: set(each[: max(len(each) - _LEAST + 1, 1)]) for each in strings}
    left = {each: set(characters) for each, characters in starts.items()}
    for one in sorted(set().union(*starts.values()), key=lambda one: (-_frequency(one), one)):
        if all(one not in kept or len(kept) > 1 for kept in left.values()):
            for kept in left.values():
                kept.discard(one)
    chosen = set().union(*left.values())
    found = {
        string: _rarest(string, [at for at in range(max(len(string) - _LEAST + 1, 1)) if string[at] in chosen])
        for string in strings
    }
    known = set(found.values())
    for literal, part in found.items():  # a prefix that is another part suffices
        found[literal] = next((part[:size] for size in range(1, len(part)) if part[:size] in known), part)
    return found


def _rarest(literal: str, places: list[int]) -> str:
    """The rarest part of a literal that begins at one of these places."""
    found = [literal[at : at + _PART] for at in places]
    return max(found, key=lambda part: (sum(-log(_frequency(one)) for one in part), part))


def compiled(found: Iterable[str]) -> re.Pattern[bytes]:
    """The expression that matches any of these parts in bytes."""
    return re.compile(_tree(sorted({each.encode() for each in found})), re.DOTALL)


def _tree(words: list[bytes]) -> bytes:
    """The expression for some words, in which common prefixes share a branch."""
    if b"" in words:
        return b""
    branches: dict[bytes, list[bytes]] = {}
    for word in words:
        branches.setdefault(word[:1], []).append(word[1:])
    made = [re.escape(first) + _tree(rest) for first, rest in sorted(branches.items())]
    return made[0] if len(made) == 1 else b"(?:" + b"|".join(made) + b")"
