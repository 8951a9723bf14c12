"""Quotes in directives that are not closed, for which sbatch gives up: ``Unmatched `"` in […]``.

Quotes are read as in `get_argument()` (src/sbatch/opt.c, 20.11 to 26.05): they begin and end anywhere in a word, and do
not reach beyond the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.directives.typos import CURLY
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.lines import BLANKS, TEMPLATED, DirectiveLine, read_words
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives

# A further option, or a comment, behind the text that was meant to be quoted.
_NEXT = Regex(r"[ \t]+(?:--?[A-Za-z]|#)|[ \t]*\Z")

# A value in single quotes that holds an apostrophe.
_APOSTROPHE = Regex(r"(?<=[ \t=])'([^'\"\\#]*\w'\w[^'\"\\#]*)'(?![^ \t])")
_OPTION = Regex(r"[ \t]+--?[A-Za-z]")


class OpenQuote(NamedTuple):
    """`quote`: the offset of the quote in the text, `start`, `end`: of the value around it as far as that is known.

    `instead`: what to write for it, None where that is not plain; `edit`: of the file. `message`: what sbatch says.
    """

    line: DirectiveLine
    quote: int
    start: int
    end: int
    instead: str | None
    edit: Edit | None
    message: str


def open_quotes(directives: Directives) -> list[OpenQuote]:
    """See `Directives.open_quotes`."""
    text = directives.text
    string = text.string
    found: list[OpenQuote] = []
    for line in directives.lines:
        fault = line.fault
        if fault is None or fault.kind != "unmatched-quote":
            continue
        if line.magic == "#SLURM" and not (line.tokens and line.tokens[0].text[:1] == "-"):
            # A comment that should not be read at all.
            continue
        shown = string[line.words_start : line.end]
        if UNKNOWN in shown or TEMPLATED.search(shown) or CURLY.search(shown):
            continue
        value = _value_start(string, line, fault.start)
        close = _NEXT.search(string, fault.start, line.end)
        end = close.start() if close is not None else line.end
        instead = _repair(string, line, value, fault.start, end)
        quoted = next((each for each in _APOSTROPHE.finditer(string, line.words_start, line.end)), None)
        if quoted is not None and quoted.start() < fault.start < quoted.end():
            value, end, instead = quoted.start(), quoted.end(), f'"{quoted.group(1)}"'
        edit = Edit(text.span(value, end), instead) if instead is not None else None
        found.append(OpenQuote(line, fault.start, value, end, instead, edit, fault.message))
    return found


def _value_start(string: str, line: DirectiveLine, quote: int) -> int:
    """Where the value begins in which the quote stands: behind the option's `=`, or the word."""
    start = quote
    while start > line.words_start and string[start - 1] not in BLANKS:
        start -= 1
    # An earlier quote of the value may have blanks in it.
    words = read_words(string, line.words_start, quote, strict_separator=False)
    if words.tokens and words.tokens[-1].end == quote:
        start = words.tokens[-1].start
    word = string[start:quote]
    if word.startswith("--"):
        return start + word.index("=") + 1 if "=" in word else start
    if len(word) > 1 and word[0] == "-" and word[1].isalpha():
        return start + 2
    return start


def _repair(string: str, line: DirectiveLine, value: int, quote: int, end: int) -> str | None:
    """The value between these offsets, so that sbatch can read the line; None where it is not plain what it is."""
    sign = string[quote]
    other = '"' if sign == "'" else "'"
    before, behind = string[value:quote], string[quote + 1 : end]
    for each in _candidates(sign, other, before, behind):
        changed = string[line.words_start : value] + each + string[end : line.end]
        words = read_words(changed, 0, len(changed))
        if words.fault is None and words.dropped is None:
            return each
    return None


def _candidates(sign: str, other: str, before: str, behind: str) -> list[str]:
    if not before:
        if not behind:
            return []
        if behind[-1] == other and other not in behind[:-1]:
            # `"my job'`
            return [sign + behind[:-1] + sign]
        # `"my job`
        return [sign + behind + sign]
    option = _OPTION.search(before)
    if option is not None and before[0] == sign:
        # `"a --error="b"`: the first one is not closed.
        at = option.start()
        return [before[:at] + sign + before[at:] + sign + behind]
    if not behind:
        if before[0] == other and other not in before[1:]:
            return [other + before[1:] + other]
        if not set(before) & set("\"'\\"):
            # `train"`: nothing was opened.
            return [before] if not re.search(r"[ \t#]", before) else [sign + before + sign]
        inner = before[1:] if before[0] == sign else before
        return [other + inner + other] if other not in inner and sign in inner else []
    whole = before + sign + behind
    if whole[0] == sign == whole[-1]:
        # `'it's'`
        whole = whole[1:-1]
    if other in whole or "\\" in whole:
        return []
    # `don't`
    return [other + whole + other]


__all__ = ["OpenQuote", "open_quotes"]
