"""A launcher, or a program, is told of another number of nodes than that on which srun starts it.

A launcher that is told of more nodes waits for those that nobody starts, until its time-out. One that is told of fewer
makes a world of that many, and the other nodes fail. It happens when `--nodes` is changed, and a number further down is
forgotten. Lightning compares the numbers, and refuses to begin.

## Fix

Puts the job's own number in place of the literal one. Safe where torchrun alone gets it, unsafe where something else
reads it too, and in a job of one node. A program without a launcher is given the nodes that it is told of: unsafe, as
the job then asks for more.

## References

torch/distributed/run.py; lightning/fabric/plugins/environments/slurm.py; runs of torch 2.6 on two hosts
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB304", "launcher-nnodes-mismatch", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers() | Steps(),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for found in job.node_count_mismatches():
        launcher, nodes, step = found.world.launcher, found.nodes, found.world.step
        assert launcher is not None and nodes is not None
        started = f"srun starts it on {nodes}" if step is not None else "the batch script starts it on the only one"
        # a command line may ask for more, where the script says nothing
        silent = nodes == 1 and not job.request.asked("nodes")
        if found.number > nodes:
            rest = found.number - nodes
            consequence = f"it waits for {rest} node{'s' * (rest > 1)} that nobody starts, and hangs until its time-out"
        else:
            consequence = f"{found.number} of them train, and the others fail or hang"
        advice = f"ask for {found.number} with --nodes, or " if nodes == 1 else ""
        yield Finding(
            found.place,
            f"{launcher.name} is told of {found.number} nodes, and {started}: {consequence}; "
            f"{advice}write $SLURM_JOB_NUM_NODES",
            "warning" if silent else None,
            related=[] if step is None else [(step.invocation.name_span, f"started on {nodes} here")],
            fix=None if found.repair is None else Fix(*found.repair),
        )
    for program in job.misled_programs():
        where_it_is = f"{program.nodes} node{'s' * (program.nodes > 1)}"
        elsewhere = program.place != program.argument
        where = f" (line {job.line(program.argument.start)})" if elsewhere else ""
        consequence = (
            "it waits for ranks that nobody starts, or refuses to begin"
            if program.number > program.nodes
            else "it gets more ranks than it reckons with, or refuses to begin"
        )
        yield Finding(
            program.place,
            f"`{program.words}`{where} tells the program of {program.number} nodes, and the srun of line "
            f"{job.line(program.step.span.start)} starts it on {where_it_is}: {consequence}; "
            f"write --nodes={program.number} in the option block, or tell it of {program.nodes}",
            related=[(program.argument, "what the program is told")],
            fix=None if program.edit is None else Fix(f"ask for {program.number} nodes", [program.edit]),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun «--nnodes=4» --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$head:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8
        NNODES=64
        srun bash -c "torchrun «--nnodes» $NNODES --node_rank \\$SLURM_NODEID --master_addr $HEAD train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8
        NNODES=$SLURM_JOB_NUM_NODES
        srun bash -c "torchrun --nnodes $NNODES --node_rank \\$SLURM_NODEID --master_addr $HEAD train.py"
        """,
        title="a variable that was forgotten",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        torchrun «--nnodes=2» --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py
        """,
        title="a job of one node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--ntasks-per-node=4» --gpus-per-node=4
        srun python fit.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks-per-node=4 --gpus-per-node=4
        #SBATCH --nodes=2
        srun python fit.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        title="nobody asked for the second node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=8 --gpus-per-node=8
        srun python fit.py --gpus 8 «--num_nodes» 2
        """,
        title="a program that is one rank for each task: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        TRAINERS=$((SLURM_NNODES - 1))
        srun -N $TRAINERS -n $TRAINERS torchrun --nnodes=$TRAINERS --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py &
        srun -N 1 -n 1 -r $TRAINERS vllm serve model &
        wait
        """,
        title="a part of the nodes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2:4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        title="as many as there are, from two to four",
    ),
]
