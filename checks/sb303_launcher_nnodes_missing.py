"""A launcher is started on several nodes, and is told of one: each node trains by itself.

srun starts `torchrun` once on each node, but torchrun reckons with one node unless `--nnodes` says otherwise. Without
an address in common each node then trains a copy of its own, in a world as large as its own GPUs; the copies overwrite
each other's checkpoints, and the job ends with exit status 0. With `--rdzv_backend=c10d` and an endpoint in common the
first node trains alone, and the others wait for it, and fail; with `--master_addr` all claim the same ranks at one
store, and clash there or not, as it happens. `accelerate launch` makes a copy on each node without `--num_machines`.

## Fix

Tells torchrun the job's number of nodes, and to meet at the first of them. Unsafe: the copies might be meant.

## References

torch/distributed/run.py; https://github.com/meta-llama/llama-cookbook/issues/491; runs of torch 2.6
and 2.13 on two hosts
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB303", "launcher-nnodes-missing", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for found in job.lonely_launchers():
        launcher = found.world.launcher
        assert launcher is not None
        nodes = "several nodes" if found.nodes is None else f"{found.nodes} nodes"
        setting = found.world.asked.setting
        accelerate = launcher.kind == "accelerate"
        option = "--num_machines" if accelerate else "--nnodes"
        told = f"without {option}" if setting is None else "told of one"
        each = found.world.processes
        own = f" ({each} processes in each world)" if each and not accelerate else ""
        rendezvous = launcher.rendezvous
        if found.alone:
            consequence = f"each node trains a copy of its own{own}, and the job still ends with exit status 0"
        elif rendezvous is not None and rendezvous.backend == "static":
            consequence = "each trains a copy of its own, or they clash with the same ranks at the store of the first"
        else:
            consequence = "the first node trains alone, and the others fail to join it"
        advice = f"write {option}=$SLURM_NNODES"
        if accelerate:
            advice += ", and --num_processes for all of them"
        elif rendezvous is not None and rendezvous.address is None:
            advice += " and --rdzv_backend=c10d --rdzv_endpoint=HOST:PORT with the first node's name"
        step = found.world.step
        yield Finding(
            found.place,
            f"srun starts {launcher.name} on {nodes}, {told}: {consequence}; {advice}",
            "warning" if accelerate and setting is None or not found.always else None,
            related=[] if step is None else [(step.invocation.name_span, "started on each node here")],
            fix=None if found.repair is None else Fix(*found.repair),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun «torchrun» --nproc_per_node=8 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID \
--rdzv_endpoint=$MASTER_ADDR:29500 --nproc_per_node=8 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "«python -m torch.distributed.run» --nproc_per_node=4 \
--rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "python -m torch.distributed.run --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=4 \
--rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py"
        """,
        title="the nodes would meet, if they knew of each other",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun «accelerate» launch --multi_gpu --num_processes 8 train.py
        """,
        severity="warning",
        title="a configuration file in the home folder may say more",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'torchrun --nproc_per_node=8 evaluate.py --shard $SLURM_NODEID'
        for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
            srun -N1 -n1 -w "$node" torchrun --nproc_per_node=8 evaluate.py &
        done
        wait
        """,
        title="each node has work of its own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun "$@"
        srun torchrun $DISTRIBUTED_ARGS train.py
        srun accelerate launch --config_file fsdp.yaml train.py
        """,
        title="what is not known",
    ),
]
