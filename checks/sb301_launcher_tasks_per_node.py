"""A launcher that starts the workers of its node itself runs several times on each node.

`torchrun`, `accelerate launch` and their like start one worker for each GPU of a node. Under an srun with eight tasks
per node each of the eight tasks starts eight workers: 64 processes fight for eight GPUs. What one sees depends on the
rendezvous. Static: one copy binds the port, the others die of EADDRINUSE, and what is left may train in a smaller world
than written. c10d: any copies form the world, with two ranks on one GPU, and the rest hang. `--standalone`: as many
identical trainings as tasks, and the job ends with exit status 0; so does torchrun of torch 2.13 without `--nnodes` and
`--master_port`, as it takes a free port.

## Fix

Asks for one task per node. Safe where the number of tasks is literal and nothing else in the script needs or reads it;
the CPUs stay the same. With `--cpus-per-task` given, its value times the old number of tasks is a guess: unsafe. Where
other steps need the tasks, one task per node is asked for in the srun itself, which is unsafe too.

## References

torch/distributed/run.py; `initialize_and_process_args()` in src/srun/opt.c, Slurm 22.05 to 26.05;
https://github.com/NVIDIA/Megatron-LM/issues/1371
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch
from sbatchlint.triggers import Launchers

CARD = Card("SB301", "launcher-tasks-per-node", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for crowd in job.crowds:
        launch = crowd.launches[0]
        span, written = crowd.reason
        line = job.line(launch.invocation.span.start)
        where = f"`{written}` makes the srun of line {line} run" if crowd.inherited else f"`{written}` makes srun run"
        fix = None if crowd.repair is None else Fix(crowd.repair.title, crowd.repair.edits, crowd.repair.safe)
        yield Finding(
            span,
            f"{where} {launch.launcher.name} {_counts(launch)}: {_consequence(launch, crowd.takes_places)}; "
            "start one task per node",
            related=[(each.launcher.span, "started by every task") for each in crowd.launches],
            fix=fix,
        )


def _counts(launch: Launch) -> str:
    step, each = launch.step, launch.launcher.processes_per_task
    assert step is not None
    crowd = step.tasks_per_node
    times = f"{crowd} times on each node" if crowd else f"{step.tasks} times on {step.nodes} nodes"
    if not crowd and (step.tasks is None or step.nodes is None):
        times = "several times on a node"
    if crowd and step.nodes == 1:
        times = f"{crowd} times on the node"
    if each == "auto":
        return f"{times}, and each starts a worker for every GPU of the node"
    if not isinstance(each, int):
        return f"{times}, and each starts the workers of a whole node"
    total = f" ({crowd * each} on a node)" if crowd else ""
    return f"{times}, and each starts {each} worker{'s' * (each != 1)}{total}"


def _consequence(launch: Launch, takes_places: bool) -> str:
    launcher, step = launch.launcher, launch.step
    if launcher.kind == "ray" and "head" in launcher.flags:
        return "each is the head of a cluster of its own, or ends as another has its port"
    if launcher.kind == "ray":
        return "each claims all CPUs and GPUs of the node for itself"
    if launcher.standalone:
        copies = step.tasks if step is not None and step.tasks else "several"
        return f"{copies} identical trainings share the same GPUs, and the job still ends with exit status 0"
    rendezvous = launcher.rendezvous
    backend = None if rendezvous is None else rendezvous.backend
    if launcher.kind == "accelerate" and launcher.nnodes in (None, 1):
        # it looks whether the port is free, and else takes another one; two that look at once clash
        return "each trains alone on the same GPUs, or ends as another has its port (EADDRINUSE)"
    if launcher.takes_free_port:
        return (
            "each trains a copy of its own on the same GPUs, with exit status 0 (torch 2.13), or they clash on port "
            "29500 (EADDRINUSE, older releases)"
        )
    if backend == "static" and takes_places:
        return "those of the first nodes take all places, and the others wait for theirs until the time-out"
    if backend == "static":
        return "they clash on the rendezvous port (EADDRINUSE), and what is left trains in a smaller world than written"
    if backend is not None:
        return "two ranks get the same GPU, or the copies that are too many hang until the others end, and fail"
    return "the copies fight for the same GPUs and ports"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH «--ntasks-per-node=8»
        #SBATCH --gpus-per-node=8 --exclusive
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$head:29500" train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        #SBATCH --gpus-per-node=8 --exclusive
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$head:29500" train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 2 «--ntasks-per-node=4» --gres=gpu:4 --cpus-per-task=8
        srun bash -c 'accelerate launch --num_machines 2 --num_processes 8 --machine_rank $SLURM_NODEID train.py'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:4 --cpus-per-task=32
        srun bash -c 'accelerate launch --num_machines 2 --num_processes 8 --machine_rank $SLURM_NODEID train.py'
        """,
        title="the CPUs move with the tasks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--ntasks-per-node=8» --gpus-per-node=8
        srun ./preprocess
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun ./preprocess
        srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=8 \
--rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        title="another step needs the tasks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun «--ntasks=4» --gpus-per-task=1 torchrun --standalone --nproc_per_node=4 train.py
        """,
        title="one GPU per task, and four workers in each: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=8 \
--rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        title="the srun itself asks for one task per node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
        srun bash -c 'torchrun --nnodes=$SLURM_NTASKS --node_rank=$SLURM_PROCID --nproc_per_node=1 \
--master_addr=n1 train.py'
        """,
        title="every task is a node of one GPU, by design",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        torchrun --standalone --nproc_per_node=8 train.py
        """,
        title="no srun: the batch shell starts it once",
    ),
]
