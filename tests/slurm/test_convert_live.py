"""What `convert` makes runs on a real Slurm: its processes find each other, all of them, with the same words.

The programs and launchers are those of test_launchers_live.py. Neither pyxis nor Apptainer is installed: stand-ins
write down what they are told, and run on the node what would run in the container.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from convert_cases import CASES
from test_convert_beside import CASES as BESIDE
from test_convert_containers import CASES as CONTAINERS
from test_convert_containers import ENTERING
from test_convert_launchers import CASES as RARE
from test_convert_programs import CASES as PROGRAMS

from .conftest import selected
from .local_slurm import LocalSlurm, Unavailable
from .test_launchers_live import HERE, NODES, Run, interpreters, is_program, is_there, read_once

# What takes long to import; these run where SBATCHLINT_ALL_LAUNCHES is set.
EXTRA = ("lightning", "to-accelerate", "to-deepspeed")
RUNNING = {
    name: case
    for name, case in (CASES | CONTAINERS | BESIDE | PROGRAMS | RARE).items()
    if case.processes and (name not in EXTRA or "SBATCHLINT_ALL_LAUNCHES" in os.environ)
}
# One of each kind of start, whose program is a process group of torch (or Lightning's, or JAX's), and all-reduces ones.
COLLECTIVE = ("torchrun", "to-tasks", "accelerate", "deepspeed", "jax", *EXTRA)
IMAGE = "nvcr.io{}nvidia/pytorch:24.05-py3"
BIND = "{work}:/workspace{and}{home}/data:/data:ro{and}/etc:/host:ro"
# What the stand-ins are told: that for srun once, Apptainer's in each task.
TOLD = {
    "docker-to-pyxis": f"--container-image={IMAGE.format('#')} --container-mounts={BIND.replace('{and}', ',')} "
    "--container-workdir=/workspace --no-container-mount-home --container-env=HF_HOME,TAG,WANDB_MODE",
    "docker-to-apptainer": f"exec --nv --bind {BIND.replace('{and}', ' --bind ')} --pwd /workspace "
    f"--env HF_HOME=/data/hf --env TAG=a b docker://{IMAGE.format('/')}",
    "docker-with-a-shell": f"--container-image={IMAGE.format('#')} --container-mounts={{work}}:/w "
    "--container-workdir=/w --no-container-mount-home",
    "node-by-node": f"--container-image={IMAGE.format('#')} --container-mounts=/d:/d --no-container-mount-home "
    "--container-env=NNODES,MASTER_ADDR",
    "uv-pyxis": ENTERING,
    "swift-in-docker": f"--container-image={IMAGE.format('#')} --container-mounts=/d:/d --no-container-mount-home "
    "--container-env=NODE_RANK",
    "docker-entered": f"--container-image={IMAGE.format('#')} --container-mounts=/d:/d --container-workdir=/d "
    "--no-container-mount-home --container-env=TAG,HF_HOME",
    "beside-docker": f"--container-image={IMAGE.format('#')} --container-mounts={{work}}:/w --container-workdir=/w "
    "--no-container-mount-home",
    "uv-apptainer": "exec --nv -B /a:/b a.sif",
    "docker-of-arrays": "exec --nv --bind {work}:{work} --pwd {work} docker://nvcr.io/a/b",
    "pyxis": "--container-image=/images/train.sqsh --container-mounts=/data:/data",
    "apptainer": "exec --nv -B {work}:/work /images/train.sif",
    "apptainer-clean": "exec --cleanenv --nv a.sif",
}
# How often they are told it, where that is not once: in each task, and to bring an environment up to date.
TIMES = {"uv-apptainer": 3} | dict.fromkeys(
    ("docker-of-arrays", "apptainer", "apptainer-clean", "docker-to-apptainer", "uv-pyxis"), 2
)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    names = [name for name in selected(request, "name") if all(map(is_there, RUNNING[name].needs.split()))]
    if not names:
        pytest.skip("no launcher is installed: SBATCHLINT_LAUNCHERS names a virtual environment that has them")
    folder = tmp_path_factory.mktemp("converted")
    try:
        cluster = LocalSlurm(os.environ.get("SBATCHLINT_SLURM_PREFIX") or None, nodes=NODES, apart=True)
        cluster.start()
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        shutil.copytree(HERE / "programs", cluster.work, dirs_exist_ok=True)
        read_once(module for name in names for module in RUNNING[name].needs.split())
        found = {name: converted(folder, name, cluster) for name in names}
        cluster.run_ahead(run.script(interpreters()) for run in found.values())
        yield found
    finally:
        cluster.stop()


class Converted(Run):
    """A run that knows its cluster, and finds the stand-ins."""

    cluster: LocalSlurm

    def script(self, interpreters: Path, again: bool = False) -> str:
        found = super().script(interpreters, again)
        return found.replace("export PATH=", f"export REAL_SRUN=$(command -v srun) PATH={HERE}/containers:", 1)

    def told(self) -> list[str]:
        return [" ".join(path.read_text().splitlines()) for path in self.records.glob("*.container")]

    def totals(self) -> list[float | None]:
        """What an all-reduce of a one from each process gave each of them."""
        return [json.loads(path.read_text())["total"] for path in sorted(self.records.glob("*.met"))]


def converted(folder: Path, name: str, cluster: LocalSlurm) -> Run:
    case = RUNNING[name]
    path = folder / f"{name}.sbatch"
    if case.file is not None:
        # what a program only needs to say of itself for the conversion is there already, and does more
        place = cluster.work / case.file[0]
        if not place.exists():
            place.write_text(case.file[1])
    path.write_text(
        f"{with_program(name, case.after)}# right: plan 0; starts 0; processes {case.processes}; worlds 0; COMPLETED\n"
    )
    run = Converted(path, cluster.root)
    run.cluster = cluster
    return run


@pytest.mark.parametrize("name", RUNNING)
def test_what_was_converted_runs(runs: dict[str, Run], name: str, request: pytest.FixtureRequest) -> None:
    if name not in runs:
        pytest.skip(f"not installed: {RUNNING[name].needs}")
    run = runs[name]
    assert isinstance(run, Converted)
    outcome = run.outcome(run.cluster, request)
    programs = [each for each in run.started() if is_program(each)]
    assert outcome.state == "COMPLETED", outcome.output
    if name in COLLECTIVE:
        assert run.totals() == [RUNNING[name].processes] * RUNNING[name].processes, outcome.output
    told = TOLD.get(name, "").format(work=run.cluster.work, home=os.environ["HOME"])
    assert run.told() == [told] * (told != "") * TIMES.get(name, 1), outcome.output
    size, starts = RUNNING[name].processes, RUNNING[name].starts
    assert run.worlds() == [size] * starts, outcome.output
    assert len(programs) == size * starts, outcome.output
    words = {tuple(filter(is_own, each["argv"]))[1:] for each in programs}
    assert len(words) == (1 if starts == 1 else 2)
    assert all(" ".join(given) in case_words(name) for given in words), outcome.output


def with_program(name: str, script: str) -> str:
    return re.sub(r"(?<= )train\.py", "train_torch.py", script) if name in COLLECTIVE else script


def is_own(word: str) -> bool:
    """Whether a word of a program is written in the script, and not that of the interpreter or of DeepSpeed."""
    return word not in ("python", "-u") and not word.startswith("--local_rank=")


def case_words(name: str) -> str:
    """The script as it was, without quotes and continuations; Lightning is told of the nodes in the program's words."""
    before = with_program(name, RUNNING[name].before).replace("num_nodes 1", "num_nodes 2")
    return before.replace("'", "").replace('\\"', "").replace("\\\n", "")
