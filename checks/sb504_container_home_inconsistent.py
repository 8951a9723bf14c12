"""Two steps may see different home folders: only one says whether its container mounts it.

Without `--container-mount-home` or `--no-container-mount-home` the site's enroot.conf decides. A script that sets the
option for one srun and forgets it for the next may prepare in one home folder and train in another: `~/.cache` is
filled in one and empty in the other, and in only one of them packages in `~/.local` shadow those of the image.

## Fix

Adds the other step's option to this one too. Unsafe: the difference may be intended.

## References

README of pyxis; `ENROOT_MOUNT_HOME` in enroot.conf; args.c and pyxis_slurmstepd.c of pyxis, 0.3 to 0.24
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.pyxis import is_heterogeneous, pyxis_options
from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.script.work import step_programs
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.containers import PYXIS_OPTIONS
from sbatchlint.triggers import StepOptions

HOME_OPTIONS = ("container-mount-home", "no-container-mount-home")
CARD = Card(
    "SB504", "container-home-inconsistent", severity="info", fix="sometimes", since="0.1.0",
    when=StepOptions(*HOME_OPTIONS), seen="args.c and pyxis_slurmstepd.c of pyxis 0.24",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    telling = [each for each in job.steps if each.container is not None and each.container.home_mounted is not None]
    explicit = [(step, each) for step in telling for each in pyxis_options(step) if each.name in HOME_OPTIONS]
    if not explicit or any(option.inherited for _, option in explicit):
        return
    other_step, other = explicit[0]
    for step in job.steps:
        if step.container is None or step.container.home_mounted is not None or step.container.image is None:
            continue  # without an image it joins a container by its name, and that already has its mounts
        if not step.certain or any(each.name in HOME_OPTIONS for each in pyxis_options(step)):
            continue
        if is_heterogeneous(step) or not step_programs(step):
            continue
        option = f"--{other.name}"
        yield Finding(
            step.place,
            f"only the step on line {job.line(other_step.span.start)} has `{option}`, so the two steps may see "
            "different ~/.cache and ~/.local; add the option here too",
            related=[(other.span, "set here")],
            fix=with_step_option(job, [step], option, f"add {option}", PYXIS_OPTIONS),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 -n1 --container-image=/images/train.sqsh --no-container-mount-home uv sync
        «srun» --container-image=/images/train.sqsh python train.py
        """,
        unsafe_fixed={"python": "--no-container-mount-home python"},
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
