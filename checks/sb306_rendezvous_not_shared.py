"""The launchers of several nodes each look for the others at another address.

`localhost` is another machine on every node, and so is what `$(hostname)` gives in a task: each node waits for the
others at its own address, until the time-out. The same text in the batch shell is right, as that runs on the first
node. Where `scontrol` is asked inside a container, it is most often missing there, and a fallback to localhost makes
each node its own master.

## Fix

Meets at the first node of the job instead. Unsafe: the script may be used for one node as well, and names are not
everywhere the right address.

## References

torch/distributed/run.py; https://github.com/pytorch/pytorch/issues/76069; hostname(1); runs of torch 2.6 on two hosts
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB306", "rendezvous-not-shared", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers() | Steps(),
)  # fmt: skip

FIRST = 'the first node: $(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1), in the batch shell'


def check(job: Job) -> Iterator[Finding]:
    for found in job.unshared_rendezvous():
        name, span = found.world.name, found.world.span
        line = job.line(span.start)
        severity = None if found.certain else "warning"
        does = "waits for the others at its own address, until the time-out"
        if found.alone:
            does = "meets nobody at its own address, and each node trains a copy by itself, with exit status 0"
        if found.kind == "local":
            message = (
                f"{found.words} is another machine on each node: the {name} of line {line} {does}; "
                f"write {FIRST}"
            )
        elif found.kind == "task":
            message = (
                f"each task expands {found.words} to its own node, so that the {name} of line {line} "
                f"{does}; write {FIRST}"
            )
        elif found.kind == "fallback":
            message = (
                "scontrol is asked inside the container, where it is most often missing, and then each node meets "
                f"itself at localhost (line {line}); compute the address in the batch shell, and export it"
            )
        else:
            severity = "info"
            message = (
                f"{found.words} answers 127.0.1.1 where /etc/hosts says so, and then the {name} of line "
                f"{line} does not find the first node; write the node's name itself, or hostname -I"
            )
        yield Finding(
            found.place,
            message,
            severity,
            related=[(span, "what gets it")],
            fix=None if found.repair is None else Fix(*found.repair),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        MASTER_ADDR=«localhost»
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c '
            torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=«$(hostname)» train.py
        '
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c '
            torchrun --nnodes=2 --node_rank=$SLURM_NODEID \
--master_addr=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) train.py
        '
        """,
        title="expanded in each task",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun --container-image=train.sqsh bash -c '
            set -o pipefail
            HEAD=«$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1 || echo localhost)»
            torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        '
        """,
        title="scontrol in a container",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        ip=«$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address)»
        srun torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$ip:29500 train.py
        """,
        severity="info",
        title="the address that a host has for itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        srun bash -c "torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID --master_addr=$(hostname -I | cut -d' ' -f1) t.py"
        """,
        title="the batch shell is on the first node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun -N1 -n1 torchrun --nnodes=1 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 convert.py
        """,
        title="one node",
    ),
]
