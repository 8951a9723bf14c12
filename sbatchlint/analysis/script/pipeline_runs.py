"""The pipelines of which a command is a part."""

from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.job import Job
from sbatchlint.job.once import once


def runs_of(job: Job, command: Invocation) -> list[PipelineRun]:
    """The runs of pipelines, also of one command, among whose elements is a command; in order."""
    return _runs(job).get(id(command), [])


def ends_script(job: Job, command: Invocation) -> bool:
    """Whether errexit ends the script if a command fails that is an element of a pipeline by itself."""
    return any(run.errexit and not run.tested and (command,) in run.elements for run in runs_of(job, command))


@once
def _runs(job: Job) -> dict[int, list[PipelineRun]]:
    """The runs by the identity of each command in them."""
    found: dict[int, list[PipelineRun]] = {}
    for run in job.pipelines:
        for command in {id(each): each for element in run.elements for each in element}:
            found.setdefault(command, []).append(run)
    return found
