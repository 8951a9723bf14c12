'''A rank is computed by the batch shell, once for all tasks.

`export RANK=$SLURM_PROCID` in the batch script sets RANK to 0 for every task: the batch shell is itself task 0 on the
first node, and what it exports is the same everywhere. All processes claim to be rank 0, and the job hangs until a
time-out, or every process trains alone. The same holds for `NODE_RANK=$SLURM_NODEID` whose value ends up in an argument
of srun.

An error where the value tells a process who it is; advice where the launcher sets the variable itself, as torchrun does
with RANK, and where the step has one task on one node, for which 0 is right.

## Fix

The assignment moves into the tasks: `srun bash -c 'RANK=$SLURM_PROCID exec "$@"' _ python train.py`. Unsafe, because
it rewrites the command, and the program may read SLURM_PROCID itself. There is none where the rank is an argument of
srun, or more is computed than a copy of the variable.

## References

setup_env() in src/common/env.c, Slurm 20.11 to 26.05; Megatron-LM issue 1371.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB402", "early-rank-export", severity="error", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for rank in job.early_ranks():
        step = rank.step
        name = rank.expansion.name
        effect = "so that all get the same rank"
        if rank.consumer == "ignored":
            effect = "which the launcher sets itself"
        move = job.variables.moved_rank(rank)
        variable = job.variables.uses.target_of(rank.expansion.span) or "…"
        program = move.program if move else f"{variable}=${name} exec …"
        yield Finding(
            job.early_span(rank),
            f"${name} is 0 in the batch shell, and every task of the srun on line {job.line(step.span.start)} gets "
            f"that value, {effect}; set it in the task: srun bash -c '{program}'",
            rank.severity,
            related=[(step.invocation.name_span, "the tasks start here")],
            fix=Fix("set it in the tasks", move.edits, safe=False) if move is not None else None,
        )
    for rank in job.variables.harmless_ranks():
        yield Finding(
            job.early_span(rank),
            f"${rank.expansion.name} is 0 in the batch shell, which is right only while the srun on line "
            f"{job.line(rank.step.span.start)} has one task; set it in the task",
            "info",
            related=[(rank.step.invocation.name_span, "the task starts here")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        export RANK=«$SLURM_PROCID»
        export LOCAL_RANK=«$SLURM_LOCALID»
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec "$@"' _ python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        NODE_RANK=«$SLURM_NODEID»
        srun torchrun --nnodes=2 --node_rank=$NODE_RANK --master_addr=$HOST train.py
        """,
        title="by way of an argument",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        NODE_RANK=«${SLURM_NODEID}»
        ARGS=(--nnodes=2 --master_addr=$HOST)
        ARGS+=(--node_rank "$NODE_RANK")
        srun torchrun "${ARGS[@]}" train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        setup() { export CUDA_VISIBLE_DEVICES=«$SLURM_LOCALID»; }
        setup
        srun bash -c 'python train.py'
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NODE_RANK=«$SLURM_NODEID» NNODES=2 NPROC_PER_NODE=8
        srun swift sft --model Qwen/Qwen2.5-7B
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NNODES=2 NPROC_PER_NODE=8
        srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$@"' _ swift sft --model Qwen/Qwen2.5-7B
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec python train.py'
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        cat > run.sh <<'EOF'
        export RANK=$SLURM_PROCID
        python train.py
        EOF
        export RANK=$SLURM_PROCID
        srun bash run.sh
        """,
        title="set again in the task",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export RANK=«$SLURM_PROCID»
        srun python train.py
        """,
        severity="info",
        title="one task, for which 0 is right",
    ),
]
