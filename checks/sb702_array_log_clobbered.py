"""All tasks of a job array write to one log: their lines are mixed, or all but the last are lost.

Each task of an array is a job of its own, and opens its log when it starts. Where the name is the same for all, every
task truncates the file to which others are writing, and their output ends up anywhere in it: for most tasks nothing is
left to show why they failed. With `--open-mode=append` nothing is lost, but the lines of all tasks are mixed.

`%a` is the index of a task, `%A` the job id of the array that squeue shows. `%j` makes the names differ too, but its
number is the job id of each task, which squeue and sacct do not show (`scontrol show job` and `sacct -o JobIDRaw` do):
that is advice. `%b`, the index modulo 10, exists from
24.11 on, and gives ten logs at most.

## Fix

Puts `%A_%a` into the name, or `%a` where it already contains `%A`. None where the script names the log elsewhere, or
makes a name of the job id: what moves or reads the log would no longer find it. Unsafe where it only reads the job id.

## References

sbatch(1), "filename pattern"; src/slurmd/common/fname.c, 20.11 to 25.05; guoyanzhao/VirusSeeker-Virome issue 1; live
runs of Slurm 22.05 (tests/slurm).
"""

import posixpath
import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import plain_paths, with_part
from sbatchlint.analysis.script.submit_lines import shows_array
from sbatchlint.analysis.storage.written_paths import WRITING
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, shortened
from sbatchlint.job.once import once
from sbatchlint.job.programs import by_program
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.grammar import patterns
from sbatchlint.slurm.grammar.arrays import Indexes, indexes
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import all_of
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Options, Variables

CARD = Card(
    "SB702", "array-log-clobbered", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("array") | Variables("SLURM_ARRAY_TASK_ID"), seen="live runs of Slurm 22.05",
    batch=True, certain=True, homogeneous=True,
    unseen="A log with the lines of several tasks, or with those of the last one only.",
)  # fmt: skip

# Patterns that differ between the tasks of an array; `%b` only if the last digit of the index does.
_OWN = frozenset("ajJS")
_ARRAY_ID = Regex(r"%[0-9]*A")
_JOB_ID = Regex(r"%[0-9]*[jJ]")
_PATTERN = Regex(r"%[0-9]*[A-Za-z]")
_IDS = frozenset({"SLURM_JOB_ID", "SLURM_JOBID"})

# A word that has more than the number of the job: `${SLURM_JOB_NAME}.${SLURM_JOB_ID}`.
_MADE_OF_ID = Regex(r"[\w.}-]\$\{?SLURM_JOB_?ID\b|\$SLURM_JOB_?ID[.-]|\$\{SLURM_JOB_?ID\}[\w.-]")


def check(job: Job) -> Iterator[Finding]:
    request = job.request
    if not (request.has_option("output") or request.has_option("error")):
        return
    array = indexes(request.array)
    if array is None or array.tasks < 2:
        # The command line may make it an array.
        if request.has_option("array") or not any(read.name == "SLURM_ARRAY_TASK_ID" for read in job.trace.reads):
            return
        if not shows_array(job):
            return
        array = None
    if any(map(_redirects_output, by_program(job).get("exec", ()))):
        return
    by_path: dict[str, list[Setting]] = {}
    for setting, path in plain_paths(job, "output", "error"):
        if posixpath.basename(path) not in ("", ".", ".."):  # a folder is for log-directory-missing
            by_path.setdefault(path, []).append(setting)
    numbered: list[Setting] = []
    for path, settings in by_path.items():
        shared = tuple(each for each in job.versions.majors if not _differs(path, each, array))
        if shared:
            yield _clobbered(job, array, shared, path, settings)
        elif not patterns.uses(path, "a") and (patterns.uses(path, "j") or patterns.uses(path, "J")):
            numbered += settings
    if numbered:
        names = [each.text or "" for each in numbered]
        instead = [_JOB_ID.sub("%a" if patterns.uses(name, "A") else "%A_%a", name) for name in names]
        sign = "%j" if patterns.uses(names[0], "j") else "%J"
        message = f"`{sign}` is not the ID that squeue shows for array tasks (such as 123_4)"
        message = f"{message}; write `{shortened(instead[0])}`"
        yield Finding(numbered[0].value_span or numbered[0].span, message, "info", fix=_fix(job, numbered, instead))


def _clobbered(
    job: Job, array: Indexes | None, shared: tuple[str, ...], path: str, settings: list[Setting]
) -> Finding:  # fmt: skip
    instead, path = _with_index(path), shortened(path)
    when = job.versions.suffix(shared)
    mode = (job.request.value("open-mode") or "").lower()
    severity = "info" if mode.startswith("a") else None
    if severity is not None:
        happens = f"the lines of all array tasks are mixed in `{path}`{when}"
    elif array is None:
        happens = f"submitted with --array, all tasks write to `{path}`{when}, and each one empties it when it starts"
    elif array.throttle == 1:
        happens = f"each array task empties `{path}`{when} when it starts, so only the last log is left"
    else:
        happens = f"{all_of(array.tasks, 'array task')} write to `{path}`{when}, and each one empties it when it starts"
    message = f"{happens}; write `{instead}`"
    if len(message) > MOST:
        message = f"{happens.replace(f'`{path}`', 'this log')}; write `{shortened(instead)}`"
    span = settings[0].value_span or settings[0].span
    return Finding(span, message, severity, fix=_fix(job, settings, [instead] * len(settings)), versions=shared)


def _redirects_output(command: Invocation) -> bool:
    """Whether the script redirects all further output to a file of its own: `exec > run_$SLURM_ARRAY_TASK_ID.log`."""
    return (
        command.name == "exec"
        and len(command.argv) == 1
        and any(each.operator in WRITING for each in command.redirects)
    )


def _differs(path: str, version: str, array: Indexes | None) -> bool:
    """Whether the tasks of an array have different log names in a release."""
    used = {use.letter for use in patterns.found(path)} & patterns.letters(version)
    return bool(used & _OWN) or "b" in used and array is not None and array.maximum - array.minimum < 10


def _with_index(path: str) -> str:
    """The path with the index of the task before its suffix."""
    path = path.replace("\\", "")  # a single one keeps Slurm from expanding any pattern
    if patterns.uses(path, "a"):
        return path
    folder, name = posixpath.split(path)
    if _ARRAY_ID.search(name):
        return posixpath.join(folder, _ARRAY_ID.sub("%A_%a", name))
    return with_part(path, "%a" if _ARRAY_ID.search(folder) else "%A_%a", "_")


def _fix(job: Job, settings: list[Setting], instead: list[str]) -> Fix | None:
    edits = [replacement(job.directives, each, text) for each, text in zip(settings, instead, strict=True)]
    # What looks for a log by its old name would not find it.
    paths = [each.text or "" for each in settings]
    elsewhere = any(_is_named_elsewhere(job, each) for each in paths)
    reads = any(_JOB_ID.search(each) for each in paths) and any(each.name in _IDS for each in job.trace.reads)
    if elsewhere or reads and _MADE_OF_ID.search(job.source.text) is not None:
        return None
    return Fix(f"write {instead[0]}", edits, safe=not reads)


def _is_named_elsewhere(job: Job, path: str) -> bool:
    """Whether another place than an option of the job has the name of a log."""
    parts = _PATTERN.split(posixpath.basename(path))
    longest = max(parts, key=len)
    return any(_is_name(word, parts) for word in _words(job) if longest in word)


@once
def _words(job: Job) -> list[str]:
    text, parts, at = job.source.text, [], 0
    for setting in sorted(job.directives.every_setting, key=lambda each: each.span.start):
        parts.append(text[at : max(setting.span.start, at)])
        at = max(setting.span.end, at)
    return re.split(r"[\s/\"']+", " ".join((*parts, text[at:])))


def _is_name(word: str, parts: list[str]) -> bool:
    """Whether a word contains a name with these parts, whatever is between them."""
    if len(parts) == 1:
        return re.search(rf"(?<![\w.-]){re.escape(parts[0])}(?![\w.-])", word) is not None
    first = re.search(rf"(?<![\w.-]){re.escape(parts[0])}", word)
    at = -1 if first is None else first.end()
    for part in parts[1:-1]:
        at = word.find(part, at) + len(part) if at >= 0 and part in word[at:] else -1
    return at >= 0 and re.compile(rf"{re.escape(parts[-1])}(?![\w.-])").search(word, at) is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-100
        #SBATCH --output=«blast.out»
        #SBATCH --error=«blast.err»
        ./a.out part_$SLURM_ARRAY_TASK_ID.fa
        """,
        fixed={"--output=blast.out": "--output=blast_%A_%a.out", "--error=blast.err": "--error=blast_%A_%a.err"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-9
        #SBATCH --output=«logs/%x-%A.log»
        #SBATCH --error=logs/%x-%A.log
        ./a.out part_$SLURM_ARRAY_TASK_ID.fa
        """,
        fixed={
            "--output=logs/%x-%A.log": "--output=logs/%x-%A_%a.log",
            "--error=logs/%x-%A.log": "--error=logs/%x-%A_%a.log",
        },
        title="the number of the array is the same for all; both streams in one file are reported once",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-9
        #SBATCH --output=«run-%j.out»
        #SBATCH --error=run-%j.err
        ./a.out $SLURM_ARRAY_TASK_ID
        """,
        severity="info",
        fixed={"--output=run-%j.out": "--output=run-%A_%a.out", "--error=run-%j.err": "--error=run-%A_%a.err"},
        title="numbers that tell nothing",
    ),
    Good("#!/bin/bash\n#SBATCH --array=1-9\n#SBATCH --output=run_%A_%a.out\n./a.out $SLURM_ARRAY_TASK_ID\n"),
    Good("#!/bin/bash\n#SBATCH --array=1-9\n./a.out $SLURM_ARRAY_TASK_ID\n", title="Slurm's own name"),
    Good("#!/bin/bash\n#SBATCH --array=7\n#SBATCH --output=run.out\n./a.out $SLURM_ARRAY_TASK_ID\n", title="one task"),
    Good("#!/bin/bash\n#SBATCH --array=1-9 -o /dev/null\n./a.out > $SLURM_ARRAY_TASK_ID.log\n", title="no log wanted"),
]
