"""Commands that end before they were meant to: the next line begins with an option, and is run as a command.

A backslash is missing at the end of the line, has blanks or a comment behind it, or a comment or an empty line stands
between the parts. Nothing is called `--nodes`, so such a line is never what was meant.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import ArrayLiteral, Program, Simple
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.values import Text
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# An option as the first word of a line: `--nodes=2`, `-task`; not `-` or `--`.
_option = re.compile(r"--?[A-Za-z][\w.-]*").match
_cut = Regex(r"\n[ \t]*+--?[A-Za-z]")
_gap = re.compile(r"(?:[ \t\n]++|\\\n|#[^\n]*+)*+").fullmatch
_comment = Regex(r"#[^\n]*")
_escaped_blank = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t]\Z").search
_blanks = re.compile(r"[ \t]*").match
_rest_of_line = re.compile(r"[ \t]*(#[^\n]*)?(?=\n|\Z)").match
# A comment that sbatch would read, were it moved to the option block.
_live = re.compile(r"#(?:SBATCH|SLURM|PBS|BSUB|!)").match


class Broken(NamedTuple):
    """A command that ends too early.

    `kind`: `newline` (no backslash), `blank` (blanks behind the backslash), `comment` (a comment behind it),
    `between` (a comment line or an empty line in the middle), `swallowed` (in a string whose lines are joined, a
    comment takes in the lines behind it), `argument` (the escaped blank is merely an argument more), `element` (it is
    one of an array, `others` are more of them). `span`: the end of
    the command as it is; `option`: the first option that is lost, and `option_span`; '' where there is none. `title`,
    `edits`: what repairs it, without edits where that is not clear.
    """

    kind: str
    span: Span
    option: str
    option_span: Span | None
    title: str
    edits: tuple[Edit, ...]
    others: tuple[Span, ...] = ()


class _Break(NamedTuple):
    """One place where a command is cut: the command before, and the one that begins with an option."""

    before: Simple
    after: Simple
    kind: str


def find_broken(text: Text, program: Program, file: str) -> Iterator[Broken]:
    """The broken commands of one program. `file`: the text of the whole file, to which spans lead."""
    string = text.string
    if "\n" not in string.strip() and "#" not in string:
        return
    if len(text.field) == 1 and "\\ " not in string and "\\\t" not in string and _cut.search(string) is None:
        return  # neither an escaped blank nor a line that begins with an option
    simples: list[Simple] = []
    for node in nodes(program):
        if isinstance(node, Simple):
            simples.append(node)
        elif isinstance(node, ArrayLiteral):
            element = _blank_elements(node, text, file)
            if element is not None:
                yield element
    simples.sort(key=lambda each: each.end)
    ends = [each.end for each in simples]
    breaks: dict[int, _Break] = {}
    for after in simples:
        number = bisect_right(ends, after.start) - 1
        if number >= 0 and _is_option_line(after, string):
            found = _break(simples[number], after, string)
            if found is not None:
                breaks[id(after)] = found
    inside = {id(each.after) for each in breaks.values()}
    following = {id(each.before): each for each in breaks.values()}
    for head in sorted(breaks.values(), key=lambda found: found.after.start):
        if id(head.before) in inside:
            continue  # a later line of a command that is broken before
        chain = [head]
        while id(chain[-1].after) in following:
            chain.append(following[id(chain[-1].after)])
        yield _broken(chain, text, file)
    for each in simples:
        if id(each) not in following:
            lone = _lone_blank(each, text, file)
            if lone is not None:
                yield lone
        if len(text.field) > 1:
            lost = _swallowed(each, text, file)
            if lost is not None:
                yield lost


def _is_option_line(command: Simple, string: str) -> bool:
    if command.assignments or not command.words:
        return False
    first = command.words[0]
    start = string.rfind("\n", 0, first.start) + 1
    return not string[start : first.start].strip(" \t") and bool(_option(string, first.start, first.end))


def _break(before: Simple, after: Simple, string: str) -> _Break | None:
    gap = string[before.end : after.start]
    if not before.words or "\n" not in gap or not _gap(gap):
        return None
    first_line = gap.partition("\n")[0]
    if _false_comment(before, string) is not None:
        return _Break(before, after, "comment")
    if _ends_in_escaped_blank(before, string):
        return _Break(before, after, "comment" if "#" in first_line else "blank")
    plain = gap.count("\n") == 1 and "#" not in gap and "\\" not in gap
    return _Break(before, after, "newline" if plain else "between")


def _ends_in_escaped_blank(command: Simple, string: str) -> bool:
    last = command.words[-1]
    return last.end == command.end and bool(_escaped_blank(string[last.start : last.end]))


def _false_comment(command: Simple, string: str) -> int | None:
    """Where `\\ # comment` begins in a command: its words are arguments, as the first of them is ` #`."""
    return next((word.start for word in command.words if _is_false_comment(string, word.start)), None)


def _is_false_comment(string: str, start: int) -> bool:
    return string.startswith(("\\ #", "\\\t#"), start)


def _backslash(command: Simple, string: str) -> int:
    """Where the backslash stands that continues nothing."""
    false = _false_comment(command, string)
    return command.end - 2 if false is None else false


def _broken(chain: list[_Break], text: Text, file: str) -> Broken:
    first = chain[0]
    option = _option(text.string, first.after.start)
    assert option is not None
    edits = _edits(chain, text, file)
    return Broken(
        first.kind,
        _end_span(first, text, file),
        option[0],
        text.span(first.after.start, option.end()),
        "continue the line" if first.kind in ("newline", "blank") else "continue the line and move the comment",
        edits or (),
    )


def _end_span(found: _Break, text: Text, file: str) -> Span:
    string = text.string
    before = found.before
    if found.kind in ("blank", "comment"):
        start = _backslash(before, string)
        line_end = string.find("\n", start)
        if found.kind == "comment":
            return text.span(start, len(string[:line_end].rstrip()))
        return text.span(start, line_end)
    if found.kind == "between":
        comment = _comment.search(string, before.end, found.after.start)
        if comment is not None:
            return text.span(comment.start(), len(comment[0].rstrip()) + comment.start())
    parts = [*before.words, *before.redirects]
    last = max(parts, key=lambda part: part.end)
    span = text.span(last.start, last.end)
    newline = text.offset(string.find("\n", before.end))
    if found.kind != "newline" or span.end <= newline and not file[span.end : newline].strip(" \t"):
        return span
    return _word_before(newline, file) or span


def _word_before(newline: int, file: str) -> Span | None:
    """The last word of a line of the file: where the command's own comes from the value of a variable in it."""
    if file[newline : newline + 1] != "\n":
        return None
    start = file.rfind("\n", 0, newline) + 1
    words = file[start:newline].split()
    if not words:
        return None
    at = file.rindex(words[-1], start, newline)
    return Span(at, at + len(words[-1]))


# --- repairs -----------------------------------------------------------------------------------------


def _edits(chain: list[_Break], text: Text, file: str) -> tuple[Edit, ...] | None:
    """One edit a break, and one that puts the comments above the command; None where that cannot be done."""
    string = text.string
    edits: list[Edit] = []
    comments: list[str] = []
    for each in chain:
        start = _backslash(each.before, string) if each.kind in ("blank", "comment") else each.before.end
        end = string.rfind("\n", 0, each.after.start)
        if each.kind == "newline":
            where = text.offset(end)
            if file[where : where + 1] != "\n":
                return None
            edits.append(Edit(Span(where, where), "\\" if file[where - 1] in " \t" else " \\"))
            continue
        if not _is_exact(text, start, end + 1, file):
            return None
        span = text.span(start, end)
        found = _comment.findall(string[start:end])
        if any(_live(comment) for comment in found):
            return None
        comments.extend(comment.rstrip() for comment in found)
        edits.append(Edit(span, "\\" if file[span.start - 1] in " \t" else " \\"))
    if comments:
        above = _above(chain[0].before, text, file)
        if above is None:
            return None
        where, indent = above
        edits.insert(0, Edit(Span(where, where), "".join(f"{indent}{comment}\n" for comment in comments)))
    return tuple(edits)


def _is_exact(text: Text, start: int, end: int, file: str) -> bool:
    """Whether a range stands in the file just as it is in the text."""
    first = text.offset(start)
    return file[first : first + end - start] == text.string[start:end]


def _above(command: Simple, text: Text, file: str) -> tuple[int, str] | None:
    """Where a line above a command begins in the file, and the command's indentation."""
    string = text.string
    start = string.rfind("\n", 0, command.start)
    while start > 0 and string[start - 1] == "\\":
        start = string.rfind("\n", 0, start - 1)
    if start < 0 and text.offset(0) != 0:
        return None
    if not _is_exact(text, start + 1, command.end, file):
        return None
    indent = _blanks(string, start + 1)
    assert indent is not None
    return text.offset(start + 1), indent[0]


# --- other shapes --------------------------------------------------------------------------------------


def _lone_blank(command: Simple, text: Text, file: str) -> Broken | None:
    """`\\ ` as the last word of a command of several lines: an argument that is a blank."""
    string = text.string
    if not command.words:
        return None
    false = _false_comment(command, string)
    if false is not None:
        end = string.find("\n", false)
        span = text.span(false, len(string[: end if end >= 0 else None].rstrip()))
        exact = _is_exact(text, false, false + 3, file)
        edit = Edit(text.span(false, false + 2), "")
        return Broken("argument", span, "", None, "make it a comment", (edit,) if exact else ())
    if not _ends_in_escaped_blank(command, string):
        return None
    last = command.words[-1]
    rest = _rest_of_line(string, command.end)
    if rest is None or last.end - last.start != 2:
        return None
    line = string.rfind("\n", 0, command.start) + 1
    several = "\n" in string[command.start : command.end]
    indent = len(string[line : command.start]) if string[line : command.start].isspace() else 0
    next_line = string[rest.end() + 1 :].partition("\n")[0]
    deeper = bool(next_line.strip()) and len(next_line) - len(next_line.lstrip()) > indent
    if not several and not deeper:
        return None
    edits: tuple[Edit, ...] = ()
    if rest[1] is None and _is_exact(text, last.start - 1, rest.end(), file):
        if deeper:
            edits = (Edit(text.span(last.start + 1, rest.end()), ""),)
        else:
            start = len(string[: last.start].rstrip(" \t"))
            if not string[: last.start].rstrip(" \t").endswith("\\\n"):
                edits = (Edit(text.span(start, rest.end()), ""),)
    end = rest.end() if rest[1] is None else len(string[: rest.end()].rstrip())
    span = text.span(last.start, end)
    title = "continue the line" if deeper else "remove the backslash"
    return Broken("blank" if deeper else "argument", span, "", None, title, edits)


def _blank_elements(array: ArrayLiteral, text: Text, file: str) -> Broken | None:
    """`\\ ` at the ends of lines of an array, which needs no backslashes at all."""
    string = text.string
    spans: list[Span] = []
    edits: list[Edit] = []
    for each in array.elements:
        rest = _rest_of_line(string, each.end)
        if _is_false_comment(string, each.start):
            end = string.find("\n", each.start)
            spans.append(text.span(each.start, len(string[:end].rstrip())))
            if _is_exact(text, each.start, each.start + 3, file):
                edits.append(Edit(text.span(each.start, each.start + 2), ""))
            continue
        if rest is None or string[each.start : each.end] not in ("\\ ", "\\\t"):
            continue
        spans.append(text.span(each.start, each.end))
        if _is_exact(text, each.start - 1, rest.end(), file):
            start = each.start if rest[1] else len(string[: each.start].rstrip(" \t"))
            edits.append(Edit(text.span(start, each.end if rest[1] else rest.end()), ""))
    if not spans:
        return None
    title = "remove the backslashes" if len(spans) > 1 else "remove the backslash"
    return Broken("element", spans[0], "", None, title, tuple(edits), tuple(spans[1:]))


def _swallowed(command: Simple, text: Text, file: str) -> Broken | None:
    """A comment in a string of joined lines, with options behind it."""
    rest = _rest_of_line(text.string, command.end)
    if rest is None or rest[1] is None:
        return None
    start = rest.start(1)
    before = None
    first_end = -1
    at = start
    for piece in text.pieces(start, rest.end()):
        size = 1 if piece.text is None else len(piece.text)
        if before is not None and piece.expansion is None and file[before : piece.start] == "\\\n":
            first_end = at if first_end < 0 else first_end
            lost = str(piece.text).lstrip()
            option = _option(lost)
            if option is not None:
                where = piece.start + len(str(piece.text)) - len(lost)
                span = text.span(start, first_end)
                found = Span(where, where + len(option[0]))
                return Broken("swallowed", span, option[0], found, "", ())
        before = piece.end if piece.expansion is None else None
        at += size
    return None
