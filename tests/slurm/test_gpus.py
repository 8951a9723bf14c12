"""Which GPUs each task of a step sees: what the model claims to know must be what Slurm gives, in every release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from sbatchlint.analysis.gpus.step_limits import too_many_gpus
from sbatchlint.job.gpus import StepGpus, step_gpus

from .conftest import job_of
from .local_slurm import LocalSlurm

# Every task says which node of the step it is on, its number there, and its GPUs.
RECORD = "bash -c 'echo @ $SLURM_NODEID $SLURM_LOCALID ${CUDA_VISIBLE_DEVICES-none}'"

JOBS = (
    "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4",
    "--nodes=2 --ntasks-per-node=4 --gres=gpu:4",
    "--nodes=2 --ntasks-per-node=1 --gpus-per-node=4",
    "--nodes=2 --gpus-per-node=4",
    "--nodes=1 --ntasks=4 --gpus=4",
    "--nodes=1 --ntasks=3 --gpus=2",
    "--nodes=2 --ntasks-per-node=1 --gpus=8",
    "--nodes=2 --ntasks-per-node=8 --gpus=16",
    "--nodes=2 --ntasks-per-node=4 --gpus-per-task=1",
    "--nodes=1 --ntasks=4 --gpus-per-task=2",
    "--nodes=2 --ntasks-per-node=2 --gpus-per-task=2 --gpu-bind=none",
    "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --gpu-bind=single:1",
    "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --gpu-bind=none",
    "--nodes=2 --gpus-per-node=4 --ntasks-per-gpu=1",
    "--nodes=1 --gpus=4 --ntasks-per-gpu=2",
    "--nodes=2 --ntasks-per-node=2 --exclusive",
    "--nodes=2 --ntasks-per-node=2 --exclusive --gpus-per-node=2",
    "--nodes=1 --ntasks=4",
    "--nodes=1 --ntasks=1 --gres=gpu:1",
)
STEPS = (
    "",
    "-n1",
    "-N1 -n2",
    "-n2 --ntasks-per-node=1",
    "--gpus-per-node=2",
    "-N1 --gpus-per-node=1",
    "--gpus-per-node=0",
    "--gpus-per-node=8",
    "--gres=gpu:2",
    "--gres=gpu:1",
    "--gres=gpu:0",
    "--gres=gpu",
    "--gres=gpu:8",
    "--gres=none",
    "--gpus=0",
    "--gpus=2",
    "--gpus=4",
    "--gpus=16",
    "--gpus-per-task=1",
    "--gpus-per-task=2",
    "--gpus-per-task=4",
    "-n1 --gpus=1",
    "-n1 --gpus-per-task=1",
    "-n2 --gpus-per-task=1",
    "--gpu-bind=none",
    "--gpu-bind=closest",
    "--gpu-bind=single:1",
    "--gpu-bind=single:2",
    "--gpu-bind=per_task:1",
    "--gpu-bind=per_task:2",
    "--gpu-bind=map_gpu:3,2,1,0",
    "--gpu-bind=mask_gpu:0x3,0xc",
    "--gpus-per-task=1 --gpu-bind=none",
    "--gpus-per-node=2 --gpus-per-task=1",
    "--overlap",
)

# What a script may set before an srun, and options beside it.
SETTINGS = (
    ("SLURM_GPUS_PER_NODE=2", ""),
    ("SLURM_GPUS_PER_NODE=2", "--gpus-per-node=1"),
    ("SLURM_GPUS_PER_NODE=2", "--gpus=2"),
    ("SLURM_GRES=gpu:1", ""),
    ("SLURM_GPUS_PER_TASK=1", ""),
    ("SLURM_GPU_BIND=single:1", ""),
    ("SLURM_GPUS=2", ""),
    ("-u SLURM_GPUS_PER_NODE", ""),
    ("-u SLURM_GPUS_PER_NODE", "--gpus-per-task=1"),
    ("-u SLURM_GPUS_PER_NODE SLURM_GPUS=2", ""),
)

# Jobs of which the script alone does not say how many GPUs each node has.
UNEVEN = (
    "--nodes=2 --ntasks-per-node=1 --gpus=8",
    "--nodes=2 --ntasks-per-node=2 --exclusive",
    "--nodes=1 --ntasks=4",
)


class Ran(NamedTuple):
    """The tasks of a step: their GPUs by node and number on the node. None of them: srun refused it."""

    tasks: dict[tuple[int, int], tuple[int, ...]]
    said: str


def head(options: str) -> str:
    return "#!/bin/bash\n" + "".join(f"#SBATCH {option}\n" for option in options.split())


def ran(output: str) -> list[Ran]:
    """What each step of a script did, in their order."""
    found = []
    for part in output.split("@@\n")[1:]:
        lines = part.splitlines()
        tasks = {}
        for node, local, devices in (line.split()[1:] for line in lines if line.startswith("@ ")):
            tasks[int(node), int(local)] = () if devices == "none" else tuple(map(int, devices.split(",")))
        found.append(Ran(tasks, "\n".join(line for line in lines if not line.startswith("@ "))))
    return found


def contradictions(gpus: StepGpus, real: Ran) -> list[str]:
    """Claims of the model that are not what ran."""
    found = []
    counts = {len(devices) for devices in real.tasks.values()}
    if gpus.per_task is not None and counts != {gpus.per_task}:
        found.append(f"each task sees {gpus.per_task}, but really {counts}")
    for (node, local), devices in real.tasks.items():
        seen = gpus.seen(local)
        if seen is not None and seen != devices:
            found.append(f"task {local} of node {node} sees {seen}, but really {devices}")
    return found


def compared(slurm: LocalSlurm, options: str, steps: Sequence[tuple[str, str]]) -> tuple[list[str], dict[bool, int]]:
    """What the model says wrong of steps, each by its variables and options, and of how many it knows the GPUs."""
    # One that has to wait for GPUs, which is not what is asked here, ends by itself.
    lines = [f"timeout 8 env {settings} srun --immediate=5 {step} {RECORD} 2>&1\n" for settings, step in steps]
    outcome = slurm.run(head(options) + "".join(f"echo @@\n{line}" for line in lines) + "exit 0\n")
    assert outcome.state == "COMPLETED", outcome
    # One job at a time, so that the GPUs of its nodes count from 0.
    wrong, known = [], {True: 0, False: 0}
    for (settings, step), real in zip(steps, ran(outcome.output), strict=True):
        job = job_of(f"{head(options)}env {settings} srun {step} {RECORD}\n", slurm.version)
        gpus = step_gpus(job, job.steps[0])
        if real.tasks:
            known[gpus.per_task is not None] += 1
            wrong += [f"{settings} srun {step}: {each}" for each in contradictions(gpus, real)]
            if too_many_gpus(job, job.steps[0]) is not None:
                wrong.append(f"{settings} srun {step} is not refused")
    return wrong, known


@pytest.mark.parametrize("options", JOBS)
def test_tasks_see_the_gpus_that_the_model_says(slurm: LocalSlurm, options: str) -> None:
    wrong, known = compared(slurm, options, [("", step) for step in STEPS])
    assert wrong == []
    # Silence does not pass for truth.
    assert 3 * known[True] >= known[False] or options in UNEVEN, known


@pytest.mark.parametrize("options", [JOBS[0], JOBS[4], JOBS[8]])
def test_variables_stand_for_options(slurm: LocalSlurm, options: str) -> None:
    wrong, known = compared(slurm, options, SETTINGS)
    assert wrong == []
    assert known[True] >= known[False], known
