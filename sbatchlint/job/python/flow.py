"""Which code of a Python file runs for certain, and which variable a name stands for."""

import ast

from sbatchlint.job.python.module import constant

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope = _Function | ast.ClassDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Module
# What may be around a call that runs whenever the code around it does.
_STRAIGHT = (
    ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Attribute, ast.Call, ast.keyword, ast.Starred,
    ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.Slice, ast.withitem, ast.With,
)  # fmt: skip
# The functions that end a program.
ENDING = frozenset({"exit", "_exit", "quit"})
_READING = frozenset({"keys", "values", "items", "get", "copy", "index", "count"})


class Flow:
    """The statements of a file. `parents`: of each node; `functions`: by name, None where several have that name.

    `is_program`: whether the file is started, so that `if __name__ == "__main__"` holds, or only imported.
    """

    def __init__(self, tree: ast.Module, is_program: bool = True) -> None:
        self.tree = tree
        self.is_program = is_program
        self.parents: dict[ast.AST, ast.AST] = {}
        self.functions: dict[str, ast.FunctionDef | None] = {}
        self._names: dict[str, list[ast.Name]] = {}
        self._bound: dict[ast.AST, set[str]] = {}
        self._outer: set[str] = set()
        self._left: dict[ast.AST, int] = {}  # the first line on which a branch may end a function or the program
        names: list[ast.Name] = []
        ends: list[ast.Return | ast.Call] = []
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = None if node.name in self.functions else node
            if isinstance(node, ast.Name):
                names.append(node)
            elif isinstance(node, ast.arg):
                self._bound.setdefault(self._around(node), set()).add(node.arg)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                self._outer.update(node.names)
            elif isinstance(node, ast.Return) or isinstance(node, ast.Call) and ends_well(node):
                ends.append(node)
        for name in names:
            self._names.setdefault(name.id, []).append(name)
            if not isinstance(name.ctx, ast.Load):
                self._bound.setdefault(self._around(name), set()).add(name.id)
        for end in ends:
            body = self.body(end)
            if not self.is_straight(end):
                self._left[body] = min(end.lineno, self._left.get(body, end.lineno))

    def _around(self, node: ast.AST) -> ast.AST:
        """The scope around a node."""
        at = self.parents[node]
        while not isinstance(at, _Scope):
            at = self.parents[at]
        return at

    def body(self, node: ast.AST) -> ast.AST:
        """The function or the module whose body holds a node."""
        at = self.parents[node]
        while not isinstance(at, _Function | ast.Module):
            at = self.parents[at]
        return at

    def scope(self, name: ast.Name) -> ast.AST:
        """The function, comprehension, class or module that has the variable that a name stands for."""
        at = self._around(name)
        while at is not self.tree and name.id not in self._bound.get(at, ()):
            at = self._around(at)
        return at

    def is_shared(self, name: str) -> bool:
        """Whether some function has a variable of this name that is an outer one (`global`)."""
        return name in self._outer

    def uses(self, name: str, scope: ast.AST) -> list[ast.Name]:
        """Where a variable of a scope is named, in the order of the text."""
        found = [each for each in self._names.get(name, ()) if self.scope(each) is scope]
        return sorted(found, key=lambda each: (each.lineno, each.col_offset))

    def is_straight(self, node: ast.AST) -> bool:
        """Whether a node is in no branch, loop or handler of its function or module."""
        child, at = node, self.parents[node]
        while not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            main = self.is_program and isinstance(at, ast.If) and is_main(at.test) and child in at.body
            if not main and not isinstance(at, _STRAIGHT):
                return False
            child, at = at, self.parents[at]
        return True

    def always_runs(self, node: ast.AST, for_certain: bool = False) -> bool:
        """Whether the program reaches a node unless it ends before: outside branches, in functions called so.

        `for_certain`: no branch before it ends the function or the program without an error, either.
        """
        seen: set[ast.AST] = set()
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if not self.is_straight(at):
                continue
            body = self.body(at)
            if for_certain and self._left.get(body, at.lineno) < at.lineno:  # type: ignore[attr-defined]
                continue
            if body is self.tree:
                return True
            if isinstance(body, ast.FunctionDef) and body not in seen and self.functions.get(body.name) is body:
                seen.add(body)
                calls = [self.parents[name] for name in self._names.get(body.name, ())]
                waiting += [call for call in calls if isinstance(call, ast.Call) and self._calls(call, body.name)]
        return False

    @staticmethod
    def _calls(call: ast.Call, name: str) -> bool:
        return isinstance(call.func, ast.Name) and call.func.id == name

    def literal_keys(self, node: ast.expr) -> list[object] | None:
        """The elements of a list of constants, or the keys of a table, also of one that has a name of the module."""
        if isinstance(node, ast.Call) and not node.keywords:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "keys" and not node.args:
                return self.literal_keys(node.func.value)
            copied = isinstance(node.func, ast.Name) and node.func.id in ("list", "sorted", "tuple", "set")
            return self.literal_keys(node.args[0]) if copied and len(node.args) == 1 else None
        if isinstance(node, ast.Name):
            value = self.module_value(node)
            return None if value is None or isinstance(value, ast.Name) else self.literal_keys(value)
        keys: list[ast.expr | None]
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            keys = list(node.elts)
        elif isinstance(node, ast.Dict):
            keys = list(node.keys)
        else:
            return None
        found = [None if each is None else constant(each) for each in keys]
        return None if None in found else found

    def module_value(self, name: ast.Name) -> ast.expr | None:
        """What a name of the module is set to, once and for all; None if it may change."""
        if self.scope(name) is not self.tree or self.is_shared(name.id):
            return None
        value = None
        uses = self.uses(name.id, self.tree)
        for use in uses:
            user = self.parents[use]
            if not isinstance(use.ctx, ast.Load):
                alone = isinstance(user, ast.Assign) and len(user.targets) == 1 or isinstance(user, ast.AnnAssign)
                if value is not None or not alone or not self.is_straight(use):
                    return None
                assert isinstance(user, ast.Assign | ast.AnnAssign)
                value = user.value
            elif isinstance(user, ast.Attribute):
                if user.attr not in _READING:
                    return None
            elif isinstance(user, ast.Subscript) and not isinstance(user.ctx, ast.Load):
                return None
        return value


def ends_well(call: ast.Call) -> bool:
    """Whether a call ends the program with success: `exit()`, `sys.exit(0)`."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name in ENDING and (not call.args or constant(call.args[0]) in (0, None))


def is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
