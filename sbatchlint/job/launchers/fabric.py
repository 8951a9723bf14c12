"""`fabric run` of Lightning and `tune run` of torchtune, which come with training libraries.

lightning/fabric/cli.py: `fabric run` passes --num_nodes, --node_rank, --main_address and --main_port to torchrun, and
--devices as the number of workers per node. torchtune/_cli/run.py: `tune run` takes torchrun's options; without any of
them it starts one process.
"""

from sbatchlint.bash.values import text_of
from sbatchlint.job.argv import Argv, Lookup, read, syntax
from sbatchlint.job.launchers.model import Launcher, Rendezvous, Setting, count
from sbatchlint.job.launchers.torchrun import Torchrun, torchrun
from sbatchlint.source.text import Span

SYNTAX = syntax(
    "accelerator strategy devices num_nodes node_rank main_address main_port precision", "help", underscores=True
)


class Fabric(Launcher):
    """`fabric run`."""

    __slots__ = ()

    @property
    def processes_per_task(self) -> int | str | None:
        found = count(self.setting("devices"))
        return None if isinstance(found, int) and found < 0 else found

    @property
    def machines(self) -> Setting | None:
        return self.setting("num_nodes")

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("node_rank")

    @property
    def rendezvous(self) -> Rendezvous:
        return Rendezvous("static", self.setting("main_address"), self.setting("main_port"), None)


def fabric(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher of `fabric run`, or of `fabric run model` in older releases; None for other subcommands."""
    if after >= len(argv) or text_of(argv[after]) != "run":
        return None
    verbs = "run model" if after + 1 < len(argv) and text_of(argv[after + 1]) == "model" else "run"
    reading = read(argv, after + len(verbs.split()), SYNTAX)
    return Fabric("fabric", f"{name} {verbs}", index, span, argv, reading, environment)


def lightning(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher of `lightning run model`; None for other subcommands, such as `lightning run app`."""
    found = fabric(name, argv, index, after, span, environment)
    return found if found is not None and found.name.endswith(" model") else None


def tune(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher of `tune run`, a torchrun if it has one of its options; None for other subcommands."""
    if after >= len(argv) or text_of(argv[after]) != "run":
        return None
    launcher = torchrun("torchrun", f"{name} run", argv, index, after + 1, span, environment)
    assert isinstance(launcher, Torchrun)
    launcher.program_kind = "command"
    launcher.spawns = bool(launcher.all_options) or not launcher.certain
    return launcher
