"""`scontrol show node`, of 22.05 (seen live) to 26.05.

`CPUEfctv`, the CPUs that are not kept for the system, is there since 22.05; `CPUTot` always. Nodes that are only
planned (`FUTURE`) are left out; those that are down are part of the cluster.
"""

from collections import defaultdict
from collections.abc import Iterable

from sbatchlint.site.host_lists import folded
from sbatchlint.site.model import Nodes
from sbatchlint.site.outputs.records import Damaged, Record, leading_number, listed, needed, records
from sbatchlint.source.regex import Regex

FIRST = "NodeName"
_SOCKETS = Regex(r"\([^()]*\)")


def read_nodes(lines: list[str]) -> list[tuple[str, Nodes | None]]:
    """The nodes with their names, each as a kind of its own; None for one that is only planned. Raises `Damaged`."""
    found = []
    for record in records(lines, FIRST):
        name = record[FIRST]
        planned = "FUTURE" in needed(record, "State", f"node {name}")
        found.append((name, None if planned else _node(record, f"node {name}")))
    return found


def _node(record: Record, of: str) -> Nodes:
    cpus = leading_number(record.get("CPUEfctv")) or leading_number(needed(record, "CPUTot", of))
    needed(record, "CfgTRES", of)  # of the last lines
    memory = leading_number(needed(record, "RealMemory", of))
    if not cpus or memory is None:
        raise Damaged(f"the record of {of} has no number of CPUs or of memory")
    return Nodes(
        count=1,
        cpus=cpus,
        sockets=leading_number(record.get("Sockets")) or None,
        cores_per_socket=leading_number(record.get("CoresPerSocket")) or None,
        threads_per_core=leading_number(record.get("ThreadsPerCore")) or 1,
        memory=max(memory - (leading_number(record.get("MemSpecLimit")) or 0), 0),
        tmp_disk=leading_number(record.get("TmpDisk")),
        gres=resources(record.get("Gres")),
        features=tuple(sorted(listed(record.get("AvailableFeatures")) or ())),
        partitions=tuple(sorted(listed(record.get("Partitions")) or ())),
    )


def resources(value: str | None) -> tuple[str, ...]:
    """The resources of a node, without the sockets to which they belong: `gpu:a100:4(S:0-1)`."""
    if value is None or value in ("(null)", "N/A"):
        return ()
    return tuple(each for each in _SOCKETS.sub("", value).split(",") if each)


def kinds(nodes: Iterable[tuple[str, Nodes]]) -> tuple[Nodes, ...]:
    """Nodes that have the same, together; the largest kinds of each partition first."""
    names = defaultdict(list)
    for name, node in nodes:
        names[node].append(name)
    found = [
        Nodes(
            names=folded(name for name in each if name), count=len(each), cpus=node.cpus, sockets=node.sockets,
            cores_per_socket=node.cores_per_socket, threads_per_core=node.threads_per_core, memory=node.memory,
            tmp_disk=node.tmp_disk, gres=node.gres, features=node.features, partitions=node.partitions,
        )
        for node, each in names.items()
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda each: (each.partitions, -(each.count or 0), each.names)))
