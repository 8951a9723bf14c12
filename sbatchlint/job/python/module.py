"""What the text of one Python file tells: its imports, calls and names."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from sbatchlint.source.records import Record

if TYPE_CHECKING:  # slow to import, and not needed for most scripts
    import ast

# Parsing takes about a second per megabyte, and programs are seldom larger than this.
MOST_BYTES = 200_000
# Longer strings are prose, not names.
_LONGEST = 200


class Call(Record):
    """A call. `name`: with the module if an import tells it (`torch.cuda.set_device`); `.cuda` for a method."""

    name: str
    node: "ast.Call"

    @property
    def last(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    @property
    def certain(self) -> bool:
        """Whether all arguments are written: none comes from `*words` or `**options`."""
        import ast

        starred = any(isinstance(each, ast.Starred) for each in self.node.args)
        return not starred and all(each.arg is not None for each in self.node.keywords)

    def given(self, name: str) -> bool:
        """Whether the call has a keyword argument of this name."""
        return any(each.arg == name for each in self.node.keywords)

    def keyword(self, name: str) -> object:
        """The value of a keyword argument that is a constant; None for all others."""
        return next((constant(each.value) for each in self.node.keywords if each.arg == name), None)


class Module:
    """A file's imports, calls and names.

    `imports`: the modules that it imports, with `package.name` for `from package import name`; `relative`: relative
    imports, as (dots, "x", names) for `from .x import y`. `calls`: in the order of `ast.walk`. `strings`: its short
    strings; `names`: of its variables, attributes and arguments.
    """

    def __init__(self, tree: "ast.Module") -> None:
        import ast

        self.tree = tree
        self.imports: set[str] = set()
        self.relative: set[tuple[int, str, tuple[str, ...]]] = set()
        self.strings: set[str] = set()
        self.names: set[str] = set()
        known: dict[str, str] = {}
        calls = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                calls.append(node)
            elif isinstance(node, ast.Name):
                self.names.add(node.id)
            elif isinstance(node, ast.Attribute):
                self.names.add(node.attr)
            elif isinstance(node, ast.keyword | ast.arg):
                self.names.add(node.arg or "")
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and len(node.value) <= _LONGEST:
                    self.strings.add(node.value)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.imports.add(alias.name)
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    known[alias.asname or name] = name
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node, known)
        self.calls = [Call(_dotted(node.func, known), node) for node in calls]

    def _import_from(self, node: "ast.ImportFrom", known: dict[str, str]) -> None:
        names = tuple(alias.name for alias in node.names)
        if node.level:
            self.relative.add((node.level, node.module or "", names))
            return
        module = node.module or ""
        self.imports.add(module)
        for alias in node.names:
            self.imports.add(f"{module}.{alias.name}")
            known[alias.asname or alias.name] = f"{module}.{alias.name}"

    def called(self, *names: str) -> Iterator[Call]:
        """The calls of these names."""
        return (each for each in self.calls if each.name in names)


def constant(node: "ast.expr") -> object:
    """The value of a constant or a negative number; None for other expressions."""
    import ast

    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None


def _dotted(node: "ast.expr", known: dict[str, str]) -> str:
    """The dotted name of an expression (`torch.cuda.set_device`); `.x` for an attribute of an unknown object."""
    import ast

    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return f".{parts[0]}" if parts else ""
    if node.id not in known and parts:
        return f".{parts[0]}"
    return ".".join([known.get(node.id, node.id), *reversed(parts)])


@lru_cache(maxsize=32)
def module_of(data: bytes) -> Module | None:
    """A file's bytes as a module; None where this Python cannot parse them."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in its strings
            return Module(ast.parse(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
