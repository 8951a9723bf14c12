"""A directive names a container's image: the batch script itself runs in it.

With `#SBATCH --container-image` pyxis (since 0.12) starts the batch script on the first node inside the image. Programs
of the host are then missing: `srun`, `scontrol` and `module` end in `command not found` unless the image has them, and
without srun nothing runs on the other nodes. Where srun is there, each step gets a container of its own.

It is a way to run a script on one node, and only advice there. It is a warning where the script calls what is hardly
in the image, or the job has several nodes and nothing starts anything on them.

## Fix

None: which of the commands should run in the container is not written down.

## References

README and pyxis_slurmstepd.c of pyxis, 0.12 to 0.24; https://github.com/NVIDIA/pyxis/issues/31,
https://github.com/NVIDIA/pyxis/issues/167
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Options

CARD = Card(
    "SB516", "batch-script-in-container", severity="warning", fix="never", since="0.1.0",
    when=Options("container-image", "container-name"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    found = job.batch_container()
    if found is None:
        return
    what = f"with --{found.setting.name} in a directive the batch script itself runs in the container"
    severity = "warning"
    if found.missing:
        first = found.missing[0]
        names = " and ".join(str(each.name) for each in found.missing[:3])
        result = f", whose image seldom has {names} (line {job.line(first.span.start)})"
        advice = "give the option to the srun whose program needs the container"
    elif found.nodes > 1:
        result = f", on the first of {found.nodes} nodes: the other nodes stay idle"
        advice = "give the option to an srun, which starts a container on each node"
    else:
        result, severity = ", on the first node, without the programs of the host", "info"
        advice = "give the option to an srun where only one command needs it"
    yield Finding(
        found.setting.span,
        f"{what}{result}; {advice}",
        severity,
        related=[(each.name_span, "runs in the container") for each in found.missing[:3]],
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--container-image=/images/train.sqsh»
        srun python train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH «--container-image=/images/train.sqsh»
        python train.py
        """,
        severity="warning",
        title="nothing starts the other nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH «--container-image=/images/train.sqsh»
        python train.py
        """,
        severity="info",
        title="advice only",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/train.sqsh python train.py
        """,
    ),
    Good("#!/bin/bash\n#SBATCH --container=/bundles/train\npython train.py\n", title="Slurm's own option for bundles"),
]
