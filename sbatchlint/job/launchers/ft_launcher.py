"""`ft_launcher` of NVIDIA's resiliency extension: torchrun with a monitor for its workers.

nvidia_resiliency_ext/fault_tolerance/launcher.py and cli_args.py: the options of torchrun and their PET_ variables,
without abbreviations; all `--ft-*` options but one take a value. The default rendezvous is c10d, no other is accepted,
and without an endpoint it meets at `--master_addr` and `--master_port`.
"""

from typing import ClassVar

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous
from sbatchlint.job.launchers.torchrun import FLAGS, VALUES, VARIABLES, Torchrun

# --ft-*, --fault-tol-* and --term-timeout take a value: `greedy` covers them.
SYNTAX = syntax(VALUES, FLAGS + " ft_ignore_missing_cfg", underscores=True, numbers=True, greedy=True)


class FtLauncher(Torchrun):
    """ft_launcher, whose kind is `torchrun`."""

    default_backend: ClassVar[str] = "c10d"

    @property
    def rendezvous(self) -> Rendezvous:
        found = super().rendezvous
        if self.standalone or found.endpoint is not None:
            return found
        return found._replace(address=self.setting("master_addr"), port=self.setting("master_port"))


def ft_launcher(call: Call) -> Launcher:
    launcher = FtLauncher("torchrun", call, call.read(SYNTAX), variables=VARIABLES)
    launcher.read_program_kind()
    return launcher
