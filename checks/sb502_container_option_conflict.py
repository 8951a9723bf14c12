"""Two options of pyxis that exclude each other reach one srun, which fails.

`--container-mount-home` with `--no-container-mount-home`, `--container-writable` with `--container-readonly` and so on,
or two different images: pyxis prints that both were specified, or that one was specified multiple times, and srun
starts nothing. The last one does not win, as it does for Slurm's own options. What a directive says counts for every
srun of the job, so that an srun cannot take it back. `--container-mounts` and `--container-env` add up.

## Fix

Leaves the later option, which an srun's own always is, and takes the other out where no other step needs it. Unsafe:
which of the two is meant is a guess.

## References

args.c of pyxis, 0.3 to 0.24, which was seen on Slurm 22.05; `spank_process_env_options()` of Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB502", "container-option-conflict", severity="error", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for each in job.container_conflicts():
        first, second = each.first, each.second
        line = job.line(first.span.start)
        who = "sbatch refuses the script" if each.step is None else "srun fails and starts nothing"
        why = ", which every srun inherits" if first.inherited and each.step is not None else ""
        advice = "write one image" if first.name == "container-image" else "keep one of them"
        yield Finding(
            second.span,
            f"--{second.name} meets --{first.name} of line {line}{why}: pyxis says `{each.refusal}`, and {who}; "
            f"{advice}",
            related=[(first.span, "conflicts with this")],
            fix=Fix(f"keep the later --{second.name}", each.edits) if each.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=train.sqsh --container-mount-home «--no-container-mount-home» python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=train.sqsh --no-container-mount-home python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --no-container-mount-home
        srun --container-image=train.sqsh «--container-mount-home» python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=train.sqsh --container-mount-home python train.py
        """,
        title="one stands in a directive",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        ARGS=(--container-image=/img/a.sqsh --container-writable)
        srun "${ARGS[@]}" «--container-image=/img/b.sqsh» «--container-readonly» python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        ARGS=()
        srun "${ARGS[@]}" --container-image=/img/b.sqsh --container-readonly python train.py
        """,
        title="an array has the other",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-mounts=/data:/data
        srun --container-image=a.sqsh --container-mounts=/lustre --container-mounts=/home python train.py
        """,
        title="mounts add up",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ -n "$KEEP_HOME" ]; then HOME_OPTION=--container-mount-home; else HOME_OPTION=--no-container-mount-home; fi
        srun --container-image=train.sqsh $HOME_OPTION python train.py
        """,
        title="one or the other",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-image=train.sqsh
        srun --container-image=train.sqsh --no-container-mount-home python train.py
        """,
        title="the same image again",
    ),
]
