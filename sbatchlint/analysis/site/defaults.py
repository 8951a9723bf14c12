"""What a job gets without asking, according to the profile of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.targets import Target, targets
from sbatchlint.job import Job
from sbatchlint.job.request import GPU_OPTIONS, Memory
from sbatchlint.site.profile import gpus_of, nodes_of

if TYPE_CHECKING:
    from sbatchlint.site.model import Partition, Profile
    from sbatchlint.slurm.model import Setting


class Share(NamedTuple):
    """MB of a node that a job gets, of those that the node has."""

    part: int
    whole: int


def default_memory(profile: Profile, partition: Partition) -> Memory | None:
    """What a job gets that asks for no memory, per node or per CPU: the partition's default before the cluster's.

    None where neither has one, which is all that there is, or is not known.
    """
    for each in (partition, profile):
        if each.default_memory_per_node or each.default_memory_per_cpu:
            per_node = each.default_memory_per_node
            return Memory(per_node, "node") if per_node else Memory(each.default_memory_per_cpu or 0, "cpu")
    return None


def default_share(target: Target, name: str) -> Share | None:
    """The memory of a whole node that a job gets in a partition if it asks for none, on the nodes where that is the
    least of all; None where it is not known.

    `DefMemPerCPU` counts for all CPUs of the node; without a default it is all there is (slurm.conf(5)).
    """
    profile = target.profile
    partition, kinds = profile.partitions[name], nodes_of(profile, name)
    default = default_memory(profile, partition)
    gets_all = profile.select_type is not None and default is None
    uncounted = profile.select_parameters and not any("MEMORY" in each.upper() for each in profile.select_parameters)
    shares = []
    for each in kinds:
        if each.memory is None:
            return None
        if gets_all or uncounted:
            shares.append(Share(each.memory, each.memory))
        elif default is not None and (default.per == "node" or each.cpus is not None):
            part = default.megabytes * (1 if default.per == "node" else each.cpus or 0)
            shares.append(Share(min(part, each.memory), each.memory))
        else:
            return None
    return min(shares, key=lambda share: share.part / max(share.whole, 1), default=None)


def partitions_with_gpus(job: Job) -> tuple[str, ...] | None:
    """The partitions whose nodes have GPUs, where no node of those that the job names has any; None elsewhere."""
    for target in targets(job):
        own = [each for name in target.partitions for each in nodes_of(target.profile, name)]
        if target.named and own and all(gpus_of(each) == 0 for each in own):
            every = target.profile.partitions
            return tuple(name for name in every if any(gpus_of(each) for each in nodes_of(target.profile, name)))
    return None


def largest_node_cpus(job: Job) -> int | None:
    """The CPUs of the largest node in the partitions of the job; None where they are not known."""
    every = [nodes_of(each.profile, name) for each in targets(job) for name in each.partitions]
    cpus = [each.cpus for kinds in every for each in kinds]
    known = [each for each in cpus if each is not None]
    return max(known) if known and len(known) == len(cpus) and all(every) else None


def in_whole_nodes(job: Job) -> bool:
    """Whether a partition that may run the job gives it whole nodes."""
    return any(each.profile.partitions[name].whole_nodes for each in targets(job) for name in each.partitions)


def whole_nodes_decided(job: Job) -> bool | None:
    """Whether all partitions that the job names give it whole nodes, or none; None where that is not known."""
    named = [each for each in targets(job) if each.named]
    given = {each.profile.partitions[name].whole_nodes for each in named for name in each.partitions}
    return given.pop() if len(given) == 1 else None


def allocated_cpus(job: Job) -> tuple[int, Setting] | None:
    """The CPUs of a job that the profile decides, and the directive: those of whole nodes, or the fewest there are.

    The latter where the job requests nodes and nothing of which more CPUs may follow; whole cores are allocated.
    """
    request, whole, largest = job.request, whole_nodes_decided(job), largest_node_cpus(job)
    setting, nodes = request.setting("nodes"), request.exact_nodes()
    if whole is None or largest is None or setting is None or not nodes or request.heterogeneous:
        return None
    if whole:
        return nodes * largest, setting
    if {each.name for each in request.directives.settings} <= _OF_ONE_CPU and not gets_more_cpus(job):
        kinds = [each for one in targets(job) for name in one.partitions for each in nodes_of(one.profile, name)]
        return nodes * max(each.threads_per_core for each in kinds), setting
    return None


# What a job may set beside --nodes that brings it no more CPUs.
_OF_ONE_CPU = frozenset({
    "nodes", "partition", "time", "time-min", "job-name", "output", "error", "account", "qos", "mail-type", "mail-user",
    "mem", "constraint", "chdir", "array", "dependency", "nodelist", "exclude", "export", "open-mode", "comment",
    "requeue", "no-requeue", "signal", "begin", "parsable", "wait", "verbose", "quiet", "licenses", "reservation",
})  # fmt: skip


def gets_more_cpus(job: Job) -> bool | None:
    """Whether a job that requests no CPUs gets more than one on a node, for its GPUs, its memory, or as whole nodes.

    None where the profile does not decide it.
    """
    found = False
    for target in targets(job):
        for name in target.partitions:
            partition = target.profile.partitions[name]
            by_memory = partition.max_memory_per_cpu or target.profile.max_memory_per_cpu
            if partition.whole_nodes or partition.default_cpus_per_gpu or by_memory and target.request.memory:
                return True
        found = found or target.named
    return False if found else None


def cpus_without_asking(job: Job) -> int | None:
    """The CPUs of a node that a job gets at most if it asks for none; None where the profile gives it no more than one.

    All of the largest node where it gets whole ones, or those of its GPUs (`DefCpuPerGPU`).
    """
    found: list[int] = []
    for target in targets(job):
        gpus = target.request.gpus
        for name in target.partitions:
            partition, cpus = target.profile.partitions[name], []
            if partition.whole_nodes:
                cpus = [each.cpus or _MANY for each in nodes_of(target.profile, name)] or [_MANY]
            elif partition.default_cpus_per_gpu and target.request.has_any_option(GPU_OPTIONS):
                cpus = [partition.default_cpus_per_gpu * (gpus.per_node or gpus.total or _MANY)]
            found += cpus if target.named else [_MANY for _ in cpus]
    return max(found, default=None)


_MANY = 2**20  # as many as are not known
