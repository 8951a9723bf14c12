"""A plan as text: whether sbatch accepts the script, a table of its requests, and the tree of its steps."""

from collections.abc import Iterator, Mapping
from typing import Any

from sbatchlint.report.cells import escape
from sbatchlint.report.plan_cluster import cluster_rows, cluster_verdict
from sbatchlint.report.plan_steps import steps_as_text
from sbatchlint.report.plan_view import Marks, Plan
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.numbers import at_lines, counted, is_number, parse_integer
from sbatchlint.source.workspace import origin_of_options


def as_text(plan: Plan, terminal: Terminal, marks: Marks, indent: str = "") -> str:
    """The plan of a script, and below it those of the scripts that it submits."""
    request = plan["request"]
    title = terminal.style("bold", escape(plan["path"]))
    width = max(terminal.width - len(indent) - 2, 40)
    # A submitted script is in the same file.
    lines = [] if indent else [title]
    lines.extend(f"{indent}  {line}" for line in _verdicts(plan, terminal, width))
    components = request["components"]
    for index, component in enumerate(components):
        if len(components) > 1:
            lines.append(f"{indent}  component {index}")
        lines.extend(f"{indent}  {line}" for line in _table(component, terminal, width))
    lines.extend(steps_as_text(plan, marks, terminal, f"{indent}  "))
    if plan.get("misfits"):
        lines.append(f"{indent}  on {counted(plan['resized'], 'node')}:")
        for each in plan["misfits"]:
            first, *more = wrapped(escape(each), width - 2)
            lines += [f"{indent}    {first}", *(f"{indent}      {line}" for line in more)]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    for inner in plan.get("submits", ()):
        text += f"{indent}  submits\n" + as_text(inner, terminal, marks, indent + "  ")
    return text


def _verdicts(plan: Plan, terminal: Terminal, width: int) -> Iterator[str]:
    for name, verdict, reason in verdicts(plan):
        first, *more = wrapped(": ".join(part for part in (name, verdict, reason) if part), width)
        yield first.replace(verdict, terminal.style(STYLES[verdict], verdict), 1) if verdict in STYLES else first
        yield from (f"    {line}" for line in more)


def verdicts(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """For each range of releases with the same verdict: its name, the verdict, and the reason, escaped.

    What Slurm takes, the cluster of the profile may still refuse.
    """
    request = plan["request"]
    of_cluster = cluster_verdict(request["components"])
    by_version = request.get("by_version") or {plan["slurm_version"]: request}
    groups: list[tuple[tuple[bool | None, str | None], list[str]]] = []
    for version, verdict in by_version.items():
        key = (verdict["accepted"], verdict["message"])
        if groups and groups[-1][0] == key:
            groups[-1][1].append(version)
        else:
            groups.append((key, [version]))
    for (accepted, message), versions in groups:
        name = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        if accepted is False:
            yield f"Slurm {name}", "refused", " ".join(escape((message or "").replace("\n", " ")).split())
        elif of_cluster is not None:
            yield f"Slurm {name}", of_cluster[0], " ".join(escape(of_cluster[1].replace("\n", " ")).split())
        elif accepted:
            yield f"Slurm {name}", "accepted", ""
        else:
            yield f"Slurm {name}", "not known", "it depends on what is not in the script"


# How verdicts are marked that are not good.
STYLES = {"refused": "error", "not known": "warning", "waits for good": "warning"}
NOTHING = "requests nothing: the defaults of the site decide"
# By key of the plan: its label, and the options for it.
_ROWS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("nodes", "nodes", ("nodes",)),
    ("tasks", "tasks", ("ntasks",)),
    ("tasks_per_node", "tasks per node", ("ntasks-per-node",)),
    ("cpus_per_task", "CPUs per task", ("cpus-per-task",)),
    ("gpus", "GPUs", ("gpus-per-node", "gpus", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task")),
    ("memory_mb", "memory", ("mem", "mem-per-cpu", "mem-per-gpu")),
    ("time_minutes", "time limit", ("time",)),
    ("exclusive", "exclusive", ("exclusive",)),
    ("mail_type", "mail at", ("mail-type",)),
)
# The options that determine a count: the first group with an option that is set.
_MULTIPLIERS = ("extra-node-info", "sockets-per-node", "cores-per-socket", "threads-per-core")
_DECIDING: tuple[tuple[str, ...], ...] = (
    ("ntasks",),
    ("ntasks-per-node",),
    ("ntasks-per-gpu", "gpus", "gpus-per-node", "gres"),
    ("gpus-per-task", "gpus"),
    _MULTIPLIERS,
)


def request_rows(component: Plan) -> list[tuple[str, str, str]]:
    """The requests of a component: the label, the value, and the lines it comes from."""
    options: Mapping[str, Mapping[str, Any]] = component["options"]
    rows: list[tuple[str, str, str]] = []
    shown: set[str] = set()
    for key, label, names in _ROWS:
        own = [name for name in names if name in options]
        if key == "gpus":
            own = [name for name in own if _is_of_gpus(name, options[name]["value"])]
        value = _value(key, component)
        sources = own
        if value is None and own:
            value = _as_written(options, own)
        elif value is not None and not (own and key == "tasks_per_node"):
            sources = _sources(key, options, own)
        # Resources other than GPUs have a row of their own.
        shown.update(name for name in own if "," not in (options[name]["value"] or "") or key != "gpus")
        if value is not None:
            rows.append((label, value, _lines(options, sources)))
    others = [name for name in options if name not in shown]
    rows.extend((f"--{name}", _as_written(options, [name]), _lines(options, [name])) for name in others)
    return rows + cluster_rows(component.get("cluster"))


def option_row(component: Plan, name: str) -> tuple[str, str] | None:
    """What an option contributes to: the label and the value of its row; None where nothing is made of it."""
    for key, label, names in _ROWS:
        if name in names:
            value = _value(key, component)
            return None if value is None else (label, value)
    return None


def _table(component: Plan, terminal: Terminal, width: int) -> list[str]:
    rows = request_rows(component)
    if not rows:
        return [NOTHING]
    labels = max(len(row[0]) for row in rows)
    places = max(len(row[2]) for row in rows)
    room = max(width - labels - places - 4, 20)
    values = [wrapped(escape(value), room) for _, value, _ in rows]
    widest = max(len(line) for value in values for line in value)
    lines: list[str] = []
    for (label, _, where), (first, *more) in zip(rows, values, strict=True):
        lines.append(f"{label:<{labels}}  {first:<{widest}}  {terminal.style('dim', where)}")
        lines.extend(" " * (labels + 2) + line for line in more)
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, broken at spaces if possible, of at most `width` characters; at least one line."""
    lines: list[str] = []
    while len(text) > width:
        at = text.rfind(" ", 1, width + 1)
        lines.append(text[: at if at > 0 else width])
        text = text[at + 1 if at > 0 else width :]
    return [*lines, text]


def _is_of_gpus(name: str, value: str | None) -> bool:
    return name.startswith("gpus") or value is None or "gpu" in value


def _as_written(options: Mapping[str, Mapping[str, Any]], names: list[str]) -> str:
    """The values of these options as written, if nothing else is known of them."""
    values = [options[name]["value"] for name in names]
    if None in values:
        return "not known"
    if len(names) == 1:
        return str(values[0])
    return " ".join(f"--{name}={value}" if value else f"--{name}" for name, value in zip(names, values, strict=True))


def _sources(key: str, options: Mapping[str, Mapping[str, Any]], own: list[str]) -> list[str]:
    """The options that determine a value of the plan; `own`: the options for it that are set."""
    if key not in ("nodes", "tasks", "tasks_per_node"):
        return own
    if key == "tasks" and own:
        return own
    where = [name for name in ("nodes", "nodelist") if name in options][:1]
    deciding = next((group for group in _DECIDING if any(name in options for name in group)), ())
    if key == "nodes" and where:
        # Fewer tasks than nodes reduce the nodes.
        return [*where, *(name for name in ("ntasks",) if name in options and _shrinks(options))]
    return [*where, *(name for name in deciding if name in options)]


def _shrinks(options: Mapping[str, Mapping[str, Any]]) -> bool:
    nodes = (options.get("nodes", {}).get("value") or "").partition("-")[0]
    tasks = options["ntasks"]["value"] or ""
    return is_number(nodes) and is_number(tasks) and parse_integer(tasks) < parse_integer(nodes)


def _lines(options: Mapping[str, Mapping[str, Any]], names: list[str]) -> str:
    rows = sorted(options[name]["line"] for name in names)
    written = list(dict.fromkeys(str(each) for each in rows if origin_of_options(getattr(each, "path", "")) is None))
    parts = list(dict.fromkeys(filter(None, (origin_of_options(getattr(each, "path", "")) for each in rows))))
    if written:
        parts.append(at_lines(written))
    return ", ".join(parts)


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
