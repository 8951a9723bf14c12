"""A command fails: it needs a folder that the script creates only later.

`cd $SCRATCH/$SLURM_JOB_ID` and then `mkdir -p $SCRATCH/$SLURM_JOB_ID`: there is no folder to enter yet, the script goes
on in the folder where it was, and writes its files there. `cp input.nml /scratch/run/` above the `mkdir` fails, or
makes a file of that name.

An error where the folder's name has the job's ID, so that no earlier run can have made it; a warning otherwise, as only
the first run fails. Files that bash or tee open too early are [SB701](log-directory-missing.md)'s.

## Fix

None: move the `mkdir` up by hand, as what it depends on may have to move as well.

## References

bash(1), "SHELL BUILTIN COMMANDS"; cp(1)
"""

from collections.abc import Iterator

from sbatchlint.analysis.storage.made_folders import makers, may_be_there, resolved, runs_after
from sbatchlint.analysis.storage.needed_paths import ENTERING, needed_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import key
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB741", "folder-made-too-late", severity="error", fix="never", since="0.1.0",
    when=Commands("mkdir", "install"), batch=True, seen="a review of public scripts",
    unseen="`No such file or directory` in the log.",
)  # fmt: skip

# Values that differ in each job.
_OF_JOB = Regex(r"\$\{(?:SLURM_(?:JOB_?ID|ARRAY_JOB_ID)|\$\((?:date|mktemp)\b)")


def check(job: Job) -> Iterator[Finding]:
    by_folder: dict[str, list[Invocation]] = {}
    for maker, made in makers(job):  # `mkdir -p $PROJECT/logs` makes no project
        for path in made if not maker.context.handler else ():
            by_folder.setdefault(path, []).append(maker)
    seen: set[str] = set()
    for command in job.invocations:
        if command.name not in ENTERING and command.name not in ("cp", "mv"):
            continue
        for need in needed_paths(command):
            if need.above or any(each.span == need.span for each in command.redirects):
                continue
            if need.into == (command.name in ENTERING):
                continue  # what cp reads is no folder to be made
            folder = resolved(job, command, key(need.field))
            if folder is None or folder in seen or folder in (".", "/") or folder.startswith("/dev/"):
                continue
            late = next((each for each in by_folder.get(folder, ()) if _is_too_late(each, command)), None)
            first = min((each.index for each in command.ancestors()), default=command.index)  # a wrapper has its words
            if late is None or may_be_there(job, folder, first, late.index):
                continue
            seen.add(folder)
            certain = _OF_JOB.search(folder) is not None and not command.context.conditional
            shown = shown_text(need.field) if "\ue000" not in shown_text(need.field) else "this folder"
            when = "" if certain else "on the first run "
            effect = "stays where it is" if command.name in ENTERING else "copies nothing"
            subject = "the script" if command.name in ENTERING else f"`{command.name}`"
            effect = "moves nothing" if command.name == "mv" else effect
            yield Finding(
                command.span,
                f"line {job.line(late.span.start)} creates {f'`{shown}`' if shown != 'this folder' else shown} only "
                f"later, so {when}{subject} {effect}; run that `mkdir` first",
                "error" if certain else "warning",
                related=[(late.span, "creates the folder")],
            )


def _is_too_late(maker: Invocation, command: Invocation) -> bool:
    """Whether a command makes a folder after this one, in every job in which this one runs."""
    return runs_after(maker, command, command.index) and container_of(maker) is None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        WORK_DIR=/scratch/$USER/$SLURM_JOB_ID
        «cd $WORK_DIR»
        mkdir -p $WORK_DIR
        ./model
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        «cp input.nml /scratch/team/run1/»
        mkdir -p /scratch/team/run1
        cd /scratch/team/run1
        ./model
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        mkdir -p /scratch/team/run1
        cd /scratch/team/run1
        mkdir -p /scratch/team/run1/out
        """,
    ),
]
