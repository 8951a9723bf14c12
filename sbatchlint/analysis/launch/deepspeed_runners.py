"""Runners of deepspeed that do not fit their place: several of them in a step, or one alone that knows no other node.

deepspeed/launcher/runner.py (0.19): the runner reads its hostfile (default /job/hostfile). Without one it uses its own
node only, whatever --launcher says, and refuses --num_nodes above 1. With one it starts the workers of all nodes itself
(pdsh, ssh, mpirun, srun), so that one runner is enough. Under --no_ssh each node starts a runner, with --node_rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.literal_counts import task_edits
from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.bash.values import shown_text
from sbatchlint.job.launchers import DeepSpeed
from sbatchlint.job.launches import Launch
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.worlds import World

# What becomes of the runners of a step, or of the one in the batch shell.
REFUSED, REPEATED, CLASHING, APART, ALONE = "refused", "repeated", "clashing", "apart", "alone"

DEFAULT_HOSTFILE = "/job/hostfile"
# Who starts a command on other hosts.
_REACHING = frozenset({"ssh", "pdsh", "clush", "parallel", "pssh", "mpirun", "mpiexec", "xargs"})


class Runner(NamedTuple):
    """A runner that is one too many, or one too few.

    `fate`: REFUSED (it wants several nodes, and has no list of them), REPEATED (each starts the workers of all nodes),
    CLASHING (several on a node), APART (each trains on its own), ALONE (in the batch shell, on the first node only).
    `nodes`, `runners`: of the job or step, and in it; None: not known. `edits`: how it is set right, as a guess.
    """

    launch: Launch
    fate: str
    nodes: int | None
    runners: int | None
    edits: tuple[Edit, ...] | None


def find_runners(job: Job) -> list[Runner]:
    """The runners of a job that do not fit, each once."""
    found: dict[Span, Runner] = {}
    for world in find_worlds(job):
        launcher = world.launcher
        if not isinstance(launcher, DeepSpeed) or launcher.kind != "deepspeed" or not launcher.certain:
            continue
        if launcher.no_ssh or world.launch is None or world.apart == "restricted":
            continue
        runner = _in_step(world, launcher) if world.step is not None else _in_batch_shell(world, launcher)
        if runner is not None:
            found.setdefault(launcher.span, runner)
    return list(found.values())


def _has_hostfile(world: World, launcher: DeepSpeed) -> bool:
    return launcher.hostfile is not None or any(map(_names_hostfile, world.job.invocations))


def _names_hostfile(invocation: Invocation) -> bool:
    """Whether a command writes the default hostfile, or is told of it."""
    targets = [each.target for each in invocation.redirects if each.target is not None]
    return any(DEFAULT_HOSTFILE in shown_text(field) for field in (*invocation.argv, *targets))


def _wants_nodes(launcher: DeepSpeed) -> bool:
    number = None if launcher.machines is None else launcher.machines.number
    return number is not None and number > 1


def _in_step(world: World, launcher: DeepSpeed) -> Runner | None:
    step, launch = world.step, world.launch
    assert step is not None and launch is not None
    geometry = step.geometry
    if world.mpi is not None or geometry.ignored is not False:
        return None
    several = geometry.several is True or world.several_nodes is True or (step.tasks or 0) > 1
    if not several:
        return None
    if _has_hostfile(world, launcher):
        fate = REPEATED
    elif _wants_nodes(launcher):
        fate = REFUSED
    elif geometry.several is True:
        if _has_own_gpus(world):
            return None
        fate = CLASHING
    elif world.apart or geometry.several is not False:
        return None
    else:
        fate = APART
    edits = None if fate in (APART, REFUSED) else _one_runner(world)
    return Runner(launch, fate, step.nodes, step.tasks, edits)


def _has_own_gpus(world: World) -> bool:
    """Whether each task has its own GPUs and port, so that several runners of a node may be meant."""
    step, launcher = world.step, world.launcher
    assert step is not None and launcher is not None
    bound = any(name in step.options or world.job.request.asked(name) for name in ("gpus-per-task", "gpu-bind"))
    return bound and launcher.setting("master_port") is not None


def _one_runner(world: World) -> tuple[Edit, ...] | None:
    """Starts one runner, on the first node."""
    step, job = world.step, world.job
    assert step is not None
    if {"ntasks", "ntasks-per-node"} & step.options.keys():
        edits = task_edits(job, step, 1) if step.nodes == 1 else None
        return None if edits is None else tuple(edits)
    if "nodes" in step.options and step.nodes != 1:
        return None
    option = "--ntasks=1" if step.nodes == 1 else "--nodes=1 --ntasks=1"
    first, _, second = option.partition(" ")
    edits = add_step_option(job, [step], first)
    if edits is None or len(edits) != 1:
        return None
    edit = edits[0]
    return (edit._replace(content=f"{edit.content} {second}") if second else edit,)


def _in_batch_shell(world: World, launcher: DeepSpeed) -> Runner | None:
    job, launch = world.job, world.launch
    assert launch is not None
    if not world.in_batch_shell or world.apart or job.request.nodes is None or job.request.nodes.minimum < 2:
        return None
    if _has_hostfile(world, launcher) or launcher.options.keys() & {"include", "exclude"}:
        return None
    if any(each.name in _REACHING for each in world.invocation.ancestors()):
        return None
    if world.invocation.context.background and world.invocation.context.looped:
        return None
    if any(other.several_nodes and other is not world for other in find_worlds(job)):
        return None  # a stage of one node before or after the others
    fate = REFUSED if _wants_nodes(launcher) else ALONE
    return Runner(launch, fate, job.request.exact_nodes(), 1, _with_hostfile(world, launcher))


def _with_hostfile(world: World, launcher: DeepSpeed) -> tuple[Edit, ...] | None:
    """Writes a hostfile of the job's nodes in front of the command, and gives it to the runner."""
    job, start = world.job, world.invocation.span.start
    if job.is_embedded or job.in_quoted_text(start) or world.invocation.parent is not None:
        return None
    line = job.source.line_of(start)
    indent = job.source.text[line.start : start]
    before = job.source.text[: line.start].rstrip("\n")
    if indent.strip() or before.endswith(("\\", "|", "&&", "||")) or launcher.span.start != start:
        return None
    gpus = job.request.gpus_per_node()
    slots = "$SLURM_GPUS_ON_NODE" if gpus is None else str(gpus)
    name = '"hostfile.$SLURM_JOB_ID"'
    write = f'scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/\\$/ slots={slots}/" > {name}\n'
    end = launcher.span.end
    return Edit(Span(line.start, line.start), indent + write), Edit(Span(end, end), f" --hostfile={name}")
