"""Branches: `if` and `case`; when two conditions are the same, and which tasks they let through."""

from collections.abc import Hashable, Sequence

from sbatchlint.bash.case_arms import Bodies, Pattern, Patterns
from sbatchlint.bash.expansion.lookup import CHANGING_NAMES
from sbatchlint.bash.expansion.patterns import matches, only_text, text_matches
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.interpreter.conditions import either
from sbatchlint.bash.interpreter.facts import case_name, known_of, told_by, told_by_patterns
from sbatchlint.bash.state import State, exchange, join, without
from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    Case,
    If,
    Pipeline,
    Simple,
    Statement,
    TestCommand,
    Word,
)
from sbatchlint.bash.values import Phase, Piece, Pieces, expansions
from sbatchlint.bash.variables import NO_GUARDS, Guards, assumed_defaults, merge_guards
from sbatchlint.source.regex import Regex

# Longer conditions are never the same as others.
MOST_COMPARED = 400  # characters
NAMES = Regex(r"[A-Za-z_]\w*|\$\{?[#!]?[0-9@*#?]")
# Commands that change what they test, so that a second run is another condition.
CHANGING = frozenset({"read", "getopts", "shift", "eval", "source", ".", "mapfile", "set", "unset"})
# After so many bodies of `case` that run on into the next one (`;&`), what a body does not change stays as it is.
MOST_EXACT_FALLS = 16


def _key(interpreter: Interpreter, kind: str, source: str, scope: Scope) -> Hashable:
    state = scope.state
    found: list[object] = []
    for name in dict.fromkeys(NAMES.findall(source)):
        if name[0] == "$":
            found.append(state.positional if name[-1] != "?" else state.status)
        elif name in CHANGING_NAMES:
            return interpreter.new_key(kind)
        elif (variable := state.variables.get(name)) is not None:
            found.append(variable)
        elif name in state.functions:
            return interpreter.new_key(kind)
    interpreter.kept_alive.extend(found)
    return (kind, source, *[each if isinstance(each, int) else id(each) for each in found])


def condition_key(interpreter: Interpreter, statement: Statement, scope: Scope) -> Hashable:
    """A key that is equal for two conditions of the same text whose variables are not assigned in between."""
    if statement.end - statement.start > MOST_COMPARED:
        return interpreter.new_key("if")
    source = scope.written(statement)
    if not CHANGING.isdisjoint(source.split(None, 1)[:1]):
        return interpreter.new_key("if")
    return _key(interpreter, "if", source, scope)


# Of so many conditions of an `if` each arm says that they were false; of later ones only that no two arms are taken.
MOST_TOLD = 50


def case_key(interpreter: Interpreter, word: Word, scope: Scope) -> Hashable:
    """A key that is equal for two `case` words of the same text whose variables are not assigned in between."""
    return _key(interpreter, "case", scope.written(word), scope)


def _patterns_of(interpreter: Interpreter, node: Case, extended: bool | None, scope: Scope) -> Patterns:
    """The same patterns for two `case` of the same patterns, whose variables are not assigned in between."""
    written = "\n".join(scope.written(pattern) for patterns, _, _ in node.items for pattern in patterns)
    key = extended, tuple(len(patterns) for patterns, _, _ in node.items), _key(interpreter, "patterns", written, scope)
    found = interpreter.case_patterns.get(key)
    if found is None:
        found = Patterns(lambda pattern, string: matches(pattern, string, extended))
        interpreter.case_patterns[key] = found
    return found


def _guard(key: Hashable, patterns: Patterns, bits: int) -> Guards:
    return frozenset(((key, Bodies(frozenset(((patterns, bits),)))),))


def _pattern(interpreter: Interpreter, word: Word, text: str | None, scope: Scope) -> Pattern:
    if text is None or scope.state.option("nocasematch") is not False:
        return Pattern(None, None, _key(interpreter, "pattern", scope.written(word), scope))
    return Pattern(text, only_text(text), text)


def narrowed(interpreter: Interpreter, statement: Statement, truth: bool, guards: Guards) -> Guards:
    """The guards of an arm, with those of the only value for which the test before it may have come out so."""
    wanted = _wanted(statement, truth)
    left = [own for status, own in interpreter.outcomes if status is None or (status == 0) is wanted]
    return (merge_guards(guards, left[0]) or guards) if len(left) == 1 and wanted is not None else guards


def impossible(interpreter: Interpreter, statement: Statement, truth: bool) -> list[Guards]:
    """The guards of the values for which the condition before it cannot have come out so."""
    if isinstance(statement, AndOr):
        return interpreter.ruled_out.get((id(statement), truth), [])
    wanted = _wanted(statement, truth)
    if wanted is None:
        return []
    return [own for status, own in interpreter.outcomes if own and status is not None and (status == 0) is not wanted]


def _wanted(statement: Statement, truth: bool) -> bool | None:
    """Whether a test succeeds where a condition comes out so; None where the condition is more than one test."""
    is_negated = isinstance(statement, Pipeline) and len(statement.commands) == 1 and statement.negated
    return truth is not is_negated if is_negated or isinstance(statement, (Simple, TestCommand)) else None


def only_end(ends: Sequence[tuple[State | None, Sequence[Guards]]]) -> None:
    """Takes values out of the only end of a branch that goes on: those with which it would have taken another one.

    After `[ -n "$X" ] || exit` X is not empty. `ends`: with each end, the guards that cannot hold there.
    """
    alive = [(state, gone) for state, gone in ends if state is not None]
    if len(alive) == 1 < len(ends):
        without(*alive[0])


def _arm(interpreter: Interpreter, body: Sequence[Statement], scope: Scope, gone: Sequence[Guards]) -> State | None:
    """Walks an arm, in which some values cannot be; what it does not assign has all its values again after it."""
    changed = without(scope.state, gone)
    end = interpreter.statements(body, scope)
    if end is not None:
        kept = [(name, after, before) for name, (before, after) in changed.items()]
        exchange(end, [each for each in kept if end.variables.get(each[0]) is each[1]])
    return end


def restricted_variables(interpreter: Interpreter, statement: Statement, scope: Scope) -> frozenset[str]:
    """`Context.restricted` inside a condition: also the variables in it that differ between tasks."""
    if scope.context.phase is not Phase.TASK:
        return scope.context.restricted
    fields: list[Pieces] = []
    inner = Scope(scope.state.copy(), scope.text, scope.context)
    interpreter.silently(lambda: _condition_fields(interpreter, statement, inner, fields))
    names = {
        expansion.name
        for field in fields
        for expansion in expansions(field)
        if expansion.phase is Phase.TASK
        and (interpreter.environment.differs(expansion.name) or expansion.name.startswith("$(hostname"))
    }
    return scope.context.restricted | names if names else scope.context.restricted


def asks_of_job(interpreter: Interpreter, statement: Statement, scope: Scope) -> bool:
    """Whether a condition looks at what the job has, so that nobody edits the script for it to come out otherwise."""
    fields: list[Pieces] = []
    inner = Scope(scope.state.copy(), scope.text, scope.context)
    interpreter.silently(lambda: _condition_fields(interpreter, statement, inner, fields))
    return any(each.name.startswith("SLURM_") for field in fields for each in expansions(field))


def _condition_fields(interpreter: Interpreter, statement: Statement, scope: Scope, found: list[Pieces]) -> None:
    words: Sequence[object] = ()
    if isinstance(statement, (Simple, TestCommand)):
        words = statement.words
    elif isinstance(statement, Pipeline):
        for command in statement.commands:
            _condition_fields(interpreter, command, scope, found)
    elif isinstance(statement, AndOr):
        _condition_fields(interpreter, statement.left, scope, found)
        _condition_fields(interpreter, statement.right, scope, found)
    elif isinstance(statement, ArithmeticCommand):
        _, inputs = interpreter.expander.number(statement.expression_start, statement.expression_end, scope)
        found.append(tuple(Piece(None, *each.span, each) for each in inputs))
    for word in words:
        if isinstance(word, Word):
            found.extend(pieces for pieces, _ in interpreter.expander.value(word, scope))


def run_if(interpreter: Interpreter, node: If, scope: Scope) -> State | None:
    ends: list[tuple[State | None, Guards]] = []
    state: State | None = scope.state
    context = scope.context
    passed: Guards = NO_GUARDS
    conditions = 0  # how many are in `passed`
    later: Hashable = None
    doubtful = is_otherwise = False
    gone: list[Guards] = []  # what cannot hold after the conditions before
    each_gone: list[tuple[State | None, list[Guards]]] = []
    for condition, body in node.branches:
        before = context.replace(unheeded=True) if len(condition) > 1 else context
        for statement in condition[:-1]:
            state = interpreter.statement(statement, Scope(state, scope.text, before)) if state is not None else None
        if state is None or not condition:
            break
        here = Scope(state, scope.text, context.copy())
        here.context.tested = here.context.unheeded = True
        key = condition_key(interpreter, condition[-1], here)
        restricted = restricted_variables(interpreter, condition[-1], here)
        answers = interpreter.environment.answers_of_jobs
        state = interpreter.statement(condition[-1], here)
        if state is None:
            break
        place = "if", id(condition[-1])
        truth = interpreter.decided(place, None if state.status is None else state.status == 0, here)
        outcomes = interpreter.outcomes
        told = (
            told_by(interpreter, condition[-1], Scope(state, scope.text, here.context)) if truth is None else ({}, {})
        )
        if truth is not None and answers != interpreter.environment.answers_of_jobs and not is_otherwise:
            is_otherwise = True
            interpreter.outside_of_job(node, state, scope)
        if truth is not False:
            own = passed | frozenset(((key, 0),))
            if later is not None:
                own |= frozenset(((later, conditions),))
            guards = merge_guards(context.guards, own)
            if guards is not None:
                arm = context
                if truth is None:
                    arm = context.copy()
                    arm.guards = narrowed(interpreter, condition[-1], True, guards)
                    arm.conditional, arm.restricted = True, restricted
                own_gone = [*gone, *impossible(interpreter, condition[-1], True)] if truth is None else gone
                exits = interpreter.failed_exits
                taken: State | None = state.copy()
                if truth is None:
                    taken = interpreter.arm(place, True, state.copy(), here)
                if taken is not None:
                    taken.learn(told[0])
                end = _arm(interpreter, body, Scope(taken, scope.text, arm), own_gone) if taken is not None else None
                is_varying = interpreter.varies(place, True) or "$" not in scope.written(condition[-1])
                is_certain = truth is True and end is None and interpreter.failed_exits > exits
                if is_certain and not is_varying and not asks_of_job(interpreter, condition[-1], here):
                    # `X=""`, then `[ -z "$X" ] && exit`: a template, to be filled in before it is submitted
                    doubtful = True
                    continue
                ends.append((end, own))
                each_gone.append((end, own_gone))
        if truth is True:
            state = None
            break
        if truth is None:
            conditions += 1
            if conditions <= MOST_TOLD:
                passed |= frozenset(((key, 1),))
            if conditions == MOST_TOLD:
                later = interpreter.new_key("elif")
            context = context.copy()
            context.conditional, context.restricted = True, restricted
            interpreter.outcomes = outcomes
            if conditions <= MOST_TOLD:
                gone = [*gone, *impossible(interpreter, condition[-1], False)]
            context.guards = narrowed(interpreter, condition[-1], False, context.guards)
            state = interpreter.arm(place, False, state, here)
            if state is None:
                break
            state.learn(told[1])
    if later is not None:
        passed |= frozenset(((later, 0),))
    if state is not None:
        guards = merge_guards(scope.context.guards, passed)
        if guards is not None:
            state.guessed = state.guessed or doubtful
            state.escaped = state.escaped or doubtful
            if node.otherwise is None:
                state.status = 0
            else:
                arm = context.copy()
                arm.guards = merge_guards(context.guards, passed) or guards
                state = _arm(interpreter, node.otherwise, Scope(state, scope.text, arm), gone)
            ends.append((state, passed))
            each_gone.append((state, gone))
    only_end(each_gone)
    return join(ends, scope.context.phase)


class _Falls:
    """The bodies of a `case` that run on into the next one: `falling` is the state at the end of the last of them."""

    def __init__(self) -> None:
        self.falling: State | None = None
        self._count = 0
        # where a body was last entered by its pattern, too: with what, and the state at its start
        self._entry: tuple[State, State] | None = None

    def start(self, interpreter: Interpreter, taken: State | None, phase: Phase) -> State | None:
        """The state at the start of a body. `taken`: that of those who enter it by its pattern."""
        falling, self.falling = self.falling, None
        if falling is None:
            self._count = 0
            self._entry = None
        self._count += 1
        entering = taken
        if taken is not None and falling is not None and self._entry is not None and self._count > MOST_EXACT_FALLS:
            entering = taken.copy()
            entering.take_unchanged(falling, *self._entry)
        start = interpreter.merge([entering, falling], phase)
        if taken is not None and start is not None:
            self._entry = taken.copy(), start.copy()
        return start


def run_case(interpreter: Interpreter, node: Case, scope: Scope) -> State | None:
    answers = interpreter.environment.answers_of_jobs
    subjects = interpreter.expander.value(node.word, scope)
    if answers != interpreter.environment.answers_of_jobs:
        interpreter.outside_of_job(node, scope.state, scope)
    every, decisive = [guards for _, guards in subjects], subjects
    if any(assumed_defaults(guards, scope.context.guards, every) for guards in every):
        decisive = []
    key = case_key(interpreter, node.word, scope)
    restricted = scope.context.restricted
    if scope.context.phase is Phase.TASK:
        restricted |= {
            e.name for pieces, _ in subjects for e in expansions(pieces) if interpreter.environment.differs(e.name)
        }
    ends: list[tuple[State | None, Guards]] = []
    # the state where no pattern has matched so far, and where a body falls through to the next
    waiting: State | None = scope.state
    falls = _Falls()
    alone = True
    waiting_bits = falling_bits = 0
    compared = _patterns_of(interpreter, node, scope.state.options.get("extglob", False), scope)
    name = case_name(node.word, scope)
    for number, (patterns, body, terminator) in enumerate(node.items):
        truth: bool | None = False
        texts: list[str | None] = []
        if waiting is not None:
            found = []
            for pattern in patterns:
                text = interpreter.expander.pattern(pattern, Scope(waiting, scope.text, scope.context))
                found.append(_pattern(interpreter, pattern, text, scope))
                texts.append(text)
                extended = waiting.options.get("extglob", False)
                folded = waiting.option("nocasematch")
                outcomes = {text_matches(text, subject, extended, folded) for subject, _ in decisive}
                matching = outcomes.pop() if len(outcomes) == 1 else text == "*" or None
                truth = either(truth, matching)
            compared.add(number, tuple(found))
            truth = interpreter.decided((id(node), number), truth, scope)
        if truth is False and falls.falling is None:
            continue
        bits = falling_bits if falls.falling is not None else 0
        if waiting is not None and truth is not False:
            bits |= waiting_bits | compared.bit(number)
        own = _guard(key, compared, bits)
        guards = merge_guards(scope.context.guards, own)
        if guards is None:
            continue
        certain = alone and (truth is True or waiting is None)
        alone = False
        context = scope.context.copy()
        context.restricted = restricted
        if not certain:
            context.guards, context.conditional = guards, True
        taken = waiting.copy() if waiting is not None and truth is not False else None
        if taken is not None and truth is None:
            taken = interpreter.arm((id(node), number), True, taken, scope)
        if waiting is not None and truth is None:
            waiting = interpreter.arm((id(node), number), False, waiting, scope)
        if truth is None:
            kinds = told_by_patterns(texts, scope)
            if taken is not None:
                taken.learn(known_of(name, kinds[0]))
            if waiting is not None:
                waiting.learn(known_of(name, kinds[1]))
        if taken is not None and not body:
            taken.status = 0
        start = falls.start(interpreter, taken, scope.context.phase)
        if truth is True:
            waiting = None
        if start is None and waiting is None:
            break
        if start is None:
            continue
        end = interpreter.statements(body, Scope(start, scope.text, context))
        if end is None:
            ends.append((None, own))
        if terminator == ";&":
            falls.falling, alone = end, certain
            falling_bits = bits
        elif terminator == ";;&":
            waiting = interpreter.merge([waiting, end], scope.context.phase)
            alone = certain
            waiting_bits |= bits
        elif end is not None:
            ends.append((end, own))
        if waiting is None and falls.falling is None:
            break
    if falls.falling is not None:
        ends.append((falls.falling, _guard(key, compared, falling_bits)))
    if waiting is not None:
        if not ends:
            waiting.status = 0 if waiting is scope.state else waiting.status
        elif waiting is scope.state:
            waiting.status = 0
        ends.append((waiting, _guard(key, compared, waiting_bits | compared.bit(len(node.items)))))
    return join(ends, scope.context.phase)
