"""A Slurm variable has an outdated name, kept only for old scripts.

SLURM_JOBID, SLURM_NODELIST, SLURM_NNODES and SLURM_NPROCS are older names, which Slurm still sets in addition to the
current ones. They work, and may be removed. In the tasks of a step some of them describe the step and not the job, so a
line behaves differently when it is moved into a step; the current names say which they mean.

Not reported: reads in tasks, those that are only printed, names that the script sets itself, and scripts that handle
both names.

## Fix

The current name, which has the same value in the batch script. Safe, except for SLURM_NPROCS without --ntasks, as some
releases of 23.02 then set only that one.

## References

sbatch(1), "OUTPUT ENVIRONMENT VARIABLES", 20.11 to 26.05: "(and SLURM_JOBID for backwards compatibility)";
env_array_for_batch_job() in src/common/env.c
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.expansion.reads import assigned_names, guarded_names, use_of
from sbatchlint.bash.trace import VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.slurm.environment import CURRENT_NAMES
from sbatchlint.triggers import Variables

CARD = Card(
    "SB614", "legacy-slurm-variable", severity="info", fix="always", since="0.1.0", when=Variables(*CURRENT_NAMES),
    batch=True,
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    known = assigned_names(job) | guarded_names(job)
    seen: set[Span] = set()
    for read in job.trace.reads:
        new = CURRENT_NAMES.get(read.name)
        if new is None or read.context.phase is not Phase.BATCH or read.variable is not None or read.span in seen:
            continue
        if not known.isdisjoint((read.name, new)):
            continue
        seen.add(read.span)
        if use_of(job, read).kind == "print":
            continue
        message = f"{read.name} is an outdated name, kept only for old scripts; write `{new}`"
        yield Finding(read.span, message, fix=partial(_renamed, job, read, new))


def _renamed(job: Job, read: VariableRead, new: str) -> Fix | None:
    written = job.source.slice(read.span)
    safe = read.name != "SLURM_NPROCS" or job.request.has_option("ntasks")
    sign, name, rest = written.partition(read.name)
    if not name or sign not in ("${#", "${", "$", ""):
        return None
    return Fix(f"write {sign}{new}{rest}", [replace(read.span, sign + new + rest)], safe)


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
