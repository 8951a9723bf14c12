"""The steps of a plan as a picture: nodes with their tasks, processes and GPUs, the ranks of each task, and marks.

The pictures are self-contained: no script, no font, no other file. Characters beyond ASCII are references.
"""

from sbatchlint.report.plan import NOTHING, STYLES, request_rows, verdicts
from sbatchlint.report.plan_nodes import GAP, MOST_TASKS, is_drawn, nodes_of
from sbatchlint.report.plan_pen import CHARACTER, LINE, STYLE, Drawn, Pen, fitting, lines, number, plain, written
from sbatchlint.report.plan_view import (
    LEGEND,
    RANKS,
    Marks,
    Plan,
    Table,
    View,
    drawn_table,
    heading,
    in_short,
    notes_on,
    plans,
    remaining,
    repeated,
    says_more,
    severity_of,
    view,
)
from sbatchlint.source.numbers import counted

WIDTH = 960
MARGIN = 20
LONGEST_CELL = 24
# The requests are in two columns, each with a label, a value and the lines that it comes from.
COLUMN, LABEL, WHERE = 448, 130, 90


def as_svg(plan: Plan, marks: Marks) -> str:
    """A picture of a script and those that it submits: the requests of each, and a band per step."""
    pen = Pen()
    pen.text(MARGIN, 32, plan["path"], "title")
    y = 42.0
    room = WIDTH - 2 * MARGIN
    legend = False
    for at, inner in enumerate(plans(plan)):
        if at:
            y += 14
            pen.text(MARGIN, y + 12, "submits", "strong")
            y += LINE
        for name, verdict, reason in verdicts(inner):
            text = ": ".join(part for part in (name, verdict, reason) if part)
            style = STYLES.get(verdict, "dim")
            y = pen.paragraph(MARGIN, y, ("! " if style == "error" else "") + text, room, style)
        y = _request(pen, y + 6, inner)
        note = notes_on(inner)
        if note is not None:
            y = pen.paragraph(MARGIN, y + 6, note, room, "error" if inner["steps"] else "strong")
        if not legend and is_drawn(inner):
            legend = True
            y = pen.paragraph(MARGIN, y + 6, LEGEND, room, "dim")
        bands = ((draw_step(step, inner, marks), step) for step in inner["steps"])
        for band, more in repeated(bands, lambda each: each.body):
            y += GAP
            pen.place(MARGIN, y, band)
            y += band.height
            if more:
                y = pen.paragraph(MARGIN, y + 4, more, room, "strong")
    count = sum(len(each["steps"]) for each in plans(plan))
    return svg(f"What {plan['path']} would do", _description(plan, marks, count), Drawn(pen.body(), y + MARGIN))


def _request(pen: Pen, y: float, plan: Plan) -> float:
    """Draws the table of the requests of a job; returns the y after it."""
    components = plan["request"]["components"]
    for index, component in enumerate(components):
        if len(components) > 1:
            pen.text(MARGIN, y + 13, f"component {index}", "strong")
            y += LINE
        rows = request_rows(component)
        if not rows:
            y = pen.paragraph(MARGIN, y, NOTHING, WIDTH - 2 * MARGIN, "dim")
        half = -(-len(rows) // 2)
        ends = [y]
        for column, part in enumerate((rows[:half], rows[half:])):
            x, below = MARGIN + column * (COLUMN + 24), y
            for label, value, where in part:
                pen.text(x, below + 13, fitting(label, LABEL - 6), "dim")
                pen.text(x + COLUMN - WHERE, below + 13, fitting(where, WHERE), "dim")
                for line in lines(value, COLUMN - LABEL - WHERE - 12):
                    pen.text(x + LABEL, below + 13, line)
                    below += LINE
            ends.append(below)
        y = max(ends) + 4
    return y


def svg(title: str, description: str, drawn: Drawn) -> str:
    """A complete SVG document, with styles and background."""
    height = number(drawn.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" role="img" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" aria-labelledby="plan-title plan-desc">\n'
        f'<title id="plan-title">{written(title)}</title>\n<desc id="plan-desc">{written(description)}</desc>\n'
        f'<style>\n{STYLE}</style>\n<rect class="page" width="{WIDTH}" height="{height}"/>\n'
    )
    return plain(f"{head}{drawn.body}</svg>\n")


def _description(plan: Plan, marks: Marks, count: int) -> str:
    parts = [counted(count, "step")]
    for inner in plans(plan):
        for step in inner["steps"]:
            found = view(step, inner, marks)
            parts.append(heading(found))
            parts.extend(f"{mark.code}: {mark.text}" for mark in found.marks)
    return ". ".join(parts)


# --- a step -----------------------------------------------------------------------------------------------


def draw_step(step: Plan, plan: Plan, marks: Marks) -> Drawn:
    """The band of a step."""
    found = view(step, plan, marks)
    width = WIDTH - 2 * MARGIN
    inner = width - 2 * 16
    pen = Pen()
    y = pen.paragraph(16, 10, heading(found), inner, "strong")
    for fact in found.facts:
        y = pen.paragraph(16, y, fact, inner, "")
    for sentence in found.stressed:
        y = pen.paragraph(16, y, sentence, inner, "strong")
    y = _marks(pen, found, y, inner)
    if found.refused is None:
        y = _nodes(pen, step, plan, y + 8, inner)
        ranks = _ranks(step, inner)
        pen.place(16, y, ranks)
        y += ranks.height
    height = y + 12
    band = Pen()
    band.box(0.5, 0.5, width - 1, height - 1, "band" if found.refused is None else "band refused", 8)
    severity = severity_of(found)
    if severity is not None:
        band.box(0, 0, 6, height, severity, 3)
    return Drawn(band.body() + pen.body(), height)


def _nodes(pen: Pen, step: Plan, plan: Plan, y: float, width: float) -> float:
    found = nodes_of(step, plan, width)
    for at in range(0, len(found.boxes), found.columns):
        row = found.boxes[at : at + found.columns]
        height = max(box.drawn.height for box in row)
        for place, box in enumerate(row):
            x = 16 + place * (box.width + GAP)
            pen.box(x + 0.5, y + 0.5, box.width - 1, height - 1, box.kind, 6)
            pen.place(x, y, box.drawn)
        y += height + GAP
    for note in found.notes:
        y = pen.paragraph(16, y - 4, note, width, "strong")
    return y


def _marks(pen: Pen, found: View, y: float, width: float) -> float:
    if found.refused is not None:
        y = pen.paragraph(16, y, f"! {found.refused}", width, "error")
    for mark in found.marks:
        y = pen.paragraph(16, y, f"! line {mark.line}: {mark.code}: {mark.text}", width, mark.severity)
    return y


# --- the ranks -------------------------------------------------------------------------------------------


def _ranks(step: Plan, width: float) -> Drawn:
    """A table of the rank variables of the tasks drawn, without those that the boxes show."""
    pen = Pen()
    found = drawn_table(step, MOST_TASKS)
    if found is None:
        return Drawn("", 0)
    y = 4.0
    if says_more(found, step):
        y = _table(pen, in_short(found), step, y, width)
    if found.common:
        text = ", ".join(f"{name}={value}" for name, value in found.common)
        y = pen.paragraph(0, y, f"in every task: {text}", width, "dim")
    return Drawn(pen.body(), y)


def _table(pen: Pen, found: Table, step: Plan, y: float, width: float) -> float:
    sizes = [
        min(max(len(head), *(len(row[at]) for row in found.rows)), LONGEST_CELL) * CHARACTER + GAP
        for at, head in enumerate(found.columns)
    ]
    while sum(sizes) > width and len(sizes) > len(RANKS) + 1:
        sizes.pop()
    for row_number, row in enumerate([found.columns, *found.rows]):
        x = 0.0
        for size, cell in zip(sizes, row, strict=False):
            pen.text(x, y + 13, fitting(cell, size - GAP + 1), "" if row_number else "dim")
            x += size
        y += LINE
        if not row_number:
            pen.rule(0, y, sum(sizes) - GAP)
            y += 2
    if found.left > 0:
        y = pen.paragraph(0, y, remaining(step, found.left), width, "")
    return y
