"""Replaces launchers by tasks, which get their ranks from Slurm, and tasks by launchers."""

from collections.abc import Iterator
from shlex import join, quote

from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import expansions, span_of, text_of
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.replacing import launch_words, meeting
from sbatchlint.convert.words import (
    ADDRESS,
    LOOPBACK,
    CommandWords,
    exports_above,
    exports_before,
    srun_of,
    without_geometry,
)
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import CommandOption
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.launchers import Launcher, python_of
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

_VARIABLES = {
    "RANK": "$SLURM_PROCID",
    "LOCAL_RANK": "$SLURM_LOCALID",
    "WORLD_SIZE": "$SLURM_NTASKS",
    "LOCAL_WORLD_SIZE": "$SLURM_NTASKS_PER_NODE",
}
RANKS = "export " + " ".join(f"{name}={value}" for name, value in _VARIABLES.items())
# Options of mpirun that srun needs no counterpart for.
_OF_MPIRUN = frozenset({
    "np", "allow-run-as-root", "oversubscribe", "bind-to-none", "num-proc", "verbose", "mpi", "tag-output", "hostfile",
})  # fmt: skip
# Options of mpirun that become variables, with what their names begin with.
_AS_VARIABLES = {"mca": "OMPI_MCA_", "x": ""}


def start_tasks(job: Job, launch: Launch) -> Iterator[Edit]:
    """The edits that replace a launcher by a task per GPU. Raises `NotConvertible`."""
    words = CommandWords(job, launch)
    yield from without_geometry(job, launch.step)
    launcher = launch.launcher
    interpreter = {"module": "python -m ", "script": "python -u "}.get(launcher.program_kind, "")
    yield from exports_before(job, launch, meeting(launch.invocation))
    shell = f"bash -c '{RANKS}; exec \"$@\"' bash {interpreter}"
    if launcher.kind == "deepspeed" and "no_local_rank" not in launcher.flags:
        shell = f'bash -c \'{RANKS}; exec {interpreter}"$0" --local_rank="$LOCAL_RANK" "$@"\' '
    yield from words.replaced(shell, words.program_start)


def shared_address(job: Job, step: Step) -> Iterator[Edit]:
    """The edit that replaces a loopback MASTER_ADDR of the script; none without one."""
    value = exported(step.invocation, "MASTER_ADDR")
    span = span_of(value) if value else Span(0, 0)
    text = job.source.own.text
    if value and text_of(value) in LOOPBACK and text[span.start : span.end] == text_of(value):
        if text[span.start - 1] != "'":
            yield Edit(span, ADDRESS)


def start_ranks(job: Job, launch: Launch) -> Iterator[Edit]:
    """The edits that start the processes of an mpirun by srun. Raises `NotConvertible`."""
    launcher = launch.launcher
    lines = []
    for option in launcher.all_options:
        line = _as_variable(job, launcher, option)
        if line:
            lines.append(line)
        elif not _is_needless(option.name, text_of(option.value or ())):
            name = text_of(launcher.argv[option.at]) or f"-{option.name}"
            raise NotConvertible(f"what {launcher.name} is told by {name} is not converted: leave it out")
    if launch.step is not None:
        raise NotConvertible(f"{launcher.name} is under srun: leave one of them out")
    words = CommandWords(job, launch)
    bound = "--cpu-bind=none " if any(each.name.startswith("bind-to") for each in launcher.all_options) else ""
    words.srun += f"--mpi=pmix {bound}"
    yield from exports_before(job, launch, lines)
    yield from words.replaced("", words.program_start)


def _as_variable(job: Job, launcher: Launcher, option: CommandOption) -> str:
    """The line that exports what an option of mpirun sets; "" for another option."""
    before = _AS_VARIABLES.get(option.name)
    value = text_of(option.value or ())
    if before is None or value is None:
        return ""
    if option.name == "mca":
        name = text_of(launcher.argv[option.at + 1])
        value = text_of(launcher.argv[option.at + 2]) if option.at + 2 < len(launcher.argv) else None
    else:
        name, equals, value = value.partition("=")
        if not equals:
            return ""
    if name is None or value is None or not name.isidentifier():
        return ""
    return f"export {before}{name}={quote(value)}"


def _is_needless(name: str, value: str | None) -> bool:
    """Whether srun needs no counterpart for an option of mpirun."""
    if name in ("host", "hosts"):
        return value is not None and all(each.partition(":")[0] in LOOPBACK for each in value.split(","))
    if name == "x":  # srun passes on the environment
        return value is not None and "=" not in value
    return name in _OF_MPIRUN or (name, value) in (("map-by", "slot"), ("bind-to", "none"))


def start_launcher(job: Job, step: Step, program: Invocation, target: str, gpus: int) -> Iterator[Edit]:
    """The edits that replace the tasks of a step by a launcher on each node. Raises `NotConvertible`."""
    python = python_of(program)
    if python is None or python.kind not in ("script", "module") or step.container is not None:
        raise NotConvertible("only a step that runs a Python program can be started by a launcher")
    own = {name for name, _ in program.variables} - _VARIABLES.keys()
    if own:
        raise NotConvertible(
            f"the tasks set {sorted(own)[0]} for the program, which would be lost: export it before the srun"
        )
    of_task = TASK_VARIABLES | _VARIABLES.keys()
    for word in program.argv[python.at :]:
        if names := of_task.intersection(each.name for each in expansions(word)):
            raise NotConvertible(f"a word of the program is another in each task, by {min(names)}: leave it out")
    texts = [text_of(word) for word in program.argv[python.at :]]
    whole = Span(step.invocation.name_span.start, step.invocation.span.end)
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        raise NotConvertible("not all words of the program are known: set its variables in the script")
    kind = "-m " if python.kind == "module" else ""
    yield from exports_above(job, step.invocation.span.start, meeting(step.invocation))
    yield Edit(whole, f"{srun_of(job)} {launch_words(target, gpus)} {kind}{join(known)}")
