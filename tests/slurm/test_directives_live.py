"""The scripts of the checks of directives (SB1xx), as sbatch itself takes or refuses them."""

from __future__ import annotations

import re

from sbatchlint.job import Job
from sbatchlint.shell.values import Phase
from test_checks import ALL

from .conftest import job_of
from .local_slurm import LocalSlurm

# What sbatch says where it does not understand the option block itself, whatever the values in it.
OPTION_ERRORS = re.compile(
    r"(unrecogni[sz]ed option|invalid option|requires an argument|doesn't allow an argument|is ambiguous"
    r"|Invalid directive found|Unmatched|Unexpected `:`).*"
)
# Values are looked at while the options are read, so that a bad one may come first.
VALUE_ERRORS = re.compile(r"Invalid --\S+ specification|Invalid numeric value|is not a valid node count|error: Invalid")
# Fewer than this would mean that the cases were not found.
LEAST_SCRIPTS, LEAST_REJECTED = 40, 15


def is_batch_script(job: Job) -> bool:
    return job.phase is Phase.BATCH and job.text.string.startswith("#!") and not job.submits


def has_plugin_options(job: Job) -> bool:
    """Whether a SPANK plugin that this Slurm does not have would be needed."""
    return any(setting.plugin is not None for setting in job.directives.settings)


def test_sbatch_judges_as_the_model_does(slurm: LocalSlurm) -> None:
    judged, rejected, left_out = 0, 0, 0
    wrong = []
    for case in ALL:
        if not case.check.entry.code.startswith("SB1"):
            continue
        name, text = case.label, case.case.example.text
        job = job_of(text, slurm.version)
        expected = job.directives.rejection(slurm.version)
        # A template's option block is not known as a whole, so that only a fault that is seen in it can be judged.
        silent = expected is None and not job.directives.certain
        if silent or not is_batch_script(job) or has_plugin_options(job):
            left_out += 1
            continue
        verdict = slurm.test(text)
        found = OPTION_ERRORS.search(verdict.messages)
        judged += 1
        rejected += expected is not None
        if expected is None and found is not None:
            wrong.append(f"{name}: taken by the model, but sbatch: {found.group()}")
        elif expected is not None and (verdict.accepted or not found and not VALUE_ERRORS.search(verdict.messages)):
            wrong.append(f"{name}: the model: {expected.message!r}, but sbatch: {verdict.messages!r}")
        elif expected is not None and found is not None and expected.message not in verdict.messages:
            wrong.append(f"{name}: the model: {expected.message!r}, but sbatch: {found.group()}")
    print(f"{judged} judged, {rejected} of them rejected; {left_out} left out")
    assert wrong == []
    assert judged >= LEAST_SCRIPTS and rejected >= LEAST_REJECTED, (judged, rejected, left_out)
