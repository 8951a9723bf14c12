"""What still runs in the background when something else is started."""

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.text import Span


@once
def waits(job: Job) -> list[Invocation]:
    """Every `wait` that no test decides about."""
    return [each for each in job.invocations if each.name == "wait" and not depends_on_test(each)]


def enclosing_loops(command: Invocation, background: Shell) -> list[Span]:
    """The loops in which a statement in the background is started, outermost first, for a command in it."""
    return [each for each in command.context.loops if not background.span.contains(each)]


def is_started_again(job: Job, command: Invocation, background: Shell) -> bool:
    """Whether a loop starts a statement in the background, for a command in it, while that of the last turn may run."""
    loops = enclosing_loops(command, background)
    if not loops:
        return False
    return not any(each.context.shell is background.parent and loops[-1] in each.context.loops for each in waits(job))
