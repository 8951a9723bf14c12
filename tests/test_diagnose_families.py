"""`sbatchlint diagnose` of failures by family: the line, the place, the cause with its repair, lines of the script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sbatchlint.diagnose.answers import rows_of
from sbatchlint.diagnose.run import judged
from sbatchlint.settings import Overrides

FAILURES = Path(__file__).parent / "data/failures.txt"


def cases() -> Iterator[object]:
    for block in re.split(r"(?m)^=== ", FAILURES.read_text(encoding="utf-8"))[1:]:
        heading, _, body = block.partition("\n")
        name, where, words = (each.strip() for each in heading.split(" |"))
        log, _, script = body.partition("--- script\n")
        yield pytest.param(where, words, log, script, id=name)


@pytest.mark.parametrize(("where", "words", "log", "script"), list(cases()))
def test_a_failure(where: str, words: str, log: str, script: str, tmp_path: Path) -> None:
    marked = {row for row, line in enumerate(log.split("\n"), 1) if line.startswith("> ")}
    blamed = {row for row, line in enumerate(script.split("\n"), 1) if line.startswith("»")}
    (tmp_path / "job.log").write_text(re.sub("(?m)^> ", "", log), encoding="utf-8")
    path = None
    if script:
        path = str(tmp_path / "job.sh")
        Path(path).write_text(script.replace("»", ""), encoding="utf-8")
    run = judged([str(tmp_path / "job.log")], path, options=Overrides(isolated=True), searching=False)
    best = run.diagnosis.answers[0]
    assert set(best.event.rows) & marked, best
    assert best.where == where, best
    assert re.search(words, f"{best.says}; {best.advice}", re.IGNORECASE), best
    assert not blamed or blamed & set(rows_of(best, run.source)), best


@pytest.mark.parametrize(
    ("log", "command"),
    [
        ("MEMBER: 1/8\nEpoch 0: loss 1.3", "python fit_model.py"),  # it went on
        ("MEMBER: 1/8", "srun python fit_model.py"),  # a step that starts all of them
        ("MEMBER: 1/8", "echo done"),
    ],
)
def test_a_rank_does_not_wait(log: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(f"initializing ddp: GLOBAL_RANK: 0, {log}\n", encoding="utf-8")
    script = f"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4\n{command}\n"
    (tmp_path / "job.sh").write_text(script, encoding="utf-8")
    run = judged([str(tmp_path / "job.log")], str(tmp_path / "job.sh"), options=Overrides(isolated=True))
    assert not run.diagnosis.answers, run.diagnosis.answers
