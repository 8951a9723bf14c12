"""What keeps a job out of a partition: its limits, its state, and what its nodes have.

Seen live with a controller of 22.05 (tests/slurm/test_site_live.py): what no node has is refused whatever the settings;
what is beyond a limit of the partition (time, nodes, CPUs of all nodes) is refused with `EnforcePartLimits` ALL or ANY,
and else waits for good. Of several partitions, ANY is content with one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.demand import Demand, demand_of, hosts_of, lacks, listed_nodes, usable_cpus
from sbatchlint.analysis.site.targets import Target, lifts_limits, targets
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.site.profile import gpu_types, gpus_of, limit, lists, nodes_of, total, whole_minutes
from sbatchlint.slurm.grammar.times import UNLIMITED, minutes
from sbatchlint.slurm.versions import is_before

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Partition

CLOSED = ("DRAIN", "INACTIVE")


class Obstacle(NamedTuple):
    """Why a partition does not take a job. `waits`: the job is accepted all the same, and waits for good.

    `kind`: state, time, nodes, cpus, memory, tmp, gpus, gres, features, together, nodelist. `asks`: what is asked for;
    `says`: what the partition has instead.
    """

    kind: str
    asks: str
    says: str
    waits: bool


class Stop(NamedTuple):
    """A component that none of its partitions takes, or one does not where that is enough; the obstacles of each."""

    target: Target
    obstacles: dict[str, list[Obstacle]]

    def of(self, *kinds: str) -> tuple[str, Obstacle] | None:
        """The first obstacle of one of these kinds, and its partition; one that is refused at once comes first."""
        found = [(name, each) for name, every in self.obstacles.items() for each in every if each.kind in kinds]
        return min(found, key=lambda pair: pair[1].waits, default=None)

    @property
    def waits(self) -> bool:
        """Whether sbatch takes the job: a limit that lets it wait is looked at before the nodes are."""
        return any(one.waits for each in self.obstacles.values() for one in each)


@once
def stops(job: Job) -> tuple[Stop, ...]:
    """The components of a job that the cluster does not take."""
    found = []
    for target in targets(job):
        every = {name: list(_of_partition(target, name)) for name in target.partitions}
        strict = target.profile.enforce_part_limits == "ALL"
        limited = strict and any(each.kind in _LIMITS for one in every.values() for each in one)
        if all(every.values()) or limited:
            found.append(Stop(target, every))
    return tuple(found)


_LIMITS = ("time", "nodes", "nodelist")


def _time(target: Target) -> int | None:
    """The minutes that are asked for; `--time=0` is without limit."""
    request = target.request
    if request.has_option("time-min"):
        return None
    asked = minutes(request.value("time"))
    return _NEVER if asked == UNLIMITED else asked


_NEVER = 2**31


def _of_partition(target: Target, name: str) -> "list[Obstacle]":
    partition, profile = target.profile.partitions[name], target.profile
    waits = profile.enforce_part_limits not in ("ALL", "ANY")
    found: list[Obstacle] = []
    if partition.state in CLOSED:
        found.append(Obstacle("state", "", f"is closed ({partition.state})", False))
    most, least = limit(partition.max_time), _time(target)
    if most is not None and least is not None and least > most and not lifts_limits(target, "PartitionTimeLimit"):
        asks = "an unlimited time" if least == _NEVER else whole_minutes(least)
        found.append(Obstacle("time", asks, f"allows {whole_minutes(most)}", waits))
    kinds = nodes_of(profile, name)
    demand = demand_of(target, partition)
    number = total(kinds) if kinds else None
    number = partition.nodes if number is None else number
    asked = target.request.nodes.minimum if target.request.nodes is not None else None
    named = listed_nodes(target.request)
    if named and asked is None and is_before(target.request.version, "23.02"):
        asked = len(named)  # sbatch asks for as many nodes as --nodelist names
    bounded = partition.max_nodes is not None and not lifts_limits(target, "PartitionMaxNodes")
    if bounded and partition.max_nodes is not None and demand.nodes > partition.max_nodes:
        found.append(Obstacle("nodes", _nodes(demand.nodes), f"allows {_nodes(partition.max_nodes)}", waits))
    elif partition.min_nodes is not None and asked is not None and asked < partition.min_nodes:
        found.append(Obstacle("nodes", _nodes(asked), f"needs {_nodes(partition.min_nodes)}", waits))
    elif number is not None and demand.nodes > number and (kinds or partition.nodes):
        found.append(Obstacle("nodes", _nodes(demand.nodes), f"has {_nodes(number)}", waits))
    cpus = sum((each.cpus or 0) * (each.count or 0) for each in kinds)
    if kinds and all(each.cpus and each.count for each in kinds) and demand.total_cpus > cpus:
        found.append(Obstacle("cpus", f"{demand.total_cpus} CPUs", f"has {cpus}", waits))
    if kinds and lists(profile, "nodes"):
        every = _of_nodes(demand, kinds, target, name, _most_nodes(number, partition.max_nodes))
        # of nodes that are named, and for a held job, it does not look at what they have before it starts the job
        held, listed = target.request.has_option("hold"), target.request.has_option("nodelist")
        found += [
            each._replace(waits=held and each.kind != "nodelist" or listed and each.kind in ("gpus", "gres"))
            for each in every
        ]
    return found


def _most_nodes(*bounds: int | None) -> int:
    """The least of these bounds, without those that are not known."""
    return min((each for each in bounds if each), default=_NEVER)


def _of_nodes(demand: Demand, kinds: list[Nodes], target: Target, name: str, most: int) -> list[Obstacle]:
    partition = target.profile.partitions[name]
    missing = {id(each): lacks(each, demand, partition) for each in kinds}
    fitting = [each for each in kinds if not missing[id(each)]]
    listed = listed_nodes(target.request)
    if listed:
        inside, every = hosts_of(kinds), hosts_of(target.profile.nodes)
        outside = [host for host in listed if host not in inside and host in every]
        if outside:
            return [Obstacle("nodelist", f"node {outside[0]}", "does not have it", False)]
        if len(listed) < demand.nodes:
            return _of_all(demand, kinds, min(demand.most_nodes or most, most), partition)
    if not fitting:
        in_all = [what for what in _ORDER if all(what in missing[id(each)] for each in kinds)]
        if not in_all:
            return [Obstacle("together", _asked("together", demand), "has no node with all of that at once", False)]
        return [
            Obstacle(what, _asked(what, demand), _most(what, kinds, demand, partition.max_cpus_per_node), False)
            for what in in_all
        ]
    count = total(fitting)
    if count is not None and demand.nodes > count and len(fitting) < len(kinds) and demand.nodes <= most:
        what = next(what for what in _ORDER if any(what in missing[id(each)] for each in kinds))
        asks = f"{_nodes(demand.nodes)} with {_asked(what, demand)}"
        return [Obstacle(what, asks, f"has {_nodes(count)} with that", False)]
    if demand.nodes <= most:
        return _of_all(demand, fitting, min(demand.most_nodes or most, most), partition)
    return []


_ORDER = ("features", "gpus", "gres", "cpus", "memory", "tmp")


def _of_all(demand: Demand, kinds: list[Nodes], most: int, partition: Partition) -> list[Obstacle]:
    """The obstacles where the nodes, as many as the job may have, have too little together."""
    found = []
    if 0 < demand.total_gpus < demand.nodes:
        asks = f"{demand.total_gpus} GPU{'s' if demand.total_gpus > 1 else ''}"
        found.append(Obstacle("gpus", asks, f"gives it {_nodes(demand.nodes)}", False))
    gpus = _largest([(gpus_of(each, demand.kind), each.count) for each in kinds], most)
    if gpus is not None and demand.total_gpus > gpus:
        found.append(Obstacle("gpus", f"{demand.total_gpus} GPUs", f"has {gpus} on {_nodes(most)}", False))
    sizes = [(usable_cpus(each, demand), each.count) for each in kinds]
    if partition.max_cpus_per_node is not None:
        sizes = [(None if size is None else min(size, partition.max_cpus_per_node), count) for size, count in sizes]
    cpus = _largest(sizes, most)
    if cpus is not None and demand.total_cpus > cpus:
        found.append(Obstacle("cpus", f"{demand.total_cpus} CPUs", f"has {cpus} on {_nodes(most)}", False))
    return found


def _largest(sizes: list[tuple[int | None, int | None]], most: int) -> int | None:
    """What the largest nodes have together; None where a size or a number of nodes is not known."""
    found = 0
    known = [(size, count) for size, count in sizes if size is not None and count is not None]
    if len(known) < len(sizes):
        return None
    for size, count in sorted(known, reverse=True):
        taken = min(count, most)
        found, most = found + size * taken, most - taken
    return found


def _most(what: str, kinds: list[Nodes], demand: Demand, most_cpus: int | None) -> str:
    """The most that a node of these kinds has."""
    if what == "cpus":
        cpus = max(each for each in (usable_cpus(one, demand) for one in kinds) if each is not None)
        says = f"nodes have {cpus}" if most_cpus is None or most_cpus > cpus else f"allows {most_cpus} of a node"
        return says + (" cores" if demand.one_thread else "")
    if what == "memory":
        return f"nodes have {max(each.memory or 0 for each in kinds)}M"
    if what == "tmp":
        most = max(each.tmp_disk or 0 for each in kinds)
        return f"nodes have {most}M" if most else "has none (TmpDisk=0)"
    if what == "gpus":
        number = max(gpus_of(each) or 0 for each in kinds)
        if not number:
            return "nodes have none"
        types = gpu_types(kinds)
        if demand.kind and demand.kind not in types:
            return f"nodes have {'GPUs without a type' if not types else ' and '.join(types)}"
        return f"nodes have {max(gpus_of(each, demand.kind) or 0 for each in kinds)}"
    return "has no node with it"


def _asked(what: str, demand: Demand) -> str:
    """What is asked of a node."""
    kind = f" of type {demand.kind}" if demand.kind else ""
    said = {
        "cpus": f"{demand.cpus} CPU{'s' if demand.cpus != 1 else ''} on a node",
        "memory": f"{demand.memory}M of memory on a node",
        "tmp": f"{demand.tmp}M of temporary disk on a node",
        "gpus": f"{demand.gpus} GPU{'s' if demand.gpus != 1 else ''}{kind} on a node",
        "gres": " and ".join(f"{name}{f':{kind}' if kind else ''}:{number}" for name, kind, number in demand.gres),
        "features": " and ".join(demand.features) or " or ".join(demand.any_feature),
    }
    if what != "together":
        return said[what]
    asked = {
        "cpus": demand.cpus > 1,
        "memory": demand.memory,
        "tmp": demand.tmp,
        "gpus": demand.gpus,
        "gres": demand.gres,
    }
    parts = [said[each].removesuffix(" on a node") for each, value in asked.items() if value]
    parts += [said["features"]] if said["features"] else []
    return ", ".join(parts)


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count != 1 else ''}"
