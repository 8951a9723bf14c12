"""A launcher starts more processes on a node than it sees GPUs there, or fewer.

`--nproc_per_node=8` in a job of `--gpus-per-node=4`: the ranks 4 to 7 take GPUs that are not there and die of
`CUDA error: invalid device ordinal`, and the others with them; or, where the program takes its rank modulo the number
of GPUs, two ranks share one (NCCL: `Duplicate GPU detected`). With fewer processes the other GPUs are idle, which is a
warning, and only where nothing else of the script could use them and it is not a single process.

## Fix

Where the launcher names a number of its own: `--nproc_per_node=$SLURM_GPUS_ON_NODE`. Unsafe, since the request may be
what is wrong.

## References

torch/distributed/run.py; https://github.com/ACEsuit/mace/issues/435
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB310", "nproc-gpu-mismatch", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for each in job.process_mismatches():
        launcher, step = each.world.launcher, each.world.step
        assert launcher is not None
        seen = "one GPU" if each.gpus == 1 else f"{each.gpus} GPUs"
        related = [] if each.value is None or each.value == each.place else [(each.value, f"{each.count} is said here")]
        if each.directive is not None:
            where = f" (line {job.line(each.directive.span.start)})"
            related.append((each.directive.span, f"asks for {seen} on each node"))
        else:
            where = " (CUDA_VISIBLE_DEVICES)" if each.chosen else " (its srun asks for them)" if step else ""
        processes = "one process" if each.count == 1 else f"{each.count} processes"
        starts = f"{launcher.name} starts {processes} on a node, and sees {seen} there{where}"
        if each.count > each.gpus:
            rest = each.count - each.gpus
            last, takes = ("the last one", ("dies", "shares")) if rest == 1 else (f"the last {rest}", ("die", "share"))
            consequence = (
                f"{last} {takes[0]} of `invalid device ordinal`, or {takes[1]} a GPU with another one (`Duplicate GPU "
                "detected`)"
            )
        else:
            rest = each.gpus - each.count
            consequence = "the last one stays idle" if rest == 1 else f"the last {rest} stay idle"
        yield Finding(
            each.place,
            f"{starts}: {consequence}; start as many as there are GPUs ($SLURM_GPUS_ON_NODE), or ask for {each.count}",
            None if each.count > each.gpus and each.certain else "warning",
            related=related,
            fix=None if each.edit is None else Fix("start a process for each GPU", [each.edit]),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun torchrun --standalone «--nproc_per_node=8» train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun torchrun --standalone --nproc_per_node=$SLURM_GPUS_ON_NODE train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8
        GPUS_PER_NODE=4
        srun torchrun --nnodes=2 «--nproc_per_node=»$GPUS_PER_NODE --rdzv_backend=c10d \\
            --rdzv_endpoint=$HEAD:29500 train.py
        """,
        severity="warning",
        title="half of the GPUs stay idle",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export CUDA_VISIBLE_DEVICES=0,1
        accelerate launch «--num_processes» 4 train.py
        """,
        title="the script shows it two of them",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE evaluate.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        torchrun --nproc_per_node=1 convert.py
        """,
        title="one process, which may use all of them",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        CUDA_VISIBLE_DEVICES=0 python -m vllm.entrypoints.openai.api_server --model m &
        CUDA_VISIBLE_DEVICES=1,2,3,4,5,6,7 accelerate launch --num_processes 7 train.py
        """,
        title="the first GPU is for another program",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:2
        torchrun --nproc_per_node=8 train.py --backend gloo
        """,
        title="it works on processors",
    ),
]
