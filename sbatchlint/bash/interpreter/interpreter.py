"""The abstract interpreter: walks a program in order and records every command that it would run.

Nothing is ever executed. Where the script decides a condition, only that branch is walked; otherwise both are walked
and joined (see state.py). Loops are recorded once (see loops.py). Cost is bounded (see limits.py), and programs inside
values are followed `DEEPEST` levels down.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sbatchlint.bash.expansion.assignment import widen_one
from sbatchlint.bash.expansion.expander import ScriptExpander
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter import commands, programs
from sbatchlint.bash.interpreter.base import Hooks, Interpreter, LoopBudgetExceeded, is_widened
from sbatchlint.bash.interpreter.branches import (
    asks_of_job,
    condition_key,
    impossible,
    narrowed,
    only_end,
    restricted_variables,
    run_case,
    run_if,
)
from sbatchlint.bash.interpreter.facts import told_by
from sbatchlint.bash.interpreter.loops import run_arithmetic_for, run_for, run_while
from sbatchlint.bash.interpreter.redirects import expand_redirects
from sbatchlint.bash.interpreter.traps import ENDS, on_defined
from sbatchlint.bash.limits import MOST_WORK, WorkBudgetExceeded
from sbatchlint.bash.state import NO_OUTPUT, STDOUT, UNHEEDED, ShellFunction, State, join, without
from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Background,
    Case,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Program,
    Simple,
    Statement,
    TestCommand,
    Unparsed,
    While,
)
from sbatchlint.bash.trace import Context, Invocation, PipelineRun
from sbatchlint.bash.values import Expansion, Phase, Pieces, Text, expansions, text_of
from sbatchlint.bash.variables import Guards, merge_guards
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_NAMED = Regex(r"(?<![\w$])(?<!\$\{)[A-Za-z_]\w{0,99}(?!\w)", re.ASCII)


class ScriptInterpreter(Interpreter):
    """Evaluates one script.

    `reached`: how many commands were recorded before each top-level statement that was reached. `ended`: the end of the
    one that leaves the shell for certain (`exit`), after which nothing is read; None if there is none. `states`: the
    state before each of them, if a list is put there before `run`: copies, for which few scripts have any use.
    """

    def __init__(self, hooks: Hooks, programs: dict[str, Program] | None = None) -> None:
        super().__init__(hooks, programs)
        self.reached: list[int] = []
        self.ended: int | None = None
        self.states: list[State] | None = None
        self.failed_pipeline: Statement | None = None  # the last pipeline, where its status is not 0 by pipefail

    # --- whole programs ----------------------------------------------------------------------

    def run(self, text: Text, program: Program, phase: Phase, state: State | None = None) -> State | None:
        """Walks a whole script, and returns the state at its end; None where its shell exited before."""
        self.expander = ScriptExpander(self)
        try:
            return self._run(text, program, phase, state)
        finally:
            # It refers to the interpreter; without this cycle both are freed as soon as nobody refers to them.
            del self.expander

    def _run(self, text: Text, program: Program, phase: Phase, state: State | None) -> State | None:
        scope = Scope(state or State(), text, Context(phase))
        current: State | None = scope.state
        before, exits, end = scope.state.copy(), len(self.exit_states), 0
        for statement in program.statements:
            if _begins_line(text.string, end, statement.start):
                current = self.after_line(current, before, exits, scope)
                before, exits = before if current is None else current.copy(), len(self.exit_states)
            end = statement.end
            if current is None:
                if self.abandoned:
                    continue
                break
            if current is not scope.state:
                scope = Scope(current, text, scope.context)
            self.reached.append(len(self.trace.invocations))
            if self.states is not None:
                self.states.append(current.copy())
            try:
                current = self.statement(statement, scope)
                self.ended = statement.end if current is None else None
            except WorkBudgetExceeded:
                break  # noted in `limits`
            except RecursionError:  # brackets in brackets, thousands deep
                self.limits.note("work", text.span(statement.start, statement.end))
                break
        else:
            if program.cut is not None:
                self.limits.note("work", text.span(program.cut, len(text.string)))
        return self.after_line(current, before, exits, scope)

    def statement(self, statement: Statement, scope: Scope) -> State | None:
        walk, cost = _WALKS[type(statement)]
        if self.proceed is not None:
            self.proceed()
        if self.silent_budget:
            self.silent_budget -= 1
            if not self.silent_budget:
                raise LoopBudgetExceeded
        else:
            self.limits.work += cost
            if self.limits.work > MOST_WORK:
                self.exhaust(scope.span(statement))
        result = walk(self, statement, scope)
        if result is not None and result.options and not scope.context.unheeded and may_end_shell(statement):
            return self.with_errexit(statement, result, scope)
        return result

    def with_errexit(self, statement: Statement, state: State, scope: Scope) -> State | None:
        """The state after a command at which the shell exits if it fails, where errexit is on; None: it fails."""
        ends = state.option("errexit"), state.option(ENDS)
        if ends == (False, False):
            return state
        # functions and subshells do not inherit a trap on ERR
        is_own = not scope.context.calls and scope.context.parent is None and scope.context.shell.kind == "script"
        is_certain = ends[0] is True or ends[1] is True and is_own
        if state.option(UNHEEDED):
            return state
        truth = None if state.status is None else state.status == 0
        if truth is None and self.failed_pipeline is statement:
            truth = False
        if is_certain and (self.walked or self.recorded) and is_test(statement, scope):
            place = "errexit", id(statement)
            truth = self.decided(place, truth, scope)
            if truth is None:
                passing = self.arm(place, True, state, scope)
                if passing is None:
                    return None
                state = passing
        if truth is True:
            return state
        if truth is False and is_certain and not (state.guessed and "$" in scope.written(statement)):
            self.failed_exits += 1
            self.exit_states.append(state.copy())
            return None
        if truth is None and is_certain:
            without(state, impossible(self, statement, True))
        state.may_have_failed = True
        return state

    # --- simple commands and lists ---------------------------------------------------------------

    def on_simple(self, node: Simple, scope: Scope) -> State | None:
        invocations, state = commands.run_simple(self, node, scope, None)
        if invocations and self.trace.is_kept:
            self.record((tuple(invocations),), scope.span(node), scope)
        return state

    def record(self, elements: tuple[tuple[Invocation, ...], ...], span: Span, scope: Scope) -> None:
        """Records a pipeline."""
        pipelines, options, context = self.trace.pipelines, scope.state.options, scope.context
        errexit, pipefail = options.get("errexit", False), options.get("pipefail", False)
        pipelines.append(PipelineRun(elements, span, context, errexit, pipefail, context.tested, len(pipelines)))

    def command(self, invocation: Invocation, scope: Scope) -> State | None:
        return commands.run(self, invocation, scope)

    def on_pipeline(self, node: Pipeline, scope: Scope) -> State | None:
        context = scope.context.replace(tested=True, unheeded=True) if node.negated else scope.context
        if len(node.commands) == 1:
            end = self.statement(node.commands[0], Scope(scope.state, scope.text, context))
            if end is not None and node.negated and end.status is not None:
                end.status = int(not end.status)
            return end
        self.charge(len(node.commands) - 1, scope.span(node))
        elements: list[tuple[Invocation, ...]] = []
        state = scope.state
        stdin: Pieces | None = state.stdin
        statuses: list[int | None] = []
        final = len(node.commands) - 1
        for number, element in enumerate(node.commands):
            span = scope.span(element)
            inner = Scope(scope.state.copy(), scope.text, context.in_shell("pipeline", span))
            inner.state.stdin = stdin
            if number < final:
                inner.state.variables[STDOUT] = NO_OUTPUT
            first = len(self.trace.invocations)
            given = Text(stdin) if number and stdin is not None else None
            end, invocations = self.apart(partial(self.element, element, inner, given), scope)
            if not isinstance(element, Simple):
                invocations = [
                    command
                    for command in self.trace.invocations[first:]
                    if command.context.parent is scope.context.parent
                ]
            for invocation in invocations:
                invocation.piped_from = invocation.piped_from or number > 0
                invocation.piped_to = invocation.piped_to or number < final
            elements.append(tuple(invocations))
            statuses.append(None if end is None or end.doubtful else end.status)
            if number < final:
                stdin = self.captured_output(end, scope)
            else:
                self.after_subshell(end, scope)
                if end is not None and scope.state.option("lastpipe") is not False:
                    state = self.merge([state, end], scope.context.phase) or state  # it ran in this shell
        status = statuses[-1]
        self.failed_pipeline = node if scope.state.option("pipefail") is True and any(statuses) else None
        if scope.state.option("pipefail") is not False and any(each != 0 for each in statuses):
            status = None if None in statuses else next(each for each in reversed(statuses) if each)
            status = status if scope.state.option("pipefail") else None
        state.status = status if status is None or not node.negated else int(not status)
        if any(elements) and self.trace.is_kept:
            span = scope.span(node)
            self.record(tuple(elements), span, Scope(state, scope.text, context))
        return state

    def element(self, element: Statement, scope: Scope, stdin: Text | None) -> tuple[State | None, list[Invocation]]:
        """Walks an element of a pipeline. Returns its final state, and the invocations where it is a simple command."""
        invocations: list[Invocation] = []

        def walk() -> State | None:
            if not isinstance(element, Simple):
                return self.statement(element, scope)
            found, state = commands.run_simple(self, element, scope, stdin)
            invocations.extend(found)
            return state

        return self.subshell(walk, scope), invocations

    def on_and_or(self, node: AndOr, scope: Scope) -> State | None:
        tested = scope.context.copy()
        tested.tested = tested.unheeded = True
        self.implied.pop(id(node), None)
        self.ruled_out.pop((id(node), True), None)
        self.ruled_out.pop((id(node), False), None)
        restricted = restricted_variables(self, node.left, scope)
        guard = condition_key(self, node.left, scope)
        answers = self.environment.answers_of_jobs
        left = self.statement(node.left, Scope(scope.state, scope.text, tested))
        if left is None:
            return None
        place, wanted = id(node), node.operator == "&&"
        # `condition && X=1` succeeds where the condition does
        guard = self.implied.pop(id(node.left), guard)
        truth = self.decided(place, None if left.status is None else (left.status == 0) == wanted, scope)
        if truth is not None and answers != self.environment.answers_of_jobs and not scope.context.tested:
            self.outside_of_job(node, left, scope)
        if truth is not None:
            if left.status is None:
                left.status = 0 if truth == wanted else None
            if not truth:
                return left
            exits = self.failed_exits
            right = self.statement(node.right, Scope(left.copy(), scope.text, scope.context))
            is_template = right is None and self.failed_exits > exits and "$" in scope.written(node.left)
            if is_template and not self.varies(place, True) and not asks_of_job(self, node.left, scope):
                # `X=""`, then `[ -z "$X" ] && exit`: a template, to be filled in before it is submitted
                left.doubtful = left.escaped = True
                left.status = None
                return left
            return right
        arm = 0 if wanted else 1
        guards = merge_guards(scope.context.guards, frozenset(((guard, arm),)))
        if guards is None:
            return left
        # `workload && next`: the rest runs in the normal case
        usual = node.operator == "&&" and restricted == scope.context.restricted
        context = scope.context.copy()
        context.conditional = context.conditional or not usual
        context.guards, context.restricted = narrowed(self, node.left, wanted, guards), restricted
        gone = impossible(self, node.left, wanted), impossible(self, node.left, not wanted)  # on the right, and after
        succeeded, failed = told_by(self, node.left, Scope(left, scope.text, scope.context))
        right = self.arm(place, True, left.copy(), scope)
        if right is not None:
            right.learn(succeeded if wanted else failed)
            right = self.statement(node.right, Scope(right, scope.text, context))
            self.ruled_out[id(node), wanted] = [*gone[0], *impossible(self, node.right, wanted)]
        if wanted and right is not None and right.status == 0:
            self.implied[place] = guard
        left = self.arm(place, False, left, scope)
        if left is not None:
            left.learn(failed if wanted else succeeded)
        skipped, taken = frozenset(((guard, 1 - arm),)), frozenset(((guard, arm),))
        only_end([(right, gone[0]), (left, gone[1])])
        return join([(left, skipped), (right, taken)], scope.context.phase)

    def on_background(self, node: Background, scope: Scope) -> State | None:
        context = scope.context.in_shell("background", scope.span(node))
        inner = Scope(scope.state.copy(), scope.text, context)
        end = self.subshell(lambda: self.statement(node.statement, inner), scope)
        if STDOUT in scope.state.variables and (end is None or end.variables[STDOUT] != scope.state.variables[STDOUT]):
            self.emit(None, scope)
        scope.state.status = 0
        return scope.state

    def on_group(self, node: Group, scope: Scope) -> State | None:
        first = len(self.trace.invocations)
        if node.subshell:
            context = scope.context.in_shell("subshell", scope.span(node))
            inner = Scope(scope.state.copy(), scope.text, context)
            end = self.subshell(lambda: self.body_of(node.body, node.redirects, inner), scope)
            state: State | None = self.after_subshell(end, scope)
        else:
            state = self.body_of(node.body, node.redirects, scope)
        if node.redirects and state is not None:
            programs.record_group_output(self, self.redirected, first, Scope(state, scope.text, scope.context))
        return state

    def on_function(self, node: Function, scope: Scope) -> State | None:
        function = ShellFunction(node.body, scope.text, scope.text.pieces(node.start, node.end))
        scope.state.set_function(node.name, function)
        if node.name in self.handlers:
            on_defined(self, node.name, node.body, scope)
        scope.state.status = 0
        return scope.state

    def on_test(self, node: TestCommand, scope: Scope) -> State | None:
        expand_redirects(self.expander, node.redirects, scope)
        scope.state.status = commands.record_test(self, node, scope)
        return scope.state

    def on_arithmetic(self, node: ArithmeticCommand, scope: Scope) -> State | None:
        expand_redirects(self.expander, node.redirects, scope)
        scope.state.status, _ = self.expander.truth(node.expression_start, node.expression_end, scope)
        self.expander.note_names(node.expression_start, node.expression_end, scope)
        return scope.state

    def on_unparsed(self, node: Unparsed, scope: Scope) -> State | None:
        scope.state.sourced = True
        scope.state.facts = {}
        scope.state.status = None
        self.emit(None, scope)
        for name in dict.fromkeys(_NAMED.findall(scope.text.string, node.start, node.end)):
            if name in scope.state.variables:
                widen_one(scope.state.target(name), scope.span(node), scope, is_unset=True)
        return scope.state

    def on_compound(self, node: If | Case | For | ArithmeticFor | While, scope: Scope) -> State | None:
        walk = _COMPOUNDS[type(node)]
        if not self.silent_budget and not scope.context.loops:
            self.stopped.clear()
        if not node.redirects:
            return walk(self, node, scope)
        return self.redirecting(node.redirects, scope, lambda: walk(self, node, scope))

    # --- substitutions -----------------------------------------------------------------------

    def output(
        self, body: Sequence[Statement], scope: Scope, inputs: list[Expansion], names: list[tuple[str, ...]]
    ) -> list[tuple[Pieces, Guards]] | None:
        """See `Substituter.output`."""
        first = len(self.trace.invocations)
        span = scope.text.span(body[0].start, body[-1].end) if body else scope.text.span(0, 0)
        context = scope.context.in_shell("substitution", span)
        context.captured, context.tested = True, False
        inner = Scope(scope.state.copy(), scope.text, context)
        inner.state.variables[STDOUT] = NO_OUTPUT
        if scope.state.option("errexit") and scope.state.option("inherit_errexit") is False:
            inner.state.set_option(UNHEEDED, True)
        end = self.apart(lambda: self.subshell(lambda: self.statements(body, inner), scope), scope)
        for invocation in self.trace.invocations[first:]:
            words = []
            for field in invocation.argv:
                word = text_of(field)
                if word is not None:
                    words.append(word)
                inputs.extend(expansions(field))
            names.append(tuple(words))
            if invocation.stdin is not None:
                inputs.extend(expansions(invocation.stdin.field))
        if end is None or end.doubtful and not scope.state.doubtful:
            self.substituted = scope.state.status = None
            return None
        self.substituted = scope.state.status = None if _reads_file(body) else end.status
        if _reads_file(body):
            return None
        results = []
        for alternative in end.variables[STDOUT].alternatives:
            if alternative.fields is None:
                return None
            pieces = alternative.fields[0]
            if is_widened(pieces):
                return None
            results.append((programs.without_final_newlines(pieces), alternative.guards))
        return results or None


def _begins_line(string: str, end: int, start: int) -> bool:
    """Whether the shell reads a command by itself: a new line begins between the end of the last one and its start."""
    return "\n" in string[end:start].replace("\\\n", "")


def may_end_shell(statement: Statement) -> bool:
    """Whether the shell exits under errexit where this fails: no list, no negation and no compound command."""
    if isinstance(statement, Group):
        return statement.subshell
    if isinstance(statement, Pipeline):
        return not statement.negated
    return isinstance(statement, (Simple, TestCommand, ArithmeticCommand))


def is_test(statement: Statement, scope: Scope) -> bool:
    """Whether a command is one of those whose status the values of variables decide."""
    if isinstance(statement, Simple):
        return bool(statement.words) and scope.written(statement.words[0]) in ("[", "test")
    return isinstance(statement, (TestCommand, ArithmeticCommand))


def _reads_file(body: Sequence[Statement]) -> bool:
    """Whether a substitution is `$(< file)`."""
    only = body[0] if len(body) == 1 else None
    return isinstance(only, Simple) and not only.words and any(each.operator == "<" for each in only.redirects)


_COMPOUNDS: dict[type[Statement], Callable[[Interpreter, Any, Scope], State | None]] = {
    ArithmeticFor: run_arithmetic_for,
    Case: run_case,
    For: run_for,
    If: run_if,
    While: run_while,
}

# The method that walks a statement, and how much work that is, by the class of the statement.
_WALKS: dict[type[Statement], tuple[Callable[[ScriptInterpreter, Any, Scope], State | None], int]] = {
    AndOr: (ScriptInterpreter.on_and_or, 1),
    ArithmeticCommand: (ScriptInterpreter.on_arithmetic, 1),
    ArithmeticFor: (ScriptInterpreter.on_compound, 4),
    Background: (ScriptInterpreter.on_background, 1),
    Case: (ScriptInterpreter.on_compound, 3),
    For: (ScriptInterpreter.on_compound, 3),
    Function: (ScriptInterpreter.on_function, 1),
    Group: (ScriptInterpreter.on_group, 1),
    If: (ScriptInterpreter.on_compound, 3),
    Pipeline: (ScriptInterpreter.on_pipeline, 1),
    Simple: (ScriptInterpreter.on_simple, 1),
    TestCommand: (ScriptInterpreter.on_test, 1),
    Unparsed: (ScriptInterpreter.on_unparsed, 1),
    While: (ScriptInterpreter.on_compound, 3),
}
