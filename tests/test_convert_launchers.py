"""`convert` of rarer launchers, and of commands that run one by themselves.

tests/slurm/test_convert_live.py runs those that are installed.
"""

from __future__ import annotations

import pytest

import in_bash
from convert_cases import CPUS, MEETING, Case
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
NODES = "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
SRUN = f"srun --kill-on-bad-exit=1 {CPUS}"
ACCELERATE = (
    f'{SRUN} bash -c \'exec accelerate launch --machine_rank="$SLURM_NODEID" "$@"\' \\\n    accelerate --multi_gpu '
    '--num_machines="$SLURM_JOB_NUM_NODES" --num_processes="$((SLURM_JOB_NUM_NODES * 2))" '
    '--main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" -m'
)
CASES = {
    "gpu-ids": Case(
        f"{HEADER}accelerate launch --multi_gpu --num_processes 2 --gpu_ids='1,2' train.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec accelerate launch --machine_rank=\"$SLURM_NODEID\" \"$@\"' \\\n"
        '    accelerate --num_machines="$SLURM_JOB_NUM_NODES" --main_process_ip="$MASTER_ADDR" '
        '--main_process_port="$MASTER_PORT" --multi_gpu --num_processes "$((SLURM_JOB_NUM_NODES * 2))" '
        "train.py --tag 'run 1'\n",
        "torch accelerate",
    ),
    "composer": Case(
        f"{HEADER}composer -n 2 --world_size 2 train.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec composer --node_rank=\"$SLURM_NODEID\" \"$@\"' \\\n    composer "
        '--master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" -n 2 --world_size "$((SLURM_JOB_NUM_NODES * 2))" '
        "train.py --tag 'run 1'\n",
        "torch composer psutil",
    ),
    "tune": Case(
        f"{HEADER}tune run --nnodes 1 --nproc_per_node 2 full_finetune_distributed --config 'a b.yaml'\n",
        "--nodes 2",
        f'{HEADER}{NODES}{MEETING}{SRUN} tune run --rdzv-backend=c10d --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" '
        '--rdzv-id="$SLURM_JOB_ID" --nnodes "$SLURM_JOB_NUM_NODES" --nproc_per_node 2 full_finetune_distributed '
        "--config 'a b.yaml'\n",
        processes=0,
    ),
    "fabric": Case(
        f"{HEADER}fabric run --strategy ddp --devices 2 train.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec fabric run --node-rank=\"$SLURM_NODEID\" \"$@\"' \\\n    fabric "
        '--num-nodes="$SLURM_JOB_NUM_NODES" --main-address="$MASTER_ADDR" --main-port="$MASTER_PORT" --strategy ddp '
        "--devices 2 train.py --tag 'run 1'\n",
        processes=0,  # Lightning takes devices of its own
    ),
    "axolotl": Case(
        f"{HEADER}axolotl train config.yaml --num-processes 2\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{ACCELERATE} axolotl.cli.train config.yaml\n",
        processes=0,
    ),
    "trl": Case(
        f"{HEADER}trl sft --model_name_or_path a --num_processes 2 --output_dir b\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{ACCELERATE} trl.scripts.sft --model_name_or_path a --output_dir b\n",
        processes=0,
    ),
    "fairseq": Case(
        f"{HEADER}CUDA_VISIBLE_DEVICES=0,1 fairseq-train data --arch b\n",
        "--nodes 2",
        f'{HEADER}{NODES}{SRUN} fairseq-train --distributed-world-size "$((SLURM_JOB_NUM_NODES * 2))" '
        '--distributed-port "$((20000 + SLURM_JOB_ID % 10000))" data --arch b\n',
        processes=0,
    ),
    "detectron2": Case(
        f"{HEADER}python train_net.py --num-gpus 2 --config-file a.yaml OUTPUT_DIR b\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec python train_net.py --machine-rank \"$SLURM_NODEID\" \"$@\"' "
        '\\\n    train_net.py --num-machines "$SLURM_JOB_NUM_NODES" --dist-url "tcp://$MASTER_ADDR:$MASTER_PORT" '
        "--num-gpus 2 --config-file a.yaml OUTPUT_DIR b\n",
        code=1,
        processes=0,
    ),
    "horovod": Case(
        f"{HEADER.replace('-c 4', '-c 2')}horovodrun -np 2 -H localhost:2 python train_horovod.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER.replace('-c 4', '-c 1')}{NODES.replace('=1', '=2')}{SRUN} --mpi=pmix "
        "python train_horovod.py --tag 'run 1'\n",
        code=1,
        processes=0,
    ),
    "options-of-mpirun": Case(
        "#!/bin/bash\n#SBATCH -N1 -n2 --time=5\n"
        "mpirun -np 2 -bind-to none -mca btl_tcp_if_include eth0 -x NCCL_DEBUG=INFO -x PATH ./solve\n",
        "--nodes 2",
        "#!/bin/bash\n#SBATCH -N2 --time=5\n#SBATCH --ntasks-per-node=2\n"
        "export OMPI_MCA_btl_tcp_if_include=eth0\nexport NCCL_DEBUG=INFO\n"
        "srun --kill-on-bad-exit=1 --mpi=pmix --cpu-bind=none ./solve\n",
        code=1,
        processes=0,
    ),
    "loopback": Case(
        f"{HEADER}export NCCL_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo\n"
        "torchrun --nproc_per_node=2 train.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec torchrun --node_rank=\"$SLURM_NODEID\" \"$@\"' \\\n"
        '    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" '
        "--nproc_per_node=2 train.py --tag 'run 1'\n",
        "torch",
    ),
    "words-in-two-strings": Case(
        f"{HEADER}OPTIONS=\"--nproc_per_node 2 --nnodes 1 --node_rank 0\"\n"
        "CMD=\"torchrun $OPTIONS train.py --tag run\"\n$CMD\n",
        "--nodes 2",
        f"{HEADER}{NODES}OPTIONS=\"--nproc_per_node 2 --nnodes $SLURM_JOB_NUM_NODES\"\n"
        f"{MEETING}CMD=\"torchrun $OPTIONS train.py --tag run\"\n"
        f"{SRUN} bash -c 'exec \"$0\" --node_rank=\"$SLURM_NODEID\" --master_addr=\"$MASTER_ADDR\" "
        '--master_port="$MASTER_PORT" "$@"\' $CMD\n',
        "torch",
    ),
    "array-of-others": Case(
        f"{HEADER}RUN=(env X=1)\n\"${{RUN[@]}}\" hostname\n"
        "\"${RUN[@]}\" torchrun --nproc_per_node=2 train.py --tag run\n",
        "--nodes 2",
        f"{HEADER}{NODES}RUN=(env X=1)\n\"${{RUN[@]}}\" hostname\n{MEETING}{SRUN} \"${{RUN[@]}}\" "
        "bash -c 'exec torchrun --node_rank=\"$SLURM_NODEID\" \"$@\"' \\\n"
        '    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" '
        "--nproc_per_node=2 train.py --tag run\n",
        "torch",
    ),
    "stale-address": Case(
        f"{HEADER}MASTER_ADDR=localhost torchrun --nproc_per_node=2 train.py --tag run\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec torchrun --node_rank=\"$SLURM_NODEID\" \"$@\"' \\\n"
        '    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" '
        "--nproc_per_node=2 train.py --tag run\n",
        "torch",
    ),
    "hostfile": Case(
        "#!/bin/bash\n#SBATCH -N1 -n2 --time=5\nmpirun --hostfile hosts -np 2 ./solve\n",
        "--nodes 2",
        "#!/bin/bash\n#SBATCH -N2 --time=5\n#SBATCH --ntasks-per-node=2\n"
        "srun --kill-on-bad-exit=1 --mpi=pmix ./solve\n",
        code=1,
        processes=0,
    ),
    "docker-in-a-variable": Case(
        f"{HEADER}RUN=\"docker run --rm --gpus all \\\n    -v /d:/d -w /d nvcr.io/a/b\"\n"
        "$RUN torchrun --nproc_per_node=2 train.py --tag 'run 1'\n",
        "--nodes 2 --container apptainer",
        f"{HEADER}{NODES}RUN=\"docker run --rm --gpus all \\\n    -v /d:/d -w /d nvcr.io/a/b\"\n{MEETING}"
        f"{SRUN} apptainer exec --nv --bind /d:/d --pwd /d docker://nvcr.io/a/b "
        "bash -c 'exec torchrun --node_rank=\"$SLURM_NODEID\" \"$@\"' \\\n"
        '    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" '
        "--nproc_per_node=2 train.py --tag 'run 1'\n",
        processes=0,
    ),
    "plain-options-of-lightning": Case(
        f"{HEADER.replace('-c 4', '-c 2')}python train.py --accelerator gpu --devices 2 --strategy ddp\n",
        "--nodes 2",
        f"{HEADER.replace('-c 4', '-c 1')}{NODES.replace('=1', '=2')}{SRUN} "
        "python train.py --accelerator gpu --devices 2 --num_nodes \"$SLURM_JOB_NUM_NODES\" --strategy ddp\n",
        code=1,
        processes=0,
    ),
    "size-of-the-world": Case(
        f"{HEADER}torchrun --nproc_per_node=2 train.py --world_size 2\n",
        "--nodes 2",
        f"{HEADER}{NODES}{MEETING}{SRUN} bash -c 'exec torchrun --node_rank=\"$SLURM_NODEID\" \"$@\"' \\\n"
        '    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" '
        "--nproc_per_node=2 train.py --world_size 2\n",
        code=1,
        processes=0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_conversion(command: Converting, name: str) -> None:
    case = CASES[name]
    command.write("job.sh", case.before)
    result = command("convert", *case.options.split(), "job.sh")
    assert (result.out, result.code) == (case.after, case.code), result.err


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("axolotl train a.yaml -- --num_processes 2", "write accelerate launch -m axolotl.cli.train"),
        ("trl sft --accelerate_config zero3 --output_dir b", "write accelerate launch -m trl.scripts.sft"),
        ("tune run --nproc_per_node 2 lora_finetune_distributed", "no static rendezvous with several nodes"),
        ("composer -n 2 train.py", "a static rendezvous only"),
        ("python train_net.py --num-gpus 2 --config-file a --machine-rank 0", "is told --machine-rank already"),
        ("fairseq-train a --distributed-world-size 2", "is told --distributed-world-size: leave it out"),
        ("fairseq-train a --distributed-rank 0", "takes --distributed-rank from Slurm"),
    ],
)
def test_what_is_refused(command: Converting, line: str, reason: str) -> None:
    command.write("job.sh", f"{HEADER}{line}\n")
    asked = {"composer": "c10d", "tune": "static"}.get(line.split()[0])
    rendezvous = ("--rdzv", asked) if asked else ()
    result = command("convert", "--nodes", "2", *rendezvous, "job.sh")
    assert result.code == 4 and reason in result.err, result.err


@pytest.mark.parametrize(
    "lines",
    [
        "T=torchrun\n$T --nproc_per_node=2 train.py",
        'T=torchrun\nfor i in 1 2; do "${T}" --nproc_per_node=2 train.py $i; done',
        'T="nohup torchrun"\n$T --nproc_per_node=2 train.py',
        "env A=1 python \\\n    -m torch.distributed.run --nproc_per_node=2 train.py",
        "exec env CUDA_VISIBLE_DEVICES=4,5 uv run torchrun --nproc_per_node=2 train.py",
        "X=1 exec env A=1 torchrun --nproc_per_node=2 train.py",
    ],
)
def test_the_name_of_a_launcher_elsewhere(command: Converting, lines: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "srun " in result.out, (result.out, result.err)


def test_accelerate_on_processors_is_named(command: Converting) -> None:
    command.write("job.sh", "accelerate launch --cpu --num_processes 2 train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and "accelerate launch on line 1 has --cpu" in result.err, result.err


def test_tune_run_needs_an_endpoint(command: Converting) -> None:
    """An srun of it for two nodes is not the wanted job: without --rdzv-endpoint each would meet by itself."""
    words = "--nproc_per_node 2 --nnodes 2 --node_rank $SLURM_NODEID --master_addr $MASTER_ADDR"
    meeting = MEETING.partition("\n")[0]
    command.write("job.sh", f"{HEADER}{NODES}{meeting}\nsrun tune run {words} full_finetune_distributed\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and '--rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT"' in result.out, result.err
    other = command("convert", "--nodes", "2", "--to", "srun", "job.sh")
    assert other.code == 4 and "known to it alone" in other.err
