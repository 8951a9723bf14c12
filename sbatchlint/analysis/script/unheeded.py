"""Whether a command runs although an earlier one has failed."""

from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.job import Job
from sbatchlint.job.once import once

_LEAVING = frozenset({"exit", "return", "break", "continue", "exec", "kill", "scancel"})


def runs_after_failure(job: Job, earlier: Invocation, later: Invocation) -> bool:
    """Whether a later command of the same shell certainly runs even if an earlier one fails.

    False as well where something between the two looks at a status or leaves: perhaps that is because of the failure.
    """
    run = alone(job).get(id(earlier))
    if run is None or run.tested or earlier.context.tested or run.errexit is not False:
        return False
    if earlier.context.shell is not later.context.shell or earlier.context.calls != later.context.calls:
        return False
    if not later.context.guards <= earlier.context.guards:
        return False
    if any(each.name in _LEAVING for each in job.invocations[earlier.index + 1 : later.index]):
        return False
    end = next((each.order for each in job.pipelines if each.order > run.order and later in each.elements[0]), None)
    return end is not None and not any(run.order < read <= end for read in job.trace.status_reads)


@once
def alone(job: Job) -> dict[int, PipelineRun]:
    """The run of each command that is no part of a longer pipeline, by the command's identity."""
    return {id(each): run for run in job.pipelines for each in run.elements[0][:1] if len(run.elements) == 1}
