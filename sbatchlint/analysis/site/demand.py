"""What a job asks of each of its nodes, and of all together: lower bounds, so that what does not fit never fits.

`select_nodes()` of src/slurmctld/job_mgr.c and select/cons_tres, whose `_allocate_sc()` (later `_allocate()`) takes no
node of which `MaxCPUsPerNode` keeps CPUs back for a job that has all of them: with --exclusive, and before 24.05 with
any value of it. tests/slurm/test_site_live.py asks a live controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.constraints import Constraint, constraint_of
from sbatchlint.analysis.site.targets import Target
from sbatchlint.job.request import Request, resource_items
from sbatchlint.site.profile import GPU, gpus_of, gres_of, nodes_of
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Partition, Profile

_NAMES = Regex(r"[^&|,\[\]()*]+")
_COUNTED = Regex(r"\*[ \t]*[0-9]+")


class Share(NamedTuple):
    """What is asked of one node: CPUs, MB of memory, GPUs."""

    cpus: int
    memory: int
    gpus: int


class Tasks(NamedTuple):
    """The tasks that the nodes share out: how many, and what each of them needs, memory in MB.

    `number`: 0 where they may be more than the CPUs (--overcommit), or are not known.
    """

    number: int
    cpus: int
    memory: int
    gpus: int


class Places(NamedTuple):
    """How many tasks a socket and a core may have (0: any number), and how many a node has at the least.

    `by_core`: before 26.05, single CPUs of a socket are counted by whole cores.
    """

    of_socket: int
    of_core: int
    of_node: int
    by_core: bool

    def said(self) -> str:
        """The options that ask for it."""
        options = (("--ntasks-per-socket", self.of_socket), ("--ntasks-per-core", self.of_core))
        return " and ".join(f"{name}={number}" for name, number in options if number)


class Demand(NamedTuple):
    """What is asked for.

    `even`: of each node if the tasks, or the GPUs of the job, are spread evenly; `cpus_for_limit`: those
    of a node as a limit of its memory counts them, --overcommit or not. `least`: of each node at the least.
    `listed`: what the controller compares with nodes before it looks for free ones, and so also with those that are
    named. `one_thread`: of each core, one thread counts; `by_core`: or may. `shape`: the sockets of each node, the
    cores of a socket and the threads of a core, 0 for any number. `tmp`: MB of the temporary file system of each node.
    `whole`: a job has all CPUs of its nodes, and `memory_per_cpu` (MB) for each of them; `memory_per_gpu`: for each
    GPU. `all_cpus`: the partition may not keep any CPU of its nodes from the job (`MaxCPUsPerNode`).
    `kind`: the type of the GPUs; '' for any. `gres`: further resources of each node, (name, type, number); GPUs of
    several types, too. `constraint`: the features of the nodes. `total_cpus`, `total_gpus`: of all nodes;
    `limited_cpus`: as a limit that refuses the job counts them. `nodes`: how
    many at least, `most_nodes`: at most; None for no bound. `more_nodes`: for `total_gpus` it may have more than one,
    though that is the most. `spread`: the nodes without which the tasks are more than --ntasks-per-node allows.
    `most_cpus`: those that the tasks on a node have at the most, where no others are given; None for no bound.
    `on_one_core`: the tasks that have a core together; 0 where they may have more. `places`: those for tasks.
    """

    nodes: int
    most_nodes: int | None
    even: Share
    cpus_for_limit: int
    least: Share
    listed: Share
    tasks: Tasks
    one_thread: bool
    by_core: bool
    shape: tuple[int, int, int]
    memory_per_cpu: int
    tmp: int
    whole: bool
    all_cpus: bool
    kind: str
    gres: tuple[tuple[str, str, int], ...]
    constraint: Constraint
    total_cpus: int
    limited_cpus: int
    total_gpus: int
    memory_per_gpu: int
    more_nodes: bool
    spread: int
    most_cpus: int | None
    on_one_core: int
    places: Places

    @property
    def wants_more_cpus(self) -> bool:
        """Whether a job wants more CPUs of a node than its tasks with GPUs may have."""
        return self.most_cpus is not None and self.listed.cpus > self.most_cpus


def demand_of(target: Target, name: str) -> Demand:
    """What a component asks for in a partition."""
    request, profile = target.request, target.profile
    partition = profile.partitions[name]
    counts = request.counts
    nodes = counts.min_nodes if counts is not None else request.nodes.minimum if request.nodes is not None else 1
    nodes = max(nodes, partition.min_nodes or 1)
    most = _most_nodes(request)
    tasks = counts.ntasks if counts is not None and counts.ntasks_given else None
    per_node = (counts.ntasks_per_node if counts is not None else None) or 1
    of_one = tasks if tasks is not None and most == 1 else per_node  # tasks of each node, at least
    of_one = max(of_one, per_node)
    on_average = max(per_node, -(-tasks // most)) if tasks is not None and most else per_node
    by_gpu = counts is not None and counts.ntasks_per_gpu is not None
    asked = (counts.cpus_per_task if counts is not None else request.cpus_per_task) or 1
    memory, per_cpu, factor = _memory(request, profile, partition)
    # a task that has more CPUs for its memory has them to itself, as do the others: min_cpus of _valid_pn_min_mem()
    overcommit = request.has_option("overcommit") and factor == 1
    stacked = overcommit or by_gpu
    # where a task gets more CPUs for its memory, and tasks are not counted, the controller forgets --mincpus
    own = 0 if factor > 1 and tasks is None else whole(request.value("mincpus")) or 0
    ntasks_per_node = (counts.ntasks_per_node if counts is not None else None) or 0
    for_memory, each = _with_memory(target, name, _Cpus(asked * factor, own, ntasks_per_node, tasks, nodes))

    # with GPUs, the tasks of a single node are held against its CPUs, --overcommit or not: seen with 22.05 and 26.05
    crowded = overcommit and not by_gpu and most == 1 and bool(request.asks_for_gpus)

    def share(tasks_of_node: int, gpus: int) -> Share:
        counted = each * (tasks_of_node if not stacked else 1 if by_gpu else per_node)
        counted = max(counted, (whole(request.value("cpus-per-gpu")) or 0) * gpus)
        cpus = max(counted, each * tasks_of_node) if crowded else counted
        return Share(cpus, memory or per_cpu * counted or _per_gpu(request) * gpus, gpus)

    listed = max(each, own, for_memory)
    if not request.has_option("overcommit") and not by_gpu and (tasks is None or tasks > 1):
        listed = max(listed, each * per_node)
    gpus_per_task = request.gpus.per_task or 0
    threads = counts.threads_per_core if counts is not None else None
    shape = (0, 0, 0)
    if counts is not None:
        shape = (counts.sockets_per_node or 0, counts.cores_per_socket or 0, threads or 0)
    even, least = share(on_average, _even_gpus(request, most, on_average)), share(of_one, _gpus(request, most, of_one))
    # with --ntasks-per-gpu, --ntasks may be another number, by which the others are not known
    counted = max(request.tasks or 0, tasks or 0, counts.ntasks if counts is not None and by_gpu else 0)
    counted = counted or per_node * nodes
    total = 0 if request.has_option("overcommit") else asked * counted
    limited = total
    if by_gpu and not request.directives.versions.all_since("25.11"):  # gres_job_state_validate() in gres.c
        limited = min(total, asked * max(request.tasks or 0, 1))
    if overcommit and tasks and request.has_option("cpus-per-task") and _has_gres(request):
        if request.directives.versions.all_since("25.11"):  # the same function, for jobs with any GRES
            total = limited = asked * tasks
    all_gpus = _all_gpus(request, nodes, tasks, least.gpus)
    if request.directives.versions.all_since("23.02"):
        by_gpus = all_gpus * (whole(request.value("cpus-per-gpu")) or 0)
        total, limited = max(total, by_gpus), max(limited, by_gpus)
    required = partition.whole_nodes or request.exclusive == ""
    # when it takes a job, the controller asks --prefer of nodes in place of --constraint: 22.05.8 and 26.05.3 refuse a
    # job that the preferred nodes alone could never run (`select_nodes()`, `features_use`)
    asked_features = "prefer" if request.has_option("prefer") else "constraint"
    return Demand(
        nodes, most, even, max(asked * on_average, whole(request.value("mincpus")) or 0),
        least, Share(listed, memory or per_cpu, 0),
        Tasks(0 if stacked else tasks or 0, each, per_cpu * each, gpus_per_task),
        threads == 1, threads == 1 or request.has_option("ntasks-per-core"), shape, per_cpu,
        megabytes(request.value("tmp") or "") or 0, required,
        required or request.exclusive in ("user", "mcs") and is_before(request.version, "24.05"),
        request.gpus.kind or "", _gres(request), constraint_of(request.value(asked_features)),
        total, limited, all_gpus, _per_gpu(request), _may_take_more_nodes(request),
        -(-tasks // per_node) if tasks is not None and counts is not None and counts.ntasks_per_node else 0,
        _most_cpus(request, tasks, nodes, each), _on_one_core(request, tasks),
        _places(request, 0 if stacked else of_one),
    )  # fmt: skip


def _places(request: Request, of_node: int) -> Places:
    of_socket, of_core = (whole(request.value(f"ntasks-per-{part}")) or 0 for part in ("socket", "core"))
    plain = of_node and not _has_gres(request) and not request.has_option("ntasks-per-node")
    return Places(of_socket, of_core, of_node, bool(plain) and not request.directives.versions.all_since("26.05"))


def _has_gres(request: Request) -> bool:
    """Whether a job certainly asks for a resource of nodes: GPUs, or others."""
    return bool(request.asks_for_gpus or _gres(request))


def _on_one_core(request: Request, tasks: int | None) -> int:
    """The tasks of a job that 26.05.3 gives one core for all, and refuses if it has fewer threads; 0 for others.

    That is with --overcommit and GPUs by the task, also with --exclusive and on several nodes; 22.05.8 takes it.
    """
    more = ("cpus-per-task", "cpus-per-gpu", "ntasks-per-gpu", "nodelist")
    newest = request.directives.versions.all_since("26.05") and request.has_option("overcommit")
    return tasks or 0 if newest and request.gpus.per_task and not request.has_any_option(more) else 0


def _most_cpus(request: Request, tasks: int | None, nodes: int, per_task: int) -> int | None:
    """The CPUs of a node for a job whose GPUs are counted in all or by task; None for no bound.

    26.05.3 gives such a job CPUs for its tasks alone, and refuses one with more by --mincpus; 22.05.8 does not.
    """
    newest = request.directives.versions.all_since("26.05")
    by_task = request.gpus.total is not None or request.gpus.per_task is not None
    if not newest or not by_task or tasks is None or request.has_any_option(("cpus-per-gpu", "ntasks-per-gpu")):
        return None
    if tasks == nodes > 1:
        return None  # one task on each is a job of another kind
    return max(tasks - (nodes - 1), 1) * per_task


class _Cpus(NamedTuple):
    """What a job asks for: CPUs of a task, of a node (--mincpus), tasks of a node (0: not said), tasks, nodes."""

    per_task: int
    per_node: int
    ntasks_per_node: int
    ntasks: int | None
    nodes: int


def _with_memory(target: Target, name: str, asked: _Cpus) -> tuple[int, int]:
    """The CPUs of a node that a job must have for its --mem where so much may belong to each (`MaxMemPerCPU`), 0 for no
    more than it asks for, and then those of each task.

    `_valid_pn_min_mem()` in src/slurmctld/job_mgr.c; since 24.11.4 it spreads them over the tasks that are named, also
    where these had more, and has at least one for each: `-n 17 --mem=4G` may need a node of 17 CPUs.
    """
    for_memory = _cpus_for_memory(target.request, target.profile, name)
    several = asked.ntasks is None or asked.ntasks > 1
    own = asked.per_task * (
        asked.ntasks_per_node or 1 if several and not target.request.has_option("overcommit") else 1
    )
    if for_memory <= max(own, asked.per_node):
        return for_memory, asked.per_task
    if asked.ntasks_per_node:
        per_task = -(-for_memory // asked.ntasks_per_node)
        return max(for_memory, per_task * asked.ntasks_per_node), per_task
    if not _spreads(target):
        return for_memory, asked.per_task
    if asked.ntasks:
        per_task = -(-for_memory * asked.nodes // asked.ntasks)
        return per_task * asked.ntasks // asked.nodes, per_task
    return for_memory, for_memory


def _spreads(target: Target) -> bool:
    """Whether the controller spreads the CPUs that a job gets for its memory over its tasks."""
    release = target.profile.release or ""
    if release.startswith("24.11."):
        return (whole(release[6:]) or 0) >= 4
    return target.request.directives.versions.all_since("25.05")


def _cpus_for_memory(request: Request, profile: Profile, name: str) -> int:
    """The CPUs of a node to which its --mem may belong (`MaxMemPerCPU`).

    All memory of a node (`--mem=0`) is that of the smallest: which node the controller looks at is not known.
    """
    memory, most = request.memory, _most_per_cpu(profile, profile.partitions[name])
    if memory is None or memory.per != "node" or not most:
        return 0
    sizes = [each.memory or 0 for each in nodes_of(profile, name)]
    return -(-(memory.megabytes or min(sizes, default=0)) // most)


def _most_nodes(request: Request) -> int | None:
    nodes = request.effective_nodes()
    if nodes is not None and request.has_option("nodes"):
        return nodes.maximum
    return None


def _even_gpus(request: Request, most: int | None, tasks: int) -> int:
    """The GPUs of a node on which so many tasks run, and as many of those of the job as of any other."""
    total = request.gpus.total
    return -(-total // most) if total is not None and most else _gpus(request, most, tasks)


def _gpus(request: Request, most: int | None, tasks: int) -> int:
    """The GPUs of each node on which so many tasks run, at least."""
    gpus = request.gpus
    if gpus.per_node is not None:
        return gpus.per_node
    if gpus.total is not None:
        return gpus.total if most == 1 and not _may_take_more_nodes(request) else min(gpus.total, 1)
    if gpus.per_task is not None:
        return gpus.per_task * tasks
    if gpus.per_socket is not None:
        return gpus.per_socket * ((request.counts.sockets_per_node if request.counts is not None else None) or 1)
    return 0


def _may_take_more_nodes(request: Request) -> bool:
    """Whether a job with --gpus may have several nodes where one is the most.

    With -N 1 or MaxNodes=1, 26.05.3 takes more GPUs than a node has, 22.05.8 does not; of others it is not known.
    """
    return not is_before(request.version, "23.02") and request.gpus.total is not None


def _all_gpus(request: Request, nodes: int, tasks: int | None, on_a_node: int) -> int:
    gpus = request.gpus
    by_task = gpus.per_task * tasks if gpus.per_task is not None and tasks is not None else 0
    return max(gpus.total, by_task) if gpus.total is not None else max(by_task, on_a_node * nodes)


def _memory(request: Request, profile: Profile, partition: Partition) -> tuple[int, int, int]:
    """MB of each node, and of each CPU; 0 where it is not known, or all that there is. And how many CPUs a task has for
    each that it asks for: several where they may not have so much memory (`MaxMemPerCPU`, `_valid_pn_min_mem()`).
    """
    memory = request.memory
    counted = any("MEMORY" in each.upper() for each in profile.select_parameters)
    if memory is None or memory.per != "node" and not counted:
        return 0, 0, 1
    if memory.per == "cpu":
        most = _most_per_cpu(profile, partition) or memory.megabytes
        factor = max(-(-memory.megabytes // most), 1) if most else 1
        return 0, -(-memory.megabytes // factor), factor
    return memory.megabytes if memory.per == "node" else 0, 0, 1


def _per_gpu(request: Request) -> int:
    """MB of memory for each GPU."""
    memory = request.memory
    return memory.megabytes if memory is not None and memory.per == "gpu" else 0


def _most_per_cpu(profile: Profile, partition: Partition) -> int | None:
    """MB that each CPU may have; None for no limit."""
    return partition.max_memory_per_cpu or (None if partition.max_memory_per_node else profile.max_memory_per_cpu)


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
    """MB that the job needs of a node of this kind at least."""
    if not demand.whole:
        return demand.least.memory
    cpus = (nodes.cpus or 0) // (nodes.threads_per_core if demand.by_core else 1)
    if demand.places.of_socket:  # seen with 22.05: a job has no more of them, whole node or not
        cpus = min(cpus, demand.tasks.cpus * demand.places.of_socket * (nodes.sockets or 0))
    gpus = gpus_of(nodes, demand.kind) or 0  # all of them, however few it asks for
    return max(demand.least.memory, demand.memory_per_cpu * cpus, demand.memory_per_gpu * gpus)


def cpus_for_job(nodes: Nodes, demand: Demand, partition: Partition) -> int | None:
    """The CPUs of a node that the job may have in a partition."""
    cpus, most = usable_cpus(nodes, demand), partition.max_cpus_per_node
    found = [each for each in (cpus, most, _of_sockets(nodes, partition, demand.one_thread)) if each is not None]
    return None if cpus is None else min(found)


def _of_sockets(nodes: Nodes, partition: Partition, one_thread: bool) -> int | None:
    """The CPUs of a node by what the partition allows of each socket (`MaxCPUsPerSocket`); None without a limit."""
    if partition.max_cpus_per_socket is None or nodes.sockets is None:
        return None
    cores = nodes.sockets * (partition.max_cpus_per_socket // nodes.threads_per_core)
    return cores * (1 if one_thread else nodes.threads_per_core)


def lacks(nodes: Nodes, demand: Demand, partition: Partition) -> list[str]:
    """What nodes of a kind have too little of: cpus, tasks, shape, memory, tmp, gpus, gres, features.

    Not what is unknown; `tasks`: places for them.
    """
    found = []
    allowed, most = cpus_for_job(nodes, demand, partition), partition.max_cpus_per_node
    every = [each for each in (nodes.cpus, _of_sockets(nodes, partition, False)) if each is not None]
    kept_back = demand.all_cpus and most is not None and bool(every) and most < min(every)
    if (
        demand.wants_more_cpus
        or kept_back
        or allowed is not None
        and demand.least.cpus > allowed
        or _lacks_listed_cpus(nodes, demand)
    ):
        found.append("cpus")
    places = places_on(nodes, demand)
    if places is not None and demand.places.of_node > places:
        found.append("tasks")
    if _lacks_shape(nodes, demand):
        found.append("shape")
    if nodes.memory is not None and memory_on(nodes, demand) > nodes.memory:
        found.append("memory")
    if nodes.tmp_disk is not None and demand.tmp > nodes.tmp_disk:
        found.append("tmp")
    gpus = gpus_of(nodes, demand.kind)
    if gpus is not None and demand.least.gpus > gpus:
        found.append("gpus")
    resources = gres_of(nodes)
    for name, kind, number in demand.gres if nodes.gres is not None else ():
        if number > sum(each.number for each in resources if each.name == name and kind in ("", each.type)):
            found.append("gres")
    if _lacks_features(nodes, demand):
        found.append("features")
    return found


def lacks_listed(nodes: Nodes, demand: Demand) -> list[str]:
    """What nodes of a kind lack by what the controller knows of them before it looks which are free.

    `_build_node_list()` in src/slurmctld/node_scheduler.c.
    """
    found = {
        "cpus": _lacks_listed_cpus(nodes, demand),
        "shape": _lacks_shape(nodes, demand),
        "memory": nodes.memory is not None and demand.listed.memory > nodes.memory,
        "tmp": nodes.tmp_disk is not None and demand.tmp > nodes.tmp_disk,
        "features": _lacks_features(nodes, demand),
    }
    return [what for what, lacking in found.items() if lacking]


def _lacks_listed_cpus(nodes: Nodes, demand: Demand) -> bool:
    return nodes.cpus is not None and demand.listed.cpus > nodes.cpus


def _lacks_shape(nodes: Nodes, demand: Demand) -> bool:
    return any(has is not None and asked > has for asked, has in zip(demand.shape, shape_of(nodes), strict=True))


def _lacks_features(nodes: Nodes, demand: Demand) -> bool:
    if nodes.features is None:
        return False
    of_each = demand.constraint.of_each
    return of_each is not None and not of_each.holds(set(nodes.features))


def gpus_for_job(nodes: Nodes, demand: Demand) -> int | None:
    """The GPUs of a node that the job may have, of its type, for as many as there is memory."""
    gpus, each = gpus_of(nodes, demand.kind), demand.memory_per_gpu
    return gpus if gpus is None or nodes.memory is None or not each else min(gpus, nodes.memory // each)


def tasks_on(nodes: Nodes, demand: Demand, partition: Partition) -> dict[str, int]:
    """The tasks for which a node of a kind has enough of each: cpus, tasks, memory, gpus; without what is not known."""
    tasks, gpus = demand.tasks, gpus_for_job(nodes, demand)
    has = {"cpus": cpus_for_job(nodes, demand, partition), "memory": nodes.memory, "gpus": gpus}
    needs = {"cpus": tasks.cpus, "memory": tasks.memory, "gpus": tasks.gpus}
    found = {what: number // needs[what] for what, number in has.items() if number is not None and needs[what]}
    places = places_on(nodes, demand)
    return found if places is None else {**found, "tasks": places}


def places_on(nodes: Nodes, demand: Demand) -> int | None:
    """The tasks that --ntasks-per-socket and --ntasks-per-core leave on a node; None where that is not known.

    `_allocate_sc()` in src/plugins/select/cons_tres/job_test.c.
    """
    (of_socket, of_core, _, by_core), cpus = demand.places, demand.tasks.cpus
    if not (of_socket or of_core) or nodes.sockets is None or nodes.cores_per_socket is None:
        return None
    threads, cores = 1 if demand.one_thread else nodes.threads_per_core, nodes.sockets * nodes.cores_per_socket
    found = []
    if of_socket:
        several = by_core and cpus == 1 and of_core != 1
        found.append(nodes.sockets * (-(-of_socket // threads) * threads if several else of_socket))
    if of_core == 1 and cpus > threads:
        found.append(cores // -(-cpus // threads))
    elif of_core:
        found.append(cores * min(threads, of_core * cpus) // cpus)
    return min(found)


def listed_nodes(request: Request) -> tuple[str, ...] | None:
    """The nodes of --nodelist; None if there is none, or where they are not known."""
    return hosts(request.value("nodelist"))


def hosts_of(kinds: Iterable[Nodes]) -> set[str]:
    """The names of the nodes of these kinds, as far as they are known."""
    return {host for each in kinds for host in hosts(each.names) or ()}
