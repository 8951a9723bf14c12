"""When one task of this step fails, srun leaves the others waiting for it.

A distributed program hangs in its next collective operation when a rank is gone. srun does not mind: it waits until the
other tasks end too, which is the timeout of NCCL (ten minutes, or never) or the end of the job's time. With
`--kill-on-bad-exit=1` the first task that fails ends the step at once, and the nodes are free. `--no-kill` says the
contrary, and takes the effect of `--kill-on-bad-exit` and `--wait` away.

## Fix

Adds `--kill-on-bad-exit=1`. Safe: it changes nothing while all tasks are well. `--no-kill` is left to its author.

## References

srun(1), --kill-on-bad-exit and --no-kill; https://github.com/PrimeIntellect-ai/prime-rl/pull/2577
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB323", "step-survives-failure", severity="info", fix="sometimes", since="0.1.0", when=Steps())

OPTION = "--kill-on-bad-exit=1"


def check(job: Job) -> Iterator[Finding]:
    for each in job.surviving_steps():
        step = each.step
        if each.kept is not None:
            yield Finding(
                each.kept.span,
                f"{each.kept.written} keeps this step when a node fails, and makes --kill-on-bad-exit and --wait void: "
                f"the other nodes of {each.program} hang until a time-out; remove it",
            )
            continue
        yield Finding(
            step.invocation.name_span,
            f"when {each.program} fails on one of {step.nodes} nodes, srun lets the others hang until a time-out; "
            f"write {OPTION}",
            fix=partial(_fix, job, step),
        )


def _fix(job: Job, step: Any) -> Fix | None:
    edits = add_step_option(job, [step], OPTION, ("nodes", "ntasks", "ntasks-per-node", "cpu-bind"))
    return None if edits is None else Fix(f"end the step with its first failure, {OPTION}", edits, True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        «srun» torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun --kill-on-bad-exit=1 torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=n1:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        «srun» --cpu-bind=none python train.py --trainer.devices=8 --trainer.num_nodes=2
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun --cpu-bind=none --kill-on-bad-exit=1 python train.py --trainer.devices=8 --trainer.num_nodes=2
        """,
        title="one task for each rank",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun «--no-kill» --kill-on-bad-exit=1 torchrun --nnodes=2 --nproc_per_node=8 --master_addr=n1 train.py
        """,
        title="told to go on",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun -K1 torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        export SLURM_KILL_BAD_EXIT=1
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=1:2 --max_restarts=3 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 train.py
        srun ./simulate
        """,
        title="torchrun starts the workers anew; what is no distributed training",
    ),
]
