"""The port of a rendezvous is the same in every job, on a node that other jobs may share.

Two jobs that open the same port on one node clash: the second ends with EADDRINUSE, or, worse, joins the first. It
bites where a job has a part of a node, and where one starts the same script twice. Not asked unless it is selected.

## Fix

Makes the port of the job's number, below the range from which systems take ports of their own. Unsafe: something
outside may rely on the number.

## References

torch/distributed/run.py; https://github.com/NVIDIA/enroot/issues/243; ip(7), ip_local_port_range
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB322", "fixed-master-port", severity="info", fix="sometimes", since="0.1.0", stage="optional")

PORT = "$((20000 + SLURM_JOB_ID % 20000))"


def check(job: Job) -> Iterator[Finding]:
    for found in job.fixed_ports():
        yield Finding(
            found.place,
            f"port {found.number} is the same in every job, and a second one on this node ends with EADDRINUSE; "
            f"write {PORT}",
            fix=None if found.edit is None else Fix("make the port of the job's number", [found.edit]),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=2
        export MASTER_ADDR=localhost MASTER_PORT=«29500»
        torchrun --nproc_per_node=2 --master_port=$MASTER_PORT train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=2
        export MASTER_ADDR=localhost MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
        torchrun --nproc_per_node=2 --master_port=$MASTER_PORT train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:4
        srun torchrun --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=localhost:«29400» train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:4
        srun torchrun --nproc_per_node=4 --rdzv_backend=c10d \
--rdzv_endpoint=localhost:$((20000 + SLURM_JOB_ID % 20000)) train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun bash -c 'export MASTER_PORT=«12355»; python train.py'
        """,
        title="inside quotes: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8 --exclusive
        torchrun --nproc_per_node=8 --master_port=29500 train.py
        """,
        title="the node is the job's own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=2
        MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
        torchrun --nproc_per_node=2 --master_port=$MASTER_PORT train.py
        torchrun --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py
        """
    ),
]
