"""Conversions in real bash, with stubs for srun and the launchers: words, environment and ranks of each task.

What bash makes of a script has to be what its plan says, and the words of the programs have to be the same before and
after. The evaluator, on which plan and proof rest, has no part in the second.
"""

from __future__ import annotations

import json
import random
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from convert_cases import CASES, Case
from stubbed import Record, run
from test_convert_beside import CASES as BESIDE
from test_convert_containers import CASES as CONTAINERS
from test_convert_launchers import CASES as RARE
from test_convert_programs import CASES as PROGRAMS

ALL = CASES | CONTAINERS | BESIDE | PROGRAMS | RARE
# Words that a conversion adds or changes on purpose.
CHANGED = (
    "--local_rank=", "num_nodes", "trainer.devices", "--num-processes", "--num_processes", "--machine-rank",
    "--num-machines", "--dist-url", "--distributed-port",
)  # fmt: skip
# Variables of the ranks and the rendezvous, which a task's environment has to hold as the plan says.
DRAWN = 60
VARIABLES = ("NODE_RANK", "PET_NODE_RANK", "RANK", "LOCAL_RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES")


def tasks_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks of a plan's steps that run what a stub stands for, each with its step."""
    tasks = [task | {"step": step} for step in plan["steps"] for task in step["by_task"] or ()]
    return [each for each in tasks if (each["argv"] or [""])[0] not in ("cp", "mkdir", "uv")]


def is_like(words: list[str], argv: list[str | None]) -> bool:
    """Whether words are those of the plan, in which None is one that is not known, or several or none."""
    if not argv:
        return not words
    if argv[0] is None:
        return any(is_like(words[at:], argv[1:]) for at in range(len(words) + 1))
    return bool(words) and words[0] == argv[0] and is_like(words[1:], argv[1:])


def is_planned(record: Record, task: dict[str, Any]) -> bool:
    known = {name: task["variables"][name] for name in VARIABLES if name in task["variables"]}
    argv = task["argv"]  # None where it differs between the values of a variable
    return (argv is None or is_like(record.argv[1:], argv[1:])) and known.items() <= record.environment.items()


def program_words(record: Record, programs: set[str]) -> tuple[str, ...]:
    """The words of a program from its name on, without those that a conversion adds or changes."""
    argv = [f"./{Path(record.argv[0]).name}", *record.argv[1:]]
    at = next((at for at, word in enumerate(argv) if word in programs), 0)
    pairs = list(pairwise(["", *argv[at:]]))
    return tuple(
        word for last, word in pairs if not any(each in f"{last.partition('=')[0]} {word}" for each in CHANGED)
    )


def check(folder: Path, before: str, after: str, was: dict[str, Any], made: dict[str, Any]) -> list[Record]:
    """Raises `AssertionError` unless both scripts do the same in bash, and the second what its plan says."""
    records, tasks = run(after, folder, made), tasks_of(made)
    for record in records:
        assert any(is_planned(record, task) for task in tasks), (record.argv, [each["argv"] for each in tasks])
    for task in tasks:
        if "conditional" not in task["step"]:
            assert any(is_planned(record, task) for record in records), task
    if not any(name in step for step in made["steps"] for name in ("conditional", "repeated")):
        assert len(records) == len(tasks)
    programs = {each["program"].split()[-1] for each in was["steps"] if each["program"]}
    old = dict.fromkeys(program_words(each, programs) for each in run(before, folder, was))
    assert list(old) == list(dict.fromkeys(program_words(each, programs) for each in records))
    return records


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line over the real checks, in the folder in which the scripts run."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return Command(work, capsys, monkeypatch)


@pytest.mark.parametrize("name", ALL)
def test_conversion_in_bash(command: Command, tmp_path: Path, name: str) -> None:
    case: Case = ALL[name]
    command.write("job.sh", case.before)
    if case.file is not None:
        command.write(*case.file)
    made = json.loads(command("convert", *case.options.split(), "--output-format", "json", "job.sh").out)
    check(tmp_path, case.before, made["script"], made["before"], made["after"])


LAUNCHERS = (
    "torchrun --nproc_per_node=2 train.py", "NPROC_PER_NODE=2 swift sft",
    "accelerate launch --num_processes 2 train.py",
    "deepspeed --num_gpus=2 train.py", "python -m torch.distributed.run --nproc-per-node 2 -m pkg.train",
    "mpirun -np 2 ./solve", "torchrun --nproc_per_node 2 --standalone train.py",
)  # fmt: skip
WORDS = (
    "--lr 1",
    "--name 'a b'",
    '"it\'s"',
    "'say \"x\"'",
    "'$HOME'",
    '"$HOME/x y"',
    "\\$x",
    "'a;b' '*'",
    '"$X"',
    "''",
    "'a\nb'",
)
TARGETS = ("", "", "", "--to srun", "--to torchrun", "--to accelerate", "--to deepspeed")


def in_double(string: str) -> str:
    for letter in '\\"$`':
        string = string.replace(letter, f"\\{letter}")
    return f'"{string}"'


def in_shells(draw: random.Random, command: str) -> str:
    """A command within shells, containers and other wrappers of a drawn depth and with drawn quotes."""
    for _ in range(draw.randrange(4)):
        shell = draw.choice(("bash -c", "bash -ec", "sh -c", "eval", "words", "apptainer", "pyxis", "cd"))
        quote = draw.choice((in_double, shlex.quote))
        if shell in ("words", "apptainer"):
            start = "bash -c 'exec \"$@\"' bash" if shell == "words" else "apptainer exec --nv a.sif"
            command = command if command.startswith(("cd ", "eval ")) else f"{start} env {command}"
        elif shell == "pyxis" and "srun" not in command:
            command = f"srun -N1 -n1 --container-image=/a.sqsh bash -c {quote(command)}"
        elif shell == "cd":
            command = f"cd . && {command}"
        elif shell != "pyxis":
            command = f"{shell} {quote(command)}"
    return command


@pytest.mark.parametrize("seed", range(DRAWN))
def test_shells_quotes_and_depth(command: Command, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    line = " ".join([draw.choice(LAUNCHERS), *draw.sample(WORDS, draw.randrange(4))])
    script = f"#!/bin/bash\n#SBATCH --gpus-per-node=2 -c 8 -t 5\nexport X='p q'\n{in_shells(draw, line)}\n"
    command.write("job.sh", script)
    result = command("convert", "--nodes", "2", *draw.choice(TARGETS).split(), "--output-format", "json", "job.sh")
    made = json.loads(result.out)
    assert result.code in (0, 1, 4), result.err
    if made["converted"]:
        check(tmp_path, script, made["script"], made["before"], made["after"])
