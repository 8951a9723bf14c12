"""`colossalai run`, as in colossalai/cli/launcher: it starts torchrun on each of its hosts by ssh.

Without `--hostfile` and `--host`, it starts only the workers of its own node. The address of the rendezvous is the
first host, the port that of `--master_port` (29500).
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting, count

SYNTAX = syntax(
    "H/host host hostfile include exclude num_nodes nproc_per_node master_port master_addr extra_launch_args ssh-port",
    "m help",
    single_dash=True,
)


class ColossalAi(Launcher):
    """`colossalai run`."""

    @property
    def processes_per_task(self) -> int | str | None:
        if self.hostfile is not None and self.hostfile.text not in ("localhost", "127.0.0.1"):
            return None  # it starts workers on each host, and its own may not be among them
        found = count(self.setting("nproc_per_node"))
        return None if isinstance(found, int) and found < 0 else found

    @property
    def machines(self) -> Setting | None:
        return self.setting("num_nodes")

    @property
    def hostfile(self) -> Setting | None:
        return self.setting("hostfile", "host")

    @property
    def rendezvous(self) -> Rendezvous:
        return Rendezvous("static", self.setting("master_addr"), self.setting("master_port"), None)


def colossalai(call: Call) -> Launcher | None:
    """The launcher of `colossalai run`; None for other subcommands."""
    if call.verb != "run":
        return None
    run = call.subcommand()
    launcher = ColossalAi("colossalai", run, run.read(SYNTAX))
    if "m" in launcher.flags:
        launcher.program_kind = "module"
    return launcher
