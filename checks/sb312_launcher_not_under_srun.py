"""A launcher is started by the batch script itself, which runs on the first node alone.

Slurm starts the batch script once, on the first node of the job, and nothing on the others. `torchrun --nnodes=4`
there waits for three nodes that nobody starts, until its time-out; without `--nnodes` it trains on the first node, and
the others are idle, and paid for. srun starts a command on every node. Lightning without srun finds one process of its
own, and waits for the rest or goes on alone.

## Fix

Puts srun in front of a launcher that is told of several nodes, with one task on each. Unsafe: one may do on purpose.

## References

https://slurm.schedmd.com/sbatch.html; https://github.com/pytorch/examples/issues/1012;
https://github.com/meta-llama/llama-cookbook/issues/491
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB312", "launcher-not-under-srun", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for found in job.idle_nodes():
        rest = found.nodes - 1
        others = "the other node" if rest == 1 else f"the other {rest} nodes"
        name = found.invocation.name or "the program" if found.launch is None else found.launch.launcher.name
        fix = None if found.repair is None else Fix(*found.repair)
        if found.launch is not None:
            if found.waits:
                consequence = f"it waits for {others}, where nobody starts it, until its time-out"
                advice = "start it with srun, once on each node"
            else:
                consequence = f"{others} stay{'s' * (rest == 1)} idle"
                advice = "ask for one node, or start it with srun and tell it of all of them"
            yield Finding(
                found.place,
                f"the batch script runs on the first of {found.nodes} nodes, and {name} with it: {consequence}; "
                f"{advice}",
                fix=fix,
            )
            continue
        why = f"{found.sign.words}, and n" if found.sign is not None else "n"
        yield Finding(
            found.place,
            f"the batch script runs on the first of {found.nodes} nodes, and starts one {name}: {why}othing starts "
            f"any on {others}; start it with srun, or ask for one node",
            None if found.waits else "warning",
            related=[] if found.sign is None else [(found.sign.span, found.sign.words)],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        «torchrun» --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$head:29500" train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$head:29500" train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gres=gpu:4
        ARGS=(--nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500)
        OMP_NUM_THREADS=8 apptainer exec --nv image.sif «torchrun» --nnodes=$SLURM_NNODES "${ARGS[@]}" train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gres=gpu:4
        ARGS=(--nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500)
        OMP_NUM_THREADS=8 srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 apptainer exec --nv image.sif \
torchrun --nnodes=$SLURM_NNODES "${ARGS[@]}" train.py
        """,
        title="in a container",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=4
        «accelerate» launch --multi_gpu --num_machines 1 --num_processes 4 train.py
        """,
        title="the second node is idle",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        «python» fit.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        title="a program that is one rank for each task",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        «python» -u train.py --epochs 10
        """,
        severity="warning",
        title="nothing uses the second node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        torchrun --standalone --nproc_per_node=1 convert.py
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        """,
        title="one node prepares what all of them use",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        ssh "${nodes[1]}" torchrun --nnodes=2 --node_rank=1 --master_addr="${nodes[0]}" train.py &
        torchrun --nnodes=2 --node_rank=0 --master_addr="${nodes[0]}" train.py
        """,
        title="the others are started by ssh",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=4
        bash train_all.sh
        python report.py --trainer.num_nodes=2
        """,
        title="a script that cannot be read",
    ),
]
