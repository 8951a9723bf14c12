"""Loops that count: `for i in {1..64}`, `for i in $(seq 8)`, `for ((i = 0; i < 4; i++))`."""

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import ArithmeticFor, For
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_BRACES = Regex(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_SEQ = Regex(r"(?:\$\(|`)\s*seq\s+(?:(\d{1,6})\s+)?(\d{1,6})\s*[)`]")
_HEADER = Regex(r"\s*(\w+)\s*=\s*(\d{1,6})\s*;\s*\1\s*(<=?)\s*(\d{1,6})\s*;\s*(?:\1\+\+|\+\+\1|\1\s*\+=\s*1)\s*")
_OF_TASKS = Regex(r"\bSLURM_(?:NTASKS|NPROCS)\b")


def counted_numbers(text: Text, loop: For | ArithmeticFor) -> tuple[str, int, int, Span] | None:
    """The variable of a loop that counts, its first and last number, and where these are written."""
    if isinstance(loop, ArithmeticFor):
        match = _HEADER.fullmatch(text.string[loop.header_start : loop.header_end])
        if match is None:
            return None
        last = parse_integer(match[4]) - (match[3] == "<")
        return match[1], parse_integer(match[2]), last, text.span(loop.header_start, loop.header_end)
    if loop.words is None or len(loop.words) != 1:
        return None
    word = loop.words[0]
    written = text.string[word.start : word.end]
    match = _BRACES.fullmatch(written) or _SEQ.fullmatch(written)
    if match is None:
        return None
    return loop.name, parse_integer(match[1] or "1"), parse_integer(match[2]), text.span(word.start, word.end)


@once
def loop_counts(job: Job) -> dict[Span, int]:
    """The number of iterations of each loop of a job where that is known."""
    found: dict[Span, int] = {}
    for text, program in programs(job):
        loops: list[For | ArithmeticFor] = [*nodes_of(program, For), *nodes_of(program, ArithmeticFor)]
        for loop in loops:
            span, numbers = text.span(loop.start, loop.end), counted_numbers(text, loop)
            if numbers is not None:
                found[span] = numbers[2] - numbers[1] + 1
                continue
            header = text.string[loop.start : loop.end].partition("\n")[0].partition(" do ")[0]
            tasks = job.request.effective_tasks()
            if _OF_TASKS.search(header) and tasks is not None:
                found[span] = tasks
            elif isinstance(loop, For) and loop.words is not None and not any(each in header for each in "$`*?{["):
                found[span] = len(loop.words)
    return found
