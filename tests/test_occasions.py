"""The occasions of the checks: what is left unasked has nothing to say."""

from __future__ import annotations

import pytest

from sbatchlint.job import Job, Site
from sbatchlint.job.occasions import OCCASIONS, has_occasion
from sbatchlint.registry import registry
from sbatchlint.source.text import Source
from sbatchlint.when import WHEN
from test_checks import ALL, Case


def test_every_card_names_an_occasion_that_there_is() -> None:
    names = {check.card.when for check in registry().load_all()} - {""}
    assert names <= OCCASIONS.keys()
    assert OCCASIONS.keys() <= names, "an occasion that no check names"
    assert {check.entry.module: check.card.when for check in registry().load_all() if check.card.when} == WHEN


def test_a_plain_script_gives_few_occasions() -> None:
    job = Job.from_source(Source("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n", "a.sbatch"), Site())
    assert {name for name in OCCASIONS if has_occasion(job, name)} == {"equals", "no GPUs", "step"}


@pytest.mark.parametrize("case", [each for each in ALL if each.check.card.when], ids=lambda case: case.label)
def test_a_check_is_silent_without_its_occasion(case: Case) -> None:
    if case.case.settings:
        return
    job = Job.from_source(Source(case.case.example.text, "job.sbatch"), Site())
    jobs = [job, *job.submits]
    if not any(has_occasion(each, case.check.card.when) for each in jobs):
        assert not any(list(case.check.run(each)) for each in jobs if not case.check.card.options)
