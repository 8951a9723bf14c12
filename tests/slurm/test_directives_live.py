"""The cases of the checks of directives and requests (SB1xx, SB2xx), and what their fixes make of them, as sbatch
takes or refuses them."""

from __future__ import annotations

import pytest

from check_cases import ENTRIES, Case, cases_of
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad
from sbatchlint.job import Job

from .comparison import Compared, compare_all, kinds, report, with_anchor
from .conftest import job_of
from .local_slurm import LocalSlurm

CODES = ("SB1", "SB2")
# Fewer than this would mean that the cases were not found, or that the model did not say.
LEAST_SCRIPTS, LEAST_REFUSED, LEAST_FIXED = 60, 30, 20
# Parts of one: what may depend on the names a site gives, and on what the script does not show.
MOST_SITE, MOST_UNDECIDED = 0.25, 0.2


def is_batch_script(job: Job) -> bool:
    """A file that is meant for sbatch as it stands, and does not hold the script in a here-document."""
    return job.phase is Phase.BATCH and not job.submits and not job.is_embedded


def cases() -> list[Case]:
    return [case for entry in ENTRIES if entry.code.startswith(CODES) for case in cases_of(entry)]


def fixes(case: Case) -> list[str]:
    """What the safe fix and all fixes make of a bad script."""
    if not isinstance(case.case, Bad):
        return []
    made = (case.case.fixed, case.case.unsafe_fixed)
    return list(dict.fromkeys(text for text in made if text is not None))


@pytest.fixture(scope="module")
def results(slurm: LocalSlurm) -> dict[str, Compared]:
    """By script, what the Slurm did with it."""
    texts = dict.fromkeys(text for case in cases() for text in (case.case.example.text, *fixes(case)))
    scripts = [text for text in texts if is_batch_script(job_of(text, slurm.version))]
    asked = [with_anchor(text) for text in scripts]
    return dict(zip(scripts, compare_all(slurm, asked), strict=True))


def test_sbatch_judges_as_the_model_does(slurm: LocalSlurm, results: dict[str, Compared]) -> None:
    counts = kinds(results.values())
    fields = sum(each.fields for each in results.values())
    print(f"{len(results)} scripts on Slurm {slurm.version}: {counts}, {fields} fields")
    wrong = [each for each in results.values() if each.wrong]
    assert not wrong, report(wrong)
    assert len(results) >= LEAST_SCRIPTS and counts.get("refused", 0) >= LEAST_REFUSED
    assert counts.get("site", 0) <= MOST_SITE * len(results)
    assert counts.get("undecided", 0) <= MOST_UNDECIDED * len(results)


def test_no_fix_makes_sbatch_refuse_a_script(results: dict[str, Compared]) -> None:
    judged, cured = 0, 0
    worse = []
    for case in cases():
        before = results.get(case.case.example.text)
        for text in fixes(case):
            after = results.get(text)
            if before is None or after is None:
                continue
            judged += 1
            cured += after.accepted and not before.accepted
            if before.accepted and not after.accepted:
                worse.append(f"{case.label}: {text!r}\n    {after.messages}")
    print(f"{judged} fixes judged, {cured} make sbatch take a script that it refused")
    assert not worse, "\n".join(worse)
    assert judged >= LEAST_FIXED and cured > 0
