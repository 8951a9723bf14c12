"""The steps of a plan as a text tree, with a table of the ranks of the tasks."""

from collections.abc import Iterator

from sbatchlint.report.cells import escape, width
from sbatchlint.report.cells import wrap as wrap_words
from sbatchlint.report.plan_view import (
    IDENTITIES,
    LINE_NUMBER,
    Marks,
    Plan,
    Table,
    View,
    broken,
    is_number,
    notes_on,
    remaining,
    repeated,
    table,
    view,
)
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.text import COMMAND_LINE

MOST_ROWS = 16
FIRST_ROWS = 8
LONGEST_CELL = 16
COLUMNS = 80


def steps_as_text(plan: Plan, marks: Marks, terminal: Terminal, indent: str) -> Iterator[str]:
    """The lines of the steps; none for a script without steps on one node."""
    room = min(terminal.width, COLUMNS) - len(indent)
    note = notes_on(plan)
    if note is not None:
        yield from _wrapped(note, room, indent)
    if not plan["steps"]:
        return
    yield f"{indent}steps"
    steps = ((list(_step(step, plan, marks, terminal, room - 3)), step) for step in plan["steps"])
    found = list(repeated(steps, "\n".join))
    for number, (lines, more) in enumerate(found):
        before, after = ("└─ ", "   ") if number == len(found) - 1 else ("├─ ", "│  ")
        if more:
            lines = [*lines, *_wrapped(more, room - 3, "  ")]
        yield from (f"{indent}{after if at else before}{line}".rstrip() for at, line in enumerate(lines))


def _step(step: Plan, plan: Plan, marks: Marks, terminal: Terminal, room: int) -> Iterator[str]:
    found = view(step, plan, marks)
    title = f"{found.title}  {found.counts}"
    if width(title) > room:
        yield from _styled_title(found, terminal, room)
        yield from _wrapped(found.counts, room, "  ")
    else:
        yield terminal.style("bold", escape(found.title)) + f"  {found.counts}"
    for fact in found.facts:
        yield from _wrapped(fact, room, "  ")
    for sentence in found.stressed:
        yield from _marked(sentence, "bold", terminal, room)
    rows = table(step, MOST_ROWS)
    if rows is not None and rows.left:
        rows = table(step, FIRST_ROWS)
    if rows is not None and found.refused is None and _tells(rows):
        yield from (f"  {line}" for line in _table(rows, room - 2))
        if rows.left:
            yield f"  {remaining(step, rows.left)}"
        if rows.common:
            pairs = ", ".join(f"{name}={value}" for name, value in rows.common)
            yield from _wrapped(f"in every task: {pairs}", room, "  ")
    if found.refused is not None:
        yield from _marked(f"! {found.refused}", "error", terminal, room)
    for mark in found.marks:
        place, text = f"line {mark.line}: ", mark.text
        if plan["path"] == COMMAND_LINE:
            place, text = "", LINE_NUMBER.sub("the command", text)
        yield from _marked(f"! {place}{mark.code}: {text}", mark.severity, terminal, room)


def _tells(found: Table) -> bool:
    """Whether the table shows more than the counts: ranks, or the nodes of several tasks."""
    return "RANK" in found.columns or len(found.rows) > 1 and found.rows[0][0] != "?"


def _styled_title(found: View, terminal: Terminal, room: int) -> Iterator[str]:
    for line in _wrapped(found.title, room, ""):
        yield terminal.style("bold", line)


def _marked(text: str, severity: str, terminal: Terminal, room: int) -> Iterator[str]:
    for line in _wrapped(text, room, "  ", "    "):
        space = line[: len(line) - len(line.lstrip())]
        yield space + terminal.style(severity, line.lstrip())


def _wrapped(text: str, room: int, first: str, following: str | None = None) -> list[str]:
    more = f"{first}  " if following is None else following
    lines = wrap_words(broken(text, room - len(more)), room - len(more), room - len(first))
    return [(more if at else first) + line for at, line in enumerate(lines)]


def _table(found: Table, room: int) -> Iterator[str]:
    """The lines of the table; the prefix `SLURM_` is on a line above the names."""
    columns = list(range(len(found.columns)))
    heads = [head.removeprefix("SLURM_") if head in IDENTITIES else head for head in found.columns]
    cells = [[escape(_cut(cell)) for cell in row] for row in found.rows]

    def size(column: int) -> int:
        over = 6 if found.columns[column] in IDENTITIES else 0
        return max(over, width(heads[column]), *(width(row[column]) for row in cells))

    dropped = []
    while sum(size(column) + 2 for column in columns) - 2 > room and len(columns) > 6:
        dropped.append(found.columns[columns.pop()])
    aligned = {column: all(is_number(row[column]) for row in found.rows) for column in columns}

    def line(texts: list[str]) -> str:
        parts = []
        for column in columns:
            space = " " * (size(column) - width(texts[column]))
            parts.append(space + texts[column] if aligned[column] else texts[column] + space)
        return "  ".join(parts).rstrip()

    yield line(["SLURM_" if head in IDENTITIES else "" for head in found.columns])
    yield line(heads)
    yield from (line(row) for row in cells)
    if dropped:
        yield from _wrapped(f"not shown: {', '.join(reversed(dropped))}", room, "")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
