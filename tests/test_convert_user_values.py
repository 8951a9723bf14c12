"""`convert` keeps what a user may set, and what had no effect on one node does none on several; all in real bash."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
RUN = "-m torch.distributed.run --nproc_per_node=2 train.py --lr 1"
NAMED = {
    "python": (f"PYTHON=${{PYTHON:-python}}\n$PYTHON {RUN}", "bash $PYTHON -m torch.distributed.run"),
    "quoted": ('ACC=${BIN:-"accelerate"}\n"$ACC" launch --multi_gpu --num_processes 2 train.py', 'bash "$ACC" launch'),
    "torchrun": ("T=${T:-torchrun}\n${T} --nproc_per_node=2 train.py", "${T}"),
}
UNREAD = {
    "too-great": "torchrun --standalone --nproc_per_node=2 --master_port=85000 train.py",
    "of-variable": "PORT=85000\ntorchrun --standalone --nproc_per_node=2 --master_port=$PORT train.py",
    "unknown": "torchrun --standalone --nproc_per_node=2 --master_port=$P train.py",
}
LIGHTNING = {
    "hydra": ("trainer.devices=2 trainer.max_steps=9", 'trainer.devices=2 trainer.num_nodes="$SLURM_JOB_NUM_NODES"'),
    "option": ("fit --trainer.devices 2", '--trainer.devices 2 --trainer.num_nodes "$SLURM_JOB_NUM_NODES"'),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_launcher_that_the_user_may_name_stays_a_variable(command: Converting, name: str) -> None:
    script, kept = NAMED[name]
    command.write("job.sh", f"{HEADER}{script}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and kept in result.out.splitlines()[-1], result.out + result.err


def test_a_launcher_that_the_user_may_name_is_told_where_another_one_replaces_it(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}{NAMED['python'][0]}\n")
    result = command("convert", "--nodes", "2", "--to", "srun", "job.sh")
    assert result.code == 1 and "$PYTHON is written as python: see that it is not set to another" in result.err


@pytest.mark.parametrize("name", UNREAD)
def test_a_port_without_effect_becomes_one_of_the_job(command: Converting, name: str) -> None:
    command.write("job.sh", f"{HEADER}{UNREAD[name]}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "$((20000 + SLURM_JOB_ID % 10000))" in result.out, result.err
    assert "85000" not in result.out and "$P " not in result.out


def test_an_address_that_nothing_sets_is_replaced(command: Converting) -> None:
    line = "srun torchrun --nnodes 1 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint $head:$port train.py"
    command.write("job.sh", f"{HEADER}{line}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "$head" not in result.out and "export MASTER_ADDR=$(scontrol" in result.out


@pytest.mark.parametrize("name", LIGHTNING)
def test_lightning_is_told_the_nodes_behind_its_devices(command: Converting, name: str) -> None:
    words, told = LIGHTNING[name]
    command.write("job.sh", f"{HEADER}torchrun --nproc_per_node 2 main.py {words}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and told in result.out, result.out + result.err


def test_lightning_in_a_string_is_left_to_do(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}CMD='torchrun --nproc_per_node 2 main.py trainer.devices=2'\n$CMD\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "with trainer.devices alone Lightning takes one node: add" in result.err


def test_an_argument_that_no_test_asks_for_decides_nothing(command: Converting) -> None:
    branch = 'if [ "$1" = train ]; then\n  torchrun --nproc_per_node=$2 a.py\nfi\n'
    command.write("job.sh", f"{HEADER}{branch}")
    result = command("convert", "--nodes", "2", "--gpus-per-node", "2", "job.sh")
    assert "as argument 2" not in result.err
