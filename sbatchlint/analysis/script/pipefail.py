"""What `set -o pipefail` would change."""

from sbatchlint.analysis.script.status_records import Loss
from sbatchlint.analysis.script.status_uses import PATIENT
from sbatchlint.bash.syntax.tree import Pipeline
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.job import Job


def ends_script(job: Job, loss: Loss) -> bool:
    """Whether the script plainly ends where the pipeline of a loss fails: by errexit, in its own shell, untested."""
    runs = [each for each in job.pipelines if each.span == loss.by] if loss.errexit else []
    return bool(runs) and not any(each.tested or each.context.shell.depth for each in runs)


def is_pipefail_safe(job: Job, hidden: list[Loss]) -> bool:
    """Whether `set -o pipefail` at the top changes the status of these pipelines alone, as far as anyone looks."""
    if any(each.filter is None or each.filter.name not in PATIENT for each in hidden):
        return False
    starts = {each.by.start for each in hidden}
    reads = set(job.trace.status_reads)
    end = max((ran.order for ran in job.pipelines), default=0)
    pipelines = [ran for ran in job.pipelines if len(ran.elements) > 1]
    for ran in pipelines:
        looked_at = ran.tested or ran.errexit is not False or ran.order + 1 in reads or ran.order == end
        if ran.span.start not in starts and (looked_at or ran.context.calls):
            return False
    written = {
        job.span(node.start, node.end).start for node in nodes_of(job.program, Pipeline) if len(node.commands) > 1
    }
    return written <= {ran.span.start for ran in pipelines}
