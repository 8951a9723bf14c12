"""Every rank stops at the start: the parallel sizes do not divide a batch, or a size of the model.

Every data-parallel replica takes `--micro-batch-size` samples at a time, so the global batch must be a multiple of the
micro-batch size times the number of replicas, which is the number of processes divided by TP times PP times CP. It
changes with the number of nodes. In the same way attention heads are shared among TP ranks, layers among PP ranks,
experts among EP ranks, and the sequence among CP ranks, each of which takes two pieces of it. Megatron raises an error
at the start, after the job has waited for its nodes.

Sizes are read from the command line and from the YAML file that it names, as for NeMo, if that is beside the script
and takes in no other file.

Not reported where the batch size changes during training (`--rampup-batch-size`, `--step-batch-size-schedule`) or
Megatron may lower it (`--decrease-batch-size-if-needed`), and for layers that are distributed unevenly. Layers are a
warning: some programs distribute them in their own way.

## Fix

None: the user has to decide which size to change.

## References

megatron/core/num_microbatches_calculator.py; transformer_config.py; megatron/training/arguments.py, core 0.4 to 0.20;
swift/megatron/arguments/megatron_args.py, ms-swift 4.6
"""

from collections.abc import Iterator

from sbatchlint.analysis.training.layouts import broken_layouts
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB326", "batch-size-not-divisible", severity="error", fix="never", since="0.1.0",
    when=Launchers() | Steps(),
)  # fmt: skip

SHORT = {"tensor": "TP", "pipeline": "PP", "context": "CP", "expert": "EP"}
BATCH = {"micro_batch": "micro-batch size {}", "data_parallel": "{} data-parallel replicas"}
MODEL = {
    "heads": "attention heads",
    "groups": "query groups",
    "layers": "layers",
    "experts": "experts",
    "context": "tokens of a sequence",
    "sequence": "tokens of a sequence",
}


def check(job: Job) -> Iterator[Finding]:
    for layout, fault, certain in broken_layouts(job, "global batch", *MODEL):
        whole, product = layout.number(fault.whole), layout.product(fault)
        if fault.rule == "global batch":
            default = "default " if layout.default("global_batch") else ""
            factors = [BATCH[name].format(layout.number(name)) for name in fault.parts if layout.number(name) > 1]
            total = f" = {product}" if len(factors) > 1 else ""
            where = "" if default or " in " not in layout.settings["global_batch"].written else f" in {layout.file}"
            problem = f"the {default}global batch size {whole}{where} is not a multiple of {' × '.join(factors)}{total}"
        else:
            factors = ["2"] if fault.rule == "context" else []
            factors += [f"{SHORT[name]} {layout.number(name)}" for name in fault.parts]
            relation = "neither a multiple nor a divisor" if fault.rule == "groups" else "not a multiple"
            problem = f"{whole} {MODEL[fault.rule]} are {relation} of {' × '.join(factors)}"
        below = whole // product * product
        instead = f"{below} or {below + product}" if below else f"{product}"
        yield Finding(
            layout.place(fault),
            f"{problem}: every rank stops at the start; write {instead}, or other sizes",
            severity="warning" if fault.rule == "layers" or not certain else None,
            related=[
                (layout.settings[name].span, layout.settings[name].written)
                for name in fault.parts
                if layout.is_written(name)
            ],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=3 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=3 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            pretrain_gpt.py --tensor-model-parallel-size 4 --micro-batch-size 2 «--global-batch-size 256»
        """,
        title="24 processes are 6 replicas, and 256 is not a multiple of 12",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=4 NPROC_PER_NODE=8 MASTER_ADDR=$(hostname)
        srun bash -c 'NODE_RANK=$SLURM_NODEID «megatron sft» --model Qwen/Qwen3-8B --dataset d'
        """,
        title="ms-swift takes 16 samples by default, for 32 replicas",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=8
        ARGS="--num-layers 30 --hidden-size 5120 «--num-attention-heads 20» --seq-length 4096"
        srun torchrun --nproc_per_node=8 pretrain_gpt.py $ARGS --tensor-model-parallel-size 8
        """,
        title="heads that cannot be shared",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=3 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=3 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            pretrain_gpt.py --tensor-model-parallel-size 4 --micro-batch-size 2 --global-batch-size 256 \\
            --decrease-batch-size-if-needed
        """,
        title="Megatron is told to lower the batch",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=3 --ntasks-per-node=8 --gpus-per-node=8
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config \\
            model.tensor_model_parallel_size=4 train.micro_batch_size=2 train.global_batch_size=256
        """,
        title="the recipe says how many replicas there are",
    ),
]
