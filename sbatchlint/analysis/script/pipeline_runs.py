"""The pipelines of which a command is a part."""

from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

# Before a `$?` that a variable keeps.
_KEEPS = Regex(r"(?<![\w$])[A-Za-z_]\w*=\"?$")


def runs_of(job: Job, command: Invocation) -> list[PipelineRun]:
    """The runs of pipelines, also of one command, among whose elements is a command; in order."""
    return _runs(job).get(id(command), [])


def begun_by(job: Job, command: Invocation) -> PipelineRun | None:
    """The run of the pipeline, also of one command, whose first element has a command; None for other commands."""
    return next((run for run in runs_of(job, command) if command in run.elements[0]), None)


def is_last_statement(job: Job, command: Invocation) -> bool:
    """Whether a command is the last statement of the script, by itself."""
    last = job.program.statements[-1:]
    return any(job.span(each.start, each.end) == command.span for each in last)


def ends_script(job: Job, command: Invocation) -> bool:
    """Whether errexit ends the script if a command fails that is an element of a pipeline by itself."""
    return any(run.errexit and not run.tested and (command,) in run.elements for run in runs_of(job, command))


def work_before_tee(job: Job, piped: tuple[Invocation, ...], before: str) -> list[Invocation]:
    """The work of a pipeline that ends with a filter such as `tee`, where a `$?` after it is tested at once.

    `before`: the text before the `$?`. None where a variable keeps the status, which exit-status-lost reports.
    """
    for work in piped if _KEEPS.search(before) is None else ():
        filters = next((run.elements[-1] for run in runs_of(job, work)), ())
        if len(filters) == 1 and filters[0] is not work and has_trait(filters[0].name, "patient"):
            return [work]
    return []


@once
def _runs(job: Job) -> dict[int, list[PipelineRun]]:
    """The runs by the identity of each command in them."""
    found: dict[int, list[PipelineRun]] = {}
    for run in job.pipelines:
        for command in {id(each): each for element in run.elements for each in element}:
            found.setdefault(command, []).append(run)
    return found
