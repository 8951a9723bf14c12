"""The environment of the batch shell and of the tasks, and what a task receives: the model against a real job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from sbatchlint.bash.trace import Context
from sbatchlint.bash.values import Phase, Pieces, is_open, text_of
from sbatchlint.job import Invocation, Job
from sbatchlint.job.environment import NODE_COUNTS, TASK_COUNTS, ZERO_IN_BATCH
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.slurm.environment import variables

from .conftest import job_of, selected
from .local_slurm import LocalSlurm

# Those that only steps have, and those that hold the text of an option.
ONLY_IN_STEPS = {each.name for each in variables().values() if not each.batch}
WITH_OPTION = {each.name for each in variables().values() if each.when == "options" and each.option}
NAMES = sorted(
    NODE_COUNTS | TASK_COUNTS | ONLY_IN_STEPS | WITH_OPTION | ZERO_IN_BATCH
    | {"SLURM_GPUS_ON_NODE", "SLURM_JOB_NAME", "SLURM_JOB_ID", "SLURM_NODELIST", "CUDA_VISIBLE_DEVICES"}
)  # fmt: skip


class Case(NamedTuple):
    """Directives, the options of one srun, and variables that the model has to know: `batch`, then `task`."""

    options: str
    srun: str = ""
    batch: str = ""
    task: str = ""


CASES = (
    Case("", batch="SLURM_PROCID SLURM_STEP_NUM_NODES SLURM_NTASKS", task="SLURM_PROCID SLURM_NTASKS"),
    Case("--nodes=2", batch="SLURM_NTASKS SLURM_NNODES SLURM_CPUS_PER_TASK", task="SLURM_NTASKS SLURM_NNODES"),
    Case("--ntasks=4", batch="SLURM_NTASKS SLURM_NTASKS_PER_NODE", task="SLURM_NTASKS"),
    Case("--nodes=2 --ntasks=1", batch="SLURM_NNODES"),
    Case("--nodes=2 --ntasks=5", batch="SLURM_NNODES SLURM_NTASKS", task="SLURM_JOB_NUM_NODES"),
    Case("--nodes=2 --ntasks-per-node=4", batch="SLURM_NTASKS SLURM_NTASKS_PER_NODE", task="SLURM_NTASKS"),
    Case("--nodes=2 --ntasks-per-node=4 --cpus-per-task=2", batch="SLURM_CPUS_PER_TASK", task="SLURM_CPUS_PER_TASK"),
    Case("--nodes=2 --ntasks-per-node=4 --cpus-per-task=2", "--cpus-per-task=1"),
    Case("--nodes=2 --ntasks-per-node=4", "--ntasks=2", task="SLURM_NTASKS SLURM_NNODES SLURM_LOCALID"),
    Case("--nodes=2 --ntasks-per-node=4", "-N1 -n1", task="SLURM_PROCID SLURM_NODEID SLURM_NNODES"),
    Case("--nodes=2 --ntasks-per-node=4 --exclusive", "-N1"),
    Case("--nodes=2", "-n 1", task="SLURM_NODEID SLURM_NNODES"),
    Case("--nodes=2", "--ntasks-per-node=1 --cpus-per-task=1"),
    Case("--nodes=2 --exclusive", "--ntasks-per-node=8 --cpus-per-task=4", task="SLURM_NTASKS"),
    Case("--nodes=2 --gpus-per-node=8", batch="SLURM_GPUS_ON_NODE SLURM_GPUS_PER_NODE SLURM_GPUS"),
    Case("--nodes=2 --gres=gpu:4", batch="SLURM_GPUS_ON_NODE SLURM_GPUS_PER_NODE"),
    Case("--nodes=1 --gpus=4 --ntasks=4", batch="SLURM_GPUS_ON_NODE SLURM_GPUS"),
    Case("--nodes=2 --gpus=2 --ntasks-per-node=1", batch="SLURM_GPUS"),
    Case("--nodes=2 --gpus=8 --ntasks-per-node=1", batch="SLURM_GPUS"),
    Case("--nodes=1 --ntasks=4 --gpus-per-task=1", batch="SLURM_NTASKS"),
    Case("--nodes=2 --ntasks-per-node=4 --gpus-per-task=1", batch="SLURM_NTASKS_PER_NODE"),
    Case("--nodes=1 --ntasks=4 --gpus-per-node=8", "--gpus-per-task=1"),
    Case("--nodes=1 --ntasks=4 --gpus-per-node=8", "--gpus-per-node=2"),
    Case("--nodes=1 --ntasks=4 --gpus-per-node=8", "--gres=gpu:1"),
    Case("--nodes=1 --ntasks=4 --gpus-per-node=8", "-n1 --gpus=2"),
    Case("--nodes=1 --ntasks=4 --gpus-per-task=1", "-n1"),
    Case("--nodes=1 --ntasks=4 --gpus=4", "-n1"),
    Case("--nodes=1 --ntasks=4 --gres=gpu:4", "-n1 --exact"),
    Case("--job-name=four", "--job-name=other"),
    Case("--nodes=1 --gpus-per-node=4 --cpus-per-gpu=2", batch="SLURM_CPUS_PER_GPU"),
    Case("--nodes=1 --gpus-per-node=4 --ntasks-per-gpu=1"),
    Case("--nodes=2 --ntasks=4 --ntasks-per-node=2 --job-name=four", batch="SLURM_JOB_NAME", task="SLURM_NTASKS"),
    Case("--nodes=2 --ntasks-per-socket=2", batch="SLURM_NTASKS_PER_SOCKET"),
    Case("--nodes=1-2 --ntasks=2", batch="SLURM_NTASKS"),
    Case("--nodes=2 --cpus-per-task=4", "--job-name=other"),
)


class Words(NamedTuple):
    """A script in which every task calls RECORD once; `known`: words that the model must foresee, at these places."""

    lines: str
    known: tuple[tuple[int, str], ...] = ()


HEAD = "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"

WORDS = (
    Words("srun RECORD $SLURM_PROCID", ((0, "0"),)),
    Words('srun RECORD "$SLURM_PROCID-$SLURM_NODEID-$SLURM_LOCALID"', ((0, "0-0-0"),)),
    Words("srun RECORD '$SLURM_PROCID'", ((0, "$SLURM_PROCID"),)),
    Words("srun RECORD \\$SLURM_PROCID", ((0, "$SLURM_PROCID"),)),
    Words("srun bash -c 'RECORD $SLURM_PROCID $SLURM_NTASKS'", ((1, "4"),)),
    Words('srun bash -c "RECORD $SLURM_PROCID $SLURM_NTASKS"', ((0, "0"), (1, "4"))),
    Words('srun bash -c "RECORD \\$SLURM_PROCID $SLURM_NODEID"', ((1, "0"),)),
    Words("srun bash -c \"RECORD '$SLURM_PROCID' '\\$SLURM_PROCID'\"", ((0, "0"), (1, "$SLURM_PROCID"))),
    Words("srun bash -c 'RECORD '$SLURM_PROCID' $SLURM_NODEID'", ((0, "0"),)),
    Words("srun bash -c 'RECORD '\"$SLURM_NNODES\"' \"$SLURM_PROCID x\"'", ((0, "2"),)),
    Words("srun bash <<END\nRECORD $SLURM_PROCID\nEND"),
    Words("srun -n1 bash <<END\nRECORD $SLURM_PROCID \\$SLURM_PROCID\nEND", ((0, "0"), (1, "0"))),
    Words("srun -n1 bash <<'END'\nRECORD $SLURM_PROCID $SLURM_NTASKS\nEND", ((0, "0"), (1, "1"))),
    Words("srun -n1 bash -s -- a b <<'END'\nRECORD \"$2\" \"$1\"\nEND", ((0, "b"), (1, "a"))),
    Words("export RANK=$SLURM_PROCID\nsrun bash -c 'RECORD $RANK'", ((0, "0"),)),
    Words("RANK=$SLURM_PROCID\nsrun bash -c 'RECORD \"$RANK\"'"),
    Words("RANK=$SLURM_PROCID srun bash -c 'RECORD $RANK'", ((0, "0"),)),
    Words("export RANK='$SLURM_PROCID'\nsrun bash -c 'RECORD $RANK'", ((0, "$SLURM_PROCID"),)),
    Words("export RANK='$SLURM_PROCID'\nsrun bash -c 'eval RECORD $RANK'"),
    Words("CMD='RECORD $SLURM_PROCID'\nsrun bash -c \"$CMD\""),
    Words("CMD=\"RECORD $SLURM_PROCID\"\nsrun bash -c \"$CMD\"", ((0, "0"),)),
    Words("CMD='RECORD $SLURM_PROCID'\nsrun $CMD", ((0, "$SLURM_PROCID"),)),
    Words("CMD=(RECORD \"a b\" --rank=$SLURM_PROCID)\nsrun \"${CMD[@]}\"", ((0, "a b"), (1, "--rank=0"))),
    Words("CMD=(RECORD \"a b\" --rank=$SLURM_PROCID)\nsrun ${CMD[*]}", ((0, "a"), (1, "b"), (2, "--rank=0"))),
    Words("run() { srun \"$@\"; }\nrun RECORD \"one two\" $SLURM_NNODES", ((0, "one two"), (1, "2"))),
    Words("srun --export=ALL,RANK=$SLURM_PROCID bash -c 'RECORD $RANK'", ((0, "0"),)),
    Words("srun --ntasks=$SLURM_NNODES bash -c 'RECORD $SLURM_NTASKS $SLURM_NNODES $SLURM_LOCALID'",
          ((0, "2"), (1, "2"), (2, "0"))),
    Words("srun bash -c 'RECORD $SLURM_NTASKS_PER_NODE $SLURM_JOB_NUM_NODES'"),
    Words("srun bash -c 'RECORD \"$(hostname)\"'"),
    Words("srun bash -c \"RECORD $(hostname)\""),
    Words("srun bash -c 'RECORD $((SLURM_PROCID + 1)) $((SLURM_NNODES * 8))'", ((1, "16"),)),
    Words("srun bash -c \"RECORD $((SLURM_NNODES * 8))\"", ((0, "16"),)),
    Words("srun bash -c 'RECORD \"$0\" \"$@\"' zero one 'two three'", ((1, "one"), (2, "two three"))),
    Words("srun env RANK=$SLURM_NODEID bash -c 'RECORD $RANK ${RANK:-none}'", ((0, "0"), (1, "0"))),
    Words("srun env -u SLURM_NTASKS bash -c 'RECORD ${SLURM_NTASKS:-unset}'", ((0, "unset"),)),
    Words("srun bash -c 'RECORD ${SLURM_CPUS_PER_TASK:-1}'", ((0, "1"),)),
    Words("cat > job_step.sh <<END\n#!/bin/bash\nRECORD $SLURM_PROCID \\$SLURM_PROCID\nEND\nsrun bash job_step.sh"),
    Words("srun bash -c \"\n  export RANK=\\$SLURM_PROCID\n  RECORD \\$RANK $SLURM_NNODES\n\"", ((1, "2"),)),
    Words("srun bash -c $'RECORD $SLURM_PROCID \\'x\\' $SLURM_NNODES'", ((1, "x"), (2, "2"))),
    Words("srun sh -c 'if [ \"$SLURM_PROCID\" = 0 ]; then RECORD first; else RECORD other; fi'"),
    Words("srun sh -c \"if [ $SLURM_PROCID = 0 ]; then RECORD first; else RECORD other; fi\"", ((0, "first"),)),
)  # fmt: skip

RECORDER = '#!/bin/bash\nprintf \'%s\\0\' "$@" > "${0%/*}/argv.$SLURM_PROCID"\n'

Environment = Mapping[str, str]


def read_environment(path: Path) -> Environment:
    entries = path.read_bytes().decode(errors="replace").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def differences(environment: JobEnvironment, context: Context, real: Environment) -> list[str]:
    """Where the model knows a variable otherwise than it is; False is one that is not set."""
    found = []
    for name in NAMES:
        claim = environment.lookup(name, context)
        if claim is None or claim is True and name in real:
            continue
        if claim is False and name not in real or claim == real.get(name):
            continue
        found.append(f"{name}: {claim!r}, but really {real.get(name)!r}")
    return found


def script_of(case: Case, folder: Path) -> str:
    directives = "".join(f"#SBATCH {option}\n" for option in case.options.split())
    program = f"bash -c 'env -0 > {folder}/task.$SLURM_PROCID'"
    return f"#!/bin/bash\n{directives}env -0 > {folder}/batch\nsrun {case.srun} {program}\n"


def script_with(words: Words, folder: Path) -> str:
    return f"#!/bin/bash\n{HEAD}cd {folder}\n{words.lines.replace('RECORD', str(folder / 'record'))}\n"


class Folders:
    """A folder for each case, into which its job writes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def of(self, case: Case | Words) -> Path:
        number = CASES.index(case) if isinstance(case, Case) else WORDS.index(case)
        return self.root / f"{type(case).__name__}{number}"


@pytest.fixture(scope="module")
def folders(request: pytest.FixtureRequest, slurm: LocalSlurm) -> Folders:
    """The folders of all cases that will run, whose jobs are on their way."""
    found = Folders(slurm.work)
    for case in selected(request, "case"):
        found.of(case).mkdir()
    for words in selected(request, "words"):
        found.of(words).mkdir()
        recorder = found.of(words) / "record"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
    slurm.run_ahead(script_of(case, found.of(case)) for case in selected(request, "case"))
    slurm.run_ahead(script_with(words, found.of(words)) for words in selected(request, "words"))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.options or 'nothing'}, srun {case.srun}".rstrip())
def test_environment_is_as_the_model_says(slurm: LocalSlurm, case: Case, folders: Folders) -> None:
    folder = folders.of(case)
    script = script_of(case, folder)
    job = job_of(script, slurm.version)
    (step,) = job.steps
    environment = JobEnvironment(job.request)
    outcome = slurm.run(script)
    if slurm.version >= "26.05" and "--gpus-per-node" in case.options and "--gres" in case.srun:
        assert "mutually exclusive" in outcome.output
        return
    assert outcome.state == "COMPLETED", outcome

    batch = step.invocation.context
    assert differences(environment, batch, read_environment(folder / "batch")) == []
    task = step.program[0].context
    assert (batch.phase, task.phase) == (Phase.BATCH, Phase.TASK)
    tasks = sorted(folder.glob("task.*"))
    assert tasks
    for path in tasks:
        assert differences(environment, task, read_environment(path)) == [], path.name
    unknown = [name for name in case.batch.split() if environment.lookup(name, batch) is None]
    unknown += [f"{name} in the task" for name in case.task.split() if environment.lookup(name, task) is None]
    assert unknown == []


# --- what a task receives ------------------------------------------------------------------------


def predicted(job: Job, name: str) -> list[Invocation]:
    found = [command for step in job.steps for command in step.program if text_of(command.argv[0]) == name]
    return [command for command in found if not command.children]


def pattern(field: Pieces) -> str:
    """The words that a field may become, each with its NUL."""
    inside = "".join("[^\\x00]*" if piece.text is None else re.escape(piece.text) for piece in field)
    return "[\\s\\S]*" if is_open(field) else inside + "\\x00"


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.lines)
def test_tasks_receive_what_the_model_says(slurm: LocalSlurm, words: Words, folders: Folders) -> None:
    folder = folders.of(words)
    script = script_with(words, folder)
    job = job_of(script, slurm.version)
    commands = predicted(job, str(folder / "record"))
    outcome = slurm.run(script)
    received = [path.read_bytes().decode() for path in sorted(folder.glob("argv.*"))]
    assert received, outcome

    expected = ["".join(pattern(field) for field in command.argv[1:]) for command in commands]
    for real in received:
        assert not expected or any(re.fullmatch(each, real) for each in expected), (real, commands, outcome)
    for number, word in words.known:
        assert {each.split("\0")[number] for each in received} == {word}
        foreseen = [text_of(command.argv[number + 1]) for command in commands if len(command.argv) > number + 1]
        assert foreseen == [word] * len(commands) and commands, commands
