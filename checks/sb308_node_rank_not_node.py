"""The number that a launcher gets as its node's is that of a task.

`--node_rank` counts nodes. SLURM_PROCID counts tasks: with several on a node it is larger than the number of nodes, and
two launchers of one node hold themselves for two nodes, while the other nodes are left out. SLURM_LOCALID counts the
tasks of one node, and is 0 on every node where there is one task on each; so is a literal number the same on all.
With the static rendezvous all nodes then claim the same place, and hang.

## Fix

Writes SLURM_NODEID instead, which is safe; in the place of a literal number unsafe, as the script might be started
by hand, node by node.

## References

torch/distributed/run.py; runs of torch 2.6 with several agents on two hosts
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB308", "node-rank-not-node", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for found in job.wrong_node_ranks():
        launcher, step = found.world.launcher, found.world.step
        assert launcher is not None and launcher.node_rank is not None
        option = launcher.node_rank.name if launcher.node_rank.from_environment else f"--{launcher.node_rank.name}"
        if found.kind == "SLURM_PROCID":
            tasks = step.tasks_per_node if step is not None else None
            crowd = f"{tasks} tasks" if tasks else "several tasks"
            fault = (
                f"{option} gets SLURM_PROCID, the number of the task, with {crowd} on each node: the launchers of one "
                "node take the places of the others, which are left out"
            )
        elif found.kind == "SLURM_LOCALID":
            fault = (
                f"{option} gets SLURM_LOCALID, which counts the tasks of one node and begins at 0 on each: the nodes "
                "claim the same place, and hang"
            )
        else:
            fault = f"{option} is {launcher.node_rank.text} on every node: all claim the same place, and hang"
        yield Finding(
            found.place,
            f"{fault}; write $SLURM_NODEID, to be expanded in the task",
            fix=None if found.repair is None else Fix(*found.repair),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 --node_rank=«$SLURM_PROCID» --master_addr=n1 train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 --node_rank=$SLURM_NODEID --master_addr=n1 train.py'
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        RUN="torchrun --nnodes=2 --nproc_per_node=8 --node_rank=\\«$SLURM_LOCALID» --master_addr=$HEAD"
        srun bash -c "$RUN train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        RUN="torchrun --nnodes=2 --nproc_per_node=8 --node_rank=\\$SLURM_NODEID --master_addr=$HEAD"
        srun bash -c "$RUN train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 «--node_rank=0» --master_addr=$HEAD train.py
        """,
        title="the same number everywhere: no fix where no shell in the task could expand another",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 --node_rank=$SLURM_PROCID --master_addr=n1 train.py'
        """,
        title="one task on each node: the task's number is the node's",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
        srun bash -c 'torchrun --nnodes=$SLURM_NTASKS --nproc_per_node=1 --node_rank=$SLURM_PROCID \
--master_addr=n1 train.py'
        """,
        title="each task is meant to be a node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        for i in 0 1; do
            srun -N1 -n1 -w "${nodes[$i]}" torchrun --nnodes=2 --node_rank=$i --master_addr=${nodes[0]} train.py &
        done
        wait
        """,
        title="started by hand, node by node",
    ),
]
