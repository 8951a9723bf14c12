"""A test never sees a failure: `set -e` has ended the script before it.

After `set -e`, a failed command ends the script at once. In `srun ./solver; status=$?; if [ $status -ne 0 ]; then …`
the branch for a failure never runs: results are not copied back, the job is not requeued, nobody is told. A status that
is kept for `exit $status` at the end has the same fault if something is to happen in between whatever the outcome: that
does not happen where the work fails.

Advice where only a message is lost: the job fails all the same.

## Fix

None: `status=0; srun … || status=$?` keeps the status, and the script goes on. So does `set +e` before the command.

## References

bash(1), `set -e`: not for commands tested by `if`, `&&` or `||`; live runs of Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.status_records import DeadRead
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.programs import has_trait

CARD = Card(
    "SB721", "dead-status-test", severity="warning", fix="never", since="0.1.0", batch=True,
    seen="a review of public scripts",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for read in exit_statuses(job).dead:
        if read.name is not None and not _has_only_this_value(job, read):
            continue
        work = f"`{read.work.name}`" if read.work.name else "the command"
        keep = f"{read.name or 'status'}=0; {read.work.name or '…'} … || {read.name or 'status'}=$?"
        happens = f"`{job.source.slice(read.read)}` is always 0 here: if {work} fails, `set -e` ends the script"
        skipped = _before_exit(job, read) if read.gives_up else None
        if skipped is not None:
            message = f"{happens} without `{skipped.name}` (line {job.line(skipped.span.start)})"
            related = [(skipped.name_span, "does not run after a failure")]
            yield Finding(read.read, f"{message}; write `{keep}`", related=related)
        elif read.never is not None:
            message = f"{happens}, and line {job.line(read.never.start)} never runs; write `{keep}`"
            severity = "info" if read.gives_up else "warning"
            yield Finding(read.read, message, severity, related=[(read.never, "never runs")])


def _has_only_this_value(job: Job, read: DeadRead) -> bool:
    """Whether no other assignment of the variable can store the status of a failure."""
    others = [each for each in job.assignments if each.name == read.name and not each.span.contains(read.read)]
    return all(job.source.slice(each.span).partition("=")[2].strip("\"'") in ("0", "") for each in others)


def _before_exit(job: Job, read: DeadRead) -> Invocation | None:
    """What runs between the work and the `exit` that ends the script with its status, other than messages."""
    if read.name is None or read.work.context.depth:
        return None
    pipelines = [run.span for run in runs_of(job, read.work)]
    first: Invocation | None = None
    for command in job.invocations[read.work.index + 1 :]:
        context = command.context
        if context.parent is not None or context.handler or context.captured or command.calls_function:
            continue
        if command.span == read.work.span:
            continue  # with other words
        if any(each.contains(command.span) for each in pipelines):
            continue  # it runs beside the work: `| tee log`
        if command.name == "exit":
            written = job.source.slice(command.span)
            if read.never is not None and read.never.contains(command.span):
                return None  # that never runs, so nothing before it is for a failure
            return first if written.strip("\"'").endswith((f"${read.name}", f"${{{read.name}}}")) else None
        if first is None and command.name and not has_trait(command.name, "tells", "looks", "answers"):
            first = command
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -e
        srun ./solver
        status=«$?»
        if [ $status -ne 0 ]; then
            scontrol requeue "$SLURM_JOB_ID"
        fi
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -euo pipefail
        srun ./solver | tee solver.log
        status=«$?»
        cp -r "$TMPDIR/out" results/
        exit $status
        """,
        title="kept for the end",
    ),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nset -e\nstatus=0\nsrun ./solver || status=$?\nif [ $status -ne 0 ]; then\n"
        "    scontrol requeue $SLURM_JOB_ID\nfi\n"
    ),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nset -e\nset +e\nsrun ./solver\nif [ $? -ne 0 ]; then cp -r out failed; fi\n",
        title="turned off",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./solver\nstatus=$?\necho done\nexit $status\n", title="no loss"),
]
