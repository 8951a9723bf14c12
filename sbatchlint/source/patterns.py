"""Patterns of .gitignore, matched as git does, in time that grows with path and pattern and not with their stars.

In a name: between two stars, the first place at which what is there matches is as good as any later one, as what
follows the later one may follow the first, too. So each star but the last is a group that is not entered a second time.
In a path: the patterns with slashes are automata that read one name after the other, all of their states at once.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

# No path is longer, so that a longer pattern is not meant for one.
LONGEST = 4096
# Of so many folders and names it is kept what was found for them.
_KEPT = 4096
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "\\x21-\\x7e", "lower": "a-z", "print": "\\x20-\\x7e", "punct": "!-\\/:-@\\[-`{-~", "space": "\\s",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip


class _Name:
    """What one name is to be."""

    def __init__(self, pattern: str) -> None:
        self._begin = re.split(r"[?[\\*]", pattern, maxsplit=1)[0]
        self._expression = _name(pattern) if re.search(r"[?\[\\]", pattern) else None
        self._compiled: re.Pattern[str] | None = None
        self._first, *self._between = re.split(r"\*+", pattern)

    def matches(self, name: str) -> bool:
        if not name.startswith(self._begin):
            return False  # to compile thousands of expressions takes seconds
        if self._expression is not None:
            if self._compiled is None:
                self._compiled = re.compile(self._expression)
            return self._compiled.fullmatch(name) is not None
        if not self._between:
            return name == self._first
        if not name.startswith(self._first):
            return False
        at = len(self._first)
        *middle, last = self._between
        for text in middle:
            at = name.find(text, at) + len(text)
            if at < len(text):
                return False
        return at <= len(name) - len(last) and name.endswith(last)


class _Way:
    """What a path is to be. The automaton is in state n where the first n parts of the pattern stand for what was read.

    Its states are the bits of a number. A `**` holds its state at every name, and lets go on without one; the last part
    needs one.
    """

    def __init__(self, pattern: str) -> None:
        parts: dict[str, int] = {}
        self._holding = 0
        number = 0
        for text in _names(pattern):
            bit = 1 << number
            if len(text) > 1 and not text.strip("*"):
                if bit >> 1 & self._holding:
                    continue  # two are as one
                self._holding |= bit
            else:
                parts[text] = parts.get(text, 0) | bit
            number += 1
        self._parts = [(_Name(text), bits) for text, bits in parts.items()]
        self.end = 1 << number
        self._ends_open = self.end >> 1 & self._holding
        self._moves: dict[str, int] = {}
        self.begin = self._with_skipped(1)

    def after(self, states: int, name: str) -> int:
        """The states after one more name."""
        moves = self._moves.get(name)
        if moves is None:
            if len(self._moves) == _KEPT:
                self._moves.clear()
            moves = self._moves[name] = sum(bits for part, bits in self._parts if part.matches(name))
        if states & self._ends_open:
            moves |= self._ends_open
        return self._with_skipped((states & moves) << 1 | states & self._holding)

    def _with_skipped(self, states: int) -> int:
        return states | (states & self._holding & ~self._ends_open) << 1


class _Line(NamedTuple):
    """A pattern: of one name, wherever it stands, or the number of its automaton."""

    includes: bool
    for_folders: bool
    name: _Name | None
    way: int


class Patterns:
    """The lines of a file; the last that matches decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: list[_Line] = []
        self._ways: list[_Way] = []
        for text in lines:
            try:
                self._add(text)
            except ValueError:
                pass  # as for git, what cannot be read matches nothing
        self._lines.reverse()
        self._folders: dict[str, tuple[bool | None, list[int]]] = {}

    def decide(self, path: str) -> bool | None:
        """Whether the patterns name a path, or a folder above it, or except it; None where they say nothing.

        `path`: relative to where they stand; a folder has a slash at its end.
        """
        *folders, name = path.removeprefix("./").split("/")
        decision = None
        states = [way.begin for way in self._ways]
        above = ""
        for folder in folders:
            above += folder + "/"
            known = self._folders.get(above)
            if known is None:
                if len(self._folders) == _KEPT:
                    self._folders.clear()
                known = self._folders[above] = self._after(states, folder, True)
            decision, states = known
            if decision:
                return True
        return self._after(states, name, False)[0] if name else decision

    def _after(self, states: list[int], name: str, is_folder: bool) -> tuple[bool | None, list[int]]:
        states = [way.after(each, name) for way, each in zip(self._ways, states)]
        for line in self._lines:
            if line.for_folders and not is_folder:
                continue
            if line.name is not None:
                found = line.name.matches(name)
            else:
                found = bool(states[line.way] & self._ways[line.way].end)
            if found:
                return line.includes, states
        return None, states

    def _add(self, text: str) -> None:
        bare = text.rstrip(" ")
        if (len(bare) - len(bare.rstrip("\\"))) % 2:
            bare += text[len(bare) : len(bare) + 1]  # an escaped space
        if bare.startswith("#") or len(bare) > LONGEST:
            return
        includes = not bare.startswith("!")
        bare = bare.removeprefix("!")
        for_folders = bare.endswith("/")
        bare = bare.removesuffix("/")
        if not bare.removeprefix("/"):
            return
        if "/" in bare:
            self._ways.append(_Way(bare.removeprefix("/")))
            self._lines.append(_Line(includes, for_folders, None, len(self._ways) - 1))
        else:
            self._lines.append(_Line(includes, for_folders, _Name(bare), -1))


@lru_cache(maxsize=4096)
def patterns(lines: tuple[str, ...]) -> Patterns:
    return Patterns(lines)


def _names(pattern: str) -> list[str]:
    """The parts of a pattern between its slashes. Raises `ValueError` as `_characters`."""
    names = [""]
    at = 0
    while at < len(pattern):
        begin = at
        at += 1
        if pattern[begin] == "[":
            at = _characters(pattern, at)[1]
        elif pattern[begin] == "\\":
            at += 1
        if pattern[begin:at] in ("/", "\\/"):
            names.append("")
        else:
            names[-1] += pattern[begin:at]
    return names


def _name(pattern: str) -> str:
    """The expression of a pattern for one name. Raises `ValueError` where it can match none."""
    chunks = [""]
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            if chunks[-1] or len(chunks) == 1:
                chunks.append("")
        elif character == "?":
            chunks[-1] += "[^/]"
        elif character == "[":
            found, at = _characters(pattern, at)
            chunks[-1] += found
        else:
            if character == "\\":
                character = pattern[at : at + 1]
                at += 1
                if not character:
                    raise ValueError("nothing is escaped")
            chunks[-1] += re.escape(character)
    first, *middle = chunks
    if not middle:
        return first
    last = middle.pop()
    return first + "".join(rf"(?>[^/]*?{chunk})" for chunk in middle) + rf"[^/]*{last}(?![^/])"


def _characters(pattern: str, at: int) -> tuple[str, int]:
    """The expression of a class in brackets, and where it ends. Raises `ValueError` where its bracket is not closed."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    begin = at
    members: list[str] = []

    def character() -> str:
        nonlocal at
        if pattern[at : at + 1] == "\\":
            at += 1
        if at >= len(pattern):
            raise ValueError("the bracket is not closed")
        at += 1
        return pattern[at - 1]

    while at == begin or pattern[at : at + 1] != "]":
        if pattern.startswith("[:", at) and (end := pattern.find(":]", at)) > 0:
            name = pattern[at + 2 : end]
            if name not in _CLASSES:
                raise ValueError("no such class")
            members.append(_CLASSES[name])
            at = end + 2
            continue
        low = high = character()
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("]", ""):
            at += 1
            high = character()
        members.append(re.escape(low))  # even where the range is empty
        if low < high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    at += 1
    inside = "".join(members)
    return (f"[^/{inside}]" if negated else f"(?!/)[{inside}]"), at
