"""How a message names the commands whose exit status is lost."""

from collections.abc import Sequence

from sbatchlint.analysis.script.status_records import Loss
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.job.commands.wrappers import WRAPPERS
from sbatchlint.programs import programs_with
from sbatchlint.source.numbers import at_lines
from sbatchlint.source.numbers import others as other_things
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import shortened
from sbatchlint.source.text import Span

# Wrappers that start many commands, and return a status of their own.
_REPEATERS = programs_with("repeats")
_FEW_LINES = 3  # that a message names
_SHORT = 16  # a second name that it has room for
_END_OF_WORD = Regex(r"[\s;&|)]|\Z")
STRANGE = Regex(r"\A\$\Z|\A\$\(…\)\Z|\A[^\"]*\"[^\"]*\Z|[^!-~… ]")  # a word that names no program to a reader


def word_of(job: Job, loss: Loss) -> Span:
    """The word that names the work: srun, or the program that wrappers such as `nice` finally start."""
    command = loss.command
    inner = () if command.name in _REPEATERS else command.descendants()
    named = [each for each in inner if each.name == "srun"] or [_unwrapped(command)]
    for invocation in (named[0], command):
        span = invocation.name_span
        written = job.source.slice(span) if span.end <= len(job.source.own.text) else ""
        inside = command.span.start <= span.start < command.span.end
        if written[-1:] == "/" or job.source.text[span.end : span.end + 1] == "$":  # `bin/$NAME`, `bin/run_$KIND`
            end = _END_OF_WORD.search(job.source.text, span.end)
            span = Span(span.start, end.start() if end is not None else span.end)
        if written and (inside or command.context.calls and written == text_of(invocation.argv[0])):
            return span
    line = job.source.line_of(command.span.start)
    if command.span.end <= line.end:
        return command.span
    shown = job.source.text[command.span.start : line.end].rstrip(" \t\\")
    return Span(command.span.start, command.span.start + len(shown))


def _unwrapped(command: Invocation) -> Invocation:
    while command.name in WRAPPERS - _REPEATERS and len(command.children) == 1 and command.children[0].argv:
        if (command.children[0].name or "").startswith("-"):
            break  # an option of what an image runs by itself
        command = command.children[0]
    return command


def and_others(job: Job, loss: Loss, same: list[Loss]) -> str:
    """The other commands that a message is about: one by its name, few by their lines, many by their number and the
    first and the last line."""
    if not same:
        return ""
    here, *lines = [job.line(each.command.span.start) for each in (loss, *same)]
    shown = _ranges(sorted({*lines}))
    if len(shown) > _FEW_LINES:
        return f" (or one of {len(lines)} others, lines {min(lines)}-{max(lines)})"
    if len({here, *lines}) <= len(lines):  # several on one line
        return f" (or {other_things(len(lines), 'command')} on {at_lines(shown, 'and')})"
    if len(shown) < len(lines):
        return f" or a command on {at_lines(shown, 'or')}"
    first, *words = [shortened(job.source.slice(word_of(job, each)), 20) for each in (loss, *same)]
    if STRANGE.search(first):
        return "".join(f", {each}" for each in lines[:-1]) + f" or {lines[-1]}"
    if {*words} == {first}:
        *those, last = sorted((here, *lines))
        return f" on line {', '.join(map(str, those))} or {last}"
    if len(words) == 1:
        short = len(words[0]) <= _SHORT and STRANGE.search(words[0]) is None
        return f" or `{words[0]}` (line {lines[0]})" if short else f" or the command on line {lines[0]}"
    *those, last = sorted(lines)
    return f" or a command on line {', '.join(map(str, those))} or {last}"


def _ranges(rows: Sequence[int]) -> list[str]:
    """Sorted lines, three or more in a row as a range: `3`, `7-9`."""
    found: list[list[int]] = []
    for row in rows:
        if found and found[-1][-1] == row - 1:
            found[-1].append(row)
        else:
            found.append([row])
    return [
        shown
        for each in found
        for shown in ([f"{each[0]}-{each[-1]}"] if len(each) > 2 else [str(row) for row in each])
    ]  # fmt: skip
