"""The job runs in /tmp, or fails at once: the folder of `--chdir` does not exist when it starts.

Slurm does not check the folder when the job is submitted. With an absolute `--output` it says in the log that it cannot
change to the folder, changes to /tmp and starts the script anyway. What the script reads by a relative path is not
found, and what it writes is left on one node's local disk; the job may well end as COMPLETED.

A log with a relative path, or without `--output`, is opened in the folder first. Before 23.02 the job then fails at
once, with exit code 0:53 and no log. From 23.02 on Slurm makes the folder of the log, and so usually that of the job.

A path with a pattern (`%j`) is the matter of SB132. A `mkdir` in the script comes too late. A folder that is only
missing next to the script, and in the project's folders above it, is advice: the job may be submitted from elsewhere,
or the folder may be created before.

## Fix

None: create the folder before you call sbatch, or in the script: `mkdir -p DIR && cd DIR`.

## References

sbatch(1), "--chdir"; src/slurmd/slurmstepd/mgr.c, 20.11 to 26.05, which sets up the logs before it changes the folder;
live runs of Slurm 22.05 (tests/slurm).
"""

import os.path
import posixpath
from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import plain_paths
from sbatchlint.analysis.storage.project_folders import may_be_made_beside, project_folders
from sbatchlint.analysis.storage.written_paths import operands
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.paths import under
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.grammar import patterns
from sbatchlint.slurm.versions import is_before
from sbatchlint.source import lookups
from sbatchlint.triggers import Options

CARD = Card(
    "SB707", "chdir-missing", severity="warning", fix="never", since="0.1.0", when=Options("chdir"),
    seen="live runs of Slurm 22.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for setting, path in plain_paths(job, "chdir") if job.directives.certain else ():
        yield from _missing(job, setting, path)


def _missing(job: Job, setting: Setting, path: str) -> Iterator[Finding]:
    span = setting.value_place
    if any(each.letter in patterns.LETTERS for each in patterns.found(path)):
        return  # another check says that it is not replaced
    folder = posixpath.normpath(path)
    if job.outer is not None or folder in (".", "/") or not set(folder) - set("./") or _holds_script(job, folder):
        return
    old = _failing(job)
    if old == ():
        return  # Slurm makes it for the log
    maker = next((each for each in commands_named(job, "mkdir") if _makes(operands(each), folder)), None)
    if maker is not None and not maker.context.handler:
        if may_be_made_beside(job, folder) if folder.startswith("/") else _may_exist(job, folder):
            return
        without = "Slurm goes to /tmp before the script starts" if old is None else "the job fails at once"
        yield Finding(
            span,
            f"line {job.line(maker.span.start)} creates `{folder}` too late: without it "
            f"{without}{job.versions.suffix(old)}; run that `mkdir` before sbatch",
            "warning",
            related=[(maker.span, "runs after that")],
            versions=old,
        )
    elif not folder.startswith("/") and project_folders(job) and not _may_exist(job, folder):
        effect = "runs in /tmp" if old is None else f"fails at once{job.versions.in_brackets(old)}"
        message = f"if `{folder}` does not exist, the job {effect}; run `mkdir -p {folder}` before sbatch"
        yield Finding(span, message, "info", versions=old)


def _failing(job: Job) -> tuple[str, ...] | None:
    """The releases in which the job fails, as its log would be in the folder; None where its log is elsewhere."""
    if (job.request.value("output") or "").startswith("/"):
        return None
    return tuple(version for version in job.versions.majors if is_before(version, "23.02"))


def _holds_script(job: Job, folder: str) -> bool:
    """Whether a folder is, as far as its name tells, one of those in which the script is."""
    name = posixpath.basename(folder)
    return any(os.path.basename(each) == name for each in project_folders(job))


def _makes(paths: list[str], folder: str) -> bool:
    """Whether mkdir with these operands creates a folder; an absolute one only if it is an operand itself."""
    if folder.startswith("/"):
        return folder in paths
    return any(under(each, start + folder) for each in paths for start in ("", "${SLURM_SUBMIT_DIR}/"))


def _may_exist(job: Job, folder: str) -> bool:
    """Whether a folder is known to be in the project, or a file of the project creates it."""
    project = project_folders(job)
    if any(os.path.abspath(each).endswith(os.sep + folder) for each in project):
        return True
    return any(lookups.is_folder(os.path.join(each, folder)) for each in project) or may_be_made_beside(job, folder)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --chdir=«/scratch/ada/run1» --output=/scratch/ada/logs/%j.out
        mkdir -p /scratch/ada/run1
        srun ./a.out
        """,
        title="made too late",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --chdir=«/scratch/ada/run1»
        mkdir -p /scratch/ada/run1
        srun ./a.out
        """,
        severity="info",
        title="the log would be in it: before 23.02 the job fails, later Slurm makes the folder",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -D «run1»\nsrun ./a.out\n",
        severity="info",
        files={"data/input.txt": "1\n"},
        title="not beside the script",
    ),
    Good("#!/bin/bash\n#SBATCH --chdir=run1\nsrun ./a.out\n", files={"run1/input.txt": "1\n"}),
    Good("#!/bin/bash\n#SBATCH --chdir=/scratch/ada/run1\nsrun ./a.out\n", title="who knows"),
    Good(
        "#!/bin/bash\n#SBATCH --chdir=/scratch/run1\nmkdir -p /scratch/run1\nsrun ./a.out\n",
        settings={"slurm-version": "23.11"},
        title="Slurm makes it for the log",
    ),
    Good("#!/bin/bash\n#SBATCH --time=5\nmkdir -p run1 && cd run1\nsrun ./a.out\n", title="in the script"),
]
