"""A program uses GPUs in a container that sees none of them.

docker and podman give a container no GPU without `--gpus`, `--device` or their kin; apptainer and singularity bring the
driver's libraries in only with `--nv` (NVIDIA) or `--rocm` (AMD), or where the site's configuration always does. The
program then finds no CUDA device: it fails, or runs on the processors while the job's GPUs stay idle. The same happens
where the option stands behind the image: there it belongs to the program, and apptainer looks for a command `--nv`.

Reported for jobs that ask for GPUs, where a command in the container plainly uses them, or is a Python program and
nothing else in the script could be what the GPUs are for. For apptainer only where the GPUs are certainly NVIDIA's (by
the type that is asked for, the image, a module, nvidia-smi): sites with AMD's bring the libraries in by modules.

An error for docker, whose daemon does it by itself only where the site made the nvidia runtime its default; else a
warning. `apptainer exec IMAGE srun …` is reported too: srun is hardly in the image, and was to start the container.

## Fix

Adds `--nv`: safe where the GPUs are NVIDIA's, as it does nothing without them. `--gpus all` is unsafe: on a node that
the job shares it is too much. An option behind the image is moved in front of it, which is safe.

## References

docker run manual, --gpus and --runtime; apptainer manual, "GPU Support"; podman run manual, --device;
https://github.com/apptainer/singularity/issues/6203
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB512", "container-without-gpus", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.blind_containers():
        engine = each.start.engine
        if each.late:
            effect = "is taken for the program's" if not each.certain else f"is what {engine} is to run"
            yield Finding(
                each.place,
                f"{each.missing} stands behind the image, where it {effect}, so that the container sees no GPU; put it "
                "in front of the image",
                "error",
                fix=Fix("put it in front of the image", each.edits, safe=True) if each.edits else None,
            )
            continue
        line = job.line(each.place.start)
        yield Finding(
            each.start.place,
            f"the container sees no GPU, because {engine} is not given {each.missing}, but line {line} needs one "
            f"({each.words}): it fails or runs on the processors; write {engine} {each.start.verb} {each.missing}",
            "error" if each.certain else "warning",
            related=[(each.place, each.words)],
            fix=Fix(f"add {each.missing}", each.edits, safe=each.safe) if each.edits else None,
        )
    for order in job.wrong_container_orders():
        yield Finding(
            order.step.name_span,
            f"srun runs inside the container here, where it hardly is: the command is not found, or starts its tasks "
            f"outside; write srun {order.start.engine} {order.start.verb} …",
            "warning",
            related=[(order.start.place, "the container")],
            fix=Fix("start the container by srun", order.edits, safe=False) if order.edits else None,
        )
    for mask in job.handed_masks():
        yield Finding(
            mask.step.place,
            f"{mask.name} goes into the container: where it counts the GPUs of the node, and the container has only "
            f"the {mask.gpus} of the job, it names some that are not there; write unset {mask.name} before this srun",
            "info",
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:4
        module load apptainer
        srun «apptainer exec» -B /data train.sif python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:4
        module load apptainer
        srun apptainer exec --nv -B /data train.sif python train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        «docker run» --rm --ipc=host -v $PWD:/work train:1 torchrun --nproc_per_node=8 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        docker run --gpus all --rm --ipc=host -v $PWD:/work train:1 torchrun --nproc_per_node=8 train.py
        """,
        severity="error",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        singularity exec train.sif «--nv» python train.py
        docker run --rm train:1 «--gpus» all python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --gpus=1
        singularity exec --nv train.sif python train.py
        docker run --gpus all --rm train:1 python train.py
        """,
        severity="error",
        title="behind the image",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        apptainer exec --nv train.sif «srun» -n 8 python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun -n 8 apptainer exec --nv train.sif python train.py
        """,
        severity="warning",
        title="srun inside of the container",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:4
        apptainer exec --nv train.sif python train.py
        APPTAINER_NV=1 apptainer exec train.sif python train.py
        docker run --rm --runtime=nvidia train:1 torchrun --nproc_per_node=4 train.py
        podman run --rm --device nvidia.com/gpu=all train:1 torchrun --nproc_per_node=4 train.py
        docker run --rm $OPTIONS train:1 torchrun --nproc_per_node=4 train.py
        """,
        title="they are there, or nobody knows",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --partition=standard-g --gpus-per-node=8
        module load LUMI singularity-bindings
        srun singularity exec train.sif python train.py
        """,
        title="AMD's, by a module",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:1
        apptainer exec tools.sif samtools sort in.bam
        apptainer exec tools.sif python prepare.py
        python train.py
        """,
        title="other programs are what the GPUs are for",
    ),
]
