"""`convert` of what runs once beside the launcher, and of tests that may leave the launcher out."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
START = "torchrun --nproc_per_node=2 train.py"
ONCE = "srun --nodes=1 --ntasks=1"


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (f"srun python prep.py\nsrun {START}", f"\n{ONCE} python prep.py\n"),
        (f"srun --mem=0 python prep.py\n{START}\nsrun python post.py", f"\n{ONCE} --mem=0 python prep.py\n"),
        (f'for i in 1 2; do srun bash -c "python prep.py $i"; done\n{START}', f"{ONCE} bash -c"),
        (f'S="srun --mem=0"\n$S python prep.py\n{START}', f'S="{ONCE} --mem=0"'),
    ],
)
def test_a_step_of_one_task_keeps_it(command: Converting, lines: str, kept: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and kept in result.out and "keeps its one task" in result.err, (result.out, result.err)
    command.write("done.sh", result.out)
    again = command("convert", "--nodes", "2", "done.sh")
    assert (again.out, again.code) == (result.out, 0), again.err


@pytest.mark.parametrize("step", ["srun -n1 python prep.py", "srun mkdir -p /tmp/x", "srun -N1 -n1 python prep.py"])
def test_other_steps_stay(command: Converting, step: str) -> None:
    command.write("job.sh", f"{HEADER}{step}\n{START}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and f"\n{step}\n" in result.out, (result.out, result.err)


def test_an_srun_that_two_steps_share_is_a_todo(command: Converting) -> None:
    command.write("job.sh", f'{HEADER}S="srun --mem=0"\n$S python prep.py\n$S {START}\n')
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "write --nodes=1 --ntasks=1 to the srun of line 4" in result.err, result.err


COUNT = 'N=$(nvidia-smi --list-gpus | wc -l)\nif [ "$N" -gt 1 ]; then\n  torchrun --nproc_per_node="$N" train.py\n'


@pytest.mark.parametrize(
    ("lines", "todo"),
    [
        (f"{COUNT}else\n  python3 train.py\nfi", "on line 7 python3 starts its program on the first node alone"),
        (f"{COUNT}else\n  echo one\nfi", "see that line 5 is reached with one GPU"),
        (f"{COUNT}fi", "see that line 5 is reached with one GPU"),
    ],
)
def test_a_test_of_the_number_of_gpus(command: Converting, lines: str, todo: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -c 4 --time=5\n{lines}\n")
    result = command("convert", "--nodes", "2", "--gpus-per-node", "1", "job.sh")
    assert result.code == 1 and todo in result.err, (result.out, result.err)


def test_more_gpus_reach_the_launcher(command: Converting) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -c 4 --time=5\n{COUNT}else\n  echo one\nfi\n")
    result = command("convert", "--nodes", "2", "--gpus-per-node", "2", "job.sh")
    assert result.code == 0, (result.out, result.err)
