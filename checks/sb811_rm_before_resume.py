"""The job removes what it is to go on from, or what another of its tasks has just made.

A job with `--requeue`, an array of one job at a time (`--array=1-10%1`) or `--dependency=singleton` runs its script
from the first line at each start. `rm -rf checkpoints` in front of the training then deletes the checkpoints of the run
before, and every part of the chain begins at step 0.

In the text of a step `rm -rf` runs once in each task. The tasks do not wait for each other there, so that a late one
deletes what an early one has created.

## Fix

None: whether the old files are to go at all is for you to say. `if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]` is true in
the first run of a job that is requeued, and `[ "$SLURM_ARRAY_TASK_ID" -eq "$SLURM_ARRAY_TASK_MIN" ]` in the first of an
array.

## References

sbatch(1), --requeue, SLURM_RESTART_COUNT; NeMo's exp_manager, `resume_if_exists`
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Commands

CARD = Card("SB811", "rm-before-resume", severity="warning", fix="never", since="0.1.0", when=Commands("rm"))


def check(job: Job) -> Iterator[Finding]:
    for each in job.removals():
        line = job.line(each.user.span.start)
        if each.restart is not None:
            again = f"each time it starts ({each.restart.words}, line {job.line(each.restart.span.start)})"
            instead = (
                'if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]' if each.restart.same_job else "a test for the first of them"
            )
            yield Finding(
                each.span,
                f"the job removes this {again}, and the command on line {line} keeps its checkpoints there: it never "
                f"goes on from one, but begins anew; remove it in the first run only, under {instead}",
                "info" if each.restart.habit else "warning",
                related=[(each.restart.span, "starts it again"), (each.user.name_span, "keeps its checkpoints there")],
            )
        elif each.step is not None:
            several = bool(each.step.geometry.several)
            tasks = f"each of the {each.step.tasks} tasks" if each.step.tasks else "every task"
            yield Finding(
                each.span,
                f"{tasks} of the step on line {job.line(each.step.span.start)} runs this, at a time of its own: a late "
                f"one removes what an early one has made (line {line}); remove it once, before the srun",
                "warning" if several else "info",
                related=[(each.step.invocation.name_span, "the step"), (each.user.name_span, "makes it anew")],
            )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --requeue
        OUT=/lustre/team/run1
        «rm -rf $OUT»
        srun torchrun --nnodes=2 train.py --output_dir $OUT
        """,
        title="a requeued job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --array=1-10%1
        rm -rf «nemo_experiments»
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain
        """,
        title="one part of the array after the other",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        rm -rf «/lustre/run/*»
        srun python finetune.py --output-dir /lustre/run --resume
        """,
        title="the program is told to go on from there",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun bash -c "rm -rf «/lustre/run/cache» && mkdir -p /lustre/run/cache && python train.py"
        """,
        title="eight tasks on each node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --requeue
        OUT=/lustre/team/run1
        if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
            rm -rf $OUT
        fi
        srun torchrun --nnodes=2 train.py --output_dir $OUT
        """,
        title="in the first run only",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        OUT=/lustre/team/run1
        rm -rf $OUT
        srun torchrun --nnodes=2 train.py --output_dir $OUT
        """,
        title="a job that starts once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun bash -c 'if [ $SLURM_PROCID -eq 0 ]; then rm -rf /lustre/run; fi; python train.py --output_dir /lustre/run'
        """,
        title="one task does it",
    ),
]
