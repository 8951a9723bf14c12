"""`sbatchlint diagnose`: what came first is told from what follows, and the script is asked."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Command
from sbatchlint.cli import main
from sbatchlint.diagnose.accounts import read_account
from sbatchlint.source.files import InputError
from sbatchlint.source.secrets import masked
from test_diagnose_reading import EXIT, OOM, PORT

sys.path.insert(0, str(ROOT / "tools"))

from diagnose_table import scores, table

CANCELLED = "slurmstepd: error: *** STEP 7.0 ON node1 CANCELLED AT 2024-05-12T10:00:00 ***\n"
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --output=logs/%x-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["diagnose", "--isolated", *arguments])
    return code, capsys.readouterr().out


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out = run(capsys, "--output-format", "json", *arguments)
    value = json.loads(out)
    assert code == bool(value["diagnoses"])
    return dict(value)


# --- ranking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "data" / "good_logs").iterdir()), ids=lambda path: path.stem)
def test_a_job_that_went_well_has_no_diagnosis(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, str(path))
    assert code == 0, out


def test_the_cause_is_told_from_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.log").write_text(EXIT + CANCELLED + OOM + "srun: Terminating job step 7.0\n")
    value = answer(capsys, "job.log")
    assert value["diagnoses"][0]["symptom"] == "host-oom" and value["diagnoses"][0]["log"]["rows"] == [3]
    assert [each["rows"] for each in value["noise"]][:2] == [[1], [2]]


def test_what_a_later_line_takes_back_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    waits = "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\n"
    Path("job.log").write_text(waits)
    assert answer(capsys, "job.log")["diagnoses"]
    Path("job.log").write_text(waits + "srun: Step created for StepId=7.1\n")
    assert not answer(capsys, "job.log")["diagnoses"]


def test_files_of_tasks_are_read_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("logs").mkdir()
    for rank in (0, 2, 10):
        Path(f"logs/task-{rank}.log").write_text(f"2024-05-12 10:00:{30 - rank} fine\n" + (PORT if rank else "fine\n"))
    value = answer(capsys, "logs")
    assert value["logs"] == [f"logs/task-{rank}.log" for rank in (0, 2, 10)]
    assert value["diagnoses"][0]["count"] == 2


def test_a_binary_file_is_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    Path("logs").mkdir()
    binary = b"\x7fELF" + bytes(range(256)) * 40
    Path("logs/solver").write_bytes(binary)
    assert main(["diagnose", "--isolated", "logs/solver"]) == 2
    assert "cannot read logs/solver: it is not a text file" in capsys.readouterr().err
    # a hole, as of a log that was truncated while the job wrote on, and single bytes
    Path("logs/job.log").write_bytes(b"\0" * 500_000 + PORT.encode() + b"a\0b is fine\n")
    assert answer(capsys, "logs")["logs"] == ["logs/job.log"]
    assert answer(capsys, "logs/job.log")["diagnoses"]


# --- the script ----------------------------------------------------------------------------------


def test_the_script_explains_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.sh").write_text(SCRIPT)
    Path("job.log").write_text("".join(f"{rank}: {PORT}" for rank in (1, 2, 3, 5, 6, 7)))
    best = answer(capsys, "--script", "job.sh", "job.log")["diagnoses"][0]
    assert (best["where"], best["confidence"], best["codes"], best["count"]) == ("script", "certain", ["SB301"], 6)
    assert 5 in best["script_rows"] and "--ntasks-per-node=1" in best["diff"]
    code, out = run(capsys, "--script", "job.sh", "job.log")
    assert code == 1 and "SB301" in out and "+ #SBATCH --ntasks-per-node=1" in out
    code, out = run(capsys, "--script", "job.sh", "--output-format", "github", "job.log")
    assert code == 1 and out.startswith("::error file=job.sh,line=5,title=")


def test_the_script_is_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.sh").write_text(SCRIPT)
    Path("job.log").write_text(PORT)
    main(["diagnose", "--isolated", "--script", "job.sh", "--fix", "job.log"])
    said = capsys.readouterr().err
    if "was repaired" in said:
        assert "--ntasks-per-node=1" in Path("job.sh").read_text()
    else:
        assert "nothing in the script can be repaired safely" in said and Path("job.sh").read_text() == SCRIPT


def test_the_script_is_found_by_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    Path("jobs/logs").mkdir(parents=True)
    Path("jobs/train.sbatch").write_text(SCRIPT)
    Path("jobs/other.sbatch").write_text(SCRIPT.replace("=train", "=other"))
    Path("jobs/logs/train-4711.out").write_text(PORT)
    value = answer(capsys, "jobs/logs/train-4711.out")
    assert value["script"] == "jobs/train.sbatch", value["notes"]
    assert "--output=logs/%x-%j.out" in value["notes"][0]
    Path("jobs/slurm-4711.out").write_text(PORT)
    assert answer(capsys, "jobs/slurm-4711.out")["script"] is None


def test_a_script_that_is_right_is_not_blamed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=10\nsrun ./a.out\n")
    Path("job.log").write_text(
        "srun: error: Unable to confirm allocation for job 7: Unable to contact slurm controller\n"
    )
    best = answer(capsys, "--script", "job.sh", "job.log")["diagnoses"][0]
    assert best["where"] == "cluster" and not best["script_rows"]
    _, out = run(capsys, "--script", "job.sh", "job.log")
    assert "no line of job.sh speaks of it" in " ".join(out.split())


# --- accounting ----------------------------------------------------------------------------------

TABLE = """\
JobID           JobName      State ExitCode
------------ ---------- ---------- --------
7                 train     FAILED      0:9
7.batch           batch OUT_OF_ME+    0:125
"""
PIPED = "JobID|State|ExitCode|Reason\n7|TIMEOUT|0:0|TimeLimit\n7.batch|CANCELLED|0:15|\n"
SCONTROL = "JobId=7 JobName=train\n   JobState=FAILED Reason=RaisedSignal:53(Real-time_signal_19)\n   ExitCode=0:53\n"
JSON = (
    '{"jobs": [{"job_id": 7, "state": {"current": ["NODE_FAIL"], "reason": "None"}, "exit_code": {"return_code": 1}}]}'
)
NEW = (
    '{"jobs": [{"job_id": 7, "job_state": ["TIMEOUT"], "state_reason": "TimeLimit", "time_limit": {"number": 60},'
    ' "exit_code": {"return_code": {"number": 0}, "signal": {"id": {"number": 15}}}}]}'
)


@pytest.mark.parametrize(
    ("text", "state", "code"),
    [
        (TABLE, "OUT_OF_ME", "0:9"), (PIPED, "TIMEOUT", "0:0"), (SCONTROL, "FAILED", "0:53"),
        (JSON, "NODE_FAIL", "1:0"), (NEW, "TIMEOUT", "0:15"),
    ],
)  # fmt: skip
def test_accounts_are_read(text: str, state: str, code: str) -> None:
    account = read_account(text, "sacct.txt")
    assert (account.state, account.exit_code) == (state, code)


@pytest.mark.parametrize("text", ["", "nothing", "{}", "[1]", "{", "JobId=7", "A|B\n1|2\n", "[" * 100_000])
def test_what_is_no_account_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_account(text, "sacct.txt")


def test_accounting_speaks_where_the_log_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.log").write_text("fine\n")
    Path("sacct.txt").write_text(PIPED)
    best = answer(capsys, "--sacct", "sacct.txt", "job.log")["diagnoses"][0]
    assert best["symptom"] == "job-timeout" and best["log"]["path"] == "sacct.txt"
    Path("job.log").write_text(OOM)
    assert answer(capsys, "--sacct", "sacct.txt", "job.log")["diagnoses"][0]["symptom"] == "host-oom"


# --- secrets, errors, costs ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "escapes", "unique"])
def test_hostile_logs_do_no_harm(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(kind)
    data = {
        "binary": draw.randbytes(1 << 20),
        "escapes": (f"\x1b[2J\x1b]0;gone\x07\x9b31m\u202e{OOM.strip()}\x1b[8m\r\x07\n" * 500).encode(),
        "unique": "".join(
            f"error: {draw.random()} cannot open {draw.getrandbits(200):x}\n" for _ in range(4000)
        ).encode(),
    }[kind]
    Path("job.log").write_bytes(data)
    for form in ("text", "json", "github"):
        code, out = run(capsys, "--output-format", form, "job.log")
        assert code in ((2,) if kind == "binary" else (0, 1))
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out)


@pytest.mark.parametrize(
    "line",
    [
        "export WANDB_API_KEY=SECRETSECRET0", "login --token SECRETSECRET0 x", "Authorization: Bearer SECRETSECRET0",
        "https://ada:SECRETSECRET0@example.org/x", "'api_key': 'SECRETSECRET0'", "hf_SECRETSECRETSECRET0",
        "ghp_SECRETSECRETSECRET0", "HF_TOKEN: SECRETSECRET0", "--password=SECRETSECRET0",
    ],
)  # fmt: skip
def test_secrets_are_masked(line: str) -> None:
    assert "SECRET" not in masked(line) and "***" in masked(line)


@pytest.mark.parametrize(
    "line", ["tokens=4096 per batch", "EOS_TOKEN=</s>", "MASTER_PORT=29500", "a: b", "key = value"]
)
def test_other_words_are_not_masked(line: str) -> None:
    assert masked(line) == line


def test_no_output_tells_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.sh").write_text(
        SCRIPT.replace("srun torchrun", "export HF_TOKEN=hf_abcdefghijklmnopqrst1\nsrun torchrun")
    )
    Path("job.log").write_text(f"[HF_TOKEN=hf_abcdefghijklmnopqrst1] {PORT}")
    for form in ("text", "json", "github"):
        _, out = run(capsys, "--script", "job.sh", "--output-format", form, "job.log")
        assert "address-in-use" in out and "abcdefghijkl" not in out


@pytest.mark.parametrize("arguments", [["missing.log"], ["-", "-"], ["--script", "missing.sh", "job.log"], ["."]])
def test_what_cannot_be_read_is_an_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if arguments != ["."]:
        Path("job.log").write_text("x\n")
    assert main(["diagnose", *arguments]) == 2


def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    assert answer(capsys, "-")["diagnoses"][0]["log"] == {"path": "<stdin>", "rows": [1], "text": OOM.strip()}


def test_symptoms_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "markdown", "json"):
        assert main(["explain", "address-in-use", "--output-format", form]) == 0
        assert "SB301" in capsys.readouterr().out
    assert main(["explain", "time-limit"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "likeliest" not in told and "see the finding" not in told
    assert told.count("reads as hours and is minutes") == 1


def test_linting_loads_nothing_of_it() -> None:
    code = "import sys; from sbatchlint.cli import main; main(['job.sh'])"
    code += "; print([each for each in sys.modules if 'diagnose' in each])"
    Path("job.sh").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.stdout.rstrip().endswith("[]"), done.stdout + done.stderr


# --- failures that somebody had ------------------------------------------------------------------


def test_links_that_lead_nowhere_in_a_folder_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.log").write_text(OOM)
    for name, target in (("x.log", "x.log"), ("a.log", "b.log"), ("b.log", "a.log"), ("c.log", "nothere")):
        (tmp_path / name).symlink_to(target)
    assert main(["diagnose", "--isolated", str(tmp_path)]) == 1
    assert "run.log" in capsys.readouterr().out


def test_public_failures_are_diagnosed(tmp_path: Path) -> None:
    """Logs of public issues, re-created (tests/data/failed_jobs.json says from where): how often the first answer has
    the decisive line, where the cause lies, and the lines of the script. tools/diagnose_table.py prints the figures."""
    for case in json.loads((ROOT / "tests" / "data" / "failed_jobs.json").read_text()):
        folder = tmp_path / case["name"]
        (folder / ".git").mkdir(parents=True)  # a project of its own, in which its script is looked for
        (folder / "job.log").write_text(case.pop("log"), newline="")
        script = case.pop("script")
        if script is not None:
            (folder / "job.sh").write_text(script, newline="")
        (folder / "case.json").write_text(json.dumps(case))
    found = list(scores(tmp_path))
    blamed = [each.script for each in found if each.script is not None]
    shown = table(found)
    assert sum(each.line for each in found) >= 0.95 * len(found), shown
    assert sum(each.where for each in found) >= 0.90 * len(found), shown
    assert sum(blamed) >= 0.90 * len(blamed), shown


# --- records without a log, silence ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "symptom", "where"),
    [
        ("OUT_OF_MEMORY|0:125|OutOfMemory", "job-out-of-memory", "script"),
        ("TIMEOUT|0:0|TimeLimit", "job-timeout", "script"),
        ("NODE_FAIL|0:0|None", "job-node-fail", "cluster"),
        ("CANCELLED by 1000|0:0|None", "job-cancelled", "submission"),
        ("PREEMPTED|0:0|None", "job-preempted", "cluster"),
        ("FAILED|127:0|NonZeroExitCode", "job-failed", "submission"),
        ("FAILED|0:11|None", "job-failed", "code"),
        ("PENDING|0:0|DependencyNeverSatisfied", "dependency-never", "submission"),
    ],
)
def test_a_record_is_enough(record: str, symptom: str, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sacct.txt").write_text(f"JobID|State|ExitCode|Reason\n7|{record}\n")
    value = answer(capsys, "--sacct", "sacct.txt")
    assert (value["diagnoses"][0]["symptom"], value["diagnoses"][0]["where"]) == (symptom, where)
    assert value["logs"] == []


def test_something_is_wanted() -> None:
    assert main(["diagnose"]) == 2


@pytest.mark.parametrize(
    ("last", "cause"),
    [
        ("2024-05-12 10:11:00", "silence"), ("2024-05-12 14:55:00", "time"), ("2024-05-12 13:00:20", "time"),
        ("fine", "time"),
    ],
)  # fmt: skip
def test_silence_before_the_end_is_a_hang(last: str, cause: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.log").write_text(
        f"2024-05-12 10:00:00 start\n{last} step 7\n"
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-05-12T15:00:00 DUE TO TIME LIMIT ***\n"
    )
    best = answer(capsys, "job.log")["diagnoses"][0]
    assert ("hung" in best["cause"]) == (cause == "silence")


def test_a_repair_is_told_before_it_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=4\n#SBATCH --gpus-per-node=4 --time=9\n"
                              "srun torchrun --nproc-per-node=4 train.py\n")  # fmt: skip
    Path("job.log").write_text(PORT)
    told: list[str] = []
    monkeypatch.setattr("sbatchlint.cli.diagnose.write", lambda *_: told.append(capsys.readouterr().err))
    main(["diagnose", "--isolated", "--script", "job.sh", "--fix", "job.log"])
    assert "is going to change (SB301)" in told[0] and "+#SBATCH --nodes=1 --ntasks-per-node=1" in told[0]


def test_a_failure_with_a_reason_of_its_own_does_not_follow_from_the_first(command: Command) -> None:
    command.write(
        "job.log",
        "ModuleNotFoundError: No module named 'flash_attn'\n"
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n",
    )
    said = command("diagnose", "job.log").out
    assert "(later)" in said and "follows from" not in said
    assert "\n\n\n" not in said
