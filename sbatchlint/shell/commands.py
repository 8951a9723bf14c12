"""Simple commands: assignments, redirects, functions, and what starts other commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..source.regex import Regex
from . import builtins, programs
from .expand import Scope
from .state import (
    NO_GUARDS,
    Alternative,
    Guards,
    State,
    Variable,
    join,
    merge_guards,
    widen,
)
from .syntax import ArrayLiteral, Assignment, Group, Heredoc, Part, Redirect, Simple, Statement, TestCommand, Word
from .trace import Assigned, Invocation, RedirectedTo
from .values import Expansion, Piece, Pieces, Text, text_of

if TYPE_CHECKING:
    from .evaluate import Interpreter

DEEPEST_CALLS = 6


def run_simple(
    interpreter: Interpreter, node: Simple, scope: Scope, stdin: Text | None
) -> tuple[list[Invocation], State | None]:
    """One simple command: its invocations (one an alternative of its words), and the state after it."""
    if not node.words:
        for assignment in node.assignments:
            assign(interpreter, assignment, scope)
        expand_redirects(interpreter, node.redirects, scope)
        return [], scope.state
    first = node.words[0]
    if isinstance(first, Word):
        declaration = builtins.DECLARATIONS.get(scope.text.string[first.start : first.end])
        if declaration is not None:
            declaration(interpreter, node, scope)
            return [], scope.state
    words = [word for word in node.words if isinstance(word, Word)]
    variables: list[tuple[str, Pieces]] = []
    for assignment in node.assignments:
        values = expand_assignment(interpreter, assignment, scope)
        field = values[0].fields[0] if len(values) == 1 and values[0].fields else _unclear(assignment, scope)
        variables.append((assignment.name, field))
        record_assignment(interpreter, assignment, tuple(values), True, scope)
    redirects, heredoc = expand_redirects(interpreter, node.redirects, scope)
    span = scope.text.span(words[0].start, node.words[-1].end)
    choices = interpreter.expander.argv(words, scope)
    invocations: list[Invocation] = []
    ways: list[tuple[State | None, Guards]] = []
    for number, (argv, guards) in enumerate(choices):
        if not argv:
            for name, field in variables:
                scope.state.variables[name] = Variable((Alternative((field,)),), span=span)
            ways.append((scope.state, guards))
            continue
        state = scope.state if len(choices) == 1 else scope.state.copy()
        context = scope.context if guards is scope.context.guards else scope.context.replace(guards=guards)
        invocation = Invocation(
            argv, tuple(variables), redirects, span, context, snapshot(state, variables), guards, ""
        )
        invocation.stdin = heredoc if heredoc is not None else stdin
        invocations.append(invocation)
        note(interpreter, invocation)
        own = guards - scope.context.guards
        ways.append((run(interpreter, invocation, Scope(state, scope.text, context)), own))
        if number == 0 and redirects:
            programs.write_files(interpreter, invocation, scope)
    if len(ways) == 1:
        return invocations, ways[0][0]
    return invocations, join(ways, scope.context.phase)


def run_group(interpreter: Interpreter, node: Group, scope: Scope) -> State | None:
    """`{ … }` and `( … )`: the state after it, and what it writes to a file."""
    redirects, _ = expand_redirects(interpreter, node.redirects, scope)
    first = len(interpreter.trace.invocations)
    if node.subshell:
        context = scope.context.replace(shell=scope.context.shell + 1)
        interpreter.statements(node.body, Scope(scope.state.copy(), scope.text, context))
    state = scope.state if node.subshell else interpreter.statements(node.body, scope)
    if redirects and state is not None:
        programs.write_group(interpreter, redirects, first, Scope(state, scope.text, scope.context))
    return state


def record_test(interpreter: Interpreter, node: TestCommand, scope: Scope) -> None:
    """`[[ … ]]` as a command of the trace: what it looks at is seen like the words of `[`."""
    span = scope.text.span(node.start, node.end)
    argv = (
        (Piece("[[", span.start, span.start + 2),),
        *(interpreter.expander.single(word, scope) for word in node.words),
    )
    invocation = Invocation(argv, (), (), span, scope.context, scope.state.copy(), scope.context.guards, "")
    note(interpreter, invocation)


def printed_functions(interpreter: Interpreter, node: Simple, scope: Scope) -> Pieces | None:
    """What `declare -f NAME…` prints: the functions as the script writes them."""
    words = [scope.text.string[word.start : word.end] for word in node.words]
    if len(words) < 3 or words[0] not in ("declare", "typeset") or words[1] not in ("-f", "-pf"):
        return None
    out: list[Piece] = []
    for name in words[2:]:
        function = scope.state.functions.get(name)
        if function is None:
            return None
        pieces = function.source
        out.extend(pieces)
        out.append(Piece("\n", pieces[-1].end, pieces[-1].end + 1))
    return tuple(out)


def note(interpreter: Interpreter, invocation: Invocation) -> None:
    """Puts an invocation into the trace and under its parent."""
    invocation.index = len(interpreter.trace.invocations)
    interpreter.trace.invocations.append(invocation)
    if invocation.context.parent is not None:
        invocation.context.parent.children.append(invocation)


def snapshot(state: State, variables: Sequence[tuple[str, Pieces]] = ()) -> State:
    """The state a command sees, with the variables set for it alone."""
    copy = state.copy()
    for name, field in variables:
        copy.variables[name] = Variable((Alternative((field,)),), exported=True)
    return copy


def run(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """What a command does: to the state (functions and built-ins), or by what it starts."""
    name = text_of(invocation.argv[0])
    if name is not None:
        if not invocation.kind or invocation.kind in ("command", "builtin", "exec"):
            function = scope.state.functions.get(name)
            if function is not None and name not in scope.context.calls and len(scope.context.calls) < DEEPEST_CALLS:
                return call(interpreter, invocation, scope, name)
            builtin = builtins.BUILTINS.get(name)
            if builtin is not None:
                return builtin(interpreter, invocation, scope)
        if programs.run_program(interpreter, invocation, scope):
            return scope.state
    spawn = interpreter.hooks.spawn(invocation)
    if spawn is not None:
        invocation.spawn = spawn
        programs.start_child(interpreter, invocation, spawn, scope)
    return scope.state


def call(interpreter: Interpreter, invocation: Invocation, scope: Scope, name: str) -> State | None:
    """A function call: the body runs in this shell, with its own arguments."""
    function = scope.state.functions[name]
    state = scope.state
    positional, restored = state.positional, state.restored
    state.positional, state.restored = invocation.argv[1:], {}
    context = scope.context.replace(calls=(*scope.context.calls, name))
    interpreter.returns.append([])
    end = interpreter.statement(function.body, Scope(state, function.text, context))
    returned = interpreter.returns.pop()
    result = join([(end, NO_GUARDS), *((each, NO_GUARDS) for each in returned)], scope.context.phase)
    if result is not None:
        for variable, old in (result.restored or {}).items():
            if old is None:
                result.variables.pop(variable, None)
            else:
                result.variables[variable] = old
        result.positional, result.restored = positional, restored
    return result


# --- assignments -------------------------------------------------------------------------------


def _unclear(assignment: Assignment, scope: Scope) -> Pieces:
    span = scope.text.span(assignment.start, assignment.end)
    return (Piece(None, *span, Expansion(assignment.name, span, scope.context.phase)),)


def expand_assignment(interpreter: Interpreter, node: Assignment, scope: Scope) -> list[Alternative]:
    """The alternatives of the value on the right side."""
    if isinstance(node.value, ArrayLiteral):
        if any(key is not None for key in node.value.keys):
            return [Alternative((replace_open(_unclear(node, scope)),))]
        return [
            Alternative(fields, guards) for fields, guards in interpreter.expander.array(node.value.elements, scope)
        ]
    return [Alternative((field,), guards) for field, guards in interpreter.expander.value(node.value, scope)]


def replace_open(field: Pieces) -> Pieces:
    return tuple(piece._replace(open=True) if piece.text is None else piece for piece in field)


def assign(
    interpreter: Interpreter, node: Assignment, scope: Scope, exported: bool = False, local: bool = False
) -> None:
    """Sets a variable."""
    state = scope.state
    old = state.variables.get(node.name)
    if local and state.restored is not None:
        state.restored.setdefault(node.name, old)
    values = expand_assignment(interpreter, node, scope)
    span = scope.text.span(node.start, node.end)
    array = isinstance(node.value, ArrayLiteral) or bool(old and old.array and (node.append or node.index))
    if node.index is not None:
        values = _assign_element(interpreter, node, old, values, scope)
        array = True
    elif node.append:
        values = _append(interpreter, node, old, values, array, scope)
    allexport = state.option("allexport")
    is_exported = exported or bool(old and old.exported) or bool(allexport)
    if is_exported is False and node.name in builtins.ENVIRONMENT_NAMES:
        is_exported = True  # a variable that the environment already has stays exported
    alternatives = widen(values, node.name, span, scope.context.phase)
    state.variables[node.name] = Variable(alternatives, array, is_exported, span)
    record_assignment(interpreter, node, alternatives, is_exported, scope)


def record_assignment(
    interpreter: Interpreter, node: Assignment, alternatives: tuple[Alternative, ...], exported: bool, scope: Scope
) -> None:
    interpreter.trace.assigned.append(
        Assigned(
            node.name,
            alternatives,
            exported,
            scope.text.span(node.start, node.end),
            scope.text.span(node.name_start, node.name_start + len(node.name)),
            scope.context,
            len(interpreter.trace.invocations),
        )
    )


def _append(
    interpreter: Interpreter,
    node: Assignment,
    old: Variable | None,
    values: list[Alternative],
    array: bool,
    scope: Scope,
) -> list[Alternative]:
    """`NAME+=value`: what it was, then the new."""
    span = scope.text.span(node.name_start, node.name_start + len(node.name))
    before = interpreter.expander.parameters.variable(node.name, scope, span)
    results = []
    for fields, guards in before:
        for value in values:
            merged = merge_guards(guards, value.guards)
            if merged is None:
                continue
            new = value.fields or ()
            if array:
                results.append(Alternative((*(fields or ()), *new), merged))
            else:
                results.append(Alternative((((fields[0] if fields else ()) + (new[0] if new else ())),), merged))
    return results


def _assign_element(
    interpreter: Interpreter, node: Assignment, old: Variable | None, values: list[Alternative], scope: Scope
) -> list[Alternative]:
    """`NAME[i]=value`: known where the array and the index are; else the array has something unknown behind it."""
    assert node.index is not None
    number, _ = interpreter.expander.number(node.index.start, node.index.end, scope)
    value = values[0].fields[0] if len(values) == 1 and values[0].fields else _unclear(node, scope)
    results = []
    for each in old.alternatives if old is not None and old.alternatives else (Alternative(()),):
        fields = list(each.fields or ())
        has_open = any(piece.open for field in fields for piece in field)
        if number is not None and not has_open and not node.append and 0 <= number < len(fields):
            fields[number] = value
        elif number is not None and not has_open and not node.append and number == len(fields):
            fields.append(value)
        else:
            fields.append(replace_open(_unclear(node, scope)))
        results.append(Alternative(tuple(fields), each.guards))
    return results


# --- redirects ---------------------------------------------------------------------------------


def expand_redirects(
    interpreter: Interpreter, redirects: Iterable[Redirect], scope: Scope
) -> tuple[tuple[RedirectedTo, ...], Text | None]:
    """The redirects of a command, and the text that it gets on standard input by a heredoc or here-string."""
    found: list[RedirectedTo] = []
    stdin: Text | None = None
    for node in redirects:
        span = scope.text.span(node.start, node.end)
        if node.heredoc is not None:
            stdin = Text(heredoc_value(interpreter, node.heredoc, scope))
            found.append(RedirectedTo(node.operator, node.fd, None, span))
            continue
        target = interpreter.expander.single(node.target, scope) if node.target is not None else ()
        if node.operator == "<<<":
            stdin = Text(target)
        found.append(RedirectedTo(node.operator, node.fd, target, span))
    return tuple(found), stdin


def heredoc_value(interpreter: Interpreter, heredoc: Heredoc, scope: Scope) -> Pieces:
    """The body of a heredoc after expansion."""
    choices = interpreter.expander.value(heredoc.body, scope)
    if len(choices) == 1:
        return choices[0][0]
    # parts that differ are unknown, one by one, so that the rest stays known
    pieces: list[Piece] = []
    for part in heredoc.body.parts:
        alone: tuple[Part, ...] = (part,)
        own = interpreter.expander.value(Word(alone, part.start, part.end), scope)
        if len(own) == 1:
            pieces.extend(own[0][0])
        else:
            span = scope.text.span(part.start, part.end)
            name = getattr(part, "name", "")
            pieces.append(Piece(None, *span, Expansion(name, span, scope.context.phase)))
    return tuple(pieces)


# --- loops -------------------------------------------------------------------------------------

SELF_READING = Regex(
    r"(?:^|[\s;({])(\w+)\+?=[^\n]*\$(?:\{?|\(\([^\n]*?\b)\1\b|(?:^|[\s;({])(\w+)\+="
    r"|\(\(\s*(\w+)\s*(?:\+\+|--|[-+*/]=)|\blet\s+\W?(\w+)"
)


def changed_in_loop(statement: Statement, string: str) -> list[str]:
    """Variables that a loop's body computes from their own earlier value."""
    source = string[statement.start : statement.end]
    if "=" not in source and "((" not in source and "let" not in source:
        return []
    return [next(name for name in match.groups() if name) for match in SELF_READING.finditer(source)]
