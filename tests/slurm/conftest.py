"""The Slurm that these tests ask; they are skipped where it cannot be had.

SBATCHLINT_SLURM_PREFIX names the folder of a Slurm that was built from source, such as /opt/slurm; without it the one
in PATH is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from check_cases import all_cases
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source

from .comparison import names_of
from .local_slurm import LocalSlurm, Unavailable

HERE = Path(__file__).parent


# What needs no Slurm.
QUICK = "test_comparison.py"
WITHOUT_SLURM = "test_checks_say_what_the_launcher_does"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All but a few are slow. A live test that fails runs again: on a busy machine daemons and jobs miss each other."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))
            if item.path.name != QUICK and not item.name.startswith(WITHOUT_SLURM):
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def slurm() -> Iterator[LocalSlurm]:
    """A private cluster for the whole run."""
    try:
        # It has the partitions and the features that the cases of the checks ask for.
        names = names_of(case.case.example.text for case in all_cases())
        cluster = LocalSlurm(os.environ.get("SBATCHLINT_SLURM_PREFIX") or None, *names)
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        try:
            cluster.start()
        except Unavailable as error:
            pytest.skip(f"no Slurm: {error}")
        yield cluster
    finally:
        cluster.stop()


def selected(request: pytest.FixtureRequest, name: str) -> list[Any]:
    """The values of a parameter in those tests of a module that will run."""
    callspecs = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    return [each.params[name] for each in callspecs if each is not None and name in each.params]


def job_of(script: str, version: str) -> Job:
    """The picture of a batch script for one release of Slurm."""
    return Job.from_source(Source(script, "job.sbatch"), Site(slurm_versions=(version, version)))
