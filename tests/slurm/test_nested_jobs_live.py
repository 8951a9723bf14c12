"""Jobs that jobs submit: what they inherit stops their steps, as SB615 says, and `env -u` cures it."""

from __future__ import annotations

import pytest

from sbatchlint.engine import inspect
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

from .conftest import selected
from .local_slurm import LocalSlurm

# Options of the first job, and how it submits the second, which runs one step.
JOBS = (
    ("--ntasks=4", "sbatch"),
    ("--ntasks-per-node=4", "env -u SLURM_NTASKS -u SLURM_NPROCS sbatch"),
    ("--ntasks-per-node=4", "env -u SLURM_NTASKS -u SLURM_NPROCS -u SLURM_NTASKS_PER_NODE sbatch"),
    ("--ntasks=4", "sbatch --export=NONE"),
    ("--ntasks=4", "sbatch --ntasks=1"),
    ("--mem=100", "sbatch --mem-per-cpu=50"),
    ("--mem=100", "env -u SLURM_MEM_PER_NODE sbatch --mem-per-cpu=50"),
    ("--gpus-per-node=2", "sbatch"),
    ("--gres=gpu:2", "sbatch"),
)


def script_of(options: str, submission: str) -> str:
    step = 'sbatch --wait --output=/dev/null --wrap "srun /bin/true"'
    return f"#!/bin/bash\n#SBATCH {options}\n{submission} {step.removeprefix('sbatch ')}\necho @ $?\n"


@pytest.fixture(scope="module", autouse=True)
def ahead(request: pytest.FixtureRequest, slurm: LocalSlurm) -> None:
    slurm.run_ahead(script_of(*job) for job in selected(request, "job"))


@pytest.mark.parametrize("job", JOBS, ids=" ".join)
def test_what_a_job_inherits_stops_its_step(slurm: LocalSlurm, job: tuple[str, str]) -> None:
    script = script_of(*job)
    version = slurm.version
    (status,) = (line[2:] for line in slurm.run(script).output.splitlines() if line.startswith("@ "))
    settings = Settings.of_table({"slurm-version": version}, select=["SB615"])
    found = inspect(Source(script, "job.sh"), settings).diagnostics
    assert (status != "0") is bool(found), (status, found)
