"""What a run does when it is ended, when a process of it dies, and when its output goes nowhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = "#!/bin/bash\n#SBATCH --ntaks=2\nsrun ./a.out\n"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}
# Runs `sbatchlint` with a function of its own for each file, which ends where the name says so.
ODD = """\
import os, sys
from sbatchlint.cli import command, process
def odd(script, resolver, mode, recording=False, usual=process.process):
    name = os.path.basename(script[0])
    if name.startswith("killed"):
        os.kill(os.getpid(), 9)
    if name.startswith("exits"):
        os._exit(7)
    if name.startswith("slow"):
        while True:
            pass
    return usual(script, resolver, mode, recording)
process.process = odd
def lacking(script, resolver, mode, recording, usual=process._process):
    if script[0].startswith("large"):
        raise MemoryError
    return usual(script, resolver, mode, recording)
process._process = lacking
sys.exit(command())
"""


def scripts(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text(SCRIPT)


def test_a_worker_that_dies_costs_its_file_alone(tmp_path: Path) -> None:
    good = [f"{number:02}.sbatch" for number in range(20)]
    scripts(tmp_path, *good, "exits.sbatch", "killed-1.sbatch", "killed-2.sbatch", "large.sbatch")
    command = [sys.executable, "-c", ODD, "--jobs", "2", "--isolated", "--output-format=concise", "."]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert sorted(done.stderr.splitlines()) == [
        "error: cannot lint exits.sbatch: the process that read it ended with exit code 7",
        "error: cannot lint killed-1.sbatch: the process that read it was killed, perhaps for lack of memory",
        "error: cannot lint killed-2.sbatch: the process that read it was killed, perhaps for lack of memory",
        "error: cannot lint large.sbatch: there is not enough memory",
    ]
    assert {line.partition(":")[0] for line in done.stdout.splitlines() if "SB" in line} == set(good)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(20))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_outlives_a_run(tmp_path: Path, number: signal.Signals, moment: int) -> None:
    """Ended at any moment: a second later whoever reads its output is at the end, and no process is left."""
    scripts(tmp_path, *(f"{index}.sbatch" for index in range(40)), "slow-1.sbatch", "slow-2.sbatch")
    process = subprocess.Popen(
        [sys.executable, "-c", ODD, "--jobs", "3", "--isolated", str(tmp_path)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    time.sleep(0.1 * moment)
    process.send_signal(number)
    begun = time.monotonic()
    process.communicate(timeout=30)
    while is_left(process.pid) and time.monotonic() < begun + 30:
        time.sleep(0.05)
    assert time.monotonic() - begun < 5  # a second, and what a busy machine adds
    assert process.returncode == -number


def is_left(session: int) -> bool:
    """Whether a process of a session lives."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            return True
    return False
