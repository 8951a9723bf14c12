"""The arithmetic of parallel layouts against Megatron's own assertions, restated by dealing out ranks one by one; and
the reading of sizes from command lines."""

from __future__ import annotations

from itertools import product

import pytest

from sbatchlint.analysis.training.layouts import Layout, parallel_layouts
from sbatchlint.analysis.training.parallelism import Sizes, indivisible
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source

WORLDS = (1, 2, 3, 4, 6, 8, 12)
SMALL = (1, 2, 3, 4)


def fills(world: int, *axes: int) -> bool:
    """Whether blocks of so many ranks fill the world, each rank dealt out once."""
    block = 1
    for axis in axes:
        block *= axis
    left = world
    while left >= block:
        left -= block
    return left == 0


def first_refusal(
    world: int, tensor: int, pipeline: int, context: int, expert: int, expert_tensor: int, micro: int, batch: int
) -> str | None:
    """What Megatron refuses first: the world, the experts' grid, the batch."""
    if not fills(world, tensor, pipeline, context):
        return "world"
    if expert > 1 and not fills(world, expert_tensor, expert, pipeline):
        return "experts' grid"
    replicas = len(range(0, world, tensor * pipeline * context))
    samples = sum(micro for _ in range(replicas))
    while batch > 0:
        batch -= samples
    return None if batch == 0 else "global batch"


def test_it_is_what_megatron_refuses() -> None:
    grid = product(WORLDS, SMALL, (1, 2, 3), (1, 2), (1, 2, 4), (1, 2), (1, 2), (1, 4, 6, 12))
    for world, tensor, pipeline, context, expert, expert_tensor, micro, batch in grid:
        sizes = Sizes(world, tensor, pipeline, context, expert, expert_tensor, micro, batch)
        found = [each.rule for each in indivisible(sizes)]
        refused = first_refusal(world, tensor, pipeline, context, expert, expert_tensor, micro, batch)
        assert found == ([] if refused is None else [refused]), sizes


@pytest.mark.parametrize("hidden", list(product((True, False), repeat=6)))
def test_what_is_not_known_is_no_fault_where_any_number_would_do(hidden: tuple[bool, ...]) -> None:
    """Each of TP, PP, CP, EP, ETP and the micro-batch is known or may be anything."""
    numbers = (1, 2, 3, 4, 6)
    for world, batch in ((4, 6), (6, 4)):
        for known in (
            (1, 1, 1, 2, 1, 1),
            (2, 1, 1, 4, 2, 1),
            (1, 2, 2, 2, 2, 2),
            (3, 1, 2, 2, 1, 2),
            (2, 2, 2, 1, 1, 3),
        ):
            given = [None if hide else number for hide, number in zip(hidden, known, strict=True)]
            found = {each.rule for each in indivisible(Sizes(world, *given, global_batch=batch))}
            choices = [numbers if number is None else (number,) for number in given]
            refusals = {first_refusal(world, *completed, batch) for completed in product(*choices)}
            if found:
                assert None not in refusals, (world, batch, given)
            if None in refusals:
                assert not found
            if not any(hidden[:3]):
                assert ("world" in found) == (refusals == {"world"})


def test_sizes_of_the_model() -> None:
    for number, part in product(range(1, 25), SMALL):
        even = fills(number, part)
        assert bool(indivisible(Sizes(heads=number, tensor=part))) != even
        assert bool(indivisible(Sizes(layers=number, pipeline=part))) != even
        assert bool(indivisible(Sizes(experts=number, expert=part))) != even
        assert bool(indivisible(Sizes(groups=number, tensor=part))) != (even or fills(part, number))
        assert bool(indivisible(Sizes(sequence=number, context=part))) != (part == 1 or fills(number, part, 2))
        with_parts = Sizes(sequence=number, tensor=part, context=1, sequence_parallel=True)
        assert bool(indivisible(with_parts)) != even
        assert not indivisible(with_parts._replace(sequence_parallel=False))
    assert not indivisible(Sizes(heads=20, layers=30, experts=3, sequence=7, groups=3))


# --- reading -----------------------------------------------------------------------------------------

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8\n"
RUN = "torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1"
OWN = "pretrain_gpt.py --num-layers 8 --hidden-size 64"


def layouts(body: str, head: str = HEAD) -> list[Layout]:
    job = Job.from_source(Source(head + body + "\n", "job.sh"), Site())
    return [each for group in parallel_layouts(job) for each in group]


def told(body: str, head: str = HEAD) -> dict[str, int]:
    (layout,) = layouts(body, head)
    return {name: size for name, size in layout.sizes._asdict().items() if size}


SWIFT = "export NNODES=2 NPROC_PER_NODE=8 MASTER_ADDR=n1\n"
DEFAULTS = {"tensor": 1, "pipeline": 1, "context": 1, "expert": 1, "expert_tensor": 1}


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        (f"srun {RUN} {OWN}", {**DEFAULTS, "world": 16, "layers": 8}),
        (
            f"srun {RUN} {OWN} --tensor-model-parallel-size=4 --micro-batch-size 2",
            {**DEFAULTS, "world": 16, "tensor": 4, "expert_tensor": 4, "layers": 8, "micro_batch": 2},
        ),
        (
            f"ARGS=(--tensor-model-parallel-size 4 --expert-tensor-parallel-size 1)\nsrun {RUN} {OWN} ${{ARGS[@]}}",
            {**DEFAULTS, "world": 16, "tensor": 4, "layers": 8},
        ),
        (
            f"TP=$((2 * 2))\nsrun bash -c '{RUN} {OWN} --tensor-model-parallel-size '$TP",
            {**DEFAULTS, "world": 16, "tensor": 4, "expert_tensor": 4, "layers": 8},
        ),
        # the last one counts
        (
            f"srun {RUN} {OWN} --context-parallel-size 4 --context-parallel-size 2",
            {**DEFAULTS, "world": 16, "context": 2, "layers": 8},
        ),
        # what may hide more options leaves the rest open
        (f"srun {RUN} {OWN} --tensor-model-parallel-size 4 $EXTRA_ARGS", {"world": 16, "tensor": 4, "layers": 8}),
        (f'srun {RUN} {OWN} --seed $SEED "$NAME" --micro-batch-size 1', {**DEFAULTS, "world": 16, "layers": 8,
                                                                         "micro_batch": 1}),
        (f"srun {RUN} {OWN} --tensor-model-parallel-size $TP", {"pipeline": 1, "context": 1, "expert": 1, "world": 16,
                                                                "layers": 8}),
        # query groups count where they are asked for
        (f"srun {RUN} {OWN} --num-query-groups 8", {**DEFAULTS, "world": 16, "layers": 8}),
        (
            f"srun {RUN} {OWN} --group-query-attention --num-query-groups 8",
            {**DEFAULTS, "world": 16, "layers": 8, "groups": 8},
        ),
        # uneven layers, batches that grow, one more way to be parallel
        (f"srun {RUN} {OWN} --decoder-first-pipeline-num-layers 3", {**DEFAULTS, "world": 16}),
        (
            f"srun {RUN} {OWN} --global-batch-size 9 --rampup-batch-size 1 1 9",
            {**DEFAULTS, "world": 16, "layers": 8},
        ),
        (f"srun {RUN} {OWN} --ds-sequence-parallel-size 2", {"world": 16, "layers": 8}),
        # another program: nobody knows what is not given
        (f"srun {RUN} tune.py --tensor-model-parallel-size 4", {"world": 16, "tensor": 4}),
        # recipes
        (
            f"srun {RUN} run_recipe.py -tp 2 --pipeline_model_parallel_size 2 model.pipeline_model_parallel_size=4",
            {"world": 16, "tensor": 2, "pipeline": 4},
        ),
        (
            f"srun {RUN} nemo_pretrain.py ++model.tensor_model_parallel_size=2 model.num_attention_heads=6",
            {"world": 16, "tensor": 2, "heads": 6},
        ),
        # ms-swift
        (
            SWIFT + "srun bash -c 'NODE_RANK=$SLURM_NODEID megatron sft --tensor_model_parallel_size 2 --model m'",
            {**DEFAULTS, "world": 16, "tensor": 2, "micro_batch": 1, "global_batch": 16, "expert_tensor": 0},
        ),
    ],
)  # fmt: skip
def test_sizes_are_read(body: str, sizes: dict[str, int]) -> None:
    assert told(body) == {name: size for name, size in sizes.items() if size}


@pytest.mark.parametrize(
    "body",
    [
        f"srun {RUN} {OWN} --use-checkpoint-args --tensor-model-parallel-size 4",
        f"srun {RUN} train.py --micro-batch-size 4",
        f"srun {RUN} -m verl.trainer.main_ppo actor_rollout_ref.rollout.tensor_model_parallel_size=3",
        "python pretrain_gpt.py --tensor-model-parallel-size 4",
        "srun echo pretrain_gpt.py --tensor-model-parallel-size 4",
        "ray start --head\npython train.py --tensor-model-parallel-size 4",
    ],
)
def test_what_is_no_layout(body: str) -> None:
    assert not layouts(body)


@pytest.mark.parametrize(
    ("body", "world"),
    [
        (f"srun {RUN} {OWN}", 16),
        (f"srun -N1 -n1 {RUN} {OWN}", None),  # two nodes are waited for
        (f"srun torchrun --nproc_per_node=8 {OWN}", None),  # two trainings of 8
        (f"srun -n 16 {RUN} {OWN}", None),
        (f"{RUN} {OWN}", 16),
        (f"torchrun --standalone --nproc_per_node=8 {OWN}", None),
        (f"srun -n 16 python {OWN} --micro-batch-size 1", 16),
        (f"export WORLD_SIZE=$SLURM_NTASKS\nsrun -n 16 python {OWN} --micro-batch-size 1", None),
        (f"srun -n 16 ./launch.sh {OWN}", 16),
        (f"srun ./launch.sh {OWN}", None),
        (f"srun python {OWN}", None),
    ],
)
def test_the_world_is_known_where_the_launch_is_sound(body: str, world: int | None) -> None:
    (layout,) = layouts(body)
    assert layout.sizes.world == world
