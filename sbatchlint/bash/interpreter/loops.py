"""Loops: `for`, `for ((…))`, `while`, `until`.

Where the script decides the number of iterations, they are first walked one by one without recording, which gives the
states in which the body begins and the state after the loop; then the body is recorded once, in all these states
together. The body of any other loop is walked up to MOST_WALKS times to see what it changes; whatever it changes may be
unknown when the body is recorded.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.bash.expansion.arrays import is_open
from sbatchlint.bash.expansion.assignment import export_of, note_evaluated, without_export
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import MOST_UNRECORDED, Interpreter, LoopBudgetExceeded, LoopFrame
from sbatchlint.bash.interpreter.decisions import Decisions
from sbatchlint.bash.interpreter.facts import told_by
from sbatchlint.bash.interpreter.loop_bodies import is_branching, is_deep, is_plain, is_straight
from sbatchlint.bash.interpreter.reading import set_named
from sbatchlint.bash.interpreter.traps import TRAPPED
from sbatchlint.bash.state import State, join
from sbatchlint.bash.syntax.tree import ArithmeticFor, For, Simple, Statement, While
from sbatchlint.bash.syntax.walk import literal_text
from sbatchlint.bash.trace import Context
from sbatchlint.bash.values import Expansion, Phase, Pieces, flattened
from sbatchlint.bash.values import expansions as expansions_of
from sbatchlint.bash.variables import (
    ENVIRONMENT_NAMES,
    LOOP,
    MOST_ALTERNATIVES,
    NO_GUARDS,
    PARTLY_EXPORTED,
    PARTLY_READONLY,
    UNEXPORTED,
    VOLATILE,
    Alternative,
    Variable,
    assumed_defaults,
    changed_names,
    values_or_none,
)
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# A loop with more iterations is not unrolled.
MOST_ITERATIONS = 24
# An iteration is walked at most this many times to find what it changes; what one walk changed is unknown in the next.
MOST_WALKS = 4
# An iteration that was too long to be walked is walked again only if at least this many more statements are allowed.
MIN_EXTRA = 50
# The same for a loop in a nest: the enclosing loops had already used part of the budget.
MIN_EXTRA_IN_NEST = 16
# Commands that run further code in this shell, which may contain `break`.
_RUNS_CODE = Regex(r"(?:^|[\s;&|({`])(?:\.|source|eval|trap)\s")
_SLEEP_DURATION = Regex(r"\d+(?:\.\d*)?[smhd]?", re.ASCII)


class Loop:
    """A loop: how an iteration begins, its body, and what happens between two iterations.

    `begin` returns whether there is another iteration (None: unknown) and the state at its beginning, None where the
    shell exits. `between` changes the state after an iteration.
    """

    def __init__(
        self,
        body: Sequence[Statement],
        span: Span,
        begin: "Callable[[Loop, State, int, Context], tuple[bool | None, State | None]]",
        between: Callable[[State], None] | None = None,
    ) -> None:
        self.body = body
        self.span = span
        self._begin = begin  # gets the loop, as a function that holds it would make a circle
        self.between = between
        self.begin_runs_commands = False
        self.condition: tuple[Statement, bool] | None = None  # of `while` and `until`: and whether it ends the loop
        self.variable: tuple[str, Variable] | None = None  # what the recorded body sees in the loop's variable
        self.widened: tuple[str, Variable] | None = None  # the same where the iterations were not walked
        self.has_iteration = False  # there is at least one iteration
        self.has_invalid_condition = False  # so the loop ends with status 1
        self.may_repeat = True  # there may be more than one iteration
        self.iteration_count = 0  # how many iterations there are; 0: not known beforehand

    def begin(self, state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        return self._begin(self, state, iteration, context)

    def inside(self, context: Context) -> Context:
        """The context of commands that run in each of several iterations."""
        return context.replace(loops=(*context.loops, self.span))


class Iteration(NamedTuple):
    """An iteration that was walked silently: its final state, where it was left, the states that left the loop, how
    many statements it took, and what it decided."""

    end: State | None
    frame: LoopFrame
    escaping_states: Sequence[Sequence[State]]
    cost: int
    decisions: Decisions


class Unrolled:
    """The states of a loop that was unrolled, and what its iterations decided."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions
        self.condition_states: list[State] = []  # at each evaluation of a condition that runs commands
        self.entries: list[State] = []
        self.final: State | None = None


def run_for(interpreter: Interpreter, node: For, scope: Scope) -> State | None:
    span = scope.span(node)
    items: list[Pieces] = []
    known = True
    if node.words is None:
        known = scope.state.positional is not None
        items = list(scope.state.positional or ())
    else:
        choices = interpreter.expander.argv(node.words, scope)
        known = len(choices) == 1 and not assumed_defaults(choices[0][1], scope.context.guards, ())
        items = [field for fields, _ in choices for field in fields]
    known = known and not is_open(tuple(items))
    if known and not items:
        scope.state.status = 0
        return scope.state
    if node.selects:
        known = False
        set_named(interpreter, "REPLY", None, scope, span)
    inputs = flattened(each for field in items for each in expansions_of(field))
    unknown = scope.unknown(node.name, span, inputs)
    old = scope.state.variables.get(node.name)
    note_evaluated(items, old.flags if old is not None else "", scope)
    if _is_frozen(scope.state, node.name) and not node.selects:
        scope.state.status = 1 if known else None
        return scope.state
    known = known and (old is None or PARTLY_READONLY not in old.flags)

    def variable(state: State, alternatives: tuple[Alternative, ...]) -> Variable:
        old = state.variables.get(node.name)
        if old is not None and (old.array or set(old.flags) & {"i", "l", "u", VOLATILE}):
            return old._replace(alternatives=(Alternative(((unknown[0].replace(open=old.array),),)),), span=span)
        flags = "n" if old is not None and "n" in old.flags else ""
        values = [] if old is None else [each.fields for each in old.alternatives]
        if flags and len(values) > 1 and None in values:  # it may also not be a reference
            alternatives = (*alternatives, Alternative(None))
        exported, flags = export_of(interpreter.expander, node.name, old, flags, scope)
        return Variable(alternatives, exported=exported, span=span, flags=flags)

    def begin(loop: Loop, state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        if not known:
            state.variables[node.name] = variable(state, (Alternative((unknown,)),))
            state.stdin = None if node.selects else state.stdin
            return None, state
        if iteration == len(items):
            return False, state
        if _is_frozen(state, node.name):  # by the iteration before
            loop.has_invalid_condition = True
            return False, state
        state.variables[node.name] = variable(state, (Alternative((items[iteration],)),))
        return True, state

    loop = Loop(node.body, span, begin)
    loop.has_iteration = known
    loop.may_repeat = not known or len(items) > 1
    loop.iteration_count = len(items) if known else 0
    if not known or len(items) > MOST_ALTERNATIVES:
        loop.variable = node.name, variable(scope.state, (Alternative((unknown,)),))
    first = None
    if known and len(items) > 1:
        plain = is_plain(loop.body, scope)
        first = None if plain else _first_iteration(interpreter, loop, scope)
        if plain or first is not None and _is_independent(first, scope.state, node.name, items[0]):
            branching = is_branching(loop.body, scope)
            if len(items) <= MOST_ALTERNATIVES and branching:
                result = interpreter.silently(lambda: _unroll(interpreter, loop, scope, first))
                if result is not None and result[0] is not None:
                    return _record_iterations(interpreter, loop, scope, result[0], result[1])
            if interpreter.silent_budget and first is not None and first.end is not None and not branching:
                # a silent walk records nothing, and the state after the loop is known
                first.end.variables[node.name] = variable(first.end, (Alternative((items[-1],)),))
                first.end.status = None
                return first.end
            return _record_together(interpreter, loop, scope, node.name, items, variable)
        # where the iterations cannot be walked
        loop.widened = node.name, variable(scope.state, (Alternative((unknown,)),))
    elif known:
        scope.state.variables[node.name] = variable(scope.state, (Alternative((items[0],)),))
        return _run_once(interpreter, loop, scope)
    return run(interpreter, loop, scope, first)


def _is_frozen(state: State, name: str) -> bool:
    """Whether a loop's variable is read-only, at which bash leaves the loop before its next iteration."""
    found = state.variables.get(state.target(name))
    return found is not None and "r" in found.flags


def _run_once(interpreter: Interpreter, loop: Loop, scope: Scope) -> State | None:
    """Runs a loop that has exactly one iteration."""
    marks, had_escaped = interpreter.marks(), scope.state.escaped
    end, frame = interpreter.iteration(loop.body, scope)
    final = interpreter.merge([end, *frame.continues, *frame.breaks], scope.context.phase)
    if final is not None:
        final.escaped = had_escaped or marks.has_grown
    return final


def _is_independent(iteration: Iteration, before: State, name: str, first_item: Pieces) -> bool:
    """Whether an iteration changes nothing that another one could see."""
    end, frame = iteration.end, iteration.frame
    if end is None or frame.breaks or frame.continues or any(iteration.escaping_states):
        return False
    changed = [each for each in changed_names(before.variables, [end.variables]) if each != name]
    variable = end.variables.get(name)
    is_kept = variable is not None and [each.fields for each in variable.alternatives] == [(first_item,)]
    is_kept = is_kept and not set("r" + PARTLY_READONLY) & set(variable.flags if variable is not None else "")
    return not changed and is_kept and _differ_only_in_variables(before, end)


def _differ_only_in_variables(first: State, second: State) -> bool:
    """Whether nothing but variables, and the status, differs in two states of the shell."""
    return (
        first.positional == second.positional
        and first.stdin is second.stdin
        and first.options == second.options
        and not list(first.functions.changes(second.functions))
        and first.files == second.files
        and first.doubtful == second.doubtful
        and first.sourced == second.sourced
    )


def _record_together(
    interpreter: Interpreter, loop: Loop, scope: Scope, name: str, items: list[Pieces],
    variable: Callable[[State, tuple[Alternative, ...]], Variable],
) -> State | None:  # fmt: skip
    """Records the body of a loop whose iterations differ in the loop variable only."""
    state = scope.state.copy()
    key = interpreter.new_key(LOOP)
    alternatives = tuple(
        [Alternative((item,), frozenset(((key, 1 << iteration),))) for iteration, item in enumerate(items)]
    )
    loop_variable = loop.variable[1] if loop.variable is not None else variable(state, alternatives)
    state.variables[name] = loop_variable
    end, frame = interpreter.iteration(loop.body, Scope(state, scope.text, loop.inside(scope.context)))
    end = interpreter.merge([end, *frame.continues], scope.context.phase)
    if end is not None:
        end.variables[name] = variable(end, (Alternative((items[-1],)),))
    return interpreter.merge([end, *frame.breaks], scope.context.phase)


def run_arithmetic_for(interpreter: Interpreter, node: ArithmeticFor, scope: Scope) -> State | None:
    header = scope.text.string[node.header_start : node.header_end]
    edges = [-1, *(at for at, character in enumerate(header) if character == ";"), len(header)]
    expander = interpreter.expander
    ranges = [(node.header_start + low + 1, node.header_start + high) for low, high in pairwise(edges)]
    if len(ranges) != 3:
        scope.state.doubtful = True
        ranges = [(node.header_start, node.header_start)] * 3
    _, is_invalid = expander.truth(*ranges[0], scope)  # None: unknown
    if is_invalid:
        scope.state.status = 1
        return scope.state
    scope.state.guessed = scope.state.guessed or is_invalid is None

    def begin(loop: Loop, state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        if not scope.text.string[slice(*ranges[1])].strip():
            return True, state
        status, is_invalid = expander.truth(*ranges[1], Scope(state, scope.text, context))
        loop.has_invalid_condition = bool(is_invalid)
        return None if status is None else not status, state

    def between(state: State) -> None:
        _, is_invalid = expander.truth(*ranges[2], Scope(state, scope.text, scope.context))
        state.guessed = state.guessed or bool(is_invalid)  # bash ends the loop there, which is not followed

    loop = Loop(node.body, scope.span(node), begin, between)
    return run(interpreter, loop, scope)


def run_while(interpreter: Interpreter, node: While, scope: Scope) -> State | None:
    def begin(loop: Loop, state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        unheeded = context.replace(unheeded=True) if len(node.condition) > 1 else context
        after = interpreter.statements(node.condition[:-1], Scope(state, scope.text, unheeded))
        if after is not None and node.condition:
            after = interpreter.statement(
                node.condition[-1], Scope(after, scope.text, context.replace(tested=True, unheeded=True))
            )
        if after is None or after.status is None:
            return (not node.negated if after is not None and is_sleep else None), after
        return (after.status != 0) == node.negated, after

    is_sleep = len(node.condition) == 1 and _is_sleep(node.condition[0])

    loop = Loop(node.body, scope.span(node), begin)
    loop.begin_runs_commands = True
    loop.condition = (node.condition[-1], node.negated) if node.condition else None
    return run(interpreter, loop, scope)


def _is_sleep(statement: Statement) -> bool:
    """Whether a command is a `sleep` with a literal time, such as `sleep 60`, which does not fail."""
    if not isinstance(statement, Simple) or len(statement.words) != 2 or statement.redirects:
        return False
    name, duration = map(literal_text, statement.words)
    return name == "sleep" and duration is not None and _SLEEP_DURATION.fullmatch(duration) is not None


# --- iterations ---------------------------------------------------------------------------------------


def _first_iteration(interpreter: Interpreter, loop: Loop, scope: Scope) -> Iteration | None:
    """Walks one iteration, whether or not it happens; None where that would take too long."""

    decisions = Decisions(interpreter.new_key(LOOP), loop.span, scope.state.variables.copy(), scope.context.parent)

    def walk() -> tuple[State | None, LoopFrame, int]:
        frame = LoopFrame()
        budget_before = interpreter.silent_budget
        interpreter.walked = [*interpreter.walked, decisions]
        _, end = loop.begin(scope.state.copy(), 0, scope.context)
        if end is not None:
            end, frame = interpreter.iteration(loop.body, Scope(end, scope.text, scope.context))
            end = interpreter.merge([end, *frame.continues], scope.context.phase)
            if end is not None and loop.between is not None:
                loop.between(end)
        return end, frame, budget_before - interpreter.silent_budget

    allowed = interpreter.silent_budget or MOST_UNRECORDED
    insufficient = interpreter.too_long.get(loop.span, 0)
    if allowed < insufficient + MIN_EXTRA or _is_hopeless(interpreter, loop, scope, False):
        if interpreter.silent_budget:
            raise LoopBudgetExceeded
        return None
    try:
        result = interpreter.silently(walk)
    except LoopBudgetExceeded as error:
        if not error.in_iterations:
            interpreter.too_long[loop.span] = allowed
        _note_stopped(interpreter, loop, allowed, is_first=True)
        raise
    if result is None:
        return None
    (end, frame, cost), escaping_states = result
    return Iteration(end, frame, escaping_states, cost, decisions)


def _is_hopeless(interpreter: Interpreter, loop: Loop, scope: Scope, is_whole: bool) -> bool:
    """Whether a loop, or its first iteration, is too long to be walked.

    That is so because loops are nested deeply in it, or a walk of it was stopped in the current nest. `is_whole`: all
    iterations are meant.
    """
    stopped_after = interpreter.stopped.get((loop.span, is_whole))
    allowed = interpreter.silent_budget or MOST_UNRECORDED
    return stopped_after is not None and allowed < stopped_after + MIN_EXTRA_IN_NEST or is_deep(loop.body, scope)


def _note_stopped(interpreter: Interpreter, loop: Loop, allowed: int, is_first: bool) -> None:
    """Notes that this budget was not enough for all iterations and, if `is_first`, for the first one."""
    for is_whole in (True, False) if is_first else (True,):
        place = loop.span, is_whole
        interpreter.stopped[place] = max(allowed, interpreter.stopped.get(place, 0))


def _unroll(interpreter: Interpreter, loop: Loop, scope: Scope, first: Iteration | None) -> Unrolled | None:
    """Walks all iterations; None where it is unknown how many there are, or there are more than MOST_ITERATIONS."""
    if _is_hopeless(interpreter, loop, scope, True):
        raise LoopBudgetExceeded
    allowed = interpreter.silent_budget
    if first is not None:
        needed = first.cost * min(loop.iteration_count, MOST_ITERATIONS)
        if needed >= interpreter.silent_budget and is_straight(loop.body, scope.state):
            interpreter.charge(8 * needed, loop.span)  # raises: there are too many
    if first is not None:
        decisions = first.decisions
    else:
        decisions = Decisions(interpreter.new_key(LOOP), loop.span, scope.state.variables.copy(), scope.context.parent)
    interpreter.walked = [*interpreter.walked, decisions]
    unrolled = Unrolled(decisions)
    finals: list[State] = []
    state = scope.state.copy()
    status: int | None = 0
    for iteration in range(MOST_ITERATIONS + 1):
        decisions.iteration = iteration
        if loop.begin_runs_commands:
            unrolled.condition_states.append(state.copy())
        marks = interpreter.marks()
        has_next, begun = loop.begin(state, iteration, scope.context)
        if begun is None:
            break
        if has_next is None or has_next and iteration == MOST_ITERATIONS:
            return None
        if not has_next:
            begun.status = 1 if loop.has_invalid_condition else status
            finals.append(begun)
            break
        unrolled.entries.append(begun.copy())
        if first is not None and not iteration:
            interpreter.charge(8 * first.cost, loop.span)
            end, frame = first.end, first.frame
            for states, escaping in zip(interpreter.marks().lists, first.escaping_states, strict=True):
                states.extend(escaping)
        else:
            try:
                end, frame = interpreter.iteration(loop.body, Scope(begun, scope.text, scope.context))
            except LoopBudgetExceeded as error:
                error.in_iterations |= iteration > 0
                _note_stopped(interpreter, loop, allowed, is_first=not iteration)
                raise
            end = interpreter.merge([end, *frame.continues], scope.context.phase)
        finals.extend(frame.breaks)
        if end is None:
            break
        state = end
        # an iteration that goes on by `continue` does not know that it may have exited after that
        state.escaped = state.escaped or marks.has_grown
        status = state.status
        if loop.between is not None:
            loop.between(state)
    unrolled.final = interpreter.merge(finals, scope.context.phase)
    return unrolled


def run(interpreter: Interpreter, loop: Loop, scope: Scope, first: Iteration | None = None) -> State | None:
    """Runs a loop. `first`: its first iteration, where that was walked already."""
    result = interpreter.silently(lambda: _unroll(interpreter, loop, scope, first))
    if result is not None and result[0] is not None:
        return _record_iterations(interpreter, loop, scope, result[0], result[1])
    return _record_unknown(interpreter, loop, scope)


def _record_iterations(
    interpreter: Interpreter, loop: Loop, scope: Scope, unrolled: Unrolled, escaping_states: Sequence[Sequence[State]]
) -> State | None:
    """Records the body of a loop that was unrolled."""
    if unrolled.final is not None:
        unrolled.final.escaped = scope.state.escaped or any(escaping_states)
    if interpreter.silent_budget:  # a silent walk records nothing, and the state after the loop is known
        interpreter.reset(interpreter.marks(), escaping_states)
        return unrolled.final
    marks = interpreter.marks()
    key = unrolled.decisions.key
    phase = scope.context.phase
    count = len(unrolled.entries)
    walked, recorded = interpreter.walked, interpreter.recorded
    # what enclosing loops decide was noted when the iterations were walked
    interpreter.walked, interpreter.recorded = [], [*recorded, unrolled.decisions]
    if loop.begin_runs_commands:
        at_condition = _joined(unrolled.condition_states, key, phase)
        context = loop.inside(scope.context) if count else scope.context
        if at_condition is not None:
            loop.begin(at_condition, 0, context)
    entry = _joined(unrolled.entries, key, phase)
    if entry is not None:
        if loop.variable is not None:
            entry.variables[loop.variable[0]] = loop.variable[1]
        context = loop.inside(scope.context) if count > 1 else scope.context
        interpreter.iteration(loop.body, Scope(entry, scope.text, context))
    interpreter.walked, interpreter.recorded = walked, recorded
    interpreter.reset(marks, escaping_states)
    return unrolled.final


def _joined(states: list[State], key: Hashable, phase: Phase) -> State | None:
    """The states of several iterations as one; what differs has an alternative for each iteration."""
    if len(states) == 1:
        return states[0].copy()
    return join([(state, frozenset(((key, 1 << iteration),))) for iteration, state in enumerate(states)], phase)


# --- loops with an unknown number of iterations ----------------------------------------------------


def _record_unknown(interpreter: Interpreter, loop: Loop, scope: Scope) -> State | None:
    before = scope.state
    phase = scope.context.phase
    entry = before.copy()
    marks = interpreter.marks()
    if loop.may_repeat and (loop.begin_runs_commands or loop.between is not None or not is_plain(loop.body, scope)):
        _widen(interpreter, loop, entry, scope)
    loop_context = loop.inside(scope.context) if loop.may_repeat else scope.context
    first_begin = interpreter.silently(lambda: loop.begin(before.copy(), 0, scope.context)[0])
    certain = loop.has_iteration or first_begin is not None and first_begin[0] is True
    always, begun = loop.begin(entry, 0, loop_context if loop.begin_runs_commands else scope.context)
    if begun is None:
        return None
    # the condition holds whatever an iteration changes, so only `break` leaves the loop
    is_left_by_break = always is True and not loop.has_iteration and not _may_be_left_otherwise(scope, loop)
    _learn(interpreter, loop, begun, True, scope)
    variable = loop.variable or loop.widened
    if variable is not None:
        begun.variables[variable[0]] = variable[1]
    context = loop_context.replace(conditional=scope.context.conditional or not certain)
    end, frame = interpreter.iteration(loop.body, Scope(begun.copy(), scope.text, context))
    ends = [end, *frame.continues]
    if end is not None and loop.between is not None:
        loop.between(end)
    if not certain:
        ends.append(before.copy())
    is_left_by_break = is_left_by_break and not any(each is not None and _became_doubtful(begun, each) for each in ends)
    after = None if is_left_by_break else interpreter.merge(ends, phase)
    if loop.begin_runs_commands and after is not None:
        state = after.copy()
        last = interpreter.silently(lambda: loop.begin(state, 0, scope.context))
        after = last[0][1] if last is not None else begun
        if last is not None and after is not None:
            _learn(interpreter, loop, after, False, scope)
    final = interpreter.merge([after, *frame.breaks], phase)
    if final is not None:
        final.status = None
        final.escaped = before.escaped or marks.has_grown
    return final


def _learn(interpreter: Interpreter, loop: Loop, state: State, goes_on: bool, scope: Scope) -> None:
    """Learns from the condition of a loop in a state in which it has just been evaluated, and let it go on or end."""
    if loop.condition is not None:
        condition, ends = loop.condition
        state.learn(told_by(interpreter, condition, Scope(state, scope.text, scope.context))[goes_on is ends])


def _may_be_left_otherwise(scope: Scope, loop: Loop) -> bool:
    """Whether a loop whose condition always holds may be left by code not seen here, such as a trap or `eval`."""
    if scope.state.option(TRAPPED) is not False or not loop.body:
        return True
    return _RUNS_CODE.search(scope.text.string, loop.body[0].start - 1, loop.body[-1].end) is not None


def _became_doubtful(before: State, after: State) -> bool:
    """Whether a state has become doubtful."""
    return after.doubtful and not before.doubtful or after.sourced and not before.sourced


def _widen(interpreter: Interpreter, loop: Loop, entry: State, scope: Scope) -> None:
    """Adds an unknown alternative to whatever any iteration may change."""
    widened: set[str] = set()
    for _ in range(MOST_WALKS):
        iteration = _first_iteration(interpreter, loop, Scope(entry, scope.text, scope.context))
        if iteration is None:
            break
        ends = [each for each in (iteration.end, *iteration.frame.breaks) if each is not None]
        names = [
            name for name in changed_names(entry.variables, [end.variables for end in ends]) if name not in widened
        ]
        _widen_changed(interpreter, entry, names, ends, scope)
        widened.update(names)
        if not names or not iteration.decisions.has_decided():
            return
    _widen_all(entry, scope)


def _widen_changed(interpreter: Interpreter, entry: State, names: list[str], after: list[State], scope: Scope) -> None:
    """Adds an unknown alternative to variables that an iteration changes."""
    key = interpreter.new_key("iteration")
    first, later = frozenset(((key, 0),)), frozenset(((key, 1),))
    for name in names:
        old = entry.variables.get(name)
        new_variables = [state.variables[name] for state in after if name in state.variables]
        template = old if old is not None else new_variables[0]
        span = template.span
        unknown = scope.expanded(None, name, span, flattened(_expansions_in(new_variables)))
        is_array = any(each.array for each in (*new_variables, template))
        flags = "".join(sorted({flag for each in (*new_variables, template) for flag in each.flags}))
        kept = old.alternatives[:4] if old is not None and len(old.alternatives) <= 4 else ()
        if old is None or not old.alternatives:
            kept = (Alternative(None),) if old is None else values_or_none(old)
        kept = tuple([each._replace(guards=each.guards | first) for each in kept])
        if is_array:
            grown = _is_only_appended_to(old, new_variables)
            opened = (unknown.replace(open=True),)
            alternatives = (
                tuple([Alternative((*(each.fields or ()), opened), each.guards) for each in old.alternatives])
                if grown and old is not None
                else (Alternative((opened,)),)
            )
        else:
            alternatives = (*kept, Alternative(((unknown,),), later))
            unset = dict.fromkeys(
                [way.keys for each in new_variables for way in values_or_none(each) if way.fields is None]
            )
            if unset:
                before = [each.keys for each in kept if each.fields is None]
                lost = [Alternative(None, NO_GUARDS if keys in before else later, keys) for keys in unset]
                alternatives = (
                    *lost,
                    *[each for each in alternatives if each.fields is not None or each.keys not in unset],
                )
        is_exported_before = name in ENVIRONMENT_NAMES if old is None else old.exported
        exported = is_exported_before or any(each.exported for each in new_variables)
        if exported and not is_exported_before or UNEXPORTED in flags:
            flags = without_export(flags) + PARTLY_EXPORTED + (UNEXPORTED if UNEXPORTED in flags else "")
        entry.variables[name] = Variable(alternatives, is_array, exported, span, flags)
    entry.join_shell([entry, *after])
    entry.status = None


def _expansions_in(variables: list[Variable]) -> list[Expansion]:
    return [
        expansion
        for variable in variables
        for alternative in variable.alternatives
        for field in alternative.fields or ()
        for expansion in expansions_of(field)
    ]


def _is_only_appended_to(old: Variable | None, new_variables: list[Variable]) -> bool:
    """Whether an iteration only appends to an array."""
    if old is None or len(old.alternatives) != 1 or old.alternatives[0].fields is None:
        return False
    fields = old.alternatives[0].fields
    return old.alternatives[0].keys is None and all(
        alternative.keys is None and alternative.fields is not None and alternative.fields[: len(fields)] == fields
        for new in new_variables
        for alternative in new.alternatives
    )


def _widen_all(entry: State, scope: Scope) -> None:
    """Adds an unknown alternative to all variables.

    For a body that is too long to be walked, or whose changes did not settle in MOST_WALKS walks.
    """
    for name, old in list(entry.variables.items()):
        if _is_unknown(name, old):
            continue
        kept = () if old.array else old.alternatives[:4]
        unknown = scope.unknown(name, old.span, is_open=old.array)
        entry.variables[name] = old._replace(alternatives=(*kept, Alternative((unknown,))))
    entry.positional = None
    entry.stdin = None
    entry.status = None
    entry.doubtful = True


def _is_unknown(name: str, variable: Variable) -> bool:
    """Whether a variable may already have any value."""
    fields = variable.alternatives[-1].fields if variable.alternatives else None
    unknown = fields[0][0].expansion if fields and len(fields) == len(fields[0]) == 1 else None
    return unknown is not None and (unknown.name, unknown.span, unknown.inputs) == (name, variable.span, ())
