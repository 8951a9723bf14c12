"""How a Python program beside the script becomes one rank of many, as its own text tells.

Sources: lightning/pytorch/trainer/trainer.py and lightning/fabric/plugins/environments/slurm.py (2.5): Trainer and
Fabric take their ranks from Slurm and compare `devices` and `num_nodes` with it.
"""

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.job.python.module import Call
from sbatchlint.job.python.program import PythonProgram
from sbatchlint.source.numbers import is_number, parse_integer

if TYPE_CHECKING:
    import ast

_PACKAGES = ("lightning", "pytorch_lightning", "lightning_fabric")
# Strategies that start their processes themselves, or are one process; no ranks of Slurm.
_OTHER_STRATEGIES = ("dp", "ddp_spawn", "ddp_notebook", "ddp_fork")
# What starts other ranks, or spreads the work of one process over all GPUs.
_SPREADS = frozenset({
    "torch.multiprocessing.spawn", "torch.multiprocessing.start_processes", "torch.multiprocessing.Process",
    "torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "ray.init", "vllm.LLM", "sglang.Engine",
    "submitit.AutoExecutor", "submitit.SlurmExecutor", "dask_jobqueue.SLURMCluster",
})  # fmt: skip
# What may start them.
_STARTS = frozenset({
    "subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call", "os.system", "os.fork",
    "multiprocessing.Process",
})  # fmt: skip


class Trainer(NamedTuple):
    """Lightning's Trainer, or Fabric, as a program makes it.

    `devices`: on each node; None where it takes all, or `known` is False. `nodes`: None where it is not known.
    """

    known: bool
    devices: int | None
    nodes: int | None
    path: str
    line: int


def lightning_trainer(program: PythonProgram) -> Trainer | None:
    """The Trainer whose processes Slurm is to start; None without one, with several that differ, or on processors."""
    found = [call for call in program.calls if call.last in ("Trainer", "Fabric") and _is_lightning(call)]
    trainers = {_trainer(program, call) for call in found}
    alike = {each and each._replace(line=0) for each in trainers}
    if len(alike) != 1 or program.speaks_of("LightningEnvironment", "TorchElasticEnvironment"):
        return None
    return next(iter(trainers))


def _is_lightning(call: Call) -> bool:
    return call.name.partition(".")[0] in _PACKAGES


def _trainer(program: PythonProgram, call: Call) -> Trainer | None:
    strategy, accelerator = call.keyword("strategy"), call.keyword("accelerator")
    if strategy in _OTHER_STRATEGIES or accelerator in ("cpu", "tpu", "mps") or not call.certain:
        return None
    given = next((each.value for each in call.node.keywords if each.arg in ("devices", "gpus")), None)
    known, devices = _devices(given)
    if given is None:
        known = call.name.startswith("lightning.")  # "auto" from 2.0 on
    nodes = call.keyword("num_nodes") if call.given("num_nodes") else 1
    number = nodes if isinstance(nodes, int) else None
    return Trainer(known, devices, number, program.path, call.node.lineno)


def _devices(node: "ast.expr | None") -> tuple[bool, int | None]:
    """Whether the devices are written, and their number; None for all."""
    import ast

    if isinstance(node, ast.List | ast.Tuple):
        return True, len(node.elts)
    if isinstance(node, ast.UnaryOp):
        return True, None  # -1
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, str):
        return (True, parse_integer(value)) if is_number(value) else (value in ("auto", "-1"), None)
    return (True, value) if isinstance(value, int) and not isinstance(value, bool) else (False, None)


def asks_slurm_for_rank(program: PythonProgram) -> bool:
    """Whether a program of torch or JAX takes its rank from Slurm, and starts no processes itself."""
    if "SLURM_PROCID" not in program.strings or spreads_itself(program):
        return False
    names = {call.name for call in program.calls}
    meets = "torch.distributed.init_process_group" in names or "jax.distributed.initialize" in names
    return meets and not names & _STARTS


def spreads_itself(program: PythonProgram) -> bool:
    """Whether a program starts its other ranks itself, or uses several GPUs in one process."""
    return "device_map" in program.names or any(call.name in _SPREADS for call in program.calls)
