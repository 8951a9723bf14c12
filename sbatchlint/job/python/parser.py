"""The argparse parser of a Python program, if its text alone decides what it accepts.

The parser is rebuilt from the text, without running the program, so that argparse itself checks the words.
"""

import argparse
import ast
from typing import Any, NoReturn

from sbatchlint.job.python.module import Module, constant

# Methods of a parser that do not change what it accepts.
_HARMLESS = frozenset({"error", "exit", "format_help", "format_usage", "print_help", "print_usage", "set_defaults"})
_ADDING = frozenset({"add_argument", "add_argument_group", "add_mutually_exclusive_group"})
_PLAIN = frozenset({"prog", "usage", "description", "epilog", "formatter_class", "add_help", "allow_abbrev"})
_ACTIONS = frozenset({
    "store", "store_true", "store_false", "store_const", "append", "append_const", "count", "extend", "help", "version",
})  # fmt: skip
_TYPES: dict[str, Any] = {"int": int, "float": float, "str": str}


class Refused(Exception):
    """The error message of a parser."""


class Unclear(Exception):
    """The text does not decide what the parser accepts."""


class PlainParser(argparse.ArgumentParser):
    """A parser that raises `Refused` instead of exiting."""

    row = 0  # the line on which the program creates it

    @property
    def positional(self) -> list[argparse.Action]:
        return self._get_positional_actions()

    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def _print_message(self, message: str, file: object = None) -> None:
        """Prints nothing."""


def plain_parser(module: Module) -> PlainParser | None:
    """The only parser of a file, if all uses of it are known and it reads the command line; None for others."""
    makers = list(module.called("argparse.ArgumentParser"))
    others = {"parse_known_args", "parse_intermixed_args", "add_subparsers", "argv", "ArgumentTypeError"}
    if len(makers) != 1 or others & module.names:
        return None
    try:
        return _Builder(module, makers[0].node).parser
    except (Unclear, TypeError, ValueError, argparse.ArgumentError):
        return None


class _Builder:
    """Rebuilds a parser from the calls in a file."""

    def __init__(self, module: Module, maker: ast.Call) -> None:
        self.parents = {child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}
        self.parser = PlainParser(**self._options(maker))
        self.parser.row = maker.lineno
        self.reads = 0
        self.body = self._body(maker)
        if not _may_run(module.tree, self.body):
            raise Unclear
        self._made(maker, self.parser)
        if self.reads == 0:
            raise Unclear

    @staticmethod
    def _options(maker: ast.Call) -> dict[str, Any]:
        options: dict[str | None, Any] = {each.arg: constant(each.value) for each in maker.keywords}
        if not options.keys() <= _PLAIN or len(maker.args) > 3:
            raise Unclear
        switches: dict[str, Any] = {name: options[name] for name in ("add_help", "allow_abbrev") if name in options}
        if not all(isinstance(each, bool) for each in switches.values()):
            raise Unclear
        return switches

    def _made(self, node: ast.Call, made: Any) -> None:
        """Follows a parser or a group that a call makes: it is used at once, or gets a name whose uses are followed."""
        statement = self.parents[node]
        if isinstance(statement, ast.Attribute):
            return self._used(statement, made)  # ArgumentParser().parse_args(), add_argument_group().add_argument()
        if isinstance(statement, ast.Expr):
            return None
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise Unclear
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or self._body(statement) is not self.body:
            raise Unclear
        top = self.body
        while top in self.parents:
            top = self.parents[top]
        names = [each for each in ast.walk(top) if isinstance(each, ast.Name) and each.id == target.id]
        if any(isinstance(each, ast.arg) and each.arg == target.id for each in ast.walk(top)):
            raise Unclear  # an argument of some function has the same name
        for name in sorted(names, key=lambda name: (name.lineno, name.col_offset)):
            if name is target:
                continue
            attribute = self.parents[name]
            if not isinstance(attribute, ast.Attribute):
                raise Unclear  # passed on, or assigned again
            self._used(attribute, made)
        return None

    def _used(self, attribute: ast.Attribute, made: Any) -> None:
        call = self.parents[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            raise Unclear
        name = attribute.attr
        if name == "parse_args" and made is self.parser:
            if call.args or call.keywords:
                raise Unclear
            self.reads += 1
        elif name == "add_argument":
            self._always(call)
            self._add(call, made)
        elif name in _ADDING:
            self._always(call)
            required = any(each.arg == "required" and constant(each.value) is True for each in call.keywords)
            exclusive = name == "add_mutually_exclusive_group"
            self._made(call, made.add_mutually_exclusive_group(required=required) if exclusive else made)
        elif name not in _HARMLESS:
            raise Unclear

    def _body(self, node: ast.AST) -> ast.AST:
        """The function or the module whose body holds a node."""
        at = self.parents[node]
        while not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module):
            at = self.parents[at]
        return at

    def _always(self, call: ast.Call) -> None:
        """Raises Unclear for a call in a branch, a loop or another function, which may not run."""
        at = self.parents[call]
        while at is not self.body:
            if isinstance(at, ast.If) and _is_main(at.test):
                at = self.parents[at]
                continue
            if not isinstance(at, ast.Expr | ast.Assign | ast.Attribute | ast.Call):
                raise Unclear
            at = self.parents[at]

    @staticmethod
    def _add(call: ast.Call, made: Any) -> None:
        names = [constant(each) for each in call.args]
        if not names or not all(isinstance(each, str) for each in names):
            raise Unclear
        options: dict[str, Any] = {}
        for keyword in call.keywords:
            value = constant(keyword.value)
            if keyword.arg is None:
                raise Unclear
            if keyword.arg == "action":
                if isinstance(keyword.value, ast.Attribute) and keyword.value.attr == "BooleanOptionalAction":
                    options["action"] = argparse.BooleanOptionalAction
                elif value in _ACTIONS:
                    options["action"] = value
                else:
                    raise Unclear
            elif keyword.arg == "nargs":
                if not isinstance(value, int) and value not in ("?", "*", "+"):
                    raise Unclear
                options["nargs"] = value
            elif keyword.arg == "required" and value is True:
                options["required"] = True
            elif keyword.arg == "type":
                name = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
                options["type"] = _TYPES.get(name, _anything)
            elif keyword.arg == "choices" and isinstance(keyword.value, ast.List | ast.Tuple):
                choices = [constant(one) for one in keyword.value.elts]
                if None not in choices:
                    options["choices"] = choices
            elif keyword.arg == "const":
                options["const"] = 0
            elif keyword.arg == "dest" and isinstance(value, str):
                options["dest"] = value
        if "choices" in options and options.get("type") is _anything:
            del options["choices"]
        if options.get("action") == "version":
            options["version"] = ""
        made.add_argument(*names, **options)


def _may_run(tree: ast.Module, body: ast.AST) -> bool:
    """Whether code of the module names the function with this body: itself, or in functions that it names."""
    if not isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    bodies: dict[str, list[ast.AST]] = {}
    waiting: list[ast.AST] = [tree]
    named: set[str] = set()
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting.extend(node.decorator_list)
                if node.name in named:
                    waiting.append(node)
                else:
                    bodies.setdefault(node.name, []).append(node)
                continue
            waiting.append(node)
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name is not None:
                named.add(name)
                waiting.extend(bodies.pop(name, ()))
    return body.name in named


def _anything(string: str) -> str:
    return string


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
