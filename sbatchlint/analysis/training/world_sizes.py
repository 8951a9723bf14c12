"""WORLD_SIZE and RANK as a script sets them: who reads them, and whether they tell the truth.

A launcher sets them itself in every process that it starts (torch/distributed/elastic/agent/server/
local_elastic_agent.py, 2.13; deepspeed/launcher/launch.py, 0.17). A program that is its step's tasks itself reads them
in `init_process_group`: with WORLD_SIZE above the number of ranks it waits for the others until the time-out, below it
the ranks that are too many are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.evidence import rank_sign
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import Phase, expansions, span_of
from sbatchlint.job.commands.argv import integer
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.launches import container_of
from sbatchlint.job.steps import step_around
from sbatchlint.job.worlds import counts_nodes
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.bash.values import Pieces
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch
    from sbatchlint.job.steps import Step

OVERWRITTEN = ("WORLD_SIZE", "RANK")
# Launchers that overwrite both.
LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "deepspeed.launch", "swift")
# Programs whose ranks come from Slurm, whatever the variables say.
_FROM_SLURM = ("lightning", "jax", "slurm-launcher")


class WorldSize(NamedTuple):
    """A variable that tells processes how many they are, or who they are.

    `kind`: `dead` (a launcher overwrites it), `nodes` (the same, and it holds the number of nodes for the script's own
    use), `few` and `many` (smaller, and larger, than the number of ranks). `place`: where it is set. `number`: its
    value, `ranks`: the tasks of the step. `certain`: the program is known to go by it. `edits`: the right
    number, or the tasks.
    """

    kind: str
    name: str
    place: Span
    invocation: Invocation
    launcher: str
    number: int | None
    ranks: int | None
    certain: bool
    edits: tuple[Edit, ...]


def find_world_sizes(job: Job) -> list[WorldSize]:
    """One for each place that sets one."""
    found: dict[Span, WorldSize] = {}
    spawned = {id(launch.invocation) for launch in job.launches}
    read = {each.name for each in job.trace.reads}
    for launch in job.launches:
        if launch.launcher.kind in LAUNCHERS and launch.launcher.spawns:
            for each in _overwritten(job, launch, read):
                found.setdefault(each.place, each)
    for invocation in job.invocations:
        step = step_around(invocation.context)
        if step is None or id(invocation) in spawned or any(id(each) in spawned for each in invocation.ancestors()):
            continue
        wrong = _of_ranks(job, invocation, step)
        if wrong is not None:
            # a launcher that overwrites it as well does not make it right
            found[wrong.place] = wrong
    return list(found.values())


def _overwritten(job: Job, launch: Launch, read: set[str]) -> list[WorldSize]:
    found = []
    launcher, invocation = launch.launcher, launch.invocation
    for name in OVERWRITTEN:
        field = exported(invocation, name)
        told = _tells_nodes(launch, name)
        if field is None and told is None:
            continue
        field = field or told or ()
        if name == "RANK" and any(each.name in TASK_VARIABLES for each in expansions(field)):
            continue  # expanded too early it is another fault, and in the task it is none
        nodes = name == "WORLD_SIZE" and (told is not None or counts_nodes(field))
        if nodes or name not in read:
            kind = "nodes" if nodes and name in read else "dead"
            place = _place(job, name, field)
            found.append(WorldSize(kind, name, place, invocation, launcher.name, integer(field), None, True, ()))
    return found


def _tells_nodes(launch: Launch, name: str) -> Pieces | None:
    """The value of a variable that the script uses as the launcher's number of nodes."""
    machines, variable = launch.launcher.machines, launch.invocation.state.variables.get(name)
    if machines is None or machines.value is None or variable is None or len(variable.alternatives) != 1:
        return None
    fields = variable.alternatives[0].fields
    return fields[0] if fields and fields[0] and fields[0] == machines.value else None


def _of_ranks(job: Job, invocation: Invocation, step: Step) -> WorldSize | None:
    field = exported(invocation, "WORLD_SIZE")
    number = None if field is None else integer(field)
    context = invocation.context
    if field is None or number is None or number == step.tasks or not invocation.argv:
        return None
    if step.tasks is None or context.restricted or context.background or step.geometry.ignored is not False:
        return None
    sign = rank_sign(invocation.argv, lambda name: exported(invocation, name))
    certain = sign is not None
    if sign is None and not _may_be_rank(invocation) or sign is not None and sign.kind in _FROM_SLURM:
        return None
    if job.request.heterogeneous or step.invocation.context.looped:
        return None
    kind = "few" if number < step.tasks else "many"
    if kind == "few" and not certain:
        certain = exported(invocation, "MASTER_ADDR") is not None
        if not (step.geometry.several and number == step.nodes):
            return None
    elif kind == "many" and not certain:
        # Each task may start the other processes of its node itself.
        several = step.several_nodes and exported(invocation, "MASTER_ADDR") is not None
        if not several or step.tasks_per_node != 1 or number != (job.request.gpus_per_node() or 0) * step.tasks:
            return None
    place = _place(job, "WORLD_SIZE", field)
    if kind == "few":
        edits = _count_tasks(job, step, field, invocation)
    else:
        alone = [each for each in job.lone_ranks if each.awaited and each.invocation is invocation]
        edits = alone[0].repair.edits if alone and alone[0].repair is not None else ()
    return WorldSize(kind, "WORLD_SIZE", place, invocation, "", number, step.tasks, certain, edits)


def _may_be_rank(invocation: Invocation) -> bool:
    """Whether it is a Python program that may be one rank of many, and does not say that it starts more."""
    from sbatchlint.analysis.launch.evidence import spawns_others
    from sbatchlint.job.launchers import python_command

    python = python_command(invocation.argv)
    if python is None or python.kind not in ("script", "module") or python.text is None:
        return False
    return not spawns_others(invocation.argv)


def _place(job: Job, name: str, field: Pieces) -> Span:
    """The assignment, where it is one of the script; else the value."""
    for each in job.assigned:
        if each.name == name and any(value.fields == (field,) for value in each.alternatives):
            return each.span
    return span_of(field)


def _count_tasks(job: Job, step: Step, field: Pieces, invocation: Invocation) -> tuple[Edit, ...]:
    """`$SLURM_NTASKS` in the place of another variable of the batch shell, where srun starts as many."""
    if len(field) != 1 or field[0].expansion is None or job.request.effective_tasks() != step.tasks:
        return ()
    expansion = field[0].expansion
    counted = any(job.request.asked(name) for name in ("ntasks", "ntasks-per-node"))
    written = job.source.slice(expansion.span)
    container = container_of(invocation)
    if not counted or expansion.phase is not Phase.BATCH or container is not None and not container.inherits:
        return ()
    if written.strip("${}") != expansion.name:
        return ()
    return (Edit(expansion.span, "$SLURM_NTASKS"),)
