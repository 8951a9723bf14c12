"""Settings that are complete as they stand: limits that count, with the comments beside them, and paths."""

import posixpath
import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.directives.typos import raw_value, typo
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.request import Request
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex


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


# Signs of what a template or a person fills in, or a shell was meant to expand.
_FILLED_IN = Regex(r"[<>`{}$~]")
_NO_FILE = Regex(r"(?i:none)|/dev/.*")  # Slurm compares `none` without regard to case


def plain_paths(job: Job, *names: str) -> Iterator[tuple[Setting, str]]:
    """The settings of these options that take effect, with their paths, but for placeholders, typos and devices."""
    for name in names:
        found = _plain_path(job, name)
        if found is not None:
            yield found


def with_part(path: str, part: str, separator: str) -> str:
    """A path with a further part before the suffix of its name, after a separator unless there is one."""
    folder, name = posixpath.split(path)
    stem, suffix = posixpath.splitext(name)
    return posixpath.join(folder, f"{stem}{'' if not stem or stem[-1] in '-_.' else separator}{part}{suffix}")


@once
def _plain_path(job: Job, name: str) -> tuple[Setting, str] | None:
    setting = job.request.setting(name)
    path = None if setting is None else setting.text
    if setting is None or not path or _FILLED_IN.search(path) or _NO_FILE.fullmatch(path):
        return None
    plain = typo(job.directives, setting) is None
    return (setting, path) if plain and find_placeholder(name, raw_value(job.directives, setting)) is None else None
