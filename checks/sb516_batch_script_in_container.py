"""The batch script itself runs in the container: a directive names an image.

With `#SBATCH --container-image` pyxis (since 0.12) starts the batch script on the first node inside the image. The
host's programs are then missing: `srun`, `scontrol` and `module` end in `command not found` unless the image has them,
and without srun nothing runs on the other nodes. Where the image has srun, each step gets a container of its own.

Only advice on one node, where this is a legitimate way to run a script. A warning where the script calls what the image
is unlikely to contain, or where the job has several nodes and starts nothing on the others.

## Fix

None: the script does not show which of the commands should run in the container.

## References

README and pyxis_slurmstepd.c of pyxis, 0.12 to 0.24; https://github.com/NVIDIA/pyxis/issues/31,
https://github.com/NVIDIA/pyxis/issues/167
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.slurm_tools import is_tested_for, provides_slurm
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.containers import pyxis_container
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.steps import directive_value
from sbatchlint.programs import has_trait
from sbatchlint.triggers import Options

CARD = Card(
    "SB516", "batch-script-in-container", severity="warning", fix="never", since="0.1.0",
    when=Options("container-image", "container-name"), seen="pyxis_slurmstepd.c of 0.24; NVIDIA/pyxis issue 31",
)  # fmt: skip

_LONGEST = 30  # characters of an option that a message repeats


def check(job: Job) -> Iterator[Finding]:
    settings = job.directives.every_setting
    named = [each for name in ("container-image", "container-name") for each in settings if each.name == name]
    container = pyxis_container([(each.name, directive_value(each), each.span) for each in settings], job.site)
    if not named:
        return
    missing: dict[str, Invocation] = {}
    if container is not None and not provides_slurm(container):
        used = (each for each in job.invocations if has_trait(each.name, "slurm", "module"))
        for command in used:
            if command.phase is Phase.BATCH and not is_tested_for(job, command):
                missing.setdefault(str(command.name), command)
    nodes = job_nodes(job.request) or 1
    uses_others = any(each.phase is Phase.TASK or has_trait(each.name, "slurm") for each in job.invocations)
    severity = "warning"
    if missing:
        names = " and ".join(list(missing)[:3])
        line = job.line(next(iter(missing.values())).span.start)
        happens = f"the whole script runs in this container, which rarely has {names} (line {line})"
    elif nodes > 1 and not uses_others and job.invocations and job.is_shell:
        happens = f"the script runs in this container on the first of {nodes} nodes, and the others stay idle"
    else:
        happens, severity = "the whole script runs in this container, without the host's programs", "info"
    option = job.source.slice(named[0].span)
    advice = f"write `srun {option if len(option) < _LONGEST else f'--{named[0].name}=…'} PROGRAM` instead"
    if any(each.name == "srun" for each in job.invocations):
        advice = "move this option to the srun"
    elif severity == "info":
        advice = f"if it needs them, {advice}"
    yield Finding(
        named[0].span,
        f"{happens}; {advice}",
        severity,
        related=[(each.name_span, "runs in the container") for each in list(missing.values())[:3]],
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
