"""What ran before a command in its own shell and in the enclosing shells."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TypeVar

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces
from sbatchlint.job import Job
from sbatchlint.job.once import once


def commands_before(job: Job, command: Invocation) -> Iterator[Invocation]:
    """The earlier commands of a command's own shell and the enclosing ones, the last one first."""
    return _before(command, job.invocations)


def _before(command: Invocation, commands: Sequence[Invocation]) -> Iterator[Invocation]:
    shells = {id(each.context.parent) for each in (command, *command.ancestors())}
    for at in range(bisect_left(commands, command.index, key=_index) - 1, -1, -1):
        if id(commands[at].context.parent) in shells:
            yield commands[at]


_index = attrgetter("index")


Value = TypeVar("Value")


def last_of_shells(values: Mapping[int, Sequence[tuple[int, Value]]], command: Invocation) -> Value | None:
    """The last value before a command in its shell or an enclosing one.

    `values`: by the identity of what starts a shell, each with the index of its command, in order.
    """
    last, found = -1, None
    for each in (command, *command.ancestors()):
        own = values.get(id(each.context.parent), ())
        at = bisect_left(own, command.index, key=itemgetter(0))
        if at and own[at - 1][0] > last:
            last, found = own[at - 1]
    return found


def folder_of(job: Job, command: Invocation) -> Pieces | None:
    """The folder to which the script last changed before a command; None where it did not."""
    return next((each.argv[1] for each in _before(command, _moves(job))), None)


@once
def _moves(job: Job) -> list[Invocation]:
    return [each for each in job.invocations if each.name in ("cd", "pushd") and len(each.argv) == 2]
