"""`%u` or `%j` stays as it is: Slurm replaces patterns only in the names of logs.

Slurm replaces `%j`, `%x`, `%u` and the like only in --output, --error and --input. `--mail-user=%u@example.org` sends
mail to an address that does not exist (advice beside `--mail-type=NONE`), and `--job-name=run_%a` is the name of all
tasks, as it is written.
`--chdir=/scratch/%u` is the folder `%u`, which does not exist. With an absolute `--output` the job runs in /tmp.
Without one the log is opened in that folder first: before 23.02 the job fails without a log; from 23.02 on Slurm
creates the folder for the log, and the job runs in it, or fails where it may not create it.

Nor does bash replace them in the commands of the script: `cp slurm-%j.out results` looks for a file of this name, and
`python train.py > log_%j.txt` creates one, which all jobs overwrite. A warning, and an error where the job ends because
there is no such file (`set -e`). Only commands that handle files and redirections are looked at: for other programs
`%a` may have a meaning of its own.

## Fix

None: a directive cannot have a variable of the job in it. `sbatch --chdir=/scratch/$USER job.sh` can. In commands:
`$SLURM_JOB_ID` for `%j`, `$SLURM_ARRAY_JOB_ID` for `%A`, `$SLURM_ARRAY_TASK_ID` for `%a`, `$SLURM_JOB_NAME` for `%x`.

## References

sbatch(1), "filename pattern"; src/slurmd/common/fname.c, 20.11 to 25.05; src/slurmd/slurmstepd/mgr.c, 20.11 to
26.05; a live run of 22.05 (JobLaunchFailure without `--output`, /tmp with an absolute one); a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.pipeline_runs import ends_script
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, known_prefix, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.slurm.grammar.patterns import VARIABLES
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB132", "pattern-in-other-option", severity="error", fix="never", since="0.1.0",
    seen="a review of public scripts",
)  # fmt: skip

_PATTERN = Regex(r"%[0-9]*[AJNajnstux](?![A-Za-z0-9%])")
_HAPPENS = {
    "mail-user": ("no mail arrives", "write your address", "warning"),
    "chdir": ("no such folder exists", "write the name of the folder", "error"),
    "job-name": ("the job's name contains it literally", "remove it", "info"),
}
_IN_COMMAND = Regex(r"%([AJNajux])(?![A-Za-z0-9%])")
# Commands all of whose operands are names of files, and those that create the last one.
_OF_FILES = frozenset(
    {"cat", "cd", "chmod", "cp", "du", "gunzip", "gzip", "head", "less", "ls", "mkdir", "mv", "pushd", "rm", "rmdir"}
    | {"rsync", "scp", "tail", "tee", "touch"}
)
_MAKING = frozenset({"mkdir", "tee", "touch"})
_OF_ONE_JOB = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"})
_OUTPUTS = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})


def check(job: Job) -> Iterator[Finding]:
    yield from _in_options(job)
    if _IN_COMMAND.search(job.text.string) and job.phase is Phase.BATCH:
        yield from _in_commands(job)


def _in_commands(job: Job) -> Iterator[Finding]:
    """The finding on the names of files in commands that have a pattern of Slurm's."""
    found: dict[Span, tuple[Invocation, Pieces, bool]] = {}
    for command in job.invocations:
        for redirect in command.redirects:
            target = redirect.target
            if redirect.operator in _OUTPUTS and target and _has_pattern(target) and not _is_unique(target):
                found.setdefault(span_of(target), (command, target, True))
        if command.name in _OF_FILES:
            operands = [field for field in command.argv[1:] if known_prefix(field)[:1] != "-"]
            for field in filter(_has_pattern, operands):
                creates = command.name in _MAKING or command.name in ("cp", "mv") and field is operands[-1]
                if not (creates and _is_unique(field)):
                    found.setdefault(span_of(field), (command, field, creates))
    if not found:
        return
    # an operand that is created may be read later under the same name
    (place, (command, field, creates)), *others = sorted(found.items(), key=lambda each: each[1][2])
    match = _IN_COMMAND.search(shown_text(field))
    assert match is not None
    ends = ends_script(job, command)
    holder = next(each.expansion for each in field if each.text and _IN_COMMAND.search(each.text))
    where = f"Slurm replaces `{match[0]}` only in the names of logs"
    if holder is not None:
        where = f"`{match[0]}` in {holder.name} is not replaced"
    what = f"`{command.name}` finds no file with this name"
    if creates:
        what = "all jobs use the same literal name"
    elif ends:
        what += ", and `set -e` ends the job"
    variable = VARIABLES[match[1]]
    if not job.request.has_option("array") and "SLURM_ARRAY_" not in job.source.text:
        variable = variable.replace("ARRAY_JOB", "JOB").replace("ARRAY_TASK", "JOB")
    yield Finding(
        place,
        f"{where}: {what}; write `${{{variable}}}`",
        "error" if ends and not creates and not depends_on_test(command) else "warning",
        related=[(span, "nor here") for span, _ in others[:3]],
    )


def _is_unique(field: Pieces) -> bool:
    """Whether a name has the ID of the job, or the index of the array, as a variable."""
    return any(each.expansion is not None and each.expansion.name in _OF_ONE_JOB for each in field)


def _has_pattern(field: Pieces) -> bool:
    return any(each.text and _IN_COMMAND.search(each.text) for each in field)


def _in_options(job: Job) -> Iterator[Finding]:
    """Findings on directives."""
    for component in range(job.directives.components):
        for name, (happens, advice, severity) in _HAPPENS.items():
            setting = job.directives.last(name, component)
            match = _PATTERN.search(setting.text or "") if setting is not None else None
            if setting is not None and match is not None:
                types = job.directives.last("mail-type", component)
                if name == "mail-user" and types is not None and (types.text or "").lower() == "none":
                    severity = "info"  # no mail is wanted
                yield Finding(
                    setting.value_place,
                    f"Slurm replaces `{match[0]}` only in --output, --error and --input, so {happens}; {advice}",
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
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        NAME=sim_%A
        scontrol show job $SLURM_JOB_ID > $NAME-$SLURM_JOB_ID.info
        """,
        title="a name that has the ID of the job as well",
    ),
    Bad("#!/bin/bash\n#SBATCH --array=1-4\n#SBATCH --job-name=«run_%a»\nsrun ./solver\n", severity="info"),
    Bad(
        """\
        #!/bin/bash -e
        #SBATCH --nodes=1
        #SBATCH --output=log_%j.out
        srun ./solver
        cp «log_%j.out» results
        """,
        title="in a command",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\npython train.py > «train_%j.log»\n",
        severity="warning",
        title="a log of the script's own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --output=step_%j.out ./solver
        date +%j > day.txt
        find . -printf "%u %a" | cat
        sbatch --output=log_%a.out next.sh
        tail -f slurm-$SLURM_JOB_ID.out
        """,
        title="for srun, sbatch and programs with patterns of their own",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --output=%x.out\nset -e\n./a.out\nif [ -d /data ]; then\n    cp «%x.out» /data\nfi\n",
        severity="warning",
        title="in some jobs only",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --output=%x-%j.out --job-name=run\nsrun ./solver\n"),
]
