"""GPUs that Slurm binds to tasks, against what the tasks do with them.

Under `--gpus-per-task=1` each task sees one GPU, whose index is 0 for every program (CUDA counts what it sees). A
launcher that starts several processes there, and a program that takes the GPU of its SLURM_LOCALID, ask for indices
that there are not. The other way round, tasks that all see the same single GPU get in each other's way. Semantics:
torch/cuda (`set_device`), jax/_src/clusters/slurm_cluster.py (device of the local number), lightning/fabric
(`devices` is compared with what is visible).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.duplicate_launchers import is_duplicated
from sbatchlint.analysis.launch.evidence import PROCESSORS, RankSign, gpu_signs, rank_sign
from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.job.gpus import DEVICE_VARIABLES, StepGpus, step_gpus
from sbatchlint.job.launchers import is_python
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step
    from sbatchlint.job.worlds import World

# Options whose value is the index of a device, or a number on the node that programs use as one.
_DEVICE_OPTION = Regex(
    r"-{1,2}(?:local[_-]?(?:rank|id)|gpu(?:[_-]?id)?|device(?:[_-]?id)?|cuda[_-]?device|rank[_-]?local)"
)
_DISTRIBUTED = Regex(r"--(?:use[_-]?)?(?:distributed|ddp|dist)(?:=(?:true|1|yes))?", 2)
_LAUNCHERS = frozenset({"torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "deepspeed.launch"}
                       | {"composer", "colossalai", "fabric", "torchpack"})  # fmt: skip


_INVALID = "all tasks but the first die of `invalid device ordinal`"


class BoundLauncher(NamedTuple):
    """A launcher whose tasks see fewer GPUs than it starts processes. `always`: in every release of the range."""

    world: World
    processes: int
    gpus: int
    reason: tuple[Span, str]
    always: bool
    edit: Edit | None


class Taken(NamedTuple):
    """How a program takes a GPU by its number on the node.

    `place`: what says so; `how`: in words; `sure`: the script says it, and it is not only usual; `consequence`: what
    becomes of the tasks where each sees one GPU.
    """

    place: Span
    how: str
    sure: bool = True
    consequence: str = _INVALID


class BoundRank(NamedTuple):
    """A program that takes a GPU by its number on the node, where it sees just its own.

    `taken`: how it takes it; `instead`: what shows it all of them.
    """

    step: Step
    invocation: Invocation
    taken: Taken
    reason: tuple[Span, str]
    edit: Edit | None
    instead: str


class SharedGpu(NamedTuple):
    """Ranks of a step that all see the same one GPU of their node.

    `tasks`: on each node. `place`, `words`: what makes it one. `others`: GPUs of the node that stay idle; 0 for none.
    `chosen`: the tasks are shown it by a variable. `sign`: why they are ranks of one program, None where they may not.
    """

    step: Step
    tasks: int
    place: Span
    words: str
    others: int
    chosen: bool
    sign: RankSign | None


def bound_launchers(job: Job) -> Iterator[BoundLauncher]:
    """Launchers that see fewer GPUs than they start processes, because tasks are bound to GPUs."""
    from sbatchlint.job.worlds import find_worlds

    seen: set[Span] = set()
    for world in find_worlds(job):
        launcher, step = world.launcher, world.step
        if launcher is None or step is None or world.launch is None or launcher.kind not in _LAUNCHERS or launcher.cpu:
            continue
        count = launcher.processes_per_task
        if not isinstance(count, int) or count < 2 or not world.certain or is_duplicated(job, world.launch):
            continue
        if launcher.kind in ("accelerate", "composer") and world.asked.number is None or launcher.span in seen:
            continue
        sharing = step_gpus(job, step)
        own, least, most = sharing.meant, sharing.least, sharing.most
        if (
            own is None
            or least is None
            or most is None
            or sharing.reason is None
            or least >= count
            or _chooses(world.invocation)
        ):
            continue
        seen.add(launcher.span)
        yield BoundLauncher(world, count, least, sharing.reason, most < count, _more(job, step, count))


def _more(job: Job, step: Step, count: int) -> Edit | None:
    """`--gpus-per-task=1` with as many GPUs as there are processes, for one task on each node."""
    if step.tasks_per_node != 1:
        return None
    return _with_value(job, step, "gpus-per-task", count, None)


def _with_value(job: Job, step: Step, name: str, number: int, other: str | None) -> Edit | None:
    """An option, of the srun or the job, with another number, and under another name where that is given."""
    option = step.option(name)
    if option is not None:
        span = literal_span(option.value)
        if span is None or literal_number(job, span) is None:
            return None
        if other is None:
            return Edit(span, str(number))
        whole = Span(option.span.start, span.end)
        return (
            Edit(whole, f"--{other}={number}")
            if job.source.slice(whole) == f"--{name}={job.source.slice(span)}"
            else None
        )
    setting = step.request.given(name)
    if setting is None or literal_number(job, setting.value_span) is None:
        return None
    if other is None:
        return replacement(job.directives, setting, str(number))
    return Edit(setting.span, f"--{other}={number}") if setting.value_line is setting.line else None


# --- ranks ---------------------------------------------------------------------------------------------


def bound_ranks(job: Job) -> Iterator[BoundRank]:
    """Programs that take a GPU by their number on the node, in steps whose tasks see just their own."""
    seen: set[object] = set()
    for step in job.steps:
        sharing = step_gpus(job, step)
        if sharing.reason is None or sharing.meant is None or sharing.each != 1:
            continue
        by_gpu = step.request.asked("ntasks-per-gpu") and (sharing.on_node or 0) > 1
        if not (step.geometry.several or by_gpu and not {"ntasks", "nodes"} & step.options.keys()):
            continue
        if any(launch.step is step and launch.launcher.spawns for launch in job.launches):
            continue
        for invocation in step.program:
            found = _taken(invocation)
            if found is None or (sharing.reason[0], found.how) in seen:
                continue
            seen.add((sharing.reason[0], found.how))
            edit, instead = _all_visible(job, step, sharing)
            yield BoundRank(step, invocation, found, sharing.reason, edit, instead)


def _taken(invocation: Invocation) -> Taken | None:
    if not invocation.argv or invocation.context.restricted:
        return None
    for name in DEVICE_VARIABLES:
        value = _set_in_task(invocation, name)
        if value is not None and _is_local_number(value):
            hidden = "where the cluster hides other GPUs, all tasks but the first find none"
            return Taken(value[0].span, f"{name}=$SLURM_LOCALID shows a task the GPU of its number", consequence=hidden)
    if not is_python(invocation.argv[0]):
        return None
    local = _set_in_task(invocation, "LOCAL_RANK")
    if local is not None:
        return Taken(local[0].span, "LOCAL_RANK is $SLURM_LOCALID") if _is_local_number(local) else None
    for at, field in enumerate(invocation.argv):
        name, equals, _ = shown_text(field).partition("=")
        value = field if equals else invocation.argv[at + 1] if at + 1 < len(invocation.argv) else None
        if _DEVICE_OPTION.fullmatch(name) and value is not None and _is_local_number(value):
            return Taken(Span(field[0].start, field[-1].end), f"{name} is $SLURM_LOCALID")
    sign = rank_sign(invocation.argv, lambda name: exported(invocation, name))
    if sign is not None and sign.kind == "lightning" and (sign.devices or 0) > 1:
        how = f"Lightning looks for {sign.devices} devices in each task"
        return Taken(sign.span, how, consequence="Lightning finds one and refuses to start")
    if sign is not None and sign.kind == "jax":
        return Taken(sign.span, "JAX takes the GPU of its task's number")
    for field in invocation.argv:
        text = text_of(field)
        if text is not None and _DISTRIBUTED.fullmatch(text):
            how = f"most programs with {text} take the GPU of their local rank"
            return Taken(Span(field[0].start, field[-1].end), how, sure=False)
    return None


def _set_in_task(invocation: Invocation, name: str) -> Pieces | None:
    """The value that a command has for a variable, by `NAME=value command`, `env`, or an export of its shell."""
    for variable, field in invocation.variables:
        if variable == name:
            return field
    return exported(invocation, name)


def _is_local_number(value: Pieces) -> bool:
    """Whether a value is the task's number on its node, and filled in by the task."""
    found = [each for each in expansions(value) if each.name == "SLURM_LOCALID"]
    return any(each.phase is Phase.TASK for each in found)


def _chooses(invocation: Invocation) -> bool:
    return any(_set_in_task(invocation, name) is not None for name in DEVICE_VARIABLES)


def _all_visible(job: Job, step: Step, sharing: StepGpus) -> tuple[Edit | None, str]:
    """What shows each task all GPUs of its node: the edit, and in words."""
    tasks, own = step.tasks_per_node, sharing.meant
    for name in ("gpu-bind", "tres-bind"):
        if name in step.options or step.request.asked(name):
            return None, f"--{name}={'gres/gpu:' if name == 'tres-bind' else ''}none"
    if tasks is None or own is None:
        return None, "--gpu-bind=none"
    number = tasks * own
    if "gpus-per-task" in step.options and step.request.asked("gpus-per-task"):
        return None, f"--gpus-per-node={number}"
    return _with_value(job, step, "gpus-per-task", number, "gpus-per-node"), f"--gpus-per-node={number}"


# --- one GPU for all -----------------------------------------------------------------------------------


def shared_gpus(job: Job) -> Iterator[SharedGpu]:
    """Steps whose ranks all see the same one GPU."""
    for step in job.steps:
        tasks = step.tasks_per_node
        if tasks is None or tasks < 2:
            continue
        if any(launch.step is step and launch.launcher.spawns for launch in job.launches):
            continue
        sharing = step_gpus(job, step)
        for invocation in step.program:
            found = _shared(job, step, sharing, tasks, invocation)
            if found is not None:
                yield found
                break


def _shared(job: Job, step: Step, sharing: StepGpus, tasks: int, invocation: Invocation) -> SharedGpu | None:
    if not invocation.argv or invocation.context.restricted or not is_python(invocation.argv[0]):
        return None
    if any(sign.strength == PROCESSORS for sign in gpu_signs(invocation.argv)):
        return None
    sign = rank_sign(invocation.argv, lambda name: exported(invocation, name))
    if sign is not None and sign.kind == "jax":
        sign = None
    for name in DEVICE_VARIABLES:
        value = _set_in_task(invocation, name)
        if value is None or value is exported(step.invocation, name):
            continue  # what the batch shell exports does not reach the task
        text = text_of(value)
        if text is None or not text.isdecimal() or any(each.expansion is not None for each in value):
            return None
        others = (sharing.on_node or 1) - 1
        if others < 1 or sharing.meant is not None or sign is None:
            return None
        return SharedGpu(step, tasks, value[0].span, f"{name}={text}", others, True, sign)
    if sharing.on_node != 1 or sharing.meant is not None or sharing.each != 1:
        return None
    held = job.request.gpus_per_node() or 1
    option = step.option("gres") or step.option("gpus-per-node")
    if option is not None and held >= tasks:
        from sbatchlint.job.steps import written

        return SharedGpu(step, tasks, option.span, written(option), held - 1, False, sign)
    if sign is None or option is not None:
        return None
    for name in ("gpus-per-node", "gres", "gpus"):
        setting = step.request.given(name)
        if setting is not None:
            return SharedGpu(step, tasks, setting.span, job.source.slice(setting.span), 0, False, sign)
    return None
