"""What one node prepares is missing on the others: the folder of a cache is separate on each node.

NeMo and Megatron Bridge pack datasets once, on one node, below NEMO_HOME or NEMO_DATASETS_CACHE, and every node then
reads the result: in a folder that only one node sees, the others find nothing (`TypeError: 'NoneType' object is not an
iterator`). /tmp and the local disks belong to one node each, and a path inside a container that no mount covers belongs
to one container. Other caches are only filled again on every node.

The severity follows the variable: an error for NEMO_HOME and NEMO_DATASETS_CACHE, a warning for MODELSCOPE_CACHE and
HF_DATASETS_CACHE, advice for those that only cost time (HF_HOME, UV_CACHE_DIR …), a warning where these lie in a
container, which is thrown away with all that was downloaded or built. Program options count like variables:
an error for Megatron's `--data-cache-path`, a warning for `--packing_cache`, advice for any other `--cache-dir`. A
value that is only the default of `${NAME:-…}` is at most a warning. The settings `shared-paths` and `local-paths` say
which folders are shared.

## Fix

Where another cache of the script is on shared storage, a folder next to it is offered. Unsafe: which folder is meant
cannot be known.

## References

Megatron Bridge issues 4207 and 4715; ms-swift issue 4462; megatron/core/datasets/gpt_dataset.py (0.8): rank 0 builds
what all ranks load; the README of pyxis for what a container sees.
"""

from collections.abc import Iterator

from sbatchlint.analysis.storage.caches import CacheSetting, cache_options, cache_settings
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import NODE_LOCAL, SHARED, classify, key
from sbatchlint.job.programs import all_words
from sbatchlint.programs import has_trait
from sbatchlint.triggers import Steps, Variables

# By variable, the severity and the consequence where each node has its own cache.
CACHES = {
    "NEMO_HOME": ("error", "data that one prepares is missing on the others"),
    "NEMO_DATASETS_CACHE": ("error", "data that one packs is missing on the others"),
    "MODELSCOPE_CACHE": ("warning", "each downloads and packs its own copy"),
    "HF_DATASETS_CACHE": ("warning", "each node prepares the datasets again"),
    "HF_HOME": ("info", "each node downloads the models again"),
    "HF_HUB_CACHE": ("info", "each node downloads the models again"),
    "HUGGINGFACE_HUB_CACHE": ("info", "each node downloads the models again"),
    "TRANSFORMERS_CACHE": ("info", "each node downloads the models again"),
    "TORCH_HOME": ("info", "each node downloads the models again"),
    "UV_CACHE_DIR": ("info", "each node downloads and builds the packages again"),
    "PIP_CACHE_DIR": ("info", "each node downloads and builds the packages again"),
}
# The same by option; others of this kind only cost time.
OPTIONS = {
    "data_cache_path": ("error", "other nodes cannot find the indexes"),
    "packing_cache": ("warning", "data that one packs is missing on the others"),
}
_OTHERS = ("info", "each node fills its own")
CARD = Card(
    "SB601", "cache-not-shared", severity="error", fix="sometimes", since="0.1.0", when=Variables(*CACHES) | Steps(),
    seen="Megatron Bridge issues 4207 and 4715; ms-swift issue 4462",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    steps = [step for step in job.steps if step.several_nodes]
    may_have_options = bool(steps) and "cache" in all_words(job)
    copied = _copied_on_nodes(job) if steps else set()
    filled = {folder for path in copied for folder in _folders(path)}
    for step in steps:
        caches = list(cache_settings(step, job.site, CACHES))
        if may_have_options:
            caches += cache_options(step, job.site)
        shared = {each.name for each in caches if each.location.kind == SHARED}
        for cache in caches:
            if not cache.location.private or cache.location.per_node or cache.location.per_task:
                continue
            folder = key(cache.value)
            if folder in filled or not copied.isdisjoint(_folders(folder)):
                continue  # the script itself copies something into it on the nodes
            if cache.name == "NEMO_HOME" and "NEMO_DATASETS_CACHE" in shared:
                continue
            severity, consequence = CACHES.get(cache.name) or OPTIONS.get(cache.name, _OTHERS)
            in_container = cache.location.kind != NODE_LOCAL
            if cache.default and severity == "error" or in_container and cache.name in CACHES and severity == "info":
                severity = "warning"
            path, neighbour = job.source.slice(cache.span), _near_shared_cache(job, cache)
            fix = None
            if cache.name in CACHES and neighbour is not None and not cache.default and not set("$ ") & set(path):
                fix = Fix("put it next to the other cache", [replace(cache.span, neighbour)])
            own = "is in the container of" if in_container else "is private to"
            yield Finding(
                cache.span,
                f"`{cache.name}` {own} each of the {step.nodes} nodes ({cache.location.reason}): {consequence}; use "
                "a shared folder",
                severity,
                related=[(step.invocation.name_span, f"runs on {step.nodes} nodes")],
                fix=fix,
            )


def _folders(path: str) -> list[str]:
    """A path, and the folders that it is in."""
    return [path, *(path[:end] or "/" for end, character in enumerate(path) if character == "/")]


def _copied_on_nodes(job: Job) -> set[str]:
    """What commands that the nodes run copy, from and to."""
    copying = [each for each in job.invocations if has_trait(each.name, "copies")]
    on_nodes = [each for each in copying if each.context.parent is not None or each.name == "sbcast"]
    return {key(field) for command in on_nodes for field in command.argv[1:] if field}


def _near_shared_cache(job: Job, cache: CacheSetting) -> str | None:
    """A folder next to another cache of the script that all nodes see, written like that; None where there is none."""
    for name in CACHES:
        value = exported(cache.command, name) if name != cache.name else None
        text = None if value is None else text_of(value)
        if value is not None and text is not None and "/" in text.strip("/"):
            if classify(value, job.site, container_of(cache.command)).kind == SHARED:
                return text.rstrip("/").rpartition("/")[0] + "/" + cache.name.lower()
    return None


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
        unsafe_fixed={"NEMO_HOME=/root/.cache/nemo": "NEMO_HOME=/lustre/team/nemo_home"},
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
        title="an unknown folder",
    ),
]
