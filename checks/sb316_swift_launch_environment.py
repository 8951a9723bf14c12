"""The variables of which ms-swift makes its launch do not make one training of all nodes and GPUs.

`swift sft` and `megatron sft` hand NNODES, NPROC_PER_NODE, NODE_RANK, MASTER_ADDR and MASTER_PORT to torchrun, and only
those that are set; torchrun's defaults are one node, one process, node 0 and 127.0.0.1. Without NNODES each node trains
on its own, and all of them end with exit status 0. Where every node says that it is node 0, or waits at 127.0.0.1, all
hang until the time-out. Without NPROC_PER_NODE one GPU of each node works.

A rank that the batch shell expands too early (`export NODE_RANK=$SLURM_NODEID`) is early-rank-export's.

## Fix

Exports NNODES and MASTER_ADDR before the step, and sets NODE_RANK in the task, where SLURM_NODEID is the node's own:
`srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$@"' _ megatron sft …`. Unsafe, because the environment of the submission
may set them, and nodes that train alone may be meant.

## References

swift/cli/main.py, ms-swift 3.0 to 4.6; torch/distributed/run.py, torch 2.13;
https://github.com/modelscope/ms-swift/issues/4448
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB316", "swift-launch-environment", severity="error", fix="sometimes", since="0.1.0", when=Launchers())

EFFECT = {
    "NODE_RANK": ("takes itself for node 0", "NODE_RANK=$SLURM_NODEID in the task"),
    "MASTER_ADDR": ("waits at its own address", "MASTER_ADDR to the first node"),
}


def check(job: Job) -> Iterator[Finding]:
    for fault in job.swift_faults():
        launcher = fault.world.launcher
        assert launcher is not None
        number, there = fault.number or 1, fault.there or 0
        nodes = f"{there} nodes" if there else "several nodes"
        severity = None
        if fault.kind == "alone":
            message = (
                f"NNODES is {'not set' if fault.missing else '1'}, so that each of the {nodes} runs a training of its "
                "own, and all end with exit status 0; write export NNODES=$SLURM_JOB_NUM_NODES, and set NODE_RANK in "
                "the task and MASTER_ADDR"
            )
        elif fault.kind == "count":
            effect = "the others are left out, or hang"
            if number > there:
                effect = "the launchers wait for nodes that never come, until the time-out"
            starts = f"srun starts {launcher.name} on {nodes}"
            message = f"NNODES is {number}, and {starts}: {effect}; write $SLURM_JOB_NUM_NODES"
        elif fault.kind == "meeting":
            message = _meeting(fault.missing, fault.wrong, nodes)
        else:
            severity = "error" if number > there else "warning"
            message = _processes(launcher.name, number, there, bool(fault.missing))
        yield Finding(
            fault.place,
            message,
            severity=severity,
            related=[] if fault.place == launcher.span else [(launcher.span, "started here")],
            fix=Fix("set the variables of the launch", fault.edits) if fault.edits else None,
        )


def _meeting(missing: tuple[str, ...], wrong: tuple[tuple[str, str], ...], nodes: str) -> str:
    causes = [f"{name} is not set" for name in missing] + [f"{name} is {text} on every node" for name, text in wrong]
    names = [*missing, *(name for name, _ in wrong)]
    does = " and ".join(effect for name, (effect, _) in EFFECT.items() if name in names)
    write = " and ".join(advice for name, (_, advice) in EFFECT.items() if name in names)
    return f"{' and '.join(causes)}, so that each of the {nodes} {does}, and all hang until the time-out; set {write}"


def _processes(name: str, number: int, gpus: int, missing: bool) -> str:
    if missing:
        return (
            f"NPROC_PER_NODE is not set, so that {name} starts one process on a node of {gpus} GPUs, and the "
            f"others stay idle; write export NPROC_PER_NODE={gpus}"
        )
    if number < gpus:
        return f"NPROC_PER_NODE is {number}, so that the other GPUs of the {gpus} on a node stay idle; write {gpus}"
    return (
        f"NPROC_PER_NODE is {number}, and a node of the job has {gpus} GPU{'s' if gpus != 1 else ''}: the other "
        f"processes fail with `invalid device ordinal`; write {gpus}, or ask for {number}"
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NPROC_PER_NODE=8
        srun «megatron sft» --model Qwen/Qwen3-30B-A3B --expert_model_parallel_size 8
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NPROC_PER_NODE=8
        export NNODES=$SLURM_JOB_NUM_NODES
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$@"' _ megatron sft --model Qwen/Qwen3-30B-A3B \
--expert_model_parallel_size 8
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "NNODES=2 NODE_RANK=«0» NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "NNODES=2 NODE_RANK=\\$SLURM_NODEID NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B"
        """,
        title="the same rank on every node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=$SLURM_NNODES MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID «megatron pt» --model Qwen/Qwen3-8B'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=$SLURM_NNODES MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export NPROC_PER_NODE=8
        srun bash -c 'NODE_RANK=$SLURM_NODEID megatron pt --model Qwen/Qwen3-8B'
        """,
        severity="warning",
        title="one process on each node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        NPROC_PER_NODE=«8» swift sft --model Qwen/Qwen3-8B
        """,
        title="more processes than GPUs: which of the two is right is not known",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=$SLURM_NNODES NPROC_PER_NODE=8 MASTER_PORT=29500
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID exec megatron sft --model Qwen/Qwen3-8B'
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        swift sft --model Qwen/Qwen3-8B
        """,
        title="on one node swift spreads the model over all GPUs",
    ),
]
