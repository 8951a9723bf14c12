"""What each iteration of a loop decides.

The body of an unrolled loop is recorded once, in the states of all its iterations together, where a condition on the
loop's variable is not known. When the iterations were walked one by one it was: so an arm of such a condition is
recorded with the values of the iterations that take it.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.state import STDOUT, State
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, flattened
from sbatchlint.bash.variables import (
    NO_GUARDS,
    Alternative,
    Guards,
    Variable,
    Variables,
    changed_names,
    either_guards,
    iterations_of,
    merge_guards,
)
from sbatchlint.source.text import Span

# Of more loops inside each other, it is not noted which iterations of the inner ones a condition was decided in.
MOST_INNER = 3


def place_in(place: Hashable, loops: "Sequence[Decisions]") -> Hashable:
    """A condition in the current iterations of the loops that are walked around it, outermost first."""
    return place, tuple([(each.loop, each.iteration) for each in loops])


def places_in(place: Hashable, loops: "Sequence[Decisions]") -> Iterator[Hashable]:
    """The same with each selection of the loops, as others may be recorded later, all iterations together."""
    for size in range(len(loops) + 1 if len(loops) <= MOST_INNER else 1):
        for chosen in combinations(loops, size):
            yield place_in(place, chosen)


class Decisions:
    """Which iterations of a loop take which arm of a condition.

    `key`: that of the guards of its iterations. `loop`: where it is written. `before`: the variables before it;
    `parent`: as in `Context`.

    A condition is noted at all places of `places_in`, as loops inside this one may be walked or recorded.
    """

    def __init__(self, key: Hashable, loop: Span, before: Variables, parent: Invocation | None) -> None:
        self.key = key
        self.loop = loop
        self.before = before
        self.parent = parent
        self.iteration = 0  # the one that is walked
        # the iterations in which a condition may have held, or not: one bit for each
        self.taken: dict[Hashable, int] = {}
        self.skipped: dict[Hashable, int] = {}
        self.undecided: set[Hashable] = set()  # conditions that an iteration left open

    def note(self, place: Hashable, truth: bool | None) -> None:
        bit = 1 << self.iteration
        if truth is not False:
            self.taken[place] = self.taken.get(place, 0) | bit
        if truth is not True:
            self.skipped[place] = self.skipped.get(place, 0) | bit
        if truth is None:
            self.undecided.add(place)

    def arm(self, place: Hashable, truth: bool) -> int:
        """The iterations in which a condition may have held, or not."""
        return (self.taken if truth else self.skipped).get(place, 0)

    def outcome(self, place: Hashable, scope: Scope) -> bool | None:
        """Whether a condition holds in all iterations that the guards leave."""
        if self.parent is not scope.context.parent:
            return None
        only = iterations_of(scope.context.guards).get(self.key, -1)
        taken, skipped = self.arm(place, True) & only, self.arm(place, False) & only
        return None if bool(taken) == bool(skipped) else bool(taken)

    def has_decided(self) -> bool:
        """Whether some condition was decided, which other values may decide otherwise."""
        return not self.undecided.issuperset({*self.taken, *self.skipped})

    def is_mixed(self, place: Hashable) -> bool:
        """Whether the same iteration decided a condition both ways, as within a loop inside."""
        return place not in self.undecided and bool(self.arm(place, True) & self.arm(place, False))

    def iterations(self, place: Hashable, truth: bool) -> Guards:
        """The guards of the iterations in which a condition may have held, or not; none where that may be all."""
        kept = self.arm(place, truth)
        return frozenset(((self.key, kept),)) if kept and self.arm(place, not truth) & ~kept else NO_GUARDS

    def keep(self, place: Hashable, truth: bool, state: State) -> bool:
        """Takes the values of other iterations out of a state; returns False where none is left of a variable."""
        only = self.iterations(place, truth)
        if not only:
            return True
        state.iterations = merge_guards(state.iterations, only) or only
        names = changed_names(self.before, [state.variables])
        facts: Guards | None = NO_GUARDS
        printed = state.variables.get(STDOUT)
        if printed is not None:  # else a subshell would lose which iterations print it
            found = [(each, merge_guards(only, each.guards)) for each in printed.alternatives]
            own = tuple([each._replace(guards=guards) for each, guards in found if guards is not None])
            state.variables[STDOUT] = printed._replace(alternatives=own or printed.alternatives)
        for name in names:
            left = _keep(name, state, only)
            facts = None if left is None or facts is None else merge_guards(facts, left)
            if facts is None:
                return False
        # what holds in all iterations that are left
        return not facts or all(_keep(name, state, facts) is not None for name in names)

    def widen(self, state: State, scope: Scope) -> None:
        """Makes what differs between the iterations unknown."""
        for name in changed_names(self.before, [state.variables]):
            variable = state.variables.get(name)
            if variable is not None and any(self.key in dict(each.guards) for each in variable.alternatives):
                state.variables[name] = _unknown(name, variable, scope)


def _keep(name: str, state: State, facts: Guards) -> Guards | None:
    """Takes values that contradict facts out of a variable. Returns what the others share; None: none is left."""
    variable = state.variables.get(name)
    if variable is None or len(variable.alternatives) < 2:
        return NO_GUARDS
    found = [(each, merge_guards(facts, each.guards)) for each in variable.alternatives]
    left = [each for each, guards in found if guards is not None]
    if not left:
        return None
    if len(left) == len(found):
        return NO_GUARDS
    common = left[0].guards
    is_exact = True
    for each in left[1:]:
        common, still = either_guards(common, each.guards)
        is_exact &= still
    if is_exact and all(each.fields == left[0].fields and each.keys == left[0].keys for each in left):
        left = [left[0]._replace(guards=common)]
    state.variables[name] = variable._replace(alternatives=tuple(left))
    return common


def _unknown(name: str, variable: Variable, scope: Scope) -> Variable:
    inputs = flattened(
        expansion for each in variable.alternatives for field in each.fields or () for expansion in expansions(field)
    )
    piece = scope.expanded(None, name, variable.span, inputs, variable.array)
    return variable._replace(alternatives=(Alternative(((piece,),)),))
