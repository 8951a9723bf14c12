"""A pattern such as `%u` or `%j` stands in an option where Slurm does not replace it.

Slurm replaces `%j`, `%x`, `%u` and the like only in --output, --error and --input. `--mail-user=%u@example.org` sends
mail to an address that does not exist, and `--job-name=run_%a` is the name of all tasks, as it is written.
`--chdir=/scratch/%u` is the folder `%u`, which does not exist. With an absolute `--output` the job runs in /tmp.
Without one the log is opened in that folder first: before 23.02 the job fails without a log; from 23.02 on Slurm makes
the folder for the log, and the job runs in it, or fails where it may not make it.

## Fix

None: a directive cannot have a variable of the job in it. `sbatch --chdir=/scratch/$USER job.sh` can.

## References

sbatch(1), "filename pattern"; src/slurmd/common/fname.c, 20.11 to 25.05; src/slurmd/slurmstepd/mgr.c, 20.11 to
26.05; a live run of 22.05 (JobLaunchFailure without `--output`, /tmp with an absolute one); a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB132", "pattern-in-other-option", severity="error", fix="never", since="0.1.0",
    when=Options("mail-user", "job-name", "chdir"), seen="a review of public scripts",
)  # fmt: skip

_PATTERN = Regex(r"%[0-9]*[AJNajnstux](?![A-Za-z0-9%])")
_HAPPENS = {
    "mail-user": ("mail goes to an address with just this in it", "warning"),
    "chdir": ("no folder has just this in its name: the job fails at once, or runs in the wrong folder", "error"),
    "job-name": ("the job has just this in its name", "info"),
}


def check(job: Job) -> Iterator[Finding]:
    for component in range(job.directives.components):
        for name, (happens, severity) in _HAPPENS.items():
            setting = job.directives.last(name, component)
            match = _PATTERN.search(setting.text or "") if setting is not None else None
            if setting is not None and match is not None:
                yield Finding(
                    setting.value_span or setting.span,
                    f"Slurm replaces `{match[0]}` only in --output, --error and --input: {happens}",
                    severity,
                )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --mail-type=END
        #SBATCH --mail-user=«%u@example.org»
        srun ./solver
        """,
        severity="warning",
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --chdir=«/scratch/%u/run»\nsrun ./solver\n", title="a folder"),
    Bad("#!/bin/bash\n#SBATCH --array=1-4\n#SBATCH --job-name=«run_%a»\nsrun ./solver\n", severity="info"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --output=%x-%j.out --job-name=run\nsrun ./solver\n"),
]
