"""What ran before a command in its own shell and in the shells around it."""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces
from sbatchlint.job import Job


def commands_before(job: Job, command: Invocation) -> Iterator[Invocation]:
    """The commands of these shells before it, the last one first."""
    shells = {id(each.context.parent) for each in (command, *command.ancestors())}
    for each in reversed(job.invocations):
        if each.index < command.index and id(each.context.parent) in shells:
            yield each


def folder_of(job: Job, command: Invocation) -> Pieces | None:
    """The folder into which the script last changed before a command; None where it did not."""
    for each in commands_before(job, command):
        if each.name in ("cd", "pushd") and len(each.argv) == 2:
            return each.argv[1]
    return None
