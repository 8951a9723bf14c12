"""A cache of compiled code lies on storage that several nodes share, and all of them write to it.

Triton, torch.compile, PyTorch's C++ extensions, Numba and MIOpen compile on every node, and keep the result in a folder
that TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR, TORCH_EXTENSIONS_DIR and their like name. On a network file system the
nodes replace each other's files: `OSError: [Errno 116] Stale file handle`, FileNotFoundError, a lock that nobody
releases, a database that is locked. It happens at random, and more often the more nodes there are. Unlike caches of
data, these are best kept on each node's own disk.

## Fix

A folder below /tmp with the user and the job in its name. Unsafe: the folder may be there because it was filled
beforehand, and /tmp may be small.

## References

Triton issues 2688 and 11512; PyTorch issue 173679; torch/utils/file_baton.py;
https://github.com/PrimeIntellect-ai/prime-rl/pull/2305
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB603", "compile-cache-shared", severity="warning", fix="sometimes", since="0.1.0", when=Steps()
)


def check(job: Job) -> Iterator[Finding]:
    for cache in job.shared_compile_caches():
        step = cache.step
        who = f"{step.nodes} nodes" if step.several_nodes else f"{step.tasks_per_node or 'several'} tasks"
        yield Finding(
            cache.setting.span,
            f"{cache.setting.name} is one folder ({cache.setting.location.reason}) for the {who} of the step on line "
            f"{job.line(step.span.start)}, which compile into it at the same time: {cache.consequence}; use a folder "
            "on each node's own disk, such as /tmp/NAME-$USER-$SLURM_JOB_ID",
            cache.severity,
            related=[(step.invocation.name_span, f"runs on {who}" if step.several_nodes else f"runs {who} on a node")],
            fix=Fix("keep it on each node's own disk", cache.edits) if cache.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        export TRITON_CACHE_DIR=«/lustre/team/triton»
        srun torchrun --nnodes=4 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        export TRITON_CACHE_DIR=/tmp/triton-$USER-$SLURM_JOB_ID
        srun torchrun --nnodes=4 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CACHE=$SCRATCH/cache/$SLURM_JOB_ID
        export TORCHINDUCTOR_CACHE_DIR=«$CACHE/inductor»
        srun python train.py --compile
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        CACHE=$SCRATCH/cache/$SLURM_JOB_ID
        export TORCHINDUCTOR_CACHE_DIR=/tmp/torchinductor-$USER-$SLURM_JOB_ID
        srun python train.py --compile
        """,
        title="one for each job is still one for all its nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --ntasks-per-node=8
        export MIOPEN_USER_DB_PATH=«$HOME/.miopen»
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --ntasks-per-node=8
        export MIOPEN_USER_DB_PATH=/tmp/miopen-$USER-$SLURM_JOB_ID
        srun python train.py
        """,
        title="MIOpen's database, for the tasks of one node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        export TRITON_CACHE_DIR=/tmp/triton-$USER-$SLURM_JOB_ID
        srun torchrun --nnodes=4 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun bash -c 'TRITON_CACHE_DIR=/lustre/cache/node_$SLURM_NODEID torchrun --nnodes=4 train.py'
        """,
        title="a folder for each node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export TRITON_CACHE_DIR=/lustre/team/triton
        srun torchrun --nproc_per_node=8 train.py
        """,
        title="one node",
    ),
]
