"""WORLD_SIZE or RANK is wrong: a launcher overwrites it, or it differs from the number of ranks.

torchrun, accelerate, deepspeed and ms-swift set both in every process that they start, so the values that the script
exports reach none of them: this is only reported as advice. accelerate sets neither where it starts one process
(`--num_processes 1`, or one GPU and no such option: nothing is then reported of a WORLD_SIZE of 1), and its program
reads what the script left behind: with a WORLD_SIZE above 1 it may wait for ranks that nobody starts. A program that
srun starts once for each rank does read them: with WORLD_SIZE above the number of tasks it waits for the others until
the timeout; below it, the surplus ranks are refused, or count as ranks of another run. Typically, WORLD_SIZE was set
to the number of nodes.

A warning where only WORLD_SIZE indicates that the program is one rank of many, and for accelerate with one process;
advice where one task a node may start the others of that node, as programs do with `torch.multiprocessing`.

## Fix

Writes `$SLURM_NTASKS` in place of the number of nodes, or requests as many tasks as WORLD_SIZE says, where each GPU of
a node is to have one. Unsafe: the program may count differently.

## References

torch/distributed/rendezvous.py `_env_rendezvous_handler` and elastic/agent/server/local_elastic_agent.py, torch 2.13;
deepspeed/launcher/launch.py, 0.17; runs of accelerate 1.15 with one process
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.lone_ranks import lone_ranks, more_tasks
from sbatchlint.analysis.launch.rank_signs import rank_sign, spawns_others
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, Pieces, expansions, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, replace
from sbatchlint.job.argv import integer
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.launchers import Launcher, python_of
from sbatchlint.job.launches import container_of
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.job.worlds import counts_nodes
from sbatchlint.triggers import Variables

CARD = Card(
    "SB324", "exported-world-size", severity="error", fix="sometimes", since="0.1.0",
    when=Variables("WORLD_SIZE", "RANK"),
)  # fmt: skip

# Options with which accelerate uses torch's or DeepSpeed's launcher even for one process.
_WITH_RANKS = frozenset({"multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "tpu"})
# Programs that get their ranks from Slurm, regardless of these variables.
FROM_SLURM = ("lightning", "jax", "slurm-launcher")


def check(job: Job) -> Iterator[Finding]:
    found: dict[Span, Finding] = {}
    launchers = {id(launch.invocation) for launch in job.launches}
    for launch in job.launches:
        if (launch.launcher.is_a("ranks") or launch.launcher.kind == "deepspeed.launch") and launch.launcher.spawns:
            for name in ("WORLD_SIZE", "RANK"):
                finding = _overwritten(job, launch, name)
                if finding is not None:
                    found.setdefault(finding.span, finding)
    for invocation in job.invocations:
        step = enclosing_step(invocation.context)
        if step is not None and not any(id(each) in launchers for each in (invocation, *invocation.ancestors())):
            finding = _wrong_size(job, invocation, step)
            if finding is not None:
                # it remains wrong even if a launcher overwrites it as well
                found[finding.span] = finding
    yield from found.values()


def _overwritten(job: Job, launch: Launch, name: str) -> Finding | None:
    """The finding on a variable that a launcher overwrites in each of its processes."""
    launcher, invocation = launch.launcher, launch.invocation
    for_launcher = _number_of_nodes(launch, name)
    field = exported(invocation, name) or for_launcher
    if field is None:
        return None
    if _is_single(launcher):
        return _left_as_it_is(job, launch, field) if name == "WORLD_SIZE" else None
    if _may_be_single(job, launcher):
        return None
    if name == "RANK" and any(each.name in TASK_VARIABLES for each in expansions(field)):
        return None  # another check reports it if it is expanded too early, and in the task it is right
    holds_nodes = name == "WORLD_SIZE" and (for_launcher is not None or counts_nodes(field))
    is_read = any(each.name == name for each in job.trace.reads)
    program = f"`{launcher.name}` (line {job.line(invocation.name_span.start)})"
    if holds_nodes and is_read:
        message = f"`WORLD_SIZE` is the number of nodes here, but {program} sets it to the number of processes; "
        message += "call it `NNODES`"
    elif holds_nodes or not is_read:
        message = f"{program} sets `{name}` itself in every process that it starts; remove the assignment"
    else:
        return None
    return Finding(_place(job, name, field), message, severity="info", related=[(invocation.name_span, "started here")])


def _is_single(launcher: Launcher) -> bool:
    """Whether a launcher is accelerate's simple one, which starts one process and sets no ranks."""
    total, machines = launcher.total_processes, launcher.machines
    if launcher.kind != "accelerate" or total is None or total.number != 1 or not launcher.certain:
        return False
    if machines is not None and machines.number != 1 or launcher.config_file is not None or launcher.configured:
        return False
    return not _WITH_RANKS.intersection(launcher.flags)


def _may_be_single(job: Job, launcher: Launcher) -> bool:
    """Whether accelerate may count one GPU, or read of one process in a file, and then sets nothing."""
    if launcher.kind != "accelerate" or _WITH_RANKS.intersection(launcher.flags):
        return False
    total, machines = launcher.total_processes, launcher.machines
    if machines is not None and machines.number != 1 or job.request.gpus_per_node() not in (None, 1):
        return False
    return total is None or total.number in (None, 1)


def _left_as_it_is(job: Job, launch: Launch, field: Pieces) -> Finding | None:
    """The finding on a WORLD_SIZE above 1 that reaches the only process of accelerate."""
    number, step = integer(field), enclosing_step(launch.invocation.context)
    if number is None or number < 2 or step is not None and step.tasks != 1:
        return None
    message = f"`{launch.launcher.name}` starts one process and leaves `WORLD_SIZE={number}` as it is, so the program "
    message += "may wait for missing ranks; remove the assignment"
    place = _place(job, "WORLD_SIZE", field)
    return Finding(place, message, "warning", related=[(launch.invocation.name_span, "started here")])


def _number_of_nodes(launch: Launch, name: str) -> Pieces | None:
    """The value of a variable, where the script uses it as the launcher's number of nodes."""
    command = launch.invocation
    for ancestor in command.ancestors():
        if ancestor.text is not None or isinstance(ancestor.spawn.info, Step):
            break
        command = ancestor  # what the shell itself starts, such as `env`
    machines, variable = launch.launcher.machines, command.state.variables.get(name)
    if machines is None or machines.value is None or variable is None or len(variable.alternatives) != 1:
        return None
    fields = variable.alternatives[0].fields
    return fields[0] if fields and fields[0] and fields[0] == machines.value else None


def _wrong_size(job: Job, invocation: Invocation, step: Step) -> Finding | None:
    """The finding on a WORLD_SIZE that differs from the number of tasks of a step, where each task is a rank."""
    field = exported(invocation, "WORLD_SIZE")
    number = None if field is None else integer(field)
    context = invocation.context
    if field is None or number is None or number == step.tasks or not invocation.argv:
        return None
    outer = step.invocation.context
    if context.restricted or context.background is not outer.background or context.loops != outer.loops:
        return None
    if step.tasks is None or step.geometry.ignored is not False or job.request.heterogeneous:
        return None
    sign = rank_sign(job, invocation)
    if sign is None and not _may_be_rank(job, invocation) or sign is not None and sign.kind in FROM_SLURM:
        return None
    has_address = exported(invocation, "MASTER_ADDR") is not None
    program = f"`{invocation.name or 'program'}` (line {job.line(invocation.name_span.start)})"
    unsure = "warning"
    if number < step.tasks:
        if sign is None and not (step.geometry.several and number == step.nodes):
            return None
        certain = sign is not None or has_address
        message = f"`WORLD_SIZE` is {number}, but srun starts {step.tasks} ranks of {program}: those from {number} on "
        message += "are refused, or disturb the others; write `$SLURM_NTASKS`"
        fix = _count_tasks(job, step, field, invocation)
    else:
        # Each task may start the other processes of its node itself.
        gpus = job.request.gpus_per_node() or 0
        awaited = step.several_nodes and has_address and step.tasks_per_node == 1 and number == gpus * step.tasks
        certain = sign is not None
        if not certain and not awaited:
            return None
        unsure = "info"  # such programs start the others of their node, or only ask whether WORLD_SIZE is set
        tasks = "the task" if step.tasks == 1 else f"the {step.tasks} tasks"
        wait, start = ("waits", "it starts") if step.tasks == 1 else ("wait", "they start")
        message = f"`WORLD_SIZE` is {number}, so {tasks} of {program} {wait} for more ranks until a timeout, "
        message += f"unless {start} them; request {number} tasks"
        fix = _start_all_ranks(job, invocation)
    return Finding(
        _place(job, "WORLD_SIZE", field),
        message,
        severity="error" if certain else unsure,
        related=[(invocation.name_span, "started here")],
        fix=fix,
    )


def _may_be_rank(job: Job, invocation: Invocation) -> bool:
    """Whether a command is a Python program that may be one rank of many, and is not known to start more."""
    python = python_of(invocation)
    if python is None or python.kind not in ("script", "module") or python.text is None:
        return False
    return not spawns_others(job, invocation)


def _place(job: Job, name: str, field: Pieces) -> Span:
    """The place of the assignment in the script; without one, that of the value."""
    for assignment in job.assignments:
        if assignment.name == name and any(value.fields == (field,) for value in assignment.alternatives):
            return assignment.span
    return span_of(field)


def _count_tasks(job: Job, step: Step, field: Pieces, invocation: Invocation) -> Fix | None:
    """The fix that writes `$SLURM_NTASKS` in place of another variable, where srun starts as many tasks."""
    if len(field) != 1 or field[0].expansion is None or job.request.effective_tasks() != step.tasks:
        return None
    expansion = field[0].expansion
    sets_tasks = any(job.request.has_option(name) for name in ("ntasks", "ntasks-per-node"))
    container = container_of(invocation)
    if not sets_tasks or expansion.phase is not Phase.BATCH or container is not None and not container.inherits:
        return None
    if job.source.slice(expansion.span).strip("${}") != expansion.name:
        return None
    return Fix("write $SLURM_NTASKS", [replace(expansion.span, "$SLURM_NTASKS")])


def _start_all_ranks(job: Job, invocation: Invocation) -> Fix | None:
    """The fix of one-task-rank-program, which starts a task for each rank."""
    for rank in lone_ranks(job):
        if rank.awaited and rank.invocation is invocation:
            fix = more_tasks(job, rank)
            return None if fix is None else fix._replace(title="start all ranks")
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export «WORLD_SIZE=$SLURM_NNODES»
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
        """,
        unsafe_fixed={"WORLD_SIZE=$SLURM_NNODES": "WORLD_SIZE=$SLURM_NTASKS"},
        title="the number of nodes instead of the number of ranks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export «WORLD_SIZE=$((SLURM_NNODES * 8))»
        srun bash -c 'export RANK=$SLURM_PROCID; python train.py'
        """,
        unsafe_fixed={"--ntasks-per-node=1": "--ntasks-per-node=8"},
        title="ranks that nobody starts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export «WORLD_SIZE=16»
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        severity="info",
        title="torchrun overwrites it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        export WORLD_SIZE=1 RANK=0
        accelerate launch --mixed_precision fp16 translate.py
        """,
        title="accelerate sets neither for one GPU",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        export WORLD_SIZE=$SLURM_NTASKS
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=8
        export WORLD_SIZE=8
        srun python train.py --multiprocessing-distributed
        """,
        title="the program starts its ranks itself",
    ),
]
