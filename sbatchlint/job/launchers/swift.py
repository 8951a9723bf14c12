"""`swift sft …` and `megatron sft …` of ms-swift, which become torchrun if the environment has certain variables.

swift/cli/main.py: with NPROC_PER_NODE or NNODES exported, `swift pt|sft|rlhf|infer` (older releases also dpo, orpo,
simpo) and every `megatron` command run `python -m torch.distributed.run` with NPROC_PER_NODE, NNODES, NODE_RANK,
MASTER_ADDR and MASTER_PORT as options; a variable that is not exported leaves torchrun's default (or PET_ variable).
Without NPROC_PER_NODE and NNODES, swift starts one process, and recent releases of megatron refuse to start.
"""

from sbatchlint.bash.values import shown_text, span_of, text_of
from sbatchlint.job.argv import Argv, Lookup, Reading
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


class Swift(Torchrun):
    """`swift sft` and the like; `spawns` says whether the environment makes it a torchrun."""

    __slots__ = ("method",)

    def __init__(
        self, name: str, method: str, index: int, span: Span, argv: Argv, reading: Reading, environment: Lookup
    ) -> None:
        super().__init__("swift", name, index, span, argv, reading, environment, variables=_PET)
        self.method = method
        for option, variable in VARIABLES.items():
            if environment(variable) is not None:
                self.variables[option] = variable
        started = environment("NPROC_PER_NODE") is not None or environment("NNODES") is not None
        self.spawns = started and (method in SPAWNING or name.startswith("megatron"))
        self.program_kind = "command"

    @property
    def processes_per_task(self) -> int | str | None:
        return super().processes_per_task if self.spawns else 1


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
    end = span_of(argv[after])
    joined = Span(span.start, end.end) if span.start <= end.end and end.start >= span.start else span
    return Swift(whole, method, index, joined, argv, Reading((), after, certain), environment)
