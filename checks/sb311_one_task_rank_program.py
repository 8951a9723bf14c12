"""A program that is one rank per task gets one task per node, though the nodes have several GPUs.

Lightning, Megatron without torchrun, programs with `--launcher slurm` and JAX start no processes themselves under srun:
each task is a rank, and takes one GPU. With one task per node the other GPUs are idle, or the program waits for ranks
that nobody starts. Lightning refuses to begin where SLURM_NTASKS_PER_NODE says otherwise than `devices`, where there
are several tasks and it says nothing, and hangs with one.

## Fix

Asks for as many tasks per node as the program has devices, or the node GPUs, and shares the CPUs of the one task among
them; `--ntasks` becomes `--ntasks-per-node`. Unsafe: what the program does with its tasks is not written in the job.

## References

https://lightning.ai/docs/pytorch/stable/clouds/cluster_advanced.html;
https://github.com/Lightning-AI/pytorch-lightning/issues/17252; jax/_src/clusters/slurm_cluster.py
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.triggers import Steps

CARD = Card("SB311", "one-task-rank-program", severity="warning", fix="sometimes", since="0.1.0", when=Steps())

CONSEQUENCES = {
    "lightning": "Lightning refuses to start, or waits for the others",
    "jax": "JAX gives each task one GPU, unless it is told otherwise",
}


def check(job: Job) -> Iterator[Finding]:
    all_of_them = [each for each in job.lone_ranks if not each.awaited]
    reported: set[Span] = set()
    for lone in all_of_them:
        if lone.place in reported:
            continue
        reported.add(lone.place)
        ranks = [each for each in all_of_them if each.place == lone.place]
        why = "without a number of tasks srun starts" if lone.reason is None else f"`{lone.reason[1]}` makes srun start"
        program = lone.invocation.name or "program"
        line = job.line(lone.invocation.span.start)
        others = "the other rank" if lone.expected == 2 else f"the other {lone.expected - 1} ranks"
        consequence = CONSEQUENCES.get(lone.sign.kind, "the other GPUs stay idle")
        fix = None if lone.repair is None else Fix(lone.repair.title, lone.repair.edits, lone.repair.safe)
        yield Finding(
            lone.place,
            f"{why} one {program} (line {line}) on each node of {lone.gpus} GPUs, and nothing starts {others}: "
            f"{consequence}; write --ntasks-per-node={lone.expected}",
            severity="info" if all(each.sign.kind == "jax" for each in ranks) else None,
            related=[(each.sign.span, each.sign.words) for each in ranks],
            fix=fix,
        )
    known = {each.invocation.span for each in all_of_them}
    for refused in job.refused_tasks():
        if refused.invocation.span in known:
            continue
        span, option = refused.reason
        line = job.line(refused.invocation.span.start)
        if refused.per_node:
            what = f"the program of line {line} is told of {refused.devices} devices: Lightning refuses to start"
            message = f"`{option}` starts {refused.tasks} tasks on each node, and {what}"
        else:
            message = f"without --ntasks-per-node, `{option}` makes Lightning (line {line}) refuse to start"
        advice = "" if refused.expected is None else f"; write --ntasks-per-node={refused.expected}"
        edits = refused.edits
        yield Finding(
            span,
            message + (advice or "; write --ntasks-per-node"),
            related=[(refused.sign.span, refused.sign.words)],
            fix=None if edits is None else Fix(f"ask for {refused.expected} tasks per node", edits),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--ntasks-per-node=1»
        #SBATCH --gpus-per-node=4 --cpus-per-task=32
        srun python train.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        #SBATCH --gpus-per-node=4 --cpus-per-task=8
        srun python train.py --trainer.devices=4 --trainer.num_nodes=2
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gres=gpu:a100:8
        «srun» python tools/train.py configs/net.py --launcher slurm
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gres=gpu:a100:8
        #SBATCH --ntasks-per-node=8
        srun python tools/train.py configs/net.py --launcher slurm
        """,
        title="no number of tasks at all",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 «--ntasks-per-node=1» --gpus-per-node=8
        srun ./prepare
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python pretrain_gpt.py --bf16'
        """,
        title="another step runs once a node: no fix",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 «--ntasks=4» --gpus-per-node=4
        srun python train.py --trainer.devices=4
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4
        srun python train.py --trainer.devices=4
        """,
        title="Lightning wants the tasks of a node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun python train.py --trainer.devices=4 --trainer.num_nodes=2
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
        srun python -m vllm.entrypoints.openai.api_server --model m --tensor-parallel-size 4
        srun python finetune.py --config c.yaml
        """,
        title="one process for all GPUs, or nobody knows",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 pretrain_gpt.py
        """,
        title="torchrun starts the ranks",
    ),
]
