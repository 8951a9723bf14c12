"""`composer` of MosaicML, as in composer/cli/launcher.py.

It starts `--nproc` workers on its own node, by default one per GPU; `--world_size` is the number on all nodes, and
`--base_rank` or `--node_rank` determines their ranks. Each option takes its default from a variable.
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting, count

SYNTAX = syntax(
    "n/nproc nproc stdout stderr world_size base_rank node_rank master_addr master_port",
    "version v/verbose verbose m/module_mode module_mode c/command_mode command_mode help",
    abbreviations=True,
    numbers=True,
)

VARIABLES = {
    "nproc": "LOCAL_WORLD_SIZE",
    "world_size": "WORLD_SIZE",
    "base_rank": "BASE_RANK",
    "node_rank": "NODE_RANK",
    "master_addr": "MASTER_ADDR",
    "master_port": "MASTER_PORT",
}


class Composer(Launcher):
    """`composer`."""

    @property
    def processes_per_task(self) -> int | str | None:
        setting = self.setting("nproc")
        if setting is None:
            return "auto" if self.certain else None
        return count(setting)

    @property
    def total_processes(self) -> Setting | None:
        return self.setting("world_size")

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("node_rank", "base_rank")

    @property
    def rendezvous(self) -> Rendezvous:
        return Rendezvous("static", self.setting("master_addr"), self.setting("master_port"), None)


def composer(call: Call) -> Launcher | None:
    """The launcher of a call; None for PHP's package manager, which has the same name."""
    launcher = Composer("composer", call, call.read(SYNTAX), variables=VARIABLES)
    if "command_mode" in launcher.flags:
        launcher.program_kind = "command"
    elif "module_mode" in launcher.flags:
        launcher.program_kind = "module"
    elif not (launcher.program_name or ".py").endswith(".py"):
        return None
    return launcher
