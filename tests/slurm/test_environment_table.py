"""Slurm's table of variables against the environments of real jobs: nothing is missing, nothing is too much."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sbatchlint.slurm.environment import Entry, find, variables

from .conftest import selected
from .local_slurm import LocalSlurm
from .test_environment import read_environment

KINDS = ("SLURM", "SRUN", "CUDA_VISIBLE", "ROCR_VISIBLE", "GPU_DEVICE", "ZE_AFFINITY", "HOSTNAME", "ENVIRONMENT")
OPTIONS = (
    "",
    "--nodes=2",
    "--ntasks=4",
    "--nodes=2 --ntasks-per-node=2",
    "--nodes=2 --cpus-per-task=2",
    "--nodes=2 --gpus-per-node=8",
    "--nodes=2 --gres=gpu:4",
    "--nodes=1 --gpus=4",
    "--ntasks=4 --gpus-per-task=1",
    "--gpus-per-node=4 --cpus-per-gpu=2",
    "--gpus=4 --ntasks-per-gpu=1",
    "--ntasks=2 --ntasks-per-core=1",
    "--nodes=2 --ntasks-per-socket=2",
    "--threads-per-core=1",
    "--hint=nomultithread",
    "--mem=4G",
    "--array=3",
    "--distribution=cyclic",
    "--mem-bind=none",
    "--export=ALL,WORD=1",
)
Environment = Mapping[str, str]


def script_of(options: str, folder: Path) -> str:
    directives = "".join(f"#SBATCH {option}\n" for option in options.split())
    program = f"bash -c 'env -0 > {folder}/task.$SLURM_PROCID'"
    return f"#!/bin/bash\n{directives}env -0 > {folder}/batch\nsrun {program}\n"


@pytest.fixture(scope="module")
def folders(request: pytest.FixtureRequest, slurm: LocalSlurm) -> Mapping[str, Path]:
    found = {}
    for options in selected(request, "options"):
        found[options] = slurm.work / f"table{OPTIONS.index(options)}"
        found[options].mkdir()
    slurm.run_ahead(script_of(options, folder) for options, folder in found.items())
    return found


def expectation(entry: Entry, options: str, version: str, batch: bool) -> bool | None:
    """Whether the table says that a variable is there; None where it does not say."""
    if version not in (entry.batch if batch else entry.task):
        # a task inherits what the batch shell has, whatever it means there
        return None if not batch and version in entry.batch else False
    when = entry.when if batch else entry.task_when
    if when == "options":
        if f"--{entry.option}=" in options:
            return True
        # not all releases translate its other options
        return None if any(f"--{name}=" in options for name in entry.options) else False
    known = {"always": True, "gpus": "gpu" in options, "array": "--array" in options, "het": False, "requeue": False}
    return known.get(when)


def wrong(real: Environment, options: str, version: str, batch: bool) -> list[str]:
    """Variables that are there and should not be, or the other way round."""
    found = [name for name in real if name.startswith(KINDS) and find(name) is None]
    for entry in variables().values():
        expected = expectation(entry, options, version, batch)
        if expected is not None and expected != (entry.name in real):
            found.append(entry.name)
    return found


@pytest.mark.parametrize("options", OPTIONS)
def test_a_job_has_the_variables_of_the_table(slurm: LocalSlurm, options: str, folders: Mapping[str, Path]) -> None:
    outcome = slurm.run(script_of(options, folders[options]))
    assert outcome.state == "COMPLETED", outcome
    batch = read_environment(folders[options] / "batch")
    assert wrong(batch, options, slurm.version, batch=True) == []
    tasks = sorted(folders[options].glob("task.*"))
    assert tasks
    for path in tasks:
        assert wrong(read_environment(path), options, slurm.version, batch=False) == [], path.name
