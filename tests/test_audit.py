"""`audit` and `merge`: the same sums by one run, by several, and by one that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import ROOT
from sbatchlint.cli.audit import _array_tasks, _gpu_hours

GOOD = "#!/bin/bash\n#SBATCH -p gpu --nodes=2 --gpus-per-node=4 --time=1:00:00 --array=0-9%2\nsrun ./a.out\n"
BAD = "#!/bin/bash\n#SBATCH --gpus=3 --time=2:00:00 --ntaks=4\nsrun ./a.out\n"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number in range(40):
        folder = tmp_path / "jobs" / str(number % 7)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.sh").write_text(BAD if number % 4 == 0 else GOOD)
    return tmp_path


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sbatchlint", *words], cwd=folder, env={**ENVIRONMENT, **more}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def report(folder: Path, *words: str) -> dict[str, object]:
    done = run(folder, *words, "--output-format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_findings_by_check_user_and_partition(tree: Path) -> None:
    found = report(tree, "audit", "--isolated", "jobs")
    assert (found["scripts"], found["with_errors"], found["gpu_hours_unknown"]) == (40, 10, 0)
    assert (found["gpu_hours"], found["gpu_hours_at_stake"]) == (30 * 80 + 10 * 6, 60)
    checks, partitions, users = found["checks"], found["partitions"], found["users"]
    assert isinstance(checks, dict) and isinstance(partitions, dict) and isinstance(users, dict)
    assert checks["SB111 unknown-option"]["scripts"] == 10
    assert {name: each["scripts"] for name, each in partitions.items()} == {"gpu": 30, "(default)": 10}
    assert sum(each["scripts"] for each in users.values()) == 40


@pytest.mark.slow
def test_shards_and_processes_have_the_same_sums(tree: Path) -> None:
    whole = report(tree, "audit", "--isolated", "--jobs", "2", "jobs")
    parts = [f"{number}.jsonl" for number in range(1, 4)]
    for number, part in enumerate(parts, 1):
        report(tree, "audit", "--isolated", "--shard", f"{number}/3", "--state", part, "jobs")
    assert report(tree, "merge", *parts) == whole
    assert report(tree, "merge", *parts, parts[0]) == whole  # a script counts once


@pytest.mark.slow
def test_a_killed_run_goes_on(tree: Path) -> None:
    whole = report(tree, "audit", "--isolated", "jobs")
    process = subprocess.Popen(
        [sys.executable, "-m", "sbatchlint", "audit", "--isolated", "--jobs", "1", "--state", "state", "jobs"],
        cwd=tree, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    state, deadline = tree / "state", time.monotonic() + 60
    while time.monotonic() < deadline and (not state.exists() or state.read_bytes().count(b"\n") < 3):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    with state.open("a") as file:
        file.write('{"path": "jobs/0/0.sh", "us')  # as if it had been killed while it wrote
    before = state.read_text().splitlines()[:3]
    assert report(tree, "audit", "--isolated", "--state", "state", "jobs") == whole
    rows = state.read_text().splitlines()
    assert (rows[:3], len(rows), len({json.loads(row)["path"] for row in rows})) == (before, 40, 40)


def test_the_queue(tree: Path) -> None:
    programs = tree / "bin"
    programs.mkdir()
    (tree / "job.sh").write_text(BAD)
    for name, text in {
        "squeue": "printf '7|ada|gpu\\n7|ada|gpu\\n8|ben|cpu\\n9|ben|cpu\\n'",
        "scontrol": f"case $3 in 9) exit 1 ;; *) cat {tree}/job.sh ;; esac",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    done = run(tree, "audit", "--queue", "--isolated", "--output-format", "json", PATH=f"{programs}:/usr/bin:/bin")
    found = json.loads(done.stdout)
    assert {name: each["scripts"] for name, each in found["users"].items()} == {"ada": 1, "ben": 1}
    assert found["partitions"].keys() == {"gpu", "cpu"}
    missing = run(tree, "audit", "--queue", PATH=str(tree))
    assert (missing.returncode, missing.stderr) == (2, "error: cannot run squeue: no such file or directory\n")


@pytest.mark.parametrize(
    "words",
    [
        ["audit"], ["audit", "--queue", "jobs"], ["audit", "--shard", "5/4", "jobs"], ["merge", "no"],
        ["audit", "jobs", "nothere.sh"],
    ],
)  # fmt: skip
def test_wrong_usage(tree: Path, words: list[str]) -> None:
    assert run(tree, *words).returncode == 2


def test_what_is_no_state_is_left_alone(tree: Path) -> None:
    (tree / "notes").write_text("mine\n")
    assert run(tree, "audit", "--state", "notes", "jobs").returncode == 2
    assert run(tree, "merge", "notes").returncode == 2
    assert (tree / "notes").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("text", "number"),
    [(None, 1), ("1-10", 10), ("0-9:3%2", 4), ("1,3,5-6", 4), ("7", 1), ("1-x", None), ("5-1", None), ("1-4:0", None)],
)
def test_tasks_of_an_array(text: str | None, number: int | None) -> None:
    assert _array_tasks(text) == number


def test_gpu_hours_that_are_not_known() -> None:
    one = {
        "gpus": {"per_node": 4}, "nodes": {"min": 2, "max": 2}, "tasks": 1, "time_minutes": 30, "array": None,
        "options": {"nodes": {}},
    }  # fmt: skip
    assert _gpu_hours(one) == 4
    alone = {**one, "nodes": None, "tasks": None, "options": {"gpus-per-node": {}}}
    assert _gpu_hours(alone) == _gpu_hours({**alone, "gpus": {"per_task": 4}}) == 2
    assert _gpu_hours({**alone, "options": {"ntasks": {}}}) is None
    assert _gpu_hours({**one, "time_minutes": None}) is None
    assert _gpu_hours({**one, "gpus": {"per_socket": 1}}) is None
    assert _gpu_hours({**one, "gpus": None, "time_minutes": None}) == 0
