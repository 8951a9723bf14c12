"""Values of a program's options that it looks up in a table or compares with a list, and what it does with others."""

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.job.python.flow import ENDING, Flow
from sbatchlint.job.python.module import Module, constant

# Functions that only look at the options.
_LOOKING = frozenset({"print", "pprint", "str", "repr", "info", "debug", "asdict"})
_LOOKUP_ERRORS = frozenset({"KeyError", "LookupError", "Exception", "BaseException"})


class Dispatch(NamedTuple):
    """A place that always runs and fails for all values of an option but these. `name`: of the option's attribute."""

    row: int
    name: str
    values: tuple[object, ...]


def dispatches(module: Module) -> Iterator[Dispatch]:
    """The tables and the chains of comparisons by which a program chooses; none where it may end or change them before.

    `TABLE[args.name]` with a table of constants, and `if args.name == "a": … elif … else: raise …`.
    """
    flow = Flow(module.tree)
    namespaces = _namespaces(flow)
    if len(namespaces) != 1 or not module.names.isdisjoint({"setattr", "__dict__", "__setattr__"}):
        return
    base = namespaces.pop()
    found: list[Dispatch] = []
    changed: set[str] = set()
    given = _given_away(flow, base)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            changed.add(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            name = _option(node.slice, base)
            keys = flow.literal_keys(node.value) if name is not None and _is_table(flow, node.value) else None
            if name is not None and keys and _is_reached(flow, node):
                found.append(Dispatch(node.lineno, name, tuple(keys)))
        elif isinstance(node, ast.If):
            chain = _chain(node, base)
            if chain is not None and flow.always_runs(node, for_certain=True):
                found.append(Dispatch(node.lineno, *chain))
    yield from sorted(each for each in found if each.name not in changed and each.row < given)


def _given_away(flow: Flow, base: str) -> int:
    """The first line on which something else may change the options: they are given to code of other files."""
    first = sys.maxsize
    stores = 0
    for name in flow.parents:
        if not isinstance(name, ast.Name) or name.id != base:
            continue
        user = flow.parents[name]
        if not isinstance(name.ctx, ast.Load):
            stores += 1
            continue
        call = user if isinstance(user, ast.Call) else flow.parents[user] if isinstance(user, ast.keyword) else None
        if isinstance(user, ast.Attribute | ast.FormattedValue | ast.Return):
            continue
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute):
            callee = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
            if callee == "vars" and isinstance(flow.parents[call], ast.Call | ast.keyword):
                continue
            if callee in _LOOKING or isinstance(call.func, ast.Name) and flow.functions.get(callee) is not None:
                continue
        first = min(first, name.lineno)
    return first if stores <= 1 else 0


def _namespaces(flow: Flow) -> set[str]:
    """The variables that get what parse_args returns."""
    found: set[str] = set()
    waiting = [
        each for each in flow.parents
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "parse_args"
    ]  # fmt: skip
    for call in waiting:
        statement = flow.parents[call]
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found.add(statement.targets[0].id)
        elif isinstance(statement, ast.Return) and isinstance(body := flow.body(statement), ast.FunctionDef):
            users = [flow.parents[each] for each in flow.uses(body.name, flow.tree)]  # `args = get_args()`
            waiting += [each for each in users if isinstance(each, ast.Call) and each not in waiting]
        else:
            return set()
    return found


def _option(node: ast.AST, base: str) -> str | None:
    """The name of an option where a node is `args.name`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == base:
        return node.attr
    return None


def _is_table(flow: Flow, node: ast.expr) -> bool:
    value = flow.module_value(node) if isinstance(node, ast.Name) else None
    return isinstance(value, ast.Dict)


def _is_reached(flow: Flow, node: ast.AST) -> bool:
    """Whether a lookup always runs, also in a `try` that fails with another error where the key is missing."""
    child, at = node, flow.parents[node]
    while not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        if isinstance(at, ast.Try):
            if child not in at.body or not all(map(_gives_up, at.handlers)):
                return False
            return flow.always_runs(at, for_certain=True)
        child, at = at, flow.parents[at]
    return flow.always_runs(node, for_certain=True)


def _gives_up(handler: ast.ExceptHandler) -> bool:
    """Whether a handler lets the error of a missing key pass, or ends the program."""
    kinds = ast.walk(handler.type) if handler.type is not None else ()
    names = {each.id for each in kinds if isinstance(each, ast.Name)} or _LOOKUP_ERRORS
    return not names & _LOOKUP_ERRORS or _fails(handler.body)


def _fails(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if any(not isinstance(each, ast.Expr) for each in body[:-1]):
        return False
    if isinstance(last, ast.Raise):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        return False
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name in ENDING and constant(call.args[0]) != 0


def _chain(node: ast.If, base: str) -> tuple[str, tuple[object, ...]] | None:
    """The option and the values for which a chain of comparisons has a branch, where all others fail."""
    values: list[object] = []
    names: set[str] = set()
    branch: ast.stmt = node
    while isinstance(branch, ast.If):
        either = isinstance(branch.test, ast.BoolOp) and isinstance(branch.test.op, ast.Or)
        for test in branch.test.values if either else [branch.test]:  # type: ignore[attr-defined]
            found = _compared(test, base)
            if found is None:
                return None
            names.add(found[0])
            values += found[1]
        otherwise = branch.orelse
        if len(otherwise) == 1 and isinstance(otherwise[0], ast.If):
            branch = otherwise[0]
            continue
        return (names.pop(), tuple(values)) if len(names) == 1 and otherwise and _fails(otherwise) else None
    return None


def _compared(test: ast.expr, base: str) -> tuple[str, list[object]] | None:
    """The option and the values of `args.name == "a"` or `args.name in ("a", "b")`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    name, other = _option(test.left, base), test.comparators[0]
    if name is None:
        return None
    if isinstance(test.ops[0], ast.Eq):
        value = constant(other)
        return None if value is None else (name, [value])
    if isinstance(test.ops[0], ast.In) and isinstance(other, ast.List | ast.Tuple | ast.Set):
        values = [constant(each) for each in other.elts]
        return None if None in values else (name, values)
    return None
