"""Commands that run Python programs: uv run, poetry run, coverage run, kernprof, py-spy, viztracer, also by `-m`.

uv options as `uv run --help` of uv 0.9; coverage 7, viztracer 1.1, py-spy 0.4, line_profiler 5.
"""

from sbatchlint.bash.trace import Spawn
from sbatchlint.bash.values import Pieces, literal, shown_text, span_of, text_of
from sbatchlint.job.argv import Argv, Reading, basename, read, syntax
from sbatchlint.job.launchers.python import is_interpreter, python_command

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
# Names of runners, with those of the interpreter (`python -m coverage run`).
NAMES = _TOOLS.union(
    ("uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "rye", "python", "python2", "python3", "pypy", "pypy3"),
    [f"python3.{minor}" for minor in range(5, 20)],
)


def _operand(reading: Reading) -> int | None:
    return reading.operand if reading.operand_certain or reading.certain else None


def _flagged(reading: Reading, *names: str) -> bool:
    return any(each.name in names for each in reading.options)


def _words(argv: Argv, *words: str) -> tuple[Pieces, ...]:
    """Words that are not in the script, at the place of the runner's name."""
    start = span_of(argv[0]).start
    return tuple((literal(word, start).replace(end=start),) for word in words)


def _uv(argv: Argv) -> Spawn | None:
    top = read(argv, 1, UV)
    at = top.operand
    verb = None if at is None else text_of(argv[at])
    if at is None or verb not in ("run", "tool"):
        return None
    if verb == "tool":
        if at + 1 >= len(argv) or text_of(argv[at + 1]) != "run":
            return None
        return Spawn("uv tool run", _operand(read(argv, at + 2, UV)))
    reading = read(argv, at + 1, UV)
    inside = _operand(reading)
    if inside is None:
        return Spawn("uv run", None)
    written = shown_text(argv[inside])
    prefix: tuple[Pieces, ...] = ()
    if _flagged(reading, "module"):
        prefix = _words(argv, "python", "-m")
    elif _flagged(reading, "script", "gui-script") or written.endswith((".py", ".pyw")) or "://" in written:
        prefix = _words(argv, "python")
    return Spawn("uv run", inside, prefix=prefix)


def _with_run(name: str, argv: Argv) -> Spawn | None:
    """What `poetry run command…` and the like start; None for other verbs."""
    known = _POETRY if name == "poetry" else _PDM
    top = read(argv, 1, known)
    if top.operand is None or text_of(argv[top.operand]) != "run":
        return None
    inside = _operand(read(argv, top.operand + 1, known))
    is_script = name == "pdm" and inside is not None and shown_text(argv[inside]).endswith(".py")
    return Spawn(f"{name} run", inside, prefix=_words(argv, "python") if is_script else ())


def _script(kind: str, argv: Argv, reading: Reading, *module_flags: str) -> Spawn:
    """What a tool starts that runs a Python file, or a module if one of these flags is set."""
    words = ("python", "-m") if _flagged(reading, *module_flags) else ("python",)
    return Spawn(kind, _operand(reading), prefix=_words(argv, *words))


def _tool(name: str, argv: Argv, start: int) -> Spawn | None:
    """What a Python tool starts whose own arguments begin at `start`; None where it starts nothing."""
    if name == "coverage":
        if start >= len(argv) or text_of(argv[start]) != "run":
            return None
        return _script("coverage run", argv, read(argv, start + 1, _COVERAGE), "module")
    if name == "kernprof":
        return _script(name, argv, read(argv, start, _KERNPROF), "m")
    if name == "viztracer":
        return _script(name, argv, read(argv, start, _VIZTRACER), "module")
    if name == "scalene":
        if start < len(argv) and text_of(argv[start]) == "run":
            start += 1
        return _script(name, argv, read(argv, start, _SCALENE))
    if name in ("cProfile", "profile"):
        return _script(name, argv, read(argv, start, _FLAGS_ONLY), "m")
    if name in ("pdb", "memory_profiler"):
        return _script(name, argv, read(argv, start, syntax("c", "m t")), "m")
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


def runs(name: str, argv: Argv) -> Spawn | None:
    """What a runner of Python programs starts; None for other commands."""
    if name == "uv":
        return _uv(argv)
    if name == "uvx":
        return Spawn("uvx", _operand(read(argv, 1, UV)))
    if name in ("poetry", "pipenv", "pdm", "hatch", "rye"):
        return _with_run(name, argv)
    if name == "py-spy":
        if len(argv) < 2 or text_of(argv[1]) not in ("record", "top"):
            return None
        reading = read(argv, 2, _PY_SPY)
        return None if _flagged(reading, "pid") else Spawn(f"py-spy {text_of(argv[1])}", _operand(reading))
    if name in _TOOLS:
        return _tool(name, argv, 1)
    if is_interpreter(name):
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
