"""Launchers that start another number of processes on a node than they see GPUs there.

torchrun's processes take the GPU of their LOCAL_RANK, so that each one too many dies of `invalid device ordinal`
(torch/cuda, `set_device`), and each GPU too many is idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.gpus.gpu_use import SUBMIT_LINE
from sbatchlint.analysis.launch.evidence import PROCESSORS, gpu_signs
from sbatchlint.analysis.launch.literal_counts import literal_number
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.job.gpus import DEVICE_VARIABLES, devices_chosen, step_gpus
from sbatchlint.job.worlds import World, by_place, find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.job import Job
    from sbatchlint.job.containers import Container
    from sbatchlint.job.launchers import Launcher, Setting
    from sbatchlint.slurm.directives import Setting as Directive

# Those that start a process for each GPU that their programs use. Ray and MPI count otherwise.
_KINDS = frozenset({"torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "deepspeed.launch", "composer"}
                   | {"colossalai", "fabric", "torchpack"})  # fmt: skip
_COUNTS = ("nproc_per_node", "num_processes", "num_gpus", "nproc", "devices")


class ProcessMismatch(NamedTuple):
    """A launcher whose number of processes is not that of the GPUs it sees.

    `count`: processes that each start of it makes on its node; `gpus`: GPUs that it sees there. `place`: where the
    number is said; `value`: where it is written, which may be elsewhere. `chosen`: the script shows it these GPUs
    itself (CUDA_VISIBLE_DEVICES). `directive`: what asks for the GPUs, None where the srun does, or the script chooses.
    `certain`: the number is no default that the caller may replace. `edit`: what counts the GPUs instead.
    """

    world: World
    count: int  # type: ignore[assignment]
    gpus: int
    place: Span
    value: Span | None
    chosen: bool
    directive: Directive | None
    certain: bool
    edit: Edit | None


def process_mismatches(job: Job) -> Iterator[ProcessMismatch]:
    """The mismatches of a job, each launcher once, where it is certain what it sees."""
    if job.request.heterogeneous or SUBMIT_LINE.search(job.source.own.text):
        return
    worlds = find_worlds(job)
    groups = by_place(worlds)
    for group in groups:
        found = [_mismatch(job, world) for world in group]
        wrong = [each for each in found if each is not None]
        known = [world for world in group if world.processes is not None]
        if not wrong or len(wrong) < len(known):
            continue  # one of its alternatives is right
        first = wrong[0]._replace(certain=len(wrong) == len(group))
        if first.count > first.gpus or _is_alone(job, first.world, len(groups)) and first.certain:
            yield first


def _mismatch(job: Job, world: World) -> ProcessMismatch | None:
    launcher, step = world.launcher, world.step
    if launcher is None or launcher.kind not in _KINDS or launcher.cpu or world.mpi is not None:
        return None
    if not launcher.certain or launcher.config_file is not None or world.starts_per_node != 1:
        return None
    if launcher.kind in ("accelerate", "composer") and world.asked.number != 1:
        return None  # its number is that of all nodes
    count, setting = world.processes, launcher.setting(*_COUNTS)
    if count is None or setting is None or setting.value is None or launcher.processes_per_task == "auto":
        return None
    if any(sign.strength == PROCESSORS for sign in gpu_signs(world.invocation.argv, launcher, _container(world))):
        return None
    gpus, chosen = _gpus(job, world)
    if not gpus or gpus == count:
        return None
    directive = None
    if not chosen and (step is None or not any("gpu" in name or name == "gres" for name in step.options)):
        given = [each for each in job.request.gpu_settings() if not each.name.startswith("tres")]
        directive = given[0] if given else None
    return ProcessMismatch(
        world,
        count,
        gpus,
        place_of(launcher, setting),
        _value_span(setting),
        chosen,
        directive,
        True,
        _edit(job, launcher, setting, directive),
    )


def _container(world: World) -> Container | None:
    return None if world.launch is None else world.launch.container


def _gpus(job: Job, world: World) -> tuple[int | None, bool]:
    """How many GPUs a launcher sees, and whether the script itself chooses them."""
    step = world.step
    if devices_chosen(world.invocation, step):
        return _chosen(world), True
    container = _container(world)
    if container is not None and container.kind in ("docker", "podman"):
        return None, False  # it has options of its own for that
    if step is not None:
        sharing = step_gpus(job, step)
        # A part that each task is bound to is another matter.
        return (sharing.each if sharing.meant is None else None), False
    if not world.in_batch_shell or job.request.asked("exclusive"):
        return None, False  # an exclusive job's batch shell sees all GPUs of the node
    return job.request.gpus_per_node(), False


def _chosen(world: World) -> int | None:
    """How many GPUs a literal CUDA_VISIBLE_DEVICES shows."""
    for name in DEVICE_VARIABLES:
        before = [field for variable, field in world.invocation.variables if variable == name]
        field = before[-1] if before else exported(world.invocation, name)
        if field is not None:
            text = text_of(field)
            ids = (text or "").split(",")
            return len(ids) if all(each.strip().isdecimal() for each in ids) else None
    return None


def _is_alone(job: Job, world: World, launchers: int) -> bool:
    """Whether a launcher with fewer processes than GPUs leaves them to nobody else."""
    assert world.launcher is not None
    context = world.invocation.context
    if world.processes == 1 or launchers > 1 or world.apart not in ("", "part"):
        return False
    if context.background or world.step is not None and world.step.invocation.context.background:
        return False
    return not any(each.context.background for each in job.invocations)


def place_of(launcher: Launcher, setting: Setting) -> Span:
    """Where a launcher is told something: its option, with a value that stands right behind it; else the value."""
    if setting.at is None:
        return setting.span
    first = launcher.argv[setting.at][0]
    return Span(first.start, first.end)


def _value_span(setting: Setting) -> Span | None:
    value = setting.value
    if value is None or len(value) != 1 or value[0].text is None:
        return None
    return value[0].span


def _edit(job: Job, launcher: Launcher, setting: Setting, directive: Directive | None) -> Edit | None:
    """Counts the GPUs that the job has instead, where the number stands in the launcher's own words."""
    span = _value_span(setting)
    if span is None or setting.from_environment or expansions(setting.value or ()):
        return None
    if (
        directive is None
        or literal_number(job, span) is None
        or launcher.kind not in ("torchrun", "torch.distributed.launch")
    ):
        return None
    words = Span(launcher.span.start, max(launcher.span.end, setting.span.end))
    return Edit(span, "$SLURM_GPUS_ON_NODE") if words.start <= span.start <= words.end + 1 else None
