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
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.argv import variable_name
from sbatchlint.triggers import Commands

CARD = Card(
    "SB718", "scancel-in-array", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("scancel", "scontrol"), seen="public scripts; Slurm's guide to job arrays", batch=True,
)  # fmt: skip


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    array = job.request.value("array")
    if array is not None and command.name == "scontrol":
        yield from _requeue(job, command)
        return
    if array is None or len(command.argv) != 2 or command.context.handler or command.context.background:
        return
    name = variable_name(command.argv[1])
    if name in ("SLURM_JOB_ID", "SLURM_JOBID") and array.endswith("%1"):
        place = command.argv[1][0].span
        yield Finding(
            place,
            f"{name} is only this task (unless it is the last), so it cancels itself and the array goes on; write "
            "`$SLURM_ARRAY_JOB_ID`",
            fix=Fix("cancel the array", [replace(place, "$SLURM_ARRAY_JOB_ID")], safe=False),
        )
    elif name == "SLURM_ARRAY_JOB_ID" and not command.context.conditional and _is_last(job, command):
        yield Finding(
            command.span,
            "the first task that gets here cancels the whole array, even after a crash; do it only if the program's "
            "exit status is 0",
        )


def _requeue(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on a requeue of one task by an id that is, in one of them, that of the array."""
    requeues = len(command.argv) > 2 and command.words[1] in ("requeue", "requeuehold")
    name = variable_name(command.argv[-1])
    if requeues and name in ("SLURM_JOB_ID", "SLURM_JOBID") and several_elements(job) is not None:
        place, written = command.argv[-1][0].span, "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
        yield Finding(
            place,
            f"in one of the tasks {name} is the ID of the array, and this requeues all of them; write `{written}`",
            fix=Fix("requeue this task alone", [replace(place, written)]),
        )


def _is_last(job: Job, command: Invocation) -> bool:
    """Whether commands ran before this one and nothing checked their outcome or may have ended the script."""
    before = [each for each in job.invocations[: command.index] if not each.kind]
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
        unsafe_fixed={"$SLURM_JOB_ID": "$SLURM_ARRAY_JOB_ID"},
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
        unsafe_fixed={"$SLURM_JOB_ID'": "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}'"},
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
