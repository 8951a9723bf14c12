"""A plan as text: whether sbatch takes the script, and a table of what it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .cells import escape
from .terminal import Terminal

Plan = Mapping[str, Any]


def as_text(plan: Plan, terminal: Terminal, indent: str = "") -> str:
    """The plan of one script, and below it those of the scripts that it submits."""
    request = plan["request"]
    title = terminal.style("bold", escape(plan["path"]))
    lines = [f"{indent}{title}", *(f"{indent}  {line}" for line in _verdicts(plan, terminal))]
    components = request["components"]
    for index, component in enumerate(components):
        if len(components) > 1:
            lines.append(f"{indent}  component {index}")
        lines.extend(f"{indent}  {line}" for line in _table(component, terminal))
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    for inner in plan.get("submits", ()):
        text += f"{indent}  submits\n" + as_text(inner, terminal, indent + "    ")
    return text


def _verdicts(plan: Plan, terminal: Terminal) -> Iterator[str]:
    request = plan["request"]
    by_version = request.get("by_version") or {plan["slurm_version"]: request}
    groups: list[tuple[tuple[bool | None, str | None], list[str]]] = []
    for version, each in by_version.items():
        key = (each["accepted"], each["message"])
        if groups and groups[-1][0] == key:
            groups[-1][1].append(version)
        else:
            groups.append((key, [version]))
    for (accepted, message), versions in groups:
        name = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        if accepted is False:
            said = escape((message or "").partition("\n")[0])
            yield f"Slurm {name} " + terminal.style("error", "refuses it") + f": {said}"
        elif accepted:
            yield f"Slurm {name} takes it"
        else:
            yield f"Slurm {name}: not known, the script holds something that is filled in later"


# By key of the plan: what to call it, and the options that decide it.
_ROWS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("nodes", "nodes", ("nodes", "nodelist")),
    ("tasks", "tasks", ("ntasks",)),
    ("tasks_per_node", "tasks per node", ("ntasks-per-node",)),
    ("cpus_per_task", "CPUs per task", ("cpus-per-task",)),
    ("gpus", "GPUs", ("gpus-per-node", "gpus", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task")),
    ("memory_mb", "memory", ("mem", "mem-per-cpu", "mem-per-gpu")),
    ("time_minutes", "time limit", ("time",)),
    ("exclusive", "exclusive", ("exclusive",)),
    ("mail_type", "mail at", ("mail-type",)),
)


def _table(component: Plan, terminal: Terminal) -> list[str]:
    options: Mapping[str, Mapping[str, Any]] = component["options"]
    rows: list[tuple[str, str, str]] = []
    shown: set[str] = set()
    for key, label, names in _ROWS:
        given = [name for name in names if name in options]
        shown.update(given)
        value = _value(key, component)
        if value is None and given:
            value = "not known"
        if value is not None:
            rows.append((label, value, _lines(options, given)))
    for name, option in options.items():
        if name not in shown:
            value = "" if option["value"] is None else str(option["value"])
            rows.append((f"--{name}", value, _lines(options, [name])))
    if not rows:
        return ["asks for nothing: the defaults of the site decide"]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    limit = max(terminal.width - widths[0] - 16, 20)
    return [
        f"{label:<{widths[0]}}  {escape(value):<{min(widths[1], limit)}}  {terminal.style('dim', where)}"
        for label, value, where in rows
    ]


def _lines(options: Mapping[str, Mapping[str, Any]], names: list[str]) -> str:
    rows = sorted({options[name]["line"] for name in names})
    if not rows:
        return ""
    return ("line " if len(rows) == 1 else "lines ") + ", ".join(map(str, rows))


def _value(key: str, component: Plan) -> str | None:
    value = component[key]
    if value is None:
        return None
    if key == "nodes":
        return str(value["min"]) if value["min"] == value["max"] else f"{value['min']} to {value['max']}"
    if key == "gpus":
        kind = f" {component['gpu_type']}" if component["gpu_type"] else ""
        return ", ".join(f"{number}{kind} {'in all' if per == 'total' else per.replace('_', ' ')}"
                         for per, number in value.items())  # fmt: skip
    if key == "memory_mb":
        ((per, size),) = value.items()
        return f"{_size(size)} {per.replace('_', ' ')}" if size or per != "per_node" else "all of each node"
    if key == "time_minutes":
        days, minutes = divmod(value, 24 * 60)
        return (f"{days} d " if days else "") + f"{minutes // 60}:{minutes % 60:02} h"
    return str(value)


def _size(megabytes: int) -> str:
    for unit, size in (("TB", 1 << 20), ("GB", 1 << 10)):
        if megabytes >= size and megabytes % (size // 4) == 0:
            return f"{megabytes / size:g} {unit}"
    return f"{megabytes} MB"
