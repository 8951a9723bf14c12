"""A launcher of several nodes is not told where they meet.

torchrun does not read MASTER_ADDR and MASTER_PORT, however often a guide exports them: it sets them for its workers.
Where its launchers meet is said by `--master_addr`, or `--rdzv_endpoint` for the c10d backend (or PET_MASTER_ADDR,
PET_RDZV_ENDPOINT). Without one they meet at 127.0.0.1, each node at its own, and wait there until the time-out; with
c10d and `--nnodes=1:2`, which is content with one node, each trains a copy by itself, and the job ends well.

## Fix

Adds the option. Safe where the script exports MASTER_ADDR, made of `scontrol show hostnames`; otherwise a line that
makes it is added too, which is unsafe.

## References

torch/distributed/run.py; https://github.com/pytorch/pytorch/issues/76069; runs of torch 2.6 on two hosts
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB305", "rendezvous-missing", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for found in job.missing_rendezvous():
        launcher, asked = found.world.launcher, found.world.asked
        assert launcher is not None
        backend = launcher.rendezvous.backend if launcher.rendezvous is not None else None
        many = f"{asked.number} nodes" if asked.number else "several nodes"
        exported = "" if launcher.environment("MASTER_ADDR") is None else " (it does not read MASTER_ADDR)"
        if launcher.kind == "accelerate":
            what, option = "is not told the address of the first", "--main_process_ip=HOST --main_process_port=PORT"
            consequence = "they cannot find each other"
        elif backend == "c10d":
            what, option = "has no --rdzv_endpoint", "--rdzv_endpoint=HOST:PORT"
            if "master_addr" in launcher.options:
                exported = " (with c10d it does not look at --master_addr)"
            consequence = f"each node waits at its own localhost{exported}, until the time-out"
            if found.alone:
                consequence = f"each node meets only itself at its own localhost{exported}, trains a copy of its own"
                consequence += ", and the job still ends with exit status 0"
        else:
            what = "has neither --master_addr nor --rdzv_endpoint"
            option = "--master_addr=HOST --master_port=PORT"
            consequence = f"each node waits at its own 127.0.0.1{exported}, until the time-out"
        when = "" if found.certain or launcher.kind == "accelerate" else "with more than one node "
        yield Finding(
            found.place,
            f"{launcher.name} for {many} {what}: {when}{consequence}; write {option} with the first node's name",
            None if found.certain else "warning",
            fix=None if found.repair is None else Fix(*found.repair),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export MASTER_PORT=29500
        srun bash -c '«torchrun» --nnodes=4 --node_rank=$SLURM_NODEID --nproc_per_node=8 train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export MASTER_PORT=29500
        srun bash -c 'torchrun --nnodes=4 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
--node_rank=$SLURM_NODEID --nproc_per_node=8 train.py'
        """,
        title="MASTER_ADDR is exported, and nobody reads it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun «torchrun» --nnodes=$SLURM_NNODES --nproc_per_node=8 --rdzv_backend=c10d train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --rdzv_endpoint=$MASTER_ADDR:29500 --nnodes=$SLURM_NNODES --nproc_per_node=8 \
--rdzv_backend=c10d train.py
        """,
        title="c10d without an endpoint",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2-4 --ntasks-per-node=1 --gpus-per-node=8
        CMD="«torchrun» --nnodes=$SLURM_NNODES --node_rank=\\$SLURM_NODEID --nproc_per_node=8"
        srun bash -c "$CMD train.py"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2-4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        CMD="torchrun --master_addr=$MASTER_ADDR --nnodes=$SLURM_NNODES --node_rank=\\$SLURM_NODEID --nproc_per_node=8"
        srun bash -c "$CMD train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c '«accelerate» launch --num_machines 2 --num_processes 16 --machine_rank $SLURM_NODEID train.py'
        """,
        severity="warning",
        title="accelerate, whose own configuration may say more",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun «torchrun» --nnodes=1:2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=1:2 --rdzv_endpoint=$MASTER_ADDR:29500 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_id=$SLURM_JOB_ID train.py
        """,
        title="elastic: each node is content with itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export PET_RDZV_ENDPOINT=$(hostname):29500 PET_RDZV_BACKEND=c10d
        srun torchrun --nnodes=2 --nproc_per_node=8 train.py
        """,
        title="from the environment",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 train.py
        srun torchrun --nnodes=2 $RDZV_ARGS train.py
        """,
        title="one node; options that are not known",
    ),
]
