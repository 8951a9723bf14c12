"""A cache that all nodes need is set nowhere, so that each container keeps its own.

Without NEMO_HOME (or NEMO_DATASETS_CACHE) NeMo and Megatron Bridge prepare datasets below the home folder, which inside
a container is the container's own on every node: what one node packs is missing on the others. With MODELSCOPE_CACHE
unset each node of a swift job downloads for itself, and uv without UV_CACHE_DIR rebuilds its packages in every
container and fills its root file system; these two cost time only, and are advice.

The variable may come from the environment from which the job is submitted; no script shows that.

## Fix

None: which folder all nodes see is known to you alone.

## References

Megatron Bridge issues 4207 and 4715; uv's documentation of its cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB602", "cache-unset", severity="warning", fix="never", since="0.1.0", when=Steps())

CONSEQUENCE = {
    "NEMO_HOME": "datasets that one node packs are missing on the others",
    "MODELSCOPE_CACHE": "every node downloads and packs its own copy",
    "UV_CACHE_DIR": "every container downloads and builds the packages again",
}


def check(job: Job) -> Iterator[Finding]:
    for step, cache in job.unset_caches():
        advice = cache.name != "NEMO_HOME" or cache.container is not None and cache.container.home_mounted
        yield Finding(
            cache.span,
            f"{cache.name} is not set for the step on line {job.line(step.span.start)}: {CONSEQUENCE[cache.name]}; "
            f"export {cache.name} with a folder that all nodes see",
            "info" if advice else "warning",
            related=[(step.invocation.name_span, "the step")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --container-image=nemo.sqsh «python» scripts/training/run_recipe.py --recipe llama3_8b_sft
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        CMD="«torchrun» --nnodes=2 --nproc_per_node=8 examples/nemo/finetune_lora.py"
        srun --container-image=/images/nemo.sqsh bash -c "$CMD"
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        ARGS=(--container-image=nemo.sqsh --no-container-mount-home)
        srun "${ARGS[@]}" bash <<'EOF'
        «python» -m megatron.bridge.recipes.peft
        EOF
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NPROC_PER_NODE=8
        srun «swift» sft --model Qwen/Qwen2.5-7B
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --container-image=nemo.sqsh --container-mount-home «python» run_recipe.py --recipe llama3_sft
        """,
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        export NEMO_HOME=/lustre/team/nemo
        srun --container-image=nemo.sqsh python run_recipe.py --recipe llama3_8b_sft
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        source env.sh
        srun --container-image=nemo.sqsh python run_recipe.py --recipe llama3_8b_sft
        """,
        title="a sourced file may set it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --container-image=nemo.sqsh python run_recipe.py --recipe llama3_8b_sft dataset.dataset_root=/lustre/data
        """,
        title="the data has a place of its own",
    ),
]
