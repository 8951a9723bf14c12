"""A total of GPUs or tasks over several nodes need not be split evenly.

`--gpus=8` on two nodes says nothing of each node: Slurm gave seven to one and one to the other. torchrun with
`--nproc_per_node=4` then finds one GPU on the second node, and dies of `invalid device ordinal`. `--ntasks=16` on two
nodes of eight GPUs likewise put fifteen tasks on one node and one on the other, two ranks to a GPU. Both work by luck
where nodes are so small that the even split is the only one; a number of eight GPUs for each node is taken to be that.

## Fix

Asks for the same number by node: `--gpus-per-node=4` in place of `--gpus=8`, `--ntasks-per-node=8` beside
`--ntasks=16`. Safe where the total comes out even: the job asks for as many. Unsafe where the script reads
SLURM_GPUS, or where steps count tasks of their own.

## References

Runs on Slurm 22.05, 23.11, 24.11 and 26.05 with two to four nodes of 8 GPUs and 64 CPUs (16 GPUs on four: 8, 6, 1, 1);
sbatch(1), --gpus.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB207", "uneven-gpus", severity="warning", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    gpus = job.uneven_gpus()
    if gpus is not None:
        most = gpus.number - gpus.nodes + 1
        rest = "1 on the other" if gpus.nodes == 2 else "1 on each other"
        split = f"{most} on one and {rest}" if most <= 8 else "as many as fit on the first"
        advice = f"write {gpus.option}" if gpus.option else "ask for them with --gpus-per-node"
        yield Finding(
            gpus.setting.span,
            f"a total of {gpus.number} GPUs over {gpus.nodes} nodes may come with {split}, and line "
            f"{job.line(gpus.place.start)} needs {gpus.wanted} on each: where there are fewer, ranks die of an invalid "
            f"device ordinal or share a GPU; {advice}",
            related=[(gpus.place, f"needs {gpus.wanted} on each node")],
            fix=Fix("ask for the GPUs by node", gpus.edits, gpus.safe) if gpus.edits else None,
        )
    tasks = job.uneven_tasks()
    if tasks is not None:
        most = tasks.number - tasks.nodes + 1
        yield Finding(
            tasks.setting.span,
            f"this may put {most} of the {tasks.number} tasks on one node with its {tasks.wanted} GPUs and one on each "
            f"other, so that ranks of line {job.line(tasks.place.start)} share GPUs; write {tasks.option} too",
            related=[(tasks.place, "starts a task for each GPU")],
            fix=Fix("ask for the tasks by node", tasks.edits, tasks.safe) if tasks.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        #SBATCH «--gpus=8»
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        #SBATCH --gpus-per-node=4
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 2 --ntasks-per-node=4 «-G a100:8»
        srun python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=a100:4
        srun python train.py
        """,
        title="a task for each GPU",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        #SBATCH «--ntasks=16»
        srun python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        #SBATCH --ntasks=16
        #SBATCH --ntasks-per-node=8
        srun python train.py
        """,
        title="fifteen tasks and one",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus=16
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        title="eight on each is all that nodes have",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus=8 --gpus-per-task=1
        srun python train.py
        """,
        title="the GPUs go with the tasks",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks=8 --gpus-per-node=4 --exclusive
        srun python train.py
        """,
        title="tasks of an exclusive job are split evenly",
    ),
]
