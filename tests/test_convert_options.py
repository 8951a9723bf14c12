"""`convert` of options that hold for one node alone, of numbers that are no nodes, and of one GPU on a node."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
ONE_GPU = HEADER.replace("gpu:2", "gpu:1")
START = "torchrun --nproc_per_node=2"


@pytest.mark.parametrize("words", ["train.py --num_nodes 50", "train.py trainer.num_nodes=4", "train.py"])
def test_another_number_than_that_of_the_nodes_stays(command: Converting, words: str) -> None:
    command.write("job.sh", f"{HEADER}export NUM_NODES=50\n{START} {words}\n")
    result = command("convert", "--nodes", "3", "job.sh")
    assert result.code == 0 and result.out.endswith(f"{words}\n") and "NUM_NODES=50" in result.out, result.err


def test_the_number_of_nodes_before_follows(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}{START} --nnodes=2 train.py --num_nodes 2\n")
    result = command("convert", "--nodes", "3", "job.sh")
    assert result.code == 0 and result.out.endswith('--num_nodes "$SLURM_JOB_NUM_NODES"\n'), (result.out, result.err)


@pytest.mark.parametrize(
    "lines",
    [
        f"{START} --rdzv_id=$(uuidgen) --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py",
        f"{START} --rdzv-id $(date +%s) --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py",
        f'{START} --rdzv_id="run-$(date +%s)" --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py',
        f"{START} --rdzv_id=$$ train.py",
        f'X="{START} --rdzv_id=$(uuidgen) train.py"\n$X',
        f'ARGS=(--rdzv_id=$(uuidgen) --rdzv_backend c10d)\n{START} "${{ARGS[@]}}" train.py',
        "accelerate launch --num_processes 2 --rdzv_backend c10d --config_file c.yaml --multi_gpu train.py",
        "accelerate launch --config_file a.yaml --use_fsdp --num_processes 2 --rdzv_backend etcd train.py",
    ],
)
def test_the_name_of_a_meeting_goes(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "rdzv_id" not in result.out and "c10d" not in result.out, (result.out, result.err)


@pytest.mark.parametrize(
    ("lines", "starts"),
    [
        ("FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\nX=1 FORCE_TORCHRUN=1 llamafactory-cli train b.yaml", 2),
        ("NPROC_PER_NODE=2 swift sft --a 1\nNPROC_PER_NODE=2 swift rlhf --a 2", 2),
        ("for i in 1 2; do\n  llamafactory-cli train $i.yaml\ndone\nllamafactory-cli train c.yaml", 2),
    ],
)
def test_several_starts_by_variables(command: Converting, lines: str, starts: int) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and result.out.count("srun ") == starts, (result.out, result.err)
    assert result.out.count("export MASTER_ADDR=") == 1


@pytest.mark.parametrize(
    ("lines", "is_added"),
    [
        ("accelerate launch --mixed_precision bf16 train.py", True),
        ("CUDA_VISIBLE_DEVICES=0 accelerate launch --num_processes=1 --num_machines=1 train.py", True),
        ('X="accelerate launch --num_processes 1 train.py"\neval $X', True),
        ("accelerate launch --multi_gpu --config_file c.yaml train.py", False),
        ("accelerate launch --use_deepspeed --num_processes 1 train.py", False),
    ],
)
def test_accelerate_with_one_gpu_on_a_node(command: Converting, lines: str, is_added: bool) -> None:
    command.write("job.sh", f"{ONE_GPU}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "NODES * 1" not in result.out, (result.out, result.err)
    assert result.out.count("--multi_gpu") == (is_added or "multi_gpu" in lines)


@pytest.mark.parametrize(
    "lines",
    [
        "accelerate launch --config_file c.yaml train.py",
        'D=()\n[ -f x ] && D=(--use_deepspeed)\naccelerate launch "${D[@]}" train.py',
    ],
)
def test_where_it_is_not_known_whether_accelerate_is_distributed(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{ONE_GPU}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and "write --multi_gpu" in result.err


@pytest.mark.parametrize(
    ("line", "option"),
    [("mpiexec -n 32 -npernode 16 ./mm", "-npernode"), ("horovodrun --gloo -np 2 python a.py", "--gloo")],
)
def test_an_option_is_named_as_it_is_written(command: Converting, line: str, option: str) -> None:
    command.write("job.sh", f"{HEADER}{line}\n")
    assert f"is told by {option} is" in command("convert", "--nodes", "2", "job.sh").err


DEEPSPEED = "deepspeed --num_gpus 2 main.py --a 1"


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (f'X="{DEEPSPEED}"\n$X &> log', ()),
        (f"X='{DEEPSPEED}'\n$X --b 2 2>&1 | tee log", ()),
        (f'X="{DEEPSPEED}"\necho $X\n$X', ()),
        ('X="deepspeed --num_gpus 2 --module pkg.main --a 1"\n$X', ()),
        ('X="torchrun --nproc_per_node=2 main.py --a 1"\n$X', ("--to", "srun")),
        ('X="torchrun --nproc_per_node=2 main.py --a 1"\n$X', ("--to", "accelerate")),
        ("S=main.py\ndeepspeed --num_gpus=${N:-2} $S --a 1", ()),
    ],
)
def test_another_launcher_before_a_string(command: Converting, lines: str, options: tuple[str, ...]) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", *options, "job.sh")
    assert result.code == 0 and "srun " in result.out and "deepspeed" not in result.out, (result.out, result.err)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (f'X="{DEEPSPEED}"\n$X --b 1\n$X --b 2', "other commands get the words of deepspeed"),
        ('python -m paddle.distributed.launch --gpus "0,1" a.py', "paddle.distributed.launch on line 3 is not"),
        ("axolotl train a.yaml --launcher $L", "how axolotl on line 3 starts its processes depends on L"),
        ("L=${L:-lmp}\nmpirun -np ${P:-1} $L", "L may hold options where it is submitted"),
    ],
)  # fmt: skip
def test_a_refusal_says_why(command: Converting, lines: str, reason: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and reason in result.err, result.err


def test_alternatives_of_one_start_are_counted_once(command: Converting) -> None:
    lines = 'D=()\n[ -f x ] && D=(--lr 1)\ntorchrun --nproc_per_node=2 train.py "${D[@]}"'
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert "before: 1 node, 1 task, 2 processes\nafter: 2 nodes, 2 tasks, 4 processes\n" in result.err


@pytest.mark.parametrize(
    "words", ["--WORLD_SIZE=2", "--World-Size 2", "dist.world_size=2", "--worldsize 2", "--distributed_world_size=2"]
)
def test_the_number_of_processes_in_any_spelling(command: Converting, words: str) -> None:
    command.write("job.sh", f"{HEADER}{START} train.py {words}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "says 2, where 4 processes find each other" in result.err, (result.out, result.err)


@pytest.mark.parametrize("words", ["--NUM_NODES 1", "--Num-Nodes=1"])
def test_the_number_of_nodes_in_any_spelling(command: Converting, words: str) -> None:
    command.write("job.sh", f"{HEADER}{START} train.py {words}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 or '"$SLURM_JOB_NUM_NODES"\n' in result.out, (result.out, result.err)
