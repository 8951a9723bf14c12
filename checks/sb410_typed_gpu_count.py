'''A number of GPUs has the GPU's type before it.

With `--gpus-per-node=h100:8`, SLURM_GPUS_PER_NODE is `h100:8`, the option's text, and SLURM_GPUS likewise. As
`--nproc_per_node` or in arithmetic that is no number: torchrun stops with a ValueError, bash with a syntax error in the
expression. A script that worked with `--gpus-per-node=8` breaks when a type is added.

## Fix

`${SLURM_GPUS_PER_NODE##*:}`, the part behind the last colon, which is right with a type and without. It is safe. A
request of several types (`a100:2,v100:1`) has no one number, and no fix.

## References

job_scheduler.c and src/common/env.c, Slurm 20.11 to 26.05; awsome-distributed-training issue 71.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.triggers import Gpus

CARD = Card("SB410", "typed-gpu-count", severity="error", fix="sometimes", since="0.1.0", when=Gpus())


def check(job: Job) -> Iterator[Finding]:
    for each in job.variables.typed_counts():
        fix = None if each.text is None else Fix("take the number alone", [replace(each.span, each.text)], safe=True)
        yield Finding(
            each.span,
            f"{each.name} is the text '{each.value}' here, and {each.wanted} wants a number; "
            f"write {each.text or '$SLURM_GPUS_ON_NODE'}",
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=h100:8
        srun torchrun --nnodes=2 --nproc_per_node=«$SLURM_GPUS_PER_NODE» train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=h100:8
        srun torchrun --nnodes=2 --nproc_per_node=${SLURM_GPUS_PER_NODE##*:} train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=a100:4
        WORLD_SIZE=$((SLURM_NNODES * «SLURM_GPUS_PER_NODE»))
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=a100:4
        WORLD_SIZE=$((SLURM_NNODES * ${SLURM_GPUS_PER_NODE##*:}))
        """,
        title="in arithmetic",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=a100:2,v100:2
        if [ «$SLURM_GPUS_PER_NODE» -gt 2 ]; then
            ./run_many
        fi
        """,
        title="several types",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=$SLURM_GPUS_PER_NODE train.py
        """,
        title="no type",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=h100:8
        srun --gpus-per-node=$SLURM_GPUS_PER_NODE torchrun --nproc_per_node=${SLURM_GPUS_PER_NODE##*:} train.py
        echo "$SLURM_GPUS_PER_NODE on each node, $SLURM_GPUS_ON_NODE of them"
        """,
        title="the number alone, and where a type is welcome",
    ),
]
