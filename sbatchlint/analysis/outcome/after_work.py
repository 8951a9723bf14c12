"""Whether a fault can still change what a job computes, or comes when all of its work is done."""

from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.once import once


def is_after_all_work(job: Job, command: Invocation) -> bool:
    """Whether the job has done work, and from a command on nothing more that computes, writes or puts results away."""
    first, last = _extent(job)
    # what a command that certainly fails would do is no work
    return 0 <= first < command.index and last <= command.index and not command.context.loops


@once
def _extent(job: Job) -> tuple[int, int]:
    """The indexes of the first and the last command that does some of the work; -1 without one."""
    found = [each.index for each in job.invocations if weight(job, each) >= Weight.STAGING]
    return (found[0], found[-1]) if found else (-1, -1)
