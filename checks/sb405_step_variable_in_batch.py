"""The batch script reads a variable that only tasks of a step have.

srun gives its tasks variables that describe the step: SLURM_STEP_NODELIST, SLURM_STEP_NUM_NODES, SLURM_STEP_GPUS,
SLURM_LAUNCH_NODE_IPADDR and others. The batch script is not part of any step. There they are empty (SLURM_STEP_ID is -5
in the batch script of Slurm 26.05), so that a host file stays empty or a loop runs over nothing.

A warning where the value is only printed.

## Fix

None: most have a twin that describes the whole job, such as SLURM_JOB_NODELIST, but only the author knows whether the
job or the step was meant.

## References

env_array_for_step() in src/common/env.c, Slurm 20.11 to 26.05; environments of live jobs on 22.05 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job

CARD = Card("SB405", "step-variable-in-batch", severity="error", fix="never", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.variables.of_steps():
        empty = "empty"
        if each.entry is not None and each.entry.batch:
            empty = "empty, or -5 from Slurm 26.05 on"
        advice = "read it in the program that srun starts"
        if each.meant:
            advice = f"write {each.meant}, which describes the job"
        yield Finding(
            each.span,
            f"{each.name} is set only in the tasks of a step, and in the batch script it is {empty}; {advice}",
            "warning" if each.use.kind == "print" else "error",
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        scontrol show hostnames «$SLURM_STEP_NODELIST» > hostfile
        mpirun --hostfile hostfile ./solve
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=4
        gpus=«${SLURM_STEP_GPUS}»
        srun ./train "$gpus"
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "started from «$SLURM_LAUNCH_NODE_IPADDR»"
        """,
        severity="warning",
        title="only printed",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c 'echo "step $SLURM_STEP_ID on $SLURM_STEP_NODELIST"'
        """,
        title="in the tasks",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        NODES=${SLURM_STEP_NODELIST:-$SLURM_JOB_NODELIST}
        scontrol show hostnames "$NODES" > hostfile
        """,
        title="with a default",
    ),
]
