"""A variable of Slurm is read by an old name, which is kept for old scripts only.

SLURM_JOBID, SLURM_NODELIST, SLURM_NNODES and SLURM_NPROCS are older names, which Slurm still sets beside the ones of
today. They work, and may go. In the tasks of a step some of them speak of the step and not of the
job, so that a line behaves otherwise where it is moved into one; the names of today say which they mean.

Nothing is said of tasks, of a name that the script sets itself, or where it is prepared for both names.

## Fix

Today's name, which holds the same text in the batch script. Safe; but not for SLURM_NPROCS without --ntasks, as some
releases of 23.02 then set that one alone.

## References

sbatch(1), "OUTPUT ENVIRONMENT VARIABLES", 20.11 to 26.05: "(and SLURM_JOBID for backwards compatibility)";
env_array_for_batch_job() in src/common/env.c
"""

import re
from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.expansion.reads import assigned_names, guarded_names, use_of
from sbatchlint.bash.trace import VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.triggers import Variables

TODAY = {
    "SLURM_JOBID": "SLURM_JOB_ID",
    "SLURM_NODELIST": "SLURM_JOB_NODELIST",
    "SLURM_NNODES": "SLURM_JOB_NUM_NODES",
    "SLURM_NPROCS": "SLURM_NTASKS",
}
CARD = Card(
    "SB614", "legacy-slurm-variable", severity="info", fix="always", since="0.1.0", when=Variables(*TODAY), batch=True,
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    known = assigned_names(job) | guarded_names(job)
    seen: set[Span] = set()
    for read in job.trace.reads:
        today = TODAY.get(read.name)
        if today is None or read.context.phase is not Phase.BATCH or read.variable is not None or read.span in seen:
            continue
        if not known.isdisjoint((read.name, today)):
            continue
        seen.add(read.span)
        if _is_shown(job, read):
            continue
        message = f"{read.name} is an old name, kept for old scripts; write `{today}`"
        yield Finding(read.span, message, fix=partial(_renamed, job, read, today))


def _renamed(job: Job, read: VariableRead, today: str) -> Fix | None:
    written = job.source.slice(read.span)
    safe = read.name != "SLURM_NPROCS" or job.request.has_option("ntasks")
    for sign in ("${#", "${", "$", ""):
        if written.startswith(sign + read.name):
            new = sign + today + written[len(sign + read.name) :]
            return Fix(f"write {sign}{today}{'}' if '{' in sign else ''}", [replace(read.span, new)], safe)
    return None


def _is_shown(job: Job, read: VariableRead) -> bool:
    """Whether a line prints the variable by its name: `echo "SLURM_NNODES: $SLURM_NNODES"`."""
    line = job.source.slice(job.source.line_of(read.span.start))
    return re.search(rf"(?<![${{#\w]){read.name}\b", line) is not None and use_of(job, read).kind == "print"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        head=$(scontrol show hostnames "«$SLURM_NODELIST»" | head -n1)
        srun --nodes=«${SLURM_NNODES}» ./solve --head $head --run run_«$SLURM_JOBID»
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun --nodes=${SLURM_JOB_NUM_NODES} ./solve --head $head --run run_$SLURM_JOB_ID
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c './solve --nodes $SLURM_NNODES --list $SLURM_NODELIST'
        """,
        title="in a task, where it is the step's",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        JOB=${SLURM_JOB_ID:-$SLURM_JOBID}
        SLURM_NNODES=2
        srun --nodes=$SLURM_NNODES ./solve --run $JOB
        """,
        title="prepared for both, and set by the script",
    ),
]
