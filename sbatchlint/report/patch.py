"""A fix as a small diff."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from sbatchlint.diagnostics import Fix
from sbatchlint.report.cells import TAB, escape, fits, wrap
from sbatchlint.report.snippet import CUT_ROOM, Label, Line
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.text import Source, Span

# Of a fix with more rows, such as that of all line endings, only the first are shown.
MOST_ROWS = 40
# Of a line that is longer than many rows, as in a notebook on one line, these before and behind the changes are read.
ROOMS = 10


class Hunk(NamedTuple):
    """A change from row `row` on: removed lines, added lines, and the line before them, None if it is not shown."""

    row: int
    new_row: int
    old: list[str]
    new: list[str]
    context: str | None


def render_fix(source: Source, fix: Fix, gutter: int, terminal: Terminal) -> list[str]:
    """The lines that show a fix: `help: …` with its title, marked safe or unsafe, and the changed lines."""
    kind = "safe fix" if fix.safe else "unsafe fix"
    option = "--fix" if fix.safe else "--fix --unsafe-fixes"
    text = wrap(f"{escape(fix.title)} ({kind}: {option})", terminal.width - 6)
    lines = [terminal.style("help", "help: ") + text[0], *("      " + line for line in text[1:])]
    room = terminal.width - gutter - 4
    rows: list[str] = []
    shown: int | None = None  # the first row that is not shown yet
    for hunk in hunks(source, fix.edits, ROOMS * room):
        if shown is not None:
            rows.extend(_left_out(source, shown, hunk, gutter, room, terminal))
        shown = hunk.row + len(hunk.old)
        if hunk.context is not None:
            # numbered like the rows after it: added ones by new numbers, removed ones by old numbers
            row = hunk.new_row if hunk.new else hunk.row
            rows.extend(_line(row - 1, "|", hunk.context, Span(0, 0), gutter, room, terminal))
        pairs = list(zip_longest(hunk.old, hunk.new))
        for number, (old, new) in enumerate(pairs):
            if old is not None:
                rows.extend(_line(hunk.row + number, "-", old, _changed(old, new), gutter, room, terminal))
        for number, (old, new) in enumerate(pairs):
            if new is not None:
                rows.extend(_line(hunk.new_row + number, "+", new, _changed(new, old), gutter, room, terminal))
        if len(rows) > MOST_ROWS:
            more = terminal.style("gutter", "... the rest is shown by --diff")
            return [*lines, *rows[:MOST_ROWS], more]
    return [*lines, *rows]


def _left_out(source: Source, first: int, hunk: Hunk, gutter: int, room: int, terminal: Terminal) -> list[str]:
    """The rows between two changes: a single one is shown, several as a mark."""
    last = hunk.row - (1 if hunk.context is None else 2)
    if last < first:
        return []
    if last > first:
        return [terminal.style("gutter", "...")]
    number = last + (hunk.new_row - hunk.row if hunk.new else 0)
    return _line(number, "|", source.slice(source.line(last)), Span(0, 0), gutter, room, terminal)


def _changed(text: str, other: str | None) -> Span:
    """The range of a line that differs from its counterpart; all of it without one."""
    if other is None:
        return Span(0, len(text))
    head, tail = _common_ends(text, other)
    return Span(head, len(text) - tail)


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """The lengths of the common prefix, and of the common suffix of the rest."""
    head = _common_start(old, new)
    return head, _common_start(old[head:][::-1], new[head:][::-1])


def _common_start(old: Sequence[str], new: Sequence[str]) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _line(row: int, sign: str, text: str, changed: Span, gutter: int, room: int, terminal: Terminal) -> list[str]:
    """A line in `room` cells, or on several rows if its change needs more."""
    name = {"|": "", "-": "removed", "+": "added"}[sign]
    if fits(text, room):
        parts = [escape(text).replace("\\t", TAB)]
    elif fits(text[slice(*changed)], room - CUT_ROOM):
        parts = [Line(text, [Label(*changed, "", True)], room).text]
    else:
        whole = escape(text[: room * MOST_ROWS]).replace("\\t", TAB)
        parts = _folded(whole, room)
    number = terminal.style("gutter", f"{row:>{gutter}} {'|' if sign == '|' else ''}")
    signs = " " if sign == "|" else f"{sign} "
    first = f"{number}{terminal.style(name, signs + parts[0]) if name else signs + parts[0]}"
    if len(parts) == 1:
        return [first.rstrip()]
    beside = " " * (gutter + 1)
    return [first, *(f"{beside}{terminal.style(name, signs + part) if name else signs + part}" for part in parts[1:])]


def _folded(text: str, room: int) -> list[str]:
    """A text on rows of at most `room` characters, which end after a blank where one is in their last half."""
    rows = []
    while len(text) > room:
        at = text.rfind(" ", room // 2, room) + 1 or room
        rows.append(text[:at])
        text = text[at:]
    return [*rows, text]


def hunks(source: Source, edits: Iterable[Edit], side: int) -> list[Hunk]:
    """The changes of edits in order, with edits on adjacent rows in one hunk.

    Of a row more than `side` characters before and behind the edits are left out.
    """
    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in sorted((Edit(Span(*edit.span), edit.content) for edit in edits), key=lambda edit: edit.span):
        first, last = source.row(edit.span.start), source.row(edit.span.end)
        if groups and first <= groups[-1][1] + 1:
            begin, end, members = groups.pop()
            groups.append((begin, max(last, end), [*members, edit]))
        else:
            groups.append((first, last, [edit]))
    found: list[Hunk] = []
    moved = 0
    for first, last, members in groups:
        start = max(source.full_line(first).start, members[0].span.start - side)
        end = min(source.full_line(last).end, max(edit.span.end for edit in members) + side)
        shifted = [Edit(Span(s - start, e - start), content) for (s, e), content in members]
        before = source.text[start:end]
        after = apply(before, shifted)
        old, new = _lines(before), _lines(after)
        found.extend(_hunk(source, first, first + moved, old, new, *part) for part in _differences(old, new))
        moved += len(new) - len(old)
    return found


def _differences(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """The differing ranges of lines, as start and end in the old and in the new lines."""
    if len(old) == 1 or len(new) == 1 or len(old) + len(new) > 200:
        head, tail = _common_ends(old, new)
        parts = (head, len(old) - tail, head, len(new) - tail)
        return [parts] if parts[0] < parts[1] or parts[2] < parts[3] else []
    from difflib import SequenceMatcher  # slow to import, and rarely needed

    return [part[1:] for part in SequenceMatcher(None, old, new, False).get_opcodes() if part[0] != "equal"]


def _hunk(
    source: Source, row: int, new_row: int, old: list[str], new: list[str], start: int, end: int, at: int, to: int
) -> Hunk:
    removed, added = old[start:end], new[at:to]
    bare_removed, bare_added = [line.rstrip("\r") for line in removed], [line.rstrip("\r") for line in added]
    if bare_removed != bare_added:  # line endings are shown only if nothing else changes
        removed, added = bare_removed, bare_added
    row += start
    context = source.slice(source.line(row - 1)) if not (removed and added) and row > 1 else None
    return Hunk(row, new_row + at, removed, added, context)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
