"""Whether a regular expression can take exponential time: whether a loop of it reads one text in two ways.

A text of n repetitions can then be read in 2ⁿ ways, all of which `re` tries where what follows does not match (Weideman
et al., "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers by Using Ambiguity of NFA", 2016).
Lookaheads are judged by themselves and else left out; what is atomic or possessive is never read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

CHARACTERS = "\t\n\r" + "".join(map(chr, range(32, 127))) + "\0\u00e9\u2028"
LOOPS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
MANY = 8  # repetitions that are as bad as any number
Set = frozenset[str]


class Automaton:
    """States with what leads from one to another: a set of characters, or nothing."""

    def __init__(self, tree: Any, flags: int) -> None:
        self.free: list[list[int]] = []
        self.reading: list[list[tuple[Set, int]]] = []
        self._add(tree, self._state(), flags)

    def _state(self) -> int:
        self.free.append([])
        self.reading.append([])
        return len(self.free) - 1

    def _add(self, tree: Any, at: int, flags: int) -> int:
        """Appends a part of the expression; returns where it ends."""
        for code, value in tree:
            if code is codes.SUBPATTERN:
                at = self._add(value[3], at, (flags | value[1]) & ~value[2])
            elif code is codes.BRANCH:
                at = self._join([self._add(each, self._from(at), flags) for each in value[1]])
            elif code is codes.GROUPREF_EXISTS:
                at = self._join([at, *(self._add(each, self._from(at), flags) for each in value[1:] if each)])
            elif code in LOOPS:
                at = self._repeat(value, at, flags)
            elif code not in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
                end = self._state()
                self.reading[at].append((_characters(code, value, flags), end))
                at = end
        return at

    def _repeat(self, value: Any, at: int, flags: int) -> int:
        least, most, tree = value
        for _ in range(min(least, 2)):
            at = self._add(tree, at, flags)
        if most - least > MANY or most > MANY:
            begin = self._from(at)
            self.free[self._add(tree, begin, flags)].append(begin)
            return self._from(begin)
        ends = [at]
        for _ in range(min(most - least, 4)):
            ends.append(self._add(tree, ends[-1], flags))
        return self._join(ends)

    def _from(self, at: int) -> int:
        state = self._state()
        self.free[at].append(state)
        return state

    def _join(self, ends: list[int]) -> int:
        state = self._state()
        for end in ends:
            self.free[end].append(state)
        return state

    def steps(self, state: int, passed: frozenset[int] = frozenset()) -> Iterator[tuple[Set, int]]:
        """Each way to read one character, as often as there are ways to get there."""
        yield from self.reading[state]
        for after in self.free[state]:
            if after not in passed:
                yield from self.steps(after, passed | {after})


def _characters(code: Any, value: Any, flags: int) -> Set:
    if code in (codes.ATOMIC_GROUP, codes.POSSESSIVE_REPEAT):
        return frozenset("\0")
    if code is codes.GROUPREF:
        return frozenset(CHARACTERS)
    kind = flags & (re.IGNORECASE | re.DOTALL)
    key = (str(code), str(value), kind)
    if key not in _known:
        _known[key] = frozenset(each for each in CHARACTERS if _matches(code, value, each, kind))
    return _known[key]


_known: dict[tuple[str, str, int], Set] = {}


def _matches(code: Any, value: Any, character: str, flags: int) -> bool:
    if code is codes.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    forms = {character, character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
    if code is codes.LITERAL:
        return chr(value) in forms
    if code is codes.NOT_LITERAL:
        return chr(value) not in forms
    negated, found = False, False
    for kind, part in value:
        if kind is codes.NEGATE:
            negated = True
        elif kind is codes.LITERAL:
            found |= chr(part) in forms
        elif kind is codes.RANGE:
            found |= any(len(each) == 1 and part[0] <= ord(each) <= part[1] for each in forms)
        else:
            found |= re.match(CATEGORIES[part], character) is not None
    return found != negated


CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def is_ambiguous(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a loop of a pattern, or of one of its lookarounds, reads one text in two ways."""
    tree = _parser.parse(pattern, flags)
    return any(_has_ambiguous_loop(Automaton(each, tree.state.flags)) for each in (tree, *_lookarounds(tree)))


def begins_with_loop(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a pattern can begin with a loop that nothing before it holds back.

    A search that fails then reads the rest of the text anew from each of its characters: n² of them.
    """
    return _begins_with_loop(_parser.parse(pattern, flags)) is True


def _begins_with_loop(tree: Any) -> bool | None:
    """The same for a part; None where the part may be empty, so that what comes after it is asked."""
    for code, value in tree:
        found: bool | None = False
        if code is codes.SUBPATTERN:
            found = _begins_with_loop(value[3])
        elif code is codes.ATOMIC_GROUP:
            found = _begins_with_loop(value)
        elif code is codes.BRANCH:
            each = [_begins_with_loop(part) for part in value[1]]
            found = True if True in each else None if None in each else False
        elif code in (*LOOPS, codes.POSSESSIVE_REPEAT):
            least, most, part = value
            found = most is codes.MAXREPEAT or _begins_with_loop(part) or (None if not least else False)
        elif code is codes.ASSERT and value[0] > 0:
            found = _begins_with_loop(value[1]) or None
        if found is not None:
            return found
    return None


def _lookarounds(tree: Any) -> Iterator[Any]:
    for code, value in tree:
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            yield value[1]
        for part in value if isinstance(value, (tuple, list)) else (value,):
            for each in part if isinstance(part, list) else (part,):
                if isinstance(each, _parser.SubPattern):
                    yield from _lookarounds(each)


def _has_ambiguous_loop(automaton: Automaton) -> bool:
    steps: dict[int, list[tuple[Set, int]]] = {}
    waiting = [0]
    while waiting:
        state = waiting.pop()
        if state not in steps:
            steps[state] = list(automaton.steps(state))
            waiting += [after for _, after in steps[state]]
    back = {state: _reached(steps, state) for state in steps if len(steps[state]) > 1}
    for state, reached in back.items():
        if state not in reached:
            continue
        # two steps on one character that both lead back
        loop = {each for each in reached if state in _reached(steps, each)}
        within = [each for each in steps[state] if each[1] in loop]
        for number, (one, first) in enumerate(within):
            for other, second in within[:number]:
                if one & other and (first == second or _meet(steps, loop, first, second)):
                    return True
    return False


def _reached(steps: dict[int, list[tuple[Set, int]]], state: int) -> set[int]:
    reached: set[int] = set()
    waiting = [state]
    while waiting:
        for _, after in steps[waiting.pop()]:
            if after not in reached:
                reached.add(after)
                waiting.append(after)
    return reached


def _meet(steps: dict[int, list[tuple[Set, int]]], loop: set[int], first: int, second: int) -> bool:
    """Whether two ways through a loop read the same text until they meet again."""
    seen = {(first, second)}
    waiting = [(first, second)]
    while waiting:
        left, right = waiting.pop()
        if left == right:
            return True
        for one, first in steps[left]:
            for other, second in steps[right]:
                pair = (first, second)
                if pair not in seen and first in loop and second in loop and one & other:
                    seen.add(pair)
                    waiting.append(pair)
    return False
