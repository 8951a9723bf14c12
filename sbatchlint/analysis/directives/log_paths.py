"""Paths in directives that are complete as they stand."""

from collections.abc import Iterator

from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.directives.typos import raw_value, typo
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.directives import Setting
from sbatchlint.source.regex import Regex

# Signs of what a template or a person fills in, or a shell was meant to expand.
_FILLED_IN = Regex(r"[<>`{}$~]")
_NO_FILE = Regex(r"(?i:none)|/dev/.*")  # Slurm compares `none` without regard to case


def plain_paths(job: Job, *names: str) -> Iterator[tuple[Setting, str]]:
    """The settings of these options that take effect, with their paths, but for placeholders, typos and devices."""
    for name in names:
        found = _plain_path(job, name)
        if found is not None:
            yield found


@once
def _plain_path(job: Job, name: str) -> tuple[Setting, str] | None:
    setting = job.request.setting(name)
    path = None if setting is None else setting.text
    if setting is None or not path or _FILLED_IN.search(path) or _NO_FILE.fullmatch(path):
        return None
    plain = typo(job.directives, setting) is None
    return (setting, path) if plain and find_placeholder(name, raw_value(job.directives, setting)) is None else None
