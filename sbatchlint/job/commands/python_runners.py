"""Wrappers of Python: uv run, poetry run, coverage run, kernprof, py-spy, viztracer, `python -m` of such modules.

uv options as `uv run --help` of uv 0.9; coverage 7, viztracer 1.1, py-spy 0.4, line_profiler 5.
"""

from __future__ import annotations

from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job.commands.argv import Argv, Reading, basename, read, syntax
from sbatchlint.job.launchers.python import is_python, python_command


class Run:
    """`kind`: the runner; `at`: index of what it runs; `prefix`: what it puts before that (`python -m`)."""

    __slots__ = ("at", "kind", "loads_environment", "prefix")

    def __init__(
        self, kind: str, at: int | None, prefix: tuple[str, ...] = (), loads_environment: bool = False
    ) -> None:
        self.kind = kind
        self.at = at
        self.prefix = prefix
        self.loads_environment = loads_environment


_UV_VALUES = """extra no-extra group no-group only-group no-editable-package env-file w/with with with-editable
with-requirements package python-platform index default-index i/index-url index-url extra-index-url f/find-links
find-links index-strategy keyring-provider P/upgrade-package upgrade-package upgrade-group resolution prerelease
prerelease-package fork-strategy exclude-newer exclude-newer-package no-sources-package reinstall-package link-mode
C/config-setting config-setting config-settings-package no-build-isolation-package no-build-package no-binary-package
cache-dir refresh-package p/python python color allow-insecure-host directory project config-file from
constraints c/constraints overrides b/build-constraints build-constraints torch-backend"""
_UV_FLAGS = """all-extras no-dev dev only-dev no-default-groups all-groups m/module module no-editable exact no-env-file
isolated active no-active no-sync locked frozen s/script script gui-script all-packages no-project no-index U/upgrade
upgrade no-sources reinstall compile-bytecode no-build-isolation no-build no-binary n/no-cache no-cache refresh
managed-python no-managed-python no-python-downloads q/quiet quiet v/verbose verbose system-certs native-tls offline
no-progress no-config h/help help require-build-hashes no-require-build-hashes"""
UV = syntax(_UV_VALUES, _UV_FLAGS)

_COVERAGE = syntax(
    "concurrency context data-file include omit rcfile source save-signal",
    "a/append append branch L/pylib pylib m/module module p/parallel-mode parallel-mode timid",
    abbreviations=True,
)
_KERNPROF = syntax(
    "o/outfile outfile s/setup setup p/prof-mod prof-mod u/unit unit i/output-interval output-interval c/config config",
    "l/line-by-line line-by-line b/builtin builtin v/view view r/rich rich z/skip-zero skip-zero m q/quiet quiet "
    "prof-imports no-config summarize",
)
_VIZTRACER = syntax(
    "o/output_file output_file tracer_entries max_stack_depth plugins include_files exclude_files min_duration "
    "subprocess_child output_dir trim_path log_func_filter rcfile t",
    "u/unique_output_file unique_output_file quiet log_multiprocess log_subprocess log_async log_gc log_print "
    "log_sparse log_torch log_exception ignore_c_function ignore_frozen ignore_multiprocess pid_suffix open "
    "minimize_memory m/module module sanitize_function_name file_info",
    underscores=True,
)
_PY_SPY = syntax(
    "p/pid pid r/rate rate d/duration duration o/output output f/format format full-filenames",
    "s/subprocesses subprocesses n/native native i/idle idle g/gil gil t/threads threads F function nonblocking "
    "nolineno b/blocking",
)
_POETRY = syntax("C/directory directory P/project project", "n/no-interaction no-interaction q/quiet quiet v no-ansi")
_PDM = syntax("p/project project e/environment", "s/site-packages site-packages v/verbose verbose")
_SCALENE = syntax(
    "outfile profile-interval cpu-percent-threshold profile-only profile-exclude malloc-threshold",
    "cpu gpu memory cli html json reduced-profile off on use-virtual-time no-browser web",
)
_FLAGS_ONLY = syntax("o s f", "m")


_TOOLS = frozenset({"coverage", "kernprof", "viztracer", "py-spy", "scalene"})
# Names that a runner may have, the interpreter's among them (`python -m coverage run`).
NAMES = _TOOLS.union(
    ("uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "rye", "python", "python2", "python3", "pypy", "pypy3"),
    [f"python3.{minor}" for minor in range(5, 20)],
)


def _operand(reading: Reading) -> int | None:
    return reading.operand if reading.operand_certain or reading.certain else None


def _flagged(reading: Reading, *names: str) -> bool:
    return any(each.name in names for each in reading.given)


def _uv(argv: Argv) -> Run | None:
    top = read(argv, 1, UV)
    at = top.operand
    verb = None if at is None else text_of(argv[at])
    if at is None or verb not in ("run", "tool"):
        return None
    if verb == "tool":
        if at + 1 >= len(argv) or text_of(argv[at + 1]) != "run":
            return None
        return Run("uv tool run", _operand(read(argv, at + 2, UV)))
    reading = read(argv, at + 1, UV)
    inside = _operand(reading)
    loads = _flagged(reading, "env-file")
    if inside is None:
        return Run("uv run", None, (), loads)
    if _flagged(reading, "module"):
        return Run("uv run", inside, ("python", "-m"), loads)
    written = shown_text(argv[inside])
    if _flagged(reading, "script", "gui-script") or written.endswith((".py", ".pyw")) or "://" in written:
        return Run("uv run", inside, ("python",), loads)
    return Run("uv run", inside, (), loads)


def _verbed(name: str, argv: Argv, top_syntax_verb: str = "run") -> Run | None:
    known = _POETRY if name == "poetry" else _PDM
    top = read(argv, 1, known)
    if top.operand is None or text_of(argv[top.operand]) != top_syntax_verb:
        return None
    reading = read(argv, top.operand + 1, known)
    inside = _operand(reading)
    if name == "pdm" and inside is not None and shown_text(argv[inside]).endswith(".py"):
        return Run("pdm run", inside, ("python",))
    return Run(f"{name} run", inside, (), name == "pipenv")


def _script(kind: str, reading: Reading, *module_flags: str) -> Run:
    """A tool that runs a Python file, or a module where one of these flags is given."""
    prefix = ("python", "-m") if _flagged(reading, *module_flags) else ("python",)
    return Run(kind, _operand(reading), prefix)


def _tool(name: str, argv: Argv, start: int) -> Run | None:
    """A tool of Python whose own arguments begin at `start`."""
    if name == "coverage":
        if start >= len(argv) or text_of(argv[start]) != "run":
            return None
        return _script("coverage run", read(argv, start + 1, _COVERAGE), "module")
    if name == "kernprof":
        return _script("kernprof", read(argv, start, _KERNPROF), "m")
    if name == "viztracer":
        reading = read(argv, start, _VIZTRACER)
        return _script("viztracer", reading, "module")
    if name == "scalene":
        if start < len(argv) and text_of(argv[start]) == "run":
            start += 1
        return _script("scalene", read(argv, start, _SCALENE))
    if name in ("cProfile", "profile"):
        return _script(name, read(argv, start, _FLAGS_ONLY), "m")
    if name in ("pdb", "trace", "memory_profiler", "mprof"):
        return _script(name, read(argv, start, syntax("c", "m t", single_dash=False)), "m")
    return None


_MODULES = {
    "coverage": "coverage",
    "kernprof": "kernprof",
    "line_profiler": "kernprof",
    "viztracer": "viztracer",
    "scalene": "scalene",
    "cProfile": "cProfile",
    "profile": "profile",
    "pdb": "pdb",
    "memory_profiler": "memory_profiler",
}


def runs(name: str, argv: Argv) -> Run | None:
    """What a runner of Python programs runs; None where the command is no runner."""
    if name == "uv":
        return _uv(argv)
    if name == "uvx":
        return Run("uvx", _operand(read(argv, 1, UV)))
    if name in ("poetry", "pipenv", "pdm", "hatch", "rye"):
        return _verbed(name, argv)
    if name == "py-spy":
        if len(argv) < 2 or text_of(argv[1]) not in ("record", "top"):
            return None
        reading = read(argv, 2, _PY_SPY)
        return None if _flagged(reading, "pid") else Run(f"py-spy {text_of(argv[1])}", _operand(reading))
    if name in _TOOLS:
        return _tool(name, argv, 1)
    if is_python(argv[0]):
        command = python_command(argv)
        if command is None:
            return None
        if command.kind == "module" and command.text is not None:
            tool = _MODULES.get(command.text.removesuffix(".__main__"))
            return None if tool is None else _tool(tool, argv, command.after)
        if command.kind == "script" and command.target is not None:
            # `python $(which coverage) run …`
            tool = basename(command.target)
            return _tool(tool, argv, command.after) if tool in _TOOLS else None
    return None
