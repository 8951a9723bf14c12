"""Nodes interfere with each other: all of them write to one cache of compiled code on shared storage.

Triton, torch.compile, PyTorch's C++ extensions, Numba and MIOpen compile on every node, and keep the result in a folder
named by TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR, TORCH_EXTENSIONS_DIR and the like. On a network file system the
nodes replace each other's files: `OSError: [Errno 116] Stale file handle`, FileNotFoundError, a lock that is never
released, a locked database. It happens at random, and more often the more nodes there are. Unlike data caches, these
are best kept on each node's own disk.

## Fix

Uses a folder below /tmp with the user and the job in its name. Unsafe: the shared folder may have been filled on
purpose, and /tmp may be small.

## References

Triton issues 2688 and 11512; PyTorch issue 173679; torch/utils/file_baton.py;
https://github.com/PrimeIntellect-ai/prime-rl/pull/2305
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.varying import of_job
from sbatchlint.analysis.storage.caches import CacheSetting, cache_settings
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.paths import SHARED
from sbatchlint.triggers import Variables

VANISHING = "files vanish while they are read"
LOCKED = "SQLite files are corrupted"
# By variable, the severity and the consequence where several nodes write into one folder.
COMPILE_CACHES = {
    "TRITON_CACHE_DIR": ("warning", VANISHING),
    "TRITON_HOME": ("warning", VANISHING),
    "TORCHINDUCTOR_CACHE_DIR": ("warning", VANISHING),
    "TORCH_EXTENSIONS_DIR": ("warning", "a killed job leaves its lock"),
    "MIOPEN_USER_DB_PATH": ("warning", LOCKED),
    "MIOPEN_CUSTOM_CACHE_DIR": ("warning", LOCKED),
    "NUMBA_CACHE_DIR": ("warning", VANISHING),
    "CUDA_CACHE_PATH": ("info", "all wait for network locks"),
    "XDG_CACHE_HOME": ("info", "compilers interfere with each other"),
}
CARD = Card(
    "SB603", "compile-cache-shared", severity="warning", fix="sometimes", since="0.1.0",
    when=Variables(*COMPILE_CACHES),
    seen="Triton issues 2688 and 11512; PyTorch issue 173679; PrimeIntellect-ai/prime-rl pull request 2305",
)  # fmt: skip

# Variables that have the same value in all tasks of a job.
CONSTANT = frozenset({"HOME", "USER", "LOGNAME", "PWD", "SCRATCH", "WORK", "PROJECT", "SLURM_SUBMIT_DIR"})


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        names = [
            name
            for name in COMPILE_CACHES
            if step.several_nodes or name.startswith("MIOPEN_") and step.geometry.several
        ]
        for cache in cache_settings(step, job.site, names):
            if cache.location.kind != SHARED or _differs(cache):
                continue
            severity, consequence = COMPILE_CACHES[cache.name]
            who = f"{step.nodes} nodes" if step.several_nodes else f"{step.tasks_per_node or 'several'} tasks"
            kind = cache.name.partition("_")[0].lower()
            local = f"/tmp/{ {'torch': 'torch-extensions', 'xdg': 'cache'}.get(kind, kind) }-$USER-$SLURM_JOB_ID"
            written = job.source.slice(cache.span)
            quoted = job.source.text[cache.span.start - 1] == "'" or not re.fullmatch(r"[\w./${}-]+", written)
            yield Finding(
                cache.span,
                f"{who} compile into one `{cache.name}` ({cache.location.reason}): {consequence}; use `{local}`",
                severity,
                related=[
                    (step.invocation.name_span, f"runs on {who}" if step.several_nodes else f"runs {who} on a node")
                ],
                fix=None if quoted else Fix("put it on each node's own disk", [replace(cache.span, local)]),
            )


def _differs(cache: CacheSetting) -> bool:
    """Whether nodes or tasks have, or may have, folders of their own."""
    if cache.location.per_node or cache.location.per_task:
        return True
    found = [piece.expansion for piece in cache.value if piece.expansion is not None and piece.text is None]
    return any(each.phase is Phase.TASK and each.name not in CONSTANT and not of_job(each) for each in found)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        export TRITON_CACHE_DIR=«/lustre/team/triton»
        srun torchrun --nnodes=4 train.py
        """,
        unsafe_fixed={"TRITON_CACHE_DIR=/lustre/team/triton": "TRITON_CACHE_DIR=/tmp/triton-$USER-$SLURM_JOB_ID"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CACHE=$SCRATCH/cache/$SLURM_JOB_ID
        export TORCHINDUCTOR_CACHE_DIR=«$CACHE/inductor»
        srun python train.py --compile
        """,
        unsafe_fixed={
            "TORCHINDUCTOR_CACHE_DIR=$CACHE/inductor": "TORCHINDUCTOR_CACHE_DIR=/tmp/torchinductor-$USER-$SLURM_JOB_ID",
        },
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
        unsafe_fixed={"MIOPEN_USER_DB_PATH=$HOME/.miopen": "MIOPEN_USER_DB_PATH=/tmp/miopen-$USER-$SLURM_JOB_ID"},
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
