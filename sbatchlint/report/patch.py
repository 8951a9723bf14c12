"""A fix as a small diff."""

from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.diagnostics import Fix
from sbatchlint.report.cells import escape, width, wrap
from sbatchlint.report.snippet import Line
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.text import Source, Span

MOST_LINES = 12


class Hunk(NamedTuple):
    """A change from row `row` on: removed lines, added lines, and the line before them."""

    row: int
    new_row: int
    old: list[str]
    new: list[str]
    context: str | None


def render_fix(source: Source, fix: Fix, gutter: int, terminal: Terminal) -> list[str]:
    """`help: …` with the fix's title, marked safe or unsafe, and the lines it changes."""
    kind = "safe fix" if fix.safe else "unsafe fix"
    option = "--fix" if fix.safe else "--fix --unsafe-fixes"
    text = wrap(f"{escape(fix.title)} ({kind}: {option})", terminal.width - 6)
    lines = [terminal.style("help", "help: ") + text[0], *("      " + line for line in text[1:])]
    room = terminal.width - gutter - 4
    left = MOST_LINES
    for hunk in hunks(source, fix.edits):
        if hunk.context is not None:
            lines.append(_line(hunk.row - 1, "|", hunk.context, gutter, room, terminal))
        signed = [*(("-", each) for each in hunk.old), *(("+", each) for each in hunk.new)]
        for number, (sign, body) in enumerate(signed):
            if not left:
                return [*lines, terminal.style("gutter", "...")]
            left -= 1
            row = hunk.row + number if sign == "-" else hunk.new_row + number - len(hunk.old)
            lines.append(_line(row, sign, body, gutter, room, terminal))
    return lines


def _line(row: int, sign: str, text: str, gutter: int, room: int, terminal: Terminal) -> str:
    shown = Line(text, [], room).text if width(text) > room else escape(text).replace("\\t", "    ")
    if sign == "|":
        return terminal.style("gutter", f"{row:>{gutter}} |") + f" {shown}".rstrip()
    name = "removed" if sign == "-" else "added"
    return terminal.style("gutter", f"{row:>{gutter}} ") + terminal.style(name, f"{sign} {shown}".rstrip())


def hunks(source: Source, edits: Iterable[Edit]) -> list[Hunk]:
    """The changes of edits in order, with edits on adjacent rows in one hunk."""
    given = sorted((Edit(Span(*edit.span), edit.content) for edit in edits), key=lambda edit: edit.span)
    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in given:
        first, last = source.row(edit.span.start), source.row(edit.span.end)
        if groups and first <= groups[-1][1] + 1:
            begin, end, members = groups.pop()
            groups.append((begin, max(last, end), [*members, edit]))
        else:
            groups.append((first, last, [edit]))
    found: list[Hunk] = []
    moved = 0
    for first, last, members in groups:
        start, end = source.full_line(first).start, source.full_line(last).end
        shifted = [Edit(Span(s - start, e - start), content) for (s, e), content in members]
        before = source.text[start:end]
        after = apply(before, shifted)
        old, new = _lines(before), _lines(after)
        found.extend(_hunk(source, first, first + moved, old, new, *part) for part in _differences(old, new))
        moved += len(new) - len(old)
    return found


def _differences(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """The ranges of lines that differ, as start and end in the old and in the new lines."""
    if len(old) == 1 or len(new) == 1 or len(old) + len(new) > 200:
        head = 0
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        parts = (head, len(old) - tail, head, len(new) - tail)
        return [parts] if parts[0] < parts[1] or parts[2] < parts[3] else []
    from difflib import SequenceMatcher  # slow to import, and used for few fixes

    return [part[1:] for part in SequenceMatcher(None, old, new, False).get_opcodes() if part[0] != "equal"]


def _hunk(
    source: Source, row: int, new_row: int, old: list[str], new: list[str], start: int, end: int, at: int, to: int
) -> Hunk:
    gone, come = old[start:end], new[at:to]
    bare_gone, bare_come = [line.rstrip("\r") for line in gone], [line.rstrip("\r") for line in come]
    if bare_gone != bare_come:  # line endings are shown only where nothing else changes
        gone, come = bare_gone, bare_come
    row += start
    context = source.slice(source.line(row - 1)) if not (gone and come) and row > 1 else None
    return Hunk(row, new_row + at, gone, come, context)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
