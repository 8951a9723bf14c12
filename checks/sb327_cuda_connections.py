"""CUDA_DEVICE_MAX_CONNECTIONS does not suit the parallelism that the program is told to use.

The variable says how many queues a GPU takes its work from. With one queue, kernels run in the order in which they are
launched, and tensor and context parallelism of Megatron rely on that on GPUs before Blackwell: with TP or CP above 1
every rank stops with an assertion unless it is 1. FSDP is the other way round: its communication is to overlap with
the work, and Megatron stops if it is 1. Overlapping the communication of the experts needs more than one queue, too.

Megatron Bridge, NeMo and ms-swift set it themselves. Where the request names Blackwell GPUs a missing 1 is advice; in a
container the image may set it.

## Fix

Writes the number that the program asks for: 1 for TP and CP, 8 (CUDA's own default) for FSDP, 32 for experts. Unsafe,
because the environment from which the job is submitted may set it, and other programs of the script see it as well.

## References

`validate_args()` in megatron/training/arguments.py, core 0.4 to 0.20; Mixture of Experts README of Megatron core;
swift/megatron/arguments/megatron_args.py, ms-swift 4.6; https://github.com/pytorch/torchtitan/issues/1147
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB327", "cuda-connections", severity="error", fix="sometimes", since="0.1.0")

NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
LESS = {"error": "warning", "warning": "info", "info": "info"}


def check(job: Job) -> Iterator[Finding]:
    for found in job.wrong_connections():
        option, number, severity = found.related[1], "8", "error"
        if found.kind == "missing":
            number = "1"
            severity = {None: "warning", True: "info", False: "error"}[found.blackwell]
            severity = LESS[severity] if found.in_container else severity
            state = "is not set" if found.value is None else f"is {found.value}"
            message = f"{NAME} {state}, and with {option} Megatron stops with an assertion unless it is 1"
            if found.blackwell is not False:
                message += " (not on Blackwell GPUs)"
            message += f"; write export {NAME}=1"
        elif found.kind == "fsdp":
            cause = f"{NAME} is 1" if found.value else f"ms-swift sets {NAME} to 1"
            message = f"{cause}, and with {option} the program stops with an error; "
            message += f"unset it, or write {number}" if found.value else f"write export {NAME}={number}"
        elif found.kind == "overlap":
            number, severity = "32", "warning"
            message = f"{NAME} is 1, so that the communication that {option} is to overlap waits for the work; write 32"
        elif found.kind == "torchtitan":
            severity = "warning"
            message = f"{NAME} is 1, so that the communication of FSDP2 cannot overlap with the work; unset it"
        else:
            severity = "info"
            message = (
                f"{NAME} is 1 though TP and CP are 1: since core 0.12 Megatron does not ask for that, and "
                "communication that could overlap with the work waits for it; leave it out"
            )
        fix = Fix(f"set {NAME} to {number}", found.edits) if found.edits else None
        yield Finding(found.place, message, severity=severity, related=[found.related], fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=h100:8
        srun «torchrun» --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 pretrain_gpt.py \\
            --tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 --num-layers 32
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=h100:8
        export CUDA_DEVICE_MAX_CONNECTIONS=1
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 pretrain_gpt.py \\
            --tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 --num-layers 32
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        export «CUDA_DEVICE_MAX_CONNECTIONS=1»
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --use-megatron-fsdp --num-layers 32 --hidden-size 64 \\
            --micro-batch-size 1
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        export CUDA_DEVICE_MAX_CONNECTIONS=8
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --use-megatron-fsdp --num-layers 32 --hidden-size 64 \\
            --micro-batch-size 1
        """,
        title="FSDP wants more than one",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        export «CUDA_DEVICE_MAX_CONNECTIONS=1»
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --overlap-moe-expert-parallel-comm --num-experts 64 \\
            --expert-model-parallel-size 8 --micro-batch-size 1
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        export CUDA_DEVICE_MAX_CONNECTIONS=32
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --overlap-moe-expert-parallel-comm --num-experts 64 \\
            --expert-model-parallel-size 8 --micro-batch-size 1
        """,
        severity="warning",
        title="the experts' communication is to overlap",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8 --constraint=b200
        cd $WORK && «torchrun» --standalone --nproc_per_node=8 pretrain_gpt.py --context-parallel-size 8 --num-layers 8
        """,
        severity="info",
        title="on Blackwell it is advice; no fix in the middle of a line",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=h100:8
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config model.tensor_model_parallel_size=4
        """,
        title="Megatron Bridge sets it itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=h100:8
        srun --export=ALL,CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --standalone --nproc_per_node=8 pretrain_gpt.py \\
            --tensor-model-parallel-size 8 --micro-batch-size 1
        """,
        title="set for the step alone",
    ),
]
