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
COUNTED = "torchrun --nproc_per_node=$N train.py"
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
    **{
        name: (f"{script.replace('START', COUNTED)}", "counts the processes of one node: see if it is to count all")
        for name, script in {
            "measured": "N=$(nvidia-smi -L | wc -l)\nSTART --steps $((64 / N))",
            "measured-in-python": "N=$(python -c 'print(torch.cuda.device_count())')\nSTART -a $((8 / N))",
            "measured-in-place": "N=2\nSTART --steps $((64 / $(nvidia-smi --list-gpus | wc -l)))",
            "by-another-program": 'N=2\nA=$(echo "64 / $N" | bc)\nSTART --steps $A',
            "by-a-here-string": "N=2\nA=$(bc <<< 64/$N)\nSTART --steps $A",
            "by-printf": "N=2\nprintf -v A %d $((64 / N))\nSTART --steps $A",
            "by-read": 'N=2\nread A B <<< "$((64 / N)) 1"\nSTART --steps $A',
            "by-eval": "N=2\neval 'A=$((64 / N))'\nSTART --steps=$A",
            "by-let": "N=2\nlet A=64/N\nSTART --steps=$A",
            "by-a-function": "N=2\nsteps() { echo $((64 / $1)); }\nSTART --steps $(steps $N)",
            "by-an-array": "N=2\nARGS=(--lr 1)\nARGS+=(--steps $((64 / N)))\nSTART ${ARGS[@]}",
            "by-a-condition": "N=2\nif [ $N -gt 4 ]; then A=1; else A=2; fi\nSTART --steps $A",
            "by-a-case": "N=2\ncase $N in 2) A=1 ;; *) A=2 ;; esac\nSTART --steps $A",
            "by-a-name": "N=2\nSTART --name run_${N}gpu",
            "exported": "N=2\nexport STEPS=$((64 / N))\nSTART",
            "edited-file": 'N=2\nsed -i "s/STEPS/$((64 / N))/" a.toml\nSTART',
            "written-file": "N=2\ncat > a.toml <<EOF\nsteps = $((64 / N))\nEOF\nSTART",
            "echoed-file": 'N=2\necho "steps=$((64 / N))" > .env\nSTART',
            "listed-devices": "DEVICES=0,1\nN=$(echo $DEVICES | tr , ' ' | wc -w)\nSTART --steps $((64 / N))",
            "elements": "GPUS=(0 1)\nN=${#GPUS[@]}\nSTART --steps $((64 / N))",
            "by-read-from-a-program": 'N=2\nread -r A < <(python -c "print(64//$N)")\nSTART --steps $A',
            "in-a-loop": "for N in 2; do START --steps $((64 / N)); done",
            "of-an-argument": "run() { local N=$1; START --steps $((64 / N)); }\nrun 2",
            "of-a-named-element": "declare -A C=([n]=2)\nN=${C[n]}\nSTART --steps $((64 / N))",
            "mapped": "mapfile -t A < <(nvidia-smi -L)\nN=${#A[@]}\nSTART --steps $((64 / N))",
            "of-slurm": "N=2\nSTART --steps $((64 / SLURM_GPUS_ON_NODE))",
        }.items()
    },
    "numbers-alone": (f"{START} --steps $((64 / 2))", "$((64 / 2)) counts with 2, the processes of one node"),
    "shards": (
        "srun --ntasks-per-node=2 python a.py --num_shards 2",
        "--num_shards says 2: see if it is to count the GPUs of all",
    ),
    "file-to-meet": (f"{START} --dist_url file:///tmp/sync", f"file:///tmp/sync {DISK}"),
    "disk-by-its-name": (f"{START} --data /raid/d/x", f"/raid/d/x {DISK}"),
    "mounted": (f"squashfuse d.sqsh mnt\n{START}", "squashfuse acts on the first node alone"),
    "mounted-by-a-variable": (f"./put d /tmp/mnt\nexport D=/tmp/mnt\n{START}", f"D {DISK}"),
    "replicas": (f"{START} --dp_size 2", "--dp_size says 2: see if it is to count the GPUs of all nodes"),
    "folder": (
        f"cd /tmp\ncp -r $SLURM_SUBMIT_DIR/a . && cd a\n{START}",
        "the programs start in /tmp, on a disk of each",
    ),
    "folder-by-a-variable": (f"cd $TMPDIR\ntar xf $SLURM_SUBMIT_DIR/a.tar\n{START}", "the programs start in $TMPDIR"),
    "batch-of-tasks": (
        "srun --ntasks-per-node=2 python a.py --per_gpu_batch_size 32 --global_batch_size 64",
        "--global_batch_size 64 is not a multiple of --per_gpu_batch_size 32 × 4 processes",
    ),
    "gpus": (f"{START} --gpus 2", "--gpus says 2: see if it is to count the GPUs of all nodes"),
    "gpu-ids": (f"{START} --gpu_ids 0,1", "--gpu_ids says 0,1, on each node: see what reads it"),
    "exported-gpus": (f"export N_GPUS=2\n{START}", "N_GPUS says 2: see if it is to count the GPUs of all nodes"),
    "exported-rank": (f"export NODE_RANK=0\necho $NODE_RANK\n{START}", "NODE_RANK says 0 on each node"),
    "rank": (f"{START} --world_size 4 --rank 0", "--rank says 0 on each node"),
    "port": (f"{START} --tcp_port 18888", "--tcp_port 18888 is a port of the program"),
    "edited-address": (f"sed -i 's/HOST/localhost/' a.toml\n{START}", "sed writes localhost, which is of one node"),
    "written-nodes": (f"echo 'num_nodes: 1' > a.yaml\n{START}", "echo writes num_nodes: 1, which is of one node"),
    "nodes-in-a-name": (
        f"NUM_NODES=1\n{START} --name run_${{NUM_NODES}}n",
        "run_1n counts with NUM_NODES, which is 1, where the program has 2 nodes",
    ),
    "data-by-a-variable": (f"cp -r d /tmp/set\nexport DATA_DIR=/tmp/set\n{START}", f"DATA_DIR {DISK}"),
    "calculated-nodes": (
        f"NUM_NODES=1\nALL=$((2 * NUM_NODES))\n{START} --steps $((64 / ALL))",
        "counts with NUM_NODES, which is 1, where the program has 2 nodes",
    ),
    "lightning-file": (f"{START} fit --config a.yaml", "by fit --config Lightning may take one node"),
    "lightning-words": (f"{START} fit --trainer.accelerator gpu", "by --trainer.accelerator Lightning may take"),
    "lightning-tasks": (
        "srun --ntasks-per-node=2 python a.py trainer.devices=2 trainer.strategy=ddp",
        "by trainer.devices=2 Lightning may take one node",
    ),
    "lightning-tasks-alone": (
        "srun --ntasks-per-node=2 python a.py --devices 2",
        "by --devices Lightning may take one",
    ),
    "lightning-option": (
        "srun --ntasks-per-node=2 python a.py accumulate_grad_batches=2 x=1",
        "by accumulate_grad_batches Lightning may take one node: add num_nodes, as ++trainer.num_nodes=2",
    ),
    "lightning-command-last": (
        "srun --ntasks-per-node=2 train --config a.yaml fit",
        "by fit --config Lightning may take one node",
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
    "threads": f"N=2\nexport OMP_NUM_THREADS=$((4 / N))\n{COUNTED} --num_workers $((4 / N))",
    "sizes": f"{START} device_train_microbatch_size=4 --num_shards 16",
    "left-folder": f"cd /tmp\necho a\ncd $SLURM_SUBMIT_DIR\n{START} --tp_size 2",
    "of-each-node": f"N=2\n{COUNTED} --gpus_per_node $N",
    "shown": f'N=2\necho "with $N"\nif [ $N -gt 1 ]; then A=1; else A=2; fi\n{COUNTED} --a $A',
    "read-by-the-script": f"export NGPU=2\n{COUNTED.replace('$N', '$NGPU')}",
    "no-gpu-options": f"{START} --lora_rank 8 --rank 4 --local_rank 0 --batch_per_gpu 4 --gpus 0",
    "port-of-the-job": f"export MASTER_PORT=2222\n{START} --master_addr $SLURMD_NODENAME --port_name 3",
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


TRAINER = "import lightning as L\nL.Trainer(devices=args.gpus, strategy='ddp'{})\n"


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        (TRAINER.format(""), "--gpus_per_node 2", "Trainer() in a.py may take one node: tell it num_nodes=2"),
        (TRAINER.format(", num_nodes=1"), "--epochs 3", "Trainer() in a.py may take one node: tell it num_nodes=2"),
        (TRAINER.format(", num_nodes=args.nodes"), "--epochs 3", "Trainer() in a.py may take one node"),
        (TRAINER.format(", num_nodes=args.nodes"), "--nodes 2", ""),
        (TRAINER.format(", num_nodes=2"), "--epochs 3", ""),
        (TRAINER.format(", num_nodes=int(os.environ['SLURM_NNODES'])"), "--epochs 3", ""),
    ],
)
def test_tasks_of_lightning_by_the_text_of_their_program(command: Converting, text: str, words: str, told: str) -> None:
    command.write("a.py", text)
    command.write("job.sh", f"{HEADER}srun --ntasks-per-node=2 python a.py {words}\n")
    result = Command.__call__(command, "convert", "--nodes", "2", "job.sh")
    assert told in result.err and ("may take one node" in result.err) == bool(told), result.err


@pytest.mark.parametrize(("number", "code"), [("\n    num_nodes: 1", 1), ("\n    num_nodes: 2", 0), ("", 1)])
@pytest.mark.parametrize("words", ["--config a.yaml fit", "fit --config a.yaml"])
def test_tasks_of_lightning_by_a_file(command: Converting, number: str, code: int, words: str) -> None:
    pytest.importorskip("yaml")
    command.write("a.yaml", f"fit:\n  trainer:\n    devices: 2{number}\n")
    command.write("job.sh", f"{HEADER}srun --ntasks-per-node=2 train {words}\n")
    result = Command.__call__(command, "convert", "--nodes", "2", "job.sh")
    assert result.code == code and ("the trainer of a.yaml" in result.err) == bool(code), result.err
