"""The commands of a job by the programs that they call."""

from collections.abc import Callable

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.argv import program_name
from sbatchlint.job.once import once


@once
def by_program(job: Job) -> dict[str, list[Invocation]]:
    """The commands that call a program of each name (without its folder), in order of running."""
    found: dict[str, list[Invocation]] = {}
    for each in job.invocations:
        name = program_name(each)
        if name is not None:
            found.setdefault(name, []).append(each)
    return found


def commands_of(job: Job, fits: Callable[[str], bool]) -> list[Invocation]:
    """The commands that call a program of a fitting name (without its folder), in order of running."""
    found = [each for name, commands in by_program(job).items() if fits(name) for each in commands]
    return sorted(found, key=lambda each: each.index)
