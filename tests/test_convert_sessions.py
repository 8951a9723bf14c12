"""`convert` of commands that return while their program runs, which ends the task of a step."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
TORCHRUN = "torchrun --nproc_per_node=2 train.py"


@pytest.mark.parametrize(
    "lines",
    [
        f"setsid {TORCHRUN}",
        f"setsid {TORCHRUN} > log 2>&1 &\nwait",
        f"setsid nohup {TORCHRUN} > log &\nwait",
        f"nohup setsid \\\n  {TORCHRUN} > log &\nwait",
        f"srun setsid {TORCHRUN}",
        f'bash -c "setsid {TORCHRUN}"',
        f'setsid bash -c "cd .; {TORCHRUN}"',
        f'CMD="setsid {TORCHRUN}"\n$CMD',
    ],
)
def test_setsid_goes(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "setsid" not in result.out, (result.out, result.err)
    assert "decided: setsid is left out: in a task it returns at once" in result.err


@pytest.mark.parametrize("line", [f"setsid --wait {TORCHRUN}", f"setsid -w {TORCHRUN}", f"setsid srun {TORCHRUN}"])
def test_where_it_waits_it_stays(command: Converting, line: str) -> None:
    command.write("job.sh", f"{HEADER}{line}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "setsid" in result.out, (result.out, result.err)


@pytest.mark.parametrize(
    "lines",
    [
        f"setsid -f {TORCHRUN}",
        f"srun setsid --fork {TORCHRUN}",
        f'f() {{ setsid "$@"; }}\nf {TORCHRUN}',
    ],
)
def test_elsewhere_it_is_a_todo(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "setsid returns at once, and the task ends before it" in result.err, result.err


@pytest.mark.parametrize(
    "lines",
    [
        f"bash -c '{TORCHRUN} &'",
        f"({TORCHRUN} &)",
        f"tmux new -d '{TORCHRUN}'",
        f"screen -dmS x {TORCHRUN}",
        f"daemonize {TORCHRUN}",
        f"echo '{TORCHRUN}' | at now",
    ],
)
def test_what_else_returns_is_not_proven(command: Converting, lines: str) -> None:
    command.write("job.sh", f"{HEADER}{lines}\n")
    assert command("convert", "--nodes", "2", "job.sh").code in (1, 4)
