"""What a Python program without an argument parser does with its arguments: `sys.argv`, or nothing at all."""

import ast
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sbatchlint.job.python.flow import ENDING, Flow, is_main
from sbatchlint.job.python.module import Module, constant
from sbatchlint.job.python.program import PythonProgram
from sbatchlint.source.numbers import parse_integer

# Packages that look at no argument of the program when they are imported or used, but for the names below.
_QUIET = frozenset({
    "accelerate", "anndata", "astropy", "Bio", "bs4", "cartopy", "cupy", "cv2", "dask", "datasets", "einops",
    "emcee", "gym", "gymnasium", "h5py", "healpy", "imageio", "jax", "joblib", "keras", "lightgbm", "lxml",
    "matplotlib", "mpi4py", "mpl_toolkits", "netCDF4", "networkx", "nibabel", "nltk", "numba", "numpy", "openpyxl",
    "pandas", "PIL", "plotly", "psutil", "pyarrow", "pysam", "qutip", "rdkit", "requests", "scanpy", "scipy",
    "seaborn", "skimage", "sklearn", "statsmodels", "sympy", "tensorflow", "tensorflow_datasets", "timm",
    "tokenizers", "torch", "torchaudio", "torchvision", "tqdm", "transformers", "wandb", "xarray", "xgboost",
    "yaml", "zarr",
})  # fmt: skip
# Modules of Python that read the arguments, or run other code that may.
_READERS = frozenset({
    "argparse", "cmd", "code", "ctypes", "doctest", "fileinput", "getopt", "importlib", "optparse", "pdb", "runpy",
    "trace", "unittest",
})  # fmt: skip
_READING = frozenset({
    "__import__", "app", "ArgumentParser", "argv", "cli", "cmdline", "execfile", "flags", "FLAGS", "get_config",
    "getopt", "HfArgumentParser", "import_module", "init_from_cli", "LightningCLI", "orig_argv", "parse_args",
    "parse_known_args", "run_module", "run_path", "TrlParser",
})  # fmt: skip
# Functions that leave a list as it is.
_LOOKING = frozenset({"len", "print", "join", "info", "list", "str", "repr", "enumerate", "tuple"})
_SAYING = frozenset({"print", "usage", "print_usage", "write", "error", "help", "print_help", *ENDING})
_OPERATORS = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


class Use(NamedTuple):
    """A place at which a program may fail for its arguments.

    `row`: of the program. `argument`: the one that it reads, 0 for a test of their number; `kind`: the function that
    it is given to, "int" or "float". `test`: the operator and the number of words that `len(sys.argv)` is compared
    with; None where the test is not understood. `fails`: whether the program only says so and ends there.
    """

    row: int
    argument: int
    kind: str = ""
    test: tuple[Callable[[int, int], bool], int] | None = None
    fails: bool = False


def ignores_arguments(program: PythonProgram) -> bool:
    """Whether nothing in a program looks at its arguments."""
    if not program.complete or not program.foreign <= _QUIET:
        return False
    imported = {part for name in program.imports for part in name.split(".")}
    if imported & (_READERS | _READING) or program.names & _READING:
        return False
    return not any(call.name in ("exec", "eval") for call in program.calls)


class CommandLine:
    """The uses of `sys.argv` in a program's own file that always run, in the order of the text."""

    def __init__(self, module: Module) -> None:
        self.uses: list[Use] = []
        if module.names & {"ArgumentParser", "OptionParser", "orig_argv"} or "argv" not in module.names:
            return
        if "sys" not in module.imports or "sys.argv" in module.imports:
            return
        self.flow = Flow(module.tree)
        found: list[Use] = []
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr == "argv":
                if not self._is_only_read(node):
                    return
                user = self.flow.parents[node]
                index = constant(user.slice) if isinstance(user, ast.Subscript) else None
                if isinstance(index, int) and index > 0 and self.flow.always_runs(user):
                    found.append(Use(node.lineno, index, self._converted(user)))
            elif isinstance(node, ast.If) and _mentions_arguments(node.test) and not is_main(node.test):
                ends = [each for part in node.body for each in ast.walk(part) if _is_end(each)]
                if ends and self.flow.always_runs(node):
                    found.append(Use(node.lineno, 0, "", _test(node.test), _only_says(node.body)))
        self.uses = sorted(found, key=lambda use: (use.row, use.argument))

    def _is_only_read(self, node: ast.Attribute) -> bool:
        """Whether the list of arguments is not changed by a use of it, nor given a name under which it may be."""
        user = self.flow.parents[node]
        if isinstance(user, ast.Subscript):
            return isinstance(user.ctx, ast.Load)
        if isinstance(user, ast.Call) and isinstance(user.func, ast.Name | ast.Attribute):
            return (user.func.id if isinstance(user.func, ast.Name) else user.func.attr) in _LOOKING
        return isinstance(user, ast.Compare | ast.FormattedValue | ast.For)

    def _converted(self, node: ast.AST) -> str:
        """The function of numbers that gets an argument as it is."""
        call = self.flow.parents[node]
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args == [node] and not call.keywords:
            return call.func.id if call.func.id in ("int", "float") else ""
        return ""

    def refused(self, words: Sequence[str | None]) -> Use | None:
        """The first use at which the program fails with these arguments; None stands for one that is not known."""
        for use in self.uses:
            if use.argument == 0:
                if use.test is None:
                    return None
                compare, number = use.test
                if compare(len(words) + 1, number):
                    return use if use.fails else None
            elif use.argument > len(words) or use.kind and not _is_number(words[use.argument - 1], use.kind):
                return use
        return None


def _is_number(word: str | None, kind: str) -> bool:
    try:
        return word is None or (parse_integer(word.replace("_", "")) if kind == "int" else float(word)) is not None
    except ValueError:
        return False


def _mentions_arguments(test: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "argv" for each in ast.walk(test))


def _is_end(node: ast.AST) -> bool:
    if isinstance(node, ast.Return | ast.Raise):
        return True
    return isinstance(node, ast.Call) and _name(node.func) in ENDING


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _only_says(body: list[ast.stmt]) -> bool:
    """Whether statements only print something and end the program with an error."""
    *said, last = body
    calls = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) for each in said)
    if not calls or not all(_name(each.value.func) in _SAYING for each in said):  # type: ignore[attr-defined]
        return False
    if isinstance(last, ast.Raise):
        return True
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call) or _name(last.value.func) not in ENDING:
        return False
    return bool(said) or bool(last.value.args)


def _test(test: ast.expr) -> tuple[Callable[[int, int], bool], int] | None:
    """The comparison of `len(sys.argv)` with a number; None for another test."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Call):
        return None
    counted = _name(test.left.func) == "len" and len(test.left.args) == 1 and _name(test.left.args[0]) == "argv"
    number, compare = constant(test.comparators[0]), _OPERATORS.get(type(test.ops[0]))
    return (compare, number) if counted and isinstance(number, int) and compare is not None else None
