"""Whether a command runs although an earlier one has failed."""

from bisect import bisect_left
from collections import defaultdict

from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.job import Job
from sbatchlint.job.once import once

_LEAVING = frozenset({"exit", "return", "break", "continue", "exec", "kill", "scancel"})


def runs_after_failure(job: Job, earlier: Invocation, later: Invocation) -> bool:
    """Whether a later command of the same shell certainly runs even if an earlier one fails.

    False as well where something between the two looks at a status or leaves: perhaps that is because of the failure.
    """
    earlier, later = _started(job, earlier), _started(job, later)
    runs, ends = _runs(job).get(id(earlier)), _runs(job).get(id(later))
    if not runs or not ends or earlier.context.tested or any(each.tested or each.errexit is not False for each in runs):
        return False
    if earlier.context.shell.awaiting is not later.context.shell.awaiting:
        return False
    if earlier.context.calls != later.context.calls or not later.context.guards <= earlier.context.guards:
        return False
    if _is_within(_leaving(job), earlier.index + 1, later.index):
        return False
    first, last = runs[-1].order, ends[-1].order
    return first < last and not _is_within(_status_reads(job), first + 1, last + 1)


def _is_within(numbers: list[int], start: int, end: int) -> bool:
    """Whether one of some sorted numbers is from `start` up to `end`, which is not counted."""
    at = bisect_left(numbers, start)
    return at < len(numbers) and numbers[at] < end


@once
def _leaving(job: Job) -> list[int]:
    """The indexes of the commands that leave."""
    return [each.index for each in job.invocations if each.name in _LEAVING]


@once
def _status_reads(job: Job) -> list[int]:
    return sorted(job.trace.status_reads)


def _started(job: Job, command: Invocation) -> Invocation:
    """The command of the shell that starts a command: `timeout 2h cp a b` for its `cp`."""
    while id(command) not in _runs(job) and command.parent is not None:
        command = command.parent
    return command


@once
def _runs(job: Job) -> defaultdict[int, list[PipelineRun]]:
    """The runs of which each command is a part, by the command's identity."""
    found: defaultdict[int, list[PipelineRun]] = defaultdict(list)
    for run in job.pipelines:
        for element in run.elements:
            for each in element:
                found[id(each)].append(run)
    return found
