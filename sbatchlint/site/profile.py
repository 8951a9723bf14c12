"""Questions to the profile of a cluster; `sbatchlint.site.model` says what it holds, and is loaded only with one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.grammar.resources import count
from sbatchlint.slurm.grammar.times import minutes

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Profile

NO_LIMIT, NO_DEFAULT = "UNLIMITED", "NONE"
GPU = "gpu"


class Gres(NamedTuple):
    """A resource that a node has: `gpu`, its type ('' for none), and how many."""

    name: str
    type: str
    number: int


def lists(profile: "Profile", what: str) -> bool:
    """Whether a profile lists all of them: partitions, nodes, qos."""
    return what in profile.complete


def nodes_of(profile: "Profile", partition: str) -> "list[Nodes]":
    """The kinds of nodes in a partition."""
    return [each for each in profile.nodes if partition in each.partitions]


def total(kinds: "Iterable[Nodes]") -> int | None:
    """How many nodes these are; None where that is not known of some."""
    found = 0
    for each in kinds:
        if each.count is None:
            return None
        found += each.count
    return found


def gres_of(nodes: "Nodes") -> list[Gres]:
    """The resources of a kind of nodes, in numbers; none where they are not known."""
    found = []
    for each in nodes.gres or ():
        name, *rest = each.split(":")
        number = count(rest[-1]) if rest else 1
        types = rest[:-1] if number is not None else rest
        found.append(
            Gres(name, next((each for each in types if each != "no_consume"), ""), 1 if number is None else number)
        )
    return found


def gpus_of(nodes: "Nodes", kind: str = "") -> int | None:
    """How many GPUs each of these nodes has, of one type or ('') of any; None where that is not known."""
    if nodes.gpus is not None:
        return None if kind and nodes.gpus else nodes.gpus
    if nodes.gres is None:
        return None
    return sum(each.number for each in gres_of(nodes) if each.name == GPU and kind in ("", each.type))


def gpu_types(nodes: "Iterable[Nodes]") -> list[str]:
    """The types of GPU that nodes have, sorted; those without a type have none."""
    return sorted({each.type for one in nodes for each in gres_of(one) if each.name == GPU and each.type})


def limit(time: str | None) -> int | None:
    """The minutes of a time of the profile; None where there is none, or it is not known."""
    return None if time is None or time.upper() == NO_DEFAULT else minutes(time) or None


def whole_minutes(count: int) -> str:
    """Minutes as Slurm writes them: `1-00:00:00`."""
    days, rest = divmod(count, 1440)
    return (f"{days}-" if days else "") + f"{rest // 60:02d}:{rest % 60:02d}:00"
