"""A command runs on the host: its srun has container options, but no image.

pyxis starts a container only for `--container-image` or `--container-name`. Without either it prints `pyxis: ignoring
--container-mounts because neither --container-image nor --container-name is set` for most options, nothing for
`--container-env`, and goes on: the program runs on the host, with the host's libraries and paths.

The image may also come from a directive, or from PYXIS_CONTAINER_IMAGE or PYXIS_CONTAINER_NAME.

## Fix

None: which image was meant cannot be known.

## References

`pyxis_args_enabled()` in args.c of pyxis, 0.1 to 0.24; seen with 0.24 on Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.pyxis import STARTING, is_heterogeneous, pyxis_options
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job import Step
from sbatchlint.job.steps import PYXIS_STARTS
from sbatchlint.triggers import StepOptions

CARD = Card(
    "SB503", "container-option-without-image", severity="warning", fix="never", since="0.1.0",
    when=StepOptions("container-*", "no-container-*"), seen="runs of pyxis 0.24 on Slurm 22.05",
)  # fmt: skip


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    options = pyxis_options(step)
    own = [each for each in options if not each.inherited]
    started = any(each.name in STARTING for each in options) or any(map(step.invocation.gets, PYXIS_STARTS))
    if not own or started or not step.certain or is_heterogeneous(step):
        return
    more = f" and {len(own) - 1} more" if len(own) > 1 else ""
    yield Finding(
        own[0].span,
        f"pyxis ignores `--{own[0].name}`{more} without an image, so the command runs on the host; add "
        "`--container-image`",
        related=[(step.invocation.name_span, "starts no container")],
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun «--container-mounts=/data:/data» --container-workdir=/data python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        MOUNTS=/lustre:/lustre
        srun --container-image=train.sqsh --container-mounts=$MOUNTS python prepare.py
        srun «--container-mounts=»$MOUNTS python train.py
        """,
        title="only the other step has an image",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun $CONTAINER --container-mounts=/data:/data python train.py
        """,
        title="the image may hide in a variable",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-image=train.sqsh
        srun --container-mounts=/data:/data python train.py
        """,
        title="a directive names it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export PYXIS_CONTAINER_IMAGE=train.sqsh
        srun --container-mounts=/data:/data python train.py
        """,
        title="so does a variable",
    ),
]
