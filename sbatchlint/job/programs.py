"""The commands of a job by the programs that they call, and by the options that they are told."""

from collections.abc import Callable
from itertools import chain
from operator import attrgetter

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.argv import program_name
from sbatchlint.job.once import once

_index = attrgetter("index")


@once
def by_program(job: Job) -> dict[str, list[Invocation]]:
    """The commands that call a program of each name (without its folder), in order of running."""
    found: dict[str, list[Invocation]] = {}
    for command in job.invocations:
        name = program_name(command)
        if name is not None:
            found.setdefault(name, []).append(command)
    return found


def commands_of(job: Job, fits: Callable[[str], bool]) -> list[Invocation]:
    """The commands that call a program of a fitting name (without its folder), in order of running."""
    found = [each for name, commands in by_program(job).items() if fits(name) for each in commands]
    return sorted(found, key=_index) if len(found) > 1 else found


def commands_named(job: Job, *names: str) -> list[Invocation]:
    """The commands of these names, in order of running; not those of which only the end of the name is known."""
    called = by_program(job)
    found = [each for name in names for each in called.get(name, ()) if each.name == name]
    return sorted(found, key=_index) if len(names) > 1 else found


@once
def _words(job: Job) -> dict[str, None]:
    """The words of all commands, each once."""
    return dict.fromkeys(chain.from_iterable([each.words for each in job.invocations]))


@once
def _options(job: Job) -> list[str]:
    """Those of them that begin with a dash, or hold a `=`."""
    return [word for word in _words(job) if word[:1] == "-" or "=" in word]


def commands_with_option(job: Job, fits: Callable[[str], object]) -> list[Invocation]:
    """The commands that have a fitting word which begins with a dash, or holds a `=`, in order of running."""
    found = frozenset(filter(fits, _options(job)))
    return [each for each in job.invocations if not found.isdisjoint(each.words)] if found else []


@once
def all_words(job: Job) -> str:
    """The words of all commands, each once, with a newline between them."""
    return "\n".join(_words(job))
