"""Numbers that the script writes literally, and edits that change a step's number of tasks there."""

from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.job import Job
from sbatchlint.job.launchers import Setting
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span


def literal_number(job: Job, span: Span | None) -> int | None:
    """The number written at a place of the file, with whitespace or the end of the file after it; None if none."""
    if span is None:
        return None
    number = whole(job.source.slice(span))
    after = job.source.slice(Span(span.end, span.end + 1))
    return number if after == "" or after.isspace() else None


def literal_span(value: Pieces | None) -> Span | None:
    """The place of a value that is written literally and in one piece; None for others."""
    if value is None or len(value) != 1 or value[0].expansion is not None or text_of(value) is None:
        return None
    return value[0].span


def literal_value(job: Job, setting: Setting) -> Span | None:
    """The place of a launcher's number that is written literally, right after its option; None for others."""
    span = literal_span(setting.value)
    if span is None or literal_number(job, span) is None:
        return None
    between = job.source.slice(Span(min(setting.span.end, span.start), span.start)).strip()
    return span if between in ("", "=") else None


def literal_digits(value: Pieces | None) -> Span | None:
    """The place of a value that is a literal number; None for others."""
    span = literal_span(value)
    return span if value is not None and (text_of(value) or "").strip().isdigit() else None


def task_option_at(step: Step, span: Span) -> StepOption | None:
    """The srun's own option at `span` that sets its number of tasks; None if there is none."""
    for name in ("ntasks", "ntasks-per-node"):
        option = step.option(name)
        if option is not None and option.span == span:
            return option
    return None


def task_edits(job: Job, step: Step, per_node: int) -> list[Edit] | None:
    """Edits that set an srun's own task options to `per_node` tasks; None where a value is not a literal number."""
    edits = []
    for name in ("ntasks", "ntasks-per-node"):
        option = step.option(name)
        if option is None:
            continue
        tasks = per_node if name == "ntasks-per-node" else None if step.nodes is None else per_node * step.nodes
        span = literal_span(option.value)
        if tasks is None or span is None or literal_number(job, span) is None:
            return None
        edits.append(Edit(span, str(tasks)))
    return edits
