"""Folders with the logs of many jobs: one diagnosis for each, and what they have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sbatchlint.cli import main
from sbatchlint.diagnose.jobs import by_job, job_of

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=1 --ntasks-per-node=4
#SBATCH --gpus-per-node=4 --time=1:00:00
#SBATCH --output=logs/%x-%A_%a.out
srun --label torchrun --nproc-per-node=4 train.py
"""
PORT = "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"
BROKEN = "srun: error: node7: task 3: Bus error\nNVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
RECORDS = """\
JobID|State|ExitCode|Reason|Elapsed|NNodes
101_1|COMPLETED|0:0|None|00:10:00|1
101_2|FAILED|1:0|None|01:30:00|1
101_2.batch|FAILED|1:0|None|01:30:00|1
102_0|FAILED|1:0|None|2-00:00:00|4
104_0|COMPLETED|0:0|None|00:30:00|4
105|TIMEOUT|0:0|None|05:00:00|2
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    Path("train.sbatch").write_text(SCRIPT)
    for element in (1, 2, 3):
        Path(f"logs/train-101_{element}.out").write_text("2026-01-01 10:00:00 start\n" + (PORT if element > 1 else ""))
    Path("logs/train-101_2.out").write_text("2026-01-01 10:00:00 start\n" + PORT + "2026-01-01 11:30:00 end\n")
    for job in (102, 103):
        Path(f"logs/train-{job}_0.out").write_text(BROKEN)
    Path("logs/train-104_0.out").write_text("all is well\n")
    Path("sacct.txt").write_text(RECORDS)


def diagnosed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main(["diagnose", "--isolated", "--output-format", "json", *arguments])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("path", "job", "element"),
    [
        ("slurm-7.out", "7", ""), ("logs/x-102_3.err", "102", "3"), ("88123-resnet-1024.log", "88123", ""),
        ("train.o4711", "4711", ""), ("logs/4711/rank0.log", "4711", ""), ("x-101-0.out", "101", ""),
        ("job_12.log", "12", ""), ("task-100.log", "", ""), ("worker-0001.log", "", ""), ("node101.log", "", ""),
        ("run_20260101_120000.log", "", ""), ("train.log", "", ""), ("rank-1024.log", "", ""),
    ],
)  # fmt: skip
def test_the_job_of_a_log(path: str, job: str, element: str) -> None:
    assert job_of(path) == (job, element)


def test_logs_of_one_job_stay_together() -> None:
    assert list(by_job(["slurm-7.out", "slurm-7.err", "other.log"])) == [""]
    assert list(by_job(["slurm-7.out", "slurm-8.out", "other.log"])) == ["7", "8", "other"]


def test_one_diagnosis_for_each_job(capsys: pytest.CaptureFixture[str]) -> None:
    value = diagnosed(capsys, "logs")
    assert [each["job"] for each in value["jobs"]] == ["101", "102", "103", "104"]
    first = value["jobs"][0]
    assert (first["elements"], first["elements_of"], first["hours"]) == (["2", "3"], 3, 1.5)
    assert first["script"] == "train.sbatch" and first["diagnoses"][0]["codes"] == ["SB301"]
    assert not value["jobs"][3]["diagnoses"]
    assert value["nodes"] == [{"node": "node7", "jobs": ["102", "103"]}]
    assert [(row["symptom"], row["jobs"]) for row in value["summary"]] == [
        ("gpu-fault", ["102", "103"]), ("address-in-use", ["101"]),
    ]  # fmt: skip


def test_records_join_by_job(capsys: pytest.CaptureFixture[str]) -> None:
    value = diagnosed(capsys, "--sacct", "sacct.txt", "logs")
    hours = {each["job"]: (each["hours"], each["node_hours"]) for each in value["jobs"]}
    assert hours["101"] == (1.5, 1.5) and hours["102"] == (48.0, 192.0) and hours["105"] == (5.0, 10.0)
    assert value["jobs"][-1]["diagnoses"][0]["symptom"] == "job-timeout"
    assert sum(row["node_hours"] or 0 for row in value["summary"]) == 203.5


def test_the_text_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["diagnose", "--isolated", "--sacct", "sacct.txt", "logs"]) == 1
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert "5 jobs, 6 logs: 4 went wrong" in said and "in 2 of 3 elements: 2, 3" in said
    assert "node7 failed in 2 jobs (102, 103): submit with --exclude=node7" in said
    assert all(len(line) <= 80 for line in out.splitlines())


def test_one_job_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--isolated", "--job", "101", "logs"]) == 1
    assert "every task of the node starts a launcher" in capsys.readouterr().out
    assert main(["diagnose", "--isolated", "--job", "999", "logs"]) == 2
    assert "there is no log of job 999" in capsys.readouterr().err


def test_a_script_is_repaired_for_one_job_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--isolated", "--fix", "logs"]) == 2
    assert "--job" in capsys.readouterr().err


def test_earlier_runs_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """The log of a requeued job holds all runs: the last one decides, if it failed itself."""
    ended = "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-01-01T10:00:00 DUE TO PREEMPTION ***\n"
    first = f"ValueError: three columns\n{ended}"
    Path("again.log").write_text(first + "epoch 3\nFileExistsError: out\n")
    value = diagnosed(capsys, "again.log")
    assert value["diagnoses"][0]["log"]["rows"] == [4]
    assert [each["why"] for each in value["noise"]] == ["of an earlier run: the job was requeued after it"] * 2
    Path("again.log").write_text(first + "epoch 3\n")
    assert diagnosed(capsys, "again.log")["diagnoses"][0]["symptom"] == "preempted"


def test_many_logs(capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts are looked for once in a folder, and read once."""
    for job in range(2000, 2060):
        Path(f"logs/train-{job}_0.out").write_text(PORT)
    value = diagnosed(capsys, "logs")
    assert value["summary"][0]["symptom"] == "address-in-use" and len(value["summary"][0]["jobs"]) == 61


OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=700.0. Some of the step tasks have been OOM Killed.\n"
MISSING = (
    'Traceback (most recent call last):\n  File "/home/ada/train.py", line 3, in <module>\n'
    "FileNotFoundError: [Errno 2] No such file or directory: 'data/1.csv'\n"
)


def test_elements_that_failed_in_different_ways(capsys: pytest.CaptureFixture[str]) -> None:
    Path("array").mkdir()
    for element, text in enumerate((OOM, MISSING, "all is well\n", OOM)):
        Path(f"array/train-700_{element}.out").write_text(text)
    jobs = diagnosed(capsys, "array")["jobs"]
    found = [(each["job"], each["diagnoses"][0]["symptom"], each["elements"]) for each in jobs]
    assert found == [("700_[0,3]", "host-oom", ["0", "3"]), ("700_1", "file-not-there", ["1"])]
    assert diagnosed(capsys, "array", "--job", "700_1")["diagnoses"][0]["symptom"] == "file-not-there"
    for each in jobs:
        assert not {noise["symptom"] for noise in each["noise"]} & {"host-oom", "file-not-there"}
