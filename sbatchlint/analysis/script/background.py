"""Statements that may still run in the background when another is started."""

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.text import Span


@once
def waits(job: Job) -> list[Invocation]:
    """Every `wait` that runs whatever tests say."""
    return [each for each in job.invocations if each.name == "wait" and not depends_on_test(each)]


def enclosing_loops(command: Invocation, background: Shell) -> list[Span]:
    """The loops that start the background statement `background`, outermost first; `command` is one of its commands."""
    return [each for each in command.context.loops if not background.span.contains(each)]


def is_started_again(job: Job, command: Invocation, background: Shell) -> bool:
    """Whether a loop starts a background statement while that of the previous iteration may still run.

    `command` is a command of the statement `background`.
    """
    loops = enclosing_loops(command, background)
    if not loops:
        return False
    return not any(each.context.shell is background.parent and loops[-1] in each.context.loops for each in waits(job))
