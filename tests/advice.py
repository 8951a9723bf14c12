"""What a message tells its reader to write, applied to the script as a reader would who takes it at its word.

Only advice that says it all is applied: a word for the one that is marked, a directive, a line before or after, an
option of the srun that is marked, or the removal of what is marked. Advice with a blank to fill in (`N`, `FILE`, `…`),
or in words alone is left to readers; of a choice the first that can be applied is taken.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sbatchlint.check import Edit, insert, remove, replace
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.source.text import Source, Span

_WORD = r"(?:`([^`]+)`|((?:#SBATCH )?--[a-z][\w-]*(?:=[\w:.,%$-]+)?))"
_WRITE = re.compile(rf"(?:^|[;,:] |\band |\btoo )(write|add) {_WORD}([^;`]*)$")
_FOR = re.compile(r"[;,:] (?:\w+ )?write `([^`]+)` (?:for|instead of) `([^`]+)`(?: \([^()]*\))?$")
# At the end of a line, and on a line of its own next to another, or to the marked one.
_APPEND = re.compile(r"[;,] (?:append|add) `(\|\|[^`]+)` (?:to line (\d+)|after this command)$")
_BESIDE = re.compile(
    r"(?:[;,] | and )(?:(?:add|put|write|set) )?`([^`]+)` "
    r"(?:(above|below|before) (?:line (\d+)|this (?:line|command))|(above|near the top))"
)
_END_WITH = re.compile(r" and (?:end (?:the script )?with `([^`]+)`|`([^`]+)` at the end)$")
_OPTIONS = re.compile(r"; write ((?:--[a-z][\w-]*=[\w:.]+ ?){2,}?)(?:, and add (-c \d+) if .*)?$")
_TWO = re.compile(r"[;,] write `?([^`\s]+)`?(?: to be clear)?, or (?:add |write )?`([^`]+)`")
_STOP = re.compile(r" or (?:write `(\$\{\w+:\?\})`) to stop the job\b")
_MEANT = re.compile(r"; did you mean `?([^\s`?]+)`?\?$")
_REMOVE = re.compile(r"; (?:remove it|leave it out|delete it)$")
# What the reader has to fill in.
_BLANK = re.compile(
    r"…|\bN\b|\b(?:FILE|DIR|NAME|PATH|PROGRAM|FOLDER|COMMAND|HOST|URL|IMAGE|ID|VALUE|GPUS|NODE|SRC|DEST|YOURS?)\b|<\w"
)
_ABOVE = re.compile(r"above line (\d+)")
_AND_MORE = re.compile(r"[ \t]+[^\s#\\-]|[ \t]*[;&|]")
_DIRECTIVE = re.compile(r"(?m)^#SBATCH[^\n]*\n")
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)")


class Followed(NamedTuple):
    """The edits that follow a message. `option`: the long option that it writes or removes, '' for other words;
    `value`: what the option is to be, None where it is removed."""

    edits: list[Edit]
    option: str
    value: str | None


def followed(source: Source, found: Diagnostic) -> Followed | None:
    """The edits of a reader who follows a message; None where it does not say all."""
    text, span, message = source.text, found.span, found.message
    marked = text[span.start : span.end]
    if _REMOVE.search(message):
        whole = _whole_word(text, span)
        if whole is not None and _AND_MORE.match(text, whole.end):
            return None  # what follows may belong to it
        return None if whole is None else Followed([remove(_with_its_line(text, whole))], _long(marked), None)
    meant = _MEANT.search(message)
    if meant is not None:
        return _in_place(text, span, meant[1])
    beside = _beside(source, found)
    if beside is not None:
        return beside
    options = _OPTIONS.search(message)
    if options is not None and marked.startswith("-"):
        line = Span(text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end))
        name = _long(options[1])
        several = [each for each in text[line.start : line.end].split() if each.startswith("-")]
        if len(several) == 1 and name:
            whole = Span(span.start, max(span.end, _value_end(text, span)))
            return Followed([replace(whole, options[1].strip())], name, None)
        return None
    stop = _STOP.search(message)
    if stop is not None:
        name = stop[1][2:-3]
        match = re.compile(rf"\$\{{?{name}\}}?").search(text, max(0, span.start - 2), span.end + 2)
        return None if match is None else Followed([replace(Span(*match.span()), stop[1])], "", None)
    two = _TWO.search(message)
    if two is not None and not _BLANK.search(two[1]):
        return _in_place(text, span, two[1])
    instead = _FOR.search(message)
    if instead is not None:
        at = text.find(instead[2], span.start, max(span.end, span.start + len(instead[2])))
        if at < 0 or _BLANK.search(instead[1]):
            return None
        return Followed([replace(Span(at, at + len(instead[2])), instead[1])], _long(instead[1]), _value(instead[1]))
    match = _WRITE.search(message)
    if match is None:
        return None
    words, rest = match[2] or match[3], match[4].strip(" ,")
    if _BLANK.search(words) or " or " in rest or rest.startswith("or "):
        return None
    if words.startswith("#SBATCH -") and rest in ("", "too"):
        return _directive(text, words)
    line = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    end = len(text) if end < 0 else end
    if rest in ("before it", "before") and not text[line : span.start].strip(" \t"):
        indent = text[line : span.start]
        return Followed([insert(line, f"{indent}{words}\n")], "", None)
    if row := _ABOVE.fullmatch(rest):
        lines = text.splitlines(keepends=True)
        return Followed([insert(len("".join(lines[: int(row[1]) - 1])), f"{words}\n")], "", None)
    if rest == "after it" and words.startswith("||") and text[end - 1] != "\\":
        return Followed([insert(end, f" {words}")], "", None)
    if words.startswith("-") and marked == "srun" and rest in ("", "to the srun", "to it", "to srun"):
        return Followed([insert(span.end, f" {words}")], _long(words), _value(words))
    if match[1] == "add" and words.startswith("--") and "=" in words and marked.startswith("-") and not rest:
        return Followed([insert(span.end, f" {words}")], _long(words), _value(words))
    return _in_place(text, span, words) if not rest and match[1] == "write" else None


def _beside(source: Source, found: Diagnostic) -> Followed | None:
    """The lines that a message has its reader append to, or add above and below others."""
    text, message = source.text, found.message
    edits: list[Edit] = []
    appended = _APPEND.search(message)
    if appended is not None:
        at = _end_of_line(text, int(appended[2])) if appended[2] else text.find("\n", found.span.end)
        return None if at < 0 or text[at - 1] == "\\" else Followed([insert(at, f" {appended[1]}")], "", None)
    for match in _BESIDE.finditer(message):
        words, where, row = match[1], match[2] or match[4], match[3]
        if _BLANK.search(words) or words.startswith(("-", "|", "#")) or " or " in message[match.end() :]:
            return None
        if where == "near the top":
            edits.append(insert(_below_directives(text), f"{words}\n"))
            continue
        line = int(row) if row else text.count("\n", 0, found.span.start) + 1
        at = _end_of_line(text, line) + 1 if where == "below" else _end_of_line(text, line - 1) + 1 if line > 1 else 0
        indent = re.compile(r"[ \t]*").match(text, _end_of_line(text, line - 1) + 1)
        edits.append(insert(at, f"{indent[0] if indent else ''}{words}\n"))
    end = _END_WITH.search(message)
    if edits and end is not None:
        last = text.rstrip("\n").rpartition("\n")
        if last[2].strip().startswith("exit"):
            edits.append(replace(Span(len(last[0]) + 1, len(last[0]) + 1 + len(last[2])), end[1] or end[2]))
        else:
            edits.append(insert(len(text), f"{'' if text.endswith(chr(10)) else chr(10)}{end[1] or end[2]}\n"))
    told = re.findall(r"`[^`]+`", message.rpartition("; ")[2])
    if len(told) != len(edits):
        return None  # there is more to do, or a word that belongs to no line
    return Followed(edits, "", None) if edits else None


def _end_of_line(text: str, number: int) -> int:
    """The offset of the end of a line (from 1)."""
    at = -1
    for _ in range(number):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    return at


def _value_end(text: str, span: Span) -> int:
    """The end of the value of a marked option."""
    match = re.compile(r"-\S+(?:[ =]+[^\s#-]\S*)?").match(text, span.start)
    return span.end if match is None else match.end()


def _in_place(text: str, span: Span, words: str) -> Followed | None:
    """The replacement of what is marked, where that is a word of the same kind."""
    if (whole := _whole_word(text, span)) is None:
        return None
    span, marked = whole, text[whole.start : whole.end]
    if words.startswith("-") and not marked.startswith("-"):
        before = re.search(r"--?[A-Za-z][\w-]*[= ]?$", text[: span.start])
        if before is None or not words.startswith(before[0].rstrip("= ")):
            return None
        span = Span(before.start(), span.end)
    elif marked.startswith("-") != words.startswith("-") or "\n" in marked:
        return None
    elif words.startswith("-"):
        if _letters(_long(words)) != _letters(_long(marked)) or " " in marked and not _value(words):
            return None
        long = words.startswith("--")
        if long and _value(marked) and not _value(words) and _long(words) != _long(marked):  # only the name changes
            name = Span(span.start, span.start + len(_long(marked)))
            return Followed([replace(name, words)], _long(words), _value(marked))
    elif (
        words.startswith("[") or words[0].isalnum() != marked[0].isalnum() or (" " in words) != (" " in marked.strip())
    ):
        return None
    return Followed([replace(span, words)], _long(words), _value(words))


def _letters(option: str) -> str:
    """The letters of an option: those of a misspelled one are at least alike."""
    return re.sub(r"[-_]", "", option)[:1]


def _whole_word(text: str, span: Span) -> Span | None:
    """A range, of an option up to the end of its value; None where that is a part of quoted words."""
    end = span.end
    while text.startswith("-", span.start) and end < len(text) and text[end] not in " \t\n;|&)`#\xa0":
        end += 1
    marked = text[span.start : end]
    return None if any(marked.count(quote) % 2 for quote in "\"'") else Span(span.start, end)


def _directive(text: str, words: str) -> Followed:
    """A directive of its own, or instead of the marked one that sets the same option."""
    option = words.removeprefix("#SBATCH ")
    there = re.search(rf"(?m)^#SBATCH[^\n]*?({_long(option)}(?:[= ]\S+)?)", text)
    if there is not None:
        return Followed([replace(Span(*there.span(1)), option)], _long(option), _value(option))
    return Followed([insert(_below_directives(text), f"{words}\n")], _long(option), _value(option))


def _below_directives(text: str) -> int:
    """Where the first block of directives ends."""
    at = text.find("\n") + 1
    while match := re.compile(r"(?:[ \t]*#[^\n]*)?\n").match(text, at):
        at = match.end()
    found = [match.end() for match in _DIRECTIVE.finditer(text, 0, at)]
    return found[-1] if found else text.find("\n") + 1


def _with_its_line(text: str, span: Span) -> Span:
    """A range; with its line, if nothing else stands there but the word `#SBATCH`, or the blanks before it."""
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    end = len(text) if end < 0 else end
    if (text[start : span.start] + text[span.end : end]).strip() in ("", "#SBATCH"):
        return Span(start, min(end + 1, len(text)))
    blanks = len(text[start : span.start]) - len(text[start : span.start].rstrip(" \t"))
    return Span(span.start - blanks, span.end)


def _long(words: str) -> str:
    match = _OPTION.match(words)
    return "" if match is None else match[1]


def _value(words: str) -> str:
    return words[len(_long(words)) :].lstrip("= ")
