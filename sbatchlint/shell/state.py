"""The state of a shell while a script is evaluated: variables with their alternatives, functions, options, files.

Where a script branches, both ways are walked and joined: a variable that differs afterwards has one alternative a way.
Each alternative carries *guards*, the branches that it came from, so that values of one way are never combined with
values of the other. An `if` whose condition is written and evaluated the same as an earlier one is the same branch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ..source.records import NamedTuple
from ..source.text import Span
from .syntax import Statement
from .values import Expansion, Phase, Piece, Pieces, Text, flattened

Guard = tuple[Hashable, int]
Guards = frozenset[Guard]
NO_GUARDS: Guards = frozenset()

# A value has at most this many alternatives; with more it is widened: the common beginning, then unknown.
MOST_ALTERNATIVES = 6

Fields = tuple[Pieces, ...]


class Alternative(NamedTuple):
    """One value of a variable: its fields (one for a scalar, any number for an array; None: not set)."""

    fields: Fields | None
    guards: Guards = NO_GUARDS


class Variable(NamedTuple):
    """A variable of the script; no alternatives at all means that it was unset."""

    alternatives: tuple[Alternative, ...]
    array: bool = False
    exported: bool = False
    span: Span = Span(0, 0)
    keys: tuple[str, ...] | None = None


class ShellFunction(NamedTuple):
    """A function: its body, the text in which the body's positions count, and the definition as it is written."""

    body: Statement
    text: Text
    source: Pieces
    exported: bool = False


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
    """Alternatives, reduced to one where there are too many: what all begin with, then an unknown."""
    if len(alternatives) <= MOST_ALTERNATIVES:
        return tuple(alternatives)
    inputs: dict[Expansion, None] = {}
    known: list[Fields] = []
    for each in alternatives:
        if each.fields is not None:
            known.append(each.fields)
            for field in each.fields:
                for piece in field:
                    if piece.expansion is not None:
                        inputs[piece.expansion] = None
    unknown = Piece(None, span.start, span.end, Expansion(name, span, phase, flattened(inputs)), open=True)
    if known and all(len(fields) == 1 for fields in known):
        return (Alternative(((*_common_prefix([fields[0] for fields in known]), unknown),)),)
    shared = 0
    if known:
        while all(len(fields) > shared and fields[shared] == known[0][shared] for fields in known):
            shared += 1
    return (Alternative((*(known[0][:shared] if known else ()), (unknown,))),)


class State:
    """What a shell knows at one point of the script. Copied where ways part; variables are never changed in place."""

    __slots__ = ("doubtful", "files", "functions", "options", "positional", "restored", "sourced", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, ShellFunction] = {}
        # set -e and the like: True, False, or None where ways disagree
        self.options: dict[str, bool | None] = {}
        self.positional: Fields | None = None  # None: not known (the arguments of the script)
        self.files: dict[str, tuple[Alternative, ...]] = {}  # files that the script wrote: name as known -> content
        self.sourced = False  # a file that cannot be read here ran in this shell
        self.doubtful = False
        self.restored: dict[str, Variable | None] | None = None  # in a function: what `local` hides

    def copy(self) -> State:
        new = State.__new__(State)
        new.variables = self.variables.copy()
        new.functions = self.functions.copy()
        new.options = self.options.copy()
        new.positional = self.positional
        new.files = self.files.copy()
        new.doubtful = self.doubtful
        new.sourced = self.sourced
        new.restored = self.restored.copy() if self.restored is not None else None
        return new

    def child(self) -> State:
        """The state of a program that this shell starts: only what is exported; files stay."""
        new = State()
        new.variables = {name: each for name, each in self.variables.items() if each.exported or not each.alternatives}
        new.functions = {name: each for name, each in self.functions.items() if each.exported}
        new.files = self.files
        new.positional = ()
        new.doubtful = self.doubtful
        new.sourced = self.sourced
        return new

    def option(self, name: str) -> bool | None:
        return self.options.get(name, False)


def join(ways: Iterable[tuple[State | None, Guards]], phase: Phase) -> State | None:
    """The state after ways that came together; None is a way that ended the script."""
    live = [(state, guard) for state, guard in ways if state is not None]
    if not live:
        return None
    first = live[0][0]
    if len(live) == 1:
        return first
    result = first.copy()
    names: dict[str, None] = {}
    for state, _ in live:
        for name in state.variables:
            names[name] = None
    for name in names:
        versions = [state.variables.get(name) for state, _ in live]
        head = versions[0]
        if all(version is head for version in versions):
            continue
        merged: list[Alternative] = []
        model = next(version for version in versions if version is not None)
        for (_, guard), version in zip(live, versions, strict=True):
            alternatives = (Alternative(None),) if version is None else version.alternatives or (Alternative(None),)
            for each in alternatives:
                same = next((i for i, old in enumerate(merged) if old.fields == each.fields), None)
                if same is not None:
                    merged[same] = Alternative(each.fields, merged[same].guards & each.guards)
                    continue
                guards = merge_guards(each.guards, guard)
                merged.append(Alternative(each.fields, guards if guards is not None else each.guards))
        result.variables[name] = Variable(
            widen(merged, name, model.span, phase),
            any(version is not None and version.array for version in versions),
            any(version is not None and version.exported for version in versions),
            model.span,
        )
    for state, _ in live[1:]:
        for name, value in state.options.items():
            if result.options.get(name, False) != value:
                result.options[name] = None
        for name, value in first.options.items():
            if state.options.get(name, False) != value:
                result.options[name] = None
        for name, function in state.functions.items():
            result.functions.setdefault(name, function)
        for name, content in state.files.items():
            old = result.files.get(name)
            if old is None:
                result.files[name] = content
            elif old is not content:
                result.files[name] = tuple(dict.fromkeys((*old, *content)))[:MOST_ALTERNATIVES]
        result.sourced = result.sourced or state.sourced
        if state.positional != result.positional:
            result.positional = None
    return result
