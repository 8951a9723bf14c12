"""The wrong tasks are cancelled or requeued: one task of an array is not the whole array.

Arrays that run one task at a time (`--array=0-31%1`) are chains of restarts, and a `scancel` at the end is meant to
stop the rest once training is done. SLURM_JOB_ID is the task's own id: `scancel $SLURM_JOB_ID` kills the task that has
just succeeded, and the next ones start anyway. Only in the last task is it the id of the array: that one cancels all
tasks. SLURM_ARRAY_JOB_ID is the array's; without a test of the exit status, the first crash stops the chain as well.

`scontrol requeue` of a task, in a trap before the time limit, has the same trap: in the one task whose own id is that
of the array, `$SLURM_JOB_ID` takes all tasks back into the queue, those too that run well or have finished.

## Fix

Writes `$SLURM_ARRAY_JOB_ID` instead of `$SLURM_JOB_ID` for scancel, and both ids of the task for requeue. Unsafe: it
cancels or requeues others than before. None for a cancel without a test.

## References

scancel(1); Slurm's guide to job arrays; live runs of Slurm 22.05, where the last of three tasks cancelled all three,
and where a requeue of the array's id took all four tasks back; Lightning-AI/pytorch-lightning#15022.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.array_elements import several_elements
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.argv import variable_name
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB718", "scancel-in-array", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("scancel", "scontrol"), seen="public scripts; Slurm's guide to job arrays", batch=True,
)  # fmt: skip

_ONE_AT_A_TIME = Regex(r".*%1")


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    array = job.request.value("array")
    if array is not None and command.name == "scontrol":
        yield from _requeue(job, command)
        return
    if array is None or len(command.argv) != 2 or command.context.handler or command.context.background:
        return
    name = variable_name(command.argv[1])
    if name in ("SLURM_JOB_ID", "SLURM_JOBID") and _ONE_AT_A_TIME.fullmatch(array):
        yield _itself(command, name)
    elif name == "SLURM_ARRAY_JOB_ID" and not command.context.conditional and _is_last(job, command):
        yield Finding(
            command.span,
            "the first task that gets here cancels the whole array, even after a crash; do it only if the program's "
            "exit status is 0",
        )


def _requeue(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on a requeue of one task by an id that is, in one of them, that of the array."""
    words = [text_of(field) for field in command.argv]
    if len(words) < 3 or words[1] not in ("requeue", "requeuehold") or several_elements(job) is None:
        return
    name = variable_name(command.argv[-1])
    piece = command.argv[-1][0]
    if name in ("SLURM_JOB_ID", "SLURM_JOBID") and command.argv[-1] and piece.expansion is not None:
        written = "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
        yield Finding(
            piece.span,
            f"in one of the tasks {name} is the ID of the array, and this requeues all of them; write `{written}`",
            fix=Fix("requeue this task alone", [replace(piece.span, written)]),
        )


def _itself(command: Invocation, name: str) -> Finding:
    word = command.argv[1][0]
    return Finding(
        word.span,
        f"{name} is only this task (unless it is the last), so it cancels itself and the array goes on; write "
        "`$SLURM_ARRAY_JOB_ID`",
        fix=Fix("cancel the array", [replace(word.span, "$SLURM_ARRAY_JOB_ID")], safe=False),
    )


def _is_last(job: Job, command: Invocation) -> bool:
    """Whether commands ran before this one and nothing checked their outcome or may have ended the script."""
    before = [each for each in job.invocations[: job.invocations.index(command)] if not each.kind]
    checked = any(each.name in ("exit", "return") or each.context.tested for each in before)
    return bool(before) and not checked and not any(run.errexit for run in job.pipelines)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-31%1
        python train.py --resume
        if [ $? -eq 0 ]; then
            scancel «$SLURM_JOB_ID»
        fi
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --array=0-31%1
        python train.py --resume
        if [ $? -eq 0 ]; then
            scancel $SLURM_ARRAY_JOB_ID
        fi
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-31%1
        python train.py --resume
        «scancel $SLURM_ARRAY_JOB_ID»
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-8 --signal=B:USR1@300
        trap 'scontrol requeue «$SLURM_JOB_ID»' USR1
        python train.py --config run_$SLURM_ARRAY_TASK_ID.yaml &
        wait
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --array=1-8 --signal=B:USR1@300
        trap 'scontrol requeue ${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}' USR1
        python train.py --config run_$SLURM_ARRAY_TASK_ID.yaml &
        wait
        """,
        title="a requeue of all tasks",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-31%1
        python train.py --resume && scancel $SLURM_ARRAY_JOB_ID
        """
    ),
]
