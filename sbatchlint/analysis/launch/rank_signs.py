"""Signs that a program is one rank of many: it expects to be started once for each GPU, and starts no others itself."""

import re
from functools import lru_cache, partial
from typing import NamedTuple

from sbatchlint.analysis.launch.program_ranks import asks_slurm_for_rank, lightning_trainer, spreads_itself
from sbatchlint.analysis.launch.trainer_configuration import trainer_configuration
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import expansions, shown_text, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, Lookup, basename, program_options
from sbatchlint.job.launchers import Python, python_of
from sbatchlint.job.once import once
from sbatchlint.job.python.program import python_program
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span


class RankSign(NamedTuple):
    """A sign that a program expects to be started once per GPU.

    `kind`: `lightning`, `megatron`, `slurm-launcher`, `rank-variables`, `jax`. `devices`, `nodes`: the ranks per node
    and the nodes that the program is told, where it is. `source`: the place in its own text that says so, "" where the
    script does.
    """

    kind: str
    words: str
    span: Span
    devices: int | None = None
    nodes: int | None = None
    source: str = ""


# Programs of NVIDIA's Megatron Bridge and Megatron-LM that take their rank from Slurm or from RANK.
_MEGATRON = Regex(
    r"(?:^|/)(?:run_recipe\.py|examples/conversion/[\w-]+\.py|pretrain_(?:gpt|bert|t5|vlm|mamba|hybrid|retro)\.py)$"
)
# Not levanter, which shares the GPUs of a node among its tasks, however many (levanter/distributed.py).
_JAX = Regex(r"(?:^|[/._-])(?:maxtext|maxdiffusion|easylm|t5x|paxml|jax)(?:[/._-]|$)", re.IGNORECASE)
_LEVANTER = Regex(r"(?:^|[/._-])levanter(?:[/._-]|$)")
_JAX_VARIABLES = (
    "JAX_COORDINATOR_ADDRESS", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_X64", "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE",
)  # fmt: skip
LIGHTNING_DEVICES = Regex(
    r"(?:--|\+|\+\+)?(?:trainer|train|cfg\.trainer|pl_trainer)\.(?:devices|gpus)|--trainer[._]devices"
)
# What a parser of Lightning's arguments calls them without a prefix; only together they are its.
_PLAIN_DEVICES, _PLAIN_NODES = ("--devices", "-devices"), ("--num_nodes", "--num-nodes")
_STRATEGY = Regex(r"(?:ddp|fsdp|deepspeed)(?:_\w+)?")
LIGHTNING_NODES = Regex(r"(?:--|\+|\+\+)?(?:trainer|train|cfg\.trainer|pl_trainer)\.num_nodes|--trainer[._]num_nodes")
# Methods of litgpt that train, with Lightning Fabric (litgpt/__main__.py, 0.5).
_LITGPT = ("pretrain", "finetune", "finetune_full", "finetune_lora", "finetune_adapter", "finetune_adapter_v2")
# Options of programs that start their other processes themselves.
_SPAWNING = Regex(
    r"--(?:num[_-]?gpus|ngpus?|n[_-]gpus?|gpus|world[_-]size|multiprocessing[_-]distributed|tensor[_-]parallel[_-]size"
    r"|device[_-]map|nproc[_-]per[_-]node|nprocs|num[_-]proc(?:s|esses)?|spawn)"
)
_SPAWNING_MODULES = Regex(r"(?:vllm|sglang|lmdeploy|submitit|ray|dask|torch\.distributed|accelerate|deepspeed)(?:\.|$)")
_RANK_VARIABLES = {"RANK": "SLURM_PROCID", "LOCAL_RANK": "SLURM_LOCALID", "WORLD_SIZE": "SLURM_NTASKS"}


@lru_cache(maxsize=1024)  # programs are told the same options again and again
def _spawns(option: str) -> bool:
    return _SPAWNING.fullmatch(option) is not None


@lru_cache(maxsize=1024)
def _counts_ranks(option: str) -> str:
    """What an option tells of the ranks: `devices` or `nodes` of Lightning, or the option itself; "" for another."""
    if LIGHTNING_DEVICES.fullmatch(option):
        return "devices"
    if LIGHTNING_NODES.fullmatch(option):
        return "nodes"
    return option if option in ("--launcher", "launcher", "--strategy", *_PLAIN_DEVICES, *_PLAIN_NODES) else ""


@once
def spawns_others(job: Job, invocation: Invocation) -> bool:
    """Whether a Python program starts its other processes itself: an option, its name, or its own text says so."""
    if _is_told_to_spawn(invocation.argv, python_of(invocation)):
        return True
    program = python_program(job, invocation)
    return program is not None and spreads_itself(program)


def _is_told_to_spawn(argv: Argv, python: Python | None) -> bool:
    if python is None or python.target is None:
        return False
    if python.kind == "module" and _SPAWNING_MODULES.match(shown_text(python.target)):
        return True
    return any(True for _ in program_options(argv[python.after :], _spawns))


@once
def rank_sign(job: Job, invocation: Invocation) -> RankSign | None:
    """Why a command is likely to be one rank of many: by its words, its environment, or the program's own text.

    None where nothing says so, or it starts its other processes itself. `litgpt X` is such a program too.
    """
    python = python_of(invocation)
    found = told_sign(invocation.argv, python, partial(exported, invocation))
    if python is None:
        return found
    found = _with_configuration(job, invocation, found)
    program = python_program(job, invocation)
    if program is None:
        return found
    if spawns_others(job, invocation):
        return None
    if found is not None:
        wrong = found.kind == "jax" and program.complete and not program.speaks_of("jax")
        return None if wrong else found
    place = span_of(invocation.argv[python.at])
    trainer = lightning_trainer(program)
    if trainer is None and asks_slurm_for_rank(program):
        return RankSign("slurm-launcher", f"{program.path} takes its rank from SLURM_PROCID", place)
    if trainer is None or not trainer.known or trainer.devices == 1 and trainer.nodes == 1:
        return None
    words = f"Lightning expects one task for each device ({trainer.path}, line {trainer.line})"
    return RankSign("lightning", words, place, trainer.devices, trainer.nodes, f"{trainer.path}:{trainer.line}")


def _with_configuration(job: Job, invocation: Invocation, found: RankSign | None) -> RankSign | None:
    """The sign with what a configuration file beside the program says; its command line has the last word."""
    if found is not None and found.kind != "lightning":
        return found
    configured = trainer_configuration(job, invocation)
    if configured is None:
        return found
    if found is not None:
        devices = configured.devices if found.devices is None else found.devices
        return found._replace(devices=devices, nodes=configured.nodes if found.nodes is None else found.nodes)
    if configured.devices == 1 and configured.nodes in (None, 1):
        return None
    words = f"Lightning expects one task for each device ({configured.path})"
    place = span_of(invocation.argv[0])
    return RankSign("lightning", words, place, configured.devices, configured.nodes, configured.path)


def told_sign(argv: Argv, python: Python | None, lookup: Lookup) -> RankSign | None:
    """The sign that a command's words and environment give. `python`: what the words are as a call of Python."""
    if python is None and len(argv) > 1 and basename(argv[0]) == "litgpt" and text_of(argv[1]) in _LITGPT:
        return RankSign("lightning", "Lightning expects one task for each device", span_of(argv[0]))
    if python is None or python.target is None or python.kind not in ("script", "module"):
        return None
    program = shown_text(python.target)
    if _is_told_to_spawn(argv, python):
        return None
    devices: int | None = None
    nodes: int | None = None
    place: Span | None = None
    launcher: Span | None = None
    plain: dict[str, int | None] = {}
    lightning: Span | None = None
    for option, value, field in program_options(argv[python.after :], _counts_ranks):
        text = None if value is None else text_of(value)
        number = parse_integer(text) if text is not None and is_number(text) else None
        told = _counts_ranks(option)
        if told == "devices":
            devices, place = number, span_of(field)
        elif told == "nodes":
            nodes, place = number, place or span_of(field)
        elif option in ("--launcher", "launcher") and text == "slurm":
            launcher = span_of(field)
        elif option in _PLAIN_DEVICES and number is not None:
            plain["devices"], lightning = number, span_of(field)
        elif option in _PLAIN_NODES and number is not None:
            plain["nodes"] = number
        elif option == "--strategy" and text is not None and _STRATEGY.fullmatch(text):
            plain["strategy"] = None
    if place is None and lightning is not None and len(plain) > 1:
        devices, nodes, place = plain["devices"], plain.get("nodes"), lightning
    target = span_of(argv[python.at])
    if launcher is not None:
        return RankSign("slurm-launcher", "the program takes its rank from Slurm", launcher, devices, nodes)
    if place is not None and (devices is None or devices > 1 or nodes is not None):
        return RankSign("lightning", "Lightning expects one task for each device", place, devices, nodes)
    if _MEGATRON.search(program):
        return RankSign("megatron", "Megatron expects one task for each GPU", target)
    for name, source in _RANK_VARIABLES.items():
        found = lookup(name)
        if name != "WORLD_SIZE" and found is not None and any(e.name == source for e in expansions(found)):
            return RankSign("rank-variables", f"{name} is made from ${source}", span_of(found))
    if _LEVANTER.search(program):
        return None
    if _JAX.search(program) or any(lookup(name) is not None for name in _JAX_VARIABLES):
        return RankSign("jax", "JAX expects one task for each GPU", target)
    return None
