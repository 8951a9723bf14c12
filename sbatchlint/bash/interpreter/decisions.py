"""What each iteration of a loop decides.

The body of an unrolled loop is recorded once, in the states of all its iterations together, where a condition on the
loop's variable is not known. When the iterations were walked one by one it was: so an arm of such a condition is
recorded with the values of the iterations that take it.
"""

from collections.abc import Callable, Hashable

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.state import State
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, flattened
from sbatchlint.bash.variables import NO_GUARDS, Alternative, Guards, Variable, Variables, changed_names, merge_guards


class Decisions:
    """Which iterations of a loop take which arm of a condition.

    `key`: that of the guards of its iterations. `before`: the variables before the loop; `parent`: as in `Context`.
    """

    def __init__(self, key: Hashable, before: Variables, parent: Invocation | None) -> None:
        self.key = key
        self.before = before
        self.parent = parent
        self.iteration = 0  # the one that is walked
        self.taken: dict[Hashable, set[int]] = {}
        self.skipped: dict[Hashable, set[int]] = {}
        self.undecided: set[Hashable] = set()  # conditions that an iteration left open

    def note(self, place: Hashable, truth: bool | None) -> None:
        if truth is not False:
            self.taken.setdefault(place, set()).add(self.iteration)
        if truth is not True:
            self.skipped.setdefault(place, set()).add(self.iteration)
        if truth is None:
            self.undecided.add(place)

    def arm(self, place: Hashable, truth: bool) -> set[int]:
        """The iterations in which a condition may have held, or not."""
        return (self.taken if truth else self.skipped).get(place, set())

    def outcome(self, place: Hashable, scope: Scope) -> bool | None:
        """Whether a condition holds in all iterations that the guards leave."""
        if self.parent is not scope.context.parent:
            return None
        taken, skipped = self.arm(place, True), self.arm(place, False)
        only = dict(scope.context.guards).get(self.key)
        if only is not None:
            taken, skipped = taken & {only}, skipped & {only}
        return None if bool(taken) == bool(skipped) else bool(taken)

    def is_mixed(self, place: Hashable) -> bool:
        """Whether the same iteration decided a condition both ways, as within a loop inside."""
        return place not in self.undecided and not self.arm(place, True).isdisjoint(self.arm(place, False))

    def keep(self, place: Hashable, truth: bool, state: State) -> bool:
        """Takes the values of other iterations out of a state; returns False where none is left of a variable."""
        kept = self.arm(place, truth)
        if not kept or self.arm(place, not truth) <= kept:
            return True
        names = changed_names(self.before, [state.variables])
        facts: Guards = NO_GUARDS
        possible = {-1, *kept}
        for name in names:
            left = _keep(name, state, lambda guards: dict(guards).get(self.key, -1) in possible)
            facts |= left or NO_GUARDS
            if left is None:
                return False
        facts = frozenset(each for each in facts if each[0] != self.key) if len(kept) > 1 else facts
        if len(dict(facts)) < len(facts):
            return False
        # what holds in all iterations that are left
        return not facts or all(
            _keep(name, state, lambda guards: merge_guards(facts, guards) is not None) is not None for name in names
        )

    def widen(self, state: State, scope: Scope) -> None:
        """Makes what differs between the iterations unknown."""
        for name in changed_names(self.before, [state.variables]):
            variable = state.variables.get(name)
            if variable is not None and any(self.key in dict(each.guards) for each in variable.alternatives):
                state.variables[name] = _unknown(name, variable, scope)


def _keep(name: str, state: State, is_possible: Callable[[Guards], bool]) -> Guards | None:
    """Takes values out of a variable. Returns what all others have in common; None: none is left."""
    variable = state.variables.get(name)
    if variable is None or len(variable.alternatives) < 2:
        return NO_GUARDS
    left = tuple([each for each in variable.alternatives if is_possible(each.guards)])
    if not left:
        return None
    if len(left) == len(variable.alternatives):
        return NO_GUARDS
    common = left[0].guards.intersection(*[each.guards for each in left])
    if all(each.fields == left[0].fields and each.keys == left[0].keys for each in left):
        left = (left[0]._replace(guards=common),)
    state.variables[name] = variable._replace(alternatives=left)
    return common


def _unknown(name: str, variable: Variable, scope: Scope) -> Variable:
    inputs = flattened(
        expansion for each in variable.alternatives for field in each.fields or () for expansion in expansions(field)
    )
    piece = scope.expanded(None, name, variable.span, inputs, variable.array)
    return variable._replace(alternatives=(Alternative(((piece,),)),))
