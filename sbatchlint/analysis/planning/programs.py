"""The programs that the batch shell runs itself, in a job without steps that do the work."""

from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.job import Job
from sbatchlint.job.once import once


@once
def batch_programs(job: Job) -> list[Invocation]:
    """The commands of the batch shell that do the job's work, in order; none if a step or a launcher does it.

    `ray start` does not count: it only makes the cluster for a program, which the batch shell often runs. A command
    that starts another (`apptainer exec … python`) is represented by that one.
    """
    if job.phase is not Phase.BATCH or any(launch.launcher.kind != "ray" for launch in job.launches):
        return []
    clusters = {id(launch.step) for launch in job.launches}
    if any(id(step) not in clusters for step in job.steps):
        return []
    leaves = [each for each in job.invocations if each.phase is Phase.BATCH and each.argv and not each.children]
    return [each for each in leaves if not each.context.captured and weight(job, each) is Weight.PROGRAM]
