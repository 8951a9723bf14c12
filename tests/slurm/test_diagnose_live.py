"""Scripts that are broken in a known way, run on a real Slurm, and diagnosed from the log that this leaves.

The last line of a script of `broken/` says what is to be found: `# symptom where rows`; `|` between several symptoms
(the text differs with the releases of what prints it), `-` for any; without `where` and rows these are not asked.
`before 23.02`: from this release on nothing is wrong with it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import NamedTuple

import pytest

from sbatchlint.diagnose.answers import rows_of
from sbatchlint.diagnose.run import judged
from sbatchlint.settings import Overrides

from .conftest import selected
from .local_slurm import LocalSlurm, Outcome, Unavailable

SCRIPTS = sorted((Path(__file__).parent / "broken").glob("*.sbatch"), key=lambda path: path.name)
EXPECTED = re.compile(r"\n# (?P<symptoms>\S+)(?: (?P<where>[a-z]+))?(?P<rows>(?: \d+)*)(?: before (?P<before>\S+))?\n$")


# What jobs print that go well all the same: warnings of real programs, and failures that the script deals with.
WORK = 'for step in $(seq 90); do echo "step $step loss 0.$step"; done\n'
NOISY = {
    "a warning of Python": "srun python3 -W always -c 'import warnings; warnings.warn(\"the index is deprecated\")'",
    "an exception that is caught": """\
srun python3 -c 'import traceback
try: int("x")
except ValueError: traceback.print_exc()'
""",
    "an exception in a destructor": """\
srun python3 -c 'class Rows:
    def __del__(self): raise RuntimeError("closed")
rows = Rows(); del rows; print("fine")'
""",
    "a logger's error": "srun python3 -c 'import logging; logging.error(\"batch 3 has no labels, skipped\")'",
    "a process pool that is told to end": "sleep 30 &\nkill $!\nwait $! || true",
    "a command that is asked for": "command -v nvidia-smi || echo 'no GPU: using the CPU'",
    "a program that is not there": "nvidia-smi || true",
    "a module system that is not there": "module load gcc 2>/dev/null || true",
    "a folder that is there": "mkdir logs-$SLURM_JOB_ID; mkdir logs-$SLURM_JOB_ID || true",
    "a file that is not there": "rm old-$SLURM_JOB_ID.ckpt || true",
    "a checkpoint that is not there": "cp latest-$SLURM_JOB_ID.ckpt now.ckpt || echo 'starting from scratch'",
    "a server that does not answer": "curl -sS --max-time 1 http://127.0.0.1:1/ || echo 'offline'",
    "a compiler's warnings": (
        "printf 'int main(void) { int rows; return 0 * rows; }\\n' > w-$SLURM_JOB_ID.c\n"
        "gcc -Wall -Wextra w-$SLURM_JOB_ID.c -o w-$SLURM_JOB_ID"
    ),
    "a test that is expected to fail": """\
python3 -m unittest -v 2>&1 <<< '' || true
echo 'test_errors (t.Rows) ... expected failure'
""",
    "a locale that is not there": "LC_ALL=xx_YY.UTF-8 perl -e 'print \"rows\\n\"'",
    "leading names in an archive": "tar -cf all-$SLURM_JOB_ID.tar /etc/hostname",
    "tasks per node that srun cannot have": "srun --ntasks=1 --ntasks-per-node=3 hostname || true",
    "steps that wait": "srun --exact -n1 sleep 1 &\nsrun --exact -n1 sleep 1 &\nwait",
    "a progress bar": 'srun python3 -c \'for n in range(40): print(f"\\r{n}/40 failed: 0, errors: 0", end="")\'',
    "a time limit of a program": "timeout 1 sleep 5 || echo 'sleep was too slow'",
    "colours, and no errors": "printf '\\033[32m0 errors\\033[0m, \\033[1m0 failed\\033[0m\\n'",
}
JOBS = {name: f"#!/bin/bash\n#SBATCH --ntasks=1\n{body.rstrip()}\n{WORK}" for name, body in NOISY.items()}


# --- jobs that something befalls, on a cluster of their own ---------------------------------------

# A node is lost after 6 s without an answer, memory is polled, and a job that is requeued may start at once.
SETTINGS = """\
SlurmdTimeout=6
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill
JobAcctGatherFrequency=1
AuthInfo=socket={root}/munge/{host}/socket,cred_expire=5
"""
LAUNCHERS = Path(os.environ.get("SBATCHLINT_LAUNCHERS", Path(sys.executable).parent.parent)) / "bin"
WAIT = "srun sh -c 'echo begin; sleep 80'\n"
GREEDY = "python3 -c 'import time; rows = bytearray(300 << 20); time.sleep(30)'\n"


def _time_is_up(cluster: LocalSlurm, job: str) -> None:
    cluster.client("scontrol", "update", f"JobId={job}", "EndTime=now+1")


def _requeued(cluster: LocalSlurm, job: str) -> None:
    cluster.client("scontrol", "requeue", job)


BOTH_RUN = Barrier(2)


def _node_lost(cluster: LocalSlurm, job: str) -> None:
    try:
        last = BOTH_RUN.wait(20) == 0
    except BrokenBarrierError:  # only one of the tests was selected
        last = True
    if last:
        cluster.lose("node3")


class Mishap(NamedTuple):
    """The lines of a job, and what is to be found: one of these symptoms, where it lies, and rows of the script.

    `befalls`: what is done to the job as soon as it has printed something. `needs`: a program that must be there.
    """

    lines: str
    symptoms: str
    where: str
    rows: tuple[int, ...] = ()
    befalls: Callable[[LocalSlurm, str], None] | None = None
    needs: str = ""


MISHAPS = {
    "its time is up": Mishap(f"#SBATCH --time=00:01:00\n{WAIT}", "time-limit", "script", (2,), _time_is_up),
    "the time of the partition is up": Mishap("echo begin\nsleep 80\n", "time-limit", "script", (), _time_is_up),
    "requeued, and not made for it": Mishap(
        f"#SBATCH --requeue\nset -e\nmkdir results-$SLURM_JOB_ID\n{WAIT}", "failure-words", "code", (4,), _requeued
    ),
    "requeued into the same log": Mishap(
        f"#SBATCH --requeue --open-mode=append\nset -e\nmkdir results-$SLURM_JOB_ID\n{WAIT}",
        "failure-words", "code", (4,), _requeued,
    ),
    "a node is lost": Mishap(
        f"#SBATCH --nodes=2 --nodelist=node1,node3 --no-requeue\n{WAIT}",
        "node-failed|node-not-answering", "cluster", (), _node_lost,
    ),
    "a node is lost, and the job requeued": Mishap(
        f"#SBATCH --nodes=2-3 --requeue --open-mode=append\nmkdir results-$SLURM_JOB_ID || exit 1\n{WAIT}",
        "node-failed|node-not-answering", "cluster", (), _node_lost,
    ),
    "a step takes more memory than it has": Mishap(
        f"#SBATCH --mem=60M\nsrun {GREEDY}exit 1\n", "host-oom", "script", (2,)
    ),
    "the script takes more memory than it has": Mishap(f"#SBATCH --mem=60M\n{GREEDY}", "host-oom", "script", (2,)),
    "more processes than slots": Mishap(
        "#SBATCH --ntasks=2\nmpirun --allow-run-as-root -np 4 hostname\n", "mpi-slots", "script", (3,), needs="mpirun"
    ),
    "one worker of torchrun fails": Mishap(
        "#SBATCH --ntasks=1\nsrun torchrun --nproc-per-node=2 --no-python python3 -c '\nimport os, time\n"
        "if os.environ[\"RANK\"] == \"1\":\n    raise ValueError(\"expected 4 columns, got 3\")\ntime.sleep(9)'\n",
        "python-exception", "code", needs="torchrun",
    ),
    "torchrun waits for a node that never comes": Mishap(
        "#SBATCH --ntasks=1\nsrun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-id=$RANDOM$RANDOM "
        "--rdzv-endpoint=localhost:29871 --rdzv-conf=join_timeout=2 --no-python hostname\n",
        "-", "script", (3,), needs="torchrun",
    ),
    "an option that torchrun has not": Mishap(
        "#SBATCH --ntasks=1\nsrun torchrun --procs-per-node=2 --no-python hostname\n", "-", "script", (3,),
        needs="torchrun",
    ),
    "accelerate starts a program that is not there": Mishap(
        "#SBATCH --ntasks=1\naccelerate launch --cpu --num_processes=2 train/all.py\n", "file-not-there", "submission",
        needs="accelerate",
    ),
}  # fmt: skip


def _there(mishap: Mishap) -> bool:
    return not mishap.needs or shutil.which(mishap.needs) is not None or (LAUNCHERS / mishap.needs).exists()


@pytest.fixture(scope="module")
def befallen(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Outcome]]]:
    """What comes of each job; some take half a minute until Slurm looks at the clock, or misses a node."""
    wanted = {name: MISHAPS[name] for name in selected(request, "mishap") if _there(MISHAPS[name])}
    if not wanted:
        yield {}
        return
    try:
        own = LocalSlurm(os.environ.get("SBATCHLINT_SLURM_PREFIX") or None, nodes=3, settings=SETTINGS)
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    own.path = f"{LAUNCHERS}{os.pathsep}{own.path}"
    try:
        try:
            own.start()
        except Unavailable as error:
            pytest.skip(f"no Slurm: {error}")
        yield {
            name: own.run_through(
                f"#!/bin/bash\n{one.lines}", lambda job, one=one: one.befalls(own, job) if one.befalls else None
            )
            for name, one in wanted.items()
        }
    finally:
        own.stop()


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, slurm: LocalSlurm, befallen: dict[str, Future[Outcome]]
) -> Iterator[LocalSlurm]:
    slurm.run_ahead(path.read_text() for path in selected(request, "path"))
    slurm.run_ahead(JOBS[name] for name in selected(request, "name"))
    yield slurm


@pytest.mark.parametrize("name", NOISY)
def test_a_noisy_job_that_goes_well(cluster: LocalSlurm, name: str, tmp_path: Path) -> None:
    outcome = cluster.run(JOBS[name])
    assert outcome.state == "COMPLETED", outcome
    script, log = tmp_path / "job.sh", tmp_path / "job.log"
    script.write_text(JOBS[name])
    log.write_text(outcome.output)
    for path in (None, str(script)):
        run = judged([str(log)], path, options=Overrides(isolated=True), searching=False)
        assert not run.diagnosis.answers, (run.diagnosis.answers[0], outcome.output)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_log_of_a_broken_script(cluster: LocalSlurm, path: Path, tmp_path: Path) -> None:
    outcome = cluster.run(path.read_text())
    log = tmp_path / "job.log"
    log.write_text(outcome.output)
    record = tmp_path / "sacct.txt"
    record.write_text(f"JobID|State|ExitCode|Reason\n7|{outcome.state}|{outcome.exit_code}|None\n")
    run = judged(
        [str(log)], str(path), None if outcome.state == "COMPLETED" else str(record), options=Overrides(isolated=True)
    )
    expected = EXPECTED.search(path.read_text())
    assert expected is not None
    assert bool(run.diagnosis.answers) is (expected["before"] is None or cluster.version < expected["before"]), outcome
    if not run.diagnosis.answers:
        return
    best = run.diagnosis.answers[0]
    assert expected["symptoms"] == "-" or best.event.symptom.id in expected["symptoms"].split("|"), outcome.output
    assert expected["where"] in (None, best.where)
    assert {int(row) for row in expected["rows"].split()} <= set(rows_of(best, run.source))


@pytest.mark.parametrize("mishap", MISHAPS)
def test_the_log_of_a_job_that_something_befell(
    befallen: dict[str, Future[Outcome]], mishap: str, tmp_path: Path
) -> None:
    wanted = MISHAPS[mishap]
    if mishap not in befallen:
        pytest.skip(f"{wanted.needs} is not installed")
    outcome = befallen[mishap].result()
    script, log, record = tmp_path / "job.sh", tmp_path / "job.log", tmp_path / "sacct.txt"
    script.write_text(f"#!/bin/bash\n{wanted.lines}")
    log.write_text(outcome.output)
    record.write_text(f"JobID|State|ExitCode|Reason\n7|{outcome.state}|{outcome.exit_code}|None\n")
    run = judged([str(log)], str(script), str(record), options=Overrides(isolated=True))
    assert run.diagnosis.answers, outcome
    best = run.diagnosis.answers[0]
    found = best.event.symptom.id
    assert wanted.symptoms == "-" or found in wanted.symptoms.split("|"), (found, outcome)
    assert best.where == wanted.where, (best.event.symptom.id, best.cause.key, outcome)
    assert set(wanted.rows) <= set(rows_of(best, run.source)), (best, outcome)
