"""What a step has for itself alone: CPUs, memory and GPUs that no other step of the job gets while it runs.

`launch_common_create_job_step()` of src/srun/launch.c and `_pick_step_nodes()` of src/slurmctld/step_mgr.c, 22.05 to
26.05; live runs of 22.05. A step shares all with --overlap.
"""

from typing import NamedTuple

from sbatchlint.bash.trace import is_set
from sbatchlint.job import Job
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.once import once
from sbatchlint.job.request import Request
from sbatchlint.job.step_cpus import cpus_in_all, cpus_per_task
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.sizes import megabytes

EXACT = ("exact", "exclusive", "cpus-per-task", "cpus-per-gpu")
# Variables by which the script itself changes what a step claims, and options that we do not reckon with.
_CHANGING = (
    "SLURM_OVERLAP", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_WHOLE", "SLURM_STEP_GRES", "SLURM_GRES",
    "SLURM_MEM_PER_CPU", "SLURM_JOB_NUM_NODES",
)  # fmt: skip
_UNCLEAR = ("het-group", "jobid", "overcommit", "cpus-per-gpu", "mem-per-gpu", "tres-per-task", "immediate")
_MORE_CPUS = ("exclusive", "overcommit", "hint", "threads-per-core", "mincpus", "gpus", "gres", "cpus-per-gpu")


class Claim(NamedTuple):
    """What a step has for itself alone. `cpus`: of all its tasks; None: all on its nodes; 0: not known.

    `memory`: megabytes on each node; `gpus`: on each node; 0: none, or not known.
    """

    cpus: int | None
    memory: int
    gpus: int


class Room(NamedTuple):
    """What the job has: nodes, CPUs in all, memory and GPUs on each node; 0: not known."""

    nodes: int
    cpus: int
    memory: int
    gpus: int


def room_of(job: Job) -> Room:
    request = job.request
    nodes = job_nodes(request) or (0 if request.asked("nodes") else 1)
    memory = request.memory
    return Room(
        nodes,
        _cpus_of(request),
        (memory.megabytes or 0) if memory is not None and memory.per == "node" else 0,
        request.gpus_per_node() or (request.gpus.total or 0 if nodes == 1 else 0),
    )


def _cpus_of(request: Request) -> int:
    """The CPUs of the job; 0 where they are not known."""
    held, tasks = cpus_in_all(request), request.effective_tasks()
    if held is not None:
        return held[0]
    if not tasks or not request.asked("mem-per-cpu") or request.asked_any(_MORE_CPUS):
        return 0
    number = tasks * (whole(request.text("cpus-per-task")) or 1)
    return number + number % 2


def claim_of(job: Job, step: Step, room: Room, version: str, exact: bool = False) -> Claim | None:
    """What a step claims in a release; None where that is not known. `exact`: as if it were told --exact."""
    return _claim(job, step, room, version, exact)


@once
def _claim(job: Job, step: Step, room: Room, version: str, exact: bool) -> Claim | None:
    options, request, command = step.options, step.request, step.invocation
    if not step.certain or step.elsewhere or any(name in options or request.asked(name) for name in _UNCLEAR):
        return None
    if any(is_set(command, name) or any(name == own for own, _ in command.variables) for name in _CHANGING):
        return None
    wanted = cpus_per_task(step, version)
    if wanted.number is None or wanted.conflict:
        return None
    cpus: int | None = None
    if exact or wanted.number or any(name in options for name in EXACT):
        cpus = (step.tasks or 0) * (wanted.number or 1)
    memory = room.memory
    if "mem" in options:
        memory = megabytes(options["mem"].text) or 0
    elif "mem-per-cpu" in options or command.state.variables.get("SLURM_MEM_PER_NODE") is not None:
        memory = 0
    return Claim(cpus, memory, (step_gpus(job, step).on_node or 0) if room.gpus else 0)


def clash(first: Claim, second: Claim, room: Room) -> set[str]:
    """Of what two steps on one node claim more than there is."""
    found = set()
    if first.cpus is None or second.cpus is None:
        found.add("whole")
    elif room.cpus and first.cpus and second.cpus and first.cpus + second.cpus > room.cpus:
        found.add("cpus")
    if room.memory and first.memory and second.memory and first.memory + second.memory > room.memory:
        found.add("memory")
    if room.gpus and first.gpus and second.gpus and first.gpus + second.gpus > room.gpus:
        found.add("gpus")
    return found
