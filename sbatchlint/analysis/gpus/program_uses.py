"""Where the text of a Python program beside the script certainly uses a GPU, whatever its options say."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.job.python.module import Call, Module, constant
from sbatchlint.job.python.program import PythonProgram
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:  # slow to import, and not needed for most scripts
    import ast

_DEVICE = Regex(r"cuda(?::\d+)?")
_MOST_FUNCTIONS = 50


def gpu_call(program: PythonProgram) -> str | None:
    """A call by which a program fails without a GPU, as `.cuda()`; None if none certainly runs."""
    calls = {id(each.node): each for each in program.main.calls}
    for node in _reached(program.main):
        shown = _shown(calls[id(node)]) if id(node) in calls else None
        if shown is not None:
            return shown
    return None


def _shown(call: Call) -> str | None:
    """A call that needs a GPU, as a message names it; None for others."""
    arguments = call.node.args
    first = constant(arguments[0]) if arguments else None
    device = call.keyword("device")
    if call.name == ".cuda" and (not arguments or isinstance(first, int)):
        return ".cuda()"
    if call.name == "torch.cuda.set_device":
        return "torch.cuda.set_device()"
    if call.name in (".to", "torch.device") and isinstance(first, str) and _DEVICE.fullmatch(first):
        return f"{call.name}('{first}')"
    if isinstance(device, str) and _DEVICE.fullmatch(device) and call.name.startswith("torch."):
        return f"{call.name}(device='{device}')"
    return None


def _reached(module: Module) -> "Iterator[ast.Call]":
    """The calls that run whenever the file is run: in no branch, and in no function that is not called so."""
    import ast

    functions = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    entered: set[str] = set()
    waiting: list[ast.AST] = list(reversed(module.tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.Try):
            continue  # not run, or not certainly
        if isinstance(node, ast.If):
            waiting.extend(reversed(node.body) if _is_main(node.test) else [node.test])
            continue
        if isinstance(node, ast.IfExp | ast.BoolOp):
            waiting.append(node.values[0] if isinstance(node, ast.BoolOp) else node.test)
            continue
        if isinstance(node, ast.Call):
            yield node
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in functions and name not in entered and len(entered) < _MOST_FUNCTIONS:
                entered.add(name)
                waiting.extend(reversed(_body(functions[name])))
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _body(definition: "ast.FunctionDef | ast.ClassDef") -> "list[ast.stmt]":
    """What runs if a function or class of a file is called, up to what may leave it early."""
    import ast

    body = definition.body
    if isinstance(definition, ast.ClassDef):
        starts = [each for each in body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        body = starts[0].body if starts else []
    elif definition.decorator_list:
        return []  # something else may decide whether it runs
    found: list[ast.stmt] = []
    for each in body:
        if any(isinstance(inner, ast.Return) for inner in ast.walk(each)):
            break
        found.append(each)
    return found


def _is_main(test: "ast.expr") -> bool:
    """Whether a test is `__name__ == "__main__"`."""
    import ast

    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
