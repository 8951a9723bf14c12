"""The arithmetic of a Megatron-like program: how many processes it can be spread over, and which sizes divide which.

Sources, from core 0.4 (2023) to 0.20 (2026): for the world, megatron/training/arguments.py `validate_args` and
megatron/core/parallel_state.py `initialize_model_parallel`; for batches, num_microbatches_calculator.py
`ConstantNumMicroBatchesCalculator`; for heads and query groups, transformer_config.py. Megatron Bridge 0.7
training/initialize.py and ms-swift 4.6 megatron_args.py have the same rules. Releases differ:

- until 0.8, TP and PP that exceed the world are lowered to fit (`min`) instead of being refused;
- until 0.9, the experts' grid was narrower (EP had to divide DP, TP times EP times PP the world), which refuses more;
- until 0.15, query groups had to be a multiple of TP; now a divisor is accepted as well.

Only what all of them refuse is a fault here.
"""

from math import prod
from typing import NamedTuple


class Sizes(NamedTuple):
    """The sizes of one run, as positive integers; None where one is not known.

    `world`: processes. `tensor`, `pipeline`, `context`: TP, PP, CP, whose product divides the world into data-parallel
    replicas. `expert`, `expert_tensor`: EP, ETP, the experts' own grid over the same processes. `micro_batch`: samples
    of one replica at a time; `global_batch`: samples of an optimizer step. `heads`, `groups`: attention heads and
    query groups; `layers`, `experts`: of the model; `sequence`: tokens of a sample. `sequence_parallel`: whether
    activations are split along the sequence, over TP.
    """

    world: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    context: int | None = None
    expert: int | None = None
    expert_tensor: int | None = None
    micro_batch: int | None = None
    global_batch: int | None = None
    heads: int | None = None
    groups: int | None = None
    layers: int | None = None
    experts: int | None = None
    sequence: int | None = None
    sequence_parallel: bool = False

    @property
    def data_parallel(self) -> int | None:
        """DP, the number of replicas of the model; None where it is not known, or the world is not divisible."""
        dense = (self.tensor, self.pipeline, self.context)
        if self.world is None or None in dense:
            return None
        model = _product(dense)
        return self.world // model if self.world % model == 0 else None


class Indivisible(NamedTuple):
    """A size that is not a multiple of what has to divide it.

    `rule`: `world`, `experts' grid`, `global batch`, `heads`, `groups`, `layers`, `experts`, `context`, `sequence`.
    `whole`: the field of `Sizes` that is to be divided; `parts`: the known fields whose product (times 2 for `context`)
    is to divide it, with `data_parallel` for DP.
    """

    rule: str
    whole: str
    parts: tuple[str, ...]


def indivisible(sizes: Sizes) -> list[Indivisible]:
    """The faults with which no release starts, whatever the unknown sizes are.

    If the product of the known factors does not divide a number, neither does a product with further factors.
    """
    found = []
    dense = _known(sizes, "tensor", "pipeline", "context")
    grid = _known(sizes, "expert", "expert_tensor", "pipeline")
    if _fails(sizes.world, sizes, dense):
        found.append(Indivisible("world", "world", dense))
    elif sizes.expert is not None and sizes.expert > 1 and _fails(sizes.world, sizes, grid):
        found.append(Indivisible("experts' grid", "world", grid))
    else:
        batch = _known(sizes, "micro_batch", "data_parallel")
        if _fails(sizes.global_batch, sizes, batch):
            found.append(Indivisible("global batch", "global_batch", batch))
    found.extend(_of_model(sizes))
    return found


def _of_model(sizes: Sizes) -> list[Indivisible]:
    found = []
    tensor, groups, context = sizes.tensor, sizes.groups, sizes.context
    for rule, part in (("heads", "tensor"), ("layers", "pipeline"), ("experts", "expert")):
        if _fails(getattr(sizes, rule), sizes, _known(sizes, part)):
            found.append(Indivisible(rule, rule, (part,)))
    if groups is not None and tensor is not None and groups % tensor and tensor % groups:
        found.append(Indivisible("groups", "groups", ("tensor",)))
    if sizes.sequence is None:
        return found
    if context is not None and context > 1 and sizes.sequence % (2 * context):
        found.append(Indivisible("context", "sequence", ("context",)))
    elif sizes.sequence_parallel and tensor is not None and tensor > 1:
        parts = _known(sizes, "tensor", "context")
        if _fails(sizes.sequence, sizes, parts):
            found.append(Indivisible("sequence", "sequence", parts))
    return found


def _known(sizes: Sizes, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(sizes, name) is not None)


def _fails(whole: int | None, sizes: Sizes, parts: tuple[str, ...]) -> bool:
    return whole is not None and whole % _product(getattr(sizes, name) for name in parts) != 0


def _product(numbers: object) -> int:
    return prod(numbers)  # type: ignore[call-overload,no-any-return]
