"""What sbatch said of scripts on live clusters that CI does not have, and what the checks say of them.

Recorded of Slurm 22.05.8 with slurmdbd by tests/slurm/test_site_live.py, which says how, and of 26.05.3 with the
families of its nodes of several sizes and more like them. Of `users`: the profile of one user, with partitions that are
for some accounts or groups.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT
from site_verdicts import disagreements, read_record

RECORDS = sorted((ROOT / "tests" / "data" / "site").glob("*.jsonl"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_the_checks_say_what_sbatch_said(record: Path, tmp_path: Path) -> None:
    profile, answers = read_record(record)
    assert len(answers) >= 150 and (profile.accounting_enforce or profile.release == "26.05.3")
    assert not disagreements(profile, answers[::10], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_of_all_scripts(record: Path, tmp_path: Path) -> None:
    profile, answers = read_record(record)
    assert not disagreements(profile, answers, tmp_path)
