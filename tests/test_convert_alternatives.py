"""`convert` of strings that are read again, and of options and variables that are there only if a test says so."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
ACCELERATE = "accelerate launch --num_processes 2 train.py --lr 1"
DEEPSPEED = "--use_deepspeed --deepspeed_config_file ds.json"
START = 'accelerate launch --num_processes 2 "${D[@]}" train.py'
TORCHRUN = 'torchrun --nproc_per_node 2 "${D[@]}" train.py'


@pytest.mark.parametrize(
    "lines",
    [
        f'X="{ACCELERATE}"\neval $X',
        f"X='{ACCELERATE}'\neval $X",
        f'X="{ACCELERATE}"\neval "$X" > log.txt',
        f'X="{ACCELERATE}"\nX+=" --seed 1"\neval $X',
        f'X="{ACCELERATE}"\n$X',
        f'X="{ACCELERATE}"\necho $X | bash',
        f'X="{ACCELERATE}"\nbash <<< $X',
        "N=2\nX='accelerate launch --num_processes $N train.py'\neval $X",
        'X="accelerate launch --config_file c.yaml train.py"\neval $X',
        'X="composer -n 2 train.py"\neval $X',
        f'run() {{ echo "$@"; eval $1; }}\nrun "{ACCELERATE}"',
    ],
)
def test_a_string_that_is_split_before_it_is_read(command: Converting, lines: str) -> None:
    for name in ("a.txt", "b c.txt"):
        command.write(name, "")
    command.write("c.yaml", "num_processes: 2\ndistributed_type: MULTI_GPU\n")
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and " * " not in result.out, (result.out, result.err)


def test_words_that_nullglob_would_remove(command: Converting) -> None:
    command.write("job.sh", f'{HEADER}shopt -s nullglob\nX="accelerate launch --multi_gpu train.py"\neval $X\n')
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and "nullglob" in result.err


@pytest.mark.parametrize(
    "lines",
    [
        f"D=()\n[ -f ds.json ] && D=({DEEPSPEED})\n{START}",
        f"D=()\n[ -f ds.json ] || D=({DEEPSPEED})\n{START}",
        f"D=()\n[ -f ds.json ] && D=({DEEPSPEED} --deepspeed_multinode_launcher pdsh)\n{START}",
        f"D=(--multi_gpu)\n[ -f ds.json ] && D=(--config_file c.yaml)\n{START}",
        f'D=""\n[ -f ds.json ] && D="{DEEPSPEED}"\naccelerate launch --num_processes 2 $D train.py',
        f"case $HOSTNAME in a*) D=({DEEPSPEED});; *) D=(--multi_gpu);; esac\n{START}",
    ],
)
def test_deepspeed_in_some_alternative(command: Converting, lines: str) -> None:
    command.write("c.yaml", "distributed_type: DEEPSPEED\n")
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "--deepspeed_multinode_launcher=standard" in result.out, (result.out, result.err)
    assert "pdsh" not in result.out


@pytest.mark.parametrize(
    ("lines", "gone"),
    [
        (f"D=()\n[ -f ds.json ] && D=(--same_network --gpu_ids 0,1)\n{START}", "gpu_ids"),
        (f"D=()\n[ -f ds.json ] && D=(--standalone)\n{TORCHRUN}", "standalone"),
        (f"D=()\n[ -f ds.json ] && D=(--rdzv_backend c10d --rdzv_endpoint localhost:0)\n{TORCHRUN}", "localhost"),
        (f"D=()\n[ -f ds.json ] && export NCCL_SOCKET_IFNAME=lo\n{TORCHRUN}", "IFNAME"),
        (f"D=()\n[ -f ds.json ] && export CUDA_VISIBLE_DEVICES=0,1\n{TORCHRUN}", "CUDA_VISIBLE"),
        (
            "D=()\nif [ -f x ]; then export CUDA_VISIBLE_DEVICES=0,1; else export CUDA_VISIBLE_DEVICES=2,3; fi\n"
            + TORCHRUN,
            "CUDA_VISIBLE",
        ),
    ],
)
def test_what_holds_for_one_node_in_some_alternative(command: Converting, lines: str, gone: str) -> None:
    command.write("ds.json", "{}")
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and gone not in result.out, (result.out, result.err)


def test_options_that_a_new_launcher_would_lose(command: Converting) -> None:
    launcher = 'deepspeed --num_gpus 2 "${D[@]}" train.py'
    command.write("job.sh", f"{HEADER}D=()\n[ -f x ] && D=(--no_local_rank)\n{launcher}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and "depend on a test" in result.err
