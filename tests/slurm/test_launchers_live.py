"""The real launchers on a real Slurm: what they start, and which processes find each other, is what plan says.

A script of `launchers/scripts` runs on two nodes that have a network each, so that a port, an address and 127.0.0.1
mean there what they mean on two machines. Below it stands whether it is right, which check finds it wrong, and what
comes of it:

    # right: plan 4; starts 2; processes 4; worlds 4; COMPLETED
    # wrong SB303: plan 4; starts 2; processes 4; worlds 2 2; COMPLETED
    # says: some pattern in the job's output

`plan`: the processes of all steps that the plan foresees. `starts`: how often the launcher really started (a program
without one: itself); `processes`: how many programs; `worlds`: how many of them found each other, world by world; then
the job's state. `2|4` is one or the other. What `hangs` does so for a few seconds, as its timeout is set here; a test
that failed runs again with more patience, as on a busy machine processes need longer to find each other.

The launchers are those of the environment that SBATCHLINT_LAUNCHERS names, or that runs this; scripts whose launcher
is not there are skipped. Those marked `extra` ask what others ask as well, in another way; they run where
SBATCHLINT_ALL_LAUNCHES is set, which takes half as long again.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sbatchlint.analysis.planning.steps import steps_of
from sbatchlint.engine import inspect
from sbatchlint.job import Job, Site
from sbatchlint.registry import registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

from .conftest import selected
from .local_slurm import LocalSlurm, Outcome, Unavailable
from .test_plan_live import best, groups_of, known, with_lines

HERE = Path(__file__).parent / "launchers"
EXTRA = "\n# extra\n"
SCRIPTS = sorted((HERE / "scripts").glob("*.sbatch"), key=lambda path: path.name)
NODES = 16
# How long processes wait for each other: where they never meet, where they do, and how many times that in a second try.
HANG_SECONDS, MEET_SECONDS, PATIENCE = 6, 20, 5
EXPECTED = re.compile(
    r"^# (right|wrong) ?(?P<codes>[\w ]*?)(?P<hangs>hangs)?: plan (?P<plan>.*); starts (?P<starts>\d+); "
    r"processes (?P<processes>[\d|]+); worlds (?P<worlds>.*); (?P<state>[\w|]+)$",
    re.MULTILINE,
)
SAYS = re.compile(r"^# says: (.*)$", re.MULTILINE)
PROGRAM = re.compile(r"(?:pre)?train\w*\.py|.*/sft\.py")
NEEDS = re.compile(r"^# needs: (.*)$", re.MULTILINE)

# mpirun does not run as root without these.
VARIABLES = ("OMP_NUM_THREADS=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")

Record = dict[str, Any]


class Run:
    """One script: what it is expected to do, where its processes write what they did, and how it is started."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.text = path.read_text()
        self.root = root / "records" / path.stem
        (expected,) = EXPECTED.finditer(self.text)
        self.expected = expected.groupdict()
        self.right = expected.group(1) == "right"
        self.codes = self.expected["codes"].split()

    def script(self, interpreters: Path, again: bool = False) -> str:
        """The script with what it needs here; `again`: it has failed, and gets more time."""
        hangs = self.expected["hangs"]
        seconds = (HANG_SECONDS if hangs else MEET_SECONDS) * (PATIENCE if again else 1)
        return with_lines(
            self.text,
            f"export PATH={interpreters}:$PATH PYTHONPATH=$PWD/site:$PWD {' '.join(VARIABLES)}",
            f"export SBATCHLINT_RECORDS={self.root}/$SLURM_JOB_ID MEET_SECONDS={seconds}",
            'mkdir -p "$SBATCHLINT_RECORDS"',
            *([f"export PET_RDZV_CONF=timeout={seconds},join_timeout={seconds}"] if hangs else []),
        )

    def outcome(self, cluster: LocalSlurm, request: pytest.FixtureRequest) -> Outcome:
        """Runs the script, and knows from then on what this job wrote down."""
        again = getattr(request.node, "execution_count", 1) > 1
        found = cluster.run(self.script(interpreters(), again))
        self.records = self.root / found.job
        return found

    def started(self) -> list[Record]:
        """Every launcher and program that started; what a launcher starts to start its workers is left out."""
        found = [json.loads(path.read_text()) for path in sorted(self.records.glob("*.start"))]
        parents = {each["parent"] for each in found}
        parent_of = {f"{each['node']}:{each['pid']}": each["parent"] for each in found}
        between = {name for name, parent in parent_of.items() if parent is not None and name in parents}
        for process in found:
            while process["parent"] in between:
                process["parent"] = parent_of[process["parent"]]
        return [each for each in found if f"{each['node']}:{each['pid']}" not in between]

    def worlds(self) -> list[int]:
        """The sizes of the groups of processes that found each other."""
        met = [json.loads(path.read_text())["met"] for path in sorted(self.records.glob("*.met"))]
        return sorted((len(names) for names in {tuple(names) for names in met if names}), reverse=True)


def is_program(record: Record) -> bool:
    argv = record["argv"]
    return argv[0].startswith("python") and argv[1] != "-m" and any(PROGRAM.fullmatch(word) for word in argv[1:4])


# --- the launchers -------------------------------------------------------------------------------


def interpreters() -> Path:
    """The folder of the Python that has the launchers, and of their commands."""
    given = os.environ.get("SBATCHLINT_LAUNCHERS")
    return Path(given) / "bin" if given else Path(sys.executable).parent


@cache
def is_there(name: str) -> bool:
    """Whether there is such a module, such a command or such a library."""
    if ".so" in name:
        try:
            ctypes.CDLL(name)
        except OSError:
            return False
        return True
    python = interpreters() / "python"
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    module = python.exists() and subprocess.run([python, "-c", code, name], capture_output=True).returncode == 0
    return module or shutil.which(name) is not None


def needed(path: Path) -> list[str]:
    """The modules, commands and libraries of a script."""
    return [name for names in NEEDS.findall(path.read_text()) for name in names.split()] or ["torch"]


def missing(path: Path) -> list[str]:
    """What a script needs and is not there."""
    if EXTRA in path.read_text() and "SBATCHLINT_ALL_LAUNCHES" not in os.environ:
        return ["SBATCHLINT_ALL_LAUNCHES"]
    return [name for name in needed(path) if not is_there(name)]


def read_once(names: Iterable[str]) -> None:
    """Imports what there is of some modules: a dozen jobs that read torch from a cold disk together take minutes."""
    for name in sorted(set(names)):
        subprocess.run([interpreters() / "python", "-c", f"import {name}"], capture_output=True)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[tuple[LocalSlurm, dict[Path, Run]]]:
    paths = [path for path in selected(request, "path") if not missing(path)]
    if not paths:
        pytest.skip("no launcher is installed: SBATCHLINT_LAUNCHERS names a virtual environment that has them")
    try:
        cluster = LocalSlurm(os.environ.get("SBATCHLINT_SLURM_PREFIX") or None, nodes=NODES, apart=True)
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        try:
            cluster.start()
        except Unavailable as error:
            pytest.skip(f"no Slurm: {error}")
        shutil.copytree(HERE / "programs", cluster.work, dirs_exist_ok=True)
        read_once(name for path in paths for name in needed(path))
        found = {path: Run(path, cluster.root) for path in paths}
        # Each process of pytest-xdist has all tests before it, and runs some.
        if "PYTEST_XDIST_WORKER" not in os.environ:
            cluster.run_ahead(run.script(interpreters()) for run in found.values())
        yield cluster, found
    finally:
        cluster.stop()


# --- the test ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_launcher_does_what_is_said(
    runs: tuple[LocalSlurm, dict[Path, Run]], path: Path, request: pytest.FixtureRequest
) -> None:
    cluster, of_path = runs
    if path not in of_path:
        pytest.skip(f"not installed, or not set: {', '.join(missing(path))}")
    run = of_path[path]
    outcome = run.outcome(cluster, request)
    source = Source(run.text, "job.sbatch")
    steps = steps_of(Job.from_source(source, Site(slurm_versions=(cluster.version, cluster.version))))
    started = run.started()
    programs = [each for each in started if is_program(each)]
    names = {f"{each['node']}:{each['pid']}" for each in started}
    planned = [step["processes"] for step in steps]
    really = {
        "plan": known([None if None in planned else sum(planned)]),
        "starts": str(sum(each["parent"] not in names for each in started)),
        "processes": str(len(programs)),
        "worlds": " ".join(map(str, run.worlds())) or "-",
        "state": outcome.state,
    }
    unlike = {name: said for name, said in really.items() if said not in run.expected[name].split("|")}
    assert not unlike, outcome.output
    for pattern in SAYS.findall(run.text):
        assert re.search(pattern, outcome.output), outcome.output
    if run.right:
        assert differences_of(steps, started) == [], outcome.output


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_checks_say_what_the_launcher_does(path: Path, tmp_path: Path) -> None:
    run = Run(path, tmp_path)
    found = findings(Source(run.text, "job.sbatch"))
    if run.right:
        assert found == set()
    assert found >= {code for code in run.codes if registry().find(code)}


def differences_of(steps: list[dict[str, Any]], started: list[Record]) -> list[str]:
    """Where the plan is not what ran; of what mpirun and deepspeed start in steps of their own the number counts."""
    if any(step["command"] not in ("srun", None) for step in steps):
        return [] if sum(step["tasks"] or 0 for step in steps) == len(started) else [f"{len(started)} processes"]
    in_steps = [each for each in started if "SLURM_STEP_NUM_TASKS" in each["environment"]]
    in_batch = {f"{each['node']}:{each['pid']}" for each in started if each not in in_steps}
    for process in started:
        if process["parent"] in in_batch:
            process["environment"].pop("SLURM_STEP_NUM_TASKS", None)
    return best(steps, groups_of(started))


def findings(source: Source) -> set[str]:
    """The faults that the checks find in a script."""
    found = inspect(source, Settings.of_table({})).diagnostics
    return {each.code for each in found if each.severity != "info"}
