r"""A container uses GPUs of its node that Slurm did not allocate to the job.

The job's cgroup does not restrict `--gpus all`, because docker's daemon starts the container outside it: the program
sees every GPU of the node, usually takes the first one, and shares it with the program of another job. Both run out of
memory, or run at half the speed. `--gpus 2` is no better: docker takes the node's first two, whichever Slurm allocated
to the job. Nor is a fixed GPU number (`--gpus device=0`).

Reported where the job certainly has fewer GPUs than its nodes: `gpus-per-node` in the settings says how many these
have; without it, a job with 1, 2, 3, 5, 6 or 7 GPUs and neither `--exclusive` nor all of the memory is assumed to share
its node. Not reported where CUDA_VISIBLE_DEVICES is passed in, or the program gets the numbers as an argument. podman
and apptainer run in the job's own cgroup. But where Slurm gives each task of a node its own GPUs, it does so through
CUDA_VISIBLE_DEVICES, and `--cleanenv` hides that from the container: all tasks take the first GPU, unless the site
restricts each task to its devices (ConstrainDevices).

## Fix

`--gpus "\"device=$SLURM_JOB_GPUS\""`: Slurm's numbers for the job's GPUs, in the quotes that docker needs around a
list. Unsafe: sites may number them differently from docker. None in a step of several nodes: the variable holds the
numbers of the first node (0,1, where a live job had 2,3 on the second), and each task has to read SLURM_STEP_GPUS.

## References

docker run manual, --gpus; https://github.com/NVIDIA/nvidia-docker/issues/1227
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts
from sbatchlint.analysis.containers.gpu_access import (
    ALL,
    COUNT,
    NAMED,
    gpu_access,
    gpus_of_shared_node,
    own_gpus,
    runs_on_cpus,
)
from sbatchlint.bash.trace import is_set
from sbatchlint.bash.values import expansions, span_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.job.argv import CommandOption
from sbatchlint.job.gpus import step_gpus
from sbatchlint.triggers import Containers

CARD = Card(
    "SB513", "container-sees-all-gpus", severity="warning", fix="sometimes", since="0.1.0",
    when=Containers("docker", "apptainer"), seen="docker run manual, --gpus; NVIDIA/nvidia-docker issue 1227",
)  # fmt: skip


# Variables with the numbers of the job's GPUs.
_NUMBERS = frozenset({"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"})


def check(job: Job) -> Iterator[Finding]:
    for ways in container_starts(job):
        start, found = ways[0], [gpu_access(each) for each in ways]
        kind, option, text = found[0]
        by_default = option is None and start.engine == "nvidia-docker" and kind == ALL
        if not start.by_daemon or any(each.kind not in (ALL, COUNT, NAMED) for each in found):
            continue
        if option is None and not by_default:
            continue
        gpus = gpus_of_shared_node(job, start)
        masked = any(_knows_its_gpus(each) for each in ways)
        if gpus is None or masked or runs_on_cpus(start):
            continue
        if kind == ALL:
            what = f"every GPU of the node, but the job has {'one' if gpus == 1 else gpus}"
        elif kind == COUNT:
            what = f"the node's first {'GPU' if text == '1' else f'{text} GPUs'}, which may belong to another job"
        else:
            what = f"GPU{'s' if ',' in text else ''} {text} of the node, which may belong to another job"
        edits = [] if option is None else _name_own_gpus(job, start, option)
        yield Finding(
            start.invocation.name_span if option is None else option.span,
            rf'{start.engine} gives the container {what}; write `--gpus "\"device={own_gpus(start)}\""`',
            fix=Fix("name the job's GPUs", edits) if edits else None,
        )
    for ways in container_starts(job):
        start = ways[0]
        option = start.cleaning
        if option is not None and all(_loses_mask(job, each) for each in ways):
            yield Finding(
                option.span,
                f"`{job.source.slice(option.span)}` drops CUDA_VISIBLE_DEVICES, so all tasks may take the first GPU; "
                'add `--env "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"` where each task expands it',
            )


def _knows_its_gpus(start: ContainerStart) -> bool:
    """Whether the program in a container gets the numbers of the job's GPUs, in its environment or as an argument."""
    words = start.invocation.argv
    named = any(each.name in _NUMBERS for word in words for each in expansions(word))
    return named or not _NUMBERS.isdisjoint(start.container.passed)


def _loses_mask(job: Job, start: ContainerStart) -> bool:
    """Whether tasks that share a node lose the variable that says which of its GPUs are theirs."""
    container, step = start.container, start.step
    if container.kind != "apptainer" or not start.is_certain or start.flag("nv") is None or container.inherits:
        return False
    if step is None or step.geometry.several is not True or step_gpus(job, step).bound is not True:
        return False
    names = (prefix + "CUDA_VISIBLE_DEVICES" for prefix in ("", "APPTAINERENV_", "SINGULARITYENV_"))
    inside = (start.invocation, *start.program)
    return not any(name in container.passed or is_set(each, name) for name in names for each in inside)


def _name_own_gpus(job: Job, start: ContainerStart, option: CommandOption) -> list[Edit]:
    """The edits that name the job's GPUs; none where the text is quoted, or the step may have several nodes."""
    if option.name != "gpus" or option.value is None or job.in_quoted_text(option.span.start):
        return []
    if start.step is not None and start.step.several_nodes is not False:
        return []
    span, text = span_of(option.value), job.source.text
    before = text[span.start - 1]
    if before in "\"'" and text[span.end : span.end + 1] == before:
        span = Span(span.start - 1, span.end + 1)
    if text[span.start : span.end].strip("'") != option.text or text[span.start - 1] not in " =\t":
        return []
    return [Edit(span, r'"\"device=$SLURM_JOB_GPUS\""')]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        docker run --rm --ipc=host «--gpus» all train:1 python train.py
        """,
        unsafe_fixed={"all": '"\\"device=$SLURM_JOB_GPUS\\""'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        srun bash -c 'docker run --rm «--gpus=1» train:1 python train.py'
        """,
        title="the first one of the node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        docker run --rm «--gpus='"device=0,1,2,3"»' train:1 python train.py
        """,
        unsafe_fixed={"--gpus='\"device=0,1,2,3\"'": '--gpus="\\"device=$SLURM_JOB_GPUS\\""'},
        settings={"site": {"gpus-per-node": 8}},
        title="fixed GPU numbers",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        «nvidia-docker» run --rm --ipc=host --init --network host train:1 python train.py
        """,
        title="all by default",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        srun docker run --rm --gpus all train:1 python train.py
        """,
        title="all that the node has",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        docker run --rm --gpus "\\"device=$SLURM_JOB_GPUS\\"" train:1 python train.py
        docker run --rm --gpus all -e CUDA_VISIBLE_DEVICES train:1 python train.py
        podman run --rm --device nvidia.com/gpu=all train:1 python train.py
        apptainer exec --nv train.sif python train.py
        """,
        title="named, or held by the job's cgroup",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2 --exclusive
        docker run --rm --gpus all train:1 python train.py
        """,
        title="a node to itself",
    ),
]
