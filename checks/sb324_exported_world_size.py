"""WORLD_SIZE or RANK is set where it is overwritten, or where it is not the number of ranks that are started.

torchrun, accelerate, deepspeed and ms-swift set both in every process that they start, so that what the script exports
reaches none of them: that is advice. A program that srun starts once for each rank does read them: with WORLD_SIZE
above the number of tasks it waits for the others until the time-out; below it, the ranks that are too many are refused,
or are taken for those of another run. The number of nodes in WORLD_SIZE is the common form of the latter.

A warning where nothing but WORLD_SIZE says that the program is one rank of many.

## Fix

`$SLURM_NTASKS` in the place of the number of nodes; as many tasks as WORLD_SIZE says, where each GPU of a node is to
have one. Unsafe: the program may count in another way.

## References

torch/distributed/rendezvous.py `_env_rendezvous_handler` and elastic/agent/server/local_elastic_agent.py, torch 2.13;
deepspeed/launcher/launch.py, 0.17
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB324", "exported-world-size", severity="error", fix="sometimes", since="0.1.0",
    when=Steps() | Launchers(),
)  # fmt: skip


TITLES = {"few": "count the tasks", "many": "start all ranks"}


def check(job: Job) -> Iterator[Finding]:
    for found in job.world_sizes():
        program = found.launcher or found.invocation.name or "program"
        line = job.line(found.invocation.name_span.start)
        severity = "error" if found.certain else "warning"
        if found.kind == "dead":
            severity = "info"
            message = f"{program} (line {line}) sets {found.name} itself in every process that it starts; leave it out"
        elif found.kind == "nodes":
            severity = "info"
            message = (
                f"WORLD_SIZE is the number of nodes here, and {program} (line {line}) sets it to that of the processes "
                "in each of them; call it NNODES"
            )
        elif found.kind == "few":
            message = (
                f"WORLD_SIZE is {found.number}, and srun starts {found.ranks} ranks of {program} (line {line}): those "
                f"from {found.number} on are refused or disturb the others; write $SLURM_NTASKS"
            )
        else:
            tasks = "1 task" if found.ranks == 1 else f"{found.ranks} tasks"
            message = (
                f"WORLD_SIZE is {found.number}, and srun starts {tasks} of {program} (line {line}): unless they start "
                "more ranks themselves they wait for the others until the time-out; ask for as many tasks"
            )
        yield Finding(
            found.place,
            message,
            severity=severity,
            related=[(found.invocation.name_span, "started here")],
            fix=Fix(TITLES[found.kind], found.edits) if found.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export «WORLD_SIZE=$SLURM_NNODES»
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export WORLD_SIZE=$SLURM_NTASKS
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
        """,
        title="the number of nodes for that of the ranks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export «WORLD_SIZE=$((SLURM_NNODES * 8))»
        srun bash -c 'export RANK=$SLURM_PROCID; python train.py'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        export WORLD_SIZE=$((SLURM_NNODES * 8))
        srun bash -c 'export RANK=$SLURM_PROCID; python train.py'
        """,
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
