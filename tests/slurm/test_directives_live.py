"""The scripts of the checks of directives (SB1xx), as sbatch itself takes or refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from sbatchlint.check import unmark
from sbatchlint.job import Job
from sbatchlint.registry import registry
from sbatchlint.shell.values import Phase
from test_checks import read_traps

from .conftest import job_of
from .local_slurm import LocalSlurm

# What sbatch says where it does not understand the option block itself, whatever the values in it.
OPTION_ERRORS = re.compile(
    r"(unrecogni[sz]ed option|invalid option|requires an argument|doesn't allow an argument|is ambiguous"
    r"|Invalid directive found|Unmatched|Unexpected `:`).*"
)
# Fewer than this would mean that the cases were not found.
LEAST_SCRIPTS, LEAST_REJECTED = 40, 15


def scripts() -> Iterator[tuple[str, str]]:
    """Names and texts of all cases of the checks of directives."""
    for entry in registry().entries:
        if not entry.code.startswith("SB1"):
            continue
        traps = ROOT / "tests" / "cases" / f"{entry.name}.md"
        cases = [(case.title, case) for case in registry().check(entry).cases]
        if traps.exists():
            cases += list(read_traps(traps.read_text()))
        for number, (title, case) in enumerate(cases):
            yield f"{entry.name} {number} {title}", unmark(case.text).text


def is_batch_script(job: Job) -> bool:
    return job.phase is Phase.BATCH and job.text.string.startswith("#!") and not job.submits


def has_plugin_options(job: Job, version: str) -> bool:
    """Whether a SPANK plugin that this Slurm does not have would be needed."""
    return any(setting.plugin is not None for setting in job.directives.settings)


def test_sbatch_judges_as_the_model_does(slurm: LocalSlurm) -> None:
    judged, rejected, left_out = 0, 0, 0
    wrong = []
    for name, text in scripts():
        job = job_of(text, slurm.version)
        if not is_batch_script(job) or has_plugin_options(job, slurm.version):
            left_out += 1
            continue
        expected = job.directives.rejection(slurm.version)
        verdict = slurm.test(text)
        found = OPTION_ERRORS.search(verdict.messages)
        judged += 1
        rejected += expected is not None
        if expected is None and found is not None:
            wrong.append(f"{name}: taken by the model, but sbatch: {found.group()}")
        elif expected is not None and (verdict.accepted or found is None):
            wrong.append(f"{name}: the model: {expected.message!r}, but sbatch: {verdict.messages!r}")
        elif expected is not None and found is not None and expected.message not in verdict.messages:
            wrong.append(f"{name}: the model: {expected.message!r}, but sbatch: {found.group()}")
    print(f"{judged} judged, {rejected} of them rejected; {left_out} left out")
    assert wrong == []
    assert judged >= LEAST_SCRIPTS and rejected >= LEAST_REJECTED, (judged, rejected, left_out)
