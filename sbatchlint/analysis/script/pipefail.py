"""What `set -o pipefail` would change in a script.

bash(1), "Pipelines": the status of a pipeline is then that of the last of its commands that failed.
"""

from sbatchlint.analysis.script.exit_status import exit_statuses_with_pipefail
from sbatchlint.analysis.script.status_records import Loss
from sbatchlint.bash.syntax.tree import Pipeline
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.job import Job
from sbatchlint.programs import has_trait


def has_pipefail(job: Job) -> bool:
    """Whether the shell of the script has `pipefail`, arrays, and a trap for ERR."""
    return job.interpreter_line[0] in ("bash", "ksh", "zsh")


def is_lost_with_pipefail(job: Job, loss: Loss) -> bool:
    """Whether a status that a pipeline hides would be lost with `pipefail` as well: another command follows."""
    if loss.how != "pipeline" or _ends_script(job, loss):
        return False
    return any(each.command is loss.command for each in exit_statuses_with_pipefail(job).lost)


def _ends_script(job: Job, loss: Loss) -> bool:
    """Whether the script ends if the pipeline of a loss fails: by errexit, in its own shell, untested."""
    runs = [each for each in job.pipelines if each.span == loss.by] if loss.errexit else []
    return bool(runs) and not any(each.tested or each.context.shell.depth for each in runs)


def is_pipefail_safe(job: Job, hidden: list[Loss]) -> bool:
    """Whether `set -o pipefail` at the top changes no status that is used, except for these pipelines."""
    if any(each.filter is None or not has_trait(each.filter.name, "patient") for each in hidden):
        return False
    starts = {each.by.start for each in hidden}
    reads = set(job.trace.status_reads)
    end = max((run.order for run in job.pipelines), default=0)
    pipelines = [run for run in job.pipelines if len(run.elements) > 1]
    for run in pipelines:
        used = run.tested or run.errexit is not False or run.order + 1 in reads or run.order == end
        if run.span.start not in starts and (used or run.context.calls):
            return False
    written = {
        job.span(node.start, node.end).start for node in nodes_of(job.program, Pipeline) if len(node.commands) > 1
    }
    return written <= {run.span.start for run in pipelines}


def place_for_options(job: Job) -> int | None:
    """The offset for a line of `set` before the first command, or the comment above it; None where there is none."""
    source = job.source.own
    if not job.program.statements or job.is_embedded:
        return None
    start = job.span(job.program.statements[0].start, job.program.statements[0].end).start
    at = source.line_of(start).start
    if source.text[at:start].strip():
        return None
    above = at
    while above > 0:
        line = source.line_of(above - 1)
        text = source.slice(line).strip()
        if not text.startswith("#"):
            return above if not text else at
        if text.startswith(("#SBATCH", "#!")):
            break
        above = line.start
    return at
