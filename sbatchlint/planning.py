"""The plan of a file, with the findings that point at its steps."""

from typing import NamedTuple

from sbatchlint.analysis.planning.plan import Plan, plan_of
from sbatchlint.analysis.script.work import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.diagnostics import Diagnostic, Fault
from sbatchlint.engine import Inspection, inspect_job
from sbatchlint.job import Job, has_directives
from sbatchlint.report.plan_view import Mark, Place, first_clause
from sbatchlint.settings import Settings
from sbatchlint.source.files import InputError
from sbatchlint.source.secrets import redacted_plan, secrets_of
from sbatchlint.source.text import Source


class AsJob(NamedTuple):
    """The size of the job that a script without directives is to be; None: not said; no GPUs are 0 of them, too."""

    nodes: int
    gpus_per_node: int | None = None
    cpus_per_node: int | None = None


class Resized(NamedTuple):
    """A job whose settings ask for `nodes` nodes in place of its own number. `own`: the settings without that."""

    nodes: int
    own: Settings


class Planned(NamedTuple):
    """A plan without secrets; `findings`: the errors and warnings; `marks`: those of them at each step."""

    plan: Plan
    findings: list[Diagnostic]
    marks: dict[Place, list[Mark]]
    faults: list[Fault]


def planned(
    source: Source,
    settings: Settings,
    as_job: AsJob | None = None,
    judged: bool = True,
    resized: Resized | None = None,
) -> Planned:
    """The plan of a script. `judged`: with its findings. Raises `InputError` for an `as_job` that has directives.

    `resized`: the plan says what does not follow the number of nodes.
    """
    job = _job(source, settings, as_job)
    plan = plan_without_secrets(job)
    if resized is not None:
        from sbatchlint.convert.misfits import misfits  # slow to import

        written = _job(source, resized.own, as_job)
        found = misfits(written, job, plan_of(written), plan, resized.nodes)
        plan["resized"] = resized.nodes
        plan["misfits"] = redacted_plan(found, secrets_of(job.source))
        written.release()
    result = Planned(plan, [], {}, [])
    if judged:
        result = marked(job, plan, inspect_job(job, source, settings), settings)
    job.release()
    return result


def plan_without_secrets(job: Job) -> Plan:
    plan: Plan = redacted_plan(plan_of(job), secrets_of(job.source))
    return plan


def marked(job: Job, plan: Plan, inspection: Inspection, settings: Settings) -> Planned:
    """The plan of a job with the findings in it."""
    found = [
        diagnostic
        for diagnostic in inspection.diagnostics
        if diagnostic.severity in ("error", "warning") and settings.shows(diagnostic.code, diagnostic.severity)
    ]
    return Planned(plan, found, marks_of(job, found), inspection.faults)


def _job(source: Source, settings: Settings, as_job: AsJob | None) -> Job:
    if as_job is None:
        return Job.from_source(source, settings.site_of(source.path))
    if has_directives(source, settings.site):
        raise InputError(f"{source.path} has #SBATCH lines; --as-job is for scripts that have none")
    wanted = {
        "nodes": as_job.nodes,
        "ntasks-per-node": 1,
        "gpus-per-node": as_job.gpus_per_node,
        "cpus-per-task": as_job.cpus_per_node,
    }
    words = [f"--{name}={number}" for name, number in wanted.items() if number]
    return Job.from_source(source, settings.site, " ".join(words))


def marks_of(job: Job, findings: list[Diagnostic]) -> dict[Place, list[Mark]]:
    """The findings of each step, on the lines of its words and of the commands that it runs."""
    steps: dict[tuple[str, int], set[Place]] = {}
    for inner in job.with_submitted():
        _add_rows(inner, steps)
    marks: dict[Place, list[Mark]] = {}
    for finding in findings:
        source = finding.source
        touched: dict[Place, None] = {}
        for span in (finding.span, *(span for span, _ in finding.related)):
            for row in range(source.row(span.start), source.row(max(span.end - 1, span.start)) + 1):
                touched |= dict.fromkeys(steps.get((source.path, row), ()))
        mark = Mark(finding.code, finding.severity, source.row(finding.span.start), first_clause(finding.message))
        for place in touched:
            if mark not in marks.setdefault(place, []):
                marks[place].append(mark)
    return marks


def _add_rows(job: Job, steps: dict[tuple[str, int], set[Place]]) -> None:
    """Adds the rows of each step, by the path of their file, and the step's place."""
    own = [*(each.invocation for each in job.launches if each.step is None), *batch_programs(job)]
    roots = {id(each) for each in (*(step.invocation for step in job.steps), *own)}
    for invocation in job.invocations:
        root: Invocation | None = invocation
        while root is not None and id(root) not in roots:
            root = root.context.parent
        if root is None:
            continue
        line = job.line(root.span.start)
        place = (getattr(line, "path", None), int(line))
        # a word may be written elsewhere, and reach the command by a variable
        spans = {invocation.span, *(piece.span for field in invocation.argv for piece in field)}
        for span in spans:
            source, base = job.source.part(span.start)
            start, end = span.start - base, max(span.end - 1, span.start) - base
            for row in range(source.row(start), source.row(end) + 1):
                steps.setdefault((source.path, row), set()).add(place)
