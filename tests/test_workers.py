"""The processes that share the scripts of a run."""

from __future__ import annotations

import os

import pytest

from sbatchlint.cli import workers
from sbatchlint.cli.outcome import Outcome


def test_another_process_takes_the_place_of_one_that_had_many_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_SCRIPTS", 2)
    scripts = [(f"{number}.sh",) for number in range(5)]
    found = dict(workers.work_in_processes(scripts, 1, lambda: lambda script: Outcome(script[0], [], more=os.getpid())))
    assert [found[number].path for number in range(5)] == [each for (each,) in scripts]
    pids = [found[number].more for number in range(5)]
    assert pids[0] == pids[1] and pids[2] == pids[3] and len(set(pids)) == 3
