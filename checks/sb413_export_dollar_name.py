"""A dollar stands before the name of a variable that is assigned.

`export $GPUS_PER_NODE=8` does not set GPUS_PER_NODE. The shell expands it first: with nothing in it, `export =8` is
"not a valid identifier", with 8 in it, so is `export 8=8`. The script goes on, and every `$GPUS_PER_NODE` is what it
was before: mostly nothing at all, so that `--nproc_per_node $GPUS_PER_NODE --nnodes 2` takes the next option for its
value.

Not reported where the variable may hold the name of another one: set by a loop, by `read`, by something unknown.

## Fix

Takes the dollar away. Safe: as it stands the line can only fail.

## References

bash(1), "export"; seen with bash 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace

CARD = Card("SB413", "export-dollar-name", severity="error", fix="always", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.dollar_names():
        shown = each.value or ""
        runs = f"{each.command} {shown}=…" if each.command else f"{shown}=…"
        happens = "which is not a valid name" if each.command else "which is no command"
        fix = Fix("take the dollar away", [replace(each.written_span, each.name)], safe=True)
        yield Finding(
            each.span,
            f"{each.written} is expanded before anything is assigned: this runs `{runs}`, {happens}, and {each.name} "
            f"stays as it was; write {f'{each.command} ' if each.command else ''}{each.name}=…",
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export «$GPUS_PER_NODE=»8
        srun torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 2 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        export GPUS_PER_NODE=8
        srun torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 2 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «${MASTER_PORT}=»29500
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        MASTER_PORT=29500
        """,
        title="without export",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS=4
        if [ "$1" = all ]; then
            export «$GPUS=»8
        fi
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS=4
        if [ "$1" = all ]; then
            export GPUS=8
        fi
        """,
        title="the variable has a value already",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        for name in NCCL_DEBUG NCCL_IB_DISABLE; do
            export $name=1
        done
        while IFS== read -r key value; do
            export $key=$value
        done < env.txt
        """,
        title="the variable holds a name",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set_default() { export $1=$2; }
        set_default NCCL_DEBUG INFO
        NAME=OMP_NUM_THREADS
        export "$NAME=4" ${NAME}=8
        """,
        title="an argument, a known name",
    ),
]
