"""Tasks of an array damage each other's state, or fail: a program keeps it in one place for all.

MATLAB before R2022a keeps the files of all parallel pools of a user in one folder (`~/.matlab/local_cluster_jobs`):
pools that start at the same time damage each other's, and some tasks end with "Failed to start pool". snakemake locks
the files that it is going to make and those that it reads: a second run in the same folder that is to make one of them
ends with LockException. Where all tasks have the same targets, the first one makes them, and all others end.

An error where all tasks of the array certainly get the same words; advice where a target or a setting may be that of
the task, as runs with outputs of their own go well side by side until two of them need the same missing file, such as
an index. A warning for MATLAB, as it depends on its release.

## Fix

None. For snakemake, a folder of each task (`--directory`), or one run before the array for what all tasks share. For
MATLAB, a folder with the job's number: `d = fullfile(getenv('TMPDIR'), getenv('SLURM_JOB_ID')); mkdir(d);
c.JobStorageLocation = d`. TMPDIR alone is /tmp, for all tasks on a node, where the site sets no other.

## References

https://github.com/uabrc/uabrc.github.io/issues/531; `locked` in snakemake/persistence.py of 7.32 and
persistence/__init__.py of 9.27; `_make_tmpdir()` in src/slurmd/slurmstepd/task.c, Slurm 20.11 to 26.05
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.expansion.array_elements import differs, several_elements
from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB724", "state-shared-by-array", severity="error", fix="never", since="0.1.0",
    when=Commands("matlab", "snakemake"), batch=True, seen="uabrc/uabrc.github.io#531",
)  # fmt: skip

_POOL = Regex(r"\b(?:parpool|matlabpool)\b")
_OWN_PLACE = Regex(r"JobStorageLocation|tempname|Threads|backgroundPool")
# Options of snakemake with a number that changes nothing about what is made.
_COUNTS = frozenset({"-c", "--cores", "-j", "--jobs"})
_NO_LOCK = frozenset({"--nolock", "--dry-run", "--dryrun", "-n", "--unlock", "--version", "--help", "--lint", "--dag"})


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    array = several_elements(job)
    if array is None or array.throttle == 1 or command.context.restricted or command.context.guards:
        return
    if command.name == "matlab":
        text = next((word for word in command.words[1:] if _POOL.search(word)), None)
        if text is not None and not _OWN_PLACE.search(text):
            yield Finding(
                command.name_span,
                "before R2022a all tasks of this array use one folder for their pools, and may corrupt it; set "
                "JobStorageLocation to a folder per task",
                "warning",
            )
    elif not _NO_LOCK & set(command.words) and not _has_own_folder(job, command):
        if _has_own_words(job, command):
            yield Finding(
                command.name_span,
                "if two tasks of this array need the same missing file, snakemake locks it, and one fails; create "
                "shared files before the array",
                "info",
            )
            return
        yield Finding(
            command.name_span,
            "all tasks of this array create the same files, so all but the first fail; give each its own target or "
            "`--directory`",
        )


def _has_own_words(job: Job, command: Invocation) -> bool:
    """Whether a target or a setting of a command may be that of its task."""
    fields = [field for before, field in pairwise(command.argv) if shown_text(before) not in _COUNTS]
    return any(differs(job, field) or any(piece.text is None for piece in field) for field in fields)


def _has_own_folder(job: Job, command: Invocation) -> bool:
    """Whether a command may run in a folder of its task."""
    folder = folder_of(job, command)
    pairs = zip(command.words, command.argv[1:], strict=False)
    words = [field for word, field in pairs if word in ("-d", "--directory")]
    joined = [field for field in command.argv[1:] if "directory=" in "".join(piece.text or "" for piece in field)]
    places = [*words, *joined, *([folder] if folder is not None else [])]
    return any(differs(job, place) or any(piece.text is None for piece in place) for place in places)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-40
        #SBATCH --cpus-per-task=8
        «matlab» -batch "parpool('local', $SLURM_CPUS_PER_TASK); sweep($SLURM_ARRAY_TASK_ID)"
        """,
        severity="warning",
    ),
    Bad("#!/bin/bash\n#SBATCH --array=1-40\n«snakemake» --cores 8 all\n", title="one target for all"),
    Bad(
        "#!/bin/bash\n#SBATCH --array=1-40\n«snakemake» --cores 8 out/$SLURM_ARRAY_TASK_ID.bam\n",
        severity="info",
        title="a target of each",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-40
        cd run$SLURM_ARRAY_TASK_ID || exit 1
        snakemake --cores 8
        """,
        title="a folder for each",
    ),
    Good("#!/bin/bash\n#SBATCH --array=1-40%1\nsnakemake --cores 8 out/$SLURM_ARRAY_TASK_ID.bam\n", title="one by one"),
]
