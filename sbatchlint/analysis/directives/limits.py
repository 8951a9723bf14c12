"""Limits on time and memory: which of them count, and what the comments beside them say."""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.job import Job
from sbatchlint.job.request import Request
from sbatchlint.slurm.model import Setting


def plain_limits(job: Job, *names: str) -> Iterator[tuple[Setting, str]]:
    """The settings of these options that take effect, with their values, but for unknown ones and those with a typo."""
    settings = [each for each in job.directives.every_setting if each.name in names]
    last = {(each.component, each.name): each for each in settings}
    for setting in settings:
        if setting.text and last[setting.component, setting.name] is setting:
            if typo(job.directives, setting) is None and not _is_split(setting):
                yield setting, setting.text


def _is_split(setting: Setting) -> bool:
    """Whether a word after the value may belong to it (`--mem=16 GB`), which another check reports."""
    line, value = setting.value_line or setting.line, setting.value_token
    following = next((each for each in line.tokens if value is not None and each.start > value.start), None)
    return following is not None and following.text[:1] != "-"


def comment_on(job: Job, setting: Setting) -> str:
    """The comment at the end of a directive or, without one, the comment line above it; '' for none.

    A directive that is turned off (`##SBATCH`) is not a comment on the next one.
    """
    line = setting.value_line or setting.line
    if line.comment is not None:
        return job.source.slice(line.comment)
    if line.text is not job.directives.text:
        return ""  # on a command line
    above = job.directives.text.string[: max(0, line.start - 1)].rpartition("\n")[2].strip()
    return above if re.match(r"#(?![#\s]*(?:SBATCH|PBS|BSUB)|SLURM|!)", above) else ""


def request_of(job: Job, setting: Setting) -> Request:
    """The request of the component to which a setting belongs."""
    return job.request if setting.component == 0 else Request(job.directives, setting.component)
