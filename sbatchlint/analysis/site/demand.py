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
_NUMBERED = Regex(r"([^&|,\[\]*]+)(?:\*[ \t]*([0-9]+))?")


class Demand(NamedTuple):
    """What is asked for. `cpus`, `memory` (MB), `gpus`: of each node. `one_thread`: of each core, one thread counts.

    `shape`: the sockets of each node, the cores of a socket and the threads of a core, 0 for any number.
    `tmp`: MB of the temporary file system of each node. `whole`: a job has all CPUs of its nodes, and `memory_per_cpu`
    (MB) for each of them.
    `kind`: the type of the GPUs; '' for any. `gres`: further resources of each node, (name, type, number); GPUs of
    several types, too. `features`: those that each node must have; `any_feature`: or one of these; `on_some`: those
    that so many of them must have. `total_cpus`, `total_gpus`: of all nodes. `nodes`: how many at least, `most_nodes`:
    at most; None for no bound. `spread`: the nodes without which the tasks are more than --ntasks-per-node allows.
    """

    nodes: int
    most_nodes: int | None
    cpus: int
    one_thread: bool
    shape: tuple[int, int, int]
    memory: int
    memory_per_cpu: int
    tmp: int
    whole: bool
    gpus: int
    kind: str
    gres: tuple[tuple[str, str, int], ...]
    features: tuple[str, ...]
    any_feature: tuple[str, ...]
    on_some: tuple[tuple[str, int], ...]
    total_cpus: int
    total_gpus: int
    spread: int


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
    memory = _memory(request, profile, partition, cpus, gpus)  # not that of the CPUs of --mincpus
    cpus = max(cpus, whole(request.value("mincpus")) or 0, _cpus_for_memory(request, profile, partition))
    total = 0 if shared else max((tasks or 1) * each, cpus * nodes)
    threads = counts.threads_per_core if counts is not None else None
    per_node = counts.ntasks_per_node if counts is not None else None
    shape = (0, 0, 0)
    if counts is not None:
        shape = (counts.sockets_per_node or 0, counts.cores_per_socket or 0, threads or 0)
    features, any_feature, on_some = _features(request.value("constraint"))
    return Demand(
        nodes, most, cpus, threads == 1, shape, *memory,
        _tmp(request), partition.whole_nodes or request.exclusive == "", gpus,
        request.gpus.kind or "", _gres(request), features, any_feature, on_some, total,
        _all_gpus(request, nodes, tasks, gpus), -(-tasks // per_node) if tasks is not None and per_node else 0,
    )  # fmt: skip


def _cpus_for_memory(request: Request, profile: Profile, partition: Partition) -> int:
    """The CPUs of a node that a job must have for its --mem where so much may belong to each (`MaxMemPerCPU`)."""
    memory = request.memory
    most = partition.max_memory_per_cpu or (None if partition.max_memory_per_node else profile.max_memory_per_cpu)
    return -(-memory.megabytes // most) if memory is not None and memory.per == "node" and most else 0


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
    if gpus.per_socket is not None:
        return gpus.per_socket * ((request.counts.sockets_per_node if request.counts is not None else None) or 1)
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
    found = []
    for option in ("gres", "gpus-per-node"):
        text = request.value(option)
        items = None if text is None else resource_items(option, text, request.version)
        several = len({each.type for each in items or () if each.name == GPU}) > 1
        found += [
            (each.name, each.type, each.count) for each in items or () if each.count and (several or each.name != GPU)
        ]
    return tuple(dict.fromkeys(found))


def feature_names(constraint: str | None) -> list[str]:
    """The features that an expression names, in order."""
    names = _NAMES.findall(_COUNTED.sub("", constraint or ""))
    return [name.strip() for name in names if name.strip()]


def _features(constraint: str | None) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, int], ...]]:
    """The features that each node must have, those of which it must have one, and those that some must have.

    None of these where it is more than `a&b`, `a|b`, `a*2&b*3` or `[a*2&b*3]`.
    """
    if not constraint or any(sign in constraint for sign in "()"):
        return (), (), ()
    names = tuple(feature_names(constraint))
    mixed = "&" in constraint or "," in constraint
    if "*" in constraint or "[" in constraint and mixed:
        numbers = [(name.strip(), whole(number or "1") or 0) for name, number in _NUMBERED.findall(constraint)]
        return (), (), tuple(numbers) if "|" not in constraint and constraint.count("[") < 2 else ()
    if "|" not in constraint:
        return names, (), ()
    return ((), names, ()) if not mixed else ((), (), ())


# --- against nodes ------------------------------------------------------------------------------


def usable_cpus(nodes: Nodes, demand: Demand) -> int | None:
    """The CPUs of a node that count for the job."""
    if nodes.cpus is None:
        return None
    return nodes.cpus // nodes.threads_per_core if demand.one_thread else nodes.cpus


def shape_of(nodes: Nodes) -> tuple[int | None, int | None, int | None]:
    """The sockets of a node, the cores of a socket, the threads of a core; None where they are not known."""
    threads = nodes.threads_per_core if nodes.sockets is not None or nodes.threads_per_core > 1 else None
    return nodes.sockets, nodes.cores_per_socket, threads


def memory_on(nodes: Nodes, demand: Demand) -> int:
    """MB that the job needs of a node of this kind."""
    return max(demand.memory, demand.memory_per_cpu * (nodes.cpus or 0) if demand.whole else 0)


def lacks(nodes: Nodes, demand: Demand, partition: Partition) -> list[str]:
    """What nodes of a kind have too little of: cpus, shape, memory, tmp, gpus, gres, features; not what is unknown."""
    found = []
    cpus = usable_cpus(nodes, demand)
    most = partition.max_cpus_per_node or cpus
    if cpus is not None and most is not None and (demand.cpus > min(cpus, most) or demand.whole and most < cpus):
        found.append("cpus")
    if any(has is not None and asked > has for asked, has in zip(demand.shape, shape_of(nodes), strict=True)):
        found.append("shape")
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
