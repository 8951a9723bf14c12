"""What shells give up by `disown`: no `wait` waits for it.

`disown` takes commands in the background from the table of jobs, of which `wait` waits for each; with `-h` they stay
there (bash, builtins/jobs.def and wait.def, 5.2).
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.job import Job
from sbatchlint.job.once import once

_LAST = ("%%", "%+", "%", "$!", "${!}")


def disowned(job: Job) -> Iterator[tuple[Invocation, list[Shell]]]:
    """Each `disown`, with the statements in the background that it gives up; it may be several if it names one."""
    if "disown" not in job.source.text:
        return
    by_home = dict[int, dict[int, Shell]]()
    for command in job.invocations:
        if command.name == "disown":
            before = [*by_home.get(id(command.context.shell), {}).values()]
            options, others = _words(job, command)
            if "h" not in options:
                yield command, before if options or others else before[-1:]
        for shell in command.context.shell.enclosing_shells():
            if shell.kind == "background":
                by_home.setdefault(id(shell.parent), {})[id(shell)] = shell


@once
def certainly_disowned(job: Job) -> dict[int, Invocation]:
    """The `disown` by the id of each statement in the background that it surely gives up."""
    found = dict[int, Invocation]()
    for command, shells in disowned(job):
        if not command.context.conditional and not _words(job, command)[1]:
            found |= {id(shell): command for shell in shells}
    return found


def _words(job: Job, command: Invocation) -> tuple[str, bool]:
    """The options of a `disown`, and whether it names others than the last command in the background."""
    written = job.source.slice(command.span).split()[1:]
    options = "".join(each for each in written if each.startswith("-"))
    return options, any(each.strip("\"'") not in _LAST for each in written if not each.startswith("-"))
