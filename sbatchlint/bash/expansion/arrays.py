"""The elements of arrays, and their subscripts."""

from itertools import chain
from operator import attrgetter

from sbatchlint.bash.values import Pieces
from sbatchlint.bash.variables import Alternative, Fields
from sbatchlint.source.numbers import parse_integer

Keys = tuple[str, ...] | None

_open = attrgetter("open")


class _Closed(tuple[Pieces, ...]):
    """Fields none of which is open: with it, the time of setting an array element by element grows linearly."""

    __slots__ = ()


def is_open(fields: Fields) -> bool:
    return not isinstance(fields, _Closed) and any(map(_open, chain.from_iterable(fields)))


def element_index(index: int | str | None, flags: str) -> int | str | None:
    """The subscript of the element that `NAME` or `NAME[index]` means, None where it is unknown (`index` "")."""
    if index is None:
        return "0" if "A" in flags else 0
    return None if index == "" else index


def indices(fields: Fields, keys: Keys) -> list[int]:
    """The subscripts of an indexed array."""
    return list(range(len(fields))) if keys is None else [parse_integer(key) for key in keys]


def compact(entries: dict[int, Pieces]) -> tuple[Fields, Keys]:
    """The fields and keys of an indexed array from its elements by subscript."""
    order = sorted(entries)
    keys = None if order == list(range(len(order))) else tuple([str(each) for each in order])
    return tuple([entries[each] for each in order]), keys


def with_element(
    array: Alternative, index: int | str | None, value: Pieces | None, flags: str, unknown: Pieces
) -> Alternative | None:
    """The array with one element set, or unset (`value` None); None where bash rejects the subscript.

    `index`: a number, the key of an associative array, None where it is unknown.
    """
    fields = array.fields or ()
    everything = Alternative((unknown,), array.guards)
    if "A" in flags:
        if index is None or fields and array.keys is None:
            return everything
        entries = dict(zip(array.keys or (), fields, strict=True))
        if value is None:
            entries.pop(str(index), None)
        else:
            entries[str(index)] = value
        return Alternative(tuple(entries.values()), array.guards, tuple(entries))
    if not isinstance(index, int) or is_open(fields):
        return everything
    if array.keys is None and value is not None and 0 <= index <= len(fields):
        new = (*fields[:index], value, *fields[index + 1 :])
        return Alternative(new if any(map(_open, value)) else _Closed(new), array.guards)
    known = dict(zip(indices(fields, array.keys), fields, strict=True))
    if index < 0:
        index += max(known, default=-1) + 1
        if index < 0:
            return None
    if value is None:
        known.pop(index, None)
    else:
        known[index] = value
    rest, keys = compact(known)
    return Alternative(rest, array.guards, keys)


def element(array: Alternative, index: int | str | None, flags: str) -> tuple[bool, Pieces | None]:
    """Whether an element of an array is known, and the element (None: not set)."""
    fields = array.fields or ()
    if "A" in flags:
        if index is None or fields and array.keys is None:
            return False, None
        return True, dict(zip(array.keys or (), fields, strict=True)).get(str(index))
    if not isinstance(index, int):
        return False, None
    if array.keys is None and index >= 0 and not is_open(fields[: index + 1]):
        return True, fields[index] if index < len(fields) else None
    if is_open(fields):
        return False, None
    known = dict(zip(indices(fields, array.keys), fields, strict=True))
    if index < 0:
        index += max(known, default=-1) + 1
    return True, known.get(index)
