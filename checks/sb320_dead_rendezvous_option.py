"""An option of the rendezvous has no effect.

torchrun looks at `--master_addr`, `--master_port` and `--node_rank` with the static backend alone. With
`--rdzv_backend=c10d` the endpoint decides where the nodes meet, and they number themselves, so that rank 0 need not be
on the host that `--master_addr` names. Whoever changes the dead option later wonders why nothing happens.

## Fix

Takes the option out. Safe: torchrun does not look at it.

## References

torch/distributed/run.py; https://github.com/pytorch/pytorch/issues/137402
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB320", "dead-rendezvous-option", severity="info", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for found in job.dead_rendezvous_options():
        launcher = found.world.launcher
        assert launcher is not None
        more = ", which numbers the nodes itself" if found.name == "node_rank" and "c10d" in found.because else ""
        yield Finding(
            found.place,
            f"{launcher.name} does not look at --{found.name} with {found.because}{more}; take it out",
            fix=partial(_fix, job, found),
        )


def _fix(job: Job, found: Any) -> Fix | None:
    repair = job.without_dead_option(found)
    return None if repair is None else Fix(*repair)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 \\
            «--node_rank=$SLURM_NODEID» \\
            --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            «--master_addr» $HEAD «--master_port=29500» train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 \\
            --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        ARGS="--standalone --nproc_per_node=8 «--rdzv_endpoint=localhost:0»"
        torchrun $ARGS train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        ARGS="--standalone --nproc_per_node=8"
        torchrun $ARGS train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export PET_RDZV_BACKEND=c10d
        srun torchrun --nnodes=2 --rdzv_endpoint=n1:29500 "«--master_addr=$(hostname)»" train.py
        """,
        title="the backend may be named in the environment; no fix for a word with quotes around it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=n1 --master_port=29500 train.py'
        srun torchrun --nnodes=2 --rdzv_backend=$BACKEND --rdzv_endpoint=n1:29500 --node_rank=0 train.py
        """,
        title="the static backend; one that is not known",
    ),
]
