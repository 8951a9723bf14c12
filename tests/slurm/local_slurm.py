"""A private Slurm of two fake GPU nodes on this machine, for as long as a test run lasts.

It runs the controller, two slurmds and a munged for each of them, out of one temporary folder and on free ports of the
loopback interface, so that several may run at once. Every daemon has a UTS, mount and PID namespace of its own:
`hostname` says node1 and node2 there, /etc/hosts knows these names, and killing a namespace's first process ends all
that ran on that node. That needs root. GPUs are links to /dev/null; there are no cgroups, no accounting and no SPANK
plugins, so that nothing is bound and pyxis options are unknown.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import NamedTuple

NODES, CPUS, GPUS = 2, 64, 8
CONTROLLER = "controller"
HOSTS = (CONTROLLER, *(f"node{number}" for number in range(1, NODES + 1)))
PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel", "sinfo", "unshare", "mount")
FINISHED = re.compile("BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|TIMEOUT")
START_SECONDS, COMMAND_SECONDS, JOB_SECONDS = 40.0, 20.0, 90.0
# Jobs at a time: the controller starts jobs once a second, however many wait.
AHEAD = 8

CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={controller}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/{host}/socket
DebugFlags=NO_CONF_HASH
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd.%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
PropagateResourceLimits=NONE
ReturnToService=2
KillWait=3
MinJobAge=3600
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=2000
SlurmdParameters=config_overrides
GresTypes=gpu
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Unavailable(Exception):
    """Why there can be no Slurm here."""


class Outcome(NamedTuple):
    """A job that has ended: its state (`COMPLETED`), `code:signal`, its output, and what sbatch said."""

    state: str
    exit_code: str
    output: str
    messages: str


class Verdict(NamedTuple):
    """What `sbatch --test-only` thinks of a script."""

    accepted: bool
    messages: str


class LocalSlurm:
    """One cluster; `start` it, and `stop` it whatever happens. `version`: the major release, such as `22.05`."""

    def __init__(self) -> None:
        self.programs = {name: _program(name) for name in PROGRAMS}
        release = subprocess.run([self.programs["slurmd"], "-V"], capture_output=True, text=True).stdout
        found = re.search(r"(\d+\.\d+)\.\d+", release)
        if found is None:
            raise Unavailable(f"slurmd -V says {release!r}")
        self.version = found.group(1)
        self.root = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.root.chmod(0o755)  # munged wants its socket to be in reach of all users
        self.work = self.root / "work"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._numbers = count(1)
        self._ahead: dict[str, Future[Outcome]] = {}
        self._pool = ThreadPoolExecutor(AHEAD)
        self._stopped = False

    # --- daemons -----------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when all nodes are idle. Raises Unavailable."""
        for name in ("etc", "gpu", "log", "munge", "run", "spool", "state", "work"):
            (self.root / name).mkdir()
        self._key()
        (self.root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {' '.join(HOSTS)}\n")
        probe = subprocess.run(self._in_namespace("probe", "true"), capture_output=True, text=True)
        if probe.returncode:
            raise Unavailable(f"namespaces are not allowed here: {probe.stderr.strip()}")
        self._configure()
        for host in HOSTS:
            # A munged of its own for each: it takes a credential just once, and srun sends one to all nodes.
            folder = self.root / "munge" / host
            folder.mkdir()
            self._run_daemon(f"munged.{host}", self._in_namespace(
                host, self.programs["munged"], "--foreground", f"--socket={folder}/socket",
                f"--key-file={self.root}/key", f"--seed-file={folder}/seed", f"--pid-file={folder}/pid",
            ))  # fmt: skip
        _wait_until(lambda: all((self.root / "munge" / host / "socket").exists() for host in HOSTS), 5)
        for host in HOSTS:
            (self.root / "spool" / host).mkdir()
            daemon = ["slurmctld", "-D"] if host == CONTROLLER else ["slurmd", "-D", "-N", host]
            self._run_daemon(host, self._in_namespace(host, self.programs[daemon[0]], *daemon[1:]))
        if not _wait_until(lambda: self._idle() or self._dead(), START_SECONDS) or self._dead():
            raise Unavailable(f"the nodes did not become idle: {self._last_words()}")

    def stop(self) -> None:
        """Kills the daemons and, with their namespaces, all jobs; removes the folder."""
        self._stopped = True
        for process in reversed(self.processes):
            process.kill()
            process.wait(10)
        self._pool.shutdown(cancel_futures=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def _key(self) -> None:
        key = self.root / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def _in_namespace(self, host: str, *argv: str) -> list[str]:
        # The shell stays as the namespace's first process, so that it reaps what jobs leave behind.
        init = 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && { "$@" & wait $!; }'
        return [self.programs["unshare"], "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                "sh", "-c", init, "sh", host, str(self.root / "etc" / "hosts"), *argv]  # fmt: skip

    def _run_daemon(self, name: str, argv: Sequence[str]) -> None:
        # They end with this process, even where it is killed.
        setpriv = shutil.which("setpriv", path=PATH)
        prefix = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        environment = {"PATH": PATH, "SLURM_CONF": str(self.root / "etc" / name / "slurm.conf")}
        with (self.root / "log" / f"{name}.err").open("wb") as log:
            self.processes.append(subprocess.Popen(
                [*prefix, *argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.root, env=environment,
                start_new_session=True,
            ))  # fmt: skip

    def _configure(self) -> None:
        sockets = [socket.socket() for _ in HOSTS]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        configuration = CONFIGURATION
        for host, port in list(zip(HOSTS, ports))[1:]:
            configuration += (
                f"NodeName={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} SocketsPerBoard=2"
                f" CoresPerSocket={CPUS // 2} RealMemory={CPUS * 8000} Gres=gpu:{GPUS}\n"
            )
        # Slurm numbers a GPU by the last digits of its file, which may be any device.
        for number in range(GPUS):
            (self.root / "gpu" / f"nvidia{number}").symlink_to("/dev/null")
        cgroup = "CgroupPlugin=disabled\n" if int(self.version.partition(".")[0]) >= 24 else ""
        for host in HOSTS:
            folder = self.root / "etc" / host
            folder.mkdir()
            (folder / "gres.conf").write_text(f"Name=gpu File={self.root}/gpu/nvidia[0-{GPUS - 1}]\n")
            (folder / "cgroup.conf").write_text(cgroup)
            text = configuration.format(root=self.root, host=host, port=ports[0], controller=CONTROLLER)
            (folder / "slurm.conf").write_text(text)

    def _idle(self) -> bool:
        states = self.client("sinfo", "--noheader", "--Node", "--format=%t").stdout.split()
        return states == ["idle"] * NODES

    def _dead(self) -> bool:
        return any(process.poll() is not None for process in self.processes)

    def _last_words(self) -> str:
        said: list[str] = []
        for log in sorted((self.root / "log").iterdir()):
            lines = log.read_text(errors="replace").strip().splitlines()
            said.extend(f"{log.name}: {line}" for line in lines[-1:])
        return "; ".join(said)

    # --- jobs --------------------------------------------------------------------------------

    def client(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a client command, without the caller's own Slurm variables, which would change what it does."""
        kept = {k: v for k, v in os.environ.items() if not re.match("S(ALLOC|BATCH|LURM|LURMD|RUN)_|CUDA_", k)}
        environment = {**kept, "SLURM_CONF": str(self.root / "etc" / CONTROLLER / "slurm.conf"), "LC_ALL": "C"}
        return subprocess.run([self.programs[program], *arguments], env=environment, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=COMMAND_SECONDS)  # fmt: skip

    def _write(self, script: str) -> Path:
        path = self.work / f"job{next(self._numbers)}.sh"
        path.write_text(script, errors="surrogateescape", newline="")
        return path

    def test(self, script: str) -> Verdict:
        """Whether sbatch would take a script."""
        done = self.client("sbatch", "--test-only", str(self._write(script)))
        return Verdict(done.returncode == 0, done.stderr)

    def run_ahead(self, scripts: Iterable[str]) -> None:
        """Begins to run scripts for which `run` will be called, several at a time."""
        for script in scripts:
            self._ahead[script] = self._pool.submit(self._run, script)

    def run(self, script: str) -> Outcome:
        """Submits a script and waits for its end. Raises RuntimeError where it is refused, or does not end."""
        ahead = self._ahead.pop(script, None)
        return self._run(script) if ahead is None else ahead.result()

    def _run(self, script: str) -> Outcome:
        path = self._write(script)
        output = path.with_suffix(".out")
        done = self.client("sbatch", "--parsable", f"--output={output}", str(path))
        if done.returncode:
            raise RuntimeError(f"not submitted: {done.stderr}")
        job = done.stdout.strip()
        record: dict[str, str] = {}

        def finished() -> bool:
            if self._stopped:
                raise RuntimeError("the cluster was stopped")
            shown = self.client("scontrol", "--oneliner", "show", "job", job).stdout
            record.update(re.findall(r"(\w+)=(\S*)", shown))
            return bool(FINISHED.match(record.get("JobState", "")))

        if not _wait_until(finished, JOB_SECONDS):
            self.client("scancel", job)
            raise RuntimeError(f"job {job} did not end: {record.get('JobState')} {record.get('Reason')}")
        text = output.read_text(errors="replace") if output.exists() else ""
        return Outcome(record["JobState"], record["ExitCode"], text, done.stderr)


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PATH}")
    if found is None:
        raise Unavailable(f"{name} is not installed (Debian, Ubuntu: apt-get install slurm-wlm munge)")
    return found


def _wait_until(ready: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
