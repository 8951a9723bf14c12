"""Batch scripts in the strings of a Python program: written to a file, returned, or given to sbatch or a shell.

The statements of each function are followed in their order, so that what is appended line by line is known; of `if` and
loops each part is taken once, and the string is then a piece.
"""

import ast
import re
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

from sbatchlint.source.documents.blocks import concerns_slurm, is_piece, may_hold_lines
from sbatchlint.source.documents.branches import (
    children,
    either,
    ends,
    extended,
    frozen,
    names_rebound,
    names_set,
    targets_of,
)
from sbatchlint.source.documents.calls import (
    command_of,
    is_for_a_shell,
    is_of_a_connection,
    is_opened,
    is_starting,
    mode_of,
    path_of,
    started,
)
from sbatchlint.source.documents.expressions import (
    TRANSPARENT,
    Either,
    Reader,
    Scope,
    String,
    Strings,
    Value,
    joined,
    name_of,
)
from sbatchlint.source.documents.literals import Characters, at_place, span_of
from sbatchlint.source.documents.snippet import Snippet, Unreadable
from sbatchlint.source.documents.submitit import directives_of
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT, Source

# Parsing takes about a second for a megabyte.
MOST_CHARACTERS = 500_000
_SCRIPT_NAME = Regex(r"(?i).*\.(?:sbatch|slurm|slrm|job|batch|sh|bash|sub|cmd|qsub|txt)\Z|[^.]*\Z")
# Files that hold something about a script, or one in which something else is filled in before it runs.
_OTHER_NAME = Regex(
    r"(?i).*\.(?:md|markdown|rst|html?|tex|json|ya?ml|toml|cfg|conf|ini|log|out|err|csv|tsv|ipynb|py|j2|jinja2?|tmpl|tpl"
    r"|template|mustache|in|dist|example|sample)\Z"
)
_SCRIPT = Regex(r"#![^\n]*\n(?s:.*)^[ \t]*#SBATCH\b", re.MULTILINE)
_SHELLS = frozenset(("system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell", "exec_command"))
_STARTERS = frozenset(("run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec", "submit"))
# Functions of a program that are likely to start what they are given.
_RUNNER = Regex(
    r"(?i)(?!.*(?:error|exception|warning|log)\Z).*(?:run|call|exec|system|shell|submit|command|cmd|spawn|sbatch)"
)
_COMMAND = Regex(r"(?:/\S*/)?(?:sbatch|srun|salloc)\s+\S")
# The same, maybe after other commands.
_LINE = Regex(r"(?>(?:[^\n;&|#'\"]*+[;&|]++\s*+)*)(?:/\S*/)?(?:sbatch|srun|salloc)\s+\S")
_OPENING = frozenset(("open", "fdopen", "NamedTemporaryFile", "StringIO"))
# What is given a list, and leaves it as it is.
_READERS = _STARTERS | {"join", "len", "print", "writelines"}
# What may change a list, or read on where it cannot be followed.
_CHANGES = frozenset(("insert", "pop", "remove", "clear", "reverse", "sort", "seek", "truncate"))
# Options of a submission beside which the script's own still say what the job is.
_HARMLESS = frozenset(
    (
        *("parsable", "dependency", "d", "wait", "W", "hold", "H", "begin", "b", "test-only", "job-name", "J"),
        *("output", "o", "error", "e", "comment", "quiet", "Q", "verbose", "v", "mail-type", "mail-user", "export"),
        *("chdir", "D", "open-mode"),
    )
)
# A directive of `string.Template`, or of one that is not known.
_DOLLARS = Regex(r"^#SBATCH\b[^\n]*[$<]", re.MULTILINE)
_OF_SUBMISSION = Regex(r"(?<!\S)sbatch(?=\s)([^\n;|&]*)")
_OPTION = Regex(r"(?<!\S)--?([A-Za-z][\w-]*)")
_OPTIONS_NAME = Regex(r"(?i)opt|arg|flag|param|slurm|extra|dep|conf")


class Script(NamedTuple):
    """The characters of a script in a document; see `Snippet`."""

    characters: Characters
    is_fragment: bool
    special: str
    is_partial: bool = False

    def in_document(self, source: Source, rows: Callable[[int], str] | None = None) -> Snippet:
        characters, is_fragment, special, is_partial = self
        return Snippet(
            source, (), is_fragment, characters=characters, special=special, rows=rows, is_partial=is_partial
        )


def scripts_in_python(source: Source) -> list[Snippet]:
    """The scripts and commands in the strings of a program, in their order. Raises `Unreadable`."""
    return [each.in_document(source) for each in programs_scripts(source)]


def programs_scripts(source: Source) -> list[Script]:
    """The scripts and commands in the strings of a program, in their order. Raises `Unreadable`."""
    if len(source.text) > MOST_CHARACTERS:
        raise Unreadable("it is too large")
    if re.search(r"\r(?!\n)", source.text) or "\f" in source.text:
        raise Unreadable("its lines cannot be counted as Python does")
    try:
        program = Program(source, ast.parse(source.text))
        program.read()
    except SyntaxError as error:
        raise Unreadable(f"Python cannot parse line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"Python cannot parse it: {error}") from None
    return program.scripts()


class _File:
    """A file that is written; `is_partial`: also elsewhere."""

    def __init__(self, path: ast.expr | None) -> None:
        self.path = path
        self.string = String([], path is None)


class _Found(NamedTuple):
    """A script, or a command, that leaves the program."""

    string: String
    is_command: bool
    is_whole: bool


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Program:
    """What the statements of a program make of its strings."""

    def __init__(self, source: Source, tree: ast.Module) -> None:
        self.source = source
        self.tree = tree
        self.reader = Reader(source, self._called, self._attribute)
        self.globals = Scope(None)
        self._found: list[_Found] = []
        self._appended: set[str] = set()  # the files that are opened to append to them
        self._files: dict[str, _File] = {}
        self._functions: dict[str, list[Function]] = {}
        self._attributes: dict[str, list[ast.expr | None]] = {}
        self._loaded: set[str] = set()
        self._returned: dict[Function, list[Value]] = {}
        self._active: list[list[Value]] = []
        self._scope_of: dict[Function, Scope] = {}
        self._sized_elsewhere = False
        self._counts: dict[str, int] = {}
        for node in ast.walk(tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Notes functions and what names and attributes are set to, whose order does not matter."""
        if isinstance(node, _FUNCTIONS):
            self._functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._loaded.add(node.id)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            value = None if isinstance(node, ast.AugAssign) else node.value
            for target in targets_of(node):
                if isinstance(target, ast.Attribute):
                    self._attributes.setdefault(target.attr, []).append(value)
        elif isinstance(node, ast.Attribute):
            self._loaded.add(node.attr)
        elif isinstance(node, ast.Call):
            if is_opened(node) and mode_of(node).startswith("a"):
                self._appended.add(path_of(node))
        elif isinstance(node, ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    for target in targets_of(statement):
                        if isinstance(target, ast.Name):
                            self._attributes.setdefault(target.id, []).append(statement.value)
        elif isinstance(node, ast.Global):
            for name in node.names:
                self._counts[name] = 2

    def read(self) -> None:
        """Follows the module, then each function by itself."""
        for name in chain.from_iterable(map(names_set, self.tree.body)):
            self._counts[name] = self._counts.get(name, 0) + 1
        self._block(self.tree.body, self.globals)
        self._end_files()
        # a function may be called when a name stands for something else
        self.globals.values = {n: v for n, v in self.globals.values.items() if self._counts.get(n, 0) == 1}
        for functions in list(self._functions.values()):
            for function in functions:
                self._run(function)
        self._add_templates()

    def scripts(self) -> list[Script]:
        found = []
        for each in sorted(_without_beginnings(self._found), key=_begin):
            characters = each.string.characters
            text = each.string.text
            fragment = each.is_command or not each.is_whole or each.string.is_partial or self._sized_elsewhere
            fragment = fragment or is_piece(text) or may_hold_lines(text)
            special = "\\'\"{}%$" if any(not each.is_written for each in characters) else "\\'\""
            found.append(Script(characters, fragment, special, each.string.is_partial))
        return found

    # --- what is known of names ------------------------------------------------------------------

    def _attribute(self, name: str) -> Value:
        values = self._attributes.get(name, ())
        if len(values) != 1 or values[0] is None:
            return None
        return self.reader.value(values[0], Scope(self.globals))

    def _called(self, call: ast.Call) -> Value:
        """What a function of the program returns, or a file in memory holds."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "getvalue":
            file = self._files.get(getattr(call.func.value, "id", ""))
            return file.string if file is not None else None
        functions = self._functions.get(name_of(call.func), ())
        if len(functions) != 1:
            return None
        values = [value for value in self._run(functions[0]) if value is not None]
        return values[0] if len(values) == 1 else Either(tuple(values)) if values else None

    def _run(self, function: Function) -> list[Value]:
        known = self._returned.get(function)
        if known is not None:
            return known
        self._returned[function] = []  # also while it is followed: a recursive call is not known
        arguments = function.args
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
        bound = {each.arg for each in names}.union(*map(names_set, function.body))
        scope = Scope(self._scope_of.get(function, self.globals), frozenset(bound))
        files, self._files = self._files, {}
        self._active.append([])
        self._block(function.body, scope)
        self._end_files()
        self._files = files
        self._returned[function] = self._active.pop()
        return self._returned[function]

    # --- statements --------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        if isinstance(node, _FUNCTIONS):
            self._scope_of.setdefault(node, frozen(scope) if scope is not self.globals else scope)
        elif isinstance(node, ast.ClassDef):
            self._block(node.body, Scope(scope))
        elif isinstance(node, ast.If):
            self._calls(node.test, scope)
            self._branches(scope, node.body, node.orelse)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            head = node.test if isinstance(node, ast.While) else node.iter
            self._calls(head, scope)
            for name in names_rebound(node):
                scope.values[name] = None
            if not isinstance(node, ast.While) and self._is_written_out(node, scope):
                return
            self._branches(scope, node.body, [])
            self._block(node.orelse, scope)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self._with(node, scope)
        elif isinstance(node, ast.Try | ast.TryStar):
            self._block(node.body, scope)
            for handler in node.handlers:
                self._branches(scope, handler.body, [])
            self._block(node.orelse, scope)
            self._block(node.finalbody, scope)
        elif isinstance(node, ast.Match):
            self._calls(node.subject, scope)
            for case in node.cases:
                self._branches(scope, case.body, [])
        else:
            self._simple(node, scope)

    def _simple(self, node: ast.stmt, scope: Scope) -> None:
        self._calls(node, scope)
        if isinstance(node, ast.Assign):
            value = self.reader.value(node.value, scope)
            for target in node.targets:
                self._assign(target, value, node.value, scope)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.reader.value(node.value, scope), node.value, scope)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._add(node, node.target.id, scope)
        elif isinstance(node, ast.Return) and node.value is not None:
            value = self.reader.value(node.value, scope)
            if self._active:
                self._active[-1].append(value)
            self._take(value, is_given=True)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield) and node.value.value is not None:
            self._take(self.reader.value(node.value.value, scope))
        elif isinstance(node, ast.Delete):
            for each in node.targets:
                if isinstance(each, ast.Name):
                    scope.values[each.id] = None

    def _assign(self, target: ast.expr, value: Value, node: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.values[target.id] = value
            self._end_file(target.id)
            if isinstance(node, ast.Call) and name_of(node.func) in _OPENING:
                self._files[target.id] = _File(node)
            return
        if isinstance(target, ast.Attribute | ast.Subscript):
            self._take(value)
        if isinstance(target, ast.Subscript):
            self._doubt(target.value, scope)
            return
        for each in ast.walk(target):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                scope.values[each.id] = None

    def _add(self, node: ast.AugAssign, name: str, scope: Scope) -> None:
        before = scope.find(name) if isinstance(node.op, ast.Add) else None
        after: Value = None
        if isinstance(before, String):
            after = joined(before, self.reader.string(node.value, scope))
        elif isinstance(before, Strings):
            after = extended(before, self.reader.value(node.value, scope), span_of(self.source, node.value))
        scope.values[name] = after

    def _branches(self, scope: Scope, first: list[ast.stmt], second: list[ast.stmt]) -> None:
        """Follows the two branches of a condition; what both leave is joined."""
        before = dict(scope.values)
        files = {name: file.string for name, file in self._files.items()}
        self._block(first, scope)
        after = scope.values
        scope.values = dict(before)
        files_after = {name: file.string for name, file in self._files.items()}
        for name, string in files.items():
            if name in self._files:
                self._files[name].string = string
        self._block(second, scope)
        gone = [ends(first), ends(second)]
        for name in {*after, *scope.values}:
            one, other = after.get(name), scope.values.get(name)
            if gone == [True, False]:
                continue
            if gone == [False, True]:
                scope.values[name] = one
            elif one is not other:
                scope.values[name] = either(before.get(name), one, other)
        for name, file in self._files.items():
            one_string = files_after.get(name)
            if one_string is not None and one_string is not file.string:
                both = either(files.get(name, String([])), one_string, file.string)
                file.string = both if isinstance(both, String) else file.string._replace(is_partial=True)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        names = []
        for item in node.items:
            self._calls(item.context_expr, scope)
            if isinstance(item.optional_vars, ast.Name):
                name = item.optional_vars.id
                names.append(name)
                scope.values[name] = None
                self._end_file(name)
                self._files[name] = _File(item.context_expr)
            elif item.optional_vars is not None:
                self._assign(item.optional_vars, None, item.context_expr, scope)
        self._block(node.body, scope)
        for name in names:
            self._end_file(name)

    def _is_written_out(self, node: ast.For | ast.AsyncFor, scope: Scope) -> bool:
        """Whether a loop writes the lines of a list as they are: `for line in lines: file.write(line + "\\n")`."""
        value = self.reader.value(node.iter, scope)
        if not isinstance(value, Strings) or not isinstance(node.target, ast.Name) or len(node.body) != 1:
            return False
        (statement,) = node.body
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or self._written_to(call) is None:
            return False
        for item in value.items:
            scope.values[node.target.id] = item._replace(is_partial=item.is_partial or value.is_partial)
            self._write(call, scope)
        scope.values[node.target.id] = None
        return True

    # --- calls ---------------------------------------------------------------------------------------

    def _calls(self, node: ast.AST, scope: Scope) -> None:
        """Follows the calls in a statement or an expression."""
        left = [node]
        while left:
            inner = left.pop()
            if isinstance(inner, ast.Lambda):
                continue
            if isinstance(inner, ast.Call):
                self._call(inner, scope)
            left += children(inner)

    def _call(self, call: ast.Call, scope: Scope) -> None:
        name = name_of(call.func)
        if self._written_to(call) is not None:
            self._write(call, scope)
            return
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            if self._change(name, call.func.value.id, call, scope):
                return
            if name == "close":
                self._end_file(call.func.value.id)
        keywords = {each.arg: each.value for each in call.keywords}
        self._command(name, call, scope)
        if name in TRANSPARENT:
            return
        directives = directives_of(call, self.reader, scope)
        if directives is not None:
            self._add_found(directives, False, False)
        for node in (*call.args, *keywords.values()):
            if isinstance(node, ast.Starred):
                continue
            self._doubt(node, scope, name)
            if not isinstance(node, ast.Name | ast.JoinedStr | ast.BinOp | ast.Call | ast.Constant | ast.Attribute):
                continue
            value = self.reader.value(node, scope)
            self._take(value, name in ("communicate", "input") or node is keywords.get("input"))

    def _change(self, method: str, name: str, call: ast.Call, scope: Scope) -> bool:
        """Follows what a call does to a list; whether it does anything."""
        value = scope.find(name)
        if not isinstance(value, Strings):
            return False
        if method == "append" and len(call.args) == 1:
            item = self.reader.string(call.args[0], scope)
            scope.values[name] = Strings([*value.items, item], value.is_partial)
        elif method == "extend" and len(call.args) == 1:
            more = self.reader.value(call.args[0], scope)
            scope.values[name] = extended(value, more, span_of(self.source, call.args[0]))
        elif method in _CHANGES:
            scope.values[name] = value._replace(is_partial=True)
        else:
            return False
        return True

    def _doubt(self, node: ast.expr, scope: Scope, called: str = "") -> None:
        """Takes note that a list or a file is given to something that may change it."""
        if isinstance(node, ast.Name):
            file = self._files.get(node.id)
            if file is not None:
                file.string = file.string._replace(is_partial=True)
            value = scope.find(node.id)
            if isinstance(value, Strings) and called not in _READERS:
                scope.values[node.id] = value._replace(is_partial=True)

    @staticmethod
    def _written_to(call: ast.Call) -> ast.expr | None:
        """The file to which a call writes: of `file.write(…)`, `path.write_text(…)`, `print(…, file=file)`."""
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "write_text", "writelines"):
            return call.func.value if call.args else None
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            return next((each.value for each in call.keywords if each.arg == "file"), None)
        return None

    def _write(self, call: ast.Call, scope: Scope) -> None:
        target = self._written_to(call)
        assert target is not None
        name = name_of(call.func)
        if name == "write_text" or name == "write" and isinstance(target, ast.Call):
            value = self.reader.value(call.args[0], scope)
            self._take_written(value, target, scope)
            return
        key = target.id if isinstance(target, ast.Name) else ast.dump(target)
        file = self._files.setdefault(key, _File(None))
        string = self._printed(call, scope) if name == "print" else self._of_writing(call, scope)
        file.string = joined(file.string, string)

    def _of_writing(self, call: ast.Call, scope: Scope) -> String:
        value = self.reader.value(call.args[0], scope)
        if isinstance(value, Strings):
            found = String([], value.is_partial)
            for item in value.items:
                found = joined(found, item)
            return found
        if isinstance(value, Either):
            for each in value.values:
                self._take(each, True)
        return value if isinstance(value, String) else self.reader.string(call.args[0], scope)

    def _printed(self, call: ast.Call, scope: Scope) -> String:
        options = {each.arg: each.value for each in call.keywords}
        span = span_of(self.source, call)

        def separator(name: str, default: str) -> String:
            value = self.reader.value(options[name], scope) if name in options else None
            return value if isinstance(value, String) else String(at_place(default, span))

        found = String([])
        for number, node in enumerate(call.args):
            if number:
                found = joined(found, separator("sep", " "))
            found = joined(found, self.reader.string(node, scope))
        return joined(found, separator("end", "\n"))

    def _command(self, name: str, call: ast.Call, scope: Scope) -> None:
        """Takes a command line that is given to a shell or started."""
        first = started(call)
        if first is None or not (name in _SHELLS or name in _STARTERS or is_starting(name) or _RUNNER.match(name)):
            return
        value = self.reader.value(first, scope)
        if isinstance(value, String) and name == "create_subprocess_exec":
            value = self.reader.value(ast.List(call.args, ast.Load()), scope)
        for each in value.values if isinstance(value, Either) else (value,):
            line = command_of(each) if isinstance(each, Strings) else each
            if not isinstance(line, String) or line.text.startswith("#!") or not concerns_slurm(line.text):
                continue
            is_shells = line is not each or name in _SHELLS or is_for_a_shell(call)
            if is_shells or (_LINE if is_of_a_connection(call) else _COMMAND).match(line.text.lstrip()):
                self._add_found(line, True, False)

    # --- what leaves the program ------------------------------------------------------------------------

    def _end_files(self) -> None:
        for name in list(self._files):
            self._end_file(name)

    def _end_file(self, name: str) -> None:
        file = self._files.pop(name, None)
        if file is not None and file.string.characters:
            if isinstance(file.path, ast.Call) and is_opened(file.path) and path_of(file.path) in self._appended:
                file.string = file.string._replace(is_partial=True)
            if file.path is None:
                self._take(file.string, True, True)
            else:
                self._take_written(file.string, file.path, self.globals)

    def _take(self, value: Value, is_written: bool = False, is_given: bool = False) -> None:
        """Takes a script. `is_written`: as it is, also what comes before its first line. `is_given`: or returned."""
        if isinstance(value, Either):
            for each in value.values:
                self._take(each, is_written, is_given)
        elif isinstance(value, String):
            text = value.text
            is_whole = is_written and text.startswith("#!") and concerns_slurm(text)
            if is_whole or _SCRIPT.match(text.lstrip() if is_written else text):
                self._add_found(value, False, True)

    def _add_found(self, string: String, is_command: bool, is_whole: bool) -> None:
        self._found.append(_Found(string, is_command, is_whole))
        if is_command:
            self._sized_elsewhere |= self._sets_size(string)

    def _sets_size(self, string: String) -> bool:
        """Whether a command submits a script with options that may say how large the job is."""
        text = string.text
        for match in _OF_SUBMISSION.finditer(text):
            words = match[1]
            if "--wrap" in words:
                continue
            if any(each not in _HARMLESS for each in _OPTION.findall(words)):
                return True
            for at in range(*match.span(1)):
                span = string.characters[at].span
                if text[at] == SLOT and text[at - 1].isspace() and _OPTIONS_NAME.search(self.source.slice(span)):
                    return True
        return False

    def _take_written(self, value: Value, file: ast.expr, scope: Scope) -> None:
        """Takes what is written to a file whose name, where the program has it, may be that of a script."""
        names = self._names_of(file, scope)
        if not names or any(_SCRIPT_NAME.match(each) for each in names):
            self._take(value, True)
        elif not any(_OTHER_NAME.match(each) for each in names):
            for each in value.values if isinstance(value, Either) else (value,):
                if isinstance(each, String) and _SCRIPT.match(each.text.lstrip()):
                    self._take(each, True)

    def _names_of(self, file: ast.expr, scope: Scope) -> list[str]:
        """The words with a dot in what names a file."""
        texts: list[str] = []
        for node in ast.walk(file):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node, ast.Name):
                value = scope.find(node.id)
                if isinstance(value, String):
                    texts.append(value.text)
        return [each for each in texts if "." in each]

    def _add_templates(self) -> None:
        """Adds the scripts in constants that the program itself does not use: another one fills them in."""
        taken = {each.span.start for found in self._found for each in found.string.characters}
        for node in chain(self.tree.body, *(each.body for each in self.tree.body if isinstance(each, ast.ClassDef))):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            target = targets_of(node)[0]
            if not isinstance(target, ast.Name) or target.id in self._loaded:
                continue
            value = self.reader.value(node.value, self.globals)
            if not isinstance(value, String) or not _SCRIPT.match(value.text):
                continue
            if value.characters[0].span.start not in taken and not _DOLLARS.search(value.text):
                self._add_found(value, False, False)


def _begin(found: _Found) -> tuple[int, int]:
    return found.string.characters[0].span.start, -len(found.string.characters)


def _without_beginnings(found: list[_Found]) -> list[_Found]:
    """What is found without what is only the beginning of another, as it was passed on before more was added to it."""
    kept: list[_Found] = []
    others: dict[tuple[bool, int], list[_Found]] = {}  # those that begin at the same place
    for each in sorted(found, key=lambda one: (one.is_command, -len(one.string.characters))):
        characters = each.string.characters
        alike = others.setdefault((each.is_command, characters[0].span.start), [])
        if not any(other.string.characters[: len(characters)] == characters for other in alike):
            kept.append(each)
            alike.append(each)
    return kept
