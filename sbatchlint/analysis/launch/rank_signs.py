"""Signs that a program is one rank of many: it expects to be started once per GPU, and starts no other ranks itself."""

import os.path
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.configuration_files import named_file
from sbatchlint.analysis.script.conditionals import is_for_some_jobs
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, expansions, shown_text, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, Lookup, basename, program_options
from sbatchlint.job.launchers import Python, python_of
from sbatchlint.job.once import once
from sbatchlint.job.python.module import Call
from sbatchlint.job.python.program import PythonProgram, python_program
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex, matches, occurs
from sbatchlint.source.text import Span
from sbatchlint.source.yaml_files import Value, read_yaml

if TYPE_CHECKING:
    import ast


class RankSign(NamedTuple):
    """A sign that a program expects to be started once per GPU.

    `kind`: `lightning`, `megatron`, `slurm-launcher`, `rank-variables`, `jax`. `devices`, `nodes`: the ranks per node
    and the nodes that the program's options set, None where they do not. `source`: the place in the program's own text
    that says so, "" if the script does. `variable`: the one of `rank-variables`, LOCAL_RANK if it is set. `early`:
    whether the batch shell expands it, for all tasks.
    """

    kind: str
    words: str
    span: Span
    devices: int | None = None
    nodes: int | None = None
    source: str = ""
    variable: str = ""
    early: bool = False


# Programs of NVIDIA's Megatron Bridge and Megatron-LM that take their rank from Slurm or from RANK.
_MEGATRON = Regex(
    r"(?:^|/)(?:run_recipe\.py|examples/conversion/[\w-]+\.py|pretrain_(?:gpt|bert|t5|vlm|mamba|hybrid|retro)\.py)$"
)
# Not levanter, which divides the GPUs of a node among any number of tasks (levanter/distributed.py).
_JAX = Regex(r"(?:^|[/._-])(?:maxtext|maxdiffusion|easylm|t5x|paxml|jax)(?:[/._-]|$)", re.IGNORECASE)
_LEVANTER = Regex(r"(?:^|[/._-])levanter(?:[/._-]|$)")
_JAX_VARIABLES = (
    "JAX_COORDINATOR_ADDRESS", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_X64", "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE",
)  # fmt: skip
LIGHTNING_DEVICES = Regex(
    r"(?:--|\+|\+\+)?(?:trainer|train|cfg\.trainer|pl_trainer)\.(?:devices|gpus)|--trainer[._]devices"
)
# The options without a prefix; only together are they certain to be Lightning's.
_PLAIN_DEVICES, _PLAIN_NODES = ("--devices", "-devices"), ("--num_nodes", "--num-nodes")
_STRATEGY = Regex(r"(?:ddp|fsdp|deepspeed)(?:_\w+)?")
LIGHTNING_NODES = Regex(r"(?:--|\+|\+\+)?(?:trainer|train|cfg\.trainer|pl_trainer)\.num_nodes|--trainer[._]num_nodes")
# Commands of litgpt that train, with Lightning Fabric (litgpt/__main__.py, 0.5).
_LITGPT = ("pretrain", "finetune", "finetune_full", "finetune_lora", "finetune_adapter", "finetune_adapter_v2")
# Options of programs that start their other processes themselves.
_SPAWNING = Regex(
    r"--(?:num[_-]?gpus|ngpus?|n[_-]gpus?|gpus|world[_-]size|multiprocessing[_-]distributed|tensor[_-]parallel[_-]size"
    r"|device[_-]map|nproc[_-]per[_-]node|nprocs|num[_-]proc(?:s|esses)?|spawn)"
)
_TENSORFLOW = Regex(r"(?i)tensorflow")
_SPAWNING_MODULES = Regex(r"(?:vllm|sglang|lmdeploy|submitit|ray|dask|torch\.distributed|accelerate|deepspeed)(?:\.|$)")
_RANK_VARIABLES = {"LOCAL_RANK": "SLURM_LOCALID", "RANK": "SLURM_PROCID", "WORLD_SIZE": "SLURM_NTASKS"}


@lru_cache(maxsize=1024)  # programs have the same options again and again
def _counts_ranks(option: str) -> str:
    """What an option says of the ranks: Lightning's `devices` or `nodes`, or the option itself; "" for any other."""
    if LIGHTNING_DEVICES.fullmatch(option):
        return "devices"
    if LIGHTNING_NODES.fullmatch(option):
        return "nodes"
    return option if option in ("--launcher", "launcher", "--strategy", *_PLAIN_DEVICES, *_PLAIN_NODES) else ""


@once
def spawns_others(job: Job, invocation: Invocation) -> bool:
    """Whether a Python program starts its other processes itself, by an option, its name, or its own text."""
    if _has_spawn_option(invocation.argv, python_of(invocation)):
        return True
    program = python_program(job, invocation)
    return program is not None and _spreads_itself(program)


def _has_spawn_option(argv: Argv, python: Python | None) -> bool:
    if python is None or python.target is None:
        return False
    if python.kind == "module" and _SPAWNING_MODULES.match(shown_text(python.target)):
        return True
    return any(True for _ in program_options(argv[python.after :], partial(matches, _SPAWNING)))


@once
def rank_sign(job: Job, invocation: Invocation) -> RankSign | None:
    """The sign that a command is one rank of many, from its words, its environment, or the program's own text.

    None if there is none, or where the program starts its other processes itself. `litgpt X` is such a program too.
    """
    python = python_of(invocation)
    found = sign_in_command(invocation.argv, python, partial(exported, invocation))
    if found is not None and found.kind == "rank-variables" and occurs(_TENSORFLOW, job.source.text):
        return None  # one process of it may use all GPUs (MirroredStrategy), and nothing says that it reads RANK
    if python is None:
        return found
    found = _with_configuration(job, invocation, python, found)
    program = python_program(job, invocation)
    if program is None:
        return found
    if spawns_others(job, invocation):
        return None
    if found is not None:
        wrong = found.kind == "jax" and program.complete and not program.mentions("jax")
        return None if wrong else found
    place = span_of(invocation.argv[python.at])
    trainer = _lightning_trainer(program)
    if trainer is None and _asks_slurm_for_rank(program):
        return RankSign("slurm-launcher", f"{program.path} takes its rank from SLURM_PROCID", place)
    if trainer is None or not trainer.known or trainer.devices == 1 and trainer.nodes == 1:
        return None
    words = f"Lightning expects one task for each device ({trainer.path}, line {trainer.line})"
    return RankSign("lightning", words, place, trainer.devices, trainer.nodes, f"{trainer.path}:{trainer.line}")


def _with_configuration(job: Job, invocation: Invocation, python: Python, found: RankSign | None) -> RankSign | None:
    """The sign, completed from a configuration file beside the program; the command line takes precedence."""
    if found is not None and found.kind != "lightning" or python.target is None or python.kind != "script":
        return found
    named = named_file(python.target, invocation.argv[python.after :])
    path = None if named is None else job.beside.named(invocation, named.name)
    values = None if path is None else read_yaml(path)
    trainer = None if values is None or _is_elsewhere(values.get("defaults")) else values.get("trainer")
    if path is None or not isinstance(trainer, dict):
        return found
    devices, nodes = _number(trainer.get("devices", trainer.get("gpus"))), _number(trainer.get("num_nodes"))
    if found is not None:
        devices = devices if found.devices is None else found.devices
        return found._replace(devices=devices, nodes=nodes if found.nodes is None else found.nodes)
    if devices is None and nodes is None or devices == 1 and nodes in (None, 1):
        return None
    name = os.path.basename(path)
    words, place = f"Lightning expects one task for each device ({name})", span_of(invocation.argv[0])
    return RankSign("lightning", words, place, devices, nodes, name)


def sign_in_command(argv: Argv, python: Python | None, lookup: Lookup) -> RankSign | None:
    """The sign in a command's words and environment; None if there is none. `python`: the words as a call of Python."""
    if python is None and len(argv) > 1 and basename(argv[0]) == "litgpt" and text_of(argv[1]) in _LITGPT:
        return RankSign("lightning", "Lightning expects one task for each device", span_of(argv[0]))
    if python is None or python.target is None or python.kind not in ("script", "module"):
        return None
    program = shown_text(python.target)
    if _has_spawn_option(argv, python):
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
        counted = _counts_ranks(option)
        if counted == "devices":
            devices, place = number, span_of(field)
        elif counted == "nodes":
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
        made = next((each for each in expansions(found or ()) if each.name == source), None)
        if name != "WORLD_SIZE" and found is not None and made is not None:
            words, early = f"{name} is made from ${source}", made.phase is Phase.BATCH
            return RankSign("rank-variables", words, span_of(found), variable=name, early=early)
    if _LEVANTER.search(program):
        return None
    if _JAX.search(program) or any(lookup(name) is not None for name in _JAX_VARIABLES):
        return RankSign("jax", "JAX expects one task for each GPU", target)
    return None


# --- what the text of a Python program says ----------------------------------------------------------
#
# Lightning's Trainer and Fabric take their ranks from Slurm, and compare `devices` and `num_nodes` with it:
# lightning/pytorch/trainer/trainer.py and lightning/fabric/plugins/environments/slurm.py (2.5).

_PACKAGES = ("lightning", "pytorch_lightning", "lightning_fabric")
# Strategies that start their processes themselves, or have only one: their ranks are not Slurm's.
_OTHER_STRATEGIES = ("dp", "ddp_spawn", "ddp_notebook", "ddp_fork")
# Calls that start other ranks, or spread the work of one process over all GPUs.
_SPREADS = frozenset({
    "torch.multiprocessing.spawn", "torch.multiprocessing.start_processes", "torch.multiprocessing.Process",
    "torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "ray.init", "vllm.LLM", "sglang.Engine",
    "submitit.AutoExecutor", "submitit.SlurmExecutor", "dask_jobqueue.SLURMCluster",
})  # fmt: skip
# Calls that may start other ranks.
_STARTS = frozenset({
    "subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call", "os.system", "os.fork",
    "multiprocessing.Process",
})  # fmt: skip


class _Trainer(NamedTuple):
    """Lightning's Trainer, or Fabric, as a program creates it.

    `devices`: per node; None for all of them, or if `known` is False. `nodes`: None where it is not known.
    """

    known: bool
    devices: int | None
    nodes: int | None
    path: str
    line: int


def _lightning_trainer(program: PythonProgram) -> _Trainer | None:
    """The trainer whose processes Slurm is to start; None if none, with several that differ, or without GPUs."""
    creating = (call for call in program.calls if call.last in ("Trainer", "Fabric"))
    found = [call for call in creating if call.name.partition(".")[0] in _PACKAGES]
    trainers = {_trainer(program, call) for call in found}
    alike = {each and each._replace(line=0) for each in trainers}
    if len(alike) != 1 or program.mentions("LightningEnvironment", "TorchElasticEnvironment"):
        return None
    return next(iter(trainers))


def _trainer(program: PythonProgram, call: Call) -> _Trainer | None:
    strategy, accelerator = call.keyword("strategy"), call.keyword("accelerator")
    if strategy in _OTHER_STRATEGIES or accelerator in ("cpu", "tpu", "mps") or not call.certain:
        return None
    written = next((each.value for each in call.node.keywords if each.arg in ("devices", "gpus")), None)
    known, devices = _devices(written)
    if written is None:
        known = call.name.startswith("lightning.")  # "auto" from 2.0 on
    nodes = call.keyword("num_nodes") if call.given("num_nodes") else 1
    number = nodes if isinstance(nodes, int) else None
    return _Trainer(known, devices, number, program.path, call.node.lineno)


def _devices(node: "ast.expr | None") -> tuple[bool, int | None]:
    """Whether the devices are literal, and their number; None for all."""
    import ast

    if isinstance(node, ast.List | ast.Tuple):
        return True, len(node.elts)
    if isinstance(node, ast.UnaryOp):
        return True, None  # -1
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, str):
        return (True, parse_integer(value)) if is_number(value) else (value in ("auto", "-1"), None)
    return (True, value) if isinstance(value, int) and not isinstance(value, bool) else (False, None)


def _asks_slurm_for_rank(program: PythonProgram) -> bool:
    """Whether a program of torch or JAX takes its rank from Slurm, and starts no processes itself."""
    if "SLURM_PROCID" not in program.strings or _spreads_itself(program):
        return False
    names = {call.name for call in program.calls}
    meets = "torch.distributed.init_process_group" in names or "jax.distributed.initialize" in names
    return meets and not names & _STARTS


def _spreads_itself(program: PythonProgram) -> bool:
    """Whether a program starts its other ranks itself, or uses several GPUs in one process."""
    return "device_map" in program.names or any(call.name in _SPREADS for call in program.calls)


# --- what a YAML file beside the program says --------------------------------------------------------

# An item of Hydra's `defaults` that names the file with the block of the trainer.
_ELSEWHERE = Regex(r"(?:override[ \t]+)?/?trainer(?:@\S+)?")


def _is_elsewhere(defaults: Value) -> bool:
    """Whether another file of Hydra's list may have the block of the trainer."""
    if not isinstance(defaults, list):
        return defaults is not None
    names = [name for item in defaults for name in (item if isinstance(item, dict) else (item,))]
    return any(not isinstance(name, str) or _ELSEWHERE.fullmatch(name) for name in names)


def _number(value: Value) -> int | None:
    """A number that is written, or that of the devices that are listed."""
    if isinstance(value, list):
        return None if "-1" in value else len(value) or None
    return parse_integer(value) if isinstance(value, str) and is_number(value) else None


# --- programs that the batch shell starts once ---------------------------------------------------------------

_TRAINING = Regex(
    r"(?:(?:^|[/.-])(?=\w*(?:train|tun[ei]|ddp|fsdp))\w+|(?:^|[/._-])(?:main|fit)(?:_\w+)?)(?:[.-]\w+)*\.py$",
    re.IGNORECASE,
)
# What a program gets that fills in a command line and runs it.
_TEMPLATE = Regex(r"(?:cmd|command|job|script|batch|submit|launch(?:er)?|srun|sbatch)s?[-_]template", re.IGNORECASE)
_MANY_NODES = Regex(
    r"submit|slurm|srun|torchrun|ray|dask|spark|parsl|mpi|launch|executor|nodelist|hostfile|hosts\b", re.IGNORECASE
)


def is_lone_rank(job: Job, command: Invocation) -> bool:
    """Whether the batch shell starts a program once that is one rank of many, or trains on the job's GPUs."""
    context = command.context
    if command.phase is not Phase.BATCH or command.children or _starts_others(command):
        return False
    if context.captured or context.may_repeat or context.background or is_for_some_jobs(command):
        return False
    sign = rank_sign(job, command)
    return bool(job.request.asks_for_gpus) and _trains_alone(command) if sign is None else sign.kind != "jax"


def _starts_others(command: Invocation) -> bool:
    """Whether a program gets the command line by which it starts the work: `--cmd-template-file run.sh`."""
    names = [each.name for field in command.argv for each in expansions(field)]
    return any(_TEMPLATE.search(each) for each in (*command.words, *names))


def _trains_alone(invocation: Invocation) -> bool:
    """Whether a command is, by its name, a Python program for training, and no word mentions other machines."""
    python = python_of(invocation)
    if python is None or python.kind != "script" or python.text is None or not _TRAINING.search(python.text[-200:]):
        return False
    words = invocation.words
    names = [each.name for field in invocation.argv for each in expansions(field)]
    return not any(_MANY_NODES.search(each) for each in (*words, *names))
