"""The rows of a plan about the cluster of the profile: which nodes can run the job, and what it takes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sbatchlint.source.numbers import counted

Rows = list[tuple[str, str, str]]


def cluster_verdict(components: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """What becomes of a job that a cluster does not run, and why; None where that is not so, or not known."""
    views = [(index, each.get("cluster")) for index, each in enumerate(components)]
    stopped = [(index, view) for index, view in views if view is not None and view["reason"] is not None]
    for index, view in sorted(stopped, key=lambda each: bool(each[1]["waits"])):
        of = f"component {index} " if len(components) > 1 else ""
        return "waits for good" if view["waits"] else "refused", f"{of}{view['reason']}"
    return None


def cluster_rows(view: Mapping[str, Any] | None) -> Rows:
    """The rows of a component: label, value, and no line; none where nothing is known, or it does not run at all."""
    if view is None or view["reason"] is not None:
        return []
    rows: Rows = []
    for partition in view["partitions"]:
        label = f"in {partition['name']}"
        for nodes in partition["nodes"]:
            kind = f"{counted(nodes['count'], 'node')} {nodes['names']}"
            rows.append((label, f"{kind}: {_takes(nodes)}", ""))
            label = ""
        more = partition.get("more_nodes")
        if more is not None:
            rows.append(("", f"{more['count']} more nodes with at most {_less(more)} of each: sooner", ""))
        if partition["hours"] is not None:
            rows.append(("", f"at most {_hours(partition['hours'])}", ""))
    return rows


def _takes(nodes: Mapping[str, Any]) -> str:
    if nodes["whole"]:
        said = "whole"
    else:
        units = {"cpus": "CPUs", "gpus": "GPUs", "memory_mb": "GB"}
        parts = []
        for key, (taken, has) in nodes["takes"].items():
            shown = (round(taken / 1024), round(has / 1024)) if key == "memory_mb" else (taken, has)
            parts.append(f"{shown[0]} of {shown[1]} {units[key]}")
        said = f"{', '.join(parts)} of each"
    idle = nodes["idle_gpus"]
    return said + (f"; {counted(idle, 'GPU')} of each stay idle" if idle else "")


def _hours(hours: Mapping[str, Any]) -> str:
    parts = [f"{hours['node']:g} node hours"]
    parts += [f"{hours['gpu']:g} GPU hours"] if hours.get("gpu") else []
    parts += [f"{hours['cost']:g} {hours['currency'] or 'units'}"] if "cost" in hours else []
    parts += [f"{hours['kwh']:g} kWh"] if "kwh" in hours else []
    return ", ".join(parts)


def _less(more: Mapping[str, int]) -> str:
    """The amount of which some nodes have too little: `256000M`, `64 CPUs`, `2 GPUs`."""
    if "memory_mb" in more:
        return f"{more['memory_mb']}M"
    return counted(more["cpus"], "CPU") if "cpus" in more else counted(more["gpus"], "GPU")
