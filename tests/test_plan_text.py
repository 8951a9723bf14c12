"""The steps of `sbatchlint plan` as text: whole outputs of known scripts, marks, and what is not known."""

from __future__ import annotations

import pytest

from conftest import Command
from sbatchlint import registry as registry_module
from sbatchlint.report.plan_view import broken, first_clause, ranges

GOOD = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1
#SBATCH --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --container-image=torch.sqsh bash -c 'torchrun --nnodes=2 --nproc-per-node=2 \\
    --node-rank=$SLURM_NODEID --master-addr=$MASTER_ADDR --master-port=29500 train.py'
"""
GOOD_STEPS = """\
  steps
  └─ line 5  srun  2 nodes × 1 task
       torchrun starts 2 processes in each task, 4 in all
       it expects 2 nodes; node rank: SLURM_NODEID of each task; rendezvous:
         static at MASTER_ADDR of the batch shell
       program: python train.py
       container: torch.sqsh (pyxis)
       each task sees 2 GPUs
                   SLURM_  SLURM_   SLURM_
       node  task  PROCID  NODEID  LOCALID  processes  RANK  LOCAL_RANK  GPUs
          0     0       0       0        0          2   0-1         0-1   0-1
          1     1       1       1        0          2   2-3         0-1   0-1
       in every task: SLURM_NTASKS=2, SLURM_NNODES=2, SLURM_JOB_NUM_NODES=2,
         SLURM_NTASKS_PER_NODE=1, LOCAL_WORLD_SIZE=2, WORLD_SIZE=4
"""
UNKNOWN = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks=16
srun ./sim &
for part in a b c; do srun -N1 -n1 ./post "$part"; done
if [ -f more ]; then srun -N "$COUNT" -n "$COUNT" ./rare; fi
srun -N 3 ./large
"""
UNKNOWN_STEPS = """\
  steps
  ├─ line 3  srun  [background]
  │    2 nodes, 16 tasks; on each node ? (depends on the size of the nodes)
  │    program: ./sim
  ├─ line 4  srun  [repeated]  1 node × 1 task
  │    program: ./post
  │    on 1 of the job's 2 nodes
  │    … and 2 more steps like this
  ├─ line 5  srun  [conditional]
  │    nodes and tasks: ? (depends on what is not in the script)
  │    processes: ? (depends on what is not in the script)
  │    program: ./rare
  └─ line 6  srun  starts nothing
       program: ./large
       ! srun refuses this: the job has 2 nodes and srun requests 3
"""
LARGE = """\
#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=8
srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python pretrain.py'
"""
LARGE_STEPS = """\
  steps
  └─ line 3  srun  4 nodes × 8 tasks = 32
       program: python pretrain.py
                   SLURM_  SLURM_   SLURM_
       node  task  PROCID  NODEID  LOCALID  processes  RANK  LOCAL_RANK
          0     0       0       0        0          1     0           0
          0     1       1       0        1          1     1           1
          0     2       2       0        2          1     2           2
          0     3       3       0        3          1     3           3
          0     4       4       0        4          1     4           4
          0     5       5       0        5          1     5           5
          0     6       6       0        6          1     6           6
          0     7       7       0        7          1     7           7
       … and 24 more tasks like these
       in every task: SLURM_NTASKS=32, SLURM_NNODES=4, SLURM_JOB_NUM_NODES=4,
         SLURM_NTASKS_PER_NODE=8
"""
BARE = """\
#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=1
torchrun --nproc-per-node=8 train.py
"""
BARE_STEPS = """\
  steps
  └─ line 3  batch shell  1 node × 1 task
       torchrun starts 8 processes
       it expects 1 node
       program: python train.py
       on 1 of the job's 2 nodes
       each task sees 8 GPUs
"""


@pytest.fixture
def real(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line over the checks of this tree."""
    monkeypatch.setattr(registry_module, "_registry", None)
    return command


def steps(command: Command, script: str, *arguments: str) -> str:
    """The text from the line `steps` on, to its end."""
    command.write("job.sbatch", script)
    result = command("plan", *arguments, "job.sbatch")
    assert (result.code, result.err) == (0, "")
    return "  steps\n" + result.out.partition("\n  steps\n")[2]


@pytest.mark.parametrize(
    ("script", "expected"),
    [(GOOD, GOOD_STEPS), (UNKNOWN, UNKNOWN_STEPS), (LARGE, LARGE_STEPS), (BARE, BARE_STEPS)],
    ids=["torchrun", "unknown", "large", "bare"],
)
def test_steps(command: Command, script: str, expected: str) -> None:
    assert steps(command, script) == expected


EIGHT = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --time=1:00
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
srun ./post
"""


def test_a_finding_on_the_request_marks_the_step_that_it_is_about(real: Command) -> None:
    text = steps(real, EIGHT)
    first, second = text.split("└─")
    assert "torchrun starts 8 processes in each task, 128 in all" in first
    lines = [line.strip("│ ") for line in first.splitlines()]
    (at,) = [number for number, line in enumerate(lines) if line.startswith("! line 2: SB301: ")]
    assert lines[at] == "! line 2: SB301: 8 torchrun × 8 workers = 64 processes for 8 GPUs on each"
    assert "SB301" not in second
    corrected = steps(real, EIGHT.replace("ntasks-per-node=8", "ntasks-per-node=1"))
    assert "SB301" not in corrected and "torchrun starts 8 processes in each task, 16 in all" in corrected
    assert "SB301" not in steps(real, EIGHT, "--config", "ignore = ['SB301']")


MARKED = """\
  steps
  ├─ line 3  srun  1 node × 1 task
  │    processes: ? (depends on what each task runs)
  │    program: ./WRONG
  │    ! line 5: SB110: this is wrong
  │    ! line 5: SB140: it stays
  ├─ line 8  srun  1 node × 1 task
  │    program: ./GUESS
  │    ! line 8: SB120: this is a guess
  │    ! line 9: SB120: this is a guess
  └─ line 10  srun  1 node × 1 task
       program: ./good
"""


def test_marks_are_the_errors_and_warnings_on_the_lines_of_a_step(command: Command) -> None:
    script = """\
#!/bin/bash
#SBATCH -N1 -n1 --comment=WRONG
srun bash -c '
  ./HINT
  ./WRONG STAY
'
./STAY
srun ./GUESS \\
  GUESS
srun ./good
"""
    assert steps(command, script) == MARKED
    marked = steps(command, script, "--color", "always")
    assert "! line 5: SB110" in marked and "\x1b[1;31m! line 5: SB110: this is wrong\x1b[0m" in marked


def test_words_that_come_from_a_variable_are_lines_of_the_step(command: Command) -> None:
    script = """#!/bin/bash\n#SBATCH -N1 -n1\nPROGRAM=./WRONG\nOTHER=STAY\nsrun $PROGRAM\nsrun ./good\n"""
    first, second = steps(command, script).split("└─")
    assert "! line 3: SB110: this is wrong" in first and "STAY" not in first and "SB140" not in first
    assert "!" not in second


def test_lines_fit(command: Command) -> None:
    name = "/".join(["folder"] * 40)
    script = f"#!/bin/bash\n#SBATCH -N 2 -n 2\nexport RANK={name} A=1\nsrun {name}/a.out\n"
    text = steps(command, script)
    assert max(map(len, text.splitlines())) <= 80
    assert name in "".join(line.strip() for line in text.splitlines())


def test_steps_of_submitted_scripts_stand_below_them(command: Command) -> None:
    inner = "sbatch <<'EOF'\n#!/bin/bash\n#SBATCH -N2\nsrun ./inner\nEOF\n"
    text = steps(command, f"#!/bin/bash\n#SBATCH -N1\nsrun ./outer\n{inner}")
    assert "  └─ line 3  srun  1 node × 1 task\n" in text
    assert "  submits\n" in text and "    └─ line 7  srun  2 nodes × 1 task\n" in text


def test_a_script_that_uses_one_of_its_nodes(command: Command) -> None:
    command.write("job.sbatch", "#!/bin/bash\n#SBATCH -N 4\npython train.py\n")
    said = "no step is seen in this script: what it runs, runs once, on the first of 4"
    assert said in command("plan", "job.sbatch").out
    command.write("job.sbatch", "#!/bin/bash\n#SBATCH -N 1\npython train.py\n")
    assert "no step" not in command("plan", "job.sbatch").out


def test_control_characters_of_programs_are_escaped(command: Command) -> None:
    text = steps(command, "#!/bin/bash\n#SBATCH -N1\nsrun $'./a\\e[31m'\nsrun './b\x1b[31m'\n")
    assert "\x1b" not in text and text.count("\\x1b[31m") == 2


@pytest.mark.parametrize(
    ("message", "clause"),
    [
        ("it fails; write less", "it fails"),
        ("it fails: nothing is there; write less", "it fails"),
        ("`a; b` of 1:00:00 fails; write less", "`a; b` of 1:00:00 fails"),
        ("it fails", "it fails"),
    ],
)
def test_the_first_clause_of_a_message(message: str, clause: str) -> None:
    assert first_clause(message) == clause


@pytest.mark.parametrize(
    ("values", "text"),
    [("0 1 2", "0-2"), ("4", "4"), ("2 2", "2"), ("0 2 4", "0,2,4"), ("? ?", "?"), ("a b", "a,b")],
)
def test_ranges(values: str, text: str) -> None:
    assert ranges(values.split()) == text


def test_long_words_are_broken() -> None:
    assert broken("ab abcdefgh", 3) == "ab abc def gh"


def test_a_check_that_fails_does_not_take_the_plan_away(command: Command) -> None:
    command.write("job.sbatch", "#!/bin/bash\n#SBATCH -N1 -n1\nsrun ./CRASH\n")
    result = command("plan", "job.sbatch")
    assert result.code == 3
    assert "└─ line 3  srun  1 node × 1 task\n" in result.out
    assert "failed in toy-crash on job.sbatch" in result.err


def test_equal_steps_are_told_once(command: Command) -> None:
    command.write("job.sbatch", "#!/bin/bash\n#SBATCH -N1\n" + "srun ./a\n" * 3 + "srun ./b\n")
    text = command("plan", "job.sbatch").out
    assert text.count("program: ./a") == 1 and "… and 2 more steps like this (lines 4, 5)" in text
    assert "line 6  srun" in text


def test_a_command_has_no_lines(command: Command) -> None:
    text = command("plan", "--as-job", "2", "--", "torchrun", "--nproc-per-node=4", "t.py").out
    assert "the command  batch shell" in text and "line 2  batch shell" not in text
