"""What is at a place: an option, a variable of Slurm, a step or a launcher."""

from collections.abc import Iterator

from sbatchlint.bash.values import Phase
from sbatchlint.job import Job
from sbatchlint.job.command_lines import command_lines
from sbatchlint.report.json import clean
from sbatchlint.report.plan import option_row
from sbatchlint.report.plan_view import Plan, view
from sbatchlint.server.snapshot import Part, Snapshot
from sbatchlint.server.variables import use_at, values_of
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.environment import find as find_variable
from sbatchlint.slurm.notes import text_of
from sbatchlint.slurm.versions import describe
from sbatchlint.source.secrets import redacted, secrets_of
from sbatchlint.source.text import Span


def hover(snapshot: Snapshot, offset: int) -> tuple[str, Span] | None:
    """What is known of a place, as Markdown, and of which characters; None for nothing."""
    for part, inner in snapshot.at(offset):
        # the innermost script first
        for look in (_of_directive, _of_variable, _of_option, _of_step, _of_unread):
            for job in reversed(part.job.with_submitted()):
                found = look(snapshot, part, job, inner)
                if found is not None:
                    return clean(redacted(found[0], secrets_of(part.source))), part.outer(found[1])
    return None


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end and span.start < span.end


# --- options ------------------------------------------------------------------------------------------


def _of_directive(snapshot: Snapshot, part: Part, job: Job, offset: int) -> tuple[str, Span] | None:
    for setting in job.directives.settings:
        if _holds(setting.span, offset):
            return _directive_text(snapshot, part, job, setting), setting.span
    return None


def _of_unread(snapshot: Snapshot, part: Part, job: Job, offset: int) -> tuple[str, Span] | None:
    directives = job.directives
    for line in directives.unread:
        if _holds(line.span, offset) and directives.stop is not None:
            row = job.line(directives.stop.offset)
            return f"sbatch does not read this: it stops at the first command (line {row})", line.span
    return None


def _directive_text(snapshot: Snapshot, part: Part, job: Job, setting: Setting) -> str:
    lines = []
    plan = _plan_of(snapshot.plan(part), job, part.job)
    component = plan["request"]["components"][setting.component] if plan is not None else None
    last = job.directives.last(setting.name, setting.component)
    if last is not setting and last is not None and setting.name in (component or {}).get("options", {}):
        lines.append(f"**a later option replaces this** (line {job.line(last.span.start)})")
    elif component is not None and setting.known:
        row = option_row(component, setting.name)
        if row is not None:
            lines.append(f"**{row[0]}: {row[1]}**")
    for refused in job.directives.refused:
        if refused.setting is setting:
            when = describe(refused.refusal.versions or (), job.versions.majors)
            lines.append(f"**refused{' ' + when if when else ''}: {refused.refusal.message}**")
    if setting.option is not None:
        lines.append(text_of(setting.option, "sbatch"))
    else:
        lines.append(f"`--{setting.name}`: an option of a plugin of the site")
    return "\n\n".join(lines)


def _plan_of(plan: Plan, job: Job, whole: Job) -> Plan | None:
    """The plan of a job among those of the scripts that its file submits."""
    if job is whole:
        return plan
    for inner, submitted in zip(plan.get("submits", ()), whole.submits):
        found = _plan_of(inner, job, submitted)
        if found is not None:
            return found
    return None


def _of_option(snapshot: Snapshot, part: Part, job: Job, offset: int) -> tuple[str, Span] | None:
    """An option of an srun, an sbatch or an salloc."""
    for block in command_lines(job):
        for setting in block.settings:
            if setting.option is not None and _holds(setting.span, offset):
                return text_of(setting.option, block.command), setting.span
    return None


# --- variables ----------------------------------------------------------------------------------------


def _of_variable(snapshot: Snapshot, part: Part, job: Job, offset: int) -> tuple[str, Span] | None:
    use = use_at(job, part.source.text, offset)
    if use is None:
        return None
    entry = find_variable(use.name)
    if entry is None and not use.values:
        return None
    lines = [f"`${use.name}`"]
    if entry is not None:
        lines[0] += " of Slurm, " + _said(use.phase)
        told = values_of(job, use, _plan_of(snapshot.plan(part), job, part.job))
        lines.append(told)
        releases = entry.task if use.phase is Phase.TASK else entry.batch
        when = describe(releases, job.versions.majors)
        if when:
            lines.append(f"only {when}")
    else:
        lines[0] += ", " + _said(use.phase)
        lines.append(" or ".join(f"`{value}`" for value in use.values))
    return "\n\n".join(lines), use.span


def _said(phase: Phase) -> str:
    return {
        Phase.SUBMIT: "expanded by the shell of the login node",
        Phase.BATCH: "expanded by the batch script, on the first node",
        Phase.TASK: "expanded by each task of the step",
    }[phase]


# --- steps and launchers --------------------------------------------------------------------------------


def _of_step(snapshot: Snapshot, part: Part, job: Job, offset: int) -> tuple[str, Span] | None:
    plan = _plan_of(snapshot.plan(part), job, part.job)
    if plan is None:
        return None
    # of a launcher in a step, and of what starts a step
    starts = [(each.invocation.name_span, job.line(each.launcher.span.start), True) for each in job.launches]
    starts += [(each.invocation.name_span, job.line(each.invocation.span.start), False) for each in job.steps]
    for span, line, is_launcher in starts:
        if _holds(span, offset):
            for step in plan["steps"]:
                place = step["launcher"] if is_launcher else step
                if place is not None and place["line"] == int(line):
                    return "\n\n".join(_words(step, plan)), span
    return None


def _words(step: Plan, plan: Plan) -> Iterator[str]:
    """A step in sentences."""
    found = view(step, plan, {})
    yield f"**{found.counts}**"
    if found.refused is not None:
        yield found.refused
    yield from found.facts
    yield from found.stressed
