"""The commands of a job, by the programs that they call and by their options."""

from collections.abc import Callable
from itertools import chain
from operator import attrgetter

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.argv import program_name
from sbatchlint.job.once import once
from sbatchlint.source.numbers import has_between
from sbatchlint.source.text import Nested

_index = attrgetter("index")


@once
def by_program(job: Job) -> dict[str, list[Invocation]]:
    """The commands by the names of their programs (without folders), in the order in which they run."""
    found: dict[str, list[Invocation]] = {}
    for command in job.invocations:
        name = program_name(command)
        if name is not None:
            found.setdefault(name, []).append(command)
    return found


def commands_of(job: Job, fits: Callable[[str], bool]) -> list[Invocation]:
    """The commands whose program's name (without folder) `fits` accepts, in the order in which they run."""
    found = [each for name, commands in by_program(job).items() if fits(name) for each in commands]
    return sorted(found, key=_index) if len(found) > 1 else found


def commands_named(job: Job, *names: str) -> list[Invocation]:
    """The commands with these names, in the order in which they run; the whole word of each is known."""
    called = by_program(job)
    found = [each for name in names for each in called.get(name, ()) if each.name == name]
    return sorted(found, key=_index) if len(names) > 1 else found


def is_called_between(job: Job, names: frozenset[str], start: int, end: int) -> bool:
    """Whether a command of one of these names has an index from `start` up to before `end`."""
    return has_between(_indexes(job, names), start, end)


@once
def _indexes(job: Job, names: frozenset[str]) -> list[int]:
    return [each.index for each in commands_named(job, *names)]


@once
def commands_by_place(job: Job) -> Nested[Invocation]:
    """The commands by their places in the file."""
    return Nested((command.span, command) for command in job.invocations)


@once
def _words(job: Job) -> dict[str, None]:
    """The words of all commands, without duplicates."""
    return dict.fromkeys(chain.from_iterable([each.words for each in job.invocations]))


@once
def _options(job: Job) -> list[str]:
    """The words of all commands that begin with a dash or contain a `=`, without duplicates."""
    return [word for word in _words(job) if word[:1] == "-" or "=" in word]


def commands_with_option(job: Job, fits: Callable[[str], object]) -> list[Invocation]:
    """The commands with a word that begins with a dash or contains a `=` and that `fits` accepts, in order."""
    found = frozenset(filter(fits, _options(job)))
    return [each for each in job.invocations if not found.isdisjoint(each.words)] if found else []


@once
def all_words(job: Job) -> str:
    """The words of all commands, without duplicates, one per line."""
    return "\n".join(_words(job))
