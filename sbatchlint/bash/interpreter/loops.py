"""Loops: `for`, `for ((…))`, `while`, `until`.

Where the script decides the number of iterations, they are first walked one by one without recording, which gives the
states in which the body begins and the state after the loop; then the body is recorded once, in all these states
together. The body of any other loop is walked once to see what it changes; whatever it changes may be unknown when the
body is recorded.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.bash.expansion.arrays import is_open
from sbatchlint.bash.expansion.assignment import note_evaluated
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import MOST_SILENT, Interpreter, LoopBudgetExceeded, LoopFrame
from sbatchlint.bash.interpreter.decisions import Decisions
from sbatchlint.bash.interpreter.loop_bodies import is_branching, is_deep, is_plain, is_straight
from sbatchlint.bash.interpreter.reading import set_named
from sbatchlint.bash.interpreter.traps import TRAPPED
from sbatchlint.bash.state import State, join
from sbatchlint.bash.syntax.tree import ArithmeticFor, For, Simple, Statement, While
from sbatchlint.bash.syntax.walk import literal_text
from sbatchlint.bash.trace import Context
from sbatchlint.bash.values import Expansion, Phase, Pieces, flattened
from sbatchlint.bash.values import expansions as expansions_of
from sbatchlint.bash.variables import LOOP, VOLATILE, Alternative, Variable, assumed_defaults, changed_names
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# A loop with more iterations is not unrolled.
MOST_ITERATIONS = 24
# So often an iteration is walked to find what it changes, each time with what the last one changed unknown.
MOST_WALKS = 4
# An iteration that was too long to be walked is not tried again with less than this many statements more.
WORTH_ANOTHER_WALK = 50
# The same of a loop that was stopped together with those around it, which had taken some of them before.
WORTH_ANOTHER_NEST = 16
# Commands of this shell that a text has, in which there may be `break`.
_READ_AGAIN = Regex(r"(?:^|[\s;&|({`])(?:\.|source|eval|trap)\s")
_LENGTH = Regex(r"\d+(?:\.\d*)?[smhd]?", re.ASCII)
# The loop variable has at most this many alternatives in the body.
MOST_ITEMS = 6


class Loop:
    """A loop: how an iteration begins, its body, and what happens between two iterations.

    `begin` returns whether there is another iteration (None: unknown) and the state at its beginning, None where the
    shell exits. `between` changes the state after an iteration.
    """

    def __init__(
        self,
        body: Sequence[Statement],
        span: Span,
        begin: Callable[[State, int, Context], tuple[bool | None, State | None]],
        between: Callable[[State], None] | None = None,
    ) -> None:
        self.body = body
        self.span = span
        self.begin = begin
        self.between = between
        self.condition = False  # whether `begin` runs commands
        self.variable: tuple[str, Variable] | None = None  # what the recorded body sees in the loop's variable
        self.widened: tuple[str, Variable] | None = None  # the same where the iterations were not walked
        self.certain = False  # there is at least one iteration
        self.wrong = False  # its condition cannot be evaluated, at which it ends as a failure
        self.several = True
        self.iterations = 0  # how many iterations there are, where that is known beforehand

    def inside(self, context: Context) -> Context:
        """The context of commands that run in each of several iterations."""
        return context.replace(loops=(*context.loops, self.span))


class Iteration(NamedTuple):
    """An iteration that was walked silently: its final state, where it was left, the states that left the loop, and how
    many statements it took."""

    end: State | None
    frame: LoopFrame
    escaped: Sequence[Sequence[State]]
    cost: int
    decisions: Decisions


class Unrolled:
    """The states of a loop that was unrolled, and what its iterations decided."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions
        self.before: list[State] = []  # at each evaluation of a condition that runs commands
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
    before = scope.state.variables.get(node.name)
    note_evaluated(items, before.flags if before is not None else "", scope)

    def variable(state: State, alternatives: tuple[Alternative, ...]) -> Variable:
        old = state.variables.get(node.name)
        if old is not None and (old.array or set(old.flags) & {"i", "l", "u", VOLATILE}):
            return old._replace(alternatives=(Alternative(((unknown[0].replace(open=old.array),),)),), span=span)
        flags = "n" if old is not None and "n" in old.flags else ""
        values = [] if old is None else [each.fields for each in old.alternatives]
        if flags and len(values) > 1 and None in values:  # it may also be no reference
            alternatives = (*alternatives, Alternative(None))
        return Variable(alternatives, exported=bool(old and old.exported), span=span, flags=flags)

    def begin(state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        if not known:
            state.variables[node.name] = variable(state, (Alternative((unknown,)),))
            state.stdin = None if node.selects else state.stdin
            return None, state
        if iteration == len(items):
            return False, state
        state.variables[node.name] = variable(state, (Alternative((items[iteration],)),))
        return True, state

    loop = Loop(node.body, span, begin)
    loop.certain = known
    loop.several = not known or len(items) > 1
    loop.iterations = len(items) if known else 0
    if not known or len(items) > MOST_ITEMS:
        loop.variable = node.name, variable(scope.state, (Alternative((unknown,)),))
    first = None
    if known and len(items) > 1:
        plain = is_plain(loop.body, scope)
        first = None if plain else _first_iteration(interpreter, loop, scope)
        if plain or first is not None and _is_independent(first, scope.state, node.name, items[0]):
            branching = is_branching(loop.body, scope)
            if len(items) <= MOST_ITEMS and branching:
                walked = interpreter.silently(lambda: _unroll(interpreter, loop, scope, first))
                if walked is not None and walked[0] is not None:
                    return _record_iterations(interpreter, loop, scope, walked[0], walked[1])
            if interpreter.silent and first is not None and first.end is not None and not branching:
                # nobody looks at a record, and the state after the loop is known
                first.end.variables[node.name] = variable(first.end, (Alternative((items[-1],)),))
                first.end.status = None
                return first.end
            return _record_alike(interpreter, loop, scope, node.name, items, variable)
        # where the iterations cannot be walked
        loop.widened = node.name, variable(scope.state, (Alternative((unknown,)),))
    elif known:
        scope.state.variables[node.name] = variable(scope.state, (Alternative((items[0],)),))
        return _once(interpreter, loop, scope)
    return run(interpreter, loop, scope, first)


def _once(interpreter: Interpreter, loop: Loop, scope: Scope) -> State | None:
    """Runs a loop that certainly has one iteration."""
    marks, before = interpreter.marks(), scope.state.escaped
    end, frame = interpreter.iteration(loop.body, scope)
    final = interpreter.merge([end, *frame.continues, *frame.breaks], scope.context.phase)
    if final is not None and not marks.has_grown:
        final.escaped = before
    return final


def _is_independent(iteration: Iteration, before: State, name: str, first: Pieces) -> bool:
    """Whether an iteration changes nothing that another one could see."""
    end, frame = iteration.end, iteration.frame
    if end is None or frame.breaks or frame.continues or any(iteration.escaped):
        return False
    changed = [each for each in changed_names(before.variables, [end.variables]) if each != name]
    variable = end.variables.get(name)
    kept = variable is not None and [each.fields for each in variable.alternatives] == [(first,)]
    return not changed and kept and _same_shell(before, end)


def _same_shell(first: State, second: State) -> bool:
    return (
        first.positional == second.positional
        and first.stdin is second.stdin
        and first.options == second.options
        and not list(first.functions.changes(second.functions))
        and first.files == second.files
        and first.doubtful == second.doubtful
        and first.sourced == second.sourced
    )


def _record_alike(
    interpreter: Interpreter, loop: Loop, scope: Scope, name: str, items: list[Pieces],
    variable: Callable[[State, tuple[Alternative, ...]], Variable],
) -> State | None:  # fmt: skip
    """Records the body of a loop whose iterations differ in the loop variable only."""
    state = scope.state.copy()
    key = interpreter.new_key(LOOP)
    alternatives = tuple(
        [Alternative((item,), frozenset(((key, 1 << iteration),))) for iteration, item in enumerate(items)]
    )
    seen = loop.variable[1] if loop.variable is not None else variable(state, alternatives)
    state.variables[name] = seen
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
    _, wrong = expander.truth(*ranges[0], scope)
    if wrong:
        scope.state.status = 1
        return scope.state
    scope.state.guessed = scope.state.guessed or wrong is None

    def begin(state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        if not scope.text.string[slice(*ranges[1])].strip():
            return True, state
        status, wrong = expander.truth(*ranges[1], Scope(state, scope.text, context))
        loop.wrong = bool(wrong)
        return None if status is None else not status, state

    def between(state: State) -> None:
        _, wrong = expander.truth(*ranges[2], Scope(state, scope.text, scope.context))
        state.guessed = state.guessed or bool(wrong)  # the loop ends there

    loop = Loop(node.body, scope.span(node), begin, between)
    return run(interpreter, loop, scope)


def run_while(interpreter: Interpreter, node: While, scope: Scope) -> State | None:
    def begin(state: State, iteration: int, context: Context) -> tuple[bool | None, State | None]:
        after = interpreter.statements(node.condition[:-1], Scope(state, scope.text, context))
        if after is not None and node.condition:
            after = interpreter.statement(
                node.condition[-1], Scope(after, scope.text, context.replace(tested=True, unheeded=True))
            )
        if after is None or after.status is None:
            return (not node.negated if after is not None and is_sleep else None), after
        return (after.status != 0) == node.negated, after

    is_sleep = len(node.condition) == 1 and _is_sleep(node.condition[0])

    loop = Loop(node.body, scope.span(node), begin)
    loop.condition = True
    return run(interpreter, loop, scope)


def _is_sleep(statement: Statement) -> bool:
    """Whether a command is `sleep 60`, which does not fail."""
    if not isinstance(statement, Simple) or len(statement.words) != 2 or statement.redirects:
        return False
    name, length = map(literal_text, statement.words)
    return name == "sleep" and length is not None and _LENGTH.fullmatch(length) is not None


# --- iterations ---------------------------------------------------------------------------------------


def _first_iteration(interpreter: Interpreter, loop: Loop, scope: Scope) -> Iteration | None:
    """Walks one iteration, whether or not it happens; None where that would take too long."""

    decisions = Decisions(interpreter.new_key(LOOP), loop.span, scope.state.variables.copy(), scope.context.parent)

    def walk() -> tuple[State | None, LoopFrame, int]:
        frame = LoopFrame()
        left = interpreter.silent
        interpreter.walked = [*interpreter.walked, decisions]
        _, end = loop.begin(scope.state.copy(), 0, scope.context)
        if end is not None:
            end, frame = interpreter.iteration(loop.body, Scope(end, scope.text, scope.context))
            end = interpreter.merge([end, *frame.continues], scope.context.phase)
            if end is not None and loop.between is not None:
                loop.between(end)
        return end, frame, left - interpreter.silent

    allowed = interpreter.silent or MOST_SILENT
    too_long = interpreter.too_long.get(loop.span, 0)
    if allowed < too_long + WORTH_ANOTHER_WALK or _is_hopeless(interpreter, loop, scope, False):
        if interpreter.silent:
            raise LoopBudgetExceeded
        return None
    try:
        walked = interpreter.silently(walk)
    except LoopBudgetExceeded as stopped:
        if not stopped.in_iterations:
            interpreter.too_long[loop.span] = allowed
        _note_stopped(interpreter, loop, allowed, is_first=True)
        raise
    if walked is None:
        return None
    (end, frame, cost), escaped = walked
    return Iteration(end, frame, escaped, cost, decisions)


def _is_hopeless(interpreter: Interpreter, loop: Loop, scope: Scope, is_whole: bool) -> bool:
    """Whether a loop, or its first iteration, is too long to be walked: around many others, or stopped in this nest."""
    stopped = interpreter.stopped.get((loop.span, is_whole))
    allowed = interpreter.silent or MOST_SILENT
    return stopped is not None and allowed < stopped + WORTH_ANOTHER_NEST or is_deep(loop.body, scope)


def _note_stopped(interpreter: Interpreter, loop: Loop, cost: int, is_first: bool) -> None:
    for is_whole in (True, False) if is_first else (True,):
        place = loop.span, is_whole
        interpreter.stopped[place] = max(cost, interpreter.stopped.get(place, 0))


def _unroll(interpreter: Interpreter, loop: Loop, scope: Scope, first: Iteration | None) -> Unrolled | None:
    """Walks all iterations; None where the script does not decide how many there are."""
    if _is_hopeless(interpreter, loop, scope, True):
        raise LoopBudgetExceeded
    allowed = interpreter.silent
    if first is not None:
        needed = first.cost * min(loop.iterations, MOST_ITERATIONS)
        if needed >= interpreter.silent and is_straight(loop.body, scope.state):
            interpreter.charge(8 * needed, loop.span)  # raises: there are too many
    if first is not None:
        decisions = first.decisions
    else:
        decisions = Decisions(interpreter.new_key(LOOP), loop.span, scope.state.variables.copy(), scope.context.parent)
    interpreter.walked = [*interpreter.walked, decisions]
    found = Unrolled(decisions)
    finals: list[State] = []
    state = scope.state.copy()
    status: int | None = 0
    for iteration in range(MOST_ITERATIONS + 1):
        decisions.iteration = iteration
        if loop.condition:
            found.before.append(state.copy())
        has_next, begun = loop.begin(state, iteration, scope.context)
        if begun is None:
            break
        if has_next is None or has_next and iteration == MOST_ITERATIONS:
            return None
        if not has_next:
            begun.status = 1 if loop.wrong else status
            finals.append(begun)
            break
        found.entries.append(begun.copy())
        if first is not None and not iteration:
            interpreter.charge(8 * first.cost, loop.span)
            end, frame = first.end, first.frame
            for states, left in zip(interpreter.marks().lists, first.escaped, strict=True):
                states.extend(left)
        else:
            try:
                end, frame = interpreter.iteration(loop.body, Scope(begun, scope.text, scope.context))
            except LoopBudgetExceeded as stopped:
                stopped.in_iterations |= iteration > 0
                _note_stopped(interpreter, loop, allowed, is_first=not iteration)
                raise
            end = interpreter.merge([end, *frame.continues], scope.context.phase)
        finals.extend(frame.breaks)
        if end is None:
            break
        state = end
        status = state.status
        if loop.between is not None:
            loop.between(state)
    found.final = interpreter.merge(finals, scope.context.phase)
    return found


def run(interpreter: Interpreter, loop: Loop, scope: Scope, first: Iteration | None = None) -> State | None:
    """Runs a loop. `first`: its first iteration, where that was walked already."""
    walked = interpreter.silently(lambda: _unroll(interpreter, loop, scope, first))
    if walked is not None and walked[0] is not None:
        return _record_iterations(interpreter, loop, scope, walked[0], walked[1])
    return _record_unknown(interpreter, loop, scope)


def _record_iterations(
    interpreter: Interpreter, loop: Loop, scope: Scope, iterations: Unrolled, escaped: Sequence[Sequence[State]]
) -> State | None:
    """Records the body of a loop that was unrolled."""
    if interpreter.silent:  # nobody looks at a record, and the state after the loop is known
        interpreter.reset(interpreter.marks(), escaped)
        return iterations.final
    marks = interpreter.marks()
    key = iterations.decisions.key
    phase = scope.context.phase
    count = len(iterations.entries)
    walked, recorded = interpreter.walked, interpreter.recorded
    # what is decided around was noted when the iterations were walked
    interpreter.walked, interpreter.recorded = [], [*recorded, iterations.decisions]
    if loop.condition:
        looked = _joined(iterations.before, key, phase)
        context = loop.inside(scope.context) if count else scope.context
        if looked is not None:
            loop.begin(looked, 0, context)
    entry = _joined(iterations.entries, key, phase)
    if entry is not None:
        if loop.variable is not None:
            entry.variables[loop.variable[0]] = loop.variable[1]
        context = loop.inside(scope.context) if count > 1 else scope.context
        interpreter.iteration(loop.body, Scope(entry, scope.text, context))
    interpreter.walked, interpreter.recorded = walked, recorded
    interpreter.reset(marks, escaped)
    if iterations.final is not None and not any(escaped):
        iterations.final.escaped = scope.state.escaped
    return iterations.final


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
    if loop.several and (loop.condition or loop.between is not None or not is_plain(loop.body, scope)):
        _widen(interpreter, loop, entry, scope)
    looped = loop.inside(scope.context) if loop.several else scope.context
    is_begun = interpreter.silently(lambda: loop.begin(before.copy(), 0, scope.context)[0])
    certain = loop.certain or is_begun is not None and is_begun[0] is True
    always, begun = loop.begin(entry, 0, looped if loop.condition else scope.context)
    if begun is None:
        return None
    # a condition that holds after whatever an iteration changes
    is_left_by_break = always is True and not loop.certain and not _may_be_left_otherwise(scope, loop)
    variable = loop.variable or loop.widened
    if variable is not None:
        begun.variables[variable[0]] = variable[1]
    context = looped.replace(conditional=scope.context.conditional or not certain)
    end, frame = interpreter.iteration(loop.body, Scope(begun.copy(), scope.text, context))
    ends = [end, *frame.continues]
    if end is not None and loop.between is not None:
        loop.between(end)
    if not certain:
        ends.append(before.copy())
    is_left_by_break = is_left_by_break and not any(each is not None and _has_grown(begun, each) for each in ends)
    after = None if is_left_by_break else interpreter.merge(ends, phase)
    if loop.condition and after is not None:
        state = after.copy()
        last = interpreter.silently(lambda: loop.begin(state, 0, scope.context))
        after = last[0][1] if last is not None else begun
    final = interpreter.merge([after, *frame.breaks], phase)
    if final is not None:
        final.status = None
        final.escaped = before.escaped or marks.has_grown
    return final


def _may_be_left_otherwise(scope: Scope, loop: Loop) -> bool:
    """Whether a loop whose condition always holds may be left by what is not seen here: by a trap, in a text."""
    if scope.state.option(TRAPPED) is not False or not loop.body:
        return True
    return _READ_AGAIN.search(scope.text.string, loop.body[0].start - 1, loop.body[-1].end) is not None


def _has_grown(before: State, after: State) -> bool:
    """Whether a state has come to be doubtful."""
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
        news = [state.variables[name] for state in after if name in state.variables]
        model = old if old is not None else news[0]
        span = model.span
        unknown = scope.expanded(None, name, span, flattened(_inputs(news)))
        array = any(each.array for each in (*news, model))
        flags = "".join(sorted({flag for each in (*news, model) for flag in each.flags}))
        kept = old.alternatives[:4] if old is not None and len(old.alternatives) <= 4 else ()
        kept = kept or (() if old is not None and old.alternatives else (Alternative(None),))
        kept = tuple([each._replace(guards=each.guards | first) for each in kept])
        if array:
            grown = _grown(old, news)
            opened = (unknown.replace(open=True),)
            changed = (
                tuple([Alternative((*(each.fields or ()), opened), each.guards) for each in old.alternatives])
                if grown and old is not None
                else (Alternative((opened,)),)
            )
        else:
            changed = (*kept, Alternative(((unknown,),), later))
            if any(not each.alternatives or any(a.fields is None for a in each.alternatives) for each in news):
                changed = (Alternative(None, later), *[each for each in changed if each.fields is not None])
                changed = (
                    changed if not any(each.fields is None for each in kept) else (Alternative(None), *changed[1:])
                )
        exported = any(each.exported for each in (*news, model))
        entry.variables[name] = Variable(changed, array, exported, span, flags)
    entry.join_shell([entry, *after])
    entry.status = None


def _inputs(variables: list[Variable]) -> list[Expansion]:
    return [
        expansion
        for variable in variables
        for alternative in variable.alternatives
        for field in alternative.fields or ()
        for expansion in expansions_of(field)
    ]


def _grown(old: Variable | None, news: list[Variable]) -> bool:
    """Whether an iteration only appends to an array."""
    if old is None or len(old.alternatives) != 1 or old.alternatives[0].fields is None:
        return False
    fields = old.alternatives[0].fields
    return old.alternatives[0].keys is None and all(
        alternative.keys is None and alternative.fields is not None and alternative.fields[: len(fields)] == fields
        for new in news
        for alternative in new.alternatives
    )


def _widen_all(entry: State, scope: Scope) -> None:
    """Adds an unknown alternative to all variables, for a body that is too long to be walked twice."""
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
    """Whether a variable may have any value already."""
    fields = variable.alternatives[-1].fields if variable.alternatives else None
    unknown = fields[0][0].expansion if fields and len(fields) == len(fields[0]) == 1 else None
    return unknown is not None and (unknown.name, unknown.span, unknown.inputs) == (name, variable.span, ())
