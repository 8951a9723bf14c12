"""What a job gets without asking, by the profile of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.targets import Target, targets
from sbatchlint.job import Job
from sbatchlint.job.request import GPU_OPTIONS, Memory
from sbatchlint.site.profile import nodes_of

if TYPE_CHECKING:
    from sbatchlint.site.model import Partition, Profile


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


def in_whole_nodes(job: Job) -> bool:
    """Whether a partition that may run the job gives it whole nodes."""
    return any(each.profile.partitions[name].whole_nodes for each in targets(job) for name in each.partitions)


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
