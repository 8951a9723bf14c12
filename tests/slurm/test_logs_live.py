"""Logs of jobs, of arrays and after a requeue, and the folder of a job: what the checks say happens."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sbatchlint.engine import inspect
from sbatchlint.settings import Settings
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.text import Source

from .local_slurm import FINISHED, LocalSlurm

# Each task says that it begins, waits until all have begun, and says that it ends.
TASK = """\
echo "first of $SLURM_ARRAY_TASK_ID"
touch {folder}/{name}-$SLURM_ARRAY_TASK_ID.began
for turn in {{1..100}}; do
    if [ -e {folder}/{name}-1.began ] && [ -e {folder}/{name}-2.began ]; then break; fi
    sleep 0.1
done
sleep 0.3
echo "last of $SLURM_ARRAY_TASK_ID"
"""


class Script(NamedTuple):
    """What stands in a script, and the check that reports it ('' for none)."""

    options: str
    commands: str
    code: str


SCRIPTS = {
    "shared-log": Script("--array=1-16 --output={folder}/{name}.log", TASK, "SB702"),
    "appended": Script("--array=1-2 --open-mode=append --output={folder}/{name}.log", TASK, "SB702"),
    "chain": Script("--array=1-2%1 --output={folder}/{name}.log", "echo task $SLURM_ARRAY_TASK_ID\n", "SB702"),
    "own-logs": Script(
        "--array=1-2 --output={folder}/{name}-%A_%a.log",
        "echo array $SLURM_ARRAY_JOB_ID task $SLURM_ARRAY_TASK_ID\n",
        "",
    ),
    "unknown": Script("--output={folder}/{name}-%j-%b-%q.log", "echo job $SLURM_JOB_ID\n", "SB705"),
    "result": Script(
        "--array=1-2 --output=/dev/null",
        TASK + "seq $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_ID > {folder}/{name}.txt\n",
        "SB713",
    ),
    "again": Script("--dependency=singleton --output={folder}/{name}.log", "echo job $SLURM_JOB_ID\n", "SB704"),
    "no-folder": Script("--chdir={folder}/%j --output={folder}/{name}.log", "pwd\n", "SB132"),
    "requeued": Script(
        "--requeue --output={folder}/{name}-%j.log",
        "echo start ${{SLURM_RESTART_COUNT:-0}}\n"
        'if [ -z "$SLURM_RESTART_COUNT" ]; then scontrol requeue $SLURM_JOB_ID; sleep 30; fi\n',
        "SB706",
    ),
}


def text_of(name: str, folder: str) -> str:
    script = SCRIPTS[name]
    block = f"#!/bin/bash\n#SBATCH --job-name={name} {script.options}\n{script.commands}"
    return block.format(folder=folder, name=name)


@pytest.fixture(scope="module")
def folder(slurm: LocalSlurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where all scripts have written their files; each job has ended as COMPLETED."""
    found = tmp_path_factory.mktemp("logs")
    numbers: dict[str, str] = {}
    for name in (*SCRIPTS, "again"):
        path = found / f"{name}.sh"
        path.write_text(text_of(name, str(found)))
        done = slurm.client("sbatch", "--parsable", str(path))
        assert done.returncode == 0, done.stderr
        numbers[done.stdout.strip()] = name
    waiting = set(numbers)
    may_start = 0.0
    end = time.monotonic() + 60
    while waiting and time.monotonic() < end:
        for number in sorted(waiting):
            shown = slurm.client("scontrol", "--oneliner", "show", "job", number).stdout
            states = re.findall(r"JobState=(\S+)", shown)
            if all(FINISHED.match(state) for state in states):
                assert set(states) == {"COMPLETED"}, (numbers[number], shown)
                waiting.discard(number)
            elif numbers[number] == "requeued" and "Restarts=1" in shown and "PENDING" in states:
                # Slurm lets a requeued job wait for two minutes. In the first second its node still takes the job for
                # the one that was killed: "Job credential revoked".
                may_start = may_start or time.monotonic() + 3
                if time.monotonic() > may_start:
                    slurm.client("scontrol", "update", f"JobId={number}", "StartTime=now")
        time.sleep(0.3)
    assert not waiting, [numbers[each] for each in waiting]
    yield found


def test_checks_report_these_scripts(slurm: LocalSlurm) -> None:
    for name, script in SCRIPTS.items():
        source = Source(text_of(name, "/project/runs"), "job.sbatch")
        settings = Settings.of_table({"slurm-version": slurm.version})
        codes = {each.code for each in inspect(source, settings).diagnostics}
        assert not script.code or script.code in codes, (name, codes)
        assert script.code or not codes & {each.code for each in SCRIPTS.values()}, (name, codes)


def test_tasks_of_an_array_empty_one_log(folder: Path) -> None:
    """One that starts empties what those before it have written; those that start together spare each other."""
    lines = (folder / "shared-log.log").read_text().splitlines()
    assert len([line for line in lines if line.startswith("first")]) < 16, lines


def test_tasks_of_an_array_append_to_one_log(folder: Path) -> None:
    lines = (folder / "appended.log").read_text().splitlines()
    assert sorted(lines) == ["first of 1", "first of 2", "last of 1", "last of 2"]


def test_of_a_chain_the_last_log_is_left(folder: Path) -> None:
    assert (folder / "chain.log").read_text() == "task 2\n"


def test_each_task_has_a_log_of_its_own(folder: Path) -> None:
    found = {path.name: path.read_text() for path in folder.glob("own-logs-*.log")}
    assert len(found) == 2
    for name, text in found.items():
        array, task = re.findall(r"\d+", text)
        assert name == f"own-logs-{array}_{task}.log"


def test_unknown_patterns_stay(slurm: LocalSlurm, folder: Path) -> None:
    (path,) = folder.glob("unknown-*.log")
    number = path.read_text().split()[1]
    known = "b" in patterns.letters(slurm.version)
    assert (path.name == f"unknown-{number}-%b-%q.log") is not known
    assert path.name.endswith("-%q.log")


def test_tasks_of_an_array_write_one_result(folder: Path) -> None:
    assert (folder / "result.txt").read_text() in ("1\n", "2\n")


def test_the_next_job_empties_the_log(folder: Path) -> None:
    assert len((folder / "again.log").read_text().splitlines()) == 1


def test_without_its_folder_a_job_runs_in_tmp(folder: Path) -> None:
    lines = (folder / "no-folder.log").read_text().splitlines()
    assert lines[-1] == "/tmp"
    assert "going to /tmp instead" in lines[0]


def test_a_requeue_empties_the_log(folder: Path) -> None:
    (path,) = folder.glob("requeued-*.log")
    assert "start 1" in path.read_text()
    assert "start 0" not in path.read_text()
