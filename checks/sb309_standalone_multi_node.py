"""`--standalone` on several nodes: each node trains by itself, or waits for others that cannot find it.

`--standalone` makes torchrun open a rendezvous of its own on a free port of localhost, and overrides what the other
options say of it. Started on several nodes it makes as many separate trainings, which overwrite each other's
checkpoints, and the job ends with exit status 0. With `--nnodes` above one it waits for the others, who are at their
own localhost, until its time-out.

## Fix

Lets all nodes meet at the first of them, as one world. Unsafe: separate runs, or one node, might be meant.

## References

torch/distributed/run.py; runs of torch 2.6 on two hosts
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB309", "standalone-multi-node", severity="error", fix="sometimes", since="0.1.0", when=Launchers())

INSTEAD = (
    "write --nnodes=$SLURM_NNODES --rdzv_backend=c10d --rdzv_endpoint=HOST:PORT with the first node's name instead"
)


def check(job: Job) -> Iterator[Finding]:
    for found in job.standalone_launchers():
        launcher = found.world.launcher
        assert launcher is not None
        asked = found.world.asked
        fix = None if found.repair is None else Fix(*found.repair)
        if asked.several or asked.of_job:
            many = f"{asked.number} nodes" if asked.number else "several nodes"
            yield Finding(
                found.place,
                f"--standalone makes {launcher.name} meet at its own localhost, though it is told of {many}: each "
                f"waits for the others, until the time-out; {INSTEAD}",
                fix=fix,
            )
            continue
        nodes = "several nodes" if found.nodes is None else f"{found.nodes} nodes"
        copies = "separate trainings" if found.nodes is None else f"{found.nodes} separate trainings"
        yield Finding(
            found.place,
            f"srun starts {launcher.name} --standalone on {nodes}: that makes {copies}, and the job still ends with "
            f"exit status 0; {INSTEAD}, or run the step with --nodes=1",
            "warning",
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun «--standalone» --nnodes=2 --rdzv_id=7 --nproc_per_node=8 train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun «--standalone» --nproc_per_node=8 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID \
--rdzv_endpoint=$MASTER_ADDR:29500 --nproc_per_node=8 train.py
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --standalone --nnodes=1 --nproc_per_node=8 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun -N1 -n1 torchrun --standalone --nproc_per_node=8 convert.py
        srun bash -c 'torchrun --standalone --nproc_per_node=8 evaluate.py --shard $SLURM_NODEID'
        """,
        title="one node of the job; a shard for each node",
    ),
]
