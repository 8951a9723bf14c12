"""The variables of a shell: their alternatives, and a dictionary of them that is cheap to copy for every command.

Each alternative carries *guards*, the branches that it came from, so that values of one branch are never combined with
values of another.
"""

from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar

from sbatchlint.bash.case_arms import Bodies
from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, flattened, not_empty, text_of
from sbatchlint.source.text import Span

# A branch, and which arm of it was taken; its key is the condition as it was evaluated, or a number like no other.
# Or a loop, and in which of its iterations: one bit for each. Or the word of a `case`, and what it matches there.
Arm = int | Bodies
Guard = tuple[Hashable, Arm]
Guards = frozenset[Guard]
NO_GUARDS: Guards = frozenset()
# The kind of the keys of guards that stand for the iterations of a loop.
LOOP = "loop"

# A value has at most this many alternatives; more are widened to their common beginning and an unknown.
MOST_ALTERNATIVES = 6
# Of more pieces than these only the common beginning is looked for.
MOST_ALIGNED = 400

Fields = tuple[Pieces, ...]


# Instead of the keys of a value without fields: it is certainly not set, whatever the environment has.
NOT_SET: tuple[str, ...] = ()
# Or it is set there, and not empty.
NOT_EMPTY = ("not empty",)

# What a variable may be: not set, empty, or neither.
UNSET, EMPTY, FILLED = 1, 2, 4
ANYTHING = UNSET | EMPTY | FILLED


class Alternative(NamedTuple):
    """One value of a variable: its fields (one for a scalar, any number for an array; None: what the environment has,
    or none at all, as `NOT_SET` or `NOT_EMPTY` say in the place of its keys).

    `keys`: the subscripts of an array's fields where they are not 0, 1, 2 …; in ascending order for indexed arrays, in
    order of assignment for associative ones (whose order for the shell is another). An associative array that has
    fields but no keys is not known.
    """

    fields: Fields | None
    guards: Guards = NO_GUARDS
    keys: tuple[str, ...] | None = None


# The flag of a variable that the commands of a `trap` may change at any time.
VOLATILE = "v"
# The flag of a variable that is exported in some branches only, and of one that the script has taken out of the
# environment (`unset`, `export -n`), in some branches or, without the first, in all: it is not handed on.
PARTLY_EXPORTED, UNEXPORTED = "e", "h"
# The flags of a variable that in some branches only is an array, is read-only, or has the attributes i, l or u.
PARTLY_ARRAY, PARTLY_READONLY, PARTLY_CHANGING = "s", "q", "p"
# Those that stay with a name when the variable is unset.
STAYING = (VOLATILE, PARTLY_READONLY)


# In the environment of every batch job, so that an assignment reaches child processes.
ENVIRONMENT_NAMES = frozenset(
    {
        "PATH", "HOME", "USER", "SHELL", "LD_LIBRARY_PATH", "HOSTNAME", "LANG", "TERM", "PWD", "LOGNAME", "TMPDIR",
        "CUDA_VISIBLE_DEVICES", "PYTHONPATH",
    }
)  # fmt: skip


class Variable(NamedTuple):
    """A variable of the script; no alternatives at all means that it was unset.

    `flags`: letters of `declare`: A (associative), i, l, n (a reference to the variable of that name), r, u; and
    `VOLATILE`, `PARTLY_EXPORTED` and the like.
    """

    alternatives: tuple[Alternative, ...]
    array: bool = False
    exported: bool = False
    span: Span = Span(0, 0)
    flags: str = ""


def values_or_none(variable: Variable) -> tuple[Alternative, ...]:
    """The alternatives of a variable; of one that was unset, that it is not set."""
    return variable.alternatives or (Alternative(None, NO_GUARDS, NOT_SET),)


def filled_values(variable: Variable | None) -> tuple[Alternative, ...]:
    """The alternatives of a variable that is set, and not empty; None: only the environment may set it."""
    if variable is None:
        return (Alternative(None, NO_GUARDS, NOT_EMPTY),)
    found: list[Alternative] = []
    for each in variable.alternatives:
        if each.fields is None:
            found += [each._replace(keys=NOT_EMPTY)] if each.keys != NOT_SET else []
        elif each.fields and text_of(each.fields[0]) != "":
            found.append(each._replace(fields=(not_empty(each.fields[0]),)))
    return tuple(found) or variable.alternatives


def merge_guards(first: Guards, second: Guards) -> Guards | None:
    """The guards of a combination, or None where they contradict each other."""
    if not first or first is second:
        return second
    if not second:
        return first
    if second <= first:
        return first
    both = first | second
    return both if len(dict(both)) == len(both) else _in_common(both)


def _in_common(guards: Guards) -> Guards | None:
    """Guards of which some mention the same loop or word, with what these have in common; None for nothing."""
    found: dict[Hashable, Arm] = {}
    for key, arm in guards:
        other = found.get(key, arm)
        if other != arm:
            both = _in_both(key, other, arm)
            if not both:
                return None
            arm = both
        found[key] = arm
    return frozenset(found.items())


def _in_both(key: Hashable, first: Arm, second: Arm) -> Arm | None:
    if isinstance(first, Bodies) and isinstance(second, Bodies):
        return first.both(second)
    return first & second if is_loop(key) and isinstance(first, int) and isinstance(second, int) else None


def is_loop(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[0] == LOOP


def is_default(key: Hashable) -> TypeGuard[tuple[Any, ...]]:
    """Whether the key of a guard stands for a `${X:-d}`."""
    return isinstance(key, tuple) and key[0] == "default"


def branches_in(guards: Guards) -> frozenset[tuple[tuple[Any, ...], Arm]]:
    """The branches of `if` and `case` among guards; the others tell iterations, and alternatives for words, apart."""
    return frozenset((key, arm) for key, arm in guards if isinstance(key, tuple) and key[0] in ("if", "case"))


def iterations_of(guards: Guards) -> dict[Hashable, int]:
    """The iterations of each loop that guards mention."""
    return {key: arm for key, arm in guards if is_loop(key) and isinstance(arm, int)}


def either_guards(first: Guards, second: Guards) -> tuple[Guards, bool]:
    """What holds where one or the other guards hold; and whether that says which iterations of loops these are."""
    loops, others = iterations_of(first), iterations_of(second)
    both: dict[Hashable, Arm] = {key: arm | others[key] for key, arm in loops.items() if key in others}
    differing = [key for key in {**loops, **others} if loops.get(key) != others.get(key)]
    shared = first & second
    if first - shared and second - shared:
        words = dict(second)
        for key, arm in first - shared:
            other = words.get(key)
            if isinstance(arm, Bodies) and isinstance(other, Bodies):
                both[key] = arm.either(other)
    return frozenset((*[each for each in shared if not is_loop(each[0])], *both.items())), len(differing) < 2


Guarded = TypeVar("Guarded", bound=Sequence[Any])


def by_default(choices: list[Guarded]) -> list[Guarded]:
    """The choices (something, with its guards as the second item) in which no `${X:-d}` has a value other than `d`.

    Of variables that the script may have set, each value counts. All choices where none is left.
    """
    return [each for each in choices if _takes_defaults(each[1])] or choices


def assumed_defaults(guards: Guards, outer: Guards, all_guards: Sequence[Guards]) -> bool:
    """Whether a value is told only as some `${X:-d}` takes its default, with no other for a value of X.

    `outer`: what holds around it. `all_guards`: those of all values.
    """
    for key, arm in guards - outer:
        if arm == 0 and is_default(key) and not key[-1]:
            if not any((key, 1) in each for each in all_guards):
                return True
    return False


def _takes_defaults(guards: Guards) -> bool:
    return not any(arm and is_default(key) and not key[-1] for key, arm in guards)


def common_prefix(values: Sequence[Pieces]) -> Pieces:
    """The pieces with which all values begin."""
    shortest = min(values, key=len)
    for index, piece in enumerate(shortest):
        if any(value[index] != piece for value in values):
            return shortest[:index]
    return shortest


def widen(alternatives: Sequence[Alternative], name: str, span: Span, phase: Phase) -> tuple[Alternative, ...]:
    """The alternatives, or one instead of too many: what all of them have, with an unknown where they differ.

    Before that, each `${X:-d}` counts by its default.
    """
    if len(alternatives) > MOST_ALTERNATIVES:
        alternatives = by_default(list(alternatives))
    if len(alternatives) <= MOST_ALTERNATIVES:
        return tuple(alternatives)
    inputs: dict[Expansion, None] = {}
    known: list[Fields] = []
    several = False
    for alternative in alternatives:
        if alternative.fields is not None:
            several = several or alternative.keys is not None
            known.append(alternative.fields)
            several = several or len(alternative.fields) != 1
            for field in alternative.fields:
                for piece in field:
                    if piece.expansion is not None:
                        inputs[piece.expansion] = None
    expansion = Expansion(name, span, phase, flattened(inputs))
    unset = tuple(
        [
            Alternative(None, NO_GUARDS, keys)
            for keys in dict.fromkeys([each.keys for each in alternatives if each.fields is None])
        ]
    )
    if not known:
        return unset
    if not several:
        unknown = Piece(None, span.start, span.end, expansion)
        return (Alternative((common_pieces([fields[0] for fields in known], unknown),)), *unset)
    shared = 0
    sizes = {len(fields) for fields in known}
    if len(sizes) == 1 and all(each.keys is None for each in alternatives):
        unknown = Piece(None, span.start, span.end, expansion)
        return (Alternative(tuple([common_pieces(list(each), unknown) for each in zip(*known, strict=True)])), *unset)
    if all(each.keys is None for each in alternatives):
        while all(len(fields) > shared and fields[shared] == known[0][shared] for fields in known):
            shared += 1
    unknown = Piece(None, span.start, span.end, expansion, open=True)
    return (Alternative((*(known[0][:shared] if known else ()), (unknown,))), *unset)


def common_pieces(fields: list[Pieces], unknown: Piece) -> Pieces:
    """The pieces that all fields have, in order, and the unknown for what is between them."""
    if fields and all(field == fields[0] for field in fields):
        return fields[0]
    if not fields or sum(map(len, fields)) > MOST_ALIGNED:
        return (*common_prefix(fields), unknown)
    places = [{piece: number for number, piece in enumerate(field)} for field in fields]
    out: list[Piece] = []
    ends = [0] * len(fields)  # of what is dealt with, in each field
    for piece in (*fields[0], None):
        if piece is None:
            found = list(map(len, fields))
        else:
            found = [place.get(piece, -1) for place in places]
            if any(at < end for at, end in zip(found, ends, strict=True)):
                continue
        gaps = [field[end:at] for field, end, at in zip(fields, ends, found, strict=True)]
        if any(gap != gaps[0] for gap in gaps):
            inputs = flattened(each.expansion for gap in gaps for each in gap if each.expansion is not None)
            prefix = common_prefix(gaps)
            expansion = None if unknown.expansion is None else unknown.expansion._replace(inputs=inputs)
            out.extend((*prefix, unknown.replace(expansion=expansion)))
        else:
            out.extend(gaps[0])
        if piece is not None:
            out.append(piece)
            ends = [at + 1 for at in found]
    return tuple(out)


Named = TypeVar("Named")

# So many changes are copied at the first change of a copy, or the square root of all names; more are put into the part
# that all copies share.
MOST_OWN = 32


class LayeredDict(MutableMapping[str, Named]):
    """Variables, functions or files by name: a part that copies share and nobody changes, and the changes since, which
    copies share until one of them is changed."""

    __slots__ = ("_is_alone", "_own", "_shared")

    def __init__(self, shared: Mapping[str, Named] | None = None) -> None:
        self._shared: Mapping[str, Named] = shared or {}
        self._own: dict[str, Named | None] = {}  # None: deleted
        self._is_alone = True  # no copy has the same changes

    def copy(self) -> "LayeredDict[Named]":
        if len(self._own) > MOST_OWN and len(self._own) ** 2 > len(self._shared):
            self._shared = self._merged()
            self._own = {}
        new = LayeredDict(self._shared)
        new._own = self._own
        new._is_alone = self._is_alone = False
        return new

    def _merged(self) -> Mapping[str, Named]:
        if not self._own:
            return self._shared
        merged: dict[str, Named] = dict(self._shared)
        for name, value in self._own.items():
            if value is None:
                merged.pop(name, None)
            else:
                merged[name] = value
        return merged

    def get(self, name: str, default: Named | None = None) -> Named | None:  # type: ignore[override]
        if name not in self._own:
            return self._shared.get(name, default)
        found = self._own[name]
        return default if found is None else found

    def among(self, names: frozenset[str]) -> list[tuple[str, Named]]:
        """Those of these names: of many names few are there."""
        there = (names & self._own.keys()) | (names & self._shared.keys())
        return [(name, each) for name in sorted(there) if (each := self.get(name)) is not None]

    def __getitem__(self, name: str) -> Named:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, value: Named) -> None:
        self._set(name, value)

    def restore(self, name: str, value: Named | None) -> None:
        """Sets one, or deletes it where the value is None."""
        if value is not None or name in self:
            self._set(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._set(name, None)

    def _set(self, name: str, value: Named | None) -> None:
        if not self._is_alone:
            self._own = self._own.copy()
            self._is_alone = True
        self._own[name] = value

    def __contains__(self, name: object) -> bool:
        if name in self._own:
            return self._own[name] is not None
        return name in self._shared

    def __iter__(self) -> Iterator[str]:
        return iter(self._merged())

    def __bool__(self) -> bool:
        # asked for every command, so without merging the two parts
        return any(value is not None for value in self._own.values()) or any(
            name not in self._own for name in self._shared
        )

    def __len__(self) -> int:
        return len(self._merged())

    def items(self) -> ItemsView[str, Named]:
        return self._merged().items()

    def size(self) -> int:
        """How many names and changes there are: of several copies, the least changed one has the smallest size."""
        return len(self._shared) + len(self._own)

    def changes(self, other: "LayeredDict[Named]") -> Iterable[str]:
        """The names whose objects differ between the two."""
        if self is other:
            return ()
        if self._shared is other._shared:
            names = differing(self._own, other._own)
            return [name for name in names if self.get(name) is not other.get(name)]
        return differing(self._merged(), other._merged())


Variables = LayeredDict[Variable]


def changed_names(before: Variables, after: Iterable[Variables]) -> list[str]:
    """The names of the variables that differ in any of these from what they were before."""
    return list(dict.fromkeys(name for variables in after for name in before.changes(variables)))


def versions(copies: Sequence[LayeredDict[Named]]) -> Iterator[tuple[str, Named | None, dict[int, Named | None]]]:
    """The names that differ between copies: what the usual copy holds, and what others hold instead, by their number.

    The usual copy is the smallest, as others have more of their own, so that a branch costs as much as it changes.
    """
    usual = min(copies, key=LayeredDict.size)
    found: dict[str, dict[int, Named | None]] = {}
    for number, copy in enumerate(copies):
        for name in usual.changes(copy):
            found.setdefault(name, {})[number] = copy.get(name)
    for name, others in found.items():
        yield name, usual.get(name), others


_ABSENT = object()


def differing(first: Mapping[str, object], second: Mapping[str, object]) -> Iterable[str]:
    """The names whose objects differ between two dictionaries."""
    if first is second:
        return ()
    names = dict.fromkeys((*first, *second))
    return [name for name in names if first.get(name, _ABSENT) is not second.get(name, _ABSENT)]
