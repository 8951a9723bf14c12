"""Variables that may hold something else than what a script shows: where it is submitted, or by a test."""

from sbatchlint.analysis.expansion.reads import assignments_by_name
from sbatchlint.job import Job
from sbatchlint.source.regex import Regex

_DEFAULT = Regex(r".*\$\{\w+:?[-=][\"']?")


def may_differ(job: Job, word: str, held: int) -> bool:
    """Whether a variable may hold something else than the text at `held`, its default or one of several values."""
    name = word.strip('"${}')
    line = job.source.line_of(held)
    before = job.source.text[line.start : held]
    return _DEFAULT.fullmatch(before) is not None or len(assignments_by_name(job).get(name, ())) > 1


def ends_at(text: str, end: int) -> bool:
    """Whether the value of a variable ends there, in an assignment or a default."""
    return text[end : end + 1] in ("}", "\n", '"', "'", "")
