"""A controller alone, whose nodes never answer: what it makes of a job when it is submitted.

With `accounts` it has a slurmdbd and a database of its own (Debian: slurmdbd, mariadb-server), and so users, accounts
and QOS with their limits.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Sequence

from sbatchlint.site import collecting
from sbatchlint.site.collecting import Output, profile_of
from sbatchlint.site.model import Profile

from .local_slurm import ANCHOR, CONFIGURATION, CONTROLLER, START_SECONDS, LocalSlurm, Unavailable, _wait_until

COMMANDS = (
    "scontrol show config",
    "scontrol --all show partition",
    "scontrol --all show node",
    "scontrol show licenses",
)
OF_ACCOUNTS = (
    *(each for each in collecting.COMMANDS if each.startswith("sacctmgr")),
    collecting.USER_COMMANDS[0],
    "id daemon",
)
NODES = [f"{letter}{number}" for letter in "csgb" for number in range(1, 5)]
# Who submits where there are accounts: somebody who is not root.
SOMEBODY = 1  # Debian: daemon; 26.05 does not find the uid of nobody
DATABASE = """\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/{host}/socket
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=root
StorageLoc=slurm
PidFile={root}/run/slurmdbd.pid
LogFile={root}/log/slurmdbd.log
"""
ACCOUNTED = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={root}/munge/{host}/socket
"""


class SiteSlurm(LocalSlurm):
    """A cluster as lines of slurm.conf describe it, with nodes c1 to c4, s1 to s4 and so on, as far as they say.

    `accounts`: what sacctmgr is told before the controller starts, a line for each command; there is a database then.
    """

    def __init__(self, lines: str, accounts: Sequence[str] = (), prefix: str | None = None) -> None:
        self.accounts = accounts
        more = ("sacctmgr", "slurmdbd", "mariadbd", "mariadb-install-db", "setpriv") if accounts else ()
        super().__init__(prefix, nodes=0)
        self.lines = lines
        for name in more:
            found = shutil.which(name, path=self.path)
            if found is None:
                raise Unavailable(f"{name} is not installed (Debian, Ubuntu: apt-get install slurmdbd mariadb-server)")
            self.programs[name] = found
        if accounts:
            self.programs["id"] = "/usr/bin/id"
            self.as_user = [self.programs["setpriv"], f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]

    def start(self) -> None:
        """Returns when the controller answers. Raises Unavailable."""
        for name in ("etc", "log", "munge", "run", "spool", "state", "work"):
            (self.root / name).mkdir()
        self._key()
        (self.root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {CONTROLLER} {' '.join(NODES)}\n")
        folder = self.root / "munge" / CONTROLLER
        folder.mkdir()
        self.port, self.dbd_port, self.storage_port = _free_ports(3)
        self._configure()
        self._run_daemon(f"munged.{CONTROLLER}", self._in_namespace(
            CONTROLLER, self.programs["munged"], "--foreground", f"--socket={folder}/socket",
            f"--key-file={self.root}/key", f"--seed-file={folder}/seed", f"--pid-file={folder}/pid",
        ))  # fmt: skip
        _wait_until(lambda: (folder / "socket").exists(), 5)
        if self.accounts:
            self._start_accounting()
        self._start_controller()

    def _start_controller(self) -> None:
        self._run_daemon(CONTROLLER, self._in_namespace(CONTROLLER, self.programs["slurmctld"], "-D"))
        self.daemons[CONTROLLER] = self.processes[-1]
        if not _wait_until(lambda: self._is_up() or self._dead(), START_SECONDS) or self._dead():
            raise Unavailable(f"the controller did not come up: {self._last_words()}")

    def _start_accounting(self) -> None:
        data, empty = self.root / "database", self.root / "etc" / "my.cnf"
        empty.write_text("")
        data.mkdir()
        options = [f"--defaults-file={empty}", f"--datadir={data}", "--user=root"]
        make = [
            self.programs["mariadb-install-db"],
            *options,
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ]
        made = subprocess.run(make, capture_output=True, text=True)
        if made.returncode:
            raise Unavailable(f"no database: {made.stderr.strip()[-300:]}")
        socket_path = self.root / "run" / "database"
        self._run_daemon("database", [
            self.programs["mariadbd"], *options, f"--socket={socket_path}", f"--port={self.storage_port}",
            "--bind-address=127.0.0.1", "--skip-grant-tables", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0",
        ])  # fmt: skip
        if not _wait_until(lambda: socket_path.exists() or self._dead(), START_SECONDS) or self._dead():
            raise Unavailable(f"the database did not come up: {self._last_words()}")
        # slurmdbd reads the slurmdbd.conf that stands beside the slurm.conf of its environment.
        self._run_daemon(CONTROLLER, self._in_namespace(CONTROLLER, self.programs["slurmdbd"], "-D"))
        if not _wait_until(lambda: self._has_database() or self._dead(), START_SECONDS) or self._dead():
            raise Unavailable(f"slurmdbd did not come up: {self._last_words()}")
        # The database knows of GPUs when a controller has told it, and a controller of QOS when they are there.
        self._accounting("add cluster tests")
        path = self.root / "etc" / CONTROLLER / "slurm.conf"
        text = path.read_text()
        path.write_text(re.sub(r" (?:\w*Qos|QOS)=\S+", "", text))
        self._start_controller()
        for line in self.accounts:
            self._accounting(line)
        self.lose(CONTROLLER)
        self.processes.pop()
        shutil.rmtree(self.root / "state")  # of a controller that was killed; 26.05 wants all of it or nothing
        (self.root / "state").mkdir()
        path.write_text(text)

    def _has_database(self) -> bool:
        return self.client("sacctmgr", "--noheader", "show", "cluster").returncode == 0

    def _accounting(self, line: str) -> None:
        done = self.client("sacctmgr", "--immediate", *line.split())
        if done.returncode:
            raise RuntimeError(f"sacctmgr {line}: {done.stdout}{done.stderr}")

    def _is_up(self) -> bool:
        return " UP" in self.client("scontrol", "ping").stdout

    def _configure(self) -> None:
        more = ACCOUNTED.replace("{port}", str(self.dbd_port)) if self.accounts else ""
        lines = f"{more}{self.lines}"
        own = {line.partition("=")[0] for line in lines.splitlines()}
        kept = [each for each in CONFIGURATION.splitlines() if each.partition("=")[0] not in {*own, "PartitionName"}]
        text = "\n".join([*kept, "SlurmdTimeout=0", lines]).format(
            root=self.root, host=CONTROLLER, port=self.port, controller=CONTROLLER, anchor=ANCHOR, address="127.0.0.1"
        )
        folder = self.root / "etc" / CONTROLLER
        folder.mkdir()
        (folder / "slurm.conf").write_text(text)
        (folder / "gres.conf").write_text("")
        (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n" if self.version >= "24" else "")
        database = folder / "slurmdbd.conf"
        database.touch(mode=0o600)  # slurmdbd wants it to be its own alone
        database.write_text(DATABASE.format(
            root=self.root, host=CONTROLLER, port=self.dbd_port, storage=self.storage_port
        ))  # fmt: skip

    def outputs(self) -> list[Output]:
        """What the commands print of which a profile is made."""
        commands = (*COMMANDS, *(OF_ACCOUNTS if self.accounts else ()))
        return [Output(each, self.client(*each.split()).stdout) for each in commands]

    def profile(self) -> Profile:
        """What `sbatchlint site` makes of it."""
        return profile_of(self.outputs())


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
