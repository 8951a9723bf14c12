"""horovodrun and `torchpack dist-run`, one of which starts the workers of all hosts, by ssh or mpirun.

horovod/runner/launch.py (0.28): `-np` is the number of workers on all hosts, which `-H` or `--hostfile` lists with
their slots; without both, on its own host. torchpack/launch/launchers/drunner.py takes the same and calls mpirun.
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Setting

SYNTAX = syntax(
    "np/num-proc num-proc H/hosts hosts hostfile/hostfile hostfile p/ssh-port ssh-port i/ssh-identity-file "
    "ssh-identity-file start-timeout network-interface network-interfaces output-filename config-file min-np max-np "
    "slots-per-host host-discovery-script mpi-args",
    "v/version cb/check-build disable-cache verbose gloo mpi jsrun tcp help autotune timeline-mark-cycles",
    single_dash=True,
    greedy=True,
)
TORCHPACK = syntax(
    "np/num-proc nproc/num-proc num-proc H/hosts hosts hostfile", "v/verbose verbose help", single_dash=True
)


class Horovod(Launcher):
    """horovodrun, or `torchpack dist-run`; `kind` tells them apart."""

    @property
    def processes_per_task(self) -> int | None:
        hosts = self.hostfile
        elastic = self.setting("host-discovery-script", "min-np", "max-np") is not None
        if not self.certain or elastic or self.config_file is not None or hosts is not None:
            return None
        total = self.total_processes
        return None if total is None else total.number

    @property
    def total_processes(self) -> Setting | None:
        return self.setting("num-proc")

    @property
    def hostfile(self) -> Setting | None:
        return self.setting("hostfile", "hosts")

    @property
    def config_file(self) -> Setting | None:
        return self.setting("config-file")


def horovodrun(call: Call) -> Launcher:
    return Horovod("horovod", call, call.read(SYNTAX), program_kind="command")


def torchpack(call: Call) -> Launcher | None:
    """The launcher of `torchpack dist-run`; None for other subcommands."""
    if call.verb != "dist-run":
        return None
    run = call.subcommand()
    return Horovod("torchpack", run, run.read(TORCHPACK), program_kind="command")
