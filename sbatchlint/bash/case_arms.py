"""Which bodies of several `case` on the same word can run together."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

# Bodies after so many count as one.
MOST_BODIES = 500
# So many patterns that match several words are tried on a word; further ones may match it.
MOST_TRIED = 32
# More bodies are not compared with those of another `case`.
MOST_COMPARED = 50


class Pattern(NamedTuple):
    """A pattern as it is evaluated. `literal`: the only word that it matches, None where it may match several.

    `key`: equal for the same pattern of another `case`.
    """

    text: str | None
    literal: str | None
    key: Hashable


class Patterns:
    """The patterns of a `case`, as far as they are evaluated.

    Words are told apart by the first body of which a pattern matches them, as one bit each (see `bit`); those that
    match none have the bit after the last body.
    """

    def __init__(self, match: Callable[[str, str], bool | None]) -> None:
        self._match = match
        self.bodies: list[tuple[Pattern, ...]] = []
        self._literals: dict[str, int] = {}
        self._keys: dict[Hashable, int] = {}
        self._wide: list[tuple[int, str | None]] = []
        self._excluded: dict[tuple[Patterns, int, int], bool] = {}

    @staticmethod
    def bit(number: int) -> int:
        return 1 << min(number, MOST_BODIES)

    def add(self, number: int, patterns: tuple[Pattern, ...]) -> None:
        """Notes the patterns of a body, which are evaluated in order; not again in a later run."""
        if number != len(self.bodies):
            return
        self.bodies.append(patterns)
        for pattern in patterns:
            self._keys.setdefault(pattern.key, number)
            if pattern.literal is not None:
                self._literals.setdefault(pattern.literal, number)
            else:
                self._wide.append((number, pattern.text))

    def bits_of(self, pattern: Pattern) -> int:
        """The bits that words may have which match a pattern of another `case`."""
        if pattern.literal is None:
            last = self._keys.get(pattern.key)
            return -1 if last is None else (self.bit(last) << 1) - 1
        end = self._literals.get(pattern.literal)
        found = 0 if end is None else self.bit(end)
        for tried, (number, text) in enumerate(self._wide):
            if end is not None and number > end:
                break
            matches = None if text is None or tried >= MOST_TRIED else self._match(text, pattern.literal)
            if matches is not False:
                found |= self.bit(number)
            if matches:
                return found & ((self.bit(number) << 1) - 1)
            if tried >= MOST_TRIED:
                return -1
        return found if end is not None else found | -self.bit(len(self.bodies))

    def excludes(self, own: int, other: "Patterns", others: int) -> bool:
        """Whether no word with one of the bits `own` has one of the bits `others` in another `case`, for certain."""
        key = other, own, others
        if key not in self._excluded:
            self._excluded[key] = self._is_apart(own, other, others) or other._is_apart(others, self, own)
        return self._excluded[key]

    def _is_apart(self, own: int, other: "Patterns", others: int) -> bool:
        if own >= self.bit(len(self.bodies)) or own >= self.bit(MOST_BODIES) or own.bit_count() > MOST_COMPARED:
            return False
        numbers = [number for number in range(own.bit_length()) if own >> number & 1]
        return all(not other.bits_of(pattern) & others for number in numbers for pattern in self.bodies[number])


class Bodies(NamedTuple):
    """What a word matches in one `case`, or in several: the bits of `Patterns`."""

    found: frozenset[tuple[Patterns, int]]

    def both(self, other: "Bodies") -> "Bodies | None":
        """What holds of a word of which both hold; None where there is no such word."""
        bits: dict[Patterns, int] = dict(self.found)
        for patterns, own in other.found:
            bits[patterns] = bits.get(patterns, -1) & own
        if not all(bits.values()):
            return None
        for patterns, own in other.found:
            for others, there in self.found:
                if others is not patterns and patterns.excludes(own, others, there):
                    return None
        return Bodies(frozenset(bits.items()))

    def either(self, other: "Bodies") -> "Bodies":
        """What holds of a word of which one or the other holds."""
        others = dict(other.found)
        return Bodies(
            frozenset([(patterns, bits | others[patterns]) for patterns, bits in self.found if patterns in others])
        )
