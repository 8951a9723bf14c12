"""First lines that the kernel cannot start: sbatch takes the job, it ends at once, and what SB007 writes runs."""

from __future__ import annotations

import pytest

from sbatchlint.engine import lint_source
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.text import Source

from .local_slurm import LocalSlurm

BROKEN = (
    "#!/bin/ bash", "#!/bin/bash*", "#!bash", "#!usr/bin/env bash", "#!/bin/bash # train", "#!/bin/bash -l -e",
    "#!/bin/bash -eo pipefail", "#!/usr/bin/env bash -l",
)  # fmt: skip


def script_of(line: str) -> str:
    return f"{line}\n#SBATCH --ntasks=1\necho it runs\n"


def repaired(line: str) -> str | None:
    """The script as SB007 repairs it; None where it has no repair."""
    script = script_of(line)
    settings = Resolver(Overrides(select=("SB007",))).settings("job.sbatch")
    (found,) = lint_source(Source(script, "job.sbatch"), settings)
    if found.fix is None:
        return None
    (edit,) = found.fix.edits
    return script[: edit.span.start] + edit.content + script[edit.span.end :]


@pytest.fixture(scope="module", autouse=True)
def ahead(slurm: LocalSlurm) -> None:
    slurm.run_ahead([*map(script_of, BROKEN), *filter(None, map(repaired, BROKEN))])


@pytest.mark.parametrize("line", BROKEN)
def test_such_a_job_ends_at_once(slurm: LocalSlurm, line: str) -> None:
    outcome = slurm.run(script_of(line))
    assert outcome.state == "FAILED" and "it runs" not in outcome.output, outcome


@pytest.mark.parametrize("line", [each for each in BROKEN if repaired(each)])
def test_its_repair_runs(slurm: LocalSlurm, line: str) -> None:
    script = repaired(line)
    assert script is not None
    outcome = slurm.run(script)
    assert outcome.state == "COMPLETED" and "it runs" in outcome.output, outcome
