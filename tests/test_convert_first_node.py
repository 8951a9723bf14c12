"""`convert` of what holds for the first node alone, or for its processes: told, where only the user can see to it."""

from __future__ import annotations

from functools import partial

import pytest

import in_bash
from conftest import Command
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
START = "torchrun --nproc_per_node=2 train.py"
OWN = "is on each node that node itself: $MASTER_ADDR is the first one"
DISK = "is on a disk of each node's own: see that it is there on all of them"
INSIDE = "apptainer exec --nv i.sif bash -c"
TOLD = {
    "url": (f"{START} --dist_url tcp://127.0.0.1:29501", f"line 8: tcp://127.0.0.1:29501 {OWN}"),
    "hydra": (f"{START} distributed.init_method=tcp://localhost:1001", f"init_method=tcp://localhost:1001 {OWN}"),
    "address": (f"{START} --master_addr localhost --port 1001", f"localhost {OWN}"),
    "exported": (f"export DIST_URL=tcp://[::1]:29511\n{START}", f"line 5: DIST_URL=tcp://[::1]:29511 {OWN}"),
    "server": (f"redis-server &\n{START}", "redis-server on line 5 serves on the first node"),
    "data": (f"{START} --data_dir=/tmp/set/a.tar", f"/tmp/set/a.tar {DISK}"),
    "prepared": (f"python prepare.py --out /tmp/p\n{START} --prepared /tmp/p", f"/tmp/p {DISK}"),
    "half-brought": (
        f"cp -r d $SLURM_TMPDIR/d\ngsutil cp x $SLURM_TMPDIR/d\n{START} --data $SLURM_TMPDIR/d",
        f"$SLURM_TMPDIR {DISK}",
    ),
    "random": (f"{INSIDE} '{START} --seed $RANDOM'", "$RANDOM is another on each node"),
    "date": (f"{INSIDE} '{START} --out $(date +%s)'", "$(date +%s) is another on each node"),
    "node-rank": (f"{START} --node_rank 0 --nnodes 1", "--node_rank says 0 on each node"),
    "follows": (f"{START} > log 2>&1 &\ntail -f log", "tail does not end, and the job runs to its time limit"),
    "sleeps": (f"{START} &\nsleep infinity", "sleep does not end, and the job runs to its time limit"),
    "file-of-accelerate": ("accelerate launch --config_file a.yaml train.py", "see that a.yaml has distributed_type"),
    "script-after": ("FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\nbash eval.sh", "eval.sh gets NNODES too"),
    "whole-batch": (
        f"{START} --per_gpu_batch_size 32 --global_batch_size 64",
        "--global_batch_size 64 is not a multiple of --per_gpu_batch_size 32 × 4 processes",
    ),
    "counted": (
        f"N=2\n{START.replace('=2', '=$N')} --steps $((64 / N))",
        "$((64 / N)) counts the processes of one node",
    ),
    "data-by-a-variable": (f"cp -r d /tmp/set\nexport DATA_DIR=/tmp/set\n{START}", f"DATA_DIR {DISK}"),
    "calculated-nodes": (
        f"NUM_NODES=1\nALL=$((2 * NUM_NODES))\n{START} --steps $((64 / ALL))",
        "calculates with NUM_NODES, which is 1, where the program has 2 nodes",
    ),
    "lightning-file": (f"{START} fit --config a.yaml", "by fit --config Lightning may take one node"),
    "lightning-words": (f"{START} fit --trainer.accelerator gpu", "by --trainer.accelerator Lightning may take"),
    "lightning-tasks": (
        "srun --ntasks-per-node=2 python a.py trainer.devices=2 trainer.strategy=ddp",
        "by trainer.devices=2 Lightning may take one node",
    ),
    "threads-of-mpi": (
        "export OMP_NUM_THREADS=4 CUDA_VISIBLE_DEVICES=0,1\nmpirun -np 2 ./a",
        "write #SBATCH --cpus-per-task=4",
    ),
    "world-size-of-tasks": (
        "export WORLD_SIZE=2\nsrun --ntasks-per-node=2 python train.py",
        "WORLD_SIZE says 2, where 4 processes find each other",
    ),
    "world-size-word": ("srun --ntasks-per-node=2 python train.py --world-size 2", "--world-size says 2, where 4"),
}
RIGHT = {
    "no-proxy": f"export no_proxy=localhost,127.0.0.1\n{START}",
    "tensorboard": f"tensorboard --logdir runs &\n{START}\nkill $!",
    "copied": f"cp -r data /tmp/data\n{START} --data /tmp/data",
    "cache": f"{START} --cache_dir /tmp/cache/x",
    "once": f"RUN=$(date +%s)\n{START} --name $RUN --host $(hostname)",
    "follows-until": f"{START} > log 2>&1 &\ntail --pid=$! -f log",
    "file-and-kind": "accelerate launch --multi_gpu --config_file a.yaml train.py",
    "batches": f"{START} --per_gpu_batch_size 8 --global_batch_size 64",
    "counts-nodes": f"N=2\n{START.replace('=2', '=$N')} --steps $((64 / N / SLURM_NNODES))",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_holds_for_one_node_is_told(command: Converting, name: str) -> None:
    script, told = TOLD[name]
    command.write("job.sh", f"{HEADER}{script}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and told.removeprefix("line 8: ") in result.err, result.out + result.err


@pytest.mark.parametrize("name", RIGHT)
def test_what_holds_for_all_nodes_is_not(command: Converting, name: str) -> None:
    command.write("job.sh", f"{HEADER}{RIGHT[name]}\n")
    in_bash_too = name not in ("tensorboard", "follows-until", "counts-nodes", "once")  # others at each run
    run = command if in_bash_too else partial(Command.__call__, command)
    result = run("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "to do" not in result.err, result.out + result.err


def test_words_follow_the_address_of_the_job(command: Converting) -> None:
    words = "--master_addr $MASTER_ADDR --master_port $MASTER_PORT"
    meeting = "export MASTER_ADDR=127.0.0.1 MASTER_PORT=2222"
    command.write("job.sh", f"{HEADER}{meeting}\ntorchrun --nproc_per_node=2 {words} train.py {words}\n")
    result = Command.__call__(command, "convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and result.out.endswith(f"train.py {words}\n"), result.out + result.err


def test_the_gpus_of_a_file_are_overruled(command: Converting) -> None:
    command.write("a.yaml", "distributed_type: MULTI_GPU\nnum_processes: 2\ngpu_ids: 6,7\n")
    command.write("job.sh", f"{HEADER}accelerate launch --config_file a.yaml train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "--gpu_ids=all" in result.out, result.out + result.err


def test_chosen_gpus_of_mpi_are_gpus(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH -c 8 -t 5\nexport CUDA_VISIBLE_DEVICES=0,1\nmpirun -np 2 ./a\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "without GPUs" not in result.err and "--gpus-per-node=2" in result.out
