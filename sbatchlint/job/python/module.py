"""One Python file, as far as its text alone tells what it does."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and most scripts have no program beside them
    import ast

# Parsing takes about a second for a megabyte, and programs are seldom larger than this.
MOST_BYTES = 200_000
# Longer strings are texts, and name nothing.
_LONGEST = 200


class Call:
    """A call: `name` of what is called, with its module where an import tells it (`torch.cuda.set_device`); a method
    of an object has a dot and its own name (`.cuda`). `node`: as it is written."""

    __slots__ = ("name", "node")

    def __init__(self, name: str, node: "ast.Call") -> None:
        self.name = name
        self.node = node

    @property
    def last(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    @property
    def certain(self) -> bool:
        """Whether all of its arguments are written: none comes from `*words` or `**options`."""
        import ast

        starred = any(isinstance(each, ast.Starred) for each in self.node.args)
        return not starred and all(each.arg is not None for each in self.node.keywords)

    def given(self, name: str) -> bool:
        return any(each.arg == name for each in self.node.keywords)

    def keyword(self, name: str) -> object:
        """The value of an argument that is written as a constant; None for all others."""
        for other_keyword in self.node.keywords:
            if other_keyword.arg == name:
                return constant(other_keyword.value)
        return None


class Module:
    """A file's imports, calls and words.

    `imports`: the modules that it names, also as `package.name` for `from package import name`; `relative`: those of
    `from .x import y`, as (dots, "x", names). `calls`: in the order of `ast.walk`. `strings`: its short strings;
    `names`: of its variables, attributes and arguments.
    """

    __slots__ = ("calls", "imports", "names", "relative", "strings", "tree")

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
                    known[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
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
    """The value of a constant, also of a negative number; None for everything else."""
    import ast

    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None


def _dotted(node: "ast.expr", known: dict[str, str]) -> str:
    """What an expression names: `torch.cuda.set_device`; `.x` for an attribute of what is computed."""
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
    """What a file's bytes hold; None where they are no program of this Python."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in its strings
            return Module(ast.parse(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
