"""Too few or too many processes start: `--num_processes` of accelerate counts those of all machines.

torchrun's `--nproc_per_node` counts the processes of one node, accelerate's `--num_processes` those of all nodes: each
machine starts the total divided by `--num_machines`. Eight on four nodes with eight GPUs are two on each node: the job
runs with a quarter of its GPUs and a quarter of its batch, and prints no warning. The remainder of the division is
dropped silently: 3 processes on 2 machines make a world of 2. With less than one process for a machine, nothing starts.

An error where processes are dropped, lack a GPU, or nothing starts; a warning where GPUs stay idle, as for torchrun
(SB310), or the job does not show how many there are.

## Fix

Writes the number for all machines where the option's value is a literal number. Unsafe: the program may be intended to
leave GPUs to something else.

## References

`prepare_multi_gpu_env()` in accelerate/utils/launch.py (1.15); https://github.com/huggingface/accelerate/issues/1239
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.launch.literal_counts import literal_value
from sbatchlint.bash.values import expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.launchers import Setting
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB313", "accelerate-total-processes", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers("accelerate"), seen="a run of accelerate 1.15 on two machines; huggingface/accelerate#1239",
)  # fmt: skip

COUNT_OF_ONE_NODE = Regex(r"(?:GPU|PROC|PROCESSE|DEVICE|WORKER)S?_?(?:PER|ON)_?NODE|LOCAL_WORLD_SIZE", re.IGNORECASE)


_IDLE = "it starts only"


def check(job: Job) -> Iterator[Finding]:
    for world in find_worlds(job):
        launcher = world.launcher
        if launcher is None or launcher.kind != "accelerate" or launcher.cpu or launcher.hostfile is not None:
            continue
        total, setting, machines = launcher.total_processes, launcher.machines, world.nodes_setting.number
        if total is None or setting is None or machines is None or machines < 2:
            continue
        if world.starts_per_node not in (None, 1):
            continue
        gpus = world.gpus or None
        effect = _effect(job, total, machines, gpus)
        if effect is None:
            continue
        # GPUs that only stay idle are not an error
        certain = total.number is not None and (gpus is not None or total.number < machines) and _IDLE not in effect
        instead = "the number of all GPUs" if gpus is None else machines * gpus
        fix = _fix(job, total, setting, machines, gpus or total.number)
        yield Finding(total.span, f"{effect}; write {instead}", None if certain else "warning", fix=fix)


def _effect(job: Job, total: Setting, machines: int, gpus: int | None) -> str | None:
    """What accelerate does with a total that cannot be intended; None for one that may be."""
    number, variable = total.number, _count_of_one_node(job, total)
    if number is None:
        if variable is None:
            return None
        return f"`--num_processes` is the total of {machines} machines, but `{variable}` counts one node"
    if number < 1:
        return None
    share, rest = divmod(number, machines)
    of_one_node = number == gpus or variable is not None and gpus is None
    if share == 0:
        return f"`--num_processes={number}` is less than one process for each of {machines} machines: nothing starts"
    if rest and not of_one_node:
        return f"`--num_processes={number}` on {machines} machines starts {share} on each, and silently drops {rest}"
    if gpus is not None and share > gpus:
        have = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
        return f"`--num_processes={number}` starts {share} on each machine with {have}: invalid device ordinal"
    if of_one_node or gpus is not None and share * 2 <= gpus:
        have = "" if gpus is None else f" with {gpus} GPUs"
        return f"`--num_processes={number}` is the total: {_IDLE} {share} on each of {machines} machines{have}"
    return None


def _count_of_one_node(job: Job, total: Setting) -> str | None:
    """The name of the variable that is the total, if by its name it counts what one node has; None otherwise."""
    value = total.value
    if not value or len(value) != 1:
        return None
    if value[0].expansion is None:
        at = value[0].start
        names = {each.name for each in job.assignments if each.span.start <= at < each.span.end}
    else:
        names = {each.name for each in expansions(value)}
    name = names.pop() if len(names) == 1 else "$"
    return name if COUNT_OF_ONE_NODE.search(name) and not name.startswith("$") else None


def _fix(job: Job, total: Setting, setting: Setting, machines: int, share: int | None) -> Fix | None:
    """The fix that writes the number for all machines, where a literal number for one node follows the option."""
    span = literal_value(job, total)
    if share is None or span is None:
        return None
    names = [each.name for each in expansions(setting.value or ())]
    if not names:
        instead = str(machines * share)
    elif len(names) == 1 and names[0].startswith("SLURM_"):
        instead = f"$(({names[0]} * {share}))"
    else:
        return None
    return Fix("write the total of all machines", [replace(span, instead)])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'accelerate launch --num_machines=$SLURM_NNODES «--num_processes» 8 \\
            --machine_rank=$SLURM_NODEID --main_process_ip=n1 train.py'
        """,
        unsafe_fixed={"--num_processes 8": "--num_processes $((SLURM_NNODES * 8))"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun bash -c "accelerate launch --num_machines 2 «--num_processes=7» --machine_rank \\$SLURM_NODEID train.py"
        """,
        unsafe_fixed={"--num_processes=7": "--num_processes=8"},
        title="a remainder that nothing starts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --exclusive
        GPUS_PER_NODE=8
        LAUNCHER="accelerate launch --num_machines 2 «--num_processes» $GPUS_PER_NODE --main_process_ip n1"
        srun bash -c "$LAUNCHER --machine_rank \\$SLURM_NODEID train.py"
        """,
        title="by its name the number of one node",
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        GPUS_PER_NODE=8
        NP=$((SLURM_NNODES * GPUS_PER_NODE))
        srun bash -c "accelerate launch --num_machines 4 --num_processes $NP --machine_rank \\$SLURM_NODEID train.py"
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        accelerate launch --num_machines 1 --num_processes 8 train.py
        """,
        title="one machine",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c "accelerate launch --num_machines 4 --num_processes 28 --machine_rank \\$SLURM_NODEID train.py"
        """,
        title="a GPU on each node is left to something else",
    ),
]
