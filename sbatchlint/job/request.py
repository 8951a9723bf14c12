"""What a job requests, according to its directives.

What the command line or the environment of the submission adds is not known here. None means not known. The grammars of
values follow src/common/proc_args.c, parse_time.c and gres.c of Slurm 20.11 to 26.05.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.directives import UNKNOWN, Directives, Setting
from sbatchlint.slurm.grammar import resources
from sbatchlint.slurm.grammar.numbers import node_count, whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.slurm.conflicts.counts import Counts
    from sbatchlint.slurm.model import ForeignSetting

# GRES that are a GPU, or a part of one.
GPU_RESOURCES = frozenset({"gpu", "shard", "mps"})
# What else is requested by --gres and --tres-per-task, by names that say that it computes nothing. Sites give other
# accelerators names of their own (dcu, npu, hpu).
_NO_GPU = Regex(
    r"(?:.*[_-])?(?:cpu|mem|node|billing|energy|bb|license|fs|nvme|ssd|hdd|disk|tmp\w*|l?scratch\w*|ramdisk|localdisk"
    r"|localtmp|craynetwork|bandwidth|io|nic|hca|ic)(?:[/_-].*)?",
    re.IGNORECASE,
)
MEMORY_OPTIONS = ("mem", "mem-per-cpu", "mem-per-gpu")
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task")


class Nodes(NamedTuple):
    """A number of nodes; `maximum` is `minimum` for a single number."""

    minimum: int
    maximum: int


class Memory(NamedTuple):
    """Real memory in MB; `per` is `node`, `cpu` or `gpu`. 0 per node means all memory of the node."""

    megabytes: int
    per: str


class Gpus(NamedTuple):
    """The number of GPUs in each form of request; None for a form that is not used, or whose number is not known.

    `kind`: the requested type (`a100`), '' for none, None where it is not known or there are several.
    """

    per_node: int | None
    total: int | None
    per_task: int | None
    per_socket: int | None
    kind: str | None


class GpuCount(NamedTuple):
    """One GPU request: the number, None where it is not known, and the type ('' for any)."""

    number: int | None
    kind: str | None


@lru_cache(maxsize=1024)
def fixed_nodes(string: str | None, version: str = MAJORS[-1]) -> Nodes | None:
    """The nodes that a value of `--nodes` requests; None for unknown ones and lists of sizes (`2,4`, since 23.02)."""
    count = node_count(string, version)
    if count is None or count.sizes or not 0 < count.minimum <= count.maximum:
        return None
    return Nodes(count.minimum, count.maximum)


def _is_no_accelerator(item: resources.Item) -> bool:
    return item.count == 0 or item.name.lower() in GPU_RESOURCES or _NO_GPU.fullmatch(item.name) is not None


def resource_items(option: str, string: str, version: str) -> tuple[resources.Item, ...] | None:
    """The items that an option of `GPU_OPTIONS` requests; None where Slurm refuses the value."""
    read = {"gres": resources.gres_items, "tres-per-task": resources.tres_items}.get(option, resources.gpu_list)
    items = read(string, version)
    return None if isinstance(items, resources.ResourceFault) else items


def gpu_count(option: str, string: str, version: str) -> GpuCount | None:
    """The GPUs that a value of an option of `GPU_OPTIONS` requests; None where it does not name GPUs."""
    return _counted(resource_items(option, string, version))


def _counted(items: tuple[resources.Item, ...] | None) -> GpuCount | None:
    if items is None:
        return GpuCount(None, None)
    items = tuple(item for item in items if item.name == "gpu")
    kinds = {item.type for item in items}
    return GpuCount(sum(item.count for item in items), kinds.pop() if len(kinds) == 1 else None) if items else None


# Not for `answers`, which asks for each release and records what the reading depends on.
_items_of_job = lru_cache(maxsize=1024)(resource_items)


class Request:
    """What one component of a job requests, also by directives of other schedulers.

    Numbers are as written, None where they are not set or not known; `has_option` tells these apart. `counts` has what
    Slurm computes from all of them. `version`: the release that reads the directives, by default the newest.
    """

    def __init__(self, directives: Directives, component: int = 0, version: str | None = None) -> None:
        self.directives = directives
        self.component = component
        self.version = version or directives.versions.last
        settings = [*directives.settings_for(component, version), *directives.overriding]
        self._settings = {each.name: each for each in settings}
        self._values = self._values_of(settings)
        self.nodes = fixed_nodes(self.value("nodes"), self.version)
        self.tasks = self._count("ntasks")
        self.tasks_per_node = self._count("ntasks-per-node")
        self.tasks_per_gpu = self._count("ntasks-per-gpu")
        self.cpus_per_task = self._count("cpus-per-task")
        self.time = minutes(self.value("time")) or None
        self.partition = self.value("partition")
        self.constraint = self.value("constraint")
        self.array = self.value("array")

    # --- options -----------------------------------------------------------------------------

    def _values_of(self, settings: Iterable[Setting]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for setting in settings:
            found.pop(setting.name, None)
            found[setting.name] = setting.value
        for other in self.foreign_settings():
            before = found.pop(other.name, None)
            found[other.name] = other.applied_to(before)
        return found

    def values(self) -> Mapping[str, str | None]:
        """The values of the options that take effect, by long name, in the order in which they are written.

        None for an option without a value; a value has UNKNOWN in place of a part that is not known.
        """
        return self._values

    def settings(self) -> list[Setting]:
        """The settings that take effect, in order; those of #PBS and #BSUB lines are `foreign_settings`."""
        return sorted(self._settings.values(), key=lambda each: each.option_span)

    def foreign_settings(self) -> "list[ForeignSetting]":
        """The settings of #PBS and #BSUB lines in this release."""
        foreign = self.directives.foreign
        settings = () if foreign is None else foreign.settings
        return [each for each in settings if each.versions is None or self.version in each.versions]

    def setting(self, name: str) -> Setting | None:
        """The #SBATCH setting of an option (long name) that takes effect; None if there is none."""
        return self._settings.get(name)

    def has_option(self, name: str) -> bool:
        """Whether any directive sets an option."""
        return name in self._values

    def has_any_option(self, names: Iterable[str]) -> bool:
        """Whether any directive sets one of these options."""
        return not self._values.keys().isdisjoint(names)

    def value(self, name: str) -> str | None:
        """The value of an option; None where it is not set or not known."""
        value = self._values.get(name)
        return None if value is None or UNKNOWN in value else value

    @property
    def heterogeneous(self) -> bool:
        return self.directives.components > 1

    @cached_property
    def counts(self) -> "Counts | None":
        """What Slurm computes from the nodes, tasks and CPUs; None where something that affects them is not known."""
        from sbatchlint.slurm.conflicts.counts import job_counts  # rules that most scripts do not need

        return job_counts(self._values, self.version)

    def effective_nodes(self) -> Nodes | None:
        """The nodes that the job gets, at most one per task; None where its options do not decide it."""
        counts = self.counts
        if counts is None or not (self.has_option("nodes") or counts.min_nodes > 1):
            return None
        if counts.sizes is not None:
            return Nodes(counts.sizes[0], counts.sizes[-1])
        if counts.requested_nodes is None:
            return Nodes(counts.min_nodes, counts.min_nodes)
        return Nodes(counts.min_nodes, max(counts.min_nodes, min(counts.requested_nodes[1], counts.max_nodes or 2**31)))

    def effective_tasks(self) -> int | None:
        """The tasks of the job: --ntasks, or one on each node; None where its options do not decide it."""
        counts = self.counts
        if counts is None or counts.ntasks_given:
            return None if counts is None else counts.ntasks
        nodes = self.effective_nodes()
        return nodes.minimum if nodes is not None and nodes.minimum == nodes.maximum else None

    @property
    def mail_type(self) -> str | None:
        """The events for which mail is sent, joined by commas; None where there are none or they are not known."""
        settings: list[Setting | ForeignSetting] = [*self.directives.settings_for(self.component, self.version)]
        settings += self.foreign_settings()
        values = [each.text for each in settings if each.name == "mail-type"]
        if not values:
            return None
        from sbatchlint.slurm.grammar import mail  # only the plan shows it

        known = [value for value in values if value is not None]
        return ",".join(mail.merged(known, self.version)) or None if len(known) == len(values) else None

    def _count(self, name: str) -> int | None:
        count = whole(self.value(name))
        return count or None

    # --- memory, GPUs ------------------------------------------------------------------------

    @cached_property
    def memory(self) -> Memory | None:
        """The memory per node, CPU or GPU; None where it is not set or not known, or where several of these are set."""
        found = [name for name in MEMORY_OPTIONS if self.has_option(name)]
        if len(found) != 1:
            return None
        size = megabytes(self.value(found[0]))
        return None if size is None else Memory(size, found[0].rpartition("-")[2].replace("mem", "node"))

    @cached_property
    def exclusive(self) -> str | None:
        """'' for whole nodes, or `user`, `mcs`, `topo`; None without --exclusive, or where its value is not known.

        --oversubscribe after it takes it back (src/common/slurm_opt.c; a live run of 22.05).
        """
        order = list(self._values)
        if "exclusive" not in order or "oversubscribe" in order[order.index("exclusive") :]:
            return None
        value = self._values["exclusive"]
        if value is not None and UNKNOWN in value:
            return None
        value = (value or "").lower()
        return "" if value in ("", "exclusive") else None if value == "oversubscribe" else value

    @cached_property
    def may_have_all_gpus(self) -> bool:
        """Whether --exclusive gives the batch shell all GPUs of its nodes, or may do so; steps get those requested.

        `user` and `mcs` only keep others out, and bring no GPU (live runs of 22.05).
        """
        return self.has_option("exclusive") and self.exclusive not in ("user", "mcs")

    @cached_property
    def requeue(self) -> bool | None:
        """Whether the job may be requeued; None where the site's default decides."""
        order = list(self._values)
        found = [name for name in ("requeue", "no-requeue") if name in self._values]
        return max(found, key=order.index) == "requeue" if found else None

    def gpu_settings(self) -> list[Setting]:
        """The #SBATCH settings that take effect and may request GPUs, in any form."""
        return [setting for setting in map(self.setting, GPU_OPTIONS) if setting is not None]

    def _gpu_count(self, name: str) -> GpuCount | None:
        text = self.value(name)
        return None if text is None else _counted(_items_of_job(name, text, self.version))

    @cached_property
    def gpus(self) -> Gpus:
        """The numbers of GPUs, in each form of request."""
        total = self._gpu_count("gpus")
        per_task = self._gpu_count("gpus-per-task")
        per_socket = self._gpu_count("gpus-per-socket")
        per_node = self._gpu_count("gpus-per-node")
        gres = self._gpu_count("gres")
        if gres is not None:
            # Slurm refuses both forms together since 26.05, and used the smaller before: known only where they agree.
            same = not self.has_option("gpus-per-node") or per_node == gres
            per_node = gres if same else GpuCount(None, None)
        if per_task is None:
            per_task = self._gpu_count("tres-per-task")
        counts = [each for each in (per_node, total, per_task, per_socket) if each is not None]
        kinds = {each.kind for each in counts}
        return Gpus(
            per_node.number if per_node is not None else None,
            total.number if total is not None else None,
            per_task.number if per_task is not None else None,
            per_socket.number if per_socket is not None else None,
            kinds.pop() if len(kinds) == 1 else "" if not kinds else None,
        )

    @cached_property
    def asks_for_gpus(self) -> bool | None:
        """Whether a GPU is requested in any form (a shard or MPS share counts too); None where that is not known."""
        foreign = self.directives.foreign
        unknown = not self.directives.certain or foreign is not None and not foreign.certain
        for name in GPU_OPTIONS:
            text = self.value(name)
            items = None if text is None else _items_of_job(name, text, self.version)
            if items is None:
                unknown = unknown or self.has_option(name)
            elif any(item.name.lower() in GPU_RESOURCES and item.count != 0 for item in items):
                return True
            else:
                unknown = unknown or not all(map(_is_no_accelerator, items))
        return None if unknown else False

    @property
    def declines_gpus(self) -> bool:
        """Whether an option says that the job is to have no GPUs: `--gpus-per-node=0`."""
        for name in GPU_OPTIONS:
            text = self.value(name)
            items = None if text is None else _items_of_job(name, text, self.version)
            if any(item.name.lower() in GPU_RESOURCES and item.count == 0 for item in items or ()):
                return True
        return False

    def gpus_per_node(self) -> int | None:
        """How many GPUs every node of the job has; None where the script alone does not decide it.

        Slurm may spread a total unevenly over nodes (8 on two nodes were seen as 7 and 1), so it is known only for one
        node, or for one GPU per node.
        """
        gpus = self.gpus
        if self.has_option("gpus-per-node") or gpus.per_node is not None:
            return gpus.per_node
        nodes = self.exact_nodes()
        if gpus.total is not None:
            return None if nodes is None or nodes not in (1, gpus.total) else gpus.total // nodes
        if gpus.per_task is not None:
            tasks = self.tasks_on_each_node()
            return None if tasks is None else gpus.per_task * tasks
        return None

    def exact_nodes(self) -> int | None:
        """The number of nodes, or of tasks if that is smaller; None where it is a range, not set or not known."""
        if self.nodes is None or self.nodes.minimum != self.nodes.maximum:
            return None
        if self.has_option("ntasks") and (self.tasks is None or self.tasks < self.nodes.minimum):
            return self.tasks
        return self.nodes.minimum

    def tasks_on_each_node(self) -> int | None:
        """How many tasks each node of the job gets; None where the script alone does not decide it."""
        nodes = self.exact_nodes()
        if not self.has_option("ntasks"):
            return self.tasks_per_node
        if self.tasks is None or nodes is None:
            return None
        if nodes == 1 or self.tasks == nodes:
            return self.tasks // nodes
        return self.tasks_per_node if self.tasks_per_node and self.tasks == nodes * self.tasks_per_node else None
