"""The argparse parser of a Python program, if its text alone decides what it accepts.

The parser is rebuilt from the text, without running the program, so that argparse itself checks the words.
"""

import argparse
import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NoReturn

from sbatchlint.bash.values import UNKNOWN_CHARACTER
from sbatchlint.job.python.flow import Flow
from sbatchlint.job.python.module import Module, constant
from sbatchlint.source.numbers import parse_integer

# Methods of a parser that do not change what it accepts.
_HARMLESS = frozenset({"error", "exit", "format_help", "format_usage", "print_help", "print_usage", "set_defaults"})
_GROUPING = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
_MAKING = _GROUPING | {"add_subparsers", "add_parser"}
_PLAIN = frozenset({"prog", "usage", "description", "epilog", "formatter_class", "add_help", "allow_abbrev"})
# Calls that only show the command line.
_PRINTING = frozenset({"print", "join", "info", "debug"})
_PLAIN_SUBPARSER = _PLAIN | {"help", "aliases"}
_PLAIN_SUBPARSERS = frozenset({"dest", "required", "title", "description", "help", "metavar", "prog"})
# How many functions deep a parser is followed that they get or return.
_DEEPEST = 4
_ACTIONS = frozenset({
    "store", "store_true", "store_false", "store_const", "append", "append_const", "count", "extend", "help", "version",
})  # fmt: skip


def _int(string: str) -> object:
    return string if UNKNOWN_CHARACTER in string else parse_integer(string.replace("_", ""))


def _float(string: str) -> object:
    return string if UNKNOWN_CHARACTER in string else float(string)


_int.__name__, _float.__name__ = "int", "float"  # as messages of argparse call them
_TYPES: dict[str, Any] = {"int": _int, "float": _float, "str": str}


class _Choices(list[object]):
    """The choices of an option; a value that is not known may be any of them."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and UNKNOWN_CHARACTER in value or super().__contains__(value)


class Refused(Exception):
    """The error message of a parser."""


class Unclear(Exception):
    """The text does not decide what the parser accepts."""


class PlainParser(argparse.ArgumentParser):
    """A parser that raises `Refused` instead of exiting."""

    row = 0  # the line on which the program creates it
    module: Module  # the file in which it does

    @property
    def parsers(self) -> "Iterator[PlainParser]":
        """Itself and those of its subcommands."""
        yield self
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for each in {id(one): one for one in action.choices.values()}.values():
                    yield from each.parsers

    @property
    def varies(self) -> bool:
        """Whether releases of Python distribute positional arguments to it differently."""
        actions = [action for each in self.parsers for action in each._get_positional_actions()]
        return any(each.nargs in ("?", "*", "+") for each in actions)

    def takes_value(self, option: str) -> bool:
        """Whether one value follows an option of this name."""
        found = [each._option_string_actions.get(option) for each in self.parsers]
        return any(isinstance(each, argparse._StoreAction) and each.nargs is None for each in found)

    def given(self, words: list[str]) -> dict[str, str]:
        """The values of the options and arguments that are given as words, by the names of their attributes.

        Those that a function of the program may change are not among them.
        """
        changed = {action.dest for each in self.parsers for action in each._actions if action.type is _anything}
        found = vars(self.parse_args(words)).items()
        return {name: value for name, value in found if isinstance(value, str) and name not in changed}

    def knows(self, option: str) -> bool:
        """Whether it or a subcommand has a long option of this name, or one that this abbreviates."""
        for each in self.parsers:
            known = each._option_string_actions
            if option in known or each.allow_abbrev and any(name.startswith(option) for name in known):
                return True
        return False

    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def _print_message(self, message: str, file: object = None) -> None:
        """Prints nothing."""


def plain_parser(module: Module) -> PlainParser | None:
    """The only parser of a file, if all uses of it are known and it reads the command line; None for others."""
    makers = list(module.called("argparse.ArgumentParser"))
    others = {"parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"}
    if len(makers) != 1 or others & module.names:
        return None
    try:
        return _Builder(module, makers[0].node).parser
    except (Unclear, TypeError, ValueError, argparse.ArgumentError):
        return None


def imported_parser(main: Module, files: Mapping[str, Module]) -> PlainParser | None:
    """The parser of a program that calls a function of another file for its options: `args = get_args()`.

    `files`: the modules of the program by their paths.
    """
    if main.names & {"argv", "ArgumentParser", "parse_known_args"}:
        return None
    found = [(path, call.node) for path, each in files.items() for call in each.called("argparse.ArgumentParser")]
    if len(found) != 1 or files[found[0][0]] is main or "parse_known_args" in files[found[0][0]].names:
        return None
    path, maker = found[0]
    module, name = files[path], path.rpartition("/")[2].removesuffix(".py")
    flow = Flow(main.tree)
    called = set()
    for call in main.calls:
        owner, _, function = call.name.rpartition(".")
        if owner.rpartition(".")[2] == name and not call.node.args and not call.node.keywords:
            if flow.always_runs(call.node):
                called.add(function)
    try:
        return _Builder(module, maker, called).parser
    except (Unclear, TypeError, ValueError, argparse.ArgumentError):
        return None


class _Builder:
    """Rebuilds a parser from the calls in a file.

    `called`: the functions of the file that a program calls, where the file is not the program itself.
    """

    def __init__(self, module: Module, maker: ast.Call, called: Collection[str] | None = None) -> None:
        self.parser = PlainParser(**_options(maker, _PLAIN))
        self.parser.row, self.parser.module = maker.lineno, module
        self.module = module
        self.flow = Flow(module.tree, called is None)
        self.reads = 0
        self.followed: list[ast.AST] = []  # the functions around the use that is followed
        body = self.flow.body(maker)
        if called is None and not _may_run(module.tree, body):
            raise Unclear
        if called is not None:
            if not isinstance(body, ast.FunctionDef) or body.name not in called:
                raise Unclear
            if self.flow.body(body) is not module.tree or self.flow.functions.get(body.name) is not body:
                raise Unclear
        self._check_words()
        self._made(maker, self.parser)
        if self.reads == 0:
            raise Unclear

    def _check_words(self) -> None:
        """Raises Unclear where something else than the parser may read or change the command line."""
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.alias) and node.name == "argv":
                raise Unclear
            if isinstance(node, ast.Attribute) and node.attr == "argv":
                user = self.flow.parents[node]
                name = user.func if isinstance(user, ast.Call) else None
                printed = isinstance(name, ast.Attribute | ast.Name) and _last(name) in _PRINTING
                first = constant(user.slice) == 0 if isinstance(user, ast.Subscript) else False
                if not printed and not first and not _is_command_line(user):
                    raise Unclear

    def _made(self, node: ast.Call, made: Any) -> None:
        """Follows a parser or a group that a call makes: it is used at once, or gets a name whose uses are followed."""
        statement = self.flow.parents[node]
        if isinstance(statement, ast.Attribute):
            self._used(statement, made)  # ArgumentParser().parse_args(), add_argument_group().add_argument()
        elif isinstance(statement, ast.Return):
            self._returned(statement, made)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if not isinstance(target, ast.Name):
                raise Unclear
            self._always(node)
            self._named(target, self.flow.scope(target), made)
        elif not isinstance(statement, ast.Expr):
            raise Unclear

    def _named(self, target: ast.Name | ast.arg, scope: ast.AST, made: Any) -> None:
        """Follows the uses of a name, up to where it gets another value."""
        name = target.id if isinstance(target, ast.Name) else target.arg
        if self.flow.is_shared(name):
            raise Unclear
        start = (target.lineno, target.col_offset)
        uses = self.flow.uses(name, scope)
        body = self.flow.body(target)
        for number, use in enumerate(uses):
            if use is target or (use.lineno, use.col_offset) < start and self.flow.body(use) is body:
                continue  # of an earlier value
            user = self.flow.parents[use]
            if not isinstance(use.ctx, ast.Load):
                later = [self.flow.parents[each] for each in uses[number + 1 :]]
                adding = any(isinstance(each, ast.Attribute) and each.attr not in _HARMLESS for each in later)
                if made is self.parser and not self.reads or adding and not self._is_plain_assignment(user, body):
                    raise Unclear
                return
            if isinstance(user, ast.Attribute):
                self._used(user, made)
            elif isinstance(user, ast.Return):
                if self.flow.body(user) not in self.followed:
                    self._returned(user, made)
            elif isinstance(user, ast.Call) and use in user.args:
                self._passed(user, user.args.index(use), made)
            else:
                raise Unclear

    def _is_plain_assignment(self, statement: ast.AST, body: ast.AST) -> bool:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            return False
        self._always(statement.value)
        return self.flow.body(statement) is body

    def _returned(self, statement: ast.Return, made: Any) -> None:
        """Follows a parser that a function returns, at the only place that calls it."""
        body = self.flow.body(statement)
        if made is not self.parser or not isinstance(body, ast.FunctionDef) or len(self.followed) >= _DEEPEST:
            raise Unclear
        names = self.flow.uses(body.name, self.flow.tree)
        call = self.flow.parents[names[0]] if len(names) == 1 else None
        if not isinstance(call, ast.Call) or call.func is not names[0]:
            raise Unclear
        if self.flow.functions.get(body.name) is not body or not _may_run(self.flow.tree, self.flow.body(call)):
            raise Unclear
        self._made(call, made)

    def _passed(self, call: ast.Call, number: int, made: Any) -> None:
        """Follows a parser into a function of the file that gets it as an argument."""
        function = self.flow.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None or function in self.followed or len(self.followed) >= _DEEPEST or function.decorator_list:
            raise Unclear
        arguments = [*function.args.posonlyargs, *function.args.args]
        if number >= len(arguments) or any(isinstance(each, ast.Starred) for each in call.args):
            raise Unclear
        if not isinstance(self.flow.parents[call], ast.Expr):
            raise Unclear  # what it returns may be the parser
        self._always(call)
        self.followed.append(function)
        self._named(arguments[number], function, made)
        self.followed.pop()

    def _used(self, attribute: ast.Attribute, made: Any) -> None:
        call = self.flow.parents[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            raise Unclear
        name = attribute.attr
        if isinstance(made, argparse._SubParsersAction):
            if name != "add_parser":
                raise Unclear
            self._always(call)
            self._made(call, made.add_parser(_text(call), **_options(call, _PLAIN_SUBPARSER)))
        elif name == "parse_args" and made is self.parser:
            given = [*call.args, *(each.value for each in call.keywords)]
            if len(given) > 1 or given and not self._is_whole(given[0]):
                raise Unclear
            if not self.flow.is_program:
                self._always(call)
            self.reads += 1
        elif name == "add_argument":
            self._always(call)
            self._add(call, made)
        elif name == "add_subparsers":
            self._always(call)
            self._made(call, made.add_subparsers(**_options(call, _PLAIN_SUBPARSERS)))
        elif name in _GROUPING:
            self._always(call)
            required = any(each.arg == "required" and constant(each.value) is True for each in call.keywords)
            exclusive = name == "add_mutually_exclusive_group"
            self._made(call, made.add_mutually_exclusive_group(required=required) if exclusive else made)
        elif name not in _HARMLESS:
            raise Unclear

    def _is_whole(self, words: ast.expr, depth: int = 0) -> bool:
        """Whether parse_args gets the command line: `sys.argv[1:]`, None, or an argument that is always that."""
        if isinstance(words, ast.Constant):
            return words.value is None
        if not isinstance(words, ast.Name):
            return _is_command_line(words)
        function = self.flow.scope(words)
        if not isinstance(function, ast.FunctionDef) or depth >= _DEEPEST:
            return False
        arguments = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        stored = [each for each in self.flow.uses(words.id, function) if not isinstance(each.ctx, ast.Load)]
        if words.id not in arguments or stored or self.flow.functions.get(function.name) is not function:
            return False
        number = arguments.index(words.id)
        default = function.args.defaults[number - len(arguments) :][:1] if function.args.defaults else []
        if default and constant(default[0]) is None and not isinstance(default[0], ast.Constant):
            return False
        for name in self.flow.uses(function.name, self.flow.tree):
            call = self.flow.parents[name]
            if not isinstance(call, ast.Call) or call.func is not name or call.keywords:
                return False
            if any(isinstance(each, ast.Starred) for each in call.args):
                return False
            given = call.args[number] if number < len(call.args) else None
            if given is not None and not self._is_whole(given, depth + 1):
                return False
        return True

    def _always(self, call: ast.Call) -> None:
        """Raises Unclear for a call in a branch or a loop, which may not run."""
        if not self.flow.is_straight(call):
            raise Unclear

    def _add(self, call: ast.Call, made: Any) -> None:
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
            elif keyword.arg == "choices":
                choices = self.flow.literal_keys(keyword.value)
                if choices is not None:
                    options["choices"] = _Choices(choices)
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


def _options(call: ast.Call, plain: frozenset[str]) -> dict[str, Any]:
    """The keyword arguments of a call that decide what a parser accepts; Unclear where others may."""
    given = {str(each.arg): each.value for each in call.keywords}
    if not given.keys() <= plain or any(each.arg is None for each in call.keywords) or len(call.args) > 3:
        raise Unclear
    found: dict[str, Any] = {}
    for name in ("add_help", "allow_abbrev", "required"):
        if name in given:
            found[name] = constant(given[name])
            if not isinstance(found[name], bool):
                raise Unclear
    if isinstance(dest := constant(given["dest"]) if "dest" in given else None, str):
        found["dest"] = dest
    if "aliases" in given:
        aliases = given["aliases"]
        found["aliases"] = [constant(each) for each in getattr(aliases, "elts", ())]
        if not isinstance(aliases, ast.List | ast.Tuple) or not all(isinstance(each, str) for each in found["aliases"]):
            raise Unclear
    return found


def _text(call: ast.Call) -> str:
    """The only positional argument of a call, a string."""
    text = constant(call.args[0]) if len(call.args) == 1 else None
    if not isinstance(text, str):
        raise Unclear
    return text


def _last(name: ast.Attribute | ast.Name) -> str:
    return name.id if isinstance(name, ast.Name) else name.attr


def _is_command_line(node: ast.AST) -> bool:
    """Whether an expression is `sys.argv[1:]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return False
    lower, upper = node.slice.lower, node.slice.upper
    whole = lower is not None and constant(lower) == 1 and upper is None and node.slice.step is None
    return whole and isinstance(node.ctx, ast.Load) and getattr(node.value, "attr", None) == "argv"


def _anything(string: str) -> str:
    return string
