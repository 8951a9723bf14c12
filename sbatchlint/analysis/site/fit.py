"""What keeps a job out of a partition: its limits, its state, and what its nodes have.

Seen live with a controller of 22.05 (tests/slurm/test_site_live.py): what no node has is refused whatever the settings;
what is beyond a limit of the partition (time, nodes, CPUs of all nodes) is refused with `EnforcePartLimits` ALL or ANY,
and else waits for good. Of several partitions, ANY is content with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.constraints import Expression
from sbatchlint.analysis.site.defaults import default_memory
from sbatchlint.analysis.site.demand import (
    Demand,
    cpus_for_job,
    demand_of,
    gpus_for_job,
    hosts_of,
    lacks,
    lacks_listed,
    listed_nodes,
    places_on,
    shape_of,
    tasks_on,
    usable_cpus,
)
from sbatchlint.analysis.site.names import listing
from sbatchlint.analysis.site.policy import beyond_qos, given_minutes, most_nodes
from sbatchlint.analysis.site.targets import Target, accounts_of, lifts_limits, qos_name, qos_of, shown, targets
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.request import MEMORY_OPTIONS
from sbatchlint.site.profile import gpu_types, gpus_of, limit, lists, nodes_of, total, whole_minutes
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.times import UNLIMITED, minutes
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import counted

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Partition

CLOSED = ("DRAIN", "INACTIVE")


class Obstacle(NamedTuple):
    """Why a partition does not take a job. `waits`: the job is accepted all the same, and waits for good.

    `kind`: state, access, qos, time, nodes, cpus, shape, memory, tmp, gpus, gres, features, together, nodelist,
    exclude, policy, qos-time, account, group. `asks`: what is asked for; `says`: what the partition has instead, or the
    QOS allows. `limit`: of those at which the controller looks first, and not at the nodes where the job waits for one.
    `options`: those that ask for it, where the kind does not tell.
    """

    kind: str
    asks: str
    says: str
    waits: bool
    limit: bool = False
    options: tuple[str, ...] = ()


class Stop(NamedTuple):
    """A component that none of its partitions takes, or one does not where that is enough; the obstacles of each.

    `waits`: whether sbatch takes the job, which then waits for good.
    """

    target: Target
    obstacles: dict[str, list[Obstacle]]
    waits: bool

    def of(self, *kinds: str) -> tuple[str, Obstacle] | None:
        """The first obstacle of one of these kinds, and its partition; one that is refused at once comes first."""
        found = [(name, each) for name, every in self.obstacles.items() for each in every if each.kind in kinds]
        return min(found, key=lambda pair: pair[1].waits, default=None)

    @property
    def effect(self) -> str:
        if self.waits and self.target.request.has_option("nodelist"):
            return "the job never starts"  # refused while the nodes are free, else it waits
        return "the job waits forever" if self.waits else "sbatch refuses the job"

    def sentence(self, name: str, obstacle: Obstacle) -> str:
        """What is asked for, and what there is instead."""
        verb = "needs nodes with" if obstacle.kind == "features" else "requests"
        asks = f"it {verb} {obstacle.asks}, and " if obstacle.asks else ""
        if obstacle.kind in ("policy", "qos-time"):
            return asks + obstacle.says
        # the nodes of the partition, or the partition itself
        return f"{asks}{shown(self.target, name)} {obstacle.says.replace('nodes have', 'has nodes with', 1)}"


@once
def stops(job: Job) -> tuple[Stop, ...]:
    """The components of a job that the cluster does not take."""
    found = []
    for target in targets(job):
        every = {name: list(_of_partition(target, name)) for name in target.partitions}
        strict = target.profile.enforce_part_limits
        enough = {"ALL": ("state",), "ANY": _NOT_OF_ANY}.get(strict or "", (*_NOT_OF_ANY, "access"))
        limited = any(
            each.limit and each.kind not in enough and not each.waits for one in every.values() for each in one
        )
        if all(every.values()) or limited:
            found.append(Stop(target, every, not limited and any(map(_waits, every.values()))))
    return tuple(found)


def _waits(obstacles: list[Obstacle]) -> bool:
    """Whether a job waits for a partition: a limit that lets it wait is looked at before the nodes are."""
    if any(each.limit and not each.waits for each in obstacles):
        return False
    return any(each.limit for each in obstacles) or all(each.waits for each in obstacles)


# What keeps a job out of one of several partitions and leaves the others, if the limits of any will do.
_NOT_OF_ANY = ("state", "qos", "account", "group", "time", "nodes", "cpus", "memory", "nodelist")
_NEVER = 2**31


def _of_partition(target: Target, name: str) -> list[Obstacle]:
    partition, profile, request = target.profile.partitions[name], target.profile, target.request
    demand, kinds = demand_of(target, name), nodes_of(profile, name)
    found: list[Obstacle] = []
    if partition.state in CLOSED:
        found.append(Obstacle("state", "", f"is closed ({partition.state})", False, True))
    if partition.root_only or partition.reservation_required and not request.has_option("reservation"):
        whom = "is for root alone" if partition.root_only else "takes only jobs with a reservation; name yours"
        found.append(Obstacle("access", "", whom, False, True))
    # of a partition that is down, the controller does not look at the limits, but at what it has beside named nodes
    beyond = _beyond_limits(target, name, demand, kinds)
    down, listed = partition.state == "DOWN", bool(listed_nodes(request)) or request.has_option("hold")
    found += [each._replace(waits=listed) for each in beyond if each.says.startswith("has ")] if down else beyond
    found += [
        # where it waits, the amounts are looked at when nodes are found for it: acct_policy_job_runnable_post_select()
        Obstacle(kind, each.asks, each.says, each.waits, kind == "qos-time" or not each.waits, each.options)
        for each in beyond_qos(target, name, demand)
        for kind in ["qos-time" if each.kind == "time" else "policy"]
    ]
    if kinds and lists(profile, "nodes"):
        number = partition.nodes if (known := total(kinds)) is None else known
        every = _of_nodes(
            demand, kinds, target, name, _most_nodes(number, partition.max_nodes, most_nodes(target, name))
        )
        # for a held job it does not look at them before it is released
        later = request.has_option("hold") or _later(target, name, demand)
        later = later or request.has_option("spread-job") and not request.has_option("nodes")
        found += [each._replace(waits=each.waits or later and not each.limit) for each in every]
    if down and not is_before(request.version, "24.11"):
        found = [each._replace(waits=True) for each in found]  # seen with 26.05; its code is that of 24.11
    return found


def _later(target: Target, name: str, demand: Demand) -> bool:
    """Whether a job may wait for a limit of the partition that it can go below, or that a QOS may lift."""
    if target.profile.enforce_part_limits in ("ALL", "ANY"):
        return False
    partition = target.profile.partitions[name]
    most, asked, counts = limit(partition.max_time), _minutes(target, "time"), target.request.counts
    if asked is None and (given := given_minutes(target, name, demand)) is not None:
        asked = given.minutes
    if most is not None and asked is not None and asked > most:
        return True
    if is_before(target.request.version, "26.05"):
        return False
    number = partition.nodes if (known := total(nodes_of(target.profile, name))) is None else known
    if target.request.has_option("overcommit") and counts is not None and partition.max_cpus_per_node and number:
        # seen with GPUs of two types: 26.05.3 may count the CPUs of the tasks all the same
        if counts.ntasks * (counts.cpus_per_task or 1) > partition.max_cpus_per_node * number:
            return True
    return (
        not target.request.has_option("nodes")
        and counts is not None
        and counts.ntasks > (partition.max_nodes or counts.ntasks)
    )


def _minutes(target: Target, option: str) -> int | None:
    """The minutes that are asked for; `--time=0` is without limit."""
    asked = minutes(target.request.value(option))
    return _NEVER if asked == UNLIMITED else asked


def _beyond_limits(target: Target, name: str, demand: Demand, kinds: list[Nodes]) -> Iterator[Obstacle]:
    """The limits of a partition that a job does not keep: `_part_access_check()` and `_valid_pn_min_mem()`."""
    partition, profile, request = target.profile.partitions[name], target.profile, target.request
    waits = profile.enforce_part_limits not in ("ALL", "ANY")
    yield from _beyond_time(target, name, demand, waits)
    yield from _other_users(target, partition, waits)
    qos = qos_name(target) if qos_of(target) is not None or lists(profile, "qos") else None
    if qos is not None and partition.allow_qos is not None and qos not in partition.allow_qos:
        yield Obstacle("qos", f"the QOS `{qos}`", f"takes {listing(partition.allow_qos)}", waits, True)
    elif qos is not None and partition.allow_qos is None and qos in (partition.deny_qos or ()):
        yield Obstacle("qos", f"the QOS `{qos}`", f"takes any but {listing(partition.deny_qos or ())}", waits, True)
    number = total(kinds) if kinds else None
    number = partition.nodes if number is None else number
    asked = request.nodes.minimum if request.nodes is not None else None
    named = listed_nodes(request)
    if named and asked is None and is_before(request.version, "23.02"):
        asked = len(named)  # sbatch asks for as many nodes as --nodelist names
    counts, newest = request.counts, request.directives.versions.all_since("26.05")
    spread = request.has_option("spread-job")
    largest, tasks = demand.nodes, counts.ntasks if counts is not None else 0
    if counts is not None and request.has_option("nodes"):
        largest = max(largest, counts.max_nodes or 0)
    elif newest or spread:  # before 26.05, the tasks of other jobs do not count for the limit of the partition
        every = total(profile.nodes) if spread and lists(profile, "nodes") else None
        largest = max(largest, tasks if every is None else min(tasks, every))
    if newest and asked is None and not waits and counts is not None:
        asked = len(named) if named else counts.min_nodes  # where it may wait, it gets as many as the partition needs
    least = partition.min_nodes or 0
    bounded = partition.max_nodes is not None and not lifts_limits(target, "PartitionMaxNodes")
    if bounded and partition.max_nodes is not None and largest > partition.max_nodes:
        asks = counted(largest, "node") if largest == demand.nodes else f"{demand.nodes} to {counted(largest, 'node')}"
        if not request.has_option("nodes") and largest > demand.nodes:
            asks = f"{tasks} tasks without --nodes, and so up to {counted(largest, 'node')}"
        yield Obstacle("nodes", asks, f"allows {counted(partition.max_nodes, 'node')}", waits, True)
    elif partition.min_nodes is not None and asked is not None and asked < partition.min_nodes:
        yield Obstacle("nodes", counted(asked, "node"), f"needs {counted(partition.min_nodes, 'node')}", waits, True)
    elif (newest or spread) and counts is not None and counts.ntasks_given and asked is None and tasks < least:
        asks = counted(tasks, "task")
        yield Obstacle("nodes", asks, f"needs {counted(least, 'node')}", waits and not newest, True)
    elif number is not None and demand.nodes > number and (kinds or partition.nodes):
        yield Obstacle("nodes", counted(demand.nodes, "node"), f"has {counted(number, 'node')}", waits, True)
    cpus = _all_cpus(kinds)
    asked_cpus = demand.total_cpus if waits else demand.limited_cpus
    if cpus is not None and asked_cpus > cpus:
        yield Obstacle("cpus", f"{asked_cpus} CPUs", f"has {cpus}", waits, True)
    elif number is not None and partition.max_cpus_per_node is not None:
        cpus = partition.max_cpus_per_node * number
        if asked_cpus > cpus:
            says = f"has {cpus}, {partition.max_cpus_per_node} of each node"
            yield Obstacle("cpus", f"{asked_cpus} CPUs", says, waits, True)
    per_node = partition.max_memory_per_node
    if per_node is None and partition.max_memory_per_cpu is None:
        per_node = profile.max_memory_per_node
    if per_node is not None and (memory := _least_memory(target, partition, demand, kinds)) > per_node:
        by_default = "" if request.has_any_option(MEMORY_OPTIONS) else " by default"
        yield Obstacle("memory", f"{memory}M of memory on a node{by_default}", f"allows {per_node}M", waits, True)


def _other_users(target: Target, partition: Partition, waits: bool) -> Iterator[Obstacle]:
    """Whether a partition is not for the account of the job, or (a profile of one user) the groups of the user.

    `part_policy_valid_acct()` and `validate_group()` in src/slurmctld/partition_mgr.c; 22.05 refuses a group always.
    """
    profile, request = target.profile, target.request
    accounts, allowed, denied = accounts_of(profile, request), partition.allow_accounts, partition.deny_accounts
    if accounts and (allowed is not None or denied):
        wrong = [each for each in accounts if (each in (denied or ()) if allowed is None else each not in allowed)]
        if len(wrong) == len(accounts):
            by_default = "" if request.has_option("account") else " by default"
            asks = f"the account `{accounts[0]}`{by_default}" if len(accounts) == 1 else ""
            names = allowed if allowed is not None else denied or ()
            some = "the account" if len(names) == 1 else "the accounts"
            takes = "takes any account but" if allowed is None else f"takes {some}" if allowed else "takes none"
            yield Obstacle("account", asks, f"{takes} {listing(names)}".rstrip(), waits, True)
    groups = partition.allow_groups
    if groups is not None and profile.groups is not None and not set(groups) & set(profile.groups):
        later = waits and not is_before(request.version, "23.02")
        some = "the group" if len(groups) == 1 else "the groups"
        yield Obstacle("group", "", f"is for users of {some} {listing(groups)}", later, True)


def _beyond_time(target: Target, name: str, demand: Demand, waits: bool) -> Iterator[Obstacle]:
    partition = target.profile.partitions[name]
    most, asked, least = limit(partition.max_time), _minutes(target, "time"), _minutes(target, "time-min")
    if most is None or lifts_limits(target, "PartitionTimeLimit"):
        return
    says = f"allows {whole_minutes(most)}"
    if least is not None and least > most:
        yield Obstacle("time", f"at least {whole_minutes(least)}", says, False, True, ("time-min",))
    elif asked is not None and asked > most and not (waits and target.request.has_option("time-min")):
        yield Obstacle("time", "an unlimited time" if asked == _NEVER else whole_minutes(asked), says, waits, True)
    given = given_minutes(target, name, demand)
    if given is not None and given.minutes > most:
        asks = f"no time, has the {whole_minutes(given.minutes)} that {given.whose} allows"
        yield Obstacle("time", asks, says, waits, True)


def _all_cpus(kinds: list[Nodes]) -> int | None:
    """The CPUs of all of these nodes; None where they are not known."""
    if not kinds or not all(each.cpus and each.count for each in kinds):
        return None
    return sum((each.cpus or 0) * (each.count or 0) for each in kinds)


def _least_memory(target: Target, partition: Partition, demand: Demand, kinds: list[Nodes]) -> int:
    """MB of a node as the limit of a partition counts them; 0 where it is not known.

    Also those of all of it (`--mem=0`), and what a job gets that asks for none.
    """
    request, profile, sizes = target.request, target.profile, [each.memory for each in kinds]
    memory = request.memory
    if not request.has_any_option(MEMORY_OPTIONS):
        by_gpu = partition.default_memory_per_gpu or profile.default_memory_per_gpu
        by_memory = any("MEMORY" in each.upper() for each in profile.select_parameters)
        memory = default_memory(profile, partition) if by_memory and not by_gpu else None
    if memory is None:
        return 0
    if memory.per == "node":
        return memory.megabytes or (min(size or 0 for size in sizes) if sizes else 0)
    if memory.per != "cpu":
        return demand.even.memory
    of_whole = min((each.cpus or 0 for each in kinds), default=0) if demand.whole else 0
    return memory.megabytes * max(demand.cpus_for_limit, of_whole)


def _most_nodes(*bounds: int | None) -> int:
    """The least of these bounds, without those that are not known."""
    return min((each for each in bounds if each), default=_NEVER)


def _without(kinds: list[Nodes], excluded: set[str]) -> list[Nodes]:
    """The kinds of nodes with what is left of them when some nodes are excluded."""
    from msgspec.structs import replace  # with a profile alone

    left = []
    for each in kinds:
        named = hosts(each.names)
        if each.count is None or not named or len(named) != each.count:
            left.append(each)
        elif count := len(set(named) - excluded):
            left.append(replace(each, count=count))
    return left


def _of_nodes(demand: Demand, kinds: list[Nodes], target: Target, name: str, most: int) -> list[Obstacle]:
    """What the nodes of a partition do not have, each or together: `select_nodes()`."""
    partition = target.profile.partitions[name]
    found: list[Obstacle] = []
    listed = listed_nodes(target.request)
    # seen with 22.05, not with 26.05; where it changed between them is not known
    loose = target.request.has_option("mem") and is_before(target.request.version, "26.05")
    cpus = _all_cpus(kinds)
    if cpus is not None and demand.total_cpus > cpus >= demand.limited_cpus:
        return [Obstacle("cpus", f"{demand.total_cpus} CPUs", f"has {cpus}", bool(listed))]
    least = target.request.nodes.minimum if target.request.nodes is not None else None
    if listed and least and len(listed) > least and not is_before(target.request.version, "23.02"):
        # some of them; sbatch of 22.05 asks for all, or refuses it
        if len(set(listed) & hosts_of(kinds)) < demand.nodes:
            return [Obstacle("nodelist", f"nodes of {len(listed)} that it names", "does not have them", False)]
        kinds = _without(kinds, hosts_of(kinds) - set(listed))  # the others are excluded: _job_create() in job_mgr.c
        listed = None
    if listed:
        inside, every = hosts_of(kinds), hosts_of(target.profile.nodes)
        outside = [host for host in listed if host not in inside and host in every]
        if outside:
            first = target.profile.enforce_part_limits in ("ALL", "ANY")
            return [Obstacle("nodelist", f"node {outside[0]}", "does not have it", False, first)]
    excluded = hosts(target.request.value("exclude"))
    if excluded:
        kinds = _without(kinds, set(excluded))
        if not kinds:
            return [Obstacle("exclude", "none of its nodes", "has no others", False)]
    missing = {id(each): lacks(each, demand, partition) for each in kinds}
    for each in kinds:
        if not hosts_of([each]) & set(listed or ()):
            continue
        at_once = lacks_listed(each, demand)
        for what in [*at_once, *missing[id(each)]][:1]:
            says = _most(what, [each], demand, partition)
            # where one of them is not free, the controller looks at nothing else
            return [Obstacle(what, f"{_asked(what, demand, partition)} of the nodes that it names", says, not at_once)]
    fitting = [each for each in kinds if not missing[id(each)]]
    if listed and len(listed) < demand.nodes:
        return _of_all(demand, kinds, min(demand.most_nodes or most, most), partition, True, loose)
    if not fitting:
        in_all = [what for what in _ORDER if all(what in missing[id(each)] for each in kinds)]
        if not in_all:
            return [
                Obstacle(
                    "together", _asked("together", demand, partition), "has no node with all of that at once", False
                )
            ]
        return [
            Obstacle(what, _asked(what, demand, partition), _most(what, kinds, demand, partition), False)
            for what in in_all
        ]
    threads = max(each.threads_per_core for each in fitting)
    if demand.on_one_core > threads:
        asks = f"{demand.on_one_core} tasks with GPUs on one core (--overcommit)"
        return [Obstacle("cpus", asks, f"nodes have {counted(threads, 'thread')} a core", False)]
    count = total(fitting)
    if count is not None and demand.nodes > count and len(fitting) < len(kinds) and demand.nodes <= most:
        what = next(what for what in _ORDER if any(what in missing[id(each)] for each in kinds))
        asks = f"{counted(demand.nodes, 'node')} with {_asked(what, demand, partition)}"
        return [Obstacle(what, asks, f"has {counted(count, 'node')} with that", False)]
    if count is not None and demand.spread > min(count, most):
        asks = f"{counted(demand.spread, 'node')}, by its tasks and --ntasks-per-node"
        return [
            Obstacle(
                "nodes", asks, f"has {counted(min(count, most), 'node')} for it", demand.spread <= count or bool(listed)
            )
        ]
    lacking = _lacking_features(demand, fitting, target, name)
    if lacking is not None:
        return [lacking]
    if demand.constraint.of_some:
        return []  # nodes are looked for by feature, with a CPU each
    for feature in demand.constraint.alike:  # the last one says what is lacking
        same = [nodes for nodes in fitting if nodes.features is None or feature.holds(set(nodes.features))]
        number_of_these = total(same)
        if number_of_these is not None and number_of_these < demand.nodes:
            continue
        found = _of_all(demand, same, min(demand.most_nodes or most, most), partition, bool(listed), loose)
        if not found:
            return []
    if demand.constraint.alike:
        return found
    if demand.nodes <= most:
        return _of_all(demand, fitting, min(demand.most_nodes or most, most), partition, bool(listed), loose)
    return []


def _lacking_features(demand: Demand, kinds: list[Nodes], target: Target, name: str) -> Obstacle | None:
    """What the nodes that fit do not have together of the features that only some must have, or all the same."""
    _, alike, of_some = demand.constraint
    partition = target.profile.partitions[name]

    def having(expression: Expression) -> int | None:
        return total(each for each in kinds if each.features is None or expression.holds(set(each.features)))

    most = max((each.number for each in of_some), default=0)
    least = 1 if is_before(target.request.version, "23.02") else 2  # with -N 1, 26.05 takes as many as it needs
    allowed = None if lifts_limits(target, "PartitionMaxNodes") else partition.max_nodes
    allowed = min((each for each in (allowed, most_nodes(target, name)) if each), default=None)
    if most > (given := _most_nodes(demand.most_nodes, allowed)) >= least:
        asks = " and ".join(f"{each.said()} ({each.number})" for each in of_some)
        return Obstacle("features", asks, f"gives it {counted(given, 'node')}", False)
    for place, each in enumerate(of_some):
        nodes = having(each)
        if nodes is not None and nodes < each.number:
            asks = each.said() if each.number < 2 else f"{each.said()} ({each.number})"
            says = f"has {counted(nodes, 'node')} with it" if nodes else "has no node with it"
            return Obstacle("features", asks, says, place > 0)  # a job that only lacks a later one is taken, and waits
    counts = [having(each) for each in alike]
    known = [each for each in counts if each is not None]
    if alike and len(known) == len(counts) and demand.nodes > max(known):
        asks = f"{' or '.join(each.said(True) for each in alike)} ({demand.nodes})"
        return Obstacle("features", asks, f"has {counted(max(known), 'node')} with the same of them", False)
    return None


_ORDER = ("features", "gpus", "gres", "cpus", "tasks", "shape", "memory", "tmp")


def _of_all(
    demand: Demand, kinds: list[Nodes], most: int, partition: Partition, waits: bool, loose: bool
) -> list[Obstacle]:
    """The obstacles where the nodes, as many as the job may have, have too little together.

    `loose`: the CPUs are only counted; how many tasks find theirs on a node is not looked at.
    """
    found = []
    if 0 < demand.total_gpus < demand.nodes:
        asks = counted(demand.total_gpus, "GPU")
        found.append(Obstacle("gpus", asks, f"gives it {counted(demand.nodes, 'node')}", waits))
    nodes = sum(each.count or 0 for each in kinds) if demand.more_nodes and most == 1 else most
    gpus = _largest([(gpus_for_job(each, demand), each.count) for each in kinds], nodes)
    if gpus is not None and demand.total_gpus > gpus:
        memory = f" with {demand.memory_per_gpu}M of memory each" if demand.memory_per_gpu else ""
        found.append(
            Obstacle("gpus", f"{demand.total_gpus} GPUs{memory}", f"has {gpus} on {counted(nodes, 'node')}", waits)
        )
    room = [(tasks_on(each, demand, partition), each.count) for each in kinds]
    needs = [what for what in _NEEDS if all(what in each for each, _ in room)] if demand.tasks.number else []
    if loose and "cpus" in needs:
        cpus = _largest([(usable_cpus(each, demand), each.count) for each in kinds], most)
        if cpus is None or demand.total_cpus <= cpus:
            needs.remove("cpus")
    for several in (*([what] for what in needs), needs):
        sizes = [(min((each[what] for what in several), default=None), count) for each, count in room]
        tasks = _largest(sizes, most)
        if tasks is None or demand.tasks.number <= tasks:
            continue
        kind = several[0] if len(several) == 1 else "together"
        asks, says = _tasks(demand, several), f"has room for {tasks} on {counted(most, 'node')}"
        if kind == "cpus" and demand.tasks.cpus == 1:
            asks, says = f"{demand.tasks.number} CPUs", f"has {tasks} on {counted(most, 'node')}"
        return [*found, Obstacle(kind, asks, says, waits)]
    return found


_NEEDS = ("cpus", "memory", "gpus", "tasks")


def _tasks(demand: Demand, needs: list[str]) -> str:
    """`9 tasks of 6 CPUs and 60000M of memory`, of what matters."""
    tasks = demand.tasks
    said = {
        "cpus": counted(tasks.cpus, "CPU"),
        "memory": f"{tasks.memory}M of memory",
        "gpus": counted(tasks.gpus, "GPU"),
    }
    of = f" of {' and '.join(said[each] for each in needs if each != 'tasks')}" if needs != ["tasks"] else ""
    return f"{counted(tasks.number, 'task')}{of}{f' with {demand.places.said()}' if 'tasks' in needs else ''}"


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


def _most(what: str, kinds: list[Nodes], demand: Demand, partition: Partition) -> str:
    """The most that a node of these kinds has."""
    if what == "cpus":
        if demand.wants_more_cpus:
            return f"gives its tasks {demand.most_cpus} of a node"
        if _wants_all(demand, partition):
            return f"allows {partition.max_cpus_per_node} of a node"
        cpus = max(usable_cpus(each, demand) or 0 for each in kinds)
        allowed = max(cpus_for_job(each, demand, partition) or 0 for each in kinds)
        if allowed >= cpus or demand.listed.cpus > cpus:
            return f"nodes have {cpus}{' cores' if demand.one_thread else ''}"
        return f"allows {allowed} of a node"
    if what == "tasks":
        return f"nodes have room for {max(places_on(each, demand) or 0 for each in kinds)}"
    if what == "shape":
        largest = [max(each or 0 for each in column) for column in zip(*map(shape_of, kinds), strict=True)]
        return f"nodes have {_shape(largest, demand.shape)}"
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


def _wants_all(demand: Demand, partition: Partition) -> bool:
    """Whether the job has few enough CPUs for a limit of those of a node, if it did not have all of them."""
    most = partition.max_cpus_per_node
    return demand.all_cpus and most is not None and max(demand.least.cpus, demand.listed.cpus) <= most


def _asked(what: str, demand: Demand, partition: Partition) -> str:
    """What is asked of a node."""
    kind = f" of type {demand.kind}" if demand.kind else ""
    cpus, memory, gpus = max(demand.least.cpus, demand.listed.cpus), demand.least.memory, demand.least.gpus
    said = {
        "cpus": f"{counted(cpus, 'CPU')} on a node",
        "tasks": f"{counted(demand.places.of_node, 'task')} on a node with {demand.places.said()}",
        "shape": _shape(demand.shape, demand.shape),
        "memory": f"{memory}M of memory on a node"
        if not (demand.whole and (demand.memory_per_cpu or demand.memory_per_gpu))
        else f"{demand.memory_per_cpu or demand.memory_per_gpu}M of memory for each"
        f" {'CPU' if demand.memory_per_cpu else 'GPU'} of whole nodes",
        "tmp": f"{demand.tmp}M of temporary disk on a node",
        "gpus": f"{counted(gpus, 'GPU')}{kind} on a node",
        "gres": " and ".join(f"{name}{f':{kind}' if kind else ''}:{number}" for name, kind, number in demand.gres),
        "features": demand.constraint.of_each.said() if demand.constraint.of_each is not None else "",
    }
    if _wants_all(demand, partition):
        said["cpus"] = "all CPUs of a node"
    if what != "together":
        return said[what]
    asked = {
        "cpus": cpus > 1,
        "tasks": demand.places.said(),
        "shape": any(demand.shape),
        "memory": memory,
        "tmp": demand.tmp,
        "gpus": gpus,
        "gres": demand.gres,
    }
    parts = [said[each].removesuffix(" on a node") for each, value in asked.items() if value]
    parts += [said["features"]] if said["features"] else []
    return ", ".join(parts)


def _shape(numbers: Iterable[int], asked: tuple[int, int, int]) -> str:
    """`2 sockets a node and 8 cores a socket`, of what is asked for."""
    words = ("sockets a node", "cores a socket", "threads a core")
    return " and ".join(f"{number} {word}" for number, word, each in zip(numbers, words, asked, strict=True) if each)
