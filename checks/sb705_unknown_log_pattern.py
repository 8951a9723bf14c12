"""A pattern stays in the name of a log: Slurm does not know it.

`--output=run-%Y%m%d.log` creates a file with exactly this name, percent signs included: Slurm has no patterns for
dates, and silently keeps a letter that it does not know. Where that letter was meant to make the names differ, every
job writes to the same file. All releases know `%A %a %J %j %N %n %s %t %u %x` and `%%`; `%b` came with 24.11, `%r` and
`%S` with 25.11. Case counts. A backslash that reaches Slurm disables all patterns of the name.

Advice where the pattern is known, and more text follows it.

## Fix

None: what was meant is often unclear. In squeue's formats `%j` is the name of the job and `%i` its ID: `%j_%i` is
`%x_%j` in the name of a log.

## References

sbatch(1) and srun(1), "filename pattern"; src/slurmd/common/fname.c, 20.11 to 25.05; src/common/print_fields.c, 25.11;
live runs of Slurm 22.05 (tests/slurm).
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import plain_paths
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options, StepOptions

CARD = Card(
    "SB705", "unknown-log-pattern", severity="warning", fix="never", since="0.1.0",
    when=Options("output", "error", "input") | StepOptions("output", "error", "input"),
    seen="live runs of Slurm 22.05",
    unseen="A log with an unexpected name.",
)  # fmt: skip

_NAMES = ("output", "error", "input")
# What was probably meant: letters in the other case, and those of squeue, LSF and host lists.
_MEANT = {"X": "%x", "U": "%u", "T": "%t", "I": "%a", "i": "%j", "h": "%N", "H": "%N", "B": "%b"}
# Words whose first letter is a pattern.
_WORD = Regex(
    r"(?<!%)%(?:[jJ]ob_?(?:id|ID|name|Name)|JOB_?(?:ID|NAME)|user(?:name)?|node(?:name|id)?|array_?(?:id|job)?|task_?id)"
    r"(?![a-z])"
)
_OF_WORD = {"J": "%j", "n": "%N", "a": "%a", "t": "%t"}
# A date, in the letters of `date`.
_DATES = Regex(r"(?<!%)%(?:[YFD](?![\w%])|[YymdbBHMSFTD](?:[-_:.T]?%[YymdbBHMSFTD])+)")


def check(job: Job) -> Iterator[Finding]:
    first: dict[str, Span] = {}
    for path, span in _paths(job):
        first.setdefault(path, span)
    for path, span in first.items():
        if not patterns.expands(path):
            if patterns.found(path.replace("\\", "")):
                yield Finding(span, "a backslash in the name disables all its patterns; write the name without it")
            continue
        for use, absent in patterns.unknown(path, job.versions.majors):
            written = path[use.start : use.end]
            since = patterns.LETTERS.get(use.letter)
            if since is not None:
                when = f"{job.versions.slurm(absent)} does not know `{written}`, so it stays in the name"
                yield Finding(span, f"{when} (new in Slurm {since}); write the name without it", versions=absent)
            elif (date := _DATES.search(path)) is not None:
                instead = "write the name without it" if "%j" in path or "%A" in path else "write `%j`"
                yield Finding(span, f"Slurm has no patterns for dates, so `{date[0]}` stays in the name; {instead}")
            else:
                instead = _instead(path, use.letter)
                yield Finding(span, f"Slurm does not know `{written}`, so it stays in the name; {instead}")
            break
        else:
            word = _WORD.search(path)
            if word is not None:
                pattern = word.group()[:2]
                does = f"Slurm reads `{word.group()}` as `{pattern}` and the text `{word.group()[2:]}`"
                yield Finding(span, f"{does}; write `{_OF_WORD.get(pattern[1], pattern)}`", "info")


def _instead(path: str, letter: str) -> str:
    """What to write for a letter that Slurm does not know."""
    meant = _MEANT.get(letter)
    if meant is None:
        return "write `%%` for a percent sign"
    if meant not in {f"%{each.letter}" for each in patterns.found(path)}:
        return f"write `{meant}`"
    if letter == "i":  # of squeue, where `%j` is the name
        return "`%j` is the job ID already: remove it, or write `%x_%j` for name and ID"
    return f"remove it, as `{meant}` is there already"


def _paths(job: Job) -> Iterator[tuple[str, Span]]:
    """The paths of the logs and the input of the job and its steps, and where they are written."""
    for setting, path in plain_paths(job, *_NAMES) if job.directives.certain else ():
        yield path, setting.value_place
    for step in job.steps:
        for name in _NAMES:
            option = step.option(name)
            if option is not None and option.value and (written := text_of(option.value)):
                yield written, span_of(option.value)


CASES = [
    Bad("#!/bin/bash\n#SBATCH --output=«run-%Y%m%d.log»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --output=«run-%X-%j.log»\nsrun ./a.out\n", title="case matters"),
    Bad(
        "#!/bin/bash\n#SBATCH --requeue --open-mode=append\n#SBATCH --output=«run-%j-%r.log»\nsrun ./a.out\n",
        settings={"slurm-version": "24.05-26.05"},
        title="a letter of later releases",
    ),
    Bad("#!/bin/bash\n#SBATCH -N 2\nsrun --output=«task-%p.log» ./a.out\n", title="of a step"),
    Bad("#!/bin/bash\n#SBATCH --output=«%j_%i.out»\nsrun ./a.out\n", title="letters of squeue"),
    Good("#!/bin/bash\n#SBATCH --output=%x-%A_%4a-%N.log\nsrun --output=task-%j-%s-%t.log ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --output=use-100%%-%j.log --error=50%.err\nsrun ./a.out\n", title="percent signs"),
    Good(
        "#!/bin/bash\n#SBATCH --output=run-%j-%r.log\nsrun ./a.out\n",
        settings={"slurm-version": "25.11"},
        title="this release knows it",
    ),
]
