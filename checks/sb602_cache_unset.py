"""Each container keeps its own cache: the variable for a shared one is not set.

Without NEMO_HOME (or NEMO_DATASETS_CACHE) NeMo and Megatron Bridge prepare datasets below the home folder, which inside
a container is the container's own on every node: what one node packs is missing on the others. Without MODELSCOPE_CACHE
each node of a swift job downloads its own copy, and uv without UV_CACHE_DIR rebuilds its packages in every container
and fills the container's root file system; these two only cost time, and are advice. uv on several nodes is a warning
where the home folder is certainly not mounted.

The variable may also come from the environment of the submitting shell, which the script does not show.

## Fix

None: only you know which folder all nodes see.

## References

Megatron Bridge issues 4207 and 4715; uv's documentation of its cache.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.script.work import step_programs
from sbatchlint.bash.trace import Invocation, is_set
from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job import Step
from sbatchlint.job.containers import Container
from sbatchlint.job.launches import container_of
from sbatchlint.job.python.program import PythonProgram, python_program
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers, Launchers

CARD = Card(
    "SB602", "cache-unset", severity="warning", fix="never", since="0.1.0", when=Containers() | Launchers("swift"),
    absent=True,
)  # fmt: skip

CONSEQUENCE = {
    "NEMO_HOME": "datasets that one node packs are missing on the others",
    "MODELSCOPE_CACHE": "every node downloads and packs its own copy",
    "UV_CACHE_DIR": "every container downloads and builds the packages again",
}
FINETUNING = Regex(r"(?:^|[^a-z])(?:sft|peft|lora|dora|finetune|finetuning|fine_tune)(?:$|[^a-z])", re.IGNORECASE)
NEMO_PROGRAM = Regex(
    r"nemo(?!tron|[_-]?(?:automodel|rl|gym|curator|run))|megatron[._-]?bridge|run_recipe", re.IGNORECASE
)
# Other data: a folder of its own, mock data, or conversations with images, which are not packed.
OWN_DATA = Regex(r"dataset_root=|packed\w*path|dataset\.path=|mock|maker_name=|\bvlm?_", re.IGNORECASE)


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        if not step.several_nodes and not step.geometry.several:
            continue
        for command in step_programs(step):
            container = container_of(command)
            if command.state.sourced or container is not None and container.hidden_environment:
                continue
            for name in _unset_caches(job, step, command, container):
                program = python_program(job, command) if name == "NEMO_HOME" else None
                if program is not None and program.complete and not _is_nemo(program):
                    continue
                severe = name == "NEMO_HOME" and not (container is not None and container.home_mounted)
                severe = severe or name == "UV_CACHE_DIR" and _builds_on_nodes(step, command, container)
                yield Finding(
                    command.name_span,
                    f"`{name}` is not set: {CONSEQUENCE[name]}; export `{name}` with a shared folder",
                    "warning" if severe else "info",
                    related=[(step.invocation.name_span, "the step")],
                )


def _unset_caches(job: Job, step: Step, command: Invocation, container: Container | None) -> Iterator[str]:
    """Caches that the program of a step needs to share, and that the script does not name."""
    line = " ".join(command.words)
    if step.several_nodes and container is not None and NEMO_PROGRAM.search(line) and FINETUNING.search(line):
        if not OWN_DATA.search(line) and not _is_named(command, container, "NEMO_HOME", "NEMO_DATASETS_CACHE"):
            yield "NEMO_HOME"
    if step.several_nodes and not _is_named(command, container, "MODELSCOPE_CACHE"):
        launcher = job.launcher_of(command)
        if launcher is not None and launcher.kind == "swift":
            yield "MODELSCOPE_CACHE"
    if container is not None and shown_text(command.argv[0]).rpartition("/")[2] == "uv":
        if not _is_named(command, container, "UV_CACHE_DIR", "UV_NO_CACHE") and "--cache-dir" not in line:
            yield "UV_CACHE_DIR"


def _builds_on_nodes(step: Step, uv: Invocation, container: Container | None) -> bool:
    """Whether uv installs packages in a new container on each of several nodes, where no home folder is mounted."""
    if step.several_nodes is not True or container is None or container.home_mounted is not False:
        return False
    return container.name is None and "--no-sync" not in uv.words and bool({"sync", "pip", "run"} & set(uv.words[1:]))


def _is_nemo(program: PythonProgram) -> bool:
    """Whether a program of the project uses NeMo or Megatron Bridge, or reads the variable itself."""
    return program.mentions("NEMO_HOME") or any(name.startswith(("nemo", "megatron")) for name in program.imports)


def _is_named(command: Invocation, container: Container | None, *names: str) -> bool:
    """Whether the script sets one of the variables in any way."""
    return any(
        is_set(command, name)
        or container is not None
        and name in container.passed
        or any(name in word for word in command.words)
        for name in names
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
