"""What bash says of a script that the parser could not read. Nothing is run: `bash -n` only reads."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# A template's marks, and a placeholder such as <your account>, which the shell takes for redirects.
_TEMPLATE = Regex(r"\{\{|\{%|\{#|<%|\$\{\{|@@\w+@@|%%\w+%%")
_PLACEHOLDER = Regex(r"<[A-Za-z][^<>\n]*>")
_TOKEN = Regex(r"near unexpected token `(.*)'$")
_COMPLAINT = Regex(r"^[^\n]*?: line (\d+): ([^\n]*)", re.MULTILINE)
_SECONDS = 10


class SyntaxFault(NamedTuple):
    """An error of syntax: where, on one line, and bash's own words."""

    span: Span
    complaint: str


def syntax_fault(job: Job) -> SyntaxFault | None:
    """The first error that both our parser and bash find; None where either is content, or cannot be asked."""
    string = job.text.string
    if not job.program.errors or not (job.directives.lines or string.startswith("#!") or job.is_embedded):
        return None
    if _TEMPLATE.search(job.directives.text.string):
        return None
    found = complaint(string.replace("\r\n", "\n"))
    if found is None:
        return None
    row, words = found
    starts = [0, *(match.end() for match in re.finditer("\n", string)), len(string) + 1]
    start, end = _place(string, sorted(job.program.errors), starts[min(row, len(starts) - 1) - 1], words)
    number = string.count("\n", 0, start)
    rows = {number, min(row - 1, len(starts) - 2)}
    if any(_PLACEHOLDER.search(string[starts[each] : starts[each + 1] - 1]) for each in rows):
        return None
    while end > start + 1 and string[end - 1] in " \t\r":
        end -= 1
    return SyntaxFault(job.span(start, end), words)


def _place(string: str, errors: list[tuple[int, int]], line: int, words: str) -> tuple[int, int]:
    """What bash means, on one line: the word that it names, or else where our parser met the first error.

    Of an end of the file that comes too early, only the parser knows where it began.
    """
    line_end = string.find("\n", line)
    line_end = len(string) if line_end < 0 else line_end
    token = _TOKEN.search(words)
    if token is not None:
        named = re.search(rf"(?<!\w){re.escape(token[1])}(?!\w)", string[line:line_end])
        if named is not None:
            return line + named.start(), line + named.end()
    start, end = errors[0]
    if token is not None:
        start, end = next((each for each in errors if line <= each[0] < line_end), (line, line_end))
    first_end = string.find("\n", start)
    while start + 1 < end and string[start] in " \t":
        start += 1
    return start, min(end, len(string) if first_end < 0 else first_end)


def complaint(string: str) -> tuple[int, str] | None:
    """The line (from 1) and the words of bash's first complaint about a text; None where it has none."""
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    environment = {name: value for name, value in os.environ.items() if name not in ("BASH_ENV", "ENV", "SHELLOPTS")}
    environment["LC_ALL"] = "C"
    try:
        done = run(
            ["bash", "--norc", "--noprofile", "-n"],
            input=Source.encode(string),
            stdout=DEVNULL,
            stderr=PIPE,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, SubprocessError):
        return None
    if not done.returncode:
        return None
    match = _COMPLAINT.search(done.stderr.decode("utf-8", "replace"))
    return None if match is None else (int(match[1]), match[2])
