"""The state of a shell while a script is evaluated: variables with their alternatives, functions, options, files.

Where a script branches, both branches are walked and joined: a variable that differs afterwards has an alternative for
each. An alternative carries *guards*, the branches that it came from, so that values of one branch are never combined
with values of another. An `if` whose condition reads and evaluates the same as an earlier one is the same branch.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import Statement
from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, Text, text_of
from sbatchlint.bash.variables import (
    ANYTHING,
    ENVIRONMENT_NAMES,
    FILLED,
    MOST_ALTERNATIVES,
    NO_GUARDS,
    NOT_SET,
    PARTLY_ARRAY,
    PARTLY_CHANGING,
    PARTLY_EXPORTED,
    PARTLY_READONLY,
    UNEXPORTED,
    VOLATILE,
    Alternative,
    Fields,
    Guard,
    Guards,
    LayeredDict,
    Named,
    Variable,
    Variables,
    either_guards,
    filled_values,
    iterations_of,
    merge_guards,
    values_or_none,
    versions,
    widen,
)
from sbatchlint.source.regex import Regex

NAME = Regex(r"[A-Za-z_]\w*", re.ASCII)
# References to references are followed this far.
MOST_REFERENCES = 8
# The shell that is read like bash, but that splits no values into words, and counts elements of arrays from 1.
ZSH = "zsh"
# The option of a shell for `$(…)`, to which the errexit of the shell around it does not count.
UNHEEDED = "errexit from outside"
# Letters of `declare` that do not change what is assigned.
NOT_CHANGING = str.maketrans("", "", "Arv" + PARTLY_EXPORTED + UNEXPORTED + PARTLY_ARRAY + PARTLY_READONLY)
# While the output of a substitution is collected, it is the value of a variable of this name.
STDOUT = "\0stdout"
NO_OUTPUT, UNKNOWN_OUTPUT = Variable((Alternative(((),)),)), Variable((Alternative(None),))
_INHERITED = (Alternative(None),)
_keys = attrgetter("keys")  # a program's start looks at all variables


class ShellFunction(NamedTuple):
    """A function: its body, the text in which the body's positions count, and the definition as it is written.

    `others`: those that other branches define instead. `uncertain`: in another branch there is none, or there are more.
    """

    body: Statement
    text: Text
    source: Pieces
    exported: bool = False
    uncertain: bool = False
    others: "tuple[ShellFunction, ...]" = ()


# So many variables are kept of which tests have told something.
MOST_FACTS = 24
# So many definitions of one function are told apart.
MOST_DEFINITIONS = 4


def _either(versions: Sequence[ShellFunction | None]) -> ShellFunction:
    """One of these functions, which branches define, or none."""
    found: dict[tuple[int, int], ShellFunction] = {}
    for version in versions:
        for each in (version, *version.others) if version is not None else ():
            found.setdefault((id(each.body), id(each.text)), each._replace(others=()))
    first, *others = found.values()
    uncertain = len(found) > MOST_DEFINITIONS or any(each is None or each.uncertain for each in versions)
    exported = all(each is not None and each.exported for each in versions)
    return first._replace(uncertain=uncertain, exported=exported, others=tuple(others[: MOST_DEFINITIONS - 1]))


class State:
    """What a shell knows at one point of the script. Copied at each branch; variables are never changed in place."""

    def __init__(self) -> None:
        self.variables = Variables()
        # these are seldom changed, and never in place: see set_function, set_option, set_file
        self.functions: LayeredDict[ShellFunction] = LayeredDict()
        # set -e and the like: True, False, or None where branches disagree
        self.options: dict[str, bool | None] = {}
        self.files: LayeredDict[tuple[Alternative, ...]] = LayeredDict()  # that the script wrote: content by name
        self.positional: Fields | None = None  # None: not known (the arguments of the script)
        self.has_set_positional = False  # whether `set` may have replaced them
        self.zero: Pieces | None = None  # $0, as far as a `bash -c` is told it
        self.sourced = False  # a file that cannot be read here ran in this shell
        # something may have failed before: the shell may have abandoned a command halfway, or something else ran than
        # was thought; and with errexit it may have exited
        self.guessed = False
        self.may_have_failed = False
        # another branch left by exit, return, break or continue before this point
        self.escaped = False
        # Of the loops that are recorded, the iterations that come here.
        self.iterations: Guards = NO_GUARDS
        self.restored: dict[str, Variable | None] | None = None  # in a function: what `local` hides
        self.mixed: frozenset[str] = frozenset()  # names in `restored` that are local in some branches only
        self.outer: frozenset[str] = frozenset()  # names that are local in the functions that called this one
        self.revealed: frozenset[str] = frozenset()  # those of them that may be unset: what they hid counts again
        # what tests have told of variables and arguments: what each of them may be, with what it was by then
        self.facts: Mapping[str, tuple[object, int]] = {}
        self.lost: frozenset[str] = frozenset()  # beginnings of names of the environment that may have been unset
        self.status: int | None = 0  # that of the last command, None where it is not known
        self.stdin: Pieces | None = None  # what is left to be read on standard input, where that is known

    @property
    def doubtful(self) -> bool:
        """Whether something may have failed before, at which the shell exited or went on otherwise."""
        return self.guessed or self.may_have_failed

    @doubtful.setter
    def doubtful(self, value: bool) -> None:
        self.guessed = value

    def copy(self) -> "State":
        new = State.__new__(State)
        new.__dict__.update(self.__dict__)
        new.variables = self.variables.copy()
        new.restored = self.restored.copy() if self.restored is not None else None
        return new

    def child(self) -> "State":
        """The state of a program that this shell starts: only what is exported; files stay."""
        new = State()
        kept = [item for item in self.variables.items() if item[1].exported or _may_be_unset(item[1])]
        new.variables = Variables(
            {name: _handed_on(each) if each.flags or each.array or not each.exported else each for name, each in kept}
        )
        for name, each in kept if self.outer or self.restored else ():
            # of a local variable that is not set or not exported, programs get what it hides, if that is exported
            if name in self.outer or name in (self.restored or ()):
                if not (each.exported and each.alternatives) or UNEXPORTED in each.flags:
                    unknown = Alternative(((Piece(None, *each.span),),))
                    new.variables[name] = Variable((Alternative(None, NO_GUARDS, NOT_SET), unknown), span=each.span)
        new.functions = LayeredDict({name: each for name, each in self.functions.items() if each.exported})
        new.files = self.files
        new.positional = ()
        new.sourced = self.sourced
        new.guessed = self.guessed
        new.may_have_failed = self.may_have_failed
        new.escaped = self.escaped
        new.iterations = self.iterations
        new.lost = self.lost
        new.facts = {name: each for name, each in self.facts.items() if each[0] is None and not name.isdigit()}
        return new

    def take_unchanged(self, other: "State", own_before: "State", other_before: "State") -> None:
        """Takes from another state what has changed in neither of them since they were the other two."""
        self.variables = _unchanged(self.variables, other.variables, own_before.variables, other_before.variables)
        self.functions = _unchanged(self.functions, other.functions, own_before.functions, other_before.functions)
        self.files = _unchanged(self.files, other.files, own_before.files, other_before.files)

    def join_shell(self, branches: Sequence["State"]) -> None:
        """Joins branches into this state, which is a copy of the first, all but their variables and files."""
        for name, usual, others in versions([state.functions for state in branches]):
            self.set_function(name, _either((self.functions.get(name), usual, *others.values())))
        first = branches[0]
        for other in branches[1:]:
            if other.options is not first.options:
                for name in {**first.options, **other.options}:
                    if first.option(name) != other.option(name):
                        self.set_option(name, None)
            self.has_set_positional = self.has_set_positional or other.has_set_positional
            if other.positional != self.positional:
                self.positional = None
            if other.stdin is not self.stdin and other.stdin != self.stdin:
                self.stdin = None
            self.guessed = self.guessed or other.guessed
            self.may_have_failed = self.may_have_failed or other.may_have_failed
            self.sourced = self.sourced or other.sourced
            self.revealed |= other.revealed
            self.lost |= other.lost

    def may_be(self, name: str) -> int:
        """What a variable or an argument may be, as far as tests have told: `UNSET`, `EMPTY` and `FILLED`, or some."""
        found = self.facts.get(name) if self.facts else None
        return ANYTHING if found is None or found[0] is not self._held(name) else found[1]

    def learn(self, facts: Mapping[str, int]) -> None:
        """Learns what variables may be; what contradicts what is known is left."""
        known = {name: (self._held(name), kinds) for name, each in facts.items() if (kinds := each & self.may_be(name))}
        if known:
            kept = [item for item in self.facts.items() if item[0] not in known]
            self.facts = {**dict(kept[-MOST_FACTS:]), **known}

    def _held(self, name: str) -> object:
        return self.positional if name.isdigit() else self.variables.get(name)

    def set_function(self, name: str, function: ShellFunction | None) -> None:
        """Defines a function; None: it is unset."""
        self.functions = self.functions.copy()
        self.functions.restore(name, function)

    def set_file(self, name: str, content: tuple[Alternative, ...]) -> None:
        self.files = self.files.copy()
        self.files[name] = content

    def set_option(self, name: str, value: bool | None) -> None:
        self.options = {**self.options, name: value}

    def target(self, name: str) -> str:
        """The variable that a name stands for, through references; the last one where that is not known."""
        for _ in range(MOST_REFERENCES):
            found = self.variables.get(name)
            if found is None or not found.flags or "n" not in found.flags or len(found.alternatives) != 1:
                break
            fields = found.alternatives[0].fields
            text = text_of(fields[0]) if fields else None
            if text is None or not NAME.fullmatch(text):
                break
            name = text
        return name

    def option(self, name: str) -> bool | None:
        return self.options.get(name, False)


def _unchanged(
    own: LayeredDict[Named], other: LayeredDict[Named], own_before: LayeredDict[Named], before: LayeredDict[Named]
) -> LayeredDict[Named]:
    taken = other.copy()
    for name in dict.fromkeys((*own_before.changes(own), *before.changes(other))):
        taken.restore(name, own.get(name))
    return taken


def _may_be_unset(variable: Variable) -> bool:
    """Whether the script has taken a variable out of the environment, for certain or in some branches, or it may be an
    array without elements.

    No program gets such an array.
    """
    return UNEXPORTED in variable.flags or not variable.alternatives or NOT_SET in map(_keys, variable.alternatives)


def _handed_on(variable: Variable) -> Variable:
    """A variable as a new process has it: an array is not handed on, nor is a value that is not exported."""
    is_partly, is_unexported = PARTLY_EXPORTED in variable.flags, UNEXPORTED in variable.flags
    if variable.array and PARTLY_ARRAY not in variable.flags or is_unexported and not is_partly:
        return Variable((), span=variable.span)
    ways = variable.alternatives
    if not variable.exported or PARTLY_ARRAY in variable.flags:
        ways = tuple([each if each.fields is None else each._replace(fields=None, keys=None) for each in ways])
    elif is_partly:
        ways = (*ways, Alternative(None))
    if is_unexported:
        ways = (*ways, Alternative(None, NO_GUARDS, NOT_SET))
    # attributes such as that of integers are not handed on
    return Variable(ways, exported=variable.exported and not is_unexported, span=variable.span)


def _merged(alternatives: list[Alternative]) -> list[Alternative]:
    """The alternatives, each value once, or once for each iteration of loops if these are not too many.

    They are too many, too, where it would be lost which iterations of several loops have a value.
    """
    merged: list[Alternative] = []
    apart: list[Alternative] = []
    is_exact = True
    for alternative in alternatives:
        is_exact &= _merge_into(merged, alternative, True)
        _merge_into(apart, alternative, False)
    return apart if len(merged) > 1 and len(merged) < len(apart) <= MOST_ALTERNATIVES or not is_exact else merged


def _merge_into(merged: list[Alternative], alternative: Alternative, together: bool) -> bool:
    """Adds an alternative, or joins it with one of the same value; `together`: also of other iterations of loops.

    Returns whether its guards still say in which iterations it holds. Of too many alternatives, some may be there
    several times.
    """
    for number, other in enumerate(merged if len(merged) <= MOST_ALTERNATIVES else ()):
        if other.fields == alternative.fields and other.keys == alternative.keys:
            if other.guards is alternative.guards:
                return True
            if together or iterations_of(other.guards) == iterations_of(alternative.guards):
                guards, is_exact = either_guards(other.guards, alternative.guards)
                merged[number] = other._replace(guards=guards)
                return is_exact
    merged.append(alternative)
    return True


class _Arms:
    """The guards of branches that join, by their number."""

    def __init__(self, guards: Sequence[Guards]) -> None:
        self.guards = guards
        self._iterations = any(map(iterations_of, guards))
        self._counts: dict[Guard, int] = {}

    def all_but(self, others: Collection[int]) -> list[tuple[int, Guards]]:
        """The guards of the other branches: each iteration's, and of other branches what all of them have."""
        if self._iterations:
            return [(number, guards) for number, guards in enumerate(self.guards) if number not in others]
        first = next(number for number in range(len(self.guards)) if number not in others)
        size = len(self.guards) - len(others)
        if size == 1:
            return [(first, self.guards[first])]
        return [(first, frozenset([each for each in self.guards[first] if self._count_but(each, others) == size]))]

    def of_versions(self, others: Mapping[int, Variable | None]) -> list[tuple[int, Variable | None, Guards]]:
        """The branches that hold something else, with their guards: those that hold the same as one, as above."""
        if self._iterations or len(others) < 2:
            return [(number, version, self.guards[number]) for number, version in others.items()]
        numbers: dict[int, list[int]] = {}
        for number, version in others.items():
            numbers.setdefault(id(version), []).append(number)
        return [
            (first, others[first], self.guards[first].intersection(*[self.guards[number] for number in more]))
            for first, *more in numbers.values()
        ]

    def _count_but(self, guard: Guard, others: Collection[int]) -> int:
        """How many branches have a guard, but for some."""
        if guard not in self._counts:
            self._counts[guard] = sum([guard in guards for guards in self.guards])
        return self._counts[guard] - sum([guard in self.guards[number] for number in others])


def without(state: State, gone: Sequence[Guards]) -> dict[str, tuple[Variable, Variable]]:
    """Takes values out of a state whose guards cannot hold. Returns the variables it changes, before and after."""
    changed: dict[str, tuple[Variable, Variable]] = {}
    for name, variable in state.variables.items() if gone else ():
        if len(variable.alternatives) > 1:
            left = [each for each in variable.alternatives if not any(other <= each.guards for other in gone)]
            if 0 < len(left) < len(variable.alternatives):
                changed[name] = variable, variable._replace(alternatives=tuple(left))
    exchange(state, [(name, *each) for name, each in changed.items()])
    return changed


def exchange(state: State, variables: Iterable[tuple[str, Variable, Variable]]) -> None:
    """Sets variables to others that tell more, or less, of the same values; what tests have told of them stays."""
    for name, before, after in variables:
        fact = state.facts.get(name)
        if fact is not None and fact[0] is before:
            state.facts = {**state.facts, name: (after, fact[1])}
        state.variables[name] = after


def join(branches: Iterable[tuple[State | None, Guards]], phase: Phase) -> State | None:
    """The state after branches that join; None for a branch that does not go on."""
    found = list(branches)
    live = [(state, guard) for state, guard in found if state is not None]
    if not live:
        return None
    first = live[0][0]
    if len(live) < len(found):
        first.escaped = True
    if len(live) == 1:
        return first
    states = [state for state, _ in live]
    arms = _Arms([merge_guards(guards, state.iterations) or guards for state, guards in live])
    result = first.copy()
    for state in states[1:]:
        result.iterations, _ = either_guards(result.iterations, state.iterations)
    for name, usual, others in versions([state.variables for state in states]):
        shared = [(number, usual, guards) for number, guards in arms.all_but(others)]
        changed = arms.of_versions(others)
        told = _told(name, states) if any(name in state.facts for state in states) else {}
        joined, is_doubtful = _join_variable(name, sorted([*shared, *changed], key=itemgetter(0)), told, phase)
        result.variables[name] = joined
        result.guessed = result.guessed or is_doubtful
    for state in states[1:]:
        if state.status != result.status:
            result.status = None
        result.escaped = result.escaped or state.escaped
        if state.restored is not None and state.restored.keys() != (result.restored or {}).keys():
            own = result.restored or {}
            result.mixed |= state.mixed | frozenset(own.keys() ^ state.restored.keys())
            result.restored = {**state.restored, **own}
    result.join_shell(states)
    result.facts = _joined_facts(result, states)
    _join_files(result, states)
    return result


def _told(name: str, states: Sequence[State]) -> dict[int, int]:
    """What tests have told of each version of a variable, by its identity, in all branches that have it."""
    told: dict[int, int] = {}
    for state in states:
        version = id(state.variables.get(name))
        told[version] = told.get(version, 0) | state.may_be(name)
    return told


def _joined_facts(result: State, states: Sequence[State]) -> dict[str, tuple[object, int]]:
    """What tests have told in all branches of variables that none has changed."""
    found: dict[str, tuple[object, int]] = {}
    for name, (held, _) in min([state.facts for state in states], key=len).items():
        kinds = 0
        for state in (*states, result):
            fact = state.facts.get(name)
            kinds |= state.may_be(name) if fact is not None and fact[0] is held else ANYTHING
        if kinds != ANYTHING:
            found[name] = held, kinds
    return found


def _are_same(first: Sequence[Alternative], second: Sequence[Alternative]) -> bool:
    """Whether these are the same values in the same iterations of loops."""
    return len(first) == len(second) and all(
        any(
            one.fields == other.fields
            and one.keys == other.keys
            and iterations_of(one.guards) == iterations_of(other.guards)
            for other in second
        )
        for one in first
    )


def _join_variable(
    name: str, arms: list[tuple[int, Variable | None, Guards]], told: Mapping[int, int], phase: Phase
) -> tuple[Variable, bool]:
    """A variable after branches that join, and whether what `declare` makes of its next value is not known.

    `told`: what tests have told of some versions, by their identity.
    """
    known = [version for _, version, _ in arms if version is not None]
    choices = [
        filled_values(version)
        if told.get(id(version)) == FILLED
        else _INHERITED
        if version is None
        else values_or_none(version)
        for _, version, _ in arms
    ]
    associative = ["A" in version.flags if version is not None else False for _, version, _ in arms]
    if any(associative) and not all(associative):  # what a subscript means is not known where it is not such an array
        unknown = Piece(None, *known[0].span, Expansion(name, known[0].span, phase), open=True)
        choices = [
            each if is_keyed else (Alternative(((unknown,),)),)
            for each, is_keyed in zip(choices, associative, strict=True)
        ]
    guarded: list[Alternative] = []
    is_same = bool(iterations_of(arms[0][2])) and all(_are_same(each, choices[0]) for each in choices[1:])
    for (_, _, guard), alternatives in zip(arms, choices, strict=True):
        own = [(each, merge_guards(each.guards, NO_GUARDS if is_same else guard)) for each in alternatives]
        # what contradicts the branch does not come here
        possible = [each._replace(guards=guards) for each, guards in own if guards is not None]
        guarded.extend(possible or alternatives)
    span = known[0].span
    flags = "".join([version.flags for version in known])
    if "r" in flags and not all(version is not None and "r" in version.flags for _, version, _ in arms):
        flags = flags.replace("r", VOLATILE + PARTLY_READONLY)  # what is assigned next may be refused
    # where only the environment may set it, that decides
    exported = {name in ENVIRONMENT_NAMES if version is None else version.exported for _, version, _ in arms}
    if len(exported) == 2 or UNEXPORTED in flags and not all(each and UNEXPORTED in each.flags for _, each, _ in arms):
        flags += PARTLY_EXPORTED
    if len({version is not None and version.array for _, version, _ in arms}) == 2:
        flags += PARTLY_ARRAY
    kinds = (
        {"" if version is None else version.flags.translate(NOT_CHANGING) for _, version, _ in arms} if flags else ()
    )
    if len(kinds) > 1:
        flags += PARTLY_CHANGING
    variable = Variable(
        widen(_merged(guarded), name, span, phase),
        any(version.array for version in known),
        any(version.exported for version in known),
        span,
        "".join(sorted(set(flags))),
    )
    return variable, len(kinds) > 1


def _join_files(result: State, states: Sequence[State]) -> None:
    for name, usual, others in versions([state.files for state in states]):
        found = {id(each): each for each in (result.files.get(name), usual, *others.values()) if each is not None}
        result.set_file(
            name, tuple(dict.fromkeys(each for content in found.values() for each in content))[:MOST_ALTERNATIVES]
        )
