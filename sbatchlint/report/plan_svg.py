"""The steps of a plan as a picture: nodes with their tasks, processes and GPUs, the ranks of each task, and marks.

The pictures stand alone: no script, no font, no file beside them. All characters beyond ASCII are references.
"""

from collections.abc import Iterator
from typing import Any

from sbatchlint.report.plan import verdicts
from sbatchlint.report.plan_pen import CHARACTER, LINE, STYLE, Drawn, Pen, fitting, number, plain, written
from sbatchlint.report.plan_view import (
    IDENTITIES,
    LEGEND,
    Marks,
    Plan,
    View,
    counted,
    gpus_seen,
    heading,
    left_over,
    nodes_of_job,
    plans,
    repeated,
    said_of,
    table,
    view,
)

WIDTH = 960
MARGIN = 20
GAP = 12
LONGEST_CELL = 24
MOST_NODES, MOST_TASKS, MOST_PROCESSES, MOST_GPUS = 8, 16, 16, 16


def as_svg(plan: Plan, marks: Marks) -> str:
    """One picture of a script and of those that it submits: a band for each step."""
    pen = Pen()
    pen.text(MARGIN, 32, plan["path"], "title")
    y = pen.paragraph(MARGIN, 40, LEGEND, WIDTH - 2 * MARGIN, "dim")
    for at, each in enumerate(plans(plan)):
        if at:
            y += 14
            pen.text(MARGIN, y + 12, "submits", "strong")
            y += LINE
        for name, verdict, said in verdicts(each):
            text = ": ".join(part for part in (name, verdict, said) if part)
            style = {"refused": "error", "not known": "warning"}.get(verdict, "dim")
            y = pen.paragraph(MARGIN, y, ("! " if style == "error" else "") + text, WIDTH - 2 * MARGIN, style)
        said_here = said_of(each)
        if said_here is not None:
            y = pen.paragraph(MARGIN, y, said_here, WIDTH - 2 * MARGIN, "")
        for band, more in repeated(draw_step(step, each, marks) for step in each["steps"]):
            y += GAP
            pen.place(MARGIN, y, band)
            y += band.height
            if more:
                y = pen.paragraph(MARGIN, y + 4, f"… and {counted(more, 'more step')} like this", 400, "strong")
    count = sum(len(each["steps"]) for each in plans(plan))
    return svg("plan", f"What {plan['path']} would do", _told(plan, marks, count), Drawn(pen.body(), y + MARGIN), True)


def step_svgs(plan: Plan, marks: Marks, name: str) -> Iterator[tuple[str, int]]:
    """The picture of each step, to stand in a page that has `STYLE`, and how many more like it follow.

    `name`: for the ids in it, unique in the page.
    """
    # the words of a step say nothing that its picture does not show
    drawn = [(draw_step(step, plan, marks), _words(step, plan, marks)) for step in plan["steps"]]
    for at, ((band, (title, told)), more) in enumerate(repeated(drawn)):
        yield svg(f"{name}-{at}", title, told, band, False, WIDTH - 2 * MARGIN), more


def _words(step: Plan, plan: Plan, marks: Marks) -> tuple[str, str]:
    found = view(step, plan, marks)
    refused = [] if found.refused is None else [f"srun refuses this: {found.refused}"]
    return heading(found), ". ".join([*found.facts, *refused, *(f"{mark.code}: {mark.text}" for mark in found.marks)])


def svg(name: str, title: str, told: str, drawn: Drawn, alone: bool, width: int = WIDTH) -> str:
    """A whole picture; one that stands alone has its own styles and its own ground."""
    height = number(drawn.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{written(title)}</title>\n<desc id="{name}-desc">{written(told)}</desc>\n'
    )
    if alone:
        head += f'<style>\n{STYLE}</style>\n<rect class="page" width="{width}" height="{height}"/>\n'
    return plain(f"{head}{drawn.body}</svg>\n")


def _told(plan: Plan, marks: Marks, count: int) -> str:
    parts = [counted(count, "step")]
    for each in plans(plan):
        for step in each["steps"]:
            found = view(step, each, marks)
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
    y = _marks(pen, found, y, inner)
    if found.refused is None:
        nodes = _nodes(step, plan, inner)
        pen.place(16, y + 8, nodes)
        ranks = _ranks(step, inner)
        pen.place(16, y + 8 + nodes.height, ranks)
        y += 8 + nodes.height + ranks.height
    height = y + 12
    band = Pen()
    band.box(0.5, 0.5, width - 1, height - 1, "band", 8)
    severities = [mark.severity for mark in found.marks]
    if found.refused is not None or severities:
        error = found.refused is not None or "error" in severities
        band.box(0, 0, 6, height, "error" if error else "warning", 3)
    return Drawn(band.body() + pen.body(), height)


def _marks(pen: Pen, found: View, y: float, width: float) -> float:
    if found.refused is not None:
        y = pen.paragraph(16, y, f"! srun refuses this: {found.refused}", width, "error")
    for mark in found.marks:
        y = pen.paragraph(16, y, f"! line {mark.line}: {mark.code}: {mark.text}", width, mark.severity)
    return y


# --- nodes ------------------------------------------------------------------------------------------------

Task = dict[str, Any]


def _tasks(step: Plan) -> list[Task]:
    """The tasks that can be drawn. Those of which nothing but their number is known have no rank."""
    if step.get("by_task"):
        return list(step["by_task"])
    nodes, each, total = step["nodes"], step["tasks_per_node"], step["processes"]
    if step["tasks"] is None:
        return []
    share: list[dict[str, str]] | None = None if total is None else [{}] * (total // (step["tasks"] or 1))
    name = "batch shell" if step["command"] is None else "task ?"
    places: list[int | None] = [None] * min(step["tasks"], MOST_TASKS)
    if nodes is not None and isinstance(each, int):
        places = [node for node in range(min(nodes, MOST_NODES)) for _ in range(min(each, MOST_TASKS))]
    return [{"name": name, "node": node, "variables": {}, "processes": share} for node in places]


def _nodes(step: Plan, plan: Plan, width: float) -> Drawn:
    tasks = _tasks(step)
    shown = tasks[:MOST_TASKS]
    nodes = step["nodes"]
    gpus = step["gpus_on_node"]
    boxes: list[tuple[str, Drawn]] = []
    notes: list[str] = []
    columns = 1
    if nodes is None or not tasks or any(task["node"] is None for task in shown):
        said = "nodes: ?" if nodes is None else f"{counted(nodes, 'node')}; which task runs where: ?"
        boxes.append(("unknown", _node(said, shown, width, None)))
        drawn, left_nodes = range(0), 0
    else:
        drawn = _drawn_nodes(step, tasks)
        shown = [task for task in tasks if task["node"] in drawn][:MOST_TASKS]
        unused = range(nodes, min(nodes_of_job(plan) or nodes, MOST_NODES)) if nodes == len(drawn) else range(0)
        columns = min(len(drawn) + len(unused), 4 if all(_share(task) <= 4 for task in shown) else 2)
        room = (width - GAP * (columns - 1)) / columns
        for number in drawn:
            own = [task for task in shown if task["node"] == number]
            boxes.append(("node", _node(f"node {number}", own, room, gpus)))
        boxes.extend(("unused", _node("not used by this step", [], room, None)) for _ in unused)
        left_nodes = nodes - len(drawn)
    left = (step["tasks"] or len(tasks)) - len(shown)
    if left_nodes and sum(task["node"] in drawn for task in tasks) == len(shown):
        notes.append(f"{left_over(step, left_nodes, 'node')} ({counted(left, 'task')})")
    elif left > 0:
        notes.append(left_over(step, left))
    pen = Pen()
    y = 0.0
    room = (width - GAP * (columns - 1)) / columns
    for at in range(0, len(boxes), columns):
        row = boxes[at : at + columns]
        height = max(box.height for _, box in row)
        for place, (kind, box) in enumerate(row):
            pen.box(place * (room + GAP) + 0.5, y + 0.5, room - 1, height - 1, kind, 6)
            pen.place(place * (room + GAP), y, box)
        y += height + GAP
    for note in notes:
        y = pen.paragraph(0, y - 4, note, width, "strong")
    return Drawn(pen.body(), y)


def _drawn_nodes(step: Plan, tasks: list[Task]) -> range:
    """The first nodes, as many as have room with all of their tasks, and the first one in any case."""
    counts = [sum(task["node"] == number for task in tasks) for number in range(min(step["nodes"], MOST_NODES))]
    last = 1
    while last < len(counts) and counts[last] > 0 and sum(counts[: last + 1]) <= MOST_TASKS:
        last += 1
    return range(last)


def _share(task: Task) -> int:
    return len(task["processes"] or ())


def _node(name: str, tasks: list[Task], width: float, gpus: int | None) -> Drawn:
    """The inside of a node's box: its name, its tasks in rows, its GPUs."""
    pen = Pen()
    pen.text(10, 19, fitting(name, width - 20), "strong")
    x, y, tallest = 10.0, 28.0, 0.0
    for task in tasks:
        size, drawn = _task(task, width - 20, gpus)
        if x > 10 and x + size > width - 10:
            x, y, tallest = 10.0, y + tallest + 8, 0.0
        pen.box(x + 0.5, y + 0.5, size - 1, drawn.height - 1, "task")
        pen.place(x, y, drawn)
        x += size + 8
        tallest = max(tallest, drawn.height)
    y += tallest + (8 if tasks else 0)
    if gpus:
        pen.text(10, y + 16, "GPUs", "dim")
        x = 48.0
        for number in range(min(gpus, MOST_GPUS)):
            if x + 22 > width - 10:
                x, y = 48.0, y + 24
            pen.box(x + 0.5, y + 2.5, 21, 19, "gpu", 9)
            pen.text(x + 11, y + 16, str(number), "middle")
            x += 26
        if gpus > MOST_GPUS:
            pen.text(x, y + 16, f"+{gpus - MOST_GPUS}", "dim")
        y += 30
    return Drawn(pen.body(), y + 2)


def _task(task: Task, most: float, gpus: int | None) -> tuple[float, Drawn]:
    """The width and the inside of a task's box: a small box for each process, with its RANK.

    Its GPUs are named where it sees another part of them than all `gpus` of its node.
    """
    pen = Pen()
    name = task.get("name") or f"task {task['task']}"
    seen = task.get("gpus")
    if seen and gpus is not None and len(seen) != gpus:
        name += f": GPU{'s' if len(seen) > 1 else ''} {gpus_seen(task)}"
    pen.text(7, 16, name)
    processes: list[dict[str, str]] | None = task["processes"]
    if processes is None:
        said = "processes: ?"
        pen.text(7, 36, said, "dim")
        return min(len(said) * CHARACTER + 14, most), Drawn(pen.body(), 46)
    own = "" if len(processes) > 1 else task["variables"].get("RANK", "")
    labels = [each.get("RANK", "?" if each else own) for each in processes[:MOST_PROCESSES]]
    size = max([24.0, *(len(label) * CHARACTER + 8 for label in labels)])
    across = max(1, min(len(labels), 8, int((most - 10) // (size + 4))))
    for at, label in enumerate(labels):
        x, y = 7 + at % across * (size + 4), 24 + at // across * 24
        pen.box(x + 0.5, y + 0.5, size - 1, 19, "process", 3)
        if label:
            pen.text(x + size / 2, y + 14, label, "middle")
    rows = -(-len(labels) // across)
    width = max(len(name) * CHARACTER + 14, 10 + across * (size + 4))
    if len(processes) > len(labels):
        pen.text(7, 24 + rows * 24 + 12, f"+{len(processes) - len(labels)}", "dim")
        rows += 1
    if not processes:
        pen.text(7, 36, "idle", "dim")
        rows = 1
    return min(width, most), Drawn(pen.body(), 26 + rows * 24)


# --- the legend -------------------------------------------------------------------------------------------


def _ranks(step: Plan, width: float) -> Drawn:
    """The rank variables of each task that is drawn."""
    pen = Pen()
    found = table(step, MOST_TASKS)
    if found is None or all(row[0] == "?" for row in found.rows) and "RANK" not in found.columns:
        return Drawn("", 0)
    sizes = [
        min(max(len(head), *(len(row[at]) for row in found.rows)), LONGEST_CELL) * CHARACTER + GAP
        for at, head in enumerate(found.columns)
    ]
    while sum(sizes) > width and len(sizes) > len(IDENTITIES) + 3:
        sizes.pop()
    y = 4.0
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
        y = pen.paragraph(0, y, left_over(step, found.left), width, "")
    if found.common:
        text = ", ".join(f"{name}={value}" for name, value in found.common)
        y = pen.paragraph(0, y, f"in every task: {text}", width, "")
    return Drawn(pen.body(), y)
