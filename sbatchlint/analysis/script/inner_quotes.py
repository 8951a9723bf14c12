"""Double quotes inside of double quotes: `"--name "a b" --wide"` is a string, a bare text, and another string.

Only where that is plainly no splice: the string before ends in a blank (or `=`), that behind begins with one, and text
stands between. A variable alone between the quotes (`"run "$NAME" now"`) is the usual way to write a splice.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, Literal, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, Text, is_open, shown_text
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Between words of one line: blanks, and what ends a command inside the inner quotes (`"a "b;c" d"`).
_BETWEEN = re.compile(r"(?:[ \t;&|]++|\\\n)*+").fullmatch
# A variable for a later shell, alone between the quotes.
_LATE = re.compile(r"\\\$\{?\w+\}?").fullmatch
_GLOB = re.compile(r"[*?\[]").search
SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})


class InnerQuotes(NamedTuple):
    """A text whose quotes end the string that it stands in.

    `effect`: `lost` (nothing but the quotes), `split` (the string ends at a blank in it, or in the value of a variable
    in it), `command` (what follows is run as a command), `pattern` (the shell replaces it by names of files).
    `span`: the text with its quotes, which stand at `quotes`. `rejected`: sbatch refuses the rest as arguments of
    `--wrap`. `bare`: the text may as well stand without quotes.
    """

    effect: str
    span: Span
    quotes: tuple[int, int]
    rejected: bool
    bare: bool


class _Run(NamedTuple):
    """A part of a word in one kind of quotes: `"`, `'` or '' for none. `text`: what is in it, as it is written."""

    kind: str
    start: int
    end: int
    text: str
    word: int  # which word of the command
    assigned: bool  # whether it is the value of an assignment, which is not split
    parts: tuple[object, ...]


def find_inner_quotes(job: Job) -> Iterator[InnerQuotes]:
    found: list[tuple[Text, list[_Run]]] = []
    for text, program in programs(job):
        if text.string.count('"') < 4:
            continue
        simples = sorted((each for each in nodes(program) if isinstance(each, Simple)), key=lambda each: each.start)
        runs: list[_Run] = []
        number = 0
        for simple in simples:
            number += 1
            for word in (*simple.assignments, *simple.words):
                number += 1
                value = word.value if isinstance(word, Assignment) else word
                if isinstance(value, Word):
                    runs.extend(_runs(value, text.string, number, isinstance(word, Assignment)))
        found.extend((text, inner) for inner in _inner(runs, text.string))
    if not found:
        return
    starts = _program_pieces(job)
    seen: set[Span] = set()
    for text, inner in found:
        one = _judge(job, text, inner, starts)
        if one is not None and one.span not in seen:
            seen.add(one.span)
            yield one


def _runs(word: Word, string: str, number: int, assigned: bool) -> Iterator[_Run]:
    """The parts of a word, by their quotes."""
    if '"' not in string[word.start : word.end]:
        return
    kind = ""
    start = at = word.start
    parts: list[object] = []
    for part in (*word.parts, None):
        end = word.end if part is None else part.start
        while at < end:
            character = string[at]
            if character == "\\":
                at += 2
                continue
            if character in "\"'" and kind in ("", character):
                if at > start or kind:
                    yield _Run(kind, start, at, string[start:at], number, assigned, tuple(parts))
                kind = "" if kind else character
                start = at + 1
                parts = []
            at += 1
        if part is not None:
            parts.append(part)
            at = max(at, part.end)
    if kind == "" and word.end > start:
        yield _Run("", start, word.end, string[start : word.end], number, assigned, tuple(parts))


def _inner(runs: list[_Run], string: str) -> Iterator[list[_Run]]:
    """Bare texts between two double-quoted strings that are the halves of one: with both halves."""
    at = 0
    while at < len(runs):
        first = runs[at]
        if first.kind != '"' or not first.text:
            at += 1
            continue
        chain = [first]
        follow = at + 1
        while follow < len(runs) and runs[follow].kind == "" and _joins(chain[-1], runs[follow], string):
            chain.append(runs[follow])
            follow += 1
        last = runs[follow] if follow < len(runs) else None
        if len(chain) > 1 and last is not None and last.kind == '"' and _touch(chain[-1], last):
            if _touch(first, chain[1]) and _halves(first, chain[1:], last, string):
                yield [*chain, last]
            at = follow
        else:
            at += 1


def _touch(first: _Run, second: _Run) -> bool:
    """Whether they are parts of one word, with one quote between them."""
    return first.word == second.word and first.end + 1 == second.start


def _joins(first: _Run, second: _Run, string: str) -> bool:
    if first.word == second.word:
        return _touch(first, second)
    return first.kind == "" and bool(_BETWEEN(string[first.end : second.start]))


def _halves(first: _Run, inner: list[_Run], last: _Run, string: str) -> bool:
    """Whether two strings are the halves of one."""
    if not any(isinstance(part, Literal) for run in inner for part in run.parts) or _LATE(inner[0].text):
        return False
    before, after = first.text[-1], last.text[:1]
    # an odd number of backslashes cannot be here: the quote would be escaped
    blank_after = after in ("", " ", "\t", "\n") or last.text.startswith("\\\n")
    if before in " \t\n=" and blank_after:
        return bool(after) or _ends_word(last, string)
    # JSON: `{"key": 1, "other": 2}`
    return before in "{," and after == ":" or before == " " and after == ":" and first.text.rstrip()[-1:] in ("{", ",")


def _ends_word(run: _Run, string: str) -> bool:
    return string[run.end + 1 : run.end + 2] in ("", " ", "\t", "\n", ";", "&", "|", ")")


# --- what comes of it ----------------------------------------------------------------------------------


def _program_pieces(job: Job) -> tuple[list[int], list[int]]:
    """The ranges of the file whose text reaches a launcher, a step or another program as part of its words."""
    ranges: list[tuple[int, int]] = []
    for each in job.invocations:
        fields: list[Pieces] = []
        if each.phase is Phase.TASK or each.name in ("srun", "sbatch", "eval", "ssh", "mpirun", "mpiexec"):
            fields.extend(each.argv)
        elif each.text is not None:
            fields.append(each.text.field)
        for field in fields:
            ranges.extend((piece.start, piece.end) for piece in field if piece.expansion is None)
    for launch in job.launches:
        for field in launch.invocation.argv:
            ranges.extend((piece.start, piece.end) for piece in field if piece.expansion is None)
    ranges.sort()
    return [start for start, _ in ranges], [end for _, end in ranges]


def _reaches(places: tuple[list[int], list[int]], start: int, end: int) -> bool:
    starts, ends = places
    at = bisect_right(starts, end - 1)
    return any(ends[index] > start for index in range(max(at - 12, 0), at))


def _judge(job: Job, text: Text, inner: list[_Run], places: tuple[list[int], list[int]]) -> InnerQuotes | None:
    first, last = inner[0], inner[-1]
    middle = inner[1:-1]
    opening, closing = text.offset(first.end), text.offset(last.start - 1)
    file = job.source.text
    if file[opening : opening + 1] != '"' or file[closing : closing + 1] != '"' or closing <= opening:
        return None
    span = Span(opening, closing + 1)
    if "\n" in file[opening:closing]:
        return None
    assigned = first.assigned
    several = len({run.word for run in middle}) > 1
    invocation = _command_at(job, span)
    rejected = invocation is not None and _has_wrap(invocation) and invocation.name == "sbatch"
    if several:
        split = [run for run in middle if run.word != first.word]
        ends_command = assigned or bool(re.search("[;&|]", text.string[middle[0].end : split[0].start]))
        return InnerQuotes("command" if ends_command else "split", span, (opening, closing), rejected, False)
    plain = all(isinstance(part, (Literal, Parameter)) and _is_plain(part) for run in middle for part in run.parts)
    if not assigned:
        if _GLOB("".join(part.text for run in middle for part in run.parts if isinstance(part, Literal))):
            return InnerQuotes("pattern", span, (opening, closing), False, False)
        if invocation is not None and _is_split(invocation, opening, closing, text.offset(last.end)):
            return InnerQuotes("split", span, (opening, closing), rejected, False)
        plain = plain and all(isinstance(part, Literal) for run in middle for part in run.parts)
    if not _reaches(places, opening + 1, closing):
        return None
    return InnerQuotes("lost", span, (opening, closing), False, plain)


def _is_plain(part: Literal | Parameter) -> bool:
    """Whether it means the same within double quotes."""
    if not isinstance(part, Literal):
        return True
    return len(part.text) == part.end - part.start and not set(part.text) & set("\\`~!")


def _command_at(job: Job, span: Span) -> Invocation | None:
    found = [each for each in job.invocations if each.span.start <= span.start and span.end <= each.span.end]
    return next((each for each in reversed(found) if not each.kind), None)


def _has_wrap(invocation: Invocation) -> bool:
    return any(shown_text(field).startswith("--wrap") for field in invocation.argv[1:])


def _is_split(invocation: Invocation, opening: int, closing: int, end: int) -> bool:
    """Whether the value of a variable between the quotes is known to make several words of the string."""
    head = tail = None
    for number, field in enumerate(invocation.argv):
        for piece in field:
            if piece.expansion is None and piece.start < opening <= piece.end:
                head = number
            if piece.expansion is None and closing < piece.start <= end:
                tail = number if tail is None else tail
    if head is None or tail is None or any(is_open(field) for field in invocation.argv[head : tail + 1]):
        return False
    return head != tail
