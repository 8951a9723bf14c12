"""How many iterations loops have: those that count, and those of one at most, over one word or a line that is printed.

`for i in {1..64}`, `for i in $(seq 8)`, `for ((i = 0; i < 4; i++))`; `for x in {150,}`, `for x in "$FILE"`,
`sed -n "${N}p" list | while read …`, `while read … done < <(head -1 list)`.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import (
    ArithmeticFor,
    For,
    Node,
    Pipeline,
    ProcessSubstitution,
    Program,
    Simple,
    Statement,
    While,
    Word,
)
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


_STEPPED = Regex(r"\{(\d{1,6})\.\.(\d{1,6})\.\.(\d{1,6})\}|(?:\$\(|`)\s*seq\s+(\d{1,6})\s+(\d{1,6})\s+(\d{1,6})\s*[)`]")
_GROWING = Regex(
    r"\s*(\w+)\s*=\s*(\d{1,6})\s*;\s*\1\s*(<=?)\s*(\d{1,6})\s*;"
    r"\s*(?:\1\s*(?:\*=\s*(\d{1,2})|\+=\s*(\d{1,6})|<<=\s*1)|\1\s*=\s*\1\s*(?:\*\s*(\d{1,2})|\+\s*(\d{1,6})|<<\s*1))\s*"
)
_NUMBERS = Regex(r"\d{1,6}(?:\s+\d{1,6})*")
_LEAVING = Regex(r"\b(?:break|continue|exit|return)\b")


@once
def last_numbers(job: Job) -> dict[Span, tuple[str, int, Span]]:
    """The variable of each loop over numbers, the largest one, and where they are; no loop that may be left early."""
    found: dict[Span, tuple[str, int, Span]] = {}
    for text, program in programs(job):
        loops: list[For | ArithmeticFor] = [*nodes_of(program, For), *nodes_of(program, ArithmeticFor)]
        for loop in loops:
            last = _last_number(text, loop)
            if last is None or _LEAVING.search(text.string, loop.start, loop.end):
                continue
            if isinstance(loop, ArithmeticFor):
                found[text.span(loop.start, loop.end)] = (*last, text.span(loop.header_start, loop.header_end))
            elif loop.words:
                place = text.span(loop.words[0].start, loop.words[-1].end)
                found[text.span(loop.start, loop.end)] = (*last, place)
    return found


def _last_number(text: Text, loop: For | ArithmeticFor) -> tuple[str, int] | None:
    numbers = counted_numbers(text, loop)
    if numbers is not None:
        return numbers[0], numbers[2]
    if isinstance(loop, ArithmeticFor):
        match = _GROWING.fullmatch(text.string[loop.header_start : loop.header_end])
        if match is None:
            return None
        number, limit = parse_integer(match[2]), parse_integer(match[4]) - (match[3] == "<")
        factor, step = parse_integer(match[5] or match[7] or "0"), parse_integer(match[6] or match[8] or "0")
        if step:
            return match[1], number + max(limit - number, 0) // step * step
        factor = factor or 2
        if number < 1 or factor < 2:
            return None
        while number * factor <= limit:
            number *= factor
        return match[1], number
    if not loop.words:
        return None
    written = text.string[loop.words[0].start : loop.words[-1].end]
    if _NUMBERS.fullmatch(written):
        return loop.name, max(parse_integer(each) for each in written.split())
    match = _STEPPED.fullmatch(written)
    if match is None:
        return None
    first, last, step = (match[1], match[2], match[3]) if match[1] else (match[4], match[6], match[5])
    start, end, width = parse_integer(first), parse_integer(last), parse_integer(step)
    return (loop.name, start + (end - start) // width * width) if width and end >= start else None


_LIST = "$`*?{["
# A list in braces of which one word is left, and a word that quotes keep in one piece.
_ONE_BRACED = Regex(r"\{(?:,*[^{},$`*?\[\s\"'\\]+,+|,+[^{},$`*?\[\s\"'\\]+)\}")
_QUOTED = Regex(r"'[^']*'|\"(?:[^\"$`@\\]|\$(?=\w|\{\w+\}))*\"")
_NUMBER = r"(?:\d+|\$\w+|\$\{\w+\}|\$\(\([^()]*\)\)|\$\[[^\[\]]*\]|\$)"
_PRINTED = Regex(rf"[\"']?{_NUMBER}[\"']?\s?(?:p|\{{p;?q;?\}})[\"']?")  # sed -n
_QUIT_AT = Regex(rf"[\"']?{_NUMBER}[\"']?q;d[\"']?")  # sed
_RECORD = Regex(
    rf"(?:[\"']?(?:NR|FNR) ?== ?[\"']{{0,2}}(?:{_NUMBER}|\w+)[\"']{{0,2}})(?: ?\{{[^{{}}]*\}})?[\"']?"  # awk
)
# Filters that print no more lines than they read.
_KEEPING = frozenset({"cut", "sort", "uniq", "grep", "egrep", "head", "tail", "rev", "tee", "cat", "iconv", "dos2unix"})


def is_of_one_word(string: str, loop: For) -> bool:
    """Whether a `for` has exactly one iteration, whatever its variables hold."""
    words = loop.words or ()
    if len(words) != 1:
        return False
    written = string[words[0].start : words[0].end]
    if set(_LIST).isdisjoint(written):
        return True
    return _ONE_BRACED.fullmatch(written) is not None or _QUOTED.fullmatch(written) is not None


def fed_a_line(string: str, program: Program) -> Iterator[Node]:
    """The parts of pipelines, and the loops, that read from a command which prints one line at most."""
    for pipeline in nodes_of(program, Pipeline):
        for (_, single), element in zip(_printing(string, pipeline.commands), pipeline.commands[1:], strict=False):
            if single:
                yield element
    for loop in nodes_of(program, While):
        for redirect in loop.redirects:
            target = redirect.target
            if redirect.operator == "<" and redirect.fd in (None, "0") and target is not None:
                if _is_of_a_line(string, target):
                    yield loop


def _is_of_a_line(string: str, target: Word) -> bool:
    """Whether a word is `<(…)` around a command that prints one line at most."""
    part = target.parts[0] if len(target.parts) == 1 else None
    if not isinstance(part, ProcessSubstitution) or len(part.body) != 1:
        return False
    body = part.body[0]
    commands: Sequence[Statement] = body.commands if isinstance(body, Pipeline) else (body,)
    *_, (_, single) = _printing(string, commands)
    return single


def _printing(string: str, commands: Sequence[Statement]) -> Iterator[tuple[Statement, bool]]:
    """The commands of a pipeline, each with whether it prints one line at most."""
    single = False
    for command in commands:
        single = _prints_a_line(string, command) or single and _first(string, command) in _KEEPING
        yield command, single


def _prints_a_line(string: str, command: Statement) -> bool:
    """Whether a command prints one line at most: the one that a number names, the first, or the last."""
    name = _first(string, command)
    if name not in ("head", "tail", "sed", "awk", "gawk", "grep") or not isinstance(command, Simple):
        return False
    words = [string[each.start : each.end] for each in command.words[1:]]
    if name == "sed":
        return any(map(_QUIT_AT.fullmatch, words)) or "-n" in words and any(map(_PRINTED.fullmatch, words))
    if name in ("awk", "gawk"):
        return any(map(_RECORD.fullmatch, words))
    if name == "grep":
        return "-m1" in words or "--max-count=1" in words or ("-m", "1") in pairwise(words)
    return not {"-1", "-n1", "--lines=1"}.isdisjoint(words) or ("-n", "1") in pairwise(words)


def _first(string: str, command: Statement) -> str:
    """The name of a command as written; empty without one."""
    if not isinstance(command, Simple) or not command.words:
        return ""
    return string[command.words[0].start : command.words[0].end]
