"""A controller alone, whose nodes never answer: what it makes of a job when it is submitted."""

from __future__ import annotations

import socket

from sbatchlint.site.collecting import Output, profile_of
from sbatchlint.site.model import Profile

from .local_slurm import ANCHOR, CONFIGURATION, CONTROLLER, START_SECONDS, LocalSlurm, Unavailable, _wait_until

COMMANDS = (
    "scontrol show config",
    "scontrol --all show partition",
    "scontrol --all show node",
    "scontrol show licenses",
)
NODES = [f"{letter}{number}" for letter in "csgb" for number in range(1, 5)]


class SiteSlurm(LocalSlurm):
    """A cluster as lines of slurm.conf describe it, with nodes c1 to c4, s1 to s4 and so on, as far as they say."""

    def __init__(self, lines: str) -> None:
        super().__init__(nodes=0)
        self.lines = lines

    def start(self) -> None:
        """Returns when the controller answers. Raises Unavailable."""
        for name in ("etc", "log", "munge", "run", "spool", "state", "work"):
            (self.root / name).mkdir()
        self._key()
        (self.root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {CONTROLLER} {' '.join(NODES)}\n")
        folder = self.root / "munge" / CONTROLLER
        folder.mkdir()
        self._configure()
        self._run_daemon(f"munged.{CONTROLLER}", self._in_namespace(
            CONTROLLER, self.programs["munged"], "--foreground", f"--socket={folder}/socket",
            f"--key-file={self.root}/key", f"--seed-file={folder}/seed", f"--pid-file={folder}/pid",
        ))  # fmt: skip
        _wait_until(lambda: (folder / "socket").exists(), 5)
        self._run_daemon(CONTROLLER, self._in_namespace(CONTROLLER, self.programs["slurmctld"], "-D"))
        self.daemons[CONTROLLER] = self.processes[-1]
        if not _wait_until(lambda: self._is_up() or self._dead(), START_SECONDS) or self._dead():
            raise Unavailable(f"the controller did not come up: {self._last_words()}")

    def _is_up(self) -> bool:
        return " UP" in self.client("scontrol", "ping").stdout

    def _configure(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        own = {line.partition("=")[0] for line in self.lines.splitlines()}
        kept = [each for each in CONFIGURATION.splitlines() if each.partition("=")[0] not in {*own, "PartitionName"}]
        text = "\n".join([*kept, "SlurmdTimeout=0", self.lines]).format(
            root=self.root, host=CONTROLLER, port=port, controller=CONTROLLER, anchor=ANCHOR, address="127.0.0.1"
        )
        folder = self.root / "etc" / CONTROLLER
        folder.mkdir()
        (folder / "slurm.conf").write_text(text)
        (folder / "gres.conf").write_text("")
        (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n" if self.version >= "24" else "")

    def profile(self) -> Profile:
        """What `sbatchlint site` makes of it."""
        return profile_of(Output(each, self.client(*each.split()).stdout) for each in COMMANDS)
