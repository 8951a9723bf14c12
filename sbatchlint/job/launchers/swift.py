"""`swift sft …`, `megatron sft …` and `llamafactory-cli train …`, which run torchrun with what variables set.

swift/cli/main.py: with NPROC_PER_NODE or NNODES exported, `swift pt|sft|rlhf|infer` (older releases also dpo, orpo,
simpo) and every `megatron` command run `python -m torch.distributed.run` with NPROC_PER_NODE, NNODES, NODE_RANK,
MASTER_ADDR and MASTER_PORT as options; a variable that is not exported leaves torchrun's default (or PET_ variable).
Without NPROC_PER_NODE and NNODES, swift starts one process, and recent releases of megatron refuse to start.

src/llamafactory/cli.py, LLaMA-Factory 0.8 to 0.9: `train` runs torchrun with the same variables if FORCE_TORCHRUN is
set or there are several GPUs, with as many processes as there are GPUs unless NPROC_PER_NODE is set.
"""

from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job.argv import Argv, Lookup, Reading
from sbatchlint.job.launchers.model import Launcher, with_subcommand
from sbatchlint.job.launchers.torchrun import Torchrun
from sbatchlint.source.text import Span

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

    __slots__ = ("method",)

    def __init__(
        self, kind: str, name: str, method: str, index: int, span: Span, argv: Argv, reading: Reading,
        environment: Lookup,
    ) -> None:  # fmt: skip
        super().__init__(kind, name, index, span, argv, reading, environment, variables=_PET)
        self.method = method
        for option, variable in VARIABLES.items():
            if environment(variable) is not None:
                self.variables[option] = variable
        self.program_kind = "command"

    @property
    def trains(self) -> bool:
        return True


class Swift(TorchrunByVariables):
    """`swift sft` and the like."""

    __slots__ = ()

    def __init__(
        self, name: str, method: str, index: int, span: Span, argv: Argv, reading: Reading, environment: Lookup
    ) -> None:
        super().__init__("swift", name, method, index, span, argv, reading, environment)
        started = environment("NPROC_PER_NODE") is not None or environment("NNODES") is not None
        self.spawns = started and (method in SPAWNING or name.startswith("megatron"))

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

    __slots__ = ()

    @property
    def processes_per_task(self) -> int | str | None:
        return super().processes_per_task if self.setting("nproc_per_node") is not None else "auto"


def swift(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Swift | None:
    """The launcher of `swift METHOD …`; None for methods that never spawn workers, and for unknown ones."""
    if after >= len(argv):
        return None
    method = text_of(argv[after])
    if method is None:
        return None
    method = method.replace("_", "-")
    if method not in (_MEGATRON if name.startswith("megatron") or name.endswith("_megatron.main") else SPAWNING):
        return None
    # A configuration file as the first argument may set environment variables too.
    certain = after + 1 >= len(argv) or not shown_text(argv[after + 1]).endswith((".yaml", ".yml", ".json"))
    whole = f"{name} {method}"
    joined = with_subcommand(span, argv, after)
    return Swift(whole, method, index, joined, argv, Reading((), after, certain), environment)


def llamafactory_cli(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher of `llamafactory-cli train`; None for other subcommands, and where Ray starts the workers."""
    if after >= len(argv) or text_of(argv[after]) != "train" or environment("USE_RAY") is not None:
        return None
    joined = with_subcommand(span, argv, after)
    reading = Reading((), after + 1 if after + 1 < len(argv) else None, True)
    return LlamaFactory("llamafactory", f"{name} train", "train", index, joined, argv, reading, environment)


lmf = llamafactory_cli
