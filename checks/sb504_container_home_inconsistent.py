"""One step says whether its container sees the home folder, another leaves that to the site.

Without `--container-mount-home` or `--no-container-mount-home` the site's enroot.conf decides. A script that gives the
option to one srun and forgets it at the next may prepare in one home folder and train in another: `~/.cache` is filled
in one and empty in the other, and packages in `~/.local` shadow those of the image in one of the two.

## Fix

Gives the other step's option to this one too. Unsafe: the difference may be wanted.

## References

README of pyxis; `ENROOT_MOUNT_HOME` in enroot.conf; args.c and pyxis_slurmstepd.c of pyxis, 0.3 to 0.24
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.check import PYXIS_OPTIONS, Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB504", "container-home-inconsistent", severity="info", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for each in job.left_homes():
        name = f"--{each.other.name}"
        edits = add_step_option(job, [each.step], name, PYXIS_OPTIONS)
        yield Finding(
            each.step.place,
            f"this step leaves it to the site whether its container sees the home folder, and the step on line "
            f"{job.line(each.other_step.span.start)} says {name}: the two may have different ~/.cache and ~/.local; "
            f"add {name} here too",
            related=[(each.other.span, "said here")],
            fix=None if edits is None else Fix(f"add {name}", edits),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 -n1 --container-image=/images/train.sqsh --no-container-mount-home uv sync
        «srun» --container-image=/images/train.sqsh python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 -n1 --container-image=/images/train.sqsh --no-container-mount-home uv sync
        srun --container-image=/images/train.sqsh --no-container-mount-home python train.py
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/train.sqsh python prepare.py
        srun --container-image=/images/train.sqsh python train.py
        """,
        title="none says it: the site's choice holds for both",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/train.sqsh --no-container-mount-home python train.py
        srun --container-image=/images/train.sqsh nvidia-smi
        """,
        title="no program that would care",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export PYXIS_CONTAINER_MOUNT_HOME=0
        srun --container-image=/images/train.sqsh --no-container-mount-home uv sync
        srun --container-image=/images/train.sqsh python train.py
        """,
        title="a variable says it for all",
    ),
]
