"""What a job gets without asking, by the profile of the cluster."""

from __future__ import annotations

from typing import NamedTuple

from sbatchlint.analysis.site.targets import Target
from sbatchlint.site.profile import nodes_of


class Share(NamedTuple):
    """MB of a node that a job gets, of those that the node has."""

    part: int
    whole: int


def default_share(target: Target, name: str) -> Share | None:
    """The memory of a whole node that a job gets in a partition if it asks for none, on the nodes where that is the
    least of all; None where it is not known.

    `DefMemPerCPU` counts for all CPUs of the node; without a default it is all there is (slurm.conf(5)).
    """
    profile = target.profile
    partition, kinds = profile.partitions[name], nodes_of(profile, name)
    per_node = partition.default_memory_per_node or profile.default_memory_per_node
    per_cpu = partition.default_memory_per_cpu or profile.default_memory_per_cpu
    gets_all = profile.select_type is not None and per_node is None and per_cpu is None
    uncounted = profile.select_parameters and not any("MEMORY" in each.upper() for each in profile.select_parameters)
    shares = []
    for each in kinds:
        if each.memory is None:
            return None
        if gets_all or uncounted:
            shares.append(Share(each.memory, each.memory))
        elif per_node is not None:
            shares.append(Share(min(per_node, each.memory), each.memory))
        elif per_cpu is not None and each.cpus is not None:
            shares.append(Share(min(per_cpu * each.cpus, each.memory), each.memory))
        else:
            return None
    return min(shares, key=lambda share: share.part / max(share.whole, 1), default=None)
