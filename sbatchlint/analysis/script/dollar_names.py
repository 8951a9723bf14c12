"""Assignments whose name begins with a dollar: `export $GPUS=8`, `$GPUS=8`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, For, Literal, Parameter, Program, Simple, Word
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.values import text_of
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

DECLARING = frozenset({"export", "declare", "readonly", "local", "typeset"})
# Commands that set a variable whose name they are given.
SETTING = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "local", "declare", "typeset", "unset"})
_shape = re.compile(r"\$\{?[A-Za-z_]\w*\}?=").search
# Variables that hold the name of another one are called so; HF_HOME and OMP_NUM_THREADS are not.
_holds_name = re.compile(r"\w*[a-z]|\w*(?:VAR|NAME|KEY)|[A-Z\d]{1,5}\Z").match
_name = re.compile(r"[A-Za-z_]\w*\Z").match


class DollarName(NamedTuple):
    """Such an assignment. `command`: `export` …, '' where the assignment stands alone. `value`: what the variable holds
    there, None where it is not set. `span`: `$NAME=`; `written`: `$NAME` or `${NAME}`, at `written_span`.
    """

    command: str
    name: str
    value: str | None
    span: Span
    written: str
    written_span: Span


def find_dollar_names(job: Job) -> Iterator[DollarName]:
    for text, program in programs(job):
        if not _shape(text.string):  # only to be quick
            continue
        for node in nodes(program):
            if not isinstance(node, Simple) or not node.words or node.assignments:
                continue
            first = node.words[0]
            command = text.string[first.start : first.end]
            words = node.words[1:] if command in DECLARING else node.words[:1]
            for word in words:
                parameter = _dollar_name(word)
                if parameter is None or command in DECLARING and _prints(node, text.string):
                    continue
                name = parameter.name
                found = _values(job, name)
                if found is None:
                    continue
                yield DollarName(
                    command if command in DECLARING else "",
                    name,
                    next(iter(found), None),
                    text.span(parameter.start, parameter.end + 1),
                    text.string[parameter.start : parameter.end],
                    text.span(parameter.start, parameter.end),
                )


def _prints(command: Simple, string: str) -> bool:
    """`declare -p`, `export -f`: no assignment."""
    return any(string[word.start : word.end] in ("-p", "-f") for word in command.words[1:])


def _dollar_name(word: Word | Assignment) -> Parameter | None:
    """The `$NAME` of `$NAME=…`, with nothing quoted before the `=`."""
    if not isinstance(word, Word) or len(word.parts) < 2:
        return None
    name, equals = word.parts[0], word.parts[1]
    if not isinstance(name, Parameter) or name.quoted or name.operator or name.index or not _name(name.name):
        return None
    if not isinstance(equals, Literal) or equals.quoted or not equals.text.startswith("="):
        return None
    return name if equals.start == name.end else None


def _values(job: Job, name: str) -> set[str] | None:
    """What the script assigns to a variable; None where that may be the name of another."""
    values: set[str] = set()
    for each in job.assigned:
        if each.name != name:
            continue
        for alternative in each.alternatives:
            for field in alternative.fields or ():
                text = text_of(field)
                if text is None or _name(text):
                    return None
                values.add(text)
    used = 0
    for text_and_program in programs(job):
        if _is_set_otherwise(text_and_program[1], name, text_and_program[0].string):
            return None
        used += text_and_program[0].string.count(name)
    # A file that is read may set it to a name; then nothing else would use the variable's own name.
    if not values and used < 2 and _holds_name(name) and unclear_sources(job):
        return None
    return values


def _is_set_otherwise(program: Program, name: str, string: str) -> bool:
    """Whether a loop, `read` or the like sets the variable."""
    for node in nodes(program):
        if isinstance(node, For) and node.name == name:
            return True
        if isinstance(node, Simple) and node.words:
            words = [string[word.start : word.end] for word in node.words]
            if words[0] in SETTING and name in words[1:]:
                return True
    return False
