"""A rank is computed by the batch shell, once for all tasks.

`export RANK=$SLURM_PROCID` in the batch script sets RANK to 0 for every task: the batch shell is itself task 0 on the
first node, and what it exports is the same everywhere. All processes claim to be rank 0, and the job hangs until a
time-out, or every process trains alone. The same holds for `NODE_RANK=$SLURM_NODEID` whose value ends up in an argument
of srun.

An error where the value tells a process who it is; advice where the launcher sets the variable itself, as torchrun does
with RANK.

## Fix

None: the assignment has to move into the task, for instance `srun bash -c 'RANK=$SLURM_PROCID exec python train.py'`,
or into the program, which can read SLURM_PROCID itself.

## References

setup_env() in src/common/env.c, Slurm 20.11 to 26.05; Megatron-LM issue 1371.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job

CARD = Card("SB402", "early-rank-export", severity="error", fix="never", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for rank in job.early_ranks():
        step = rank.step
        name = rank.expansion.name
        effect = "so that all get the same rank"
        if rank.consumer == "ignored":
            effect = "which the launcher sets itself"
        yield Finding(
            rank.expansion.span,
            f"${name} is 0 in the batch shell, and every task of the srun on line {job.line(step.span.start)} gets "
            f"that value, {effect}; set it in the task: srun bash -c '…=${name} exec …'",
            rank.severity,
            related=[(step.invocation.name_span, "the tasks start here")],
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
        """
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
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NODE_RANK=«$SLURM_NODEID» NNODES=2 NPROC_PER_NODE=8
        srun swift sft --model Qwen/Qwen2.5-7B
        """
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
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export RANK=$SLURM_PROCID
        srun python train.py
        """,
        title="one task",
    ),
]
