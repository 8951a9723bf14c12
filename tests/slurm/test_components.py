"""Steps of several components (`srun a : b`, `--het-group`): what the model says of each task must be what it gets."""

from __future__ import annotations

import pytest

from sbatchlint.analysis.planning.refusals import refusal_of
from sbatchlint.bash.values import text_of
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.ranks import TaskViews, tasks_of

from .conftest import job_of, selected
from .local_slurm import LocalSlurm

NAMES = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_NNODES")
HET = "--nodes=1 --ntasks=2 --gpus-per-node=1\nhetjob\n--nodes=1 --ntasks=3 --gpus-per-node=4"

# The directives, the words of the one srun with a program in place of each number, and whether srun refuses them.
CASES = (
    ("--nodes=2 --ntasks-per-node=2 --exclusive", "srun -N1 -n1 1 : -N1 -n2 2", False),
    ("--nodes=2 --exclusive", "srun 1 : -N1 -n3 2", False),
    ("--nodes=1 --ntasks=4 --exclusive", "srun -n1 1 : -n3 2", True),
    ("--nodes=2 --exclusive", "srun -n1 1 : -n1 2 : -n1 3", True),
    (HET, "srun 1 : 2", False),
    (HET, "srun --het-group=0,1 1", False),
    (HET, "srun --het-group=1 1", False),
    ("--nodes=1 --ntasks-per-node=2\nhetjob\n--nodes=1 --gpus-per-node=2", "srun 1 : -n1 2", False),
    ("--nodes=1\nhetjob\n--nodes=1 --ntasks-per-node=3", "srun 1 : 2", False),
)


def script_of(options: str, words: str) -> str:
    said = " ".join(f"{name}=${name}" for name in NAMES)
    program = f"bash -c 'echo @ program=$0 {said} gpus=$CUDA_VISIBLE_DEVICES'"
    command = " ".join(f"{program} {word}" if word.isdigit() else word for word in words.split())
    directives = "".join(f"#SBATCH {line}\n" for line in options.split("\n"))
    return f"#!/bin/bash\n{directives}{command}\n"


@pytest.fixture(scope="module", autouse=True)
def ahead(request: pytest.FixtureRequest, slurm: LocalSlurm) -> None:
    cases = zip(selected(request, "options"), selected(request, "words"), strict=True)
    slurm.run_ahead(script_of(*case) for case in cases)


@pytest.mark.parametrize(("options", "words", "refused"), CASES)
def test_components_are_what_the_model_says(slurm: LocalSlurm, options: str, words: str, refused: bool) -> None:
    script = script_of(options, words)
    job = job_of(script, slurm.version)
    assert any(refusal_of(job, step) for step in job.steps) is refused
    outcome = slurm.run(script)
    assert (outcome.state == "FAILED") is refused, outcome
    real = sorted(line.split()[1:] for line in outcome.output.splitlines() if line.startswith("@ "))
    if refused:
        assert real == []
        return
    views, model = TaskViews(job), []
    for number, step in enumerate(job.steps):
        sharing = step_gpus(job, step)
        for task in tasks_of(views, number) or ():
            invocation = task.workload.invocation
            assert invocation is not None
            around = invocation.context.parent
            assert around is not None
            program = text_of(around.argv[-1])
            gpus = ",".join(map(str, sharing.seen(task.place.local) or ()))
            model.append([f"program={program}", *(f"{name}={task.variables[name]}" for name in NAMES), f"gpus={gpus}"])
    assert sorted(model) == real
