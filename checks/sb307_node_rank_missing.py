"""A launcher of several nodes is not told which of them it is on.

With the static rendezvous (that of `--master_addr`) torchrun numbers its node by `--node_rank`, and takes 0 where that
is missing: every node holds itself for the first, and all wait for the others until the time-out. The c10d backend
numbers the nodes itself. `accelerate launch` ends with a TypeError where `--num_machines` comes without
`--machine_rank`, with any backend.

## Fix

Adds `--node_rank=$SLURM_NODEID` where a shell in the task reads it, with the backslash that the place needs: safe.
Where srun starts the launcher itself nothing in the task expands a variable, and the launcher is put into a `bash -c`:
unsafe.

## References

torch/distributed/run.py; accelerate utils/launch.py; runs of torch 2.6 on two hosts and of accelerate 1.15
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB307", "node-rank-missing", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for found in job.missing_node_ranks():
        launcher, asked = found.world.launcher, found.world.asked
        assert launcher is not None
        many = f"{asked.number} nodes" if asked.number else "several nodes"
        if launcher.kind == "accelerate":
            option, consequence = "--machine_rank", "it ends with a TypeError on each of them"
        else:
            option, consequence = "--node_rank", "each takes itself for node 0, and all hang until the time-out"
        text = f"{option}=$SLURM_NODEID"
        how = f"have each task expand {text}" if found.repair is None or not found.repair.safe else f"write {text}"
        yield Finding(
            found.place,
            f"{launcher.name} for {many} has no {option}: {consequence}; {how}",
            None if found.certain else "warning",
            fix=None if found.repair is None else Fix(*found.repair),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "«torchrun» --nnodes=4 --nproc_per_node=8 --master_addr=$HEAD train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "torchrun --nnodes=4 --node_rank=\\$SLURM_NODEID --nproc_per_node=8 --master_addr=$HEAD train.py"
        """,
        title="in double quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c '
            «torchrun» --nnodes $SLURM_NNODES --master_addr $MASTER_ADDR --nproc_per_node 8 train.py
        '
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c '
            torchrun --node_rank=$SLURM_NODEID --nnodes $SLURM_NNODES --master_addr $MASTER_ADDR \
--nproc_per_node 8 train.py
        '
        """,
        title="in single quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun «torchrun» --nnodes=2 --nproc_per_node=8 --master_addr=$HEAD --master_port=29500 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'exec torchrun --node_rank=$SLURM_NODEID "$@"' torchrun --nnodes=2 --nproc_per_node=8 \
--master_addr=$HEAD --master_port=29500 train.py
        """,
        title="srun starts it itself",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        ARGS="--num_machines 2 --num_processes 16 --main_process_ip $HEAD --rdzv_backend c10d"
        LAUNCHER="«accelerate» launch $ARGS"
        srun docker run --network host image $LAUNCHER train.py
        """,
        severity="warning",
        title="accelerate needs it with any backend; such a container gets no variable of the task",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        srun bash -c 'PET_NODE_RANK=$SLURM_NODEID torchrun --nnodes=2 --master_addr=n1 train.py'
        """,
        title="c10d numbers the nodes itself; a variable says it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --master_addr=n1 $NODE_ARGS train.py
        srun accelerate launch --config_file multi.yaml --num_machines 2 train.py
        """,
        title="what is not known",
    ),
]
