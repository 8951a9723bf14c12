"""The variables of a shell: their alternatives, and a dictionary of them that is cheap to copy for every command.

Each alternative carries *guards*, the branches that it came from, so that values of one branch are never combined with
values of another.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import chain, compress, islice
from operator import is_, is_not
from typing import NamedTuple, TypeVar

from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, flattened
from sbatchlint.source.text import Span

# A branch, and which arm of it was taken; its key is the condition as it was evaluated, or a number like no other.
Guard = tuple[Hashable, int]
Guards = frozenset[Guard]
NO_GUARDS: Guards = frozenset()

# A value has at most this many alternatives; more are widened to their common beginning and an unknown.
MOST_ALTERNATIVES = 6

Fields = tuple[Pieces, ...]


class Alternative(NamedTuple):
    """One value of a variable: its fields (one for a scalar, any number for an array; None: not set).

    `keys`: the subscripts of an array's fields where they are not 0, 1, 2 …; in ascending order for indexed arrays, in
    order of assignment for associative ones (whose order for the shell is another). An associative array that has
    fields but no keys is not known.
    """

    fields: Fields | None
    guards: Guards = NO_GUARDS
    keys: tuple[str, ...] | None = None


class Variable(NamedTuple):
    """A variable of the script; no alternatives at all means that it was unset.

    `flags`: letters of `declare`: A (associative), i, l, u, r.
    """

    alternatives: tuple[Alternative, ...]
    array: bool = False
    exported: bool = False
    span: Span = Span(0, 0)
    flags: str = ""


def merge_guards(first: Guards, second: Guards) -> Guards | None:
    """The guards of a combination, or None where they contradict each other."""
    if not first or first is second:
        return second
    if not second:
        return first
    arms = dict(first)
    for branch, arm in second:
        if arms.get(branch, arm) != arm:
            return None
    return first | second


def _common_prefix(values: Sequence[Pieces]) -> Pieces:
    shortest = min(values, key=len)
    for index, piece in enumerate(shortest):
        if any(value[index] != piece for value in values):
            return shortest[:index]
    return shortest


def widen(alternatives: Sequence[Alternative], name: str, span: Span, phase: Phase) -> tuple[Alternative, ...]:
    """The alternatives, or one instead of too many: what all of them begin with, then an unknown."""
    if len(alternatives) <= MOST_ALTERNATIVES:
        return tuple(alternatives)
    inputs: dict[Expansion, None] = {}
    known: list[Fields] = []
    several = False
    for each in alternatives:
        several = several or each.keys is not None
        if each.fields is not None:
            known.append(each.fields)
            several = several or len(each.fields) != 1
            for field in each.fields:
                for piece in field:
                    if piece.expansion is not None:
                        inputs[piece.expansion] = None
    expansion = Expansion(name, span, phase, flattened(inputs))
    unset = (Alternative(None),) if len(known) < len(alternatives) else ()
    if not several:
        unknown = Piece(None, span.start, span.end, expansion)
        return (Alternative(((*_common_prefix([fields[0] for fields in known]), unknown),)), *unset)
    shared = 0
    if all(each.keys is None for each in alternatives):
        while all(len(fields) > shared and fields[shared] == known[0][shared] for fields in known):
            shared += 1
    unknown = Piece(None, span.start, span.end, expansion, open=True)
    return (Alternative((*(known[0][:shared] if known else ()), (unknown,))), *unset)


Named = TypeVar("Named")

# So many changes are copied with every copy, or the square root of all names; more are put into the part that all
# copies share.
MOST_OWN = 32


class LayeredDict(MutableMapping[str, Named]):
    """Variables or functions by name: a part that copies share and nobody changes, and the changes since."""

    __slots__ = ("_own", "_shared")

    def __init__(self, shared: dict[str, Named] | None = None) -> None:
        self._shared = shared if shared is not None else {}
        self._own: dict[str, Named | None] = {}  # None: deleted

    def copy(self) -> "LayeredDict[Named]":
        if len(self._own) > MOST_OWN and len(self._own) ** 2 > len(self._shared):
            self._shared = self._merged()
            self._own = {}
        new: LayeredDict[Named] = LayeredDict.__new__(LayeredDict)
        new._shared = self._shared
        new._own = self._own.copy()
        return new

    def _merged(self) -> dict[str, Named]:
        if not self._own:
            return self._shared
        merged = {**self._shared, **self._own}
        return {name: each for name, each in merged.items() if each is not None}

    def get(self, name: str, default: Named | None = None) -> Named | None:  # type: ignore[override]
        if name in self._own:
            found = self._own[name]
            return default if found is None else found
        return self._shared.get(name, default)

    def __getitem__(self, name: str) -> Named:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, value: Named) -> None:
        self._own[name] = value

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._own[name] = None

    def __contains__(self, name: object) -> bool:
        if name in self._own:
            return self._own[name] is not None
        return name in self._shared

    def __iter__(self) -> Iterator[str]:
        return iter(self._merged())

    def __len__(self) -> int:
        return len(self._merged())

    def changes(self, other: "LayeredDict[Named]") -> Iterable[str]:
        """The names whose objects differ between the two."""
        if self._shared is other._shared:
            names = dict.fromkeys((*self._own, *other._own))
            return [name for name in names if self.get(name) is not other.get(name)]
        return differing(self._merged(), other._merged())


Variables = LayeredDict[Variable]


def differing(first: Mapping[str, object], second: Mapping[str, object]) -> Iterable[str]:
    """The names whose objects differ between two dictionaries; fast where one is a changed copy of the other."""
    if first is second:
        return ()
    if all(map(is_, first, second)):
        long = first if len(first) > len(second) else second
        more = islice(long, min(len(first), len(second)), None)
        return chain(compress(first, map(is_not, first.values(), second.values())), more)
    names = dict.fromkeys((*first, *second))
    return [name for name in names if first.get(name) is not second.get(name)]
