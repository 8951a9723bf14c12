"""The steps of a plan in the form that all drawings share: sentences, the ranks of the tasks, marks."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from sbatchlint.report.cells import escape
from sbatchlint.source.numbers import at_lines, counted, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import COMMAND_LINE

Plan = Mapping[str, Any]
Drawing = TypeVar("Drawing")
# The file, None for the script itself, and the line at which a step begins.
Place = tuple[str | None, int]

LEGEND = (
    "a box for each node, in it one for each task, in it one for each process with its RANK, where it is known; "
    "below a GPU a bar for each process that takes it by LOCAL_RANK; amber: a RANK or a GPU that several processes have"
)
LINE_NUMBER = Regex(r"\bline \d+")
IDENTITIES = ("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID")
RANKS = ("RANK", "LOCAL_RANK")
SIZE = "? (depends on the size of the nodes)"
OUTSIDE = "? (depends on what is not in the script)"
COMPONENTS = "? (depends on the components of the job)"


class Mark(NamedTuple):
    """A finding on a step; `line`: that of the finding."""

    code: str
    severity: str
    line: int
    text: str


Marks = Mapping[Place, Sequence[Mark]]


class Table(NamedTuple):
    """The ranks of the first tasks. `common`: values equal in all of them; `left`: how many tasks are not shown."""

    columns: list[str]
    rows: list[list[str]]
    common: list[tuple[str, str]]
    left: int


class View(NamedTuple):
    """A step in words. `facts`: sentences, the most important first; `stressed`: those on shared ranks and GPUs.

    `refused`: who refuses to start it, and why; None if nobody does.
    """

    title: str
    counts: str
    facts: list[str]
    stressed: list[str]
    refused: str | None
    marks: Sequence[Mark]


def view(step: Plan, plan: Plan, marks: Marks) -> View:
    place = (step.get("path"), step["line"])
    name = step["command"] or "batch shell"
    if "component" in step:
        name += f", component {step['component']['number']} of {step['component']['of']}"
    where = f"line {step['line']}" + (f" of {place[0]}" if place[0] else "")
    if plan["path"] == COMMAND_LINE:
        where = "the command"
    flow = [word for word in ("background", "conditional", "repeated") if step.get(word)]
    title = f"{where}  {name}" + (f"  [{', '.join(flow)}]" if flow else "")
    found, refused = marks.get(place, ()), None
    if "refused" in step:
        refused = f"{step['command']} refuses this: {step['refused']}"
        return View(title, "starts nothing", [f"program: {step['program'] or OUTSIDE}"], [], refused, found)
    launcher, copies = step["launcher"] or {}, shared_ranks(step)
    stressed = [sentence for sentence in (copies and copies.text, _crowded(step)) if sentence]
    if "refused" in launcher:
        stressed, refused = [], f"{launcher['kind']} refuses this: {launcher['refused']}"
    return View(title, _counts(step, plan), list(_facts(step, plan)), stressed, refused, found)


def severity_of(found: View) -> str | None:
    """The colour of a step: `error` if something in it fails, `warning` for other marks; None without any."""
    severities = {mark.severity for mark in found.marks}
    if found.refused is not None or "error" in severities:
        return "error"
    return "warning" if severities else None


def heading(found: View) -> str:
    """The title with the counts, for media that collapse whitespace."""
    return found.title.replace("  ", ": ", 1).replace("  ", " ") + f", {found.counts}"


def repeated(drawn: Iterable[tuple[Drawing, Plan]], key: Callable[[Drawing], str]) -> Iterator[tuple[Drawing, str]]:
    """Each drawing of a step, and a sentence on those that follow it and differ in their lines only; '' for none.

    `drawn`: with the steps; `key`: what a drawing shows, as one text.
    """
    for _, group in groupby(drawn, lambda each: LINE_NUMBER.sub("", key(each[0]))):
        (drawing, step), *more = group
        rows = dict.fromkeys(other["line"] for _, other in more if other["line"] != step["line"])
        places = f" ({at_lines(rows)})" if rows else ""
        yield drawing, f"… and {counted(len(more), 'more step')} like this{places}" if more else ""


def broken(text: str, most: int) -> str:
    """The escaped text, with spaces in words that are longer than a line."""
    return " ".join(
        word[at : at + most] for word in escape(text).split(" ") for at in range(0, max(len(word), 1), most)
    )


def first_clause(message: str) -> str:
    """The first part of a message, which says what will happen, without advice and details."""
    quoted = False
    for at, character in enumerate(message):
        if character == "`":
            quoted = not quoted
        elif not quoted and character in ";:" and message[at + 1 : at + 2] in (" ", ""):
            return message[:at]
    return message


def nodes_of_job(plan: Plan) -> int | None:
    components = plan["request"]["components"]
    nodes = components[0]["nodes"] if len(components) == 1 else None
    return nodes["min"] if nodes is not None and nodes["min"] == nodes["max"] else None


# --- sentences -----------------------------------------------------------------------------------------


def _counts(step: Plan, plan: Plan) -> str:
    nodes, tasks, per_node = step["nodes"], step["tasks"], step["tasks_per_node"]
    if nodes is None and tasks is None:
        return f"nodes and tasks: {_unknown(plan)}"
    if tasks is None:
        return f"{counted(nodes, 'node')}, tasks: {_unknown(plan)}"
    if nodes is None:
        return f"{counted(tasks, 'task')}, nodes: {_unknown_nodes(step, plan)}"
    if per_node is None:
        return f"{counted(nodes, 'node')}, {counted(tasks, 'task')}; on each node {SIZE}"
    if isinstance(per_node, list):
        return f"{counted(nodes, 'node')} with {', '.join(map(str, per_node))} tasks"
    total = f" = {tasks}" if nodes > 1 and per_node > 1 else ""
    return f"{counted(nodes, 'node')} × {counted(per_node, 'task')}{total}"


def _unknown(plan: Plan) -> str:
    return COMPONENTS if len(plan["request"]["components"]) > 1 else OUTSIDE


def _unknown_nodes(step: Plan, plan: Plan) -> str:
    if step["command"] not in ("srun", None):
        return f"? (depends on how {step['command']} spreads them)"
    components = plan["request"]["components"]
    if len(components) == 1 and "nodes" not in components[0]["options"]:
        return SIZE
    if len(components) == 1 and components[0]["nodes"] and nodes_of_job(plan) is None:
        return "? (depends on what is free)"
    return _unknown(plan)


def _facts(step: Plan, plan: Plan) -> Iterator[str]:
    launcher, total = step["launcher"], step["processes"]
    program = step["program"] or OUTSIDE
    if launcher is not None:
        yield _launched(step, launcher, total)
        geometry = [] if "refused" in launcher else list(_geometry(launcher))
        if geometry:
            yield "; ".join(geometry)
    elif total is None:
        yield f"processes: {_unknown(plan) if step['tasks'] is None else '? (depends on what each task runs)'}"
    elif total != step["tasks"]:
        yield f"{counted(total, 'process')} in all"
    yield f"program: {program}"
    if step["container"] is not None:
        image = step["container"]["image"]
        yield f"container: {image or OUTSIDE} ({step['container']['kind']})"
    if "environment" in step:
        names = ", ".join(step["environment"]["names"])
        yield f"its tasks have only SLURM variables{names and f' and {names}'}: {step['environment']['by']}"
    job_nodes = nodes_of_job(plan)
    if job_nodes is not None and step["nodes"] is not None and step["nodes"] < job_nodes:
        yield f"on {step['nodes']} of the job's {job_nodes} nodes"
    seen, there = step["gpus_per_task"], step["gpus_on_node"]
    if seen:
        is_part = there is not None and seen < there
        yield f"each task sees {f'{seen} of the {there} GPUs of its node' if is_part else counted(seen, 'GPU')}"
    elif seen is None and asks_for_gpus(plan):
        yield "GPUs that a task sees: ? (depends on how Slurm binds them)"


def _launched(step: Plan, launcher: Plan, total: int | None) -> str:
    per_task = launcher["processes_per_task"]
    name = launcher["kind"]
    if launcher["line"] != step["line"]:
        name += f" (line {launcher['line']})"
    if "refused" in launcher:
        return f"{name} starts nothing"
    if launcher["kind"] == "ray":
        return f"{name} starts {'the head' if '--head' in launcher['argv'] else 'a worker'} of a cluster in each task"
    if per_task is None and total is not None and step["tasks"] and total % step["tasks"] == 0:
        per_task = total // step["tasks"]  # it counts the GPUs
    if per_task is not None and step["tasks"] == 1:
        return f"{name} starts {counted(per_task, 'process')}"
    number = "? processes" if per_task is None else counted(per_task, "process")
    why = " (depends on what it finds there)" if per_task is None else ""
    return f"{name} starts {number} in each task{why}{'' if total is None else f', {total} in all'}"


def _geometry(launcher: Plan) -> Iterator[str]:
    if launcher["nnodes"] is not None:
        yield f"it expects {counted(launcher['nnodes'], 'node')}"
    if launcher["node_rank"] is not None:
        yield f"node rank: {_origin(launcher['node_rank'])}"
    rendezvous = launcher["rendezvous"]
    if rendezvous is not None and rendezvous["address"] is not None:
        yield f"rendezvous: {rendezvous['backend']} at {_origin(rendezvous['address'])}"
    if launcher.get("restarts"):
        yield f"restarts: {launcher['restarts']} at most, of all its workers"


_PHASES = {"submit": "where sbatch is called", "batch": "the batch shell", "task": "each task"}


def _origin(value: str | int) -> str:
    phase, separator, name = str(value).partition(":")
    return f"{name} of {_PHASES[phase]}" if separator and phase in _PHASES else str(value)


def asks_for_gpus(plan: Plan) -> bool:
    """Whether the job requests GPUs; False for a heterogeneous job, for whose steps it is unknown."""
    components = plan["request"]["components"]
    return len(components) == 1 and bool(components[0]["gpus"])


# --- what processes share ---------------------------------------------------------------------------------


class SharedRanks(NamedTuple):
    """The values of RANK shared by several processes of a step."""

    ranks: frozenset[str]
    text: str


def value_of(task: Plan, process: Mapping[str, str], name: str) -> str | None:
    """A rank variable of a process: that of its launcher, or of its task without a launcher; None if unknown."""
    if process:
        return process.get(name)
    found: str | None = task["variables"].get(name) if len(task["processes"]) == 1 else None
    return found


def shared_ranks(step: Plan) -> SharedRanks | None:
    """The shared ranks of a step; None if each RANK is unique or unknown, or the tasks run different programs."""
    tasks = step.get("by_task") or ()
    if len({str(task["argv"] and task["argv"][:1]) for task in tasks}) > 1:
        return None
    pairs = [(task, process) for task in tasks for process in task["processes"] or ()]
    counts = Counter(rank for each in pairs if (rank := value_of(*each, "RANK")))
    most = max(counts.values(), default=0)
    if most < 2:
        return None
    ranks = [rank for rank, count in counts.items() if count > 1]
    times = f"{'at least ' if step['tasks'] != len(tasks) else ''}{most} times"
    worlds = {value_of(*each, "WORLD_SIZE") for each in pairs}
    size = worlds.pop() if len(worlds) == 1 else None
    sentence = f"RANK {ranges(ranks)} is given {times}"
    total = step["processes"]
    if size is not None and is_count(size) and total is not None:
        number = parse_integer(size)
        if number == len(counts) and number < total and total % number == 0:
            sentence += f": {total // number} worlds of {counted(number, 'process')}, not one of {total}"
        else:
            sentence += f", in a world of {counted(number, 'process')}"
    return SharedRanks(frozenset(ranks), sentence)


def gpu_users(tasks: Iterable[Plan], gpus: int) -> Counter[int] | None:
    """The number of processes by GPU of one node, for the GPUs in use; None if that is unknown for a process.

    A process uses the GPU with its LOCAL_RANK, or the only one that it sees.
    """
    users: Counter[int] = Counter()
    for task in tasks:
        seen, processes = task.get("gpus"), task["processes"]
        if not seen or processes is None:
            return None
        for process in processes:
            local = value_of(task, process, "LOCAL_RANK")
            if local is None and len(seen) == len(processes) == 1:
                local = "0"
            at = parse_integer(local) if local is not None and is_count(local) else len(seen)
            if at >= len(seen) or seen[at] >= gpus:
                return None
            users[seen[at]] += 1
    return users


def _crowded(step: Plan) -> str | None:
    tasks, gpus = step.get("by_task"), step["gpus_on_node"]
    if not tasks or not gpus or tasks[0]["node"] is None:
        return None
    first = [task for task in tasks if task["node"] == tasks[0]["node"]]
    users = gpu_users(first, gpus)
    if users is None or max(users.values(), default=0) < 2:
        return None
    node = "the node" if step["nodes"] == 1 else "a node"
    sentence = f"{users.total()} processes for the {counted(gpus, 'GPU')} of {node}: "
    unused, most = gpus - len(users), max(users.values())
    if not unused and min(users.values()) == most:
        return sentence + f"{most} on each"
    return sentence + f"{most} on one" + (f", {unused} unused" if unused else "")


# --- ranks ------------------------------------------------------------------------------------------------


def table(step: Plan, most: int) -> Table | None:
    """The tasks of a step as rows, at most `most`; None if nothing is known of them."""
    tasks = step.get("by_task")
    if not tasks:
        return None
    shown = tasks[:most]
    values = [_values(task) for task in shown]
    names: dict[str, None] = dict.fromkeys(IDENTITIES)
    if any(each.get("RANK") or each.get("LOCAL_RANK") for each in values):
        names |= dict.fromkeys(RANKS)
    others = [name for each in values for name in each if name not in names]
    common: list[tuple[str, str]] = []
    for name in dict.fromkeys(others):
        seen = {each.get(name) for each in values}
        only = seen.pop()
        if not seen and only is not None:
            common.append((name, only))
        else:
            names[name] = None
    columns = ["node", "task", *IDENTITIES, "processes", *(name for name in names if name not in IDENTITIES)]
    if any(task["gpus"] for task in shown) or step["gpus_per_task"]:
        columns.append("GPUs")
    rows = []
    for task, value in zip(shown, values, strict=True):
        processes = task["processes"]
        cells = {
            "node": "?" if task["node"] is None else str(task["node"]),
            "task": str(task["task"]),
            "processes": "?" if processes is None else str(len(processes)),
            "GPUs": gpus_seen(task) or "?",
        }
        rows.append([cells[name] if name in cells else value.get(name, "?") for name in columns])
    return Table(columns, rows, common, (step["tasks"] or len(tasks)) - len(shown))


def drawn_table(step: Plan, most: int) -> Table | None:
    """The ranks of the tasks that a picture draws, at most `most`; None where neither nodes nor ranks are known."""
    found = table(step, most)
    if found is None or all(row[0] == "?" for row in found.rows) and "RANK" not in found.columns:
        return None
    return found


# The columns that a picture of the tasks shows.
_DRAWN = ("node", *IDENTITIES, "processes", "GPUs")


def says_more(found: Table, step: Plan) -> bool:
    """Whether a table shows more than a picture: other variables, or a LOCAL_RANK without GPUs."""
    by_hand = "LOCAL_RANK" in found.columns and step["launcher"] is None and not step["gpus_on_node"]
    return by_hand or not {"task", *_DRAWN, *RANKS}.issuperset(found.columns)


def in_short(found: Table) -> Table:
    """The table without the columns that a picture shows."""
    kept = [at for at, name in enumerate(found.columns) if name not in _DRAWN]
    rows = [[row[at] for at in kept] for row in found.rows]
    return found._replace(columns=[found.columns[at] for at in kept], rows=rows)


def gpus_seen(task: Plan) -> str | None:
    """The numbers of the GPUs that a task sees, or `none`; None if they are unknown."""
    gpus = task.get("gpus")
    return None if gpus is None else ranges(map(str, gpus)) if gpus else "none"


def _values(task: Plan) -> dict[str, str]:
    """The rank variables of a task; those set by its launcher as the range of its processes."""
    found: dict[str, str] = dict(task["variables"])
    processes: list[dict[str, str]] = task["processes"] or []
    for name in dict.fromkeys(name for each in processes for name in each):
        found[name] = ranges(each.get(name, "?") for each in processes)
    if processes and processes[0] and "RANK" not in processes[0]:
        found["RANK"] = "?"  # the launcher overwrites that of the task
    return found


def ranges(values: Iterable[str]) -> str:
    """Values in short: `0-3` for 0 1 2 3; one for equal values; else all of them, separated by commas."""
    found = list(values)
    if len(set(found)) == 1:
        return found[0]
    if all(value.isdecimal() for value in found):
        numbers = [parse_integer(value) for value in found]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(found)


def remaining(step: Plan, left: int, noun: str = "task") -> str:
    """`… and 24 more tasks like these`, without `like these` if the tasks run different programs."""
    programs = {str(task["argv"] and task["argv"][:1]) for task in step.get("by_task") or ()}
    return f"… and {counted(left, f'more {noun}')}" + (" like these" if len(programs) < 2 else "")


def plans(plan: Plan) -> Iterator[Plan]:
    """A plan and those of the scripts that it submits."""
    yield plan
    for inner in plan.get("submits", ()):
        yield from plans(inner)


def notes_on(plan: Plan) -> str | None:
    """A note on a script without steps, or on steps that are never reached; None for others."""
    if plan["steps"] and plan["request"]["accepted"] is False:
        return "sbatch refuses this script: nothing below starts"
    nodes = nodes_of_job(plan)
    if any(step["command"] or step["launcher"] for step in plan["steps"]) or nodes is None or nodes < 2:
        return None
    return f"no step is seen in this script: what it runs, runs once, on the first of {nodes} nodes"


def is_count(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}", text) is not None


def is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]+(-[0-9]+)?|\?", text) is not None
