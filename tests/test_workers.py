"""The processes that share the scripts of a run."""

from __future__ import annotations

import os

import pytest

from sbatchlint.cli import workers
from sbatchlint.cli.outcome import Outcome


def test_another_process_takes_the_place_of_one_that_had_many_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_SCRIPTS", 2)
    scripts = [(f"{number}.sh", b"") for number in range(5)]
    found = dict(workers.work_in_processes(scripts, 1, lambda: lambda script: Outcome(script[0], [], more=os.getpid())))
    assert [found[number].path for number in range(5)] == [each for each, _ in scripts]
    pids = [found[number].more for number in range(5)]
    assert pids[0] == pids[1] and pids[2] == pids[3] and len(set(pids)) == 3


def test_another_process_takes_the_place_of_one_that_ran_out_of_memory() -> None:
    def begin() -> workers.Work:
        done: list[str] = []

        def work(script: workers.Script) -> Outcome:
            done.append(script[0])
            is_lacking = "2.sh" in done  # from then on
            error = f"cannot lint {script[0]}: there is not enough memory" if is_lacking else ""
            return Outcome(script[0], [], error=error, out_of_memory=is_lacking)

        return work

    found = dict(workers.work_in_processes([(f"{number}.sh", b"") for number in range(6)], 1, begin))
    assert [number for number in range(6) if found[number].error] == [2]
