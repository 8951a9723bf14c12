"""Tasks see other GPUs than what runs in them reckons with.

`--gpus-per-task=1`, `--ntasks-per-gpu` and `--gpu-bind=single:1` show each task one GPU, GPU 0 for its program.
torchrun with four processes in such a task, and a program that calls `set_device(LOCAL_RANK)`, then ask for GPUs
that there are not: `CUDA error: invalid device ordinal`. A task that is alone on its node is bound since Slurm 25.11;
before, `--gpu-bind` and a `--gpus-per-task` beside GPUs by node did nothing there.

The other way round, `srun --ntasks=4 --gres=gpu:1` gives four tasks of a node the same GPU, as `--gres` counts by node:
NCCL ends with `Duplicate GPU detected`, or four ranks share the memory of one GPU while the others are idle.

A program that is told nothing but to be distributed is advice: most take the GPU of their local rank, not all.

## Fix

Shows each task all GPUs of its node (`--gpus-per-node=8` for eight tasks of one), or gives the one task of a launcher
as many as it starts processes. Unsafe: the program may know about it.

## References

srun(1), --gpu-bind, --gpus-per-task; runs on Slurm 22.05, 23.11, 24.11 and 26.05;
https://github.com/ACEsuit/mace/issues/435; https://github.com/jax-ml/jax/issues/23452;
https://github.com/clessig/atmorep/issues/77
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB211", "gpu-binding-mismatch", severity="error", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for each in job.bound_launchers():
        launcher = each.world.launcher
        assert launcher is not None
        (span, words), line = each.reason, job.line(each.world.invocation.span.start)
        gpus = "one GPU" if each.gpus == 1 else f"{each.gpus} GPUs"
        since = "" if each.always else " from Slurm 25.11 on"
        yield Finding(
            span,
            f"`{words}` shows each task {gpus}{since}, and {launcher.name} (line {line}) starts {each.processes} "
            f"processes in it: those that find none die of `invalid device ordinal`; give the task {each.processes} "
            "GPUs",
            None if each.always else "warning",
            related=[(launcher.span, f"starts {each.processes} processes")],
            fix=None if each.edit is None else Fix(f"give the task {each.processes} GPUs", [each.edit]),
        )
    for rank in job.bound_ranks():
        (span, words), taken = rank.reason, rank.taken
        line = job.line(taken.place.start)
        yield Finding(
            span,
            f"`{words}` shows each task just its own GPU, as GPU 0, but line {line} counts on all of the node "
            f"({taken.how}): {taken.consequence}; write {rank.instead}, or let each take the one that it sees",
            "warning" if taken.sure else "info",
            related=[(taken.place, taken.how)],
            fix=None if rank.edit is None else Fix("show each task all GPUs of its node", [rank.edit]),
        )
    for shared in job.shared_gpus():
        idle = "" if not shared.others else ", and the others of the node stay idle"
        why = "" if shared.chosen else " (it counts by node, not by task)"
        instead = (
            "leave it to Slurm, or choose by $SLURM_LOCALID" if shared.chosen else f"ask for {shared.tasks} GPUs a node"
        )
        yield Finding(
            shared.place,
            f"`{shared.words}` shows all {shared.tasks} tasks of a node the same GPU{why}: NCCL ends with `Duplicate "
            f"GPU detected`, or they share its memory{idle}; {instead}",
            None if shared.sign is not None else "warning",
            related=[(shared.step.invocation.name_span, f"starts {shared.tasks} tasks on a node")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 «--gpus-per-task=1»
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-task=4
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 «--gpus-per-task=1»
        srun bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID; python train.py'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        srun bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID; python train.py'
        """,
        severity="warning",
        title="the rank on the node is no index",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun --ntasks=4 «--gres=gpu:1» python tools/train.py config.py --launcher slurm
        """,
        title="--gres counts by node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-task=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
        srun ./solver
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=0 python train.py'
        """,
        title="each takes the one that it sees",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-task=1 --gpu-bind=none
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
        """,
        title="nothing is bound",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4
        srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python train.py'
        """,
        title="each chooses among all of them",
    ),
]
