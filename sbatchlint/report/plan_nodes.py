"""The nodes of a step as boxes with their tasks, which contain their processes, and with their GPUs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sbatchlint.report.plan_pen import CHARACTER, Drawn, Pen, fitting
from sbatchlint.report.plan_view import (
    Plan,
    gpu_users,
    gpus_seen,
    nodes_of_job,
    remaining,
    shared_ranks,
    value_of,
)
from sbatchlint.source.numbers import counted

GAP = 12
MOST_NODES, MOST_TASKS, MOST_PROCESSES, MOST_GPUS = 8, 16, 16, 16
MOST_BARS = 8
# The width of a node, of which four or two are side by side; a node with much in it has the larger one.
SMALL, LARGE = 213, 438
SMALL_SHARE, SMALL_GPUS, SMALL_TASKS = 4, 6, 8

Task = dict[str, Any]


class Node(NamedTuple):
    """A box of the class `kind`."""

    kind: str
    drawn: Drawn
    width: float


class Nodes(NamedTuple):
    """The boxes of a step in rows of `columns`; `notes`: what is not drawn."""

    boxes: list[Node]
    columns: int
    notes: list[str]


def is_drawn(plan: Plan) -> bool:
    """Whether the nodes of any step of a plan are drawn, which they are not if nothing is known of them."""
    return any(
        "refused" not in step and "refused" not in (step["launcher"] or {}) and _tasks(step) is not None
        for step in plan["steps"]
    )


def nodes_of(step: Plan, plan: Plan, room: float | None) -> Nodes:
    """The nodes of a step; `room`: the width in pixels, None for the width that each needs.

    There is no box if neither the nodes of the tasks nor their ranks are known.
    """
    nodes, gpus = step["nodes"], step["gpus_on_node"]
    tasks = _tasks(step)
    if tasks is None:
        return Nodes([], 1, [])
    shared = shared_ranks(step)
    twice = frozenset[str]() if shared is None else shared.ranks
    shown = tasks[:MOST_TASKS]
    if any(task["node"] is None for task in shown):
        width = room or LARGE
        box = Node("unknown", _node("which task runs on which node: ?", shown, width, None, twice), width)
        left = (step["tasks"] or len(tasks)) - len(shown)
        return Nodes([box], 1, [remaining(step, left)] if left > 0 else [])
    drawn = _drawn_nodes(step, tasks)
    shown = [task for task in tasks if task["node"] in drawn][:MOST_TASKS]
    unused = max((nodes_of_job(plan) or nodes) - nodes, 0)
    count = len(drawn) + (1 if unused else 0)
    small = (gpus or 0) <= SMALL_GPUS and all(len(task["processes"] or ()) <= SMALL_SHARE for task in shown)
    unit = SMALL if small else LARGE
    columns = 1 if room is None else max(min(count, int((room + GAP) // (unit + GAP))), 1)
    width = unit if room is None else (room - GAP * (columns - 1)) / columns
    if count == 1 and small and len(shown) <= SMALL_TASKS:
        width = min(width, LARGE)
    boxes = []
    for number in drawn:
        own = [task for task in shown if task["node"] == number]
        all_of_node = [task for task in tasks if task["node"] == number]
        users = gpu_users(all_of_node, gpus) if gpus and step.get("by_task") else None
        name = f"node {number} of the step" if unused else f"node {number}"
        boxes.append(Node("node", _node(name, own, width, gpus, twice, users), width))
    if unused:
        name = f"{counted(unused, 'node')} not used"
        boxes.append(Node("unused", _node(name, [], width, None, twice), width))
    left, left_nodes = (step["tasks"] or len(tasks)) - len(shown), nodes - len(drawn)
    if left_nodes and sum(task["node"] in drawn for task in tasks) == len(shown):
        return Nodes(boxes, columns, [f"{remaining(step, left_nodes, 'node')} ({counted(left, 'task')})"])
    return Nodes(boxes, columns, [remaining(step, left)] if left > 0 else [])


def _tasks(step: Plan) -> list[Task] | None:
    """The tasks that can be drawn, without ranks if only their number is known.

    None if neither their nodes nor their ranks are known.
    """
    if step.get("by_task"):
        tasks = list(step["by_task"])
        ranked = any(
            value_of(task, process, "RANK") for task in tasks[:MOST_TASKS] for process in task["processes"] or ()
        )
        return tasks if ranked or all(task["node"] is not None for task in tasks[:MOST_TASKS]) else None
    nodes, per_node, total = step["nodes"], step["tasks_per_node"], step["processes"]
    if step["tasks"] is None or nodes is None or not isinstance(per_node, int):
        return None
    share: list[dict[str, str]] | None = None if total is None else [{}] * (total // (step["tasks"] or 1))
    name = "batch shell" if step["command"] is None else "task ?"
    places = [node for node in range(min(nodes, MOST_NODES)) for _ in range(min(per_node, MOST_TASKS))]
    return [{"name": name, "node": node, "variables": {}, "processes": share} for node in places]


def _drawn_nodes(step: Plan, tasks: list[Task]) -> range:
    """The first nodes, as many as fit with all of their tasks, but at least one."""
    counts = [sum(task["node"] == number for task in tasks) for number in range(min(step["nodes"], MOST_NODES))]
    last = 1
    while last < len(counts) and counts[last] > 0 and sum(counts[: last + 1]) <= MOST_TASKS:
        last += 1
    return range(last)


def _node(
    name: str,
    tasks: Sequence[Task],
    width: float,
    gpus: int | None,
    twice: frozenset[str],
    users: Mapping[int, int] | None = None,
) -> Drawn:
    """The content of a node's box: its name, its tasks in rows, its GPUs, and how many processes use each."""
    pen = Pen()
    pen.text(10, 19, fitting(name, width - 20), "strong")
    x, y, tallest = 10.0, 28.0, 0.0
    for task in tasks:
        size, drawn = _task(task, width - 20, gpus, twice)
        if x > 10 and x + size > width - 10:
            x, y, tallest = 10.0, y + tallest + 8, 0.0
        pen.box(x + 0.5, y + 0.5, size - 1, drawn.height - 1, "task")
        pen.place(x, y, drawn)
        x += size + 8
        tallest = max(tallest, drawn.height)
    y += tallest + (8 if tasks else 0)
    if gpus:
        y = _gpus(pen, y, width, gpus, users)
    return Drawn(pen.body(), y + 2)


def _gpus(pen: Pen, y: float, width: float, gpus: int, users: Mapping[int, int] | None) -> float:
    """Draws the GPUs with a bar per process below them, or the number of processes if they are too many."""
    pen.text(10, y + 16, "GPUs", "dim")
    most = max(users.values(), default=0) if users else 0
    bars, more = min(most, MOST_BARS), most > MOST_BARS
    height = 24 + bars * 4 + (14 if more else 0)
    x = 48.0
    for number in range(min(gpus, MOST_GPUS)):
        if x + 22 > width - 10:
            x, y = 48.0, y + height + 2
        used = users.get(number, 0) if users else 0
        pen.box(x + 0.5, y + 2.5, 21, 19, "gpu twice" if used > 1 else "gpu", 9)
        pen.text(x + 11, y + 16, str(number), "middle")
        for at in range(min(used, MOST_BARS)):
            pen.box(x + 1, y + 24 + at * 4, 20, 2, "bar twice" if used > 1 else "bar", 1)
        if used > MOST_BARS:
            pen.text(x + 11, y + height - 2, str(used), "middle")
        x += 26
    if gpus > MOST_GPUS:
        pen.text(x, y + 16, f"+{gpus - MOST_GPUS}", "dim")
    return y + height + 6


def _task(task: Task, most: float, gpus: int | None, twice: frozenset[str]) -> tuple[float, Drawn]:
    """The width and the content of a task's box: a small box per process, with its RANK.

    A single process without a known RANK has no box. The GPUs of the task are named if it does not see all `gpus` of
    its node.
    """
    name = task.get("name") or f"task {task['task']}"
    seen = task.get("gpus")
    if seen and gpus is not None and len(seen) != gpus:
        name += f": GPU{'s' if len(seen) > 1 else ''} {gpus_seen(task)}"
    processes: list[dict[str, str]] | None = task["processes"]
    ranks = [value_of(task, each, "RANK") for each in processes or ()]
    note = ""
    if processes is None:
        note = "processes: ?"
    elif not processes:
        note = "idle"
    elif len(processes) > 1 and not any(ranks):
        note = f"{counted(len(processes), 'process')}, RANK ?"
    labels = [] if len(ranks) == 1 and not ranks[0] else [rank or ("?" if any(ranks) else "") for rank in ranks]
    shown = labels[:MOST_PROCESSES]
    size = max([20.0 if any(ranks) else 14.0, *(len(label) * CHARACTER + 5 for label in shown)])
    tall = 20 if any(ranks) else 10
    across = max(1, min(len(shown), 8, int((most - 11) // (size + 3))))
    width = max(len(name), len(note)) * CHARACTER + 14
    if shown:
        width = max(width, 11 + across * (size + 3))
    width = min(width, most)
    pen = Pen()
    pen.text(7, 16, fitting(name, width - 12), "")
    y = 24.0
    if note:
        pen.text(7, y + 11, fitting(note, width - 12), "dim")
        y += 18
    for at, label in enumerate(shown):
        x, top = 7 + at % across * (size + 3), y + at // across * (tall + 4)
        pen.box(x + 0.5, top + 0.5, size - 1, tall - 1, "process twice" if label in twice else "process", 3)
        if label:
            pen.text(x + size / 2, top + 14, label, "middle")
    y += -(-len(shown) // across) * (tall + 4)
    if len(labels) > len(shown):
        pen.text(7, y + 11, f"+{len(labels) - len(shown)}", "dim")
        y += 18
    return width, Drawn(pen.body(), y + 2)
