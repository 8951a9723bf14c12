"""`swift sft …`, `megatron sft …` and `llamafactory-cli train …`, which run torchrun with what variables set.

swift/cli/main.py: with NPROC_PER_NODE or NNODES exported, `swift pt|sft|rlhf|infer` (older releases also dpo, orpo,
simpo) and every `megatron` command run `python -m torch.distributed.run` with NPROC_PER_NODE, NNODES, NODE_RANK,
MASTER_ADDR and MASTER_PORT as options; a variable that is not exported leaves torchrun's default (or PET_ variable).
Without NPROC_PER_NODE and NNODES, swift starts one process, and recent releases of megatron refuse to start.

src/llamafactory/cli.py, LLaMA-Factory 0.8 to 0.9: `train` runs torchrun with the same variables if FORCE_TORCHRUN is
set or there are several GPUs, with as many processes as there are GPUs unless NPROC_PER_NODE is set.
"""

from sbatchlint.bash.values import shown_text
from sbatchlint.job.argv import Reading
from sbatchlint.job.launchers.model import Call, Launcher
from sbatchlint.job.launchers.torchrun import Torchrun

SPAWNING = frozenset({"pt", "sft", "rlhf", "infer", "dpo", "orpo", "simpo"})
_MEGATRON = frozenset({"pt", "sft", "rlhf", "export"})

VARIABLES = {
    "nproc_per_node": "NPROC_PER_NODE",
    "nnodes": "NNODES",
    "node_rank": "NODE_RANK",
    "master_addr": "MASTER_ADDR",
    "master_port": "MASTER_PORT",
}
_PET = {name: "PET_" + name.upper() for name in (*VARIABLES, "rdzv_backend", "rdzv_endpoint", "rdzv_id", "standalone")}

MODULES = {"swift.cli.main": "swift", "swift.cli._megatron.main": "megatron"}


class TorchrunByVariables(Torchrun):
    """A command that runs torchrun with NNODES, NPROC_PER_NODE … as its options; `method`: its subcommand.

    `spawns`: whether the environment makes it a torchrun. `trains`: whether the subcommand trains.
    """

    def __init__(self, kind: str, method: str, call: Call, reading: Reading) -> None:
        super().__init__(kind, call, reading, variables=_PET)
        self.method = method
        for option, variable in VARIABLES.items():
            if call.environment(variable) is not None:
                self.variables[option] = variable
        self.program_kind = "command"

    @property
    def trains(self) -> bool:
        return True


class Swift(TorchrunByVariables):
    """`swift sft` and the like."""

    def __init__(self, method: str, call: Call, reading: Reading) -> None:
        super().__init__("swift", method, call, reading)
        started = call.environment("NPROC_PER_NODE") is not None or call.environment("NNODES") is not None
        self.spawns = started and (method in SPAWNING or call.name.startswith("megatron"))

    @property
    def processes_per_task(self) -> int | str | None:
        return super().processes_per_task if self.spawns else 1

    @property
    def trains(self) -> bool:
        return self.method not in ("infer", "export")

    @property
    def is_megatron(self) -> bool:
        return self.name.startswith("megatron") or "_megatron" in self.name


class LlamaFactory(TorchrunByVariables):
    """`llamafactory-cli train`."""

    @property
    def processes_per_task(self) -> int | str | None:
        return super().processes_per_task if self.setting("nproc_per_node") is not None else "auto"


def swift(call: Call) -> Swift | None:
    """The launcher of `swift METHOD …`; None for methods that never spawn workers, and for unknown ones."""
    method = (call.verb or "").replace("_", "-")
    is_megatron = call.name.startswith("megatron") or call.name.endswith("_megatron.main")
    if method not in (_MEGATRON if is_megatron else SPAWNING):
        return None
    # A configuration file as the first argument may set environment variables too.
    files = call.argv[call.after + 1 : call.after + 2]
    certain = not any(shown_text(field).endswith((".yaml", ".yml", ".json")) for field in files)
    whole = call.subcommand(is_placed=True)._replace(name=f"{call.name} {method}")
    return Swift(method, whole, Reading((), call.after, certain))


def llamafactory_cli(call: Call) -> Launcher | None:
    """The launcher of `llamafactory-cli train`; None for other subcommands, and where Ray starts the workers."""
    if call.verb != "train" or call.environment("USE_RAY") is not None:
        return None
    train = call.subcommand(is_placed=True)
    return LlamaFactory("llamafactory", "train", train, Reading((), train.first_argument, True))


lmf = llamafactory_cli
