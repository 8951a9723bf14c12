"""Where a job could run, what it takes of each node there, and what that costs, by the cluster's profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sbatchlint.analysis.site.defaults import default_memory
from sbatchlint.analysis.site.demand import Demand, demand_of, lacks, memory_on, usable_cpus
from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.names import unknown_features, unknown_partitions, unknown_resources
from sbatchlint.analysis.site.targets import Target, requests, targets
from sbatchlint.job import Job
from sbatchlint.job.request import MEMORY_OPTIONS
from sbatchlint.site.profile import gpus_of, limit, nodes_of, total
from sbatchlint.slurm.grammar.arrays import indexes

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Partition

View = dict[str, Any]


def cluster_view(job: Job, component: int) -> View | None:
    """What the cluster makes of a component, as plain values; None where that is not known."""
    lacking = _lacking(job, component)
    if lacking is not None:
        return {"accepted": False, "waits": False, "reason": lacking, "partitions": []}
    target = next((each for each in targets(job) if each.component == component), None)
    if target is None:
        return None
    stop = next((each for each in stops(job) if each.target is target), None)
    found: View = {
        "accepted": stop is None or stop.waits,
        "waits": stop is not None and stop.waits,
        "reason": None,
        "partitions": [_in_partition(target, name) for name in target.partitions],
    }
    if stop is not None:
        name, first = next((name, each[0]) for name, each in stop.obstacles.items() if each)
        found["reason"] = stop.sentence(name, first).removeprefix("it ")
    return found


def _lacking(job: Job, component: int) -> str | None:
    """What a component names and the cluster does not have, or an index of its array that is too large."""
    profile = job.site.profile
    request = next((each for each in requests(job) if each.component == component), None)
    if profile is None or request is None:
        return None
    for name in unknown_partitions(profile, request):
        return f"the cluster has no partition `{name}`"
    for each in (*unknown_resources(profile, request), *unknown_features(profile, request)):
        # nodes that it names are compared when they are free, those of a held job when it is released
        if each.kind != "type" or not request.has_any_option(("nodelist", "hold")):
            what = {"name": "resource", "type": "GPU of type" if "gpu" in each.option else "type"}.get(
                each.kind, each.kind
            )
            return f"the cluster has no {what} `{each.name}`"
    array = indexes(request.array)
    if array is not None and profile.max_array_size and array.maximum >= profile.max_array_size:
        return f"the largest index of an array is {profile.max_array_size - 1}"
    return None


def _in_partition(target: Target, name: str) -> View:
    partition = target.profile.partitions[name]
    demand = demand_of(target, name)
    kinds = nodes_of(target.profile, name)
    missing = [(each, lacks(each, demand, partition)) for each in kinds]
    fitting = [each for each, lacking in missing if not lacking]
    found: View = {"name": name, "nodes": [_on(each, demand, target, partition) for each in fitting]}
    more = [each for each in (_with_less(what, missing) for what in _SIZES) if each is not None]
    if fitting and more:
        found["more_nodes"] = max(more, key=lambda each: each["count"])
    found["hours"] = _hours(target, demand, partition, fitting)
    return found


_SIZES = {"memory": "memory_mb", "cpus": "cpus", "gpus": "gpus"}


def _with_less(what: str, missing: list[tuple[Nodes, list[str]]]) -> View | None:
    """How many nodes have only too little of this, and as much as all of them have; None for no nodes."""
    almost = [(each, _has(each, what)) for each, lacking in missing if lacking == [what]]
    some = [(each, size) for each, size in almost if size]
    count = total(each for each, _ in some)
    return {"count": count, _SIZES[what]: min(size for _, size in some)} if some and count else None


def _has(nodes: Nodes, what: str) -> int:
    """What a node has, 0 if it is not known."""
    return {"memory": nodes.memory, "cpus": nodes.cpus, "gpus": gpus_of(nodes)}[what] or 0


def _on(nodes: Nodes, demand: Demand, target: Target, partition: Partition) -> View:
    """What the job takes of a node of this kind; `idle`: what nobody else can use then."""
    gpus, cpus = gpus_of(nodes), usable_cpus(nodes, demand)
    count = _nodes_taken(nodes, demand)
    wanted = max(demand.even.cpus, -(-demand.total_cpus // count), 1)
    taken = {"cpus": min(wanted, cpus) if cpus is not None else None, "gpus": _gpus_taken(nodes, demand)}
    memory = max(memory_on(nodes, demand), demand.even.memory, demand.memory_per_cpu * wanted)
    memory = memory or _default_memory(nodes, demand, target, partition, wanted)
    taken["memory_mb"] = min(memory, nodes.memory or 0)
    found: View = {"names": nodes.names, "count": nodes.count, "whole": demand.whole}
    has = {"cpus": cpus, "gpus": gpus or 0, "memory_mb": nodes.memory}
    found["takes"] = {key: [taken[key], value] for key, value in has.items() if value}
    full = [key for key in ("cpus", "memory_mb") if has[key] is not None and taken[key] == has[key]]
    left = (gpus or 0) - _gpus_taken(nodes, demand)
    found["idle_gpus"] = left if left > 0 and (full or demand.whole) else 0
    return found


def _nodes_taken(nodes: Nodes, demand: Demand) -> int:
    """How many nodes of this kind the job needs at least: also for all of its CPUs and its GPUs."""
    has = ((usable_cpus(nodes, demand), demand.total_cpus), (gpus_of(nodes), demand.total_gpus))
    return max(demand.nodes, 1, *(-(-wanted // most) for most, wanted in has if most))


def _gpus_taken(nodes: Nodes, demand: Demand) -> int:
    """The GPUs of each of these nodes."""
    return max(demand.even.gpus, -(-demand.total_gpus // _nodes_taken(nodes, demand)))


def _default_memory(nodes: Nodes, demand: Demand, target: Target, partition: Partition, wanted: int) -> int:
    """MB of a node for a job that asks for none, and has so many CPUs there."""
    default = default_memory(target.profile, partition)
    if target.request.has_any_option(MEMORY_OPTIONS) or default is None:
        return nodes.memory or 0
    cpus = nodes.cpus if demand.whole else wanted
    return default.megabytes * (1 if default.per == "node" else cpus or 1)


def _hours(target: Target, demand: Demand, partition: Partition, fitting: list[Nodes]) -> View | None:
    """What the job comes to at most, with all its array tasks; None where its time or its nodes are not known."""
    minutes = target.request.time or limit(partition.default_time) or limit(partition.max_time)
    array = indexes(target.request.array)
    if minutes is None or not fitting or target.request.has_option("array") and array is None:
        return None
    node = fitting[0]
    hours = minutes / 60 * (array.tasks if array is not None else 1) * _nodes_taken(node, demand)
    found: View = {"node": round(hours, 1)}
    share = 1.0 if demand.whole else _share(node, demand, target, partition)
    gpus = gpus_of(node) or 0
    if gpus:
        found["gpu"] = round(hours * (gpus if demand.whole else _gpus_taken(node, demand)), 1)
    price = node.price if node.price is not None else partition.price
    if price is not None:
        found["cost"] = round(hours * share * price, 2)
        found["currency"] = target.profile.currency
    watts = node.watts if node.watts is not None else partition.watts
    if watts is not None:
        found["kwh"] = round(hours * share * watts / 1000, 1)
    return found


def _share(nodes: Nodes, demand: Demand, target: Target, partition: Partition) -> float:
    """The largest share of a node that the job takes: of its CPUs, its memory or its GPUs."""
    takes = _on(nodes, demand, target, partition)["takes"].values()
    return max((taken / has for taken, has in takes), default=1.0)
