"""The variables of a shell, in a dictionary that is cheap to copy: the state is copied for every command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import chain, compress, islice
from operator import is_, is_not
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sbatchlint.bash.state import Variable

# So many changes are copied with every copy; with more they are put into the part that all copies share.
MOST_OWN = 32


class Names(MutableMapping[str, "Variable"]):
    """Variables by name: a part that is shared by copies and never changed, and what is another since."""

    __slots__ = ("_own", "_shared")

    def __init__(self, shared: dict[str, Variable] | None = None) -> None:
        self._shared = shared if shared is not None else {}
        self._own: dict[str, Variable | None] = {}  # None: it is not there any more

    def copy(self) -> Names:
        if len(self._own) > MOST_OWN:
            self._shared = self._merged()
            self._own = {}
        new = Names.__new__(Names)
        new._shared = self._shared
        new._own = self._own.copy()
        return new

    def _merged(self) -> dict[str, Variable]:
        if not self._own:
            return self._shared
        merged = {**self._shared, **self._own}
        return {name: each for name, each in merged.items() if each is not None}

    def get(self, name: str, default: Variable | None = None) -> Variable | None:  # type: ignore[override]
        if name in self._own:
            found = self._own[name]
            return default if found is None else found
        return self._shared.get(name, default)

    def __getitem__(self, name: str) -> Variable:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, value: Variable) -> None:
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

    def changes(self, other: Names) -> Iterable[str]:
        """The names that stand for other variables in the two."""
        if self._shared is other._shared:
            names = dict.fromkeys((*self._own, *other._own))
            return [name for name in names if self.get(name) is not other.get(name)]
        return differing(self._merged(), other._merged())


def differing(first: Mapping[str, object], second: Mapping[str, object]) -> Iterable[str]:
    """The names that stand for other objects in two dictionaries; fast where one is a changed copy of the other."""
    if first is second:
        return ()
    if all(map(is_, first, second)):
        long = first if len(first) > len(second) else second
        more = islice(long, min(len(first), len(second)), None)
        return chain(compress(first, map(is_not, first.values(), second.values())), more)
    names = dict.fromkeys((*first, *second))
    return [name for name in names if first.get(name) is not second.get(name)]
