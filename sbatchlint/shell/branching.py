"""The conditions of branches: which way they go, when two are the same, and which tasks they let through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..source.regex import Regex
from .conditions import both, either, negate, test_truth
from .expand import Scope
from .syntax import AndOr, ArithmeticCommand, Group, Pipeline, Simple, Statement, TestCommand, Word
from .values import Phase, Piece, Pieces, expansions

if TYPE_CHECKING:
    from .evaluate import Interpreter

REFERENCE = Regex(r"\$\{?[#!]?(\w+)")


def truth(interpreter: Interpreter, statement: Statement, scope: Scope) -> bool | None:
    """Which way a condition goes, where that is known. Nothing is recorded."""
    if isinstance(statement, Simple):
        words = [word for word in statement.words if isinstance(word, Word)]
        if not words or len(words) != len(statement.words):
            return True if statement.assignments and not words else None
        raw = scope.text.string[words[0].start : words[0].end]
        if raw in ("true", ":"):
            return True
        if raw == "false":
            return False
        if raw not in ("[", "test"):
            return None
        choices = interpreter.expander.argv(words[1:], scope)
        results = {test_truth(fields[:-1] if raw == "[" else fields, double=False) for fields, _ in choices}
        return results.pop() if len(results) == 1 else None
    if isinstance(statement, TestCommand):
        values = [interpreter.expander.value(word, scope) for word in statement.words]
        if any(len(each) != 1 for each in values):
            return None
        return test_truth([each[0][0] for each in values], double=True)
    if isinstance(statement, ArithmeticCommand):
        number, _ = interpreter.expander.number(statement.expression_start, statement.expression_end, scope)
        return None if number is None else number != 0
    if isinstance(statement, Pipeline) and len(statement.commands) == 1:
        inner = truth(interpreter, statement.commands[0], scope)
        return negate(inner) if statement.negated else inner
    if isinstance(statement, AndOr):
        left, right = truth(interpreter, statement.left, scope), truth(interpreter, statement.right, scope)
        return both(left, right) if statement.operator == "&&" else either(left, right)
    if isinstance(statement, Group) and len(statement.body) == 1:
        return truth(interpreter, statement.body[0], scope)
    return None


def condition_key(interpreter: Interpreter, statement: Statement, scope: Scope) -> tuple[object, ...]:
    """What makes two conditions the same: their text, and the variables in it not assigned in between."""
    source = scope.text.string[statement.start : statement.end]
    found = [scope.state.variables.get(name) for name in REFERENCE.findall(source)]
    interpreter.kept.extend(found)
    return ("if", source, *(id(each) for each in found))


def restricting(interpreter: Interpreter, statement: Statement, scope: Scope) -> frozenset[str]:
    """The restriction inside a condition: variables in it that differ between tasks."""
    if scope.context.phase is not Phase.TASK:
        return scope.context.restricted
    fields: list[Pieces] = []
    _condition_fields(interpreter, statement, scope, fields)
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
