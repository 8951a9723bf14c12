"""What a job asks of each of its nodes, and of all together: lower bounds, so that what does not fit never fits.

`select_nodes()` of src/slurmctld/job_mgr.c and select/cons_tres; tests/slurm/test_site_live.py asks a live controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.targets import Target
from sbatchlint.job.request import Request, resource_items
from sbatchlint.site.profile import GPU, gpus_of, gres_of
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Partition, Profile

_NAMES = Regex(r"[^&|,\[\]()*]+")
_COUNTED = Regex(r"\*[ \t]*[0-9]+")


class Demand(NamedTuple):
    """What is asked for. `cpus`, `memory` (MB), `gpus`: of each node. `one_thread`: of each core, one thread counts.

    `tmp`: MB of the temporary file system of each node. `whole`: a job has all CPUs of its nodes, and `memory_per_cpu`
    (MB) for each of them.
    `kind`: the type of the GPUs; '' for any. `gres`: further resources of each node, (name, type, number).
    `features`: those that each node must have; `any_feature`: or one of these. `total_cpus`, `total_gpus`: of all
    nodes. `nodes`: how many at least, `most_nodes`: at most; None for no bound.
    """

    nodes: int
    most_nodes: int | None
    cpus: int
    one_thread: bool
    memory: int
    memory_per_cpu: int
    tmp: int
    whole: bool
    gpus: int
    kind: str
    gres: tuple[tuple[str, str, int], ...]
    features: tuple[str, ...]
    any_feature: tuple[str, ...]
    total_cpus: int
    total_gpus: int


def demand_of(target: Target, partition: Partition) -> Demand:
    """What a component asks for in a partition."""
    request, profile = target.request, target.profile
    counts = request.counts
    nodes = counts.min_nodes if counts is not None else request.nodes.minimum if request.nodes is not None else 1
    nodes = max(nodes, partition.min_nodes or 1)
    most = _most_nodes(request)
    tasks = counts.ntasks if counts is not None and counts.ntasks_given else None
    on_a_node = (counts.ntasks_per_node if counts is not None else None) or 1
    if tasks is not None and most:
        on_a_node = max(on_a_node, -(-tasks // most))
    by_gpu = counts is not None and counts.ntasks_per_gpu
    each = (counts.cpus_per_task if counts is not None else request.cpus_per_task) or 1
    gpus = _gpus_on_a_node(request, most, on_a_node)
    shared = request.has_any_option(("overcommit", "oversubscribe")) or by_gpu
    cpus = each if shared else each * on_a_node
    cpus = max(cpus, (whole(request.value("cpus-per-gpu")) or 0) * gpus)
    total = 0 if shared else max((tasks or 1) * each, cpus * nodes)
    threads = counts.threads_per_core if counts is not None else None
    features, others = _features(request.value("constraint"))
    return Demand(
        nodes, most, cpus, threads == 1, *_memory(request, profile, partition, cpus, gpus),
        _tmp(request), partition.whole_nodes or request.exclusive == "", gpus,
        request.gpus.kind or "", _gres(request), features, others, total, _all_gpus(request, nodes, tasks, gpus),
    )  # fmt: skip


def _most_nodes(request: Request) -> int | None:
    nodes = request.effective_nodes()
    if nodes is not None and request.has_option("nodes"):
        return nodes.maximum
    return None


def _gpus_on_a_node(request: Request, most: int | None, tasks: int) -> int:
    gpus = request.gpus
    if gpus.per_node is not None:
        return gpus.per_node
    if gpus.total is not None and most:
        return -(-gpus.total // most)
    if gpus.per_task is not None:
        return gpus.per_task * tasks
    return min(gpus.total or 0, 1)


def _all_gpus(request: Request, nodes: int, tasks: int | None, on_a_node: int) -> int:
    gpus = request.gpus
    by_task = gpus.per_task * tasks if gpus.per_task is not None and tasks is not None else 0
    return max(gpus.total, by_task) if gpus.total is not None else max(by_task, on_a_node * nodes)


def _memory(request: Request, profile: Profile, partition: Partition, cpus: int, gpus: int) -> tuple[int, int]:
    """MB of each node, and of each CPU; 0 where it is not known, or all that there is."""
    memory = request.memory
    counted = any("MEMORY" in each.upper() for each in profile.select_parameters)
    if memory is None or memory.per != "node" and not counted:
        return 0, 0
    if memory.per == "cpu":
        limited = partition.max_memory_per_cpu or profile.max_memory_per_cpu
        return (0, 0) if limited else (memory.megabytes * cpus, memory.megabytes)
    return memory.megabytes * (gpus if memory.per == "gpu" else 1), 0


def _tmp(request: Request) -> int:
    size = megabytes(request.value("tmp") or "")
    return 0 if size is None else size


def _gres(request: Request) -> tuple[tuple[str, str, int], ...]:
    text = request.value("gres")
    items = None if text is None else resource_items("gres", text, request.version)
    return tuple((each.name, each.type, each.count) for each in items or () if each.name != GPU and each.count)


def feature_names(constraint: str | None) -> list[str]:
    """The features that an expression names, in order."""
    names = _NAMES.findall(_COUNTED.sub("", constraint or ""))
    return [name.strip() for name in names if name.strip()]


def _features(constraint: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The features that each node must have, and those of which it must have one; empty where brackets decide."""
    if not constraint or any(sign in constraint for sign in "[]()*"):
        return (), ()
    names = tuple(feature_names(constraint))
    if "|" not in constraint:
        return names, ()
    return ((), names) if "&" not in constraint and "," not in constraint else ((), ())


# --- against nodes ------------------------------------------------------------------------------


def usable_cpus(nodes: Nodes, demand: Demand) -> int | None:
    """The CPUs of a node that count for the job."""
    if nodes.cpus is None:
        return None
    return nodes.cpus // nodes.threads_per_core if demand.one_thread else nodes.cpus


def memory_on(nodes: Nodes, demand: Demand) -> int:
    """MB that the job needs of a node of this kind."""
    return max(demand.memory, demand.memory_per_cpu * (nodes.cpus or 0) if demand.whole else 0)


def lacks(nodes: Nodes, demand: Demand, partition: Partition) -> list[str]:
    """What nodes of a kind have too little of: cpus, memory, tmp, gpus, gres, features. What is not known is enough."""
    found = []
    cpus = usable_cpus(nodes, demand)
    most = partition.max_cpus_per_node or cpus
    if cpus is not None and most is not None and (demand.cpus > min(cpus, most) or demand.whole and most < cpus):
        found.append("cpus")
    if nodes.memory is not None and memory_on(nodes, demand) > nodes.memory:
        found.append("memory")
    if nodes.tmp_disk is not None and demand.tmp > nodes.tmp_disk:
        found.append("tmp")
    gpus = gpus_of(nodes, demand.kind)
    if gpus is not None and demand.gpus > gpus:
        found.append("gpus")
    resources = gres_of(nodes)
    for name, kind, number in demand.gres if nodes.gres is not None else ():
        if number > sum(each.number for each in resources if each.name == name and kind in ("", each.type)):
            found.append("gres")
    if nodes.features is not None:
        missing = not set(demand.features) <= set(nodes.features)
        if missing or demand.any_feature and not set(demand.any_feature) & set(nodes.features):
            found.append("features")
    return found


def listed_nodes(request: Request) -> tuple[str, ...] | None:
    """The nodes of --nodelist; None without one, or where they are not known."""
    return hosts(request.value("nodelist"))


def hosts_of(kinds: Iterable[Nodes]) -> set[str]:
    """The names of the nodes of these kinds, as far as they are known."""
    return {host for each in kinds for host in hosts(each.names) or ()}
