"""`convert` keeps what a user may set, and what had no effect on one node does none on several; all in real bash."""

from __future__ import annotations

import pytest

import in_bash
from conftest import Command
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
RUN = "-m torch.distributed.run --nproc_per_node=2 train.py --lr 1"
NAMED = {
    "python": (f"PYTHON=${{PYTHON:-python}}\n$PYTHON {RUN}", "exec $0 -m torch.distributed.run"),
    "python-of-words": (f'PYTHON=${{PYTHON:-"uv run python"}}\n$PYTHON {RUN}', "exec $0 -m torch.distributed.run"),
    "words": ('T=${T:-"uv run torchrun"}\n${T} --nproc_per_node=2 train.py', '"${T}" --nproc'),
    "quoted": ('ACC=${BIN:-"accelerate"}\n"$ACC" launch --multi_gpu --num_processes 2 train.py', 'bash "$ACC" launch'),
    "torchrun": ("T=${T:-torchrun}\n${T} --nproc_per_node=2 train.py", "${T}"),
}
UNREAD = {
    "too-great": "torchrun --standalone --nproc_per_node=2 --master_port=85000 train.py",
    "of-variable": "PORT=85000\ntorchrun --standalone --nproc_per_node=2 --master_port=$PORT train.py",
    "unknown": "torchrun --standalone --nproc_per_node=2 --master_port=$P train.py",
}
PORTS = {
    "set": ("DS_PORT=${DS_PORT:-29501}\ndeepspeed --master_port $DS_PORT --num_gpus 2 train.py", "$DS_PORT"),
    "default": ("deepspeed --num_gpus 2 --master_port ${P:-29501} train.py", "${P:-29501}"),
    "drawn": ("deepspeed --master_port=$((10000 + RANDOM % 9)) train.py", '"$((10000 + RANDOM % 9))"'),
    "command": ("deepspeed --master_port=$(shuf -i 2000-3000 -n 1) train.py", '"$(shuf -i 2000-3000 -n 1)"'),
    "of-loop": ("for s in 1 2; do\n  deepspeed --master_port $((29500 + s)) train.py\ndone", "$((20000"),
    "counted": ("P=1\nfor s in 1 2; do\n  P=$((P + 1))\n  deepspeed --master_port $P train.py\ndone", "$((20000"),
}
HEADERS = {
    "distribution": ("--distribution=cyclic:block", 0, "--distribution=cyclic:block"),
    "plane": ("-m plane=4", 4, "--distribution on line 3 places tasks in its own way"),
    "arbitrary": ("--distribution=arbitrary", 4, "--distribution on line 3 places tasks in its own way"),
    "named": ("--nodelist=n1", 1, "--nodelist on line 3 names 1 of 2 nodes, and Slurm chooses the others"),
    "all-named": ("--nodelist=n[1-2]", 0, "--nodelist=n[1-2]"),
    "too-many": ("-w n1,n2,n3", 4, "invalid number of nodes"),
    "tasks": ("--ntasks-per-node=2", 0, "#SBATCH: --ntasks-per-node 2 becomes 1, --cpus-per-task 4 becomes 8"),
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


@pytest.mark.parametrize("words", ["torchrun --nproc_per_node=2", "torchrun --nproc_per_node=2 train.py"])
def test_a_command_that_the_user_may_replace_is_told(command: Converting, words: str) -> None:
    command.write("job.sh", f'{HEADER}CMD=${{CMD:-"{words}"}}\n$CMD {words[30:] or "train.py"}\n')
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "$CMD is read as it is set here: see that it is not set to another" in result.err


@pytest.mark.parametrize("name", PORTS)
def test_a_port_that_the_user_may_choose_stays_a_variable(command: Converting, name: str) -> None:
    script, port = PORTS[name]
    command.write("job.sh", f"{HEADER}{script}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and f"export MASTER_PORT={port}" in result.out, result.out + result.err


def test_a_default_goes_with_its_brace(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}axolotl train a.yml --main_process_port ${{P:-29511}}\n")
    result = Command.__call__(command, "convert", "--nodes", "2", "job.sh")  # a module in the place of its command
    assert result.code == 0 and "export MASTER_PORT=${P:-29511}" in result.out and result.out.endswith(" a.yml\n")


@pytest.mark.parametrize("name", HEADERS)
def test_what_becomes_of_the_option_block_is_told(command: Converting, name: str) -> None:
    option, code, told = HEADERS[name]
    command.write("job.sh", f"{HEADER}#SBATCH {option}\ntorchrun --nproc_per_node=2 train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == code and told in result.out + result.err, result.out + result.err


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
