"""An srun has options for a container, but nothing starts one: the command runs on the host.

pyxis starts a container for `--container-image` or `--container-name` only. Without either it prints `pyxis: ignoring
--container-mounts because neither --container-image nor --container-name is set` for most options, nothing for
`--container-env`, and goes on: the program runs on the host, with the host's libraries and paths.

The image may also come from a directive, or from PYXIS_CONTAINER_IMAGE or PYXIS_CONTAINER_NAME.

## Fix

None: which image is meant cannot be known.

## References

`pyxis_args_enabled()` in args.c of pyxis, 0.1 to 0.24; seen with 0.24 on Slurm 22.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB503", "container-option-without-image", severity="warning", fix="never", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for step, options in job.ignored_container_options():
        first, others = options[0], len(options) - 1
        more = f" and {others} more" if others else ""
        yield Finding(
            first.span,
            f"pyxis ignores --{first.name}{more}, as neither --container-image nor --container-name is given: "
            "the command runs on the host, outside of any container; add --container-image",
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
