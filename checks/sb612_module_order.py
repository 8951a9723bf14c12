"""A module is lost or another program runs: the module is loaded in the wrong place.

`module purge` unloads everything, so what was loaded above it is lost again, and the job runs with the system's
programs or with none. A program that runs above its `module load` is another one, or is not found. And a module with
its own python (`python`, `anaconda`, `pytorch`), loaded after `conda activate` or a virtual environment, puts that
python first: the packages of the environment are not found, or others are. A package of EasyBuild's
(`PyTorch/1.12.1-foss-2022a`) brings only the python of its `Python` module, which is not loaded again where it was
loaded before. Of two modules of MPI (`openmpi`, `intelmpi`) the second replaces the first, or hides its `mpirun`,
while the program was built
with one of them.

Advice for a purge after which other modules are loaded, where the job runs no program of a module that is lost.
Only what the script's own shell does on every path is reported: a purge after loads with nothing in between that could
use them; a program that runs, then the load of the module with its name, then the program again; a Python module after
an activation, followed by some python, or by any script if it is a virtual environment; two modules of MPI with no work
and no unload between them.

## Fix

Moves `module purge` above the first load. Unsafe: the loads may have been meant to go. None for the others.

## References

module(1), "purge" and "load", of Environment Modules and Lmod; conda's documentation, "Managing environments"
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.script.activations import calls_conda_function, sources_activate
from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.programs import by_program
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB612", "module-order", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("module", "ml"), seen="module(1) of Environment Modules 5 and Lmod 8",
)  # fmt: skip

# Modules that provide a python, by the first part of their name.
PYTHON = Regex(
    r"(?i)(?:cray-|intel-?|idp_?)?python[-\d.]*|(?:ana|mini)conda\w*|mini(?:forge|mamba)\w*|mambaforge\w*|conda\d*"
    r"|pytorch[-\w]*|torch|tensorflow[-\w]*|jax"
)
# Modules that are named for Python itself.
_PYTHON_ITSELF = Regex(r"(?i)(?:cray-|intel-?|idp_?)?python[-\d.]*")
# A module that EasyBuild has made: `Name/1.2-foss-2022a`, or its own spelling of a name. It depends on other modules.
_EASYBUILD = Regex(
    r"[^/]+/.*-(?:foss|fosscuda|intel|intelcuda|gfbf|gompi|gompic|gomkl|gobff|goolf|goolfc|iimpi|iomkl|iimkl|lfbf|nvompi|NVHPC"
    r"|GCC|GCCcore|gcccuda|golf|pomkl|intel-compilers)-\w.*|(?:PyTorch|TensorFlow)\b.*"
)
# Modules of MPI, by the library.
_MPI = {
    "openmpi": "Open MPI", "ompi": "Open MPI", "intelmpi": "Intel MPI", "intel-mpi": "Intel MPI", "impi": "Intel MPI",
    "mpich": "MPICH", "mvapich": "MVAPICH", "mvapich2": "MVAPICH",
}  # fmt: skip
ENVIRONMENT = Regex(r"(?:.*/)?bin/activate")
_SCRIPT = Regex(r"\S+\.(?:sh|bash|py)")
PYTHONS = frozenset(("python", "python3", "pip", "pip3", "torchrun", "accelerate", "deepspeed", "jupyter", "pytest"))
# Commands that need no module and do not change what one provides.
HARMLESS = frozenset(
    {"mkdir", "date", "hostname", "cat", "ls", "rm", "cp", "whoami", "sleep", "uname", "nvidia-smi", "env"}
)
# First words of `ml` that are not modules.
VERBS = frozenset(
    {"purge", "unload", "rm", "del", "list", "avail", "av", "spider", "use", "unuse", "swap", "switch", "show"}
    | {"display", "save", "restore", "reset", "keyword", "whatis", "help", "refresh", "update", "is-loaded"}
)
_SETTING = programs_with("software") | {"source", "."}


def check(job: Job) -> Iterator[Finding]:
    own = [each for each in job.invocations if each.context.parent is None and _is_own(each)]
    modules = [each for each in own if has_trait(each.name, "module")]
    if modules:
        yield from _purged(job, own, modules)
        yield from _late(job, own, modules)
        yield from _over_environment(job, own, modules)
        yield from _two_libraries(job, own)


def _is_own(command: Invocation) -> bool:
    """Whether the script's shell waits for a command, and keeps what it sets, unlike what a pipeline sets."""
    shell = command.context.shell
    return shell.kind == "script" or shell.awaiting.kind == "script" and command.name not in _SETTING


def _loaded(command: Invocation) -> list[tuple[str, Span]]:
    """The modules that a command loads, without versions, with their places; none where a word is unknown."""
    return [(text.partition("/")[0], span) for text, span in _loaded_versions(command)]


def _loaded_versions(command: Invocation) -> list[tuple[str, Span]]:
    """The modules that a command loads, as written, with their places; none where a word is unknown."""
    if not has_trait(command.name, "module"):
        return []
    words = [(text_of(field), field) for field in command.argv[1:]]
    if any(text is None for text, _ in words):
        return []
    verb = words[0][0] if words else ""
    if verb in ("load", "add", "try-load", "try-add"):
        words = words[1:]
    elif command.name == "module" or verb in VERBS:
        return []
    return [
        (text, Span(field[0].start, field[-1].end)) for text, field in words if text and text[0] not in "-+" and field
    ]


def _is_purge(command: Invocation) -> bool:
    return has_trait(command.name, "module") and "purge" in command.words[1:]


def _purged(job: Job, own: list[Invocation], modules: list[Invocation]) -> Iterator[Finding]:
    """Findings for a purge that undoes loads which nothing has used yet."""
    if not any(map(_is_purge, modules)):
        return
    last = {name: command.index for command in own for name, _ in _loaded(command)}
    loads: list[Invocation] = []
    for command in own:
        if _loaded(command) and not command.context.conditional and not command.context.may_repeat:
            loads.append(command)
        elif _is_purge(command):
            context = command.context
            if loads and not context.conditional and not context.may_repeat and context.calls == loads[0].context.calls:
                if any(last[name] < command.index for each in loads for name, _ in _loaded(each)):
                    yield _undone(job, command, loads)
            loads = []
        elif not _changes_nothing(command):
            loads = []


def _changes_nothing(command: Invocation) -> bool:
    """Whether a command neither needs a module nor may load one."""
    if has_trait(command.name, "module"):
        return not _loaded(command)
    return command.name in HARMLESS or command.name in BUILTINS and command.name not in ("source", ".", "eval", "exec")


def _undone(job: Job, purge: Invocation, loads: list[Invocation]) -> Finding:
    first, fix = loads[0], None
    text = job.source.text
    line, target = job.source.line_of(purge.span.start), job.source.line_of(first.span.start)
    alone = text[line.start : line.end].strip() == text[purge.span.start : purge.span.end]
    if alone and not text[target.start : first.span.start].strip():
        margin = text[target.start : first.span.start]
        edits = [
            Edit(Span(first.span.start, first.span.start), f"{text[purge.span.start : purge.span.end]}\n{margin}"),
            Edit(Span(line.start, min(line.end + 1, len(text))), ""),
        ]
        fix = Fix("move the purge above the loads", edits)
    # the rest of a line with more commands would move too
    advice = "move this line above the loads" if alone else "remove the purge, or load it after that"
    return Finding(
        purge.span,
        f"this unloads what line {job.line(first.span.start)} loads, so the job runs without it; {advice}",
        None if _is_needed(job, purge, loads) else "info",
        related=[(first.span, "loaded here")],
        fix=fix,
    )


def _is_needed(job: Job, purge: Invocation, loads: list[Invocation]) -> bool:
    """Whether the job needs one of the modules that a purge unloads: no other is loaded below, or it runs a program of
    that name, or MPI."""
    last = _last_calls(job)
    lost = {name for each in loads for name in _names(each) if last.loads[name] < purge.index}
    if max(last.loads.values()) < purge.index:
        return True
    runs_mpi = not lost.isdisjoint(_MPI) and last.mpi > purge.index
    return runs_mpi or any(last.programs.get(name, -1) > purge.index for name in lost)


class _LastCalls(NamedTuple):
    """The index of the last command that loads each module, of the last call of each program, and of any of MPI."""

    loads: dict[str, int]
    programs: dict[str, int]
    mpi: int


@once
def _last_calls(job: Job) -> _LastCalls:
    loads = {name: each.index for each in job.invocations for name in _names(each)}
    programs = {(each.name or "").lower(): each.index for each in job.invocations}
    mpi = max((each.index for each in job.invocations if has_trait(each.name, "mpi")), default=-1)
    return _LastCalls(loads, programs, mpi)


def _names(command: Invocation) -> list[str]:
    return [name.lower() for name, _ in _loaded(command)]


def _late(job: Job, own: list[Invocation], modules: list[Invocation]) -> Iterator[Finding]:
    """Findings for a module that is loaded between two runs of the program with its name."""
    loaded = [
        (command, module, span)
        for command in modules
        if not command.context.conditional and not command.context.may_repeat
        for module, span in _loaded(command)
    ]
    names = {module.lower() for _, module, _ in loaded}
    runs: dict[str, list[Invocation]] = {}
    for command in own if not names.isdisjoint(map(_without_version, by_program(job))) else ():
        name = _program(command)
        if name:
            runs.setdefault(name, []).append(command)
    for command, module, span in loaded:
        found = runs.get(module.lower(), [])
        before = [each for each in found if each.index < command.index and not each.context.tested]
        after = [each for each in found if each.index > command.index]
        if before and after and not any(_loads_any(each, before[0]) for each in own):
            yield Finding(
                span,
                f"`{_program(before[0])}` on line {job.line(before[0].span.start)} runs before this module is "
                "loaded, so the wrong program runs, or none is found; load the module above it",
                related=[(before[0].span, "runs without the module")],
            )


def _program(command: Invocation) -> str:
    """The program that a command of the script runs, also through srun and the like; '' in a container."""
    last = command
    while len(last.children) == 1 and container_of(last.children[0]) is None:
        last = last.children[0]
    name = last.name or ""
    return "" if name in ("module", "ml", "which", "command", "type") else _without_version(name)


def _without_version(name: str) -> str:
    """The name of a program without its version."""
    return name.rstrip("0123456789.").lower()


def _loads_any(command: Invocation, before: Invocation) -> bool:
    """Whether a command before another may have loaded something else that provides the program."""
    if command.index >= before.index:
        return False
    return command.name in ("module", "ml", "source", ".", "conda", "spack", "eval") and not _is_purge(command)


def _over_environment(job: Job, own: list[Invocation], modules: list[Invocation]) -> Iterator[Finding]:
    """Findings for a module with its own python that is loaded after the activation of an environment."""
    if not any(PYTHON.fullmatch(module) for command in modules for module, _ in _loaded(command)):
        return
    active: Invocation | None = None
    earlier: dict[str, Invocation] = {}  # by module, what has loaded it before the environment
    has_python = False  # a module of Python itself, or one that depends on it, may be loaded before the environment
    for command in own:
        if active is None and has_trait(command.name, "module"):
            wholes = [whole for whole, _ in _loaded_versions(command)]
            brings = any(PYTHON.fullmatch(each.partition("/")[0]) or _EASYBUILD.fullmatch(each) for each in wholes)
            earlier = {} if _is_purge(command) else earlier | dict.fromkeys(wholes, command)
            has_python = not _is_purge(command) and (has_python or brings)
        if command.name == "deactivate" or calls_conda_function(command) and "deactivate" in command.words:
            active = None
        elif _activates(command):
            active = command
        elif active is not None and not command.context.conditional:
            for whole, span in _loaded_versions(command):
                module = whole.partition("/")[0]
                if has_python and _EASYBUILD.fullmatch(whole) and not _PYTHON_ITSELF.fullmatch(module):
                    continue  # its python is that which is loaded already, below the environment's
                virtual = _sources_environment(active) and not sources_activate(active)
                in_scripts = virtual and _PYTHON_ITSELF.fullmatch(module) is not None
                if PYTHON.fullmatch(module) and _python_follows(own, command, in_scripts):
                    advice = "load the module above that line"
                    if whole in earlier:
                        advice = f"remove this, as line {job.line(earlier[whole].span.start)} already loads it"
                    yield Finding(
                        span,
                        "from here on, `python` comes from this module, not the environment (line "
                        f"{job.line(active.span.start)}); {advice}",
                        related=[(active.span, "the environment")],
                    )
                    active = None
                    break


def _two_libraries(job: Job, own: list[Invocation]) -> Iterator[Finding]:
    """Findings for a second module of MPI that is loaded before anything has used the first."""
    first: tuple[str, Span] | None = None
    for command in own:
        if not has_trait(command.name, "module"):
            if not _changes_nothing(command):
                first = None
            continue
        if not _loaded(command) or command.context.conditional or command.context.may_repeat:
            first = None if not _loaded(command) else first
            continue
        for module, span in _loaded(command):
            library = _MPI.get(module.lower())
            if library is None:
                continue
            if first is not None and _MPI[first[0].lower()] != library:
                after = job.invocations[command.index + 1 :]
                if any(has_trait(each.name, "mpi") or each.name == "srun" for each in after):
                    yield Finding(
                        span,
                        f"`{module}` replaces or hides `{first[0]}` of line {job.line(first[1].start)}: both are MPI; "
                        "load the one with which the program was built",
                        related=[(first[1], "the other MPI")],
                    )
                return
            first = first or (module, span)


def _activates(command: Invocation) -> bool:
    """Whether a command changes the environment of Python: one of conda's, or a virtual one."""
    return calls_conda_function(command) or sources_activate(command) or _sources_environment(command)


def _sources_environment(command: Invocation) -> bool:
    if command.name not in ("source", ".") or len(command.argv) < 2:
        return False
    return ENVIRONMENT.fullmatch(shown_text(command.argv[1])) is not None


def _python_follows(own: list[Invocation], command: Invocation, in_scripts: bool) -> bool:
    """Whether a Python program runs after a command, before another environment is activated.

    `in_scripts`: other scripts count, too, as a virtual environment holds nothing but what Python runs.
    """
    for invocation in own:
        if invocation.index > command.index:
            if _activates(invocation):
                return False
            if _program(invocation) in PYTHONS:
                return True
            if in_scripts and invocation.name not in HARMLESS and any(map(_SCRIPT.fullmatch, invocation.words)):
                return True
    return False


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load gcc openmpi
        module load hdf5
        «module purge»
        srun ./solve
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=4
        module purge
        module load gcc openmpi
        module load hdf5
        srun ./solve
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        module purge
        gromacs --version
        module load «gromacs/2024.1»
        srun gromacs mdrun
        """,
        title="the program runs before its module is there",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        source ~/venvs/train/bin/activate
        module load «python/3.11»
        srun python train.py
        """,
        title="over the environment",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load gcc openmpi/4.1
        module load «intelmpi»
        mpirun ./solve
        """,
        title="two of MPI",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module purge
        module load gcc python/3.11
        source ~/venvs/train/bin/activate
        module load cuda
        srun python train.py
        module purge
        module load r
        srun Rscript plot.R
        """,
        title="purged first, and between two programs",
    ),
]
