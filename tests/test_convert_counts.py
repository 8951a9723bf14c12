"""`convert`: what a program is told of nodes, devices and batches follows, and a program for processors stays one."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:8 -c 64 -t 5\n"
START = "torchrun --nproc_per_node=8 train.py"
NODES = '"$SLURM_JOB_NUM_NODES"'


@pytest.mark.parametrize(
    ("words", "after"),
    [
        ("--trainer.num_nodes=1", f"--trainer.num_nodes={NODES}"),
        ("trainer.num_nodes=1 --lr 1", f"trainer.num_nodes={NODES} --lr 1"),
        ("++trainer.num_nodes=1", f"++trainer.num_nodes={NODES}"),
        ("--num_nodes 1", f"--num_nodes {NODES}"),
        ("--num-machines=1", f"--num-machines={NODES}"),
        ('--nnodes "1"', f"--nnodes {NODES}"),
        ("--num_nodes $SLURM_NNODES", "--num_nodes $SLURM_NNODES"),
        ("--num_layers 1 --node_size 1", "--num_layers 1 --node_size 1"),
    ],
)
def test_what_says_nodes_follows(command: Converting, words: str, after: str) -> None:
    command.write("job.sh", f"{HEADER}{START} {words}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and result.out.endswith(f"train.py {after}\n"), result.err
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


@pytest.mark.parametrize(
    ("script", "todo"),
    [
        (f"CMD='{START} --num_nodes 1'\neval \"$CMD\"\n", "--num_nodes says 1, where the program has 2 nodes"),
        (f"{START} '--num_nodes=1'\n", "--num_nodes says 1, where the program has 2 nodes"),
        (f"{START} trainer.devices=4\n", "trainer.devices says 4, where each node has 8 processes"),
        ("srun --ntasks-per-node=8 python a.py --num_machines=1\n", "--num_machines says 1, where the program has 2"),
    ],
)
def test_what_cannot_follow_is_to_do(command: Converting, script: str, todo: str) -> None:
    command.write("job.sh", HEADER.replace("-c 64", "-c 8") + script)
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and todo in result.err, result.err


def test_variables_follow(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}export NUM_NODES=1\n{START}\n")
    assert f"export NUM_NODES={NODES}\n" in command("convert", "--nodes", "2", "job.sh").out


def test_batches(command: Converting) -> None:
    words = "--per_device_train_batch_size 4 --gradient_accumulation_steps 8"
    command.write("job.sh", f"{HEADER}{START} {words}\n")
    said = command("convert", "--nodes", "2", "job.sh").err
    assert "grows from 256 to 512; --gradient_accumulation_steps 4 keeps it" in said
    sizes = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}'
    command.write("ds.json", sizes)
    command.write("job.sh", f"{HEADER}{START} --deepspeed ds.json\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "train_batch_size 64 in ds.json" in result.err


@pytest.mark.parametrize(
    ("options", "script"),
    [
        ("", "#SBATCH --cpus-per-task=40 -t 5\ntorchrun --nproc_per_node=40 train_cpu.py --backend gloo\n"),
        ("", "#SBATCH --cpus-per-task=40 -t 5\ntorchrun --nproc_per_node=40 train.py\n"),
        ("", "#SBATCH --cpus-per-task=8 -t 5\ntorchrun --nproc_per_node=8 train.py --no-cuda\n"),
        ("--gpus-per-node 0", "#SBATCH --cpus-per-task=8 --gres=gpu:8 -t 5\ntorchrun --nproc_per_node=8 train.py\n"),
        ("--gpus-per-node 0", "#SBATCH -c8 --gpus-per-node=8 -t 5\ntorchrun --nproc_per_node=8 train.py\n"),
        ("--gpus-per-node 0 --to srun", "#SBATCH -c8 -t 5\ntorchrun --nproc_per_node=8 train.py\n"),
    ],
)  # fmt: skip
def test_programs_for_processors(command: Converting, options: str, script: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n{script}")
    result = command("convert", "--nodes", "2", *options.split(), "job.sh")
    assert result.code == 0, result.err
    assert "without GPUs" in result.err and "gpus" not in result.out and "gres" not in result.out


def test_programs_for_gpus_are_no_such(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH --cpus-per-task=8 -t 5\ntorchrun --nproc_per_node=8 train.py\n")
    assert "--gpus-per-node=8" in command("convert", "--nodes", "2", "job.sh").out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export CUDA_VISIBLE_DEVICES=4,5,6,7\ntorchrun train.py\n", ""),
        ("CUDA_VISIBLE_DEVICES=4,5,6,7 torchrun train.py\n", ""),
        ("export A=1 CUDA_VISIBLE_DEVICES='0,1,2,3'\ntorchrun train.py\n", "export A=1\n"),
        ('export CUDA_VISIBLE_DEVICES="0,1,2,3" A=1\ntorchrun train.py\n', "export A=1\n"),
    ],
)
def test_selected_devices_count_and_go(command: Converting, before: str, after: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -c 64 -t 5\n{before}")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "#SBATCH --gpus-per-node=4\n" + after + "export MASTER_ADDR" in result.out, result.out
    assert "CUDA_VISIBLE_DEVICES is left out" in result.err and "DEVICES" not in result.out


def test_llama_factory(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}llamafactory-cli train a.yaml\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "export NNODES=$SLURM_JOB_NUM_NODES\n" in result.out, result.err
    assert "export FORCE_TORCHRUN=1\n" in result.out
    assert 'exec llamafactory-cli train "$@"\' \\\n    llamafactory a.yaml\n' in result.out


DIST_TRAIN = """\
CONFIG=$1
GPUS=$2
PORT=${PORT:-29500}
python -m torch.distributed.launch --nnodes=${NNODES:-1} --node_rank=${NODE_RANK:-0} \\
    --master_addr=${MASTER_ADDR:-127.0.0.1} --nproc_per_node=$GPUS --master_port=$PORT \\
    $(dirname "$0")/train.py $CONFIG --launcher pytorch ${@:3}
"""


def test_a_command_line_with_a_file(command: Converting) -> None:
    command.write("dist_train.sh", DIST_TRAIN)
    options = ("convert", "--nodes", "2", "--cpus-per-node", "8", "--set", "time=5", "--")
    result = command(*options, "bash", "dist_train.sh", "cfg.py", "8", "--seed", "0")
    assert result.code == 0, result.err
    assert result.out.endswith("bash bash dist_train.sh cfg.py 8 --seed 0\n")
    string = command(*options, f"{START} --name 'a b' ")
    assert string.code == 0 and string.out.endswith("train.py --name 'a b'\n"), string.err


def test_the_rank_of_one_node_goes(command: Converting) -> None:
    """A program may read NODE_RANK, which the launcher is told by an option."""
    command.write("job.sh", f"{HEADER}NODE_RANK=0 MASTER_PORT=29500 {START}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "NODE_RANK=" not in result.out, result.out
    assert "NODE_RANK is left out: it was that of one node" in result.err


@pytest.mark.parametrize(
    ("sizes", "nodes", "told"),
    [
        ("--global-batch-size 24 --micro-batch-size 3", 2, "a global batch of 24 is not a multiple of 3 × 16 replicas"),
        ("--global-batch-size 96 --micro-batch-size 3", 2, ""),
        ("--tensor-model-parallel-size 3", 2, ""),
        ("--tensor-model-parallel-size 5 --micro-batch-size 1 --global-batch-size 80", 2, "do not divide into parts"),
    ],
)
def test_a_global_batch_is_divided_by_the_processes(command: Converting, sizes: str, nodes: int, told: str) -> None:
    command.write("job.sh", f"{HEADER}{START} {sizes}\n")
    result = command("convert", "--nodes", str(nodes), "job.sh")
    assert result.code == (1 if told else 0) and told in result.err, result.err


def test_the_batch_of_a_file_that_another_file_names(command: Converting) -> None:
    """The configuration of accelerate names that of DeepSpeed, whose whole batch has to fit the processes."""
    command.write("ds.json", '{"train_batch_size": 16, "train_micro_batch_size_per_gpu": 2}')
    command.write("a.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
                  "  deepspeed_config_file: ds.json\nnum_machines: 1\nnum_processes: 8\nmachine_rank: 0\n")  # fmt: skip
    command.write("job.sh", f"{HEADER}accelerate launch --config_file a.yaml train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "SB334" in result.err, result.err
    assert command("convert", "--nodes", "1", "job.sh").code == 0


NEMO = """\
defaults: [_self_, {{optional overlap@model.overlap: }}]
trainer: {{devices: 8, num_nodes: {nodes}}}
model:
  micro_batch_size: 4
  global_batch_size: {batch}
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
"""


@pytest.mark.parametrize(
    ("words", "nodes", "batch", "told"),
    [
        ("", 1, 256, "trainer.num_nodes is 1 in gpt.yaml, where the program has 3 nodes: add trainer.num_nodes=3"),
        ("", 3, 256, "the global batch size 256 in gpt.yaml is not a multiple of micro-batch size 4 × 12"),
        ("", 3, 96, ""),
        ("model.global_batch_size=96", 3, 256, ""),
        ("trainer.num_nodes=1", 3, 96, ""),  # which follows
        ("model.micro_batch_size=3", 3, 96, "is not a multiple of micro-batch size 3 × 12"),
    ],
)
def test_what_the_file_of_hydra_says(command: Converting, words: str, nodes: int, batch: int, told: str) -> None:
    command.write("conf/gpt.yaml", NEMO.format(nodes=nodes, batch=batch))
    command.write("job.sh", f"{HEADER}{START} --config-path=conf --config-name=gpt {words}\n")
    result = command("convert", "--nodes", "3", "job.sh")
    assert result.code == (1 if told else 0) and told in result.err, result.err


def test_what_the_file_of_lightning_says(command: Converting) -> None:
    command.write("a.yaml", "trainer:\n  devices: 4\n")
    command.write("job.sh", f"{HEADER}{START} fit --config a.yaml\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "each node has 8 processes: add --trainer.devices=8" in result.err, result.err


@pytest.mark.parametrize(
    ("start", "text", "kept"),
    [
        ("llamafactory-cli train a.yaml", "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n",
         "from 64 to 128; gradient_accumulation_steps: 4 in a.yaml keeps it"),
        (f"{START} a.yaml", "per_device_train_batch_size: 1\n", "from 8 to 16\n"),
        (f"{START} --config a.yaml --gradient_accumulation_steps 4", "per_device_train_batch_size: 2\n",
         "from 64 to 128; --gradient_accumulation_steps 2 keeps it"),
        ("accelerate launch --num_processes 8 -m axolotl.cli.train a.yaml",
         "micro_batch_size: 2\ngradient_accumulation_steps: 2\n",
         "from 32 to 64; gradient_accumulation_steps: 1 in a.yaml keeps it"),
        (f"{START} a.yaml", "micro_batch_size: 2\nglobal_batch_size: 2\n", "batch sizes stay as they are written\n"),
        (f"{START} a.yaml", "per_device_train_batch_size: auto\n", "batch sizes stay as they are written\n"),
        (f"{START} a.yaml b.yaml", "per_device_train_batch_size: 1\n", "batch sizes stay as they are written\n"),
    ],
)  # fmt: skip
def test_the_batch_of_a_file_grows(command: Converting, start: str, text: str, kept: str) -> None:
    for name in ("a.yaml", "b.yaml"):
        command.write(name, text)
    command.write("job.sh", f"{HEADER}{start}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and kept in result.err, result.err


@pytest.mark.parametrize(
    ("script", "todo"),
    [
        (f"envsubst < t.txt > a.yaml\n{START} a.yaml", "envsubst writes gpus: 8, which is of one node"),
        (f"cat t.txt | envsubst > a.yaml\n{START} a.yaml", "envsubst writes gpus: 8, which is of one node"),
        (f"{START} --gpus 0 1 2 3 --lr 1", "--gpus lists 0 1 2 3, on each node"),
        (f"trl vllm-serve --model m &\n{START}", "trl vllm-serve on line 5 serves on the first node"),
        (f"{START} --layers 0 1 2 3 --lr 1", ""),
        (f"envsubst < names.txt > a.yaml\n{START} a.yaml", ""),
    ],
)
def test_templates_lists_and_servers_of_one_node(command: Converting, script: str, todo: str) -> None:
    command.write("names.txt", "NAME=a\n")
    command.write("t.txt", "gpus: 8\nname: $NAME\n")
    command.write("job.sh", f"{HEADER}{script}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == (1 if todo else 0) and todo in result.err, result.err
