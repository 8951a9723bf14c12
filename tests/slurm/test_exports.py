"""Which variables of the script the tasks of a step have: what the model says must be what they get."""

from __future__ import annotations

import pytest

from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import text_of

from .conftest import job_of, selected
from .local_slurm import LocalSlurm

PROGRAM = "/bin/bash -c 'echo @ A=$A B=$B'"
STEPS = (
    "srun PROGRAM",
    "srun --export=A PROGRAM",
    "srun --export=NONE PROGRAM",
    "srun --export=NONE,A PROGRAM",
    "srun --export=B=3 PROGRAM",
    "srun --export=ALL,A=2,B=3 PROGRAM",
    "srun --export=ALL PROGRAM",
    "SLURM_EXPORT_ENV=NONE srun PROGRAM",
    "SRUN_EXPORT_ENV=B SLURM_EXPORT_ENV=NONE srun PROGRAM",
    "SLURM_EXPORT_ENV=ALL srun PROGRAM",
    "env -u SLURM_EXPORT_ENV srun PROGRAM",
)
JOBS = ("", "#SBATCH --export=NONE\n", "#SBATCH --export=A\n", "#SBATCH --export=ALL,C=1\n")


def script_of(job: str) -> str:
    steps = "\n".join(STEPS).replace("PROGRAM", PROGRAM)
    return f"#!/bin/bash\n{job}export A=1\nexport B=2\n{steps}\n"


@pytest.fixture(scope="module", autouse=True)
def ahead(request: pytest.FixtureRequest, slurm: LocalSlurm) -> None:
    slurm.run_ahead(script_of(job) for job in selected(request, "options"))


@pytest.mark.parametrize("options", JOBS)
def test_tasks_have_the_variables_that_the_model_says(slurm: LocalSlurm, options: str) -> None:
    script = script_of(options)
    outcome = slurm.run(script)
    model = []
    for step in job_of(script, slurm.version).steps:
        values = [exported(step.program[0], name) for name in "AB"]
        a, b = ("" if value is None else text_of(value) for value in values)
        model.append(f"@ A={a} B={b}")
    assert [line for line in outcome.output.splitlines() if line.startswith("@ ")] == model
