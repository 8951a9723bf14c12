"""Where `|| exit` and the like go: at the end of a command, which may be on a later line than its beginning."""

from bisect import bisect_right
from collections.abc import Iterable

from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.source.edits import insert
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_NEAR = 80
_AFTER_TEST = Regex(r"(?:\s\]\]?|\)\))[ \t]*&&[ \t]*\Z")


def where_to_append(job: Job, written: str, command: Invocation) -> str:
    """The advice to append something to a command, or to the pipeline that it is a part of, without a verb twice.

    It names the line, as a message mostly names others, too, and a backslash there that continues nothing.
    """
    text = f"`{written}`"
    command = _started_by(command)
    if command.context.captured:
        return f"add {text} after the `)`"
    end = end_of(job, command)
    if end is None:
        return f"add {text} after this command"
    source = job.source.own
    if _AFTER_TEST.search(source.text, max(command.span.start - _NEAR, 0), command.span.start):
        return f"write `{{ … {written}; }}` for what follows the `&&`"  # else it runs where the test fails, too
    rest = source.text[end : source.line_of(end).end].strip()
    place = f"line {job.line(end - 1)}"
    if rest == "\\":
        return f"replace the `\\` that ends {place} with {text}"
    if rest == ";":
        return f"add {text} before the `;` that ends {place}"
    if rest and rest[0] == "#":
        return f"add {text} before the comment on {place}"
    return f"append {text} to {place}" if not rest else f"add {text} after this command"


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
    end = end_of(job, _started_by(command))
    source = job.source.own
    rest = "" if end is None else source.text[end : source.line_of(end).end].strip()
    return None if end is None or rest and rest[0] != "#" else Fix(f"append {written}", [insert(end, f" {written}")])


def last_line(job: Job, command: Invocation) -> int:
    """The line on which a command ends, with the pipeline that it is in; its first one where that is not known."""
    end = end_of(job, _started_by(command))
    return job.line(command.span.start) if end is None else job.line(end - 1)


def end_of(job: Job, command: Invocation) -> int | None:
    """The offset after a command and the pipeline that it is in; None in a sourced file, a string or `$( … )`."""
    run = next(iter(runs_of(job, command)), None)
    if run is None or command.context.parent is not None or command.context.captured or job.is_embedded:
        return None
    span: Span = run.span
    return span.end if span.end <= len(job.source.own.text) else None


def _started_by(command: Invocation) -> Invocation:
    """The command of the script that starts it, without a string between them: the srun of a program."""
    while command.context.parent is not None and command.context.parent.text is None:
        command = command.context.parent
    return command
