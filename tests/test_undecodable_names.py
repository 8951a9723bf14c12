"""Scripts whose names are not UTF-8: every check and every verb works on them, in any locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from sbatchlint.check import Bad
from sbatchlint.engine import inspect
from sbatchlint.fix import fix_source
from sbatchlint.registry import registry
from sbatchlint.report import FORMATS
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

NAME = os.fsdecode(b"job-\xff\xe9.sh")
SCRIPT = b"""\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --output=log.txt
#SBATCH --time 24:00
source env-\xff.sh
srun python train.py --rank=$SLURM_PROCID; srun ./a.out > out.txt
for name in a b; do sbatch job-\xff\xe9.sh $name; done
#SBATCH --gres=2
"""
# Run in one process for each locale: starting Python for each of them would take a second more.
PROGRAM = """
import io, json, os, sys
from sbatchlint.cli import main
codes = []
for arguments in json.loads(os.environ["COMMANDS"]):
    print("#", ascii(arguments), flush=True)
    try:
        codes.append(main(arguments))
    except SystemExit as leaving:
        codes.append(leaving.code)
sys.stdout.flush()
with open(os.environ["CODES"], "w") as file:
    json.dump(codes, file)
"""
LOCALES = {
    "C": {"LC_ALL": "C"},
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "UTF-8": {"LC_ALL": "C.UTF-8"},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / NAME).write_bytes(SCRIPT)
    (tmp_path / os.fsdecode(b"env-\xff.sh")).write_bytes(b"export RANK=$SLURM_PROCID # \xff\n")
    (tmp_path / "all.sh").write_bytes(b"for n in 1 2; do\n  sbatch job-\xff\xe9.sh $n\ndone\nsbatch --array=1-3 x.sh\n")
    (tmp_path / os.fsdecode(b"page-\xff.md")).write_bytes(b"```bash\n" + SCRIPT + b"```\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands() -> list[list[str]]:
    found = [["--output-format", form, "--select", "ALL", "--min-severity", "info"] for form in FORMATS]
    found += [["--statistics"], ["--show-files"], ["--diff", "--unsafe-fixes"], ["-v", "--jobs", "2"]]
    found += [["--output-file", os.fsdecode(b"report-\xff.txt")], ["--write-baseline", os.fsdecode(b"known-\xff.json")]]
    found += [["--baseline", os.fsdecode(b"known-\xff.json")], ["--update-baseline", "--baseline", "known.json"]]
    found += [["plan", "--output-format", form, NAME] for form in ("text", "json", "svg", "html")]
    found += [["convert", "--nodes", "4", NAME], ["convert", "--nodes", "4", "--diff", NAME], ["config", NAME]]
    found += [["convert", "--nodes", "4", "--output-format", "json", NAME]]
    found += [["diagnose", "--script", NAME, "--output-format", form, NAME] for form in ("text", "json", "github")]
    found += [["explain", NAME], ["plan", NAME, NAME], ["plan", os.fsdecode(b"none-\xff.sh")]]
    found += [[os.fsdecode(b"none-\xff.sh")], ["--add-ignore=because"], ["--fix", "--show-fixes"]]
    return found


@pytest.mark.parametrize(
    "locale", [pytest.param(each, marks=[pytest.mark.slow] * (each != "ASCII")) for each in LOCALES]
)
def test_every_verb_takes_such_a_name(folder: Path, locale: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **LOCALES[locale]}
    wanted = commands()
    (folder / "known.json").write_text('{"version": 1, "files": {}}')
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | {"COMMANDS": json.dumps(wanted), "CODES": str(folder / "codes.json")},
        capture_output=True,
        check=False,
    )
    output = (run.stdout + run.stderr).decode("utf-8", "replace")
    assert run.returncode == 0 and "Traceback" not in output and "fault:" not in output, output[-3000:]
    codes = json.loads((folder / "codes.json").read_text())
    assert [arguments for arguments, code in zip(wanted, codes, strict=True) if code not in (0, 1, 2, 4)] == []


# A plain run asks every fifth check.
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(entry.code, marks=[pytest.mark.slow] * (row % 5 != 0))
        for row, entry in enumerate(registry().entries)
    ],
)
def test_every_check_takes_such_a_name(folder: Path, code: str) -> None:
    entry = registry().find(code)
    assert entry is not None
    for case in (case for case in registry().load(entry).cases if isinstance(case, Bad)):
        (folder / NAME).write_text(case.example.text, encoding="utf-8", errors="surrogateescape")
        settings = Settings.of_table(case.settings, select=[code])
        source = Source(case.example.text, NAME)
        assert inspect(source, settings).faults == []
        fix_source(source, settings, True)
