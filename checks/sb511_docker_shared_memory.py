"""Processes may fail with `Bus error`: they share memory in a container whose /dev/shm has only 64 MB.

docker and podman give a container its own /dev/shm of 64 MB, however large the node's is. The workers of a PyTorch
DataLoader pass each batch through it, and NCCL puts its buffers there: the job dies with `Bus error` or `unable to mmap
… No space left on device`, often after hours, on one larger batch.

An InfiniBand device in a container also needs locked memory, of which docker allows little; that is only advice.

## Fix

Adds `--ipc=host`, which uses the node's own /dev/shm. Unsafe: processes outside the container then see its shared
memory; `--shm-size=32g` avoids that.

## References

docker run manual, --shm-size and --ipc; run of podman 4.3: `df /dev/shm` says 64000 KB; PyTorch's README, "Docker
Image"; the NCCL manual, "Docker".
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.job.argv import integer
from sbatchlint.job.launchers import python_of
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB511", "docker-shared-memory", severity="warning", fix="sometimes", since="0.1.0",
    when=Containers("docker", "podman"), seen="a run of podman 4.3, whose /dev/shm had 64000 KB",
)  # fmt: skip

# Options of a Python program that start worker processes for loading data.
LOADERS = Regex(
    r"--?(?:[\w.-]*[._-])?(?:num[_-]?workers|data[_-]?workers|workers|nworkers|dataloader[_-]num[_-]workers)"
)


def check(job: Job) -> Iterator[Finding]:
    isolated = [ways for ways in container_starts(job) if all(each.is_isolated for each in ways)]
    for ways in isolated:
        sharing = [_sharing(each) for each in ways if each.has_small_memory]
        if len(sharing) < len(ways) or sharing[0] is None or None in sharing:
            continue
        who, span = sharing[0]
        added = ways[0].added("--ipc=host")
        yield Finding(
            ways[0].place,
            f"{who} (line {job.line(span.start)}) share 64 MB of /dev/shm here, and may fail with `Bus error`; "
            "write `--ipc=host` or `--shm-size=32g`",
            related=[(span, "shares memory")],
            fix=None if added is None else Fix("share the node's memory", [added]),
        )
    for ways in isolated:
        devices = [_infiniband(each) for each in ways if not _lifts_limit(each)]
        if len(devices) == len(ways) and devices[0] is not None and None not in devices:
            yield Finding(
                devices[0],
                "docker allows little locked memory by default, but InfiniBand needs a lot; add `--ulimit memlock=-1`",
                "info",
            )


def _sharing(start: ContainerStart) -> tuple[str, Span] | None:
    """The processes in the container that share memory, and the place where they are started."""
    for launch in start.launches:
        launcher = launch.launcher
        each = launcher.processes_per_task
        if not launcher.spawns or launcher.cpu or each == "cpu":
            continue
        if isinstance(each, int) and each > 1:
            return f"the {each} workers of {launcher.name}", launcher.span
        if each == "auto":
            return f"the workers of {launcher.name}", launcher.span
    for command in start.program:
        python = python_of(command)
        if python is None:
            continue
        words = command.argv[python.after :]
        for field, following in zip(words, (*words[1:], ())):
            name, equals, value = shown_text(field).partition("=")
            if not LOADERS.fullmatch(name):
                continue
            number = parse_integer(value) if equals and is_number(value) else integer(following)
            if number is not None and number > 0:
                return f"the {number} loaders of {name}", span_of(field)
    return None


def _lifts_limit(start: ContainerStart) -> bool:
    limits = [each.text or "memlock" for each in start.container.options if each.name == "ulimit"]
    return any("memlock" in text or text == "host" for text in limits)


def _infiniband(start: ContainerStart) -> Span | None:
    for option in start.container.options:
        if option.name in ("device", "volume") and "/dev/infiniband" in (option.text or ""):
            return option.span
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:8
        «docker run» --rm --gpus all -v /data:/data train:1 torchrun --nproc_per_node=8 train.py
        """,
        unsafe_fixed={"--rm": "--ipc=host --rm"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun «podman run» --rm --device nvidia.com/gpu=all train:1 python train.py --num_workers=8
        """,
        unsafe_fixed={"--rm": "--ipc=host --rm"},
        title="loaders of data",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        docker run --rm --shm-size=16g --gpus all «--device=/dev/infiniband» train:1 python train.py
        """,
        severity="info",
        title="locked memory",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:8
        docker run --rm --gpus all --ipc=host train:1 torchrun --nproc_per_node=8 train.py
        docker run --rm --gpus all --shm-size 64g train:1 torchrun --nproc_per_node=8 train.py
        docker run --rm --gpus all -v /dev/shm:/dev/shm train:1 torchrun --nproc_per_node=8 train.py
        docker run --rm --gpus all train:1 python train.py --num_workers 0
        podman-hpc run --rm --gpu train:1 torchrun --nproc_per_node=4 train.py
        apptainer exec --nv train.sif torchrun --nproc_per_node=8 train.py
        """,
        title="enough, not needed, or another engine",
    ),
]
