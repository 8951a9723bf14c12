"""srun ignores --ntasks-per-node, because the job's number of tasks counts as its -n.

A job with `--ntasks-per-node=8` on 8 nodes has SLURM_NTASKS=64 in its environment, and each srun reads that as `-n 64`.
An srun with `--ntasks-per-node=1`, meant for a launcher, then starts 64 tasks all the same: "can't honor
--ntasks-per-node set to 1 which doesn't match the requested tasks 64", and goes on. With `-N` beside it srun honours
it since 23.02.

## Fix

Adds `--ntasks`, the number of nodes times the tasks on each. Safe: it says what the option asks for.

## References

`initialize_and_process_args()` in src/srun/opt.c, Slurm 22.05 to 26.05; live runs of 22.05
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.analysis.launch.step_options import knows_all_steps
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB302", "step-tasks-ignored", severity="error", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for found in job.ignored_tasks():
        option = found.step.option("ntasks-per-node")
        assert option is not None
        says = f"`{found.inherited[1]}` (line {job.line(found.inherited[0].start)})" if found.inherited else "the job"
        releases = "" if found.always else " (before 23.02)"
        nodes = found.step.option("nodes")
        product = "$SLURM_NNODES" if found.wanted == 1 else f"$((SLURM_NNODES * {found.wanted}))"
        if nodes is not None and nodes.text is not None and nodes.text.isdecimal():
            product = str(int(nodes.text) * found.wanted)
        yield Finding(
            option.span,
            f"srun ignores `{option.written}={found.wanted}` here{releases}: {says} leaves SLURM_NTASKS in the "
            f"environment, which counts as -n, and the step starts {found.got} tasks on a node; "
            f"write --ntasks={product} beside it",
            None if found.always else "warning",
            related=[] if found.inherited is None else [(found.inherited[0], "the tasks that srun inherits")],
            fix=None
            if found.edits is None
            else Fix("say how many tasks there are", found.edits, knows_all_steps(job)),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=8
        #SBATCH --ntasks-per-node=8
        srun «--ntasks-per-node=1» torchrun --nnodes=8 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=8
        #SBATCH --ntasks-per-node=8
        srun --ntasks-per-node=1 --ntasks=$SLURM_NNODES torchrun --nnodes=8 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks=16
        srun -N 2 «--ntasks-per-node=2» ./setup.sh
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks=16
        srun -N 2 --ntasks-per-node=2 --ntasks=4 ./setup.sh
        """,
        severity="warning",
        title="with -N, before 23.02",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2-8 --ntasks-per-node=8
        STEP="srun «--ntasks-per-node=1»"
        $STEP ./once_per_node
        """,
        severity="warning",
        title="no fix in a string, where the number of nodes is not known",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=8
        #SBATCH --ntasks-per-node=8
        srun -n $SLURM_NNODES --ntasks-per-node=1 ./once_per_node
        srun --ntasks-per-node=8 ./everywhere
        unset SLURM_NTASKS SLURM_NPROCS
        srun -N 8 --ntasks-per-node=1 ./once_per_node
        """,
        title="with -n; as many as the job has; without the variable",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=8
        srun --ntasks-per-node=4 ./a.out
        """,
        title="a job that asks for no tasks",
    ),
]
