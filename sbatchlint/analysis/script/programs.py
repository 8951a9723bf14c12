"""The programs of a script as text: its own, and those that its shells read again."""

from sbatchlint.bash.syntax.tree import Program
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.job.once import once


@once
def programs(job: Job) -> list[tuple[Text, Program]]:
    """The script's own program, and each that a shell in it reads again: `bash -c`, `eval`, heredocs, its files."""
    texts = [each.text for each in job.invocations if each.text is not None]
    if len({each.string for each in texts}) < len(texts):  # those of one place are one
        texts = list({each.field: each for each in texts}.values())
    return [(job.text, job.program), *((text, job.parsed(text.string)) for text in texts)]
