"""Directives that are comments for now: `##SBATCH --array=1-9`, `# SBATCH -a 1-9`, `#XSBATCH -a 1-9`, `#--gres=gpu`."""

from sbatchlint.analysis.directives.near_misses import read_as_directive
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex

# Also at the end of another directive, and with a word that a program replaces to turn it on: `#DOGPU --gres=gpu:1`.
_OFF = Regex(
    r"(?m)(?:^[ \t]*#(?!SBATCH\b)[# \t]*(?:[A-Z]*SBATCH[ \t]+(?=-)|(?:[A-Z]+[ \t]+)?(?=--[a-z]))"
    r"|(?<=[ \t])##+[ \t]*SBATCH[ \t]+)(?P<words>[^\n]*)"
)


@once
def turned_off(job: Job) -> tuple[Setting, ...]:
    """The options that such lines would set, anywhere in a script."""
    directives = job.directives
    lines = _OFF.finditer(directives.text.string)
    return tuple(each for line in lines for each in read_as_directive(directives, *line.span("words"))[0])


def is_turned_off(job: Job, *names: str) -> bool:
    """Whether such a line would set one of these options (canonical names)."""
    return any(each.name in names for each in turned_off(job))
