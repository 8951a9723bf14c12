"""What a job asks for, as far as its script alone decides it.

Read from the directives; values that come from the command line or the environment are not known here. The value
grammars follow src/common/proc_args.c, parse_time.c and gres.c of Slurm 20.11 to 26.05. Unknown is None.
"""

from __future__ import annotations

import re

from ..slurm.directives import Directives, Setting
from ..source.records import NamedTuple

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_MEMORY = re.compile(r"([0-9]+)([kKmMgGtT]?)[bB]?", re.ASCII)
_NODES = re.compile(r"([0-9]+)([kKmM]?)(?:-([0-9]+)([kKmM]?))?", re.ASCII)
_TIME = re.compile(r"(?:([0-9]+)-)?([0-9]+)?(?::([0-9]+))?(?::([0-9]+))?", re.ASCII)

# GRES that are a GPU, or a part of one.
GPU_RESOURCES = frozenset({"gpu", "shard", "mps"})


class Nodes(NamedTuple):
    """How many nodes; `maximum` is the minimum where one number is given."""

    minimum: int
    maximum: int


class Memory(NamedTuple):
    """Real memory in MB; `per` is `node`, `cpu` or `gpu`. 0 per node is all memory of the node."""

    megabytes: int
    per: str


class Gpus(NamedTuple):
    """How many GPUs, in the forms in which they were asked for; each None where it was not, or is not known.

    `kind`: the type asked for (`a100`), '' for none, None where it is not known or there are several.
    """

    per_node: int | None
    total: int | None
    per_task: int | None
    per_socket: int | None
    kind: str | None


class GpuCount(NamedTuple):
    """One GPU request: how many, None where that is not known, and of which type ('' for any)."""

    number: int | None
    kind: str | None


def whole_number(text: str | None) -> int | None:
    """A count as parse_int() takes it: digits only, at most 2³¹ - 1."""
    if text is None or not _DIGITS.fullmatch(text):
        return None
    number = int(text) if len(text) < 20 else -1
    return number if 0 <= number < 2**31 else None


def node_count(text: str | None) -> Nodes | None:
    """`2`, `2-4`, `1k`; lists of sizes (`2,4`, since 23.02) have no one count."""
    found = _NODES.fullmatch(text) if text is not None else None
    if found is None:
        return None
    low, low_suffix, high, high_suffix = found.groups()
    minimum = int(low[:18]) * _node_factor(low_suffix)
    maximum = minimum if high is None else int(high[:18]) * _node_factor(high_suffix or "")
    return Nodes(minimum, maximum) if 0 < minimum <= maximum else None


def _node_factor(suffix: str) -> int:
    return {"": 1, "k": 1024, "m": 1024 * 1024}[suffix.lower()]


def memory_size(text: str | None) -> int | None:
    """Megabytes of `4000`, `4G`, `4gb`, `1T`; kilobytes are rounded up."""
    found = _MEMORY.fullmatch(text) if text is not None else None
    if found is None or len(found.group(1)) > 18:
        return None
    number = int(found.group(1))
    suffix = found.group(2).lower()
    if suffix == "k":
        return -(-number // 1024)
    return number * {"": 1, "m": 1, "g": 1024, "t": 1024 * 1024}[suffix]


def minutes(text: str | None) -> int | None:
    """Minutes of `MM`, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`; seconds are rounded up.

    None too where there is no limit (`0`, `-1`, `INFINITE`, `UNLIMITED`).
    """
    found = _TIME.fullmatch(text) if text else None
    if found is None or max(len(part or "") for part in found.groups()) > 9:
        return None
    days, *fields = found.groups()
    values = [int(field) for field in fields if field is not None]
    if days is not None:
        hours, mins, seconds = (*values, 0, 0, 0)[:3]
        total = ((int(days) * 24 + hours) * 60 + mins) * 60 + seconds
    elif len(values) == 3:
        total = (values[0] * 60 + values[1]) * 60 + values[2]
    elif values and fields[0] is not None:
        total = values[0] * 60 + (values[1] if len(values) > 1 else 0)
    else:
        return None
    return -(-total // 60) or None


def gpu_list(text: str | None) -> GpuCount | None:
    """The GPUs of `--gpus` and its kin: `4`, `a100:4`, `a100:2,h100:2`; None where that is not known."""
    if text is None:
        return None
    counts: list[int] = []
    kinds: list[str] = []
    for item in text.split(","):
        kind, colon, number = item.rpartition(":")
        count = whole_number(number)
        if count is None:
            # `a100` is one of that type.
            if colon or not re.fullmatch(r"[A-Za-z][\w.-]*", item, re.ASCII):
                return GpuCount(None, None)
            kind, count = item, 1
        counts.append(count)
        kinds.append(kind)
    return GpuCount(sum(counts), kinds[0] if len(set(kinds)) == 1 else None)


def gres_items(text: str) -> list[tuple[str, str | None, int | None]]:
    """Name, type ('' for any) and count of each item of `--gres` or `--tres-per-task`; None for what is not known."""
    found: list[tuple[str, str | None, int | None]] = []
    for item in text.split(","):
        bare = item.removeprefix("gres/").removeprefix("gres:")
        plain = bare == item or item.startswith("gres/")
        name, *rest = re.split(r"[:=]", bare)
        if not rest:
            found.append((name, "", 1 if plain else None))
            continue
        count = whole_number(rest[-1])
        if len(rest) == 1:
            kind: str | None = ""
            if count is None and re.fullmatch(r"[A-Za-z][\w.-]*", rest[0], re.ASCII):
                kind, count = rest[0], 1
        else:
            kind = rest[0] if len(rest) == 2 else None
        found.append((name, kind, count if plain and len(rest) <= 2 else None))
    return found


class Request:
    """What one component of a job asks for.

    Counts are None where they are not given or not known; `given` tells these apart. `asks_for_gpus`: whether a GPU is
    asked for in any form (a shard or MPS share counts too), None where that is not known. `exclusive`: '' for the
    whole node, or `user`, `mcs`, `topo`; None without it. `requeue`: None where the site's default holds.
    """

    __slots__ = (
        "array",
        "asks_for_gpus",
        "component",
        "constraint",
        "cpus_per_gpu",
        "cpus_per_task",
        "directives",
        "exclusive",
        "gpus",
        "memory",
        "nodes",
        "partition",
        "requeue",
        "tasks",
        "tasks_per_gpu",
        "tasks_per_node",
        "tasks_per_socket",
        "time",
    )

    def __init__(self, directives: Directives, component: int = 0) -> None:
        self.directives = directives
        self.component = component
        self.nodes = node_count(self.text("nodes"))
        self.tasks = self._count("ntasks")
        self.tasks_per_node = self._count("ntasks-per-node")
        self.tasks_per_socket = self._count("ntasks-per-socket")
        self.tasks_per_gpu = self._count("ntasks-per-gpu")
        self.cpus_per_task = self._count("cpus-per-task")
        self.cpus_per_gpu = self._count("cpus-per-gpu")
        self.time = minutes(self.text("time"))
        self.partition = self.text("partition")
        self.constraint = self.text("constraint")
        self.array = self.text("array")
        self.memory = self._memory()
        self.exclusive = self._exclusive()
        self.requeue = self._requeue()
        self.gpus = self._gpus()
        self.asks_for_gpus = self._asks_for_gpus()

    def given(self, name: str) -> Setting | None:
        """The setting of an option that counts, by its long name (`ntasks-per-node`); None where it is not given."""
        return self.directives.last(name, self.component)

    def text(self, name: str) -> str | None:
        """The value of an option; None where it is not given or not known."""
        setting = self.given(name)
        return None if setting is None else setting.text

    @property
    def heterogeneous(self) -> bool:
        return self.directives.components > 1

    def _count(self, name: str) -> int | None:
        count = whole_number(self.text(name))
        return count or None

    def _memory(self) -> Memory | None:
        found = [name for name in ("mem", "mem-per-cpu", "mem-per-gpu") if self.given(name) is not None]
        if len(found) != 1:
            return None
        size = memory_size(self.text(found[0]))
        return None if size is None else Memory(size, found[0].rpartition("-")[2].replace("mem", "node"))

    def _exclusive(self) -> str | None:
        setting = self.given("exclusive")
        if setting is None or not setting.known:
            return None
        value = (setting.value or "").lower()
        return "" if value in ("", "exclusive") else None if value == "oversubscribe" else value

    def _requeue(self) -> bool | None:
        found = [self.given("requeue"), self.given("no-requeue")]
        settings = [setting for setting in found if setting is not None]
        if not settings:
            return None
        return max(settings, key=lambda setting: setting.option_span.start).name == "requeue"

    def gpu_settings(self) -> list[Setting]:
        """Every setting that counts and may ask for GPUs, in any form."""
        names = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task")
        return [setting for setting in map(self.given, names) if setting is not None]

    def _gpus(self) -> Gpus:
        total = gpu_list(self.text("gpus"))
        per_task = gpu_list(self.text("gpus-per-task"))
        per_socket = gpu_list(self.text("gpus-per-socket"))
        per_node = gpu_list(self.text("gpus-per-node"))
        gres = self._gres_gpus("gres")
        if gres is not None:
            # The two forms together: refused since 26.05, the smaller one before. Only where they agree it is known.
            same = self.given("gpus-per-node") is None or per_node == gres
            per_node = gres if same else GpuCount(None, None)
        if per_task is None:
            per_task = self._gres_gpus("tres-per-task")
        counts = [each for each in (per_node, total, per_task, per_socket) if each is not None]
        kinds = {each.kind for each in counts}
        return Gpus(
            per_node.number if per_node is not None else None,
            total.number if total is not None else None,
            per_task.number if per_task is not None else None,
            per_socket.number if per_socket is not None else None,
            kinds.pop() if len(kinds) == 1 else "" if not kinds else None,
        )

    def _gres_gpus(self, name: str) -> GpuCount | None:
        text = self.text(name)
        items = [item for item in gres_items(text) if item[0] == "gpu"] if text else []
        if not items:
            return None
        counts = [count for _, _, count in items]
        kinds = {kind for _, kind, _ in items}
        known = [count for count in counts if count is not None]
        return GpuCount(sum(known) if len(known) == len(counts) else None, kinds.pop() if len(kinds) == 1 else None)

    def _asks_for_gpus(self) -> bool | None:
        unknown = not self.directives.certain
        for setting in self.gpu_settings():
            if not setting.known or setting.value is None:
                unknown = True
            elif setting.name in ("gres", "tres-per-task"):
                for name, _, count in gres_items(setting.value):
                    if name.lower() in GPU_RESOURCES and count != 0:
                        return True
            else:
                counted = gpu_list(setting.value)
                if counted is None or counted.number != 0:
                    return True
        return None if unknown else False

    def gpus_per_node(self) -> int | None:
        """How many GPUs every node of the job has, where the script alone decides it.

        A total is spread over several nodes as Slurm sees fit (8 on two nodes were seen to land 7 and 1), so it decides
        only for one node, or for one GPU a node.
        """
        gpus = self.gpus
        if self.given("gpus-per-node") is not None or gpus.per_node is not None:
            return gpus.per_node
        nodes = self.exact_nodes()
        if gpus.total is not None:
            return None if nodes is None or nodes not in (1, gpus.total) else gpus.total // nodes
        if gpus.per_task is not None:
            tasks = self.tasks_on_each_node()
            return None if tasks is None else gpus.per_task * tasks
        return None

    def exact_nodes(self) -> int | None:
        """The number of nodes where it is given as one number, and no smaller number of tasks lowers it."""
        if self.nodes is None or self.nodes.minimum != self.nodes.maximum:
            return None
        if self.given("ntasks") is not None and (self.tasks is None or self.tasks < self.nodes.minimum):
            return self.tasks
        return self.nodes.minimum

    def tasks_on_each_node(self) -> int | None:
        """How many tasks each node of the job gets, where the script alone decides it."""
        nodes = self.exact_nodes()
        if self.given("ntasks") is None:
            return self.tasks_per_node
        if self.tasks is None or nodes is None:
            return None
        if nodes == 1 or self.tasks == nodes:
            return self.tasks // nodes
        return self.tasks_per_node if self.tasks_per_node and self.tasks == nodes * self.tasks_per_node else None
