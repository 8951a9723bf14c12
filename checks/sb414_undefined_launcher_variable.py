'''A launcher's option is given a variable that nothing sets.

`--nnodes $NNODES` without an NNODES loses its value, takes the next option for it, or becomes `--nnodes=`: the launcher
stops with an error about another option, or starts fewer processes than asked. It is easily done by copying the launch
line of another script, or by renaming a variable in one place.

Only scripts that set other variables of the same command are looked at. Names that are set, tested or given a default,
that a comment or a directive mentions, that come with modules or a login, or that a sourced file may set are no faults.

## Fix

None: nobody knows the value. `${NNODES:?}` stops the script at once where it is not given.

## References

torch/distributed/run.py: `--nnodes ""` is a ValueError.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB414", "undefined-launcher-variable", severity="warning", fix="never", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for each in job.variables.undefined():
        dashes = "-" if len(each.option) == 1 else "--"
        yield Finding(
            each.span,
            f"nothing in the script sets {each.name}, so that {dashes}{each.option} of {each.launcher} is empty unless "
            f"the environment at submission has it; set it, or write ${{{each.name}:?}} to stop without it",
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS_PER_NODE=8
        srun torchrun --nnodes «$NNODES» --nproc_per_node $GPUS_PER_NODE train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        HEAD_NODE=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        LAUNCHER="torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$HEAD_NODE:«$PORT»"
        srun bash -c "$LAUNCHER train.py"
        """,
        title="by way of a string",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        # usage: NNODES=2 sbatch job.sh
        GPUS_PER_NODE=8
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE train.py
        """,
        title="meant to be given",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS_PER_NODE=8
        source settings.sh
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE train.py
        """,
        title="maybe set by another file",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS train.py
        """,
        title="a script that is given everything",
    ),
]
