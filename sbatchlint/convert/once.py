"""The commands that a script runs once, on the first node, and has to run once after the conversion."""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.job import Job
from sbatchlint.job.steps import enclosing_step

# Commands that bring data or an environment to each node, which a conversion may start there on purpose.
_OF_NODES = frozenset({
    "cp", "curl", "chmod", "git", "gunzip", "gzip", "install", "ln", "mkdir", "mv", "pigz", "rm", "rsync", "tar",
    "touch", "unpigz", "unsquashfs", "unzip", "uv", "wget", "zstd",
})  # fmt: skip


def _words(command: Invocation) -> tuple[str, ...]:
    return tuple(map(shown_text, command.argv))


def commands_once(job: Job) -> frozenset[tuple[str, ...]]:
    """The words of the commands of the batch shell that start none of the processes."""
    starting = set()
    for launch in job.launches:
        starting |= {id(each) for each in (launch.invocation, *launch.invocation.ancestors())}
    return frozenset(
        _words(each)
        for each in job.invocations
        if each.phase is Phase.BATCH and each.argv and each.context.parent is None and id(each) not in starting
    )


def spread(job: Job, before: frozenset[tuple[str, ...]]) -> Iterator[str]:
    """The faults by which a command that ran once would run in every task."""
    if not before:
        return
    still = commands_once(job)
    for each in job.invocations:
        if each.phase is not Phase.TASK or not each.argv or each.name in _OF_NODES:
            continue
        words = _words(each)
        step = enclosing_step(each.context)
        if words in before and words not in still and step is not None and step.invocation is each.context.parent:
            yield f"{each.name} on line {job.line(each.span.start)} would run in every task"
