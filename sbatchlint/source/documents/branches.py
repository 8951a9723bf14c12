"""What names stand for after branches and loops of a Python program, and which names its statements set."""

import ast
from collections.abc import Iterator

from sbatchlint.source.documents.expressions import Either, Scope, String, Strings, Value
from sbatchlint.source.documents.literals import Characters
from sbatchlint.source.documents.snippet import Character
from sbatchlint.source.text import SLOT, Span


def frozen(scope: Scope) -> Scope:
    """What a scope holds now."""
    found = Scope(scope.outer, scope.bound)
    found.values = dict(scope.values)
    return found


def extended(before: Strings, more: Value, span: Span) -> Strings:
    if isinstance(more, Strings):
        return Strings(before.items + more.items, before.is_partial or more.is_partial)
    return Strings([*before.items, String([Character(SLOT, span, False)])], True)


def either(before: Value, one: Value, other: Value) -> Value:
    """What a name stands for after two branches. What both appended to the same is taken together."""
    if isinstance(before, String) and isinstance(one, String) and isinstance(other, String):
        size = len(before.characters)
        if all(each.characters[:size] == before.characters for each in (one, other)):
            return _with_both(before.characters, one.characters[size:], other.characters[size:])
    if isinstance(before, Strings) and isinstance(one, Strings) and isinstance(other, Strings):
        count = len(before.items)
        if all(each.items[:count] == before.items for each in (one, other)):
            return Strings(one.items + other.items[count:], True)
    values: list[Value] = []
    for each in (one, other):
        values += each.values if isinstance(each, Either) else [each]
    known = [each for each in values if each is not None]
    return Either(tuple(known)) if known else None


def _with_both(before: Characters, one: Characters, other: Characters) -> String:
    """A string to which one of two others is appended: lines of both, but of words only the first."""
    if not one or not other:
        return String(before + one + other, True)
    if before and before[-1].string != "\n":
        return String(before + one, True)
    end = one[-1].span
    more = [] if one[-1].string == "\n" else [Character(SLOT, end, False), Character("\n", end, False)]
    return String(before + one + more + other, True)


def ends(statements: list[ast.stmt]) -> bool:
    """Whether what follows a branch does not run after it."""
    return bool(statements) and isinstance(statements[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def names_set(node: ast.AST) -> Iterator[str]:
    """The names that a statement sets, but for those inside functions and classes."""
    left = [node]
    while left:
        inner = left.pop()
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name
            continue
        elif isinstance(inner, ast.Lambda):
            continue
        left += children(inner)


# What holds nothing that is looked for: two thirds of what is in a tree.
_LEAVES = frozenset((int, str, bool, float, bytes, type(None), ast.Load, ast.Store, ast.Del, ast.alias))


def children(node: ast.AST) -> list[ast.AST]:
    """What is inside a node, the last first."""
    found: list[ast.AST] = []
    for value in vars(node).values():
        if type(value) is list:
            found += [each for each in value if type(each) not in _LEAVES]
        elif type(value) not in _LEAVES and isinstance(value, ast.AST):
            found.append(value)
    found.reverse()
    return found


def names_rebound(node: ast.For | ast.AsyncFor | ast.While) -> set[str]:
    """The names to which a loop gives a value, but for those to which it only adds."""
    added = {
        inner.target.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name)
    }
    assigned = {
        target.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Assign | ast.AnnAssign | ast.NamedExpr)
        for target in targets_of(inner)
        if isinstance(target, ast.Name)
    }
    return set(names_set(node)) - (added - assigned)


def targets_of(node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> list[ast.expr]:
    """What an assignment assigns to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]
