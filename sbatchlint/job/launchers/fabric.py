"""`fabric run` of Lightning and `tune run` of torchtune, which come with training libraries.

lightning/fabric/cli.py: `fabric run` passes --num_nodes, --node_rank, --main_address and --main_port to torchrun, and
--devices as the number of workers per node. torchtune/_cli/run.py: `tune run` takes torchrun's options; without any of
them it starts one process.
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting, count
from sbatchlint.job.launchers.torchrun import torchrun

SYNTAX = syntax(
    "accelerator strategy devices num_nodes node_rank main_address main_port precision", "help", underscores=True
)


class Fabric(Launcher):
    """A call of `fabric run`, which starts its processes through torchrun."""

    @property
    def processes_per_task(self) -> int | str | None:
        devices = count(self.setting("devices"))
        return None if isinstance(devices, int) and devices < 0 else devices

    @property
    def machines(self) -> Setting | None:
        return self.setting("num_nodes")

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("node_rank")

    @property
    def rendezvous(self) -> Rendezvous:
        return Rendezvous("static", self.setting("main_address"), self.setting("main_port"), None)


def fabric(call: Call) -> Launcher | None:
    """The launcher of `fabric run`, or of `fabric run model` in older releases; None for other subcommands."""
    if call.verb != "run":
        return None
    run = call.subcommand()
    if run.verb == "model":
        run = run.subcommand()
    return Fabric("fabric", run, run.read(SYNTAX))


def lightning(call: Call) -> Launcher | None:
    """The launcher of `lightning run model`; None for other subcommands, such as `lightning run app`."""
    launcher = fabric(call)
    return launcher if launcher is not None and launcher.name.endswith(" model") else None


def tune(call: Call) -> Launcher | None:
    """The launcher of `tune run`; None for other subcommands.

    It counts as starting workers (`spawns`) only if one of torchrun's options is set, or may be.
    """
    if call.verb != "run":
        return None
    launcher = torchrun("torchrun", call.subcommand())
    launcher.program_kind = "command"
    launcher.spawns = bool(launcher.all_options) or not launcher.certain
    return launcher
