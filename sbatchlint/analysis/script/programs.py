"""The shell programs of a script: its own, and those that its shells parse."""

from sbatchlint.bash.syntax.tree import Program
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.job.once import once


@once
def programs(job: Job) -> list[tuple[Text, Program]]:
    """The script's own program, and each that a shell in it parses: by `bash -c`, `eval`, a heredoc, or from a file."""
    texts = [each.text for each in job.invocations if each.text is not None]
    if len({each.string for each in texts}) < len(texts):  # a program that runs several times is listed once
        texts = list({each.field: each for each in texts}.values())
    return [(job.text, job.program), *((text, job.parsed(text.string)) for text in texts)]
