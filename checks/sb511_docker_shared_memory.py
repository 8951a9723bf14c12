"""Workers share memory in a container whose /dev/shm has 64 MB.

docker and podman give a container a /dev/shm of its own with 64 MB, however large the node's is. The loaders of a
PyTorch DataLoader hand each batch over in it, and NCCL puts its buffers there: the job dies with `Bus error` or
`unable to mmap … No space left on device`, often after hours, on one larger batch.

An InfiniBand device in a container needs locked memory, too, of which docker allows little; that is told as advice.

## Fix

`--ipc=host`, the node's own /dev/shm. Unsafe: processes outside of the container see its shared memory then;
`--shm-size=32g` does without.

## References

docker run manual, --shm-size and --ipc; run of podman 4.3: `df /dev/shm` says 64000 KB; PyTorch's README, "Docker
Image"; the NCCL manual, "Docker".
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Commands

CARD = Card(
    "SB511", "docker-shared-memory", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("docker", "podman", "podman-hpc", "nerdctl"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for each in job.small_memories():
        line = job.line(each.place.start)
        yield Finding(
            each.start.place,
            f"the container has a /dev/shm of 64 MB for {each.reason} (line {line}), which PyTorch and NCCL fill: a "
            "bus error, or no space left on device; write --ipc=host or --shm-size=32g",
            related=[(each.place, "shares memory")],
            fix=Fix("share the node's memory", each.edits, safe=False) if each.edits else None,
        )
    for locked in job.locked_memories():
        yield Finding(
            locked.sign,
            "the InfiniBand device needs locked memory, of which docker's default limit allows little; add "
            "--ulimit memlock=-1",
            "info",
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:8
        «docker run» --rm --gpus all -v /data:/data train:1 torchrun --nproc_per_node=8 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:8
        docker run --ipc=host --rm --gpus all -v /data:/data train:1 torchrun --nproc_per_node=8 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun «podman run» --rm --device nvidia.com/gpu=all train:1 python train.py --num_workers=8
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun podman run --ipc=host --rm --device nvidia.com/gpu=all train:1 python train.py --num_workers=8
        """,
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
