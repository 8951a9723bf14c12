"""Conversions in real bash that leave something to do, and drawn ones; see in_bash.py for all others."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

import in_bash
from convert_cases import CASES, Case
from in_bash import Converting, check
from test_convert_beside import CASES as BESIDE
from test_convert_containers import CASES as CONTAINERS
from test_convert_launchers import CASES as RARE
from test_convert_programs import CASES as PROGRAMS

command = in_bash.command
# Those that leave something to do: all others run in bash wherever a test converts them.
ALL = CASES | CONTAINERS | BESIDE | PROGRAMS | RARE
DRAWN = 60


@pytest.mark.parametrize("name", [name for name, case in ALL.items() if case.code])
def test_conversion_in_bash(command: Converting, tmp_path: Path, name: str) -> None:
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
def test_shells_quotes_and_depth(command: Converting, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    line = " ".join([draw.choice(LAUNCHERS), *draw.sample(WORDS, draw.randrange(4))])
    script = f"#!/bin/bash\n#SBATCH --gpus-per-node=2 -c 8 -t 5\nexport X='p q'\n{in_shells(draw, line)}\n"
    command.write("job.sh", script)
    result = command("convert", "--nodes", "2", *draw.choice(TARGETS).split(), "--output-format", "json", "job.sh")
    made = json.loads(result.out)
    assert result.code in (0, 1, 4), result.err
    if result.code == 1:
        check(tmp_path, script, made["script"], made["before"], made["after"])
