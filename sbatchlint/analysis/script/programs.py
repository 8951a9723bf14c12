"""The programs of a script as text: its own, and those that its shells read again."""

from sbatchlint.bash.syntax.tree import Program
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.job.once import once


@once
def programs(job: Job) -> list[tuple[Text, Program]]:
    """The script's own program, and each that a shell in it reads again: `bash -c`, `eval`, heredocs, its files."""
    found = [(job.text, job.program)]
    known: dict[str, list[Text]] = {}
    for text in [each.text for each in job.invocations if each.text is not None]:
        same = known.setdefault(text.string, [])
        if all(text.field != each.field for each in same):  # the same words may stand in several places
            same.append(text)
            found.append((text, job.parsed(text.string)))
    return found
