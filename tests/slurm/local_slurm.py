"""A private Slurm of a few fake GPU nodes on this machine, for as long as a test run lasts.

It runs the controller, a slurmd for each node, and a munged for each of them, out of one temporary folder and on free
ports of the loopback interface, so that several may run at once. Every daemon has a UTS, mount and PID namespace of its
own: `hostname` says node1 and node2 there, /etc/hosts knows these names, and killing a namespace's first process ends
all that ran on that node. That needs root. GPUs are links to /dev/null; there are no cgroups, no accounting and no
SPANK plugins, so that nothing is bound and pyxis options are unknown.

The Slurm is the one in PATH, or one that was built from source and installed under a folder (`prefix`). Job `ANCHOR`,
an array of 100 tasks, is held as long as the cluster lives, so that others may depend on it.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO, NamedTuple

from .networks import Networks
from .records import component, normal, parse_jobs

NODES, CPUS, GPUS = 2, 64, 8
FEATURES = ("blue", "green", "rack1")
CONTROLLER = "controller"
PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
PROGRAMS = (
    "munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel", "sinfo", "squeue", "unshare", "mount",
)  # fmt: skip
FINISHED = re.compile("BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|TIMEOUT")
GIVEN_UP = re.compile("aborted before step completely launched|Job credential revoked")
START_SECONDS, COMMAND_SECONDS, JOB_SECONDS = 40.0, 20.0, 240.0
# How old the states of jobs may be that are looked at to see whether one has ended.
STATES_SECONDS = 0.5
# Jobs at a time: the controller starts jobs once a second, however many wait.
AHEAD = 12
# The number of the first job: too long to be met by chance in another text.
ANCHOR = 4_000_001
# How many jobs are submitted before they are looked at, and how long sbatch may stay after it has named the job.
BATCH, LINGER_SECONDS = 500, 1.0
# What sbatch prints with --parsable: the job's number, and perhaps its cluster.
JOB_NUMBER = re.compile(rb"(\d+)(?:;\S*)?\s")

CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={controller}({address})
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
MaxJobCount=200000
MaxArraySize=200000
FirstJobId={anchor}
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
PARTITION = "PartitionName={name} Nodes=ALL MaxTime=INFINITE State=UP\n"


class Unavailable(Exception):
    """Why there can be no Slurm here."""


class Outcome(NamedTuple):
    """A job that has ended: its number, its state (`COMPLETED`), `code:signal`, its output, and what sbatch said."""

    job: str
    state: str
    exit_code: str
    output: str
    messages: str


class Verdict(NamedTuple):
    """What `sbatch --test-only` thinks of a script."""

    accepted: bool
    messages: str


class Held(NamedTuple):
    """What came of submitting a script with `--hold`.

    `accepted`: there was a job; sbatch submits none where it only tests or explains (`--test-only`, `--hint=help`).
    `messages`: what sbatch said, without `sbatch: ` before each line. `jobs`: the fields that scontrol shows, of each
    component. The folder of the script, or where the job would work, is cut off from paths, and the job's number in the
    names of its files is `%j` again.
    """

    accepted: bool
    messages: str
    jobs: tuple[Mapping[str, str], ...]


class LocalSlurm:
    """One cluster; `start` it, and `stop` it whatever happens. `version`: the major release, such as `22.05`.

    `prefix`: where a Slurm of one's own is installed; the one in PATH without it. `partitions`: the partitions that it
    has beside `batch`, which is the default. `features`: what all nodes have beside FEATURES.
    `nodes`: how many there are. `apart`: each node has a network and a /dev/shm of its own, and a job, whose memory is
    all that its nodes have, never shares them with another; without it all share those of this machine.
    `settings`: further lines of slurm.conf.
    """

    def __init__(
        self,
        prefix: str | os.PathLike[str] | None = None,
        partitions: Iterable[str] = (),
        features: Iterable[str] = (),
        nodes: int = NODES,
        apart: bool = False,
        settings: str = "",
    ) -> None:
        self.nodes = nodes
        self.settings = settings
        self.as_user: list[str] = []  # the command that runs sbatch as somebody else
        self.apart = apart
        self.networks: Networks | None = None
        self.hosts = (CONTROLLER, *(f"node{number}" for number in range(1, nodes + 1)))
        self.partitions = sorted(set(partitions) - {"batch"})
        self.features = sorted({*FEATURES, *features})
        own = [] if prefix is None else [os.path.join(prefix, "bin"), os.path.join(prefix, "sbin")]
        # Read once, by the thread that makes the cluster: pytest changes its own variables while others run.
        own_variables = re.compile("S(ALLOC|BATCH|LURM|LURMD|RUN)_|CUDA_|PYTEST_")
        self.environment = {k: v for k, v in os.environ.items() if not own_variables.match(k)}
        self.path = os.pathsep.join([*own, os.environ.get("PATH") or PATH, PATH])
        self.programs = {name: _program(name, self.path) for name in PROGRAMS}
        # Jobs with --export=NONE have the usual PATH, in which a Slurm of another release may stand.
        usual = ((own, shutil.which(name, path=PATH)) for name, own in self.programs.items())
        self.instead = [(own, other) for own, other in usual if other and other != own]
        release = subprocess.run([self.programs["slurmd"], "-V"], capture_output=True, text=True).stdout
        found = re.search(r"(\d+\.\d+)\.\d+", release)
        if found is None:
            raise Unavailable(f"slurmd -V says {release!r}")
        self.version = found.group(1)
        self.root = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.root.chmod(0o755)  # munged wants its socket to be in reach of all users
        self.work = self.root / "work"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._numbers = count(1)
        self._ahead: dict[str, Future[Outcome]] = {}
        self._pool = ThreadPoolExecutor(AHEAD)
        self._stopped = False
        self._asking = Lock()
        self._asked = 0.0
        self._states: dict[str, list[str]] = {}

    # --- daemons -----------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when all nodes are idle. Raises Unavailable."""
        for name in ("etc", "gpu", "log", "munge", "run", "spool", "state", "work"):
            (self.root / name).mkdir()
        self._key()
        hosts = f"127.0.0.1 localhost {' '.join(self.hosts)}\n"
        if self.apart:
            try:
                self.networks = Networks(self.hosts, self.path)
            except OSError as error:
                raise Unavailable(f"no networks for the nodes: {error}") from None
            hosts = self.networks.hosts_file()
        (self.root / "etc" / "hosts").write_text(hosts)
        probe = subprocess.run(self._in_namespace(CONTROLLER, "true"), capture_output=True, text=True)
        if probe.returncode:
            raise Unavailable(f"namespaces are not allowed here: {probe.stderr.strip()}")
        self._configure()
        for host in self.hosts:
            # A munged of its own for each: it takes a credential just once, and srun sends one to all nodes.
            folder = self.root / "munge" / host
            folder.mkdir()
            self._run_daemon(f"munged.{host}", self._in_namespace(
                host, self.programs["munged"], "--foreground", f"--socket={folder}/socket",
                f"--key-file={self.root}/key", f"--seed-file={folder}/seed", f"--pid-file={folder}/pid",
            ))  # fmt: skip
        _wait_until(lambda: all((self.root / "munge" / host / "socket").exists() for host in self.hosts), 5)
        for host in self.hosts:
            (self.root / "spool" / host).mkdir()
            daemon = ["slurmctld", "-D"] if host == CONTROLLER else ["slurmd", "-D", "-N", host]
            self._run_daemon(host, self._in_namespace(host, self.programs[daemon[0]], *daemon[1:]))
            self.daemons[host] = self.processes[-1]
        if not _wait_until(lambda: self._idle() or self._dead(), START_SECONDS) or self._dead():
            raise Unavailable(f"the nodes did not become idle: {self._last_words()}")
        anchor, messages = self._submit(self._write("#!/bin/sh\n#SBATCH --array=0-99\n"))
        if anchor != ANCHOR:
            raise Unavailable(f"the first job is {anchor}: {messages}")

    def stop(self) -> None:
        """Kills the daemons and, with their namespaces, all jobs; removes the folder."""
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)  # first: who asks a dead controller waits for it
        for process in reversed(self.processes):
            process.kill()
            process.wait(10)
        if self.networks is not None:
            self.networks.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def lose(self, host: str) -> None:
        """Ends a node with all that runs on it, as if its power had failed."""
        self.daemons[host].kill()
        self.daemons[host].wait(10)

    def _key(self) -> None:
        key = self.root / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def _in_namespace(self, host: str, *argv: str) -> list[str]:
        # The shell stays as the namespace's first process, so that it reaps what jobs leave behind.
        mounts = "mount -t tmpfs tmpfs /dev/shm &&" if self.apart else ""
        mounts += "".join(f"mount --bind {new} {old} &&" for new, old in self.instead)
        init = f'hostname "$1" && mount --bind "$2" /etc/hosts && {mounts} shift 2 && {{ "$@" & wait $!; }}'
        own = [self.programs["unshare"], "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
               "sh", "-c", init, "sh", host, str(self.root / "etc" / "hosts"), *argv]  # fmt: skip
        return own if self.networks is None else self.networks.enter(host, *own)

    def _run_daemon(self, name: str, argv: Sequence[str]) -> None:
        # They end with this process, even where it is killed.
        setpriv = shutil.which("setpriv", path=PATH)
        prefix = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        environment = {"PATH": self.path, "SLURM_CONF": str(self.root / "etc" / name / "slurm.conf")}
        with (self.root / "log" / f"{name}.err").open("wb") as log:
            self.processes.append(subprocess.Popen(
                [*prefix, *argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.root, env=environment,
                start_new_session=True,
            ))  # fmt: skip

    def _configure(self) -> None:
        addresses = dict.fromkeys(self.hosts, "127.0.0.1") if self.networks is None else self.networks.addresses
        sockets = [socket.socket() for _ in self.hosts]
        for other_socket in sockets:
            other_socket.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
        for other_socket in sockets:
            other_socket.close()
        # TmpFS: where each node puts the files of PMIx
        more = "TmpFS={root}/spool/%n\n" if self.apart else "DefMemPerCPU=2000\n"
        configuration = CONFIGURATION + self.settings + more
        for host, port in list(zip(self.hosts, ports))[1:]:
            configuration += (
                f"NodeName={host} NodeAddr={addresses[host]} Port={port} CPUs={CPUS} SocketsPerBoard=2"
                f" CoresPerSocket={CPUS // 2} RealMemory={CPUS * 8000} Gres=gpu:{GPUS}"
                f" Feature={','.join(self.features)}\n"
            )
        configuration += "".join(PARTITION.format(name=name) for name in self.partitions)
        # Slurm numbers a GPU by the last digits of its file, which may be any device.
        for number in range(GPUS):
            (self.root / "gpu" / f"nvidia{number}").symlink_to("/dev/null")
        cgroup = "CgroupPlugin=disabled\n" if int(self.version.partition(".")[0]) >= 24 else ""
        for host in self.hosts:
            folder = self.root / "etc" / host
            folder.mkdir()
            (folder / "gres.conf").write_text(f"Name=gpu File={self.root}/gpu/nvidia[0-{GPUS - 1}]\n")
            (folder / "cgroup.conf").write_text(cgroup)
            text = configuration.format(root=self.root, host=host, port=ports[0], controller=CONTROLLER, anchor=ANCHOR,
                                        address=addresses[CONTROLLER])  # fmt: skip
            (folder / "slurm.conf").write_text(text)

    def _idle(self) -> bool:
        states = self.client("sinfo", "--noheader", "--Node", "--partition=batch", "--format=%t").stdout.split()
        return states == ["idle"] * self.nodes

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
        argv = [self.programs[program], *arguments]
        argv = argv if self.networks is None else self.networks.enter(CONTROLLER, *argv)
        return subprocess.run(argv, env=self._environment(), cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=COMMAND_SECONDS)  # fmt: skip

    def _environment(self) -> dict[str, str]:
        own = {"SLURM_CONF": str(self.root / "etc" / CONTROLLER / "slurm.conf"), "PATH": self.path, "LC_ALL": "C"}
        return {**self.environment, **own}

    def _write(self, script: str) -> Path:
        """Every script is the `job.sh` of a folder of its own."""
        path = self.work / str(next(self._numbers)) / "job.sh"
        path.parent.mkdir()
        path.write_bytes(script.encode("utf-8", "surrogateescape"))
        return path

    def test(self, script: str) -> Verdict:
        """Whether sbatch would take a script."""
        done = self.client("sbatch", "--test-only", str(self._write(script)))
        return Verdict(done.returncode == 0, done.stderr)

    def held(self, script: str) -> Held:
        """Submits a script, looks at its job, and cancels it before it could run."""
        return self.all_held([script])[0]

    def all_held(self, scripts: Sequence[str]) -> list[Held]:
        """The same for many scripts, which are submitted several at a time. Raises RuntimeError when a job runs."""
        found: list[Held] = []
        for start in range(0, len(scripts), BATCH):
            found.extend(self._held(scripts[start : start + BATCH]))
        return found

    def delayed(self, script: str) -> Verdict:
        """Whether the controller takes a job that is not held, for later.

        It looks at a held job less closely: it takes `--nodes=0`, and does not ask whether the nodes could run it.
        """
        number, messages = self._submit(self._write(script), "--begin=now+7days")
        if number is not None:
            self.client("scancel", str(number))
        return Verdict(number is not None, messages)

    def _held(self, scripts: Sequence[str]) -> list[Held]:
        if self._dead():
            raise RuntimeError(f"the cluster has died: {self._last_words()}")
        paths = [self._write(script) for script in scripts]
        submitted = list(self._pool.map(self._submit, paths))
        numbers = {number for number, _ in submitted if number is not None}
        shown: dict[int, list[Mapping[str, str]]] = {}
        if numbers:
            for job in parse_jobs(self.client("scontrol", "show", "job").stdout):
                leader = int(job.get("HetJobId") or job.get("ArrayJobId") or job["JobId"])
                if leader in numbers:
                    shown.setdefault(leader, []).append(job)
            self.client("scancel", *map(str, sorted(numbers)))
        running = [job["JobId"] for jobs in shown.values() for job in jobs if job["JobState"] != "PENDING"]
        if running or numbers != shown.keys():
            raise RuntimeError(f"not held: {running}; not shown: {sorted(numbers - shown.keys())}")
        return [
            Held(
                number is not None,
                messages,
                tuple(normal(job, path.parent) for job in sorted(shown.get(number or 0, []), key=component)),
            )
            for path, (number, messages) in zip(paths, submitted, strict=True)
        ]

    def _submit(self, path: Path, how: str = "--hold") -> tuple[int | None, str]:
        """The job's number, None where there is no job; and what sbatch said.

        sbatch writes to a terminal, where it names the job at once: with `#SBATCH --wait` it would stay for ever.
        """
        master, terminal = pty.openpty()
        with tempfile.TemporaryFile() as said, os.fdopen(master, "rb", buffering=0) as output:
            argv = [*self.as_user, self.programs["sbatch"], "--parsable", how, path.name]
            process = subprocess.Popen(
                argv if self.networks is None else self.networks.enter(CONTROLLER, *argv),
                env=self._environment(), cwd=path.parent,
                stdin=subprocess.DEVNULL, stdout=terminal, stderr=said, close_fds=True,
            )  # fmt: skip
            os.close(terminal)
            try:
                answer = _read_terminal(output, COMMAND_SECONDS)
                try:
                    process.wait(LINGER_SECONDS)
                except subprocess.TimeoutExpired:
                    if not answer.strip():
                        raise RuntimeError(f"no answer from sbatch: {path.read_text(errors='replace')!r}") from None
            finally:
                process.kill()
                process.wait()
            said.seek(0)
            messages = re.sub("^sbatch: ", "", said.read().decode(errors="replace"), flags=re.MULTILINE)
        named = JOB_NUMBER.match(answer)
        if named is None:
            return None, messages + answer.decode(errors="replace").replace("\r\n", "\n")
        return int(named.group(1)), messages

    def run_ahead(self, scripts: Iterable[str]) -> None:
        """Begins to run scripts for which `run` will be called, several at a time."""
        for script in scripts:
            self._ahead[script] = self._pool.submit(self._run, script)

    def run(self, script: str) -> Outcome:
        """Submits a script and waits for its end. Raises RuntimeError where it is refused, or does not end.

        On a busy machine it happens that Slurm itself gives a step up while it starts: such a job runs once more. It
        and all jobs that were not begun by `run_ahead` run alone, when those that were have ended.
        """
        ahead = self._ahead.pop(script, None)
        outcome = self._run_alone(script) if ahead is None else ahead.result()
        return self._run_alone(script) if GIVEN_UP.search(outcome.output) else outcome

    def _run_alone(self, script: str) -> Outcome:
        wait(self._ahead.values())
        return self._run(script)

    def run_through(self, script: str, meanwhile: Callable[[str], object]) -> Future[Outcome]:
        """Begins to run a script; `meanwhile` is called with the job's number when the job has printed something."""
        return self._pool.submit(self._run, script, meanwhile)

    def _run(self, script: str, meanwhile: Callable[[str], object] | None = None) -> Outcome:
        path = self._write(script)
        output = path.with_suffix(".out")
        done = self.client("sbatch", "--parsable", f"--output={output}", str(path))
        if done.returncode:
            raise RuntimeError(f"not submitted: {done.stderr}")
        job = done.stdout.strip()
        record: dict[str, str] = {}
        if meanwhile is not None:
            _wait_until(lambda: output.exists() and output.stat().st_size > 0, JOB_SECONDS)
            meanwhile(job)

        def finished() -> bool:
            if self._stopped:
                raise RuntimeError("the cluster was stopped")
            states = self._states_of(job)
            if not states or not all(map(FINISHED.match, states)):
                return False
            shown = self.client("scontrol", "--oneliner", "show", "job", job).stdout
            record.update(re.findall(r"(\w+)=(\S*)", shown))
            return bool(FINISHED.match(record.get("JobState", "")))

        if not _wait_until(finished, JOB_SECONDS):
            self.client("scancel", job)
            raise RuntimeError(f"job {job} did not end: {record.get('JobState')} {record.get('Reason')}")
        text = output.read_text(errors="replace") if output.exists() else ""
        return Outcome(job, record["JobState"], record["ExitCode"], text, done.stderr)

    def _states_of(self, job: str) -> list[str]:
        """The states of a job's parts, none where it is not known yet: all that wait for jobs look at the same list."""
        with self._asking:
            if time.monotonic() > self._asked + STATES_SECONDS:
                shown = self.client("squeue", "--noheader", "--states=all", "--format=%i %T").stdout
                self._states = {}
                for number, state in re.findall(r"(?m)^(\d+)\S* (\w+)", shown):
                    self._states.setdefault(number, []).append(state)
                self._asked = time.monotonic()
            return self._states.get(job, [])


def _read_terminal(output: IO[bytes], seconds: float) -> bytes:
    """What sbatch writes, until it has named a job or ends."""
    deadline, answer = time.monotonic() + seconds, b""
    while JOB_NUMBER.match(answer) is None and time.monotonic() < deadline:
        if select.select([output], [], [], 0.5)[0]:
            try:
                part = output.read(4096)
            except OSError:  # Linux says so when the other side is closed
                break
            if not part:
                break
            answer += part
    return answer


def _program(name: str, path: str) -> str:
    found = shutil.which(name, path=path)
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
