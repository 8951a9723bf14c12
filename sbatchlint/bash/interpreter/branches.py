"""The conditions of branches: when two are the same, and which tasks they let through."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from sbatchlint.bash.expansion.expander import Scope
from sbatchlint.bash.syntax.tree import AndOr, ArithmeticCommand, Pipeline, Simple, Statement, TestCommand, Word
from sbatchlint.bash.values import Phase, Piece, Pieces, expansions
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.bash.interpreter.interpreter import Interpreter

NAMES = Regex(r"[A-Za-z_]\w*|\$\{?[#!]?[0-9@*#?]")
# Commands that change what they look at, so that no second run is the same.
CHANGING = frozenset({"read", "getopts", "shift", "eval", "source", ".", "mapfile", "set", "unset"})
CHANGING_NAMES = frozenset({"RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "SRANDOM", "BASHPID"})


def _key(interpreter: Interpreter, kind: str, source: str, scope: Scope) -> Hashable:
    state = scope.state
    found: list[object] = []
    for name in NAMES.findall(source):
        if name[0] == "$":
            found.append(state.positional if name[-1] != "?" else state.status)
        elif name in state.variables:
            found.append(state.variables[name])
        elif name in state.functions or name in CHANGING_NAMES:
            return interpreter.new_key(kind)
    interpreter.kept.extend(found)
    return (kind, source, *(each if isinstance(each, int) else id(each) for each in found))


def condition_key(interpreter: Interpreter, statement: Statement, scope: Scope) -> Hashable:
    """What makes two conditions the same: their text, and the variables in it not assigned in between."""
    source = scope.text.string[statement.start : statement.end]
    if source.split(None, 1)[:1] and source.split(None, 1)[0] in CHANGING:
        return interpreter.new_key("if")
    return _key(interpreter, "if", source, scope)


def case_key(interpreter: Interpreter, word: Word, scope: Scope) -> Hashable:
    """The same of the word of a `case`."""
    return _key(interpreter, "case", scope.text.string[word.start : word.end], scope)


def restricting(interpreter: Interpreter, statement: Statement, scope: Scope) -> frozenset[str]:
    """The restriction inside a condition: variables in it that differ between tasks."""
    if scope.context.phase is not Phase.TASK:
        return scope.context.restricted
    fields: list[Pieces] = []
    inner = Scope(scope.state.copy(), scope.text, scope.context)
    interpreter.silently(lambda: _condition_fields(interpreter, statement, inner, fields))
    names = {
        each.name
        for field in fields
        for each in expansions(field)
        if each.phase is Phase.TASK
        and (interpreter.environment.differs(each.name) or each.name.startswith("$(hostname"))
    }
    return scope.context.restricted | names if names else scope.context.restricted


def _condition_fields(interpreter: Interpreter, statement: Statement, scope: Scope, found: list[Pieces]) -> None:
    words: Sequence[object] = ()
    if isinstance(statement, (Simple, TestCommand)):
        words = statement.words
    elif isinstance(statement, Pipeline):
        for each in statement.commands:
            _condition_fields(interpreter, each, scope, found)
    elif isinstance(statement, AndOr):
        _condition_fields(interpreter, statement.left, scope, found)
        _condition_fields(interpreter, statement.right, scope, found)
    elif isinstance(statement, ArithmeticCommand):
        _, inputs = interpreter.expander.number(statement.expression_start, statement.expression_end, scope)
        found.append(tuple(Piece(None, *each.span, each) for each in inputs))
    for word in words:
        if isinstance(word, Word):
            found.extend(pieces for pieces, _ in interpreter.expander.value(word, scope))
