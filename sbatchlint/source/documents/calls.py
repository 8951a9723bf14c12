"""What calls in a Python program say: of files that are opened, and of shells that are started."""

import ast

from sbatchlint.source.documents.expressions import name_of


def is_for_a_shell(call: ast.Call) -> bool:
    """Whether a call starts a command line by a shell: with `shell=True`."""
    return any(each.arg == "shell" and getattr(each.value, "value", None) is True for each in call.keywords)


def is_opened(call: ast.Call) -> bool:
    return name_of(call.func) == "open"


def mode_of(call: ast.Call) -> str:
    """The mode in which a file is opened, of `open(path, "w")` and `path.open("w")`; "" where it is not written so."""
    at = 0 if isinstance(call.func, ast.Attribute) else 1
    nodes = [*call.args[at : at + 1], *(each.value for each in call.keywords if each.arg == "mode")]
    return next((str(each.value) for each in nodes if isinstance(each, ast.Constant)), "")


def path_of(call: ast.Call) -> str:
    """What names the file that is opened."""
    node = call.func.value if isinstance(call.func, ast.Attribute) else call.args[0] if call.args else call
    return ast.dump(node)
