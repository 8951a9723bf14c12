"""Every rank stops at the start: the parallel sizes do not divide the number of processes.

Megatron arranges its processes in a grid: tensor, pipeline and context parallelism take TP times PP times CP of them
for one replica of the model, and the number of replicas must be whole. Experts have a grid of their own over the same
processes, EP times ETP times PP, where ETP is TP unless `--expert-tensor-parallel-size` is set (in ms-swift it is 1).
EP is not a factor of the first product. Where one of the two does not divide the world, every rank raises an error
right after the job has waited for its nodes. The usual cause is a layout for another number of nodes, or for nodes of
another size.

A warning where a size is the default of `${TP:-8}`, which the environment may replace, and where a Megatron before core
0.9 would lower TP and PP to what fits instead. What a recipe (Megatron Bridge, NeMo) fills in is not known; the sizes
that are set must divide the world in any case.

## Fix

None: the user has to decide which size to change.

## References

`validate_args()` in megatron/training/arguments.py and `initialize_model_parallel()` in
megatron/core/parallel_state.py, core 0.4 to 0.20; src/megatron/bridge/training/initialize.py, Bridge 0.7;
swift/megatron/arguments/megatron_args.py, 4.6
"""

from collections.abc import Iterator

from sbatchlint.analysis.training.layouts import Layout, broken_layouts
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB325", "world-size-not-divisible", severity="error", fix="never", since="0.1.0",
    when=Launchers() | Steps(),
)  # fmt: skip

SHORT = {"tensor": "TP", "pipeline": "PP", "context": "CP", "expert": "EP", "expert_tensor": "ETP"}


def check(job: Job) -> Iterator[Finding]:
    for layout, fault, certain in broken_layouts(job, "world", "experts' grid"):
        world, product = layout.number("world"), layout.product(fault)
        is_megatron = layout.dialect == "megatron"
        factors = []
        for name in fault.parts:
            number, is_set = layout.number(name), not layout.default(name)
            if number > 1 or is_set:
                like_tensor = name == "expert_tensor" and is_megatron and not is_set
                factors.append(f"{SHORT[name]} {number}{' (from TP)' if like_tensor else ''}")
        grid = " × ".join(factors) + (f" = {product}" if len(factors) > 1 else "")
        processes = "the one process" if world == 1 else f"the {world} processes"
        line = job.line(layout.world.invocation.span.start)
        message = f"{processes} on line {line} cannot be divided by {grid}: every rank stops"
        lowered = fault.rule == "world" and is_megatron and _was_lowered(layout, world)
        if lowered:
            message += " (or Megatron before core 0.9 lowers the sizes)"
        message += f"; their product must divide {world}"
        if fault.rule != "world" and layout.default("expert_tensor") and is_megatron:
            message += ", such as `--expert-tensor-parallel-size=1`"
        yield Finding(
            layout.place(fault),
            message,
            severity=None if certain and not lowered else "warning",
            related=[(layout.settings[name].span, SHORT[name]) for name in fault.parts if layout.is_written(name)],
        )


def _was_lowered(layout: Layout, world: int) -> bool:
    """Whether a Megatron before core 0.9 ran with smaller sizes: TP up to the world, PP up to the rest of it."""
    sizes = layout.sizes
    requested, stages = sizes.tensor or 1, sizes.pipeline or 1  # an unknown size may be 1
    tensor = min(requested, world)
    pipeline = min(stages, world // tensor)
    smaller = tensor < requested or pipeline < stages
    return smaller and world % tensor == 0 and world % (tensor * pipeline * (sizes.context or 1)) == 0


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4
        srun python pretrain_gpt.py --tensor-model-parallel-size 8 «--pipeline-model-parallel-size 16» \\
            --context-parallel-size $CP --num-layers 96
        """,
        severity="warning",
        title="a size that is not known",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=3 --ntasks-per-node=1 --gpus-per-node=8
        TP=4
        PP=4
        srun torchrun --nnodes=3 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            pretrain_gpt.py --tensor-model-parallel-size $TP «--pipeline-model-parallel-size» $PP \\
            --num-layers 32 --hidden-size 4096 --micro-batch-size 1 --global-batch-size 256
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config \\
            model.tensor_model_parallel_size=4 «model.pipeline_model_parallel_size=8»
        """,
        title="overrides of a recipe, one task a rank",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            pretrain_gpt.py --tensor-model-parallel-size 4 «--expert-model-parallel-size 8» --num-experts 64 \\
            --num-layers 32 --hidden-size 4096 --micro-batch-size 1
        """,
        title="the grid of the experts: ETP is TP",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=2 NPROC_PER_NODE=8 MASTER_ADDR=$(hostname)
        srun bash -c 'NODE_RANK=$SLURM_NODEID megatron sft --tensor_model_parallel_size 4 \\
            --pipeline_model_parallel_size 2 --expert_model_parallel_size 8 --global_batch_size 64'
        """,
        title="EP is not a factor of the replicas: 16 processes are two of 4 × 2, and 8 × 1 × 2 for the experts",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=3 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=3 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            pretrain_gpt.py --tensor-model-parallel-size ${TP:?} --pipeline-model-parallel-size 4
        """,
        title="24 processes, and TP is not known",
    ),
]
