"""A program of the tasks gets the value of the batch shell, which expands the variable first.

`srun bash -c "train --nodes $SLURM_JOB_NUM_NODES"` works: the variable is the same for all tasks, so it does not matter
which shell expands it. Some prefer to have everything in such a string expanded by the tasks, so that readers need not
know which variables differ between them. SLURM_NNODES and SLURM_NTASKS are the job's counts in the batch shell and the
step's counts in its tasks; where these differ, nothing is reported.

A matter of style: the check runs only where it is selected by its name or code.

## Fix

A backslash before the `$`. It is safe where exactly one shell reads the string again, and only in the tasks.

## References

env_array_for_step() in src/common/env.c, Slurm 20.11 to 26.05; Megatron Bridge's guide to multi-node jobs asks for it.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.early import EarlyUse, Question, early_uses, is_of_own_variable
from sbatchlint.analysis.expansion.escapes import deferred_to_tasks
from sbatchlint.analysis.expansion.varying import of_job
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.triggers import Steps

CARD = Card(
    "SB417", "early-job-variable", severity="info", fix="always", since="0.1.0", when=Steps(), stage="optional",
    seen="Megatron Bridge's guide to multi-node jobs",
)  # fmt: skip

CONSTANTS = Question(of_job, frozenset(), frozenset())
# Options that give a step other counts than the job.
_OWN_COUNTS = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "nodelist", *GPU_OPTIONS)


def check(job: Job) -> Iterator[Finding]:
    for use in early_uses(job, CONSTANTS):
        place = use.expansion.span
        if not use.shells or is_of_own_variable(job, use) or _differs_in_step(use):
            continue
        repair = deferred_to_tasks(job, use, frozenset())
        if repair is None or not repair.safe:
            continue
        yield Finding(
            place,
            f"the batch shell expands ${use.expansion.name} before the srun on line {job.line(use.step.span.start)} "
            f"starts; to expand it in each task {repair.text}",
            related=[(use.step.invocation.name_span, "the tasks start here")],
            fix=Fix("let the task expand it", repair.edits, safe=True),
        )


def _differs_in_step(use: EarlyUse) -> bool:
    """Whether the variable has, or may have, a different value in the step."""
    name, step = use.expansion.name, use.step
    if name.startswith("SLURM_JOB") or not any(word in name for word in ("NODES", "TASK", "PROCS", "GPU", "CPU")):
        return False
    return not step.certain or any(option in step.options for option in _OWN_COUNTS)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash -c "train --nodes «$SLURM_JOB_NUM_NODES» --rank \\$SLURM_NODEID"
        """,
        fixed={"$SLURM_JOB_NUM_NODES": "\\$SLURM_JOB_NUM_NODES"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash <<EOF
        ./train --id «${SLURM_JOB_ID}»
        EOF
        """,
        fixed={"${SLURM_JOB_ID}": "\\${SLURM_JOB_ID}"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun ./train --nodes "$SLURM_JOB_NUM_NODES"
        srun bash -c 'train --nodes $SLURM_JOB_NUM_NODES'
        """,
        title="an argument of srun is never read again; single quotes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        ID=$SLURM_JOB_ID
        srun bash -c "train --id $ID"
        """,
        title="a variable of one's own",
    ),
]
