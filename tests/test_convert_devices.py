"""`convert` of programs that use no GPU, of tasks bound to their own GPUs, and of `fabric run model`."""

from __future__ import annotations

import pytest

import in_bash
from convert_cases import CPUS, MEETING
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH -c 4 --time=5\n"
GPUS = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
TORCHRUN = "torchrun --nproc_per_node=2 train.py"
HIDDEN = [
    f'export CUDA_VISIBLE_DEVICES=""\n{TORCHRUN}',
    f"CUDA_VISIBLE_DEVICES= {TORCHRUN}",
    f"CUDA_VISIBLE_DEVICES=-1 {TORCHRUN}",
    f"export NVIDIA_VISIBLE_DEVICES=\n{TORCHRUN}",
    f"export JAX_PLATFORMS=cpu\n{TORCHRUN}",
    f"{TORCHRUN} --use_cpu",
    f"{TORCHRUN} --cpu",
    f"{TORCHRUN} --device cpu",
    f"{TORCHRUN} trainer.accelerator=cpu trainer.num_nodes=1",
    f"{TORCHRUN} --n_gpu=0",
    f"DS_ACCELERATOR=cpu {TORCHRUN}",
    "fabric run --accelerator=cpu --strategy=ddp --devices=2 train.py",
    "lightning run model --accelerator cpu --devices 2 train.py",
]


@pytest.mark.parametrize("lines", HIDDEN)
def test_a_program_that_uses_no_gpu_gets_none(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "gpus" not in result.out, (result.out, result.err)


@pytest.mark.parametrize("lines", HIDDEN)
def test_in_a_job_with_gpus_it_is_a_todo(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{GPUS}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "--gpus-per-node 0 asks for none" in result.err, (result.out, result.err)


@pytest.mark.parametrize(
    "lines",
    [
        f"{TORCHRUN} --backend gloo --device cuda",
        f"{TORCHRUN} --cpu false",
        f"export CUDA_VISIBLE_DEVICES=0,1\n{TORCHRUN}",
    ],
)
def test_other_programs_get_gpus(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "--gpus-per-node=2" in result.out, (result.out, result.err)


@pytest.mark.parametrize(("options", "code"), [((), 1), (("--gpus-per-node", "2"), 0), (("--gpus-per-node", "0"), 0)])
def test_gloo_alone_does_not_say(command: Converting, options: tuple[str, ...], code: int) -> None:
    command.write("job.sh", f"{HEADER}{TORCHRUN} --backend gloo\n")
    result = command("convert", "--nodes", "2", *options, "job.sh")
    assert result.code == code and ("say --gpus-per-node 0" in result.err) == bool(code), (result.out, result.err)


@pytest.mark.parametrize("tasks", ["--ntasks-per-node=2", "--ntasks=2"])
def test_tasks_keep_their_own_gpus(command: Converting, tasks: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -N1 {tasks} --gpus-per-task=1 -c 4 -t5\nsrun python train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "--gpus-per-task=1" in result.out, (result.out, result.err)
    assert "--ntasks-per-node=2" in result.out and "gpus-per-node" not in result.out


def test_lost_binding_is_a_todo(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH -N1 -n2 --gpus-per-task=2 -c 4 -t5\nsrun python train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 or "gave each its own" in result.err, (result.out, result.err)


@pytest.mark.parametrize("name", ["fabric run model", "lightning run model", "python -m lightning.fabric.cli run"])
def test_fabric(command: Converting, name: str) -> None:
    line = f"{name} --node-rank=0 --main-address=10.1.1.1 --devices=2 --num-nodes=1 train.py --devices 2 --tag 'run 1'"
    command.write("job.sh", f"{GPUS}{line}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0, result.err
    assert result.out == (
        f"{GPUS}#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n{MEETING}srun --kill-on-bad-exit=1 {CPUS} "
        f'bash -c \'exec {name} --node-rank="$SLURM_NODEID" "$@"\' \\\n    fabric --main-port="$MASTER_PORT" '
        '--main-address="$MASTER_ADDR" --devices=2 --num-nodes="$SLURM_JOB_NUM_NODES" train.py --devices 2 '
        "--tag 'run 1'\n"
    )


@pytest.mark.parametrize(
    "option", ["--node-rank=0", "--main-address 10.1.1.1", "--num_nodes=1", "--devices=4", "--main-port=0"]
)
def test_options_of_fabric_behind_its_script(command: Converting, option: str) -> None:
    command.write("job.sh", f"{GPUS}fabric run model --devices 2 train.py {option}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and "behind its script" in result.err, (result.out, result.err)


@pytest.mark.parametrize(
    "line",
    [
        f"nohup env CUDA_VISIBLE_DEVICES=4,5 {TORCHRUN} > log 2>&1 &\nwait",
        f"time env CUDA_VISIBLE_DEVICES=4,5 {TORCHRUN}",
        f"stdbuf -oL env OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=4,5 {TORCHRUN}",
        f"HIP_VISIBLE_DEVICES=4,5 {TORCHRUN}",
        f"export ROCR_VISIBLE_DEVICES=4,5\n{TORCHRUN}",
        f"export X=1 GPU_DEVICE_ORDINAL=4,5\n{TORCHRUN}",
    ],
)
def test_numbers_of_gpus_go(command: Converting, line: str) -> None:
    command.write("job.sh", f"{HEADER}{line}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "4,5" not in result.out, (result.out, result.err)


@pytest.mark.parametrize(("numbers", "code"), [("4,5", 1), ("0,1", 0)])
def test_numbers_of_gpus_in_a_string(command: Converting, numbers: str, code: int) -> None:
    command.write("job.sh", f'{HEADER}bash -c "CUDA_VISIBLE_DEVICES={numbers} {TORCHRUN}"\n')
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == code and ("counts the GPUs of the job from 0" in result.err) == bool(code), result.err


OTHERS = [
    f"ASCEND_RT_VISIBLE_DEVICES=0,1 {TORCHRUN}",
    f"export HCCL_CONNECT_TIMEOUT=1200\n{TORCHRUN}",
    f"MLU_VISIBLE_DEVICES=0,1 {TORCHRUN}",
    f"export HABANA_VISIBLE_MODULES=0,1\n{TORCHRUN}",
    f"ZE_AFFINITY_MASK=0,1 {TORCHRUN}",
    f"{TORCHRUN} --device npu",
    f"{TORCHRUN} --dist_backend=hccl",
]


@pytest.mark.parametrize("lines", OTHERS)
def test_devices_that_slurm_may_not_call_gpus(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "Slurm may not call GPUs" in result.err, (result.out, result.err)
    result = command("convert", "--nodes", "2", "--gpus-per-node", "0", "--set", "gres=npu:2", "job.sh")
    assert result.code == 0 and "#SBATCH --gres=npu:2\n" in result.out and "gpus" not in result.out, result.err


@pytest.mark.parametrize("lines", OTHERS)
def test_a_job_that_asks_for_gpus_says_what_they_are(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{GPUS}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0, (result.out, result.err)
