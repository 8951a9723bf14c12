"""Batch scripts in the strings of a Python program: written to a file, or given to sbatch.

Only what is plainly constant is read: a string, or a variable that is set to one and nothing else, also through
`dedent` and `strip`. What a program puts together (f-strings, `format`) is not known. Nothing of the program is run.
"""

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.source.documents.blocks import concerns_slurm, is_piece
from sbatchlint.source.documents.snippet import Snippet
from sbatchlint.source.text import Source, Span

# Parsing takes about a second for a megabyte.
MOST_CHARACTERS = 500_000
_LITERAL = re.compile(r"([rRuU]?)('''|\"\"\"|'|\")")
_BETWEEN = re.compile(r"(?:[\s()]|\\\n|#[^\n]*)+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SCRIPT_NAME = re.compile(r".*\.(?:sbatch|slurm|slrm|job|batch|sh|bash)\Z|[^.]*\Z")
_STARTERS = frozenset(("run", "Popen", "call", "check_call", "check_output"))
_SHELLS = frozenset(("system", "popen", "getoutput", "getstatusoutput"))
_STRIPS = frozenset(("strip", "lstrip", "rstrip"))

# The characters of a string, each with its place in the program.
Characters = list[tuple[str, Span]]


class _Use(NamedTuple):
    """A string that leaves the program. `whole`: nothing else is written to the same file; `command`: of a shell."""

    value: ast.expr
    whole: bool
    command: bool = False


def scripts_in_strings(source: Source) -> list[Snippet]:
    """The scripts and commands in the strings of a program, in their order."""
    if len(source.text) > MOST_CHARACTERS or re.search(r"\r(?!\n)", source.text) or "\f" in source.text:
        return []
    try:
        tree = ast.parse(source.text)
        uses = _Uses(tree)
        found = {}
        for use in uses.found():
            snippet = _snippet(source, uses, use)
            if snippet is not None:
                found[snippet.place(0)] = snippet
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [snippet for _, snippet in sorted(found.items(), key=lambda item: item[0])]


_SCOPES = frozenset((ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
# What sets variables, beside an assignment of a value.
_BINDING = (ast.AugAssign, ast.For, ast.AsyncFor, ast.NamedExpr, ast.comprehension)
# What holds nothing that is looked for: two thirds of what is in a tree.
_LEAVES = frozenset((int, str, bool, type(None), ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.alias))


class _Uses:
    """What the variables of a program are set to, and its calls, each with the innermost `with` or function."""

    def __init__(self, tree: ast.AST) -> None:
        self.values: dict[str, list[ast.expr | None]] = {}
        self._calls: list[tuple[ast.Call, ast.AST | None]] = []
        left: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
        while left:  # each node before what is inside, in the order of the program
            node, scope = left.pop()
            kind = type(node)
            if kind in _SCOPES:
                scope = node
            elif isinstance(node, _BINDING):
                self._set(node.target, None)
            elif isinstance(node, ast.Call):
                self._calls.append((node, scope))
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._set(target, node.value)
            elif isinstance(node, ast.AnnAssign):
                self._set(node.target, node.value)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._set(node.optional_vars, node.context_expr)
            elif isinstance(node, ast.arg):
                self.values.setdefault(node.arg, []).append(None)
            inner: list[tuple[ast.AST, ast.AST | None]] = []
            for value in vars(node).values():
                if type(value) is list:
                    inner += [(each, scope) for each in value if type(each) not in _LEAVES]
                elif type(value) not in _LEAVES:
                    inner.append((value, scope))
            inner.reverse()
            left += inner

    def _set(self, target: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)
            return
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.values.setdefault(node.id, []).append(None)

    def value(self, node: ast.expr) -> ast.expr | None:
        """What an expression is, where it is a variable that is set once; itself where it is none."""
        if not isinstance(node, ast.Name):
            return node
        values = self.values.get(node.id, [])
        return values[0] if len(values) == 1 else None

    def found(self) -> Iterator[_Use]:
        """The strings that are written or given away."""
        writes: Counter[tuple[str, int]] = Counter()  # by file and scope; counted where a script is written
        for call, scope in self._calls:
            file = self._written_to(call)
            if file is not None:
                if call.args and self._may_be_script(call.args[0]) and self._is_script_file(file):
                    writes = writes or self._writes()
                    yield _Use(call.args[0], writes[ast.dump(file), id(scope)] == 1)
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            arguments = {each.arg: each.value for each in call.keywords}
            shell = arguments.get("shell")
            if call.args and (
                name in _SHELLS or name in _STARTERS and isinstance(shell, ast.Constant) and shell.value is True
            ):
                yield _Use(call.args[0], False, command=True)
            elif name in _STARTERS and call.args and "input" in arguments and _starts_sbatch(call.args[0]):
                yield _Use(arguments["input"], True)

    def _writes(self) -> Counter[tuple[str, int]]:
        """How often each file is written to, within one scope."""
        files = ((self._written_to(call), scope) for call, scope in self._calls)
        return Counter((ast.dump(file), id(scope)) for file, scope in files if file is not None)

    def _may_be_script(self, node: ast.expr) -> bool:
        """Whether an expression is neither put together nor plainly another text."""
        value = self.value(node)
        if isinstance(value, ast.Constant):
            return isinstance(value.value, str) and "#!" in value.value
        return isinstance(value, ast.Name | ast.Call)

    @staticmethod
    def _written_to(call: ast.Call) -> ast.expr | None:
        """The file to which a call writes: of `file.write(…)`, `path.write_text(…)`, `print(…, file=file)`."""
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "write_text", "writelines"):
            return call.func.value
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            return next((each.value for each in call.keywords if each.arg == "file"), None)
        return None

    def _is_script_file(self, file: ast.expr) -> bool:
        """Whether the name of a file, as far as it is written in the program, may be that of a script."""
        nodes = list(ast.walk(file))
        for _ in range(3):  # `path = …`, `open(path)`, `with … as file`
            names = [each.id for each in nodes if isinstance(each, ast.Name)]
            values = [value for name in names for value in self.values.get(name, ()) if value is not None]
            nodes += [inner for value in values for inner in ast.walk(value)]
            if len(nodes) > 1000:
                break
        texts = [each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        named = [each for each in texts if "." in each]
        return not named or any(_SCRIPT_NAME.match(each) for each in named)


def _starts_sbatch(node: ast.expr) -> bool:
    first = node.elts[0] if isinstance(node, ast.List | ast.Tuple) and node.elts else node
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.split()[:1] == ["sbatch"]


def _snippet(source: Source, uses: _Uses, use: _Use) -> Snippet | None:
    characters = _characters(source, uses, use.value, 0)
    if characters is None:
        return None
    text = "".join(character for character, _ in characters)
    if not concerns_slurm(text) or not use.command and not text.startswith("#!"):
        return None
    fragment = use.command or not use.whole or is_piece(text)
    lines = _lines(source.text, characters)
    if lines is not None:
        special = "\\'\""  # escapes, and what may end the string
        return Snippet(source, lines, fragment, special=special, open_end=not text.endswith("\n"))
    places = [(index, span) for index, (_, span) in enumerate(characters)]
    return Snippet(source, (), fragment, string=text, places=places)


def _lines(text: str, characters: Characters) -> list[Span] | None:
    """Where the lines of a string stand, if they are lines of the program as they are; else None."""
    lines = []
    begin = 0
    for index, (character, span) in enumerate(characters):
        if text[span.start : span.end].replace("\r\n", "\n") != character:
            return None
        if index > begin and characters[index - 1][1].end != span.start:
            return None
        if character == "\n":
            lines.append(Span(characters[begin][1].start, span.start))
            begin = index + 1
    if begin < len(characters):
        lines.append(Span(characters[begin][1].start, characters[-1][1].end))
    return lines


def _characters(source: Source, uses: _Uses, node: ast.expr, depth: int) -> Characters | None:
    """The characters of a string that is plainly constant, with their places; None for all else."""
    value = uses.value(node)
    if value is None or depth > 8:
        return None
    if isinstance(value, ast.Constant):
        return _of_literals(source, value) if isinstance(value.value, str) else None
    if isinstance(value, ast.Name):
        return _characters(source, uses, value, depth + 1)
    if not isinstance(value, ast.Call) or value.keywords:
        return None
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    if name == "dedent" and len(value.args) == 1:
        inner = _characters(source, uses, value.args[0], depth + 1)
        return None if inner is None else _dedented(inner)
    if isinstance(value.func, ast.Attribute) and (name in _STRIPS and not value.args or name == "encode"):
        inner = _characters(source, uses, value.func.value, depth + 1)
        return inner if inner is None or name == "encode" else _stripped(inner, name)
    return None


def _dedented(characters: Characters) -> Characters:
    lines = _split(characters)
    after = textwrap.dedent("".join(character for character, _ in characters)).split("\n")
    found: Characters = []
    for line, text in zip(lines, after):
        ends = line[-1:] if line and line[-1][0] == "\n" else []
        body = line[: len(line) - len(ends)]
        found += body[len(body) - len(text) :] if text else []
        found += ends
    return found


def _split(characters: Characters) -> list[Characters]:
    """The lines, each with its newline; the last one has none."""
    lines: list[Characters] = [[]]
    for character in characters:
        lines[-1].append(character)
        if character[0] == "\n":
            lines.append([])
    return lines


def _stripped(characters: Characters, method: str) -> Characters:
    low, high = 0, len(characters)
    while method != "rstrip" and low < high and characters[low][0].isspace():
        low += 1
    while method != "lstrip" and low < high and characters[high - 1][0].isspace():
        high -= 1
    return characters[low:high]


def _of_literals(source: Source, node: ast.Constant) -> Characters | None:
    """The characters of a string that is written as one literal, or as several in a row."""
    begin, end = _place(source, node.lineno, node.col_offset), _place(source, node.end_lineno, node.end_col_offset)
    text = source.text
    found: Characters = []
    at = begin
    while at < end:
        between = _BETWEEN.match(text, at, end)
        at = at if between is None else between.end()
        if at >= end:
            break
        literal = _LITERAL.match(text, at, end)
        if literal is None:
            return None
        body = _body(text, literal.end(), end, literal[2], raw=literal[1].lower() == "r")
        if body is None:
            return None
        found += body[0]
        at = body[1]
    return found if "".join(character for character, _ in found) == node.value else None


def _body(text: str, at: int, end: int, quote: str, raw: bool) -> tuple[Characters, int] | None:
    """The characters of a literal up to its closing quote, and where it ends; None for escapes by number or name."""
    found: Characters = []
    while at < end and not text.startswith(quote, at):
        if text[at] == "\\" and raw:
            found.append(("\\", Span(at, at + 1)))
            at += 1
            found.append((text[at], Span(at, at + 1)))
            at += 1
        elif text[at] == "\\":
            size = 3 if text.startswith("\r\n", at + 1) else 2
            if text[at + 1] in _ESCAPES:
                found.append((_ESCAPES[text[at + 1]], Span(at, at + 2)))
            elif text[at + 1] in "01234567xuUN":
                return None
            elif text[at + 1] not in "\r\n":  # an unknown escape stands for both of its characters
                found += [("\\", Span(at, at + 1)), (text[at + 1], Span(at + 1, at + 2))]
            at += size
        elif text.startswith("\r\n", at):
            found.append(("\n", Span(at, at + 2)))
            at += 2
        else:
            found.append((text[at], Span(at, at + 1)))
            at += 1
    return (found, at + len(quote)) if at < end else None


def _place(source: Source, row: int | None, column: int | None) -> int:
    """The offset of a place as ast gives it, in bytes of a line."""
    line = source.line(row or 1)
    written = source.slice(line).encode("utf-8", "surrogateescape")[: column or 0]
    return line.start + len(written.decode("utf-8", "surrogateescape"))
