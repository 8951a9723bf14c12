"""The script says which GPUs its programs see, where Slurm has said so already.

Slurm sets CUDA_VISIBLE_DEVICES to the GPUs that the job got. `export CUDA_VISIBLE_DEVICES=2` in a job with one GPU, the
heritage of a workstation, names one that is not there: `No CUDA GPUs are available`; where the cluster does not hide
the GPUs of others it names one that another job is using. A shorter list leaves GPUs idle that the job waited for, and
one that the batch shell exports does not reach the tasks of an srun at all: Slurm sets the variable anew for each.

Nothing is said where each process is given its own GPU (in a loop, in the background, by several values), of an empty
value, and of jobs with `--exclusive`.

## Fix

Takes the line out. Safe where the value is all of the job's GPUs and only steps follow, as it changes nothing there,
and where the job has one GPU and it is not that one; else unsafe, as a program may have been meant to see less.

## References

https://slurm.schedmd.com/gres.html; runs on Slurm 22.05 and 24.11;
https://github.com/thuml/Time-Series-Library/issues/10
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Gpus

CARD = Card("SB212", "cuda-visible-devices-set", severity="warning", fix="sometimes", since="0.1.0", when=Gpus())


def check(job: Job) -> Iterator[Finding]:
    for choice in job.device_choices():
        held = "one GPU, which is 0" if choice.held == 1 else f"{choice.held} GPUs, 0 to {choice.held - 1}"
        name = choice.name
        if choice.kind == "beyond":
            first = min(each for each in choice.ids if each >= choice.held)
            message = (
                f"{name} names GPU {first}, and the job has {held}: programs find fewer GPUs, or none "
                "(`No CUDA GPUs are available`), or those of another job; leave it to Slurm, which sets it"
            )
        elif choice.kind == "lost":
            message = (
                f"this does not reach the tasks of srun: Slurm sets {name} for each of them, to all that it gets of "
                f"the job's {choice.held} GPUs; ask srun for {len(choice.ids)} with --gpus-per-node={len(choice.ids)}, "
                "or leave it out"
            )
        elif choice.kind == "part":
            seen = "one" if len(choice.ids) == 1 else f"{len(choice.ids)}"
            message = (
                f"{name} shows programs {seen} of the job's {choice.held} GPUs, and the others stay idle; where the "
                "cluster does not hide the GPUs of other jobs, it may even be one of theirs; leave it to Slurm, or "
                f"ask for {seen}"
            )
        else:
            message = (
                f"{name} is set to the job's {choice.held} GPUs by Slurm itself; they have other numbers than these "
                "where it does not hide the GPUs of other jobs; leave it out"
            )
        yield Finding(
            choice.span,
            message,
            "info" if choice.kind == "same" else None,
            fix=Fix(f"leave {name} to Slurm", choice.edits, choice.safe) if choice.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        export «CUDA_VISIBLE_DEVICES=2»
        python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export «CUDA_VISIBLE_DEVICES=0,1»
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun python train.py
        """,
        title="it does not reach the step",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export «CUDA_VISIBLE_DEVICES=0,1,2,3»
        srun python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun python train.py
        """,
        severity="info",
        title="what Slurm says itself",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=4
        «CUDA_VISIBLE_DEVICES=4,5,6,7» torchrun --nproc_per_node=4 train.py
        """,
        title="numbers of another machine: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        for i in 0 1 2 3; do
            CUDA_VISIBLE_DEVICES=$i python train.py --fold $i &
        done
        wait
        """,
        title="each process gets its own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:2
        CUDA_VISIBLE_DEVICES=0 python train.py &
        CUDA_VISIBLE_DEVICES=1 python serve.py &
        wait
        CUDA_VISIBLE_DEVICES="" python plot.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun bash -c 'export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; python train.py'
        """,
        title="each task chooses",
    ),
]
