"""A cache that all nodes need lies where each node has its own.

NeMo and Megatron Bridge pack datasets once, on one node, below NEMO_HOME or NEMO_DATASETS_CACHE, and every node then
reads the result: on a folder that only one node sees the others find nothing (`TypeError: 'NoneType' object is not an
iterator`). /tmp and the local disks belong to one node each, and a path inside a container that no mount covers
belongs to one container. Other caches are merely filled again on every node.

The severity follows the variable: an error for NEMO_HOME and NEMO_DATASETS_CACHE, a warning for MODELSCOPE_CACHE and
HF_DATASETS_CACHE, advice for those that cost only time (HF_HOME, UV_CACHE_DIR …). A value that is only the default of
`${NAME:-…}` is at most a warning. Which folders are shared can be said in the settings: `shared-paths`, `local-paths`.

## Fix

Where another cache of the script lies on shared storage, a folder beside it is offered. Unsafe: which folder is meant
cannot be known.

## References

Megatron Bridge issues 4207 and 4715; ms-swift issue 4462; the README of pyxis for what a container sees.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.triggers import Steps

CARD = Card("SB601", "cache-not-shared", severity="error", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for step, cache in job.private_caches():
        severity = "warning" if cache.default and cache.severity == "error" else cache.severity
        path = job.source.slice(cache.span)
        sibling = None if cache.default else job.shared_sibling(step, cache)
        fix = None
        if sibling is not None and "$" not in path and " " not in path:
            fix = Fix("keep it beside the other cache", [replace(cache.span, sibling)], safe=False)
        yield Finding(
            cache.span,
            f"{cache.name} is {_place(cache.location.kind)} ({cache.location.reason}), and the step on line "
            f"{job.line(step.span.start)} runs on {step.nodes} nodes: {cache.consequence}; "
            "use a folder that all nodes see",
            severity,
            related=[(step.invocation.name_span, f"runs on {step.nodes} nodes")],
            fix=fix,
        )


def _place(kind: str) -> str:
    return "private to each node" if kind == "node-local" else "private to each node's container"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        export NEMO_HOME=«/tmp/nemo»
        srun python scripts/training/run_recipe.py --recipe llama3_8b_sft
        """,
        title="on each node's own /tmp",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        export HF_HOME=/lustre/team/hf
        export NEMO_HOME=«/root/.cache/nemo»
        srun --container-image=nemo.sqsh --container-mounts=/lustre:/lustre --no-container-mount-home python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        export HF_HOME=/lustre/team/hf
        export NEMO_HOME=/lustre/team/nemo_home
        srun --container-image=nemo.sqsh --container-mounts=/lustre:/lustre --no-container-mount-home python train.py
        """,
        title="inside the container, under no mount",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        CMD="export NEMO_DATASETS_CACHE=«/dev/shm/datasets» && torchrun --nnodes=2 finetune.py"
        srun bash -c "$CMD"
        """,
        title="exported in the text that the tasks run",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        export NEMO_HOME=${NEMO_HOME:-«/tmp/nemo»}
        srun python train.py
        """,
        severity="warning",
        title="as the default, which is what most runs get",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export MODELSCOPE_CACHE=«$SLURM_TMPDIR/modelscope»
        srun swift sft --model Qwen/Qwen2.5-7B
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        export NEMO_HOME=/root/.cache/nemo
        srun --container-image=nemo.sqsh --container-mounts=/lustre/team/cache:/root/.cache python train.py
        """,
        title="a mount leads to shared storage",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export NEMO_HOME=/tmp/nemo
        srun python train.py
        """,
        title="one node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        export NEMO_HOME=/data/nemo
        srun python train.py
        """,
        title="nobody can know what /data is",
    ),
]
