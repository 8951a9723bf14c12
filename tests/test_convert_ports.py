"""`convert` of launchers that take a free port, by port 0: each node would take another one."""

from __future__ import annotations

import pytest

import in_bash
from convert_cases import MEETING
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
FREE = {
    "accelerate": "accelerate launch --multi_gpu --num_processes=2 --main_process_port 0 train.py",
    "torchrun": "torchrun --nproc_per_node=2 --master_port=0 train.py",
    "both": "torchrun --nproc_per_node=2 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --master_port=0 train.py",
    "standalone": "python -m torch.distributed.run --standalone --master_port 0 --nproc_per_node=2 train.py",
    "launch": "python -m torch.distributed.launch --use_env --master_port 0 --nproc_per_node=2 train.py",
    "variable": "PORT=0\ntorchrun --nproc_per_node=2 --master_port=$PORT train.py",
    "default": 'torchrun --nproc_per_node=2 --master_port="${MASTER_PORT:-0}" train.py',
    "exported": "export MASTER_PORT=0\ntorchrun --nproc_per_node=2 train.py",
    "fabric": "fabric run --devices 2 --main-port 0 train.py",
    "deepspeed": "deepspeed --num_gpus 2 --master_port 0 train.py",
    "composer": "composer -n 2 --master_port 0 train.py",
    "swift": "MASTER_PORT=0 NPROC_PER_NODE=2 swift sft --model a",
}


@pytest.mark.parametrize("name", FREE)
def test_a_free_port_becomes_one_of_the_job(command: Converting, name: str) -> None:
    command.write("job.sh", f"{HEADER}{FREE[name]}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0, result.err
    assert "$((20000 + SLURM_JOB_ID % 10000))" in result.out
    assert not any(each in result.out for each in ("port 0", "port=0", "PORT=0", "PORT:-0", "localhost:0"))


def test_a_fixed_port_stays(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}torchrun --nproc_per_node=2 --master_port=29501 train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "--master_port=29501" in result.out and MEETING.splitlines()[0] in result.out


def test_a_job_of_two_nodes_with_a_free_port_is_not_proven(command: Converting) -> None:
    address = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    command.write(
        "job.sh",
        f"#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=1 --gpus-per-node=2 -c4 -t5\nexport A={address}\n"
        "srun torchrun --nnodes=2 --nproc_per_node=2 --rdzv-backend=c10d --rdzv-endpoint=$A:0 --rdzv-id=1 train.py\n",
    )
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "$A:0" not in result.out and "$((20000 + SLURM_JOB_ID % 10000))" in result.out
