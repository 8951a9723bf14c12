"""`convert` where the launcher stands in a file beside the script: told by variables, or refused with what to write.

tests/slurm/test_convert_live.py runs those with `processes`.
"""

from __future__ import annotations

import pytest

import in_bash
from convert_cases import CPUS, MEETING, Case
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gpus-per-node=2 --cpus-per-task=4 --time=5\n"
NODES = "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
PET = 'export PET_NNODES="$SLURM_JOB_NUM_NODES"\n' + MEETING.replace("MASTER", "PET_MASTER")
TOLD = 'bash -c \'export {}="$SLURM_NODEID"; exec "$@"\' bash'
PLAIN = "#!/bin/bash\nexport TAG=1\ntorchrun --nproc_per_node=2 train.py --tag 'run 1'\n"
OPEN = """\
#!/bin/bash
NPROC=${NPROC:-2}
torchrun --nnodes=${NNODES:-1} --node_rank=${NODE_RANK:-0} --nproc_per_node=$NPROC \\
    --master_addr=${MASTER_ADDR:-localhost} --master_port=${MASTER_PORT:-29500} train.py --lr 1
"""

CASES = {
    "beside": Case(
        f"{HEADER}cd .\nbash -e plain.sh  # train.py --tag run 1\n",
        "--nodes 2",
        f"{HEADER}{NODES}cd .\n{PET}srun --kill-on-bad-exit=1 {CPUS} {TOLD.format('PET_NODE_RANK')} bash -e plain.sh"
        "  # train.py --tag run 1\n",
        "torch",
        file=("plain.sh", PLAIN),
    ),
    "beside-told": Case(
        f"{HEADER}export NNODES=1 NODE_RANK=0 MASTER_ADDR=localhost\nsrun -n1 bash open.sh  # train.py --lr 1\n",
        "--nodes 2",
        f'{HEADER}{NODES}export NNODES="$SLURM_JOB_NUM_NODES" '
        f"{MEETING.splitlines()[0].removeprefix('export ')}\n"
        f"srun {CPUS} {TOLD.format('NODE_RANK')} bash open.sh  # train.py --lr 1\n",
        "torch",
        file=("open.sh", OPEN),
    ),
    "beside-docker": Case(
        f"{HEADER}docker run --rm --gpus all -v $PWD:/w -w /w nvcr.io/nvidia/pytorch:24.05-py3 bash plain.sh"
        "  # train.py --tag run 1\n",
        "--nodes 2 --container pyxis",
        f"{HEADER}{NODES}{PET}srun {CPUS} --kill-on-bad-exit=1 --container-image=nvcr.io#nvidia/pytorch:24.05-py3 "
        "--container-mounts=$PWD:/w --container-workdir=/w --no-container-mount-home "
        f"{TOLD.format('PET_NODE_RANK')} bash plain.sh  # train.py --tag run 1\n",
        "torch",
        file=("plain.sh", PLAIN),
    ),
    "beside-string": Case(
        f'{HEADER}srun -n1 bash -c "cd .; bash plain.sh"  # train.py --tag run 1\n',
        "--nodes 2",
        f'{HEADER}{NODES}{PET}srun {CPUS} bash -c "cd .; PET_NODE_RANK=\\$SLURM_NODEID bash plain.sh"'
        "  # train.py --tag run 1\n",
        "torch",
        file=("plain.sh", PLAIN),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_launcher_in_a_file_beside(command: Converting, name: str) -> None:
    case = CASES[name]
    assert case.file is not None
    path = command.write(*case.file)
    command.write("job.sh", case.before)
    result = command("convert", *case.options.split(), "job.sh")
    assert (result.out, result.code) == (case.after, 0), result.err
    assert path.read_text() == case.file[1] and f"of {case.file[0]} is told " in result.err
    command.write("done.sh", result.out)
    again = command("convert", *case.options.split(), "done.sh")
    assert (again.out, again.code) == (case.after, 0), again.err


def test_a_script_without_directives_reads_its_files_too(command: Converting) -> None:
    command.write("open.sh", OPEN)
    command.write("job.sh", "#!/bin/bash\nbash open.sh\n")
    result = command("convert", "--nodes", "2", "--set", "time=5", "--cpus-per-node", "4", "job.sh")
    assert result.code == 0 and "processes become 4" in result.err, result.err
    assert f'export NNODES="$SLURM_JOB_NUM_NODES"\n{MEETING.splitlines()[0]}\nsrun ' in result.out


def test_what_else_the_file_runs_is_told(command: Converting) -> None:
    command.write("train.sh", "python prepare.py\npip install x\ntorchrun --nproc_per_node=2 train.py\n")
    command.write("job.sh", f"{HEADER}bash train.sh\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and result.err.count("may run on every node") == 1
    assert "see that python on line 1 of train.sh may run on every node, as it does now" in result.err


@pytest.mark.parametrize(
    ("file", "options", "reason"),
    [
        ("accelerate launch --num_processes 2 train.py\n", "",
         ("accelerate launch on line 1 of train.sh cannot be told from here what it has to know: write "
         "--num_machines=${NNODES:-1} --machine_rank=${NODE_RANK:-0} --main_process_ip=${MASTER_ADDR:-localhost} "
         "--main_process_port=${MASTER_PORT:-29500} --num_processes=${NUM_PROCESSES:-2} there")),
        ("torchrun --nnodes 1 --nproc_per_node=2 train.py\n", "", "write --nnodes=${NNODES:-1} there"),
        ("torchrun --standalone --nproc_per_node=2 train.py\n", "", "has --standalone"),
        ("torchrun --nproc_per_node=2 train.py\n", "--to srun", "torchrun is in a file of its own"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_told(command: Converting, file: str, options: str, reason: str) -> None:
    command.write("train.sh", file)
    command.write("job.sh", f"{HEADER}bash train.sh\n")
    result = command("convert", "--nodes", "2", *options.split(), "job.sh")
    assert result.code == 4 and reason in result.err, result.err


def test_what_the_reason_says_to_write_is_enough(command: Converting) -> None:
    """The advice of a refusal, followed word by word."""
    command.write("job.sh", f"{HEADER}bash train.sh\n")
    command.write("train.sh", "accelerate launch --num_processes 2 train.py\n")
    refused = command("convert", "--nodes", "2", "job.sh").err
    options = refused.partition(": write ")[2].partition(" there")[0]
    command.write("train.sh", f"accelerate launch --multi_gpu {options} train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "processes become 4" in result.err, result.err
    assert "export NUM_PROCESSES=$((SLURM_JOB_NUM_NODES * 2))\n" in result.out


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("bash /opt/train.sh\n", "what /opt/train.sh on line 3 starts cannot be read here"),
        (
            "docker run nvcr.io/a/b bash /opt/train.sh\n",
            "what /opt/train.sh on line 3 starts in the container cannot be",
        ),
        ("docker compose up\n", "docker compose on line 3 starts what its own file says"),
    ],
)
def test_what_cannot_be_read_is_named(command: Converting, script: str, reason: str) -> None:
    command.write("job.sh", HEADER + script)
    result = command("convert", "--nodes", "2", "--container", "pyxis", "job.sh")
    assert result.code == 4 and reason in result.err, result.err
