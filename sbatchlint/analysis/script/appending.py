"""Where `|| exit` and the like go: at the end of a command, which may be on a later line than its beginning."""

from bisect import bisect_right
from collections.abc import Iterable

from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.bash.syntax.tree import AndOr, Statement
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.edits import insert
from sbatchlint.source.numbers import at_lines
from sbatchlint.source.text import Span

_NEAR = 80
_FEW, _FEW_LINES = 9, 3  # commands to which something can be added by hand, and lines that a message names


def where_to_append(job: Job, written: str, command: Invocation) -> str:
    """The advice to append something to a command, or to the pipeline that it is a part of, without a verb twice.

    It names the line, as a message mostly names others, too, and a backslash there that continues nothing.
    """
    text = f"`{written}`"
    command = _started_by(command)
    if is_whole_substitution(job, command):
        run = _run_of(job, command)
        after = 0 if run is None else run.span.end
        closing = "last backquote" if job.source.text[after : after + _NEAR].lstrip()[:1] == "`" else "`)`"
        return f"add {text} after the {closing}"
    end, before = end_of(job, command), _operator_before(job, command)
    if before:
        return f"write `{{ … {written}; }}` for what follows the `{before}`"  # else it runs where the test fails, too
    if end is None:
        run = _run_of(job, command)
        return f"add {text} after {'this command' if run is None or len(run.elements) == 1 else 'the pipeline'}"
    source = job.source.own
    rest = source.text[end : source.line_of(end).end].strip()
    place = f"line {job.line(end - 1)}"
    if rest == "\\":
        return f"replace the `\\` that ends {place} with {text}"
    if rest == ";":
        return f"add {text} before the `;` that ends {place}"
    if rest and rest[0] == "#":
        return f"add {text} before the comment on {place}"
    return f"append {text} to {place}" if not rest else f"add {text} after this command"


def where_to_append_all(job: Job, written: str, commands: list[Invocation]) -> str:
    """The advice to append something to each of some commands, once for a pipeline or a list."""
    plain = f"append `{written}` to line "
    places: dict[object, Invocation] = {}
    for each in commands:
        run = _run_of(job, _started_by(each))
        places.setdefault(id(each) if run is None else end_of(job, each) or run.span, each)
    told = [where_to_append(job, written, each) for each in places.values()]
    if len(told) == 1:
        return told[0]
    where = "both" if len(told) == 2 else "each" if len(told) <= _FEW else "each that matters"
    rows = {last_line(job, each) for each, it in zip(places.values(), told, strict=True) if it.startswith(plain)}
    ends_there = rows <= {job.line(_started_by(each).span.start) for each in commands}
    if len(told) == len(rows) <= _FEW_LINES and not ends_there:
        return f"append `{written}` to {at_lines(sorted(rows), 'and')}"
    return f"append `{written}` to {where}"


def where_to_set(job: Job, commands: Iterable[Invocation]) -> str:
    """Where an option of the shell is set for some commands, but for as little else as can be: above their line."""
    statements, length = job.program.statements, len(job.source.own.text)
    starts = [job.span(each.start, each.end).start for each in statements]
    first = min(each.span.start for each in commands)
    at = bisect_right(starts, first) - 1
    if at >= 0 and first < length and starts == sorted(starts):
        return f"above line {job.line(starts[at])}"
    return "below the #SBATCH lines"


def append(job: Job, written: str, command: Invocation) -> Fix | None:
    """The fix that appends something to a command at the end of its line; None where another thing follows it."""
    end = None if _operator_before(job, command) else end_of(job, _started_by(command))
    source = job.source.own
    rest = "" if end is None else source.text[end : source.line_of(end).end].strip()
    return None if end is None or rest and rest[0] != "#" else Fix(f"append {written}", [insert(end, f" {written}")])


def last_line(job: Job, command: Invocation) -> int:
    """The line on which a command ends, with the pipeline that it is in; its first one where that is not known."""
    end = end_of(job, _started_by(command))
    return job.line(command.span.start) if end is None else job.line(end - 1)


def end_of(job: Job, command: Invocation) -> int | None:
    """The offset after a command, the pipeline and the list it is in; None in a sourced file, a string or `$(…)`."""
    run = _run_of(job, command)
    if run is None or command.context.parent is not None or command.context.captured or job.is_embedded:
        return None
    span: Span = run.span
    _, end = _lists(job).get((span.start, span.end), ("", span.end))
    return end if end <= len(job.source.own.text) else None


def is_whole_substitution(job: Job, command: Invocation) -> bool:
    """Whether a command ends a `$( … )`, or the same in backquotes, whose status is its own."""
    run = _run_of(job, _started_by(command))
    if run is None or not run.context.captured or run.span.end >= len(job.source.own.text):
        return False
    return job.source.own.text[run.span.end : run.span.end + _NEAR].lstrip()[:1] in (")", "`")


def _operator_before(job: Job, command: Invocation) -> str:
    """The operator before a command, or the pipeline that it is in, in a list; empty for the first one."""
    run = _run_of(job, _started_by(command))
    return "" if run is None else _lists(job).get((run.span.start, run.span.end), ("", 0))[0]


@once
def _lists(job: Job) -> dict[tuple[int, int], tuple[str, int]]:
    """For the span of each pipeline in a list: the operator before it, and where the list ends."""
    nodes = nodes_of(job.program, AndOr)
    inner = {id(each.left) for each in nodes}
    found = {}
    for node in nodes:
        if id(node) in inner:
            continue
        end = job.span(node.start, node.end).end
        at: Statement = node
        while isinstance(at, AndOr):
            for operand, operator in ((at.right, at.operator), (at.left, "")):
                span = job.span(operand.start, operand.end)
                found[span.start, span.end] = operator, end
            at = at.left
    return found


def _started_by(command: Invocation) -> Invocation:
    """The command of the script that starts it, without a string between them: the srun of a program."""
    while command.context.parent is not None and command.context.parent.text is None:
        command = command.context.parent
    return command


def _run_of(job: Job, command: Invocation) -> PipelineRun | None:
    """The run of the pipeline that a command is in, or the one that starts it: the container of a program."""
    while not runs_of(job, command) and command.parent is not None:
        command = command.parent
    return next(iter(runs_of(job, command)), None)
