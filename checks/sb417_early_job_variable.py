"""A variable of the job is expanded by the batch shell in a program of the tasks.

`srun bash -c "train --nodes $SLURM_JOB_NUM_NODES"` works: the variable is the same for all tasks, so that it does not
matter which shell expands it. Some prefer that everything in such a text is expanded by the tasks, so that nobody has
to know which variables differ between them. SLURM_NNODES and SLURM_NTASKS are the job's numbers in the batch shell and
the step's numbers in its tasks; where these differ, nothing is reported.

A matter of style: the check runs only where it is selected by its name or code.

## Fix

A backslash before the `$`. It is safe where just one shell reads the text again, and only in the tasks.

## References

env_array_for_step() in src/common/env.c, Slurm 20.11 to 26.05; Megatron Bridge's guide to multi-node jobs asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.triggers import Steps

CARD = Card(
    "SB417", "early-job-variable", severity="info", fix="always",
    since="0.1.0", when=Steps(), stage="optional",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for use, repair in job.variables.early_constants():
        name, step = use.expansion.name, use.step
        yield Finding(
            use.expansion.span,
            f"${name} is expanded by the batch shell, before the srun on line {job.line(step.span.start)} starts the "
            f"tasks; write {repair.text} to let them do it",
            related=[(step.invocation.name_span, "the tasks start here")],
            fix=Fix("let the task expand it", [replace(use.expansion.span, repair.text)], safe=repair.safe),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash -c "train --nodes «$SLURM_JOB_NUM_NODES» --rank \\$SLURM_NODEID"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash -c "train --nodes \\$SLURM_JOB_NUM_NODES --rank \\$SLURM_NODEID"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash <<EOF
        ./train --id «${SLURM_JOB_ID}»
        EOF
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash <<EOF
        ./train --id \\${SLURM_JOB_ID}
        EOF
        """,
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
