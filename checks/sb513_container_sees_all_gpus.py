r"""A container takes GPUs of its node that Slurm did not give to the job.

`--gpus all` is not held back by the job's cgroup, because docker's daemon starts the container outside of it: the
program sees every GPU of the node, takes the first one as a rule, and meets there the program of another job. Both run
out of memory, or run at half the speed. `--gpus 2` is no better: docker takes the node's first two, whichever Slurm
gave to the job, and so is a number that is written down.

Reported where the job certainly has fewer GPUs than its nodes: `gpus-per-node` in the settings says how many these
have, else a job of 1, 2, 3, 5, 6 or 7 without `--exclusive` or all of the memory is taken to share its node. Not where
CUDA_VISIBLE_DEVICES is handed in. podman and apptainer run in the job's own cgroup.

## Fix

`--gpus "\"device=$SLURM_JOB_GPUS\""`: the numbers that Slurm has for them, in the quotes that docker wants around a
list. Unsafe: sites may number them otherwise than docker does.

## References

docker run manual, --gpus; https://github.com/NVIDIA/nvidia-docker/issues/1227
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Commands

CARD = Card(
    "SB513", "container-sees-all-gpus", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("docker", "podman", "podman-hpc", "nerdctl"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for each in job.greedy_containers():
        kind, option, text = each.access
        assert option is not None
        own = "the one" if each.gpus == 1 else f"the {each.gpus}"
        if kind == "all":
            effect = f"every GPU of the node, not only {own} of the job, and other jobs may have the others"
        elif kind == "count":
            first, those = ("first GPU", "it") if text == "1" else (f"first {text} GPUs", "them")
            effect = f"the node's {first}, whichever Slurm gave to the job: another job may have {those}"
        else:
            effect = f"GPU {text} of the node, whichever Slurm gave to the job: another job may have it"
        yield Finding(
            option.span,
            f"docker's daemon gives the container {effect}; write --gpus "
            r'"\"device=$SLURM_JOB_GPUS\""',
            fix=Fix("name the job's GPUs", each.edits, safe=False) if each.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        docker run --rm --ipc=host «--gpus» all train:1 python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        docker run --rm --ipc=host --gpus "\\"device=$SLURM_JOB_GPUS\\"" train:1 python train.py
        """,
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
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        docker run --rm --gpus="\\"device=$SLURM_JOB_GPUS\\"" train:1 python train.py
        """,
        settings={"site": {"gpus-per-node": 8}},
        title="written down",
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
        title="a node for itself",
    ),
]
