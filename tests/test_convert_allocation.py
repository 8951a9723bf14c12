"""`convert` of an srun that gets an allocation of its own: what it asks goes to the option block."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

START = "torchrun --standalone --nproc_per_node=8 train.py"
GOAL = ("--nodes", "2", "--cpus-per-node", "8", "--set", "time=5")


@pytest.mark.parametrize(
    ("options", "block"),
    [
        ("--partition=a --gres=gpu:8", ["gpus-per-node=8", "partition=a"]),
        ("-p a -A b --qos c -C d -x node3 --gpus-per-node=8", ["account=b", "constraint=d", "exclude=node3", "qos=c"]),
        ("--exclusive --mem 100G --gres=gpu:h100:8", ["exclusive", "mem=100G", "gpus-per-node=h100:8"]),
        ("-t 1:00:00 --gpus=8 --cpus-per-gpu=4 --reservation=r", ["reservation=r", "gpus-per-node=8", "time=5"]),
        ("--mem-per-cpu=4G --mail-user=a@b.c --mail-type=ALL --comment x", ["mem-per-cpu=4G", "mail-type=ALL"]),
    ],
)
def test_what_it_asks_goes_to_the_option_block(command: Converting, options: str, block: list[str]) -> None:
    command.write("job.sh", f"#!/bin/bash\nsrun {options} {START}\n")
    result = command("convert", *GOAL, "job.sh")
    assert result.code == 0, (result.out, result.err)
    assert all(f"#SBATCH --{each}\n" in result.out for each in block), result.out
    assert 'srun --cpus-per-task="$SLURM_CPUS_PER_TASK" bash -c' in result.out, result.out


@pytest.mark.parametrize(
    ("lines", "partition"),
    [
        (f"PARTITION=a\nsrun -p $PARTITION --gres=gpu:8 {START}", "a"),
        (f"srun -p a --gres=gpu:8 {START}\nsrun -p a --gres=gpu:8 {START}", "a"),
    ],
)
def test_one_value(command: Converting, lines: str, partition: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n{lines}\n")
    result = command("convert", *GOAL, "job.sh")
    assert result.code == 0 and f"#SBATCH --partition={partition}\n" in result.out, (result.out, result.err)


@pytest.mark.parametrize(
    "lines",
    [
        f"srun -p $PARTITION --gres=gpu:8 {START}",
        f"srun -p a --gres=gpu:8 {START}\nsrun -p b --gres=gpu:8 {START}",
        f"srun --mem=$MEMORY --gres=gpu:8 {START}",
        f"srun --gres=gpu:8,nvme:1 {START}",
    ],
)
def test_what_cannot_go_there_is_a_todo(command: Converting, lines: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n{lines}\n")
    result = command("convert", *GOAL, "job.sh")
    assert result.code == 1 and "repaired" not in result.err, (result.out, result.err)


def test_an_srun_of_a_job_keeps_its_own_options(command: Converting) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH --gres=gpu:8 -c 8 -t 5\nsrun -t 3 --exclusive {START}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "-t 3 --exclusive bash" in result.out, (result.out, result.err)


def test_nodes_of_its_own_choice(command: Converting) -> None:
    command.write("job.sh", f"#!/bin/bash\nsrun -w node1 --gres=gpu:8 {START}\n")
    result = command("convert", *GOAL, "job.sh")
    assert result.code == 4 and "--nodelist" in result.err, result.err
