"""Each rank stops at the start: the batch sizes of DeepSpeed do not fit the number of processes.

DeepSpeed wants `train_batch_size` to be `train_micro_batch_size_per_gpu` times `gradient_accumulation_steps` times the
number of processes. A configuration written for 8 GPUs and started on 12 ends each rank with `AssertionError: Check
batch related parameters`, after the job has waited for its nodes.

The file is next to the script, or the script writes it by a heredoc. Not reported where one of the numbers is `auto`,
or options divide the model among ranks: then fewer replicas than processes share the batch. A warning, as a program
may override the values of the file.

## Fix

None: the user has to decide which number to change. Without `train_batch_size` the other two decide.

## References

deepspeed/runtime/config.py, `_set_batch_related_parameters()` and `_batch_assertion()` (0.9 to 0.16)
"""

import json
from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.analysis.script.program_texts import written_text
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import program_options
from sbatchlint.job.programs import commands_with_option
from sbatchlint.job.worlds import World, find_worlds
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB334", "deepspeed-batch-mismatch", severity="warning", fix="never", since="0.1.0", stage="preview",
    when=Launchers() | Steps(), seen="deepspeed/runtime/config.py of 0.16",
)  # fmt: skip

_OPTION = Regex(r"--?(?:deepspeed|deepspeed[_-]config(?:[_-]file)?|ds[_-]config)")
_SHARED = Regex(r"(?i)parallel|(?:^|[-_.])(?:tp|pp|sp|mp|ep)(?:[-_]size)?(?:=|$)|ulysses|auto[_-]?tp")
_TOTAL, _MICRO, _STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
_MOST_BYTES = 1 << 16


def check(job: Job) -> Iterator[Finding]:
    if "json" not in job.source.text and "accelerate" not in job.source.text:
        return
    indices = {each.index for each in commands_with_option(job, _may_name_config)}
    seen: set[Span] = set()
    for world in find_worlds(job):
        size, commands = world.size, (world.invocation, *world.invocation.descendants())
        if not size or size < 2:
            continue
        named = (_config(job, command) for command in commands if command.index in indices)
        for found in (_configured(job, world), *named):
            if found is not None and found[0] not in seen:
                seen.add(found[0])
                yield from _mismatch(world, size, *found)


def _configured(job: Job, world: World) -> tuple[Span, str, dict[str, int]] | None:
    """The configuration that the configuration file of accelerate names."""
    launcher = world.launcher
    configured = None if launcher is None else launcher.configured
    setting = None if configured is None else configured.get("deepspeed_config_file")
    value = None if setting is None else setting.value
    file = None if launcher is None else launcher.options.get("config_file")
    if value is None or file is None or file.value is None:
        return None
    return _read(job, world.invocation, value, span_of(file.value))


def _config(job: Job, command: Invocation) -> tuple[Span, str, dict[str, int]] | None:
    """The configuration of a program: the place of its option, the name of the file, and its batch sizes."""
    for _, value, _ in program_options(command.argv[1:], _names_config):
        if value is not None and shown_text(value).endswith(".json"):
            return _read(job, command, value, span_of(value))
    return None


def _read(job: Job, command: Invocation, value: Pieces, place: Span) -> tuple[Span, str, dict[str, int]] | None:
    """The batch sizes in a file of a program, with the place that names it; None where they are not known."""
    if any(_SHARED.search(word) for word in command.words[1:]):
        return None
    written = written_text(job, command, shown_text(value).rpartition("/")[2])
    path = job.beside.path(command, value) if written is None else None
    data = None if path is None else lookups.read(path, _MOST_BYTES)
    try:
        read = json.loads((data or b"") if written is None else written.string[:_MOST_BYTES])
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict) or any(each in read for each in ("elasticity", "tensor_parallel")):
        return None
    sizes = {name: read[name] for name in (_TOTAL, _MICRO, _STEPS) if name in read}
    if all(isinstance(each, int) and each > 0 for each in sizes.values()):
        return place, shown_text(value).rpartition("/")[2], sizes
    return None


@lru_cache(maxsize=1024)  # programs get the same options again and again
def _names_config(option: str) -> bool:
    return _OPTION.fullmatch(option) is not None


@lru_cache(maxsize=1024)
def _may_name_config(word: str) -> bool:
    return _names_config(word.partition("=")[0])


def _mismatch(world: World, size: int, place: Span, file: str, sizes: dict[str, int]) -> Iterator[Finding]:
    total = sizes.get(_TOTAL)
    parts = [(name, sizes[name]) for name in (_MICRO, _STEPS) if name in sizes]
    product = size
    for _, number in parts:
        product *= number
    if total is None or (total == product if len(parts) > 1 else total % product == 0):
        return
    is_what = "not" if len(parts) > 1 else "not a multiple of"
    factors = "".join(f"{name} {number} × " for name, number in parts)
    equals = f" = {product}" if parts else ""
    yield Finding(
        place,
        f"{_TOTAL} {total} in {file} is {is_what} {factors}{size} processes{equals}: DeepSpeed stops every rank; "
        f"remove {_TOTAL}",
        related=[(world.span, f"starts {size} processes")],
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=3 --ntasks-per-node=1 --gpus-per-node=4
        srun torchrun --nnodes=3 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            train.py --deepspeed «ds.json»
        """,
        files={
            "ds.json": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}'
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=3
        deepspeed --num_gpus=3 train.py --deepspeed_config=«ds.json»
        """,
        files={"ds.json": '{"train_batch_size": 64}'},
        title="not a multiple of the processes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            train.py --deepspeed ds.json
        """,
        files={
            "ds.json": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}'
        },
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=3
        deepspeed --num_gpus=3 train.py --deepspeed_config ds.json
        """,
        files={"ds.json": '{"train_batch_size": "auto", "gradient_accumulation_steps": 2}'},
    ),
]
