"""Takes assignments out of a script, with the commands that do nothing without them.

A bare `export` prints all variables, and a body without a command is a syntax error: a command that is not needed goes
with its line where others are beside it, and becomes `:` elsewhere.
"""

from collections.abc import Iterable, Iterator

from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticFor,
    Assignment,
    Case,
    CommandSubstitution,
    For,
    Group,
    If,
    ProcessSubstitution,
    Program,
    Simple,
    Statement,
    While,
    Word,
)
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.source.edits import Edit, remove
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_DECLARING = frozenset({"declare", "export", "local", "readonly", "typeset"})
_SEPARATOR = Regex(r"[ \t]*;(?!;)[ \t]*")


def without_assignments(job: Job, values: Iterable[tuple[str, Pieces]]) -> tuple[list[str], list[Edit]]:
    """The edits that remove the assignments of these values to these variables, and the names that they remove.

    Left out are those that are not written as `NAME=value` in a command of the script itself.
    """
    wanted = list(values)
    found: dict[int, tuple[Simple, list[Assignment | Word]]] = {}
    names: list[str] = []
    for command in nodes_of(job.program, Simple) if wanted else ():
        for part in (*command.assignments, *command.words):
            name = next((name for name, value in wanted if _assigns(job, command, part, name, value)), None)
            if name is not None:
                found.setdefault(id(command), (command, []))[1].append(part)
                names.append(name)
    needless = {at for at, each in found.items() if _does_nothing(*each)}
    edits: list[Edit] = []
    for at, (command, parts) in found.items():
        edits += [_without(job, command, needless)] if at in needless else _without_parts(job, command, parts)
    return list(dict.fromkeys(names)), edits


def _assigns(job: Job, command: Simple, part: Assignment | Word, name: str, value: Pieces) -> bool:
    """Whether a part of a command is the assignment of a value, with nothing else in it."""
    span, known = job.span(part.start, part.end), span_of(value)
    if not span.start < known.start or known.end > span.end or span.end > len(job.source.own.text):
        return False
    written = job.source.slice(span)
    earlier = (literal_text(word) or "" for word in command.words if word.start < part.start)
    is_env = isinstance(part, Word) and any(each.rpartition("/")[2] == "env" for each in earlier)
    if not is_env and not (isinstance(part, Assignment) and part.index is None and not part.append):
        return False
    return written in (f"{name}={quote}{text_of(value)}{quote}" for quote in ("", "'", '"'))


def _does_nothing(command: Simple, removed: list[Assignment | Word]) -> bool:
    """Whether a command without these parts has no effect."""
    gone = {id(each) for each in removed}
    left = [each for each in (*command.assignments, *command.words) if id(each) not in gone]
    if left and left[0] in command.words and literal_text(left[0]) in _DECLARING:
        left = [each for each in left[1:] if not (literal_text(each) or "").startswith("-")]
    return not left and not command.redirects


def _without_parts(job: Job, command: Simple, removed: list[Assignment | Word]) -> Iterator[Edit]:
    """The edits that remove parts of a command, each with the gap to the part before it, or behind it."""
    gone = {id(each) for each in removed}
    parts = sorted((*command.assignments, *command.words, *command.redirects), key=lambda each: each.start)
    for at, part in enumerate(parts):
        if id(part) not in gone:
            continue
        before = parts[at - 1].end if at else None
        if before is None or part in command.assignments and at + 1 < len(parts):
            yield remove(job.span(part.start, parts[at + 1].start if at + 1 < len(parts) else part.end))
        else:
            yield remove(job.span(before, part.end))


def _without(job: Job, command: Simple, needless: set[int]) -> Edit:
    """The edit that removes a command, or puts one that does nothing in its place.

    That is also left at the end of a body, whose status it is.
    """
    text, span = job.source.own.text, job.span(command.start, command.end)
    if _is_beside_others(job.program, command, needless):
        line, end = job.source.line_of(span.start).start, job.source.line_of(span.end).end
        after = text[span.end : end].strip(" \t\r")
        after = after if after.startswith(";;") else after.lstrip("; \t")
        if not text[line : span.start].strip() and (not after or after.startswith("#")):
            return remove(Span(line, min(end + 1, len(text))))
        separator = _SEPARATOR.match(text, span.end)
        if separator is not None:
            return remove(Span(span.start, separator.end()))
    for both in nodes_of(job.program, AndOr):
        right = job.span(both.right.start, both.right.end).start
        gap = text[span.end : right].replace("\\\n", "").strip(" \t")
        if both.left is command and both.operator == gap == "&&":
            return remove(Span(span.start, right))
    return Edit(span, ":")


def _is_beside_others(program: Program, command: Simple, needless: set[int]) -> bool:
    """Whether a command is one of several of a list that goes on after it with one that is needed."""
    for body in _bodies(program):
        at = next((at for at, each in enumerate(body) if each is command), None)
        if at is not None:
            others = body if body is program.statements else body[at + 1 :]
            return any(id(each) not in needless for each in others)
    return False


def _bodies(program: Program) -> Iterator[tuple[Statement, ...]]:
    """The lists of commands of a script, but for those whose last one is a condition."""
    yield program.statements
    yield from (loop.body for loop in nodes_of(program, For))
    yield from (loop.body for loop in nodes_of(program, ArithmeticFor))
    yield from (loop.body for loop in nodes_of(program, While))
    yield from (group.body for group in nodes_of(program, Group))
    yield from (shell.body for shell in nodes_of(program, CommandSubstitution))
    yield from (shell.body for shell in nodes_of(program, ProcessSubstitution))
    for choice in nodes_of(program, If):
        yield from (body for _, body in choice.branches)
        yield choice.otherwise or ()
    for case in nodes_of(program, Case):
        yield from (body for _, body, _ in case.items)
