"""`plan` against running jobs: tasks and processes on each node, words after all quoting, and ranks.

Each script of `scripts/` runs on four nodes with stand-ins for python and the launchers (`programs/stand_in.py`), which
write down what they received. Its last line says what the plan has to know, so that silence does not pass for truth:
`tasks` and `processes` of each step (`?`: not known), and how many words of the steps' commands are not (`-`: any);
of several such lines the last one that holds for the release counts.
Scripts named `login-…` run on the login node, and submit a job.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from sbatchlint.analysis.planning.steps import steps_of
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source

from .conftest import selected
from .local_slurm import LocalSlurm, Outcome, Unavailable

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE / "scripts").glob("*.sbatch"), key=lambda path: path.name)
STAND_IN = HERE / "programs" / "stand_in.py"
PROGRAMS = ("python", "python3", "torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec")
NODES = 4
# What deepspeed and torch.distributed.launch put before or behind the words of a program.
LOCAL_RANK = re.compile(r"--local[-_]rank=\d+")
EXPECTED = re.compile(r"^# expect(?: since (\S+))?: tasks (.*); processes (.*); unknown (.*)$", re.MULTILINE)

Record = dict[str, Any]
Step = dict[str, Any]


class Folder:
    """The folder of one script: its programs, and what they write."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = root / path.stem
        # A job that Slurm gives up runs again, and what it had written until then is not wanted.
        first = f"rm -rf {self.path / 'records'}", f"export PATH={self.path / 'bin'}:$PATH"
        self.script = with_lines(path.read_text(), *first)
        self.on_login_node = path.stem.startswith("login-")

    def install(self) -> None:
        (self.path / "bin").mkdir(parents=True)
        text = f"#!{sys.executable}\n{STAND_IN.read_text()}"
        for name in PROGRAMS:
            program = self.path / "bin" / name
            program.write_text(text)
            program.chmod(0o755)

    def records(self) -> list[Record]:
        return [json.loads(path.read_text()) for path in sorted((self.path / "records").glob("*.json"))]


def with_lines(script: str, *more: str) -> str:
    """The script with commands put before its own, behind its directives."""
    lines = script.split("\n")
    at = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    return "\n".join([*lines[:at], *more, *lines[at:]])


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalSlurm]:
    try:
        found = LocalSlurm(os.environ.get("SBATCHLINT_SLURM_PREFIX") or None, nodes=NODES)
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        try:
            found.start()
        except Unavailable as error:
            pytest.skip(f"no Slurm: {error}")
        folders = [Folder(found.work, path) for path in selected(request, "path")]
        for folder in folders:
            folder.install()
        found.run_ahead(folder.script for folder in folders if not folder.on_login_node)
        yield found
    finally:
        found.stop()


def run(cluster: LocalSlurm, folder: Folder) -> Outcome | str:
    if not folder.on_login_node:
        return cluster.run(folder.script)
    environment = {**cluster._environment(), "SBATCH_WAIT": "1"}
    done = subprocess.run(["bash", "-c", folder.script], cwd=folder.path, env=environment, capture_output=True,
                          text=True, timeout=90)  # fmt: skip
    return done.stdout + done.stderr + "".join(path.read_text() for path in folder.path.glob("*.out"))


# --- what ran ------------------------------------------------------------------------------------


class Ran:
    """What one step started, or the batch shell (`step` None).

    `tasks`: the records of each task that no other stand-in started. `layout`: how many tasks each node had, by Slurm's
    own count.
    """

    def __init__(self, step: str | None, records: list[Record]) -> None:
        self.step = step
        self.records = records
        self.tasks: dict[int, list[Record]] = {}
        by_process = {f"{each['node']}:{each['pid']}": each for each in records}
        self.children: dict[str, list[Record]] = {}
        for record in records:
            if record["parent"] in by_process:
                self.children.setdefault(record["parent"], []).append(record)
            else:
                self.tasks.setdefault(int(record["environment"].get("SLURM_PROCID", 0)), []).append(record)
        environment = records[0]["environment"]
        self.layout = numbers(environment["SLURM_STEP_TASKS_PER_NODE"]) if step is not None else [1]

    def workers(self, record: Record) -> list[Record]:
        found = self.children.get(f"{record['node']}:{record['pid']}", [])
        return sorted(found, key=lambda each: int(each["environment"].get("LOCAL_RANK", 0)))


def numbers(text: str) -> list[int]:
    """`2(x3),1` is 2, 2, 2, 1."""
    found = []
    for item in text.split(","):
        number, _, times = item.rstrip(")").partition("(x")
        found.extend([int(number)] * int(times or 1))
    return found


def groups_of(records: list[Record]) -> list[Ran]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        environment = record["environment"]
        step = environment.get("SLURM_STEP_ID", "")
        inside = "SLURM_STEP_NUM_TASKS" in environment
        key = (environment.get("SLURM_JOB_ID", ""), step if inside else "")
        if environment.get("SLURM_HET_SIZE") and inside:
            key = (key[0], f"{step}/{environment['SLURM_STEP_TASKS_PER_NODE']}")
        groups.setdefault(key, []).append(record)
    mpi = {f"{e['node']}:{e['pid']}": e for e in records if e["program"].startswith("mpi")}
    for key, found in list(groups.items()):
        # what mpirun starts on other nodes is a step of its own
        if any(each["parent"] in mpi for each in found) and not any(each in mpi.values() for each in found):
            groups.setdefault((key[0], ""), []).extend(found)
            del groups[key]
    return [Ran(step or None, groups[key]) for key in sorted(groups) for step in (key[1],)]


# --- comparison ----------------------------------------------------------------------------------


def matches(argv: list[str | None], real: list[str]) -> bool:
    """Whether known words are the real ones; an unknown word may be any, or several."""
    pattern = "".join("(?:[^\0]*\0)*?" if word is None else re.escape(word) + "\0" for word in argv)
    return re.fullmatch(pattern, "".join(word + "\0" for word in real), re.DOTALL) is not None


def same_command(argv: list[str | None] | None, record: Record) -> bool:
    return argv is None or matches([None if argv[0] is None else os.path.basename(argv[0]), *argv[1:]], record["argv"])


def differences(step: Step, ran: Ran) -> list[str]:
    """Where the plan of a step is not what ran."""
    found = []
    if step["command"] == "srun":
        real = {"nodes": len(ran.layout), "tasks": sum(ran.layout)}
        real["tasks_per_node"] = ran.layout[0] if len(set(ran.layout)) == 1 else ran.layout  # type: ignore[assignment]
        found += [f"{k}: {step[k]}, but really {v}" for k, v in real.items() if step[k] is not None and step[k] != v]
        if (ran.step is None) is not False:
            found.append("it is no step")
    elif ran.step is not None:
        found.append("it is a step")
    tops = [record for records in ran.tasks.values() for record in records]
    launcher = step["launcher"]
    if launcher is not None:
        found += launcher_differences(step, ran, tops)
    if step["argv"] is not None and launcher is None and step["command"] == "srun":
        if not any(same_command(step["argv"], record) for record in tops):
            found.append(f"{step['argv']}, but really {[record['argv'] for record in tops]}")
    if step["gpus_per_task"] is not None:
        devices = [each["environment"].get("CUDA_VISIBLE_DEVICES", "") for each in tops]
        seen = {len(each.split(",")) if each else 0 for each in devices}
        if seen != {step["gpus_per_task"]}:
            found.append(f"gpus_per_task: {step['gpus_per_task']}, but really {seen}")
    for top in tops:
        place = (top["environment"].get("SLURM_NODEID"), top["environment"].get("SLURM_LOCALID"))
        for task in step["by_task"] or []:
            if task["gpus"] and (str(task["node"]), str(task["local"])) == place:
                # Jobs run side by side here, so that their GPUs do not count from 0; see test_gpus.
                real_gpus = top["environment"].get("CUDA_VISIBLE_DEVICES", "").split(",")
                if len(real_gpus) != len(task["gpus"]):
                    found.append(f"GPUs of task {task['task']}: {task['gpus']}, but really {real_gpus}")
    if step["command"] not in ("srun", None):
        workers = [each for record in tops for each in ran.workers(record)]
        if step["processes"] not in (None, len(workers)):
            found.append(f"processes: {step['processes']}, but really {len(workers)}")
        on_nodes = Counter(each["node"] for each in workers)
        if step["tasks_per_node"] is not None and set(on_nodes.values()) != {step["tasks_per_node"]}:
            found.append(f"tasks_per_node: {step['tasks_per_node']}, but really {on_nodes}")
    elif step["processes"] is not None:
        real_processes = sum(len(ran.workers(record)) or 1 for record in relevant(step, tops))
        if step["processes"] != real_processes:
            found.append(f"processes: {step['processes']}, but really {real_processes}")
    for task in step["by_task"] or []:
        found += task_differences(task, ran)
    return found


def relevant(step: Step, tops: list[Record]) -> list[Record]:
    """The records of the commands that the step is about; all of them where tasks differ."""
    commands = [task["argv"] for task in step["by_task"] or [] if task["argv"]]
    chosen = [record for record in tops if any(same_command(argv, record) for argv in commands)]
    return chosen or tops


def launcher_differences(step: Step, ran: Ran, tops: list[Record]) -> list[str]:
    found = []
    launcher = step["launcher"]
    started = [record for record in tops if same_command(launcher["argv"], record)]
    if not started:
        return [f"{launcher['argv']}, but really {[record['argv'] for record in tops]}"]
    for record in started:
        workers = ran.workers(record)
        count = launcher["processes_per_task"]
        if count is not None and count != len(workers):
            found.append(f"processes_per_task: {count}, but really {len(workers)}")
        for worker in workers:
            words, real = step["argv"], [word for word in worker["argv"] if not LOCAL_RANK.fullmatch(word)]
            if words and not any(matches(words, real[at:]) for at in range(len(real))) and launcher["kind"] != "swift":
                found.append(f"{words}, but really {worker['argv']}")
            size = worker["environment"].get("WORLD_SIZE")
            if launcher["nnodes"] and size and int(size) != launcher["nnodes"] * len(workers):
                found.append(f"nnodes: {launcher['nnodes']}, but WORLD_SIZE={size}")
    return found


def task_differences(task: Step, ran: Ran) -> list[str]:
    name = f"task {task['task']}"
    if task["argv"] is None:
        idle = task["processes"] == []
        return [f"{name} runs {ran.tasks[task['task']]}"] if idle and task["task"] in ran.tasks else []
    records = [record for record in ran.tasks.get(task["task"], []) if same_command(task["argv"], record)]
    if not records:
        real = [record["argv"] for record in ran.tasks.get(task["task"], [])]
        return [f"{name}: {task['argv']}, but really {real}"]
    (record, *_) = records
    environment = record["environment"]
    found = [f"{name}: {variable}={value}, but really {environment.get(variable)!r}"
             for variable, value in task["variables"].items() if environment.get(variable) != value]  # fmt: skip
    real_place = {"node": "SLURM_NODEID", "local": "SLURM_LOCALID"}
    for key, variable in real_place.items():
        if task[key] is not None and str(task[key]) != environment[variable]:
            found.append(f"{name}: {key} {task[key]}, but really {environment[variable]}")
    workers = ran.workers(record)
    if task["processes"] is None or not workers and task["processes"] == [{}]:
        return found
    if len(task["processes"]) != (len(workers) or 1):
        return [*found, f"{name}: {len(task['processes'])} processes, but really {len(workers)}"]
    for ranks, worker in zip(task["processes"], workers):
        for variable, value in ranks.items():
            if worker["environment"].get(variable) != value:
                found.append(f"{name}: {variable}={value}, but really {worker['environment'].get(variable)!r}")
    return found


def best(steps: list[Step], groups: list[Ran]) -> list[str]:
    """The disagreements that are left when each step is held against what it most likely started.

    Background steps may start in any order; one that may not run can be left out, one in a loop may run several times.
    """
    loose = any(step["background"] or step.get("conditional") or step.get("repeated") for step in steps)
    certain = [step for step in steps if not step.get("conditional")]
    if not loose or len(groups) > 6:
        if len(steps) != len(groups):
            return [f"{len(steps)} steps, but really {len(groups)}"]
        return [each for step, ran in zip(steps, groups) for each in differences(step, ran)]
    found: list[str] | None = None
    for order in permutations(groups):
        left = list(order)
        faults: list[str] = []
        for step in steps:
            if not left and step.get("conditional"):
                continue
            if not left:
                faults.append("a step did not run")
                break
            own = differences(step, left[0])
            if own and step.get("conditional"):
                continue
            faults += own
            del left[0]
            while left and step.get("repeated") and not differences(step, left[0]):
                del left[0]
        faults += [f"not foreseen: {ran.records[0]['argv']}" for ran in left]
        if found is None or len(faults) < len(found):
            found = faults
        if not found:
            break
    return found if found is not None else ["nothing ran"] * bool(certain)


# --- the test --------------------------------------------------------------------------------------


def unknown_words(step: Step) -> int:
    words = (step["launcher"] or step)["argv"] or [None]
    return sum(word is None for word in words)


def known(numbers_of_steps: list[int | None]) -> str:
    return " ".join("?" if number is None else str(number) for number in numbers_of_steps)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_plan_is_what_runs(cluster: LocalSlurm, path: Path) -> None:
    folder = Folder(cluster.work, path)
    name = "submit.sh" if folder.on_login_node else "job.sbatch"
    job = Job.from_source(Source(folder.script, name), Site(slurm_versions=(cluster.version, cluster.version)))
    jobs = job.submits if folder.on_login_node else [job]
    steps = [step for each in jobs for step in steps_of(each)]
    outcome = run(cluster, folder)
    records = folder.records()
    assert records, str(outcome)

    started = [step for step in steps if "refused" not in step and uses_stand_in(step)]
    assert best(started, groups_of(records)) == [], str(outcome)
    expected = [each for each in EXPECTED.findall(folder.script) if not each[0] or cluster.version >= each[0]]
    _, tasks, processes, unknown = expected[-1]
    assert known([step["tasks"] for step in steps]) == tasks
    assert known([step["processes"] for step in steps]) == processes
    if unknown != "-":
        assert sum(map(unknown_words, steps)) == int(unknown), [(step["launcher"] or step)["argv"] for step in steps]


def uses_stand_in(step: Step) -> bool:
    """Whether what the step starts writes a record: `srun hostname` does not."""
    words = (step["launcher"] or step)["argv"]
    return not words or words[0] is None or os.path.basename(words[0]) in (*PROGRAMS, "xargs")
