"""Simple commands: assignments, redirects, functions, and commands that start others."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from sbatchlint.bash.expansion.assignment import (
    assign,
    expand_assignment,
    record_assignment,
    widen_all,
    widen_one,
    without_export,
)
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter import builtins, programs
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.interpreter.declarations import declare, revealed
from sbatchlint.bash.interpreter.double_brackets import BracketCondition
from sbatchlint.bash.interpreter.redirects import expand_redirects, note_opened
from sbatchlint.bash.interpreter.traps import TRAPPED
from sbatchlint.bash.limits import WORDS_OF_A_STATEMENT
from sbatchlint.bash.state import STDOUT, ShellFunction, State, join
from sbatchlint.bash.syntax.tree import ArrayLiteral, Literal, Simple, Statement, TestCommand, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, Redirection
from sbatchlint.bash.values import Piece, Pieces, Text, expansions, is_open, text_of
from sbatchlint.bash.variables import (
    PARTLY_READONLY,
    Alternative,
    Guards,
    LayeredDict,
    Variable,
    Variables,
    assumed_defaults,
    changed_names,
    merge_guards,
)

DEEPEST_CALLS = 6

# The options of declarations with which they print all variables if no name follows.
_PRINTING = frozenset({"-p", "-x", "-px", "-xp"})


def _printing(
    interpreter: Interpreter, words: Sequence[Word], redirects: tuple[Redirection, ...], scope: Scope
) -> list[Invocation]:
    """The invocation of a declaration that declares nothing and prints all variables; others are not commands."""
    if not all(isinstance(word, Word) and scope.written(word) in _PRINTING for word in words[1:]):
        return []
    argv = tuple([interpreter.expander.single_value(word, scope) for word in words])
    span = scope.text.span(words[0].start, words[-1].end)
    invocation = Invocation(argv, (), redirects, span, scope.context, scope.state.copy(), scope.context.guards, "")
    interpreter.trace.record(invocation)
    return [invocation]


def run_simple(
    interpreter: Interpreter, node: Simple, scope: Scope, stdin: Text | None
) -> tuple[list[Invocation], State | None]:
    """Runs a simple command. Returns its invocations (one for each alternative of its words) and the state after it."""
    if not node.words:
        interpreter.substituted = 0
        for assignment in node.assignments:
            assign(interpreter.expander, assignment, scope)
        redirects, _ = expand_redirects(interpreter.expander, node.redirects, scope)
        scope.state.status = interpreter.substituted
        note_opened(redirects, scope.state)
        return [], scope.state
    words = cast(Sequence[Word], node.words)  # only declarations take assignments as arguments
    if scope.written(words[0]) in builtins.DECLARATIONS:
        redirects, _ = expand_redirects(interpreter.expander, node.redirects, scope)
        declare(interpreter, node, scope)
        return _printing(interpreter, words, redirects, scope), scope.state
    interpreter.substituted = 0
    choices = interpreter.expander.argv(words, scope)
    variables = _variables_before(interpreter, node, scope) if node.assignments else ()
    # a heredoc given to `:` is a comment of several lines
    is_comment = scope.written(words[0]) == ":"
    expanded = [each for each in node.redirects if each.heredoc is None] if is_comment else node.redirects
    redirects, heredoc = expand_redirects(interpreter.expander, expanded, scope)
    span = scope.text.span(words[0].start, words[-1].end)
    if redirects or len(choices) > 1:
        interpreter.charge(len(choices) - 1 + len(redirects), span)
    invocations: list[Invocation] = []
    ends: list[tuple[State | None, Guards]] = []
    before = scope.state.variables.copy() if any(guards for _, guards in choices) else scope.state.variables
    for number, (argv, guards) in enumerate(choices):
        if len(argv) >= WORDS_OF_A_STATEMENT:
            interpreter.charge(len(argv) // WORDS_OF_A_STATEMENT, span)
        state = scope.state if len(choices) == 1 else scope.state.copy()
        if not argv:
            inner = Scope(state, scope.text, scope.context)
            for assignment in node.assignments:
                assign(interpreter.expander, assignment, inner)
            state.status = interpreter.substituted
            ends.append((state, guards))
            continue
        context = scope.context if guards is scope.context.guards else scope.context.replace(guards=guards)
        own_scope = Scope(state, scope.text, context)
        # the state of a command that is not recorded is never looked at
        seen = state if interpreter.silent_budget else snapshot(state, variables) if variables else state.copy()
        invocation = Invocation(argv, variables, redirects, span, context, seen, guards, "")
        invocation.stdin = heredoc if heredoc is not None else stdin
        invocation.alternatives = len(choices)
        invocations.append(invocation)
        interpreter.trace.record(invocation)
        walk = partial(run, interpreter, invocation, own_scope)
        ends.append((interpreter.with_output_to(redirects, own_scope, walk), guards))
        if redirects:
            note_opened(redirects, ends[-1][0])
        if node.assignments and ends[-1][0] is not None and all(map(_may_be_none, argv)):
            for assignment in node.assignments:  # `X=1 $COMMAND` without a command
                after = Scope(ends[-1][0], scope.text, scope.context)
                widen_one(after.state.target(assignment.name), after.span(assignment), after, is_unset=True)
        if number == 0 and redirects:
            programs.record_files(interpreter, invocation, scope)
    interpreter.outcomes = ()
    every = [guards for _, guards in ends]
    for end, guards in ends:
        if end is not None and guards and assumed_defaults(guards, scope.context.guards, every):
            end.status = None  # other values may decide otherwise
            _assume(end, before, guards - scope.context.guards)
    if len(ends) == 1:
        return invocations, ends[0][0]
    outer = scope.context.guards
    interpreter.outcomes = [(None if end is None else end.status, guards - outer) for end, guards in ends]
    return invocations, join([(end, guards - scope.context.guards) for end, guards in ends], scope.context.phase)


def _assume(state: State, before: Variables, guards: Guards) -> None:
    """What a command has changed, it has changed under these guards."""
    for name in changed_names(before, [state.variables]):
        variable = state.variables.get(name)
        if variable is not None:
            merged = [(each, merge_guards(each.guards, guards)) for each in variable.alternatives]
            own = tuple([each if both is None else each._replace(guards=both) for each, both in merged])
            state.variables[name] = variable._replace(alternatives=own)


def _variables_before(interpreter: Interpreter, node: Simple, scope: Scope) -> tuple[tuple[str, Pieces], ...]:
    """The `NAME=value` before the words of a command."""
    variables: list[tuple[str, Pieces]] = []
    state, hidden = scope.state, []
    for assignment in node.assignments:
        values = expand_assignment(interpreter.expander, assignment, scope)
        unknown = scope.unknown(assignment.name, scope.span(assignment))
        field = values[0].fields[0] if len(values) == 1 and values[0].fields else unknown
        if isinstance(assignment.value, ArrayLiteral):  # bash hands on the text of the parentheses
            field = unknown
        elif assignment.append:
            before = _one_value(assignment.name, scope)
            field = unknown if before is None else before + field
        found = state.variables.get(state.target(assignment.name))
        if found is not None and "r" in found.flags:  # bash says so, and runs the command without it
            continue
        if found is not None and PARTLY_READONLY in found.flags:
            field = unknown
        variables.append((assignment.name, field))
        place = scope.span(assignment)
        record_assignment(interpreter.expander, assignment, tuple(values), True, place, scope)
        if len(node.assignments) > 1:  # those behind it see it
            hidden.append((assignment.name, state.variables.get(assignment.name)))
            state.variables[assignment.name] = Variable((Alternative((field,)),), exported=True)
    for name, old in reversed(hidden):
        state.variables.restore(name, old)
    return tuple(variables)


def _one_value(name: str, scope: Scope) -> Pieces | None:
    """The value of a plain variable that has just one; None for any other."""
    found = scope.state.variables.get(scope.state.target(name))
    if found is None or found.array or found.flags or len(found.alternatives) != 1:
        return None
    fields = found.alternatives[0].fields
    return fields[0] if fields else None


def _may_be_none(field: Pieces) -> bool:
    """Whether an expanded word may be no word."""
    return all(piece.open and piece.text is None for piece in field)


def record_test(interpreter: Interpreter, node: TestCommand, scope: Scope) -> int | None:
    """Records `[[ … ]]` as a command whose words are its operands. Returns its exit status, None where unknown."""
    span = scope.span(node)
    values = [interpreter.expander.value(word, scope) for word in node.words]
    argv = (
        (Piece("[[", span.start, span.start + 2),),
        *(interpreter.expander.only_value(each, word, scope) for each, word in zip(values, node.words, strict=True)),
    )
    state = scope.state.copy()
    invocation = Invocation(argv, (), (), span, scope.context, state, scope.context.guards, "")
    interpreter.trace.record(invocation)
    status = BracketCondition(interpreter, node.words, values, scope).status()
    interpreter.outcomes = ()
    for each in values:
        every = [guards for _, guards in each]
        if any(guards and assumed_defaults(guards, scope.context.guards, every) for guards in every):
            return None
    several = [number for number, each in enumerate(values) if len(each) > 1]
    if status is None and len(several) == 1 and "=~" not in scope.written(node):
        (at,) = several
        each_alone = [(each, [*values[:at], [each], *values[at + 1 :]]) for each in values[at]]
        interpreter.outcomes = [
            (BracketCondition(interpreter, node.words, own, scope).status(), guards - scope.context.guards)
            for (_, guards), own in each_alone
        ]
    return status


def snapshot(state: State, variables: Sequence[tuple[str, Pieces]]) -> State:
    """A copy of the state that a command with `NAME=value` before it sees."""
    copy = state.copy()
    for name, field in variables:
        copy.variables[name] = Variable((Alternative((field,)),), exported=True)
    return copy


def run(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """Runs a command: a function, a built-in, or whatever it starts. Returns the state after it."""
    name = text_of(invocation.argv[0])
    state = scope.state
    if name is not None:
        if builtins.ALIASED in state.options and state.option(f"{builtins.ALIASED} {name}") is not False:
            if state.option("expand_aliases") is not False:  # what it stands for may set variables
                widen_all(interpreter.expander, invocation.span, scope)
        if not invocation.kind or invocation.kind in ("command", "builtin", "exec"):
            function = state.functions.get(name) if invocation.kind != "builtin" else None
            if function is not None and invocation.kind != "command":
                if name not in scope.context.calls and len(scope.context.calls) < DEEPEST_CALLS:
                    return with_variables(invocation, scope, lambda: call(interpreter, invocation, scope, name))
                state.doubtful = True
            builtin = builtins.BUILTINS.get(name)
            if builtin is not None and not state.doubtful and state.option("nullglob") is not False:
                # `unset A[1]`: a pattern of no file
                state.doubtful = any(map(is_open, invocation.argv))
            if builtin is not None and not invocation.variables:
                return builtin(interpreter, invocation, scope)
            if builtin is not None:
                return with_variables(invocation, scope, lambda: builtin(interpreter, invocation, scope))
        state.status = _STATUSES.get(name)
        if STDOUT in state.variables:
            interpreter.emit(programs.output_of(invocation), scope)
        if state.status is not None:
            return state
        if name == "wait":
            builtins.note_waited(interpreter, invocation, scope)
        if name == "kill" and _kills_itself(invocation, scope):
            interpreter.exit_states.append(state.copy())
            return None
        if interpreter.silent_budget:
            return state
        if ("/" in name or name in programs.SHELLS) and programs.run_program(interpreter, invocation, scope):
            return state
    elif state.files and not interpreter.silent_budget and programs.file_name(invocation.argv[0]) in state.files:
        state.status = None
        if programs.run_program(interpreter, invocation, scope):
            return state
    state.status = None
    if name is None:
        # an unknown name may also be a function or built-in
        interpreter.emit(None, scope)
        state.doubtful = True
    if interpreter.silent_budget:
        return state
    spawn = interpreter.hooks.spawn(invocation)
    while spawn is not None:
        invocation.spawn = spawn
        programs.start_child(interpreter, invocation, spawn, scope)
        if spawn.component is None:
            break
        invocation = programs.next_component(interpreter, invocation, spawn.component)
        spawn = interpreter.hooks.spawn(invocation)
    return state


# Programs that do nothing, with their exit status.
_STATUSES = {"/bin/true": 0, "/usr/bin/true": 0, "/bin/false": 1, "/usr/bin/false": 1}
# Signals that end a shell without a trap.
_ENDING = frozenset({
    *("KILL", "TERM", "HUP", "INT", "QUIT", "ABRT", "USR1", "USR2"), *("9", "15", "1", "2", "3", "6", "10", "12")
})  # fmt: skip


def _kills_itself(invocation: Invocation, scope: Scope) -> bool:
    """Whether `kill $$` ends the shell of the script for certain; where a trap may catch it, the state says so."""
    words = list(invocation.argv[1:])
    signal = "TERM"
    if len(words) > 1 and (text_of(words[0]) or "").startswith("-"):
        signal = (text_of(words.pop(0)) or "")[1:].upper()
        if signal == "S":
            signal = (text_of(words.pop(0)) or "").upper()
    is_own = any(len(word) == 1 and [each.name for each in expansions(word)] == ["$"] for word in words)
    if not is_own or signal.removeprefix("SIG") not in _ENDING or scope.context.shell.kind != "script":
        return False
    state = scope.state
    if signal not in ("9", "KILL", "SIGKILL") and (state.sourced or state.option(TRAPPED) is not False):
        state.escaped = True
        return False
    return True


def with_variables(invocation: Invocation, scope: Scope, walk: Callable[[], State | None]) -> State | None:
    """Runs a function or a built-in command, with the `NAME=value` before it until it ends."""
    if not invocation.variables or invocation.kind:
        return walk()
    state = scope.state
    before = {name: state.variables.get(name) for name, _ in invocation.variables}
    for name, field in invocation.variables:
        old = before[name]
        if old is not None and old.array:
            state.variables[name] = old._replace(
                alternatives=(Alternative((scope.unknown(name, old.span, (), True),)),)
            )
        else:
            state.variables[name] = Variable(
                (Alternative((field,)),), exported=True, flags=without_export(old.flags) if old else ""
            )
    end = walk()
    if end is not None:
        for name, old in before.items():
            if name in end.revealed:
                end.variables[name] = revealed(name, old, scope)
            else:
                end.variables.restore(name, old)
    return end


def call(interpreter: Interpreter, invocation: Invocation, scope: Scope, name: str) -> State | None:
    """Calls a function: its body runs in this shell, with its own arguments. Of several, each may be the one."""
    function = scope.state.functions[name]
    if programs.is_one_of_several(invocation):
        scope = Scope(scope.state, scope.text, scope.context.replace(conditional=True))
    if not function.uncertain and not function.others:
        return _call(interpreter, invocation, scope, name, function)
    inner = scope.context.replace(conditional=True)
    ends = [
        _call(interpreter, invocation, Scope(scope.state.copy(), scope.text, inner), name, each)
        for each in (function, *function.others)
    ]
    if function.uncertain:
        without = scope.state
        without.status = None
        without.doubtful = True
        ends.append(without)
    result = interpreter.merge(ends, scope.context.phase)
    if result is not None and None in ends:
        result.escaped = True
    return result


def _call(
    interpreter: Interpreter, invocation: Invocation, scope: Scope, name: str, function: ShellFunction
) -> State | None:
    state = scope.state
    positional, restored, mixed, stdin = state.positional, state.restored, state.mixed, state.stdin
    outer, hidden = state.outer, {name for name, _ in invocation.variables}
    state.positional, state.restored, state.mixed = invocation.argv[1:], {}, frozenset()
    if restored or hidden:
        state.outer = outer.union(restored or (), hidden)
    if invocation.stdin is not None:
        state.stdin = invocation.stdin.field
    context = scope.context.replace(calls=(*scope.context.calls, name))
    # where it calls itself, its commands run again, with what the calls inside leave
    if _calls_itself(interpreter, name, function.body, state.functions):
        state.positional, state.doubtful, state.facts = None, True, {}
        context = context.replace(conditional=True)
    loops, interpreter.loops = interpreter.loops, []
    inner = Scope(state, function.text, context)
    result = interpreter.returning(scope, lambda: interpreter.statement(function.body, inner))
    interpreter.loops = loops
    if result is not None:
        for variable, old in (result.restored or {}).items():
            if variable in result.revealed:
                result.variables[variable] = revealed(variable, old, scope)
            elif variable in result.mixed:
                _restore_partly(interpreter, result, variable, old, scope)
            else:
                result.variables.restore(variable, old)
        result.positional, result.restored, result.mixed, result.outer = positional, restored, mixed, outer
        if invocation.stdin is not None:
            result.stdin = stdin
    return result


def _calls_itself(interpreter: Interpreter, name: str, body: Statement, functions: LayeredDict[ShellFunction]) -> bool:
    """Whether a function calls itself, or another one that does."""

    def called(body: Statement) -> frozenset[str]:
        known = interpreter.called.get(id(body))
        if known is None:
            known = interpreter.called[id(body)] = body, _called(body)
        return known[1]

    return any(
        each == name
        or (other := functions.get(each)) is not None
        and any(
            inner == name or (last := functions.get(inner)) is not None and name in called(last.body)
            for inner in called(other.body)
        )
        for each in called(body)
    )


def _called(body: Statement) -> frozenset[str]:
    """The names of the commands in a function, as they are written."""
    firsts = [command.words[0] for command in nodes_of(body, Simple) if command.words]
    parts = [word.parts[0] for word in firsts if isinstance(word, Word) and len(word.parts) == 1]
    return frozenset(part.text for part in parts if isinstance(part, Literal))


def _restore_partly(interpreter: Interpreter, state: State, name: str, old: Variable | None, scope: Scope) -> None:
    """Restores a variable that is local only in some branches of a function."""
    other = state.copy()
    other.variables.restore(name, old)
    joined = interpreter.merge([state, other], scope.context.phase)
    if joined is not None and name in joined.variables:
        state.variables[name] = joined.variables[name]
