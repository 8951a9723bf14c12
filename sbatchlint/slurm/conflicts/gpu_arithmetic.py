"""The arithmetic of GPU options: what follows from one for the others, and which sums Slurm refuses.

`gres_job_state_validate()` and `_test_gres_cnt()` of src/common/gres.c (src/interfaces/gres.c since 23.02): sbatch
calls them since 21.08, unless the job names a cluster; slurmctld calls them in every release.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from sbatchlint.slurm.conflicts.by_task import UnknownValue, task_cpus, task_items, task_text
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.resources import Item, ResourceFault, gpu_list, gres_items, tres_items
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.versions import is_before

Values = Mapping[str, "str | None"]

INVALID = "Invalid generic resource (gres) specification"
MIXED = "Invalid GRES specification (with and without type identification)"
NO_VAL = 4294967294
# GRES that share GPUs.
SHARES = frozenset({"mps", "shard"})


class Description:
    """The numbers that sbatch sends to slurmctld (`job_desc_msg_t`); None for those that are not set."""

    def __init__(self) -> None:
        self.min_nodes: int | None = None
        self.max_nodes: int | None = None
        self.num_tasks: int | None = None
        self.ntasks_per_node: int | None = None
        self.ntasks_per_socket: int | None = None
        self.ntasks_per_gpu: int | None = None
        self.sockets_per_node: int | None = None
        self.cpus_per_task: int | None = None


class Mismatch(NamedTuple):
    """An inconsistent sum: its kind, the options, and the message of Slurm."""

    kind: str
    names: tuple[str, ...]
    message: str


class _Record:
    """The requested counts of one resource of one type; 0 for none."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.per_job = self.per_node = self.per_socket = self.per_task = self.cpus_per = 0
        # The total of the job, as computed by sbatch.
        self.total = 0


def gpus_of(string: str | None, version: str) -> tuple[Item, ...]:
    """The items of `--gpus` or `--gpus-per-*`: `4`, `a100:4,h100:4`. Raises UnknownValue."""
    return _known(gpu_list(string, version) if string else None)


def resources_of(string: str | None, version: str) -> tuple[Item, ...]:
    """The items of `--gres`. Raises UnknownValue."""
    return _known(gres_items(string, version) if string else None)


def task_resources(string: str | None, version: str) -> tuple[int | None, list[Item]]:
    """The CPUs and the GRES items of `--tres-per-task`: `cpu=4,gres/gpu:a100=1`. Raises UnknownValue."""
    read = tres_items(string, version) if string else None
    if not is_before(version, "23.11"):
        if isinstance(read, ResourceFault) and read.stage == "verify":
            raise UnknownValue
        # slurmctld parses them more strictly, but later.
        return task_cpus(string, version), task_items(re.sub("gres:", "gres/", string or ""), version)
    cpus: int | None = None
    found: list[Item] = []
    for item in _known(read):
        if item.text.startswith(("gres/", "gres:")):
            found.append(item)
        elif item.name == "cpu":
            cpus = item.count
    return cpus, found


def _known(items: tuple[Item, ...] | ResourceFault | None) -> tuple[Item, ...]:
    if items is None or isinstance(items, ResourceFault) or any(UNKNOWN in item.text for item in items):
        raise UnknownValue
    return items


def settle(values: Values, job: Description, version: str) -> Mismatch | None:
    """Sets in `job` what follows from the GPU options; returns the first sum that is refused, or None.

    `values`: the options by long name. Raises UnknownValue.
    """
    rewritten = not _BY_TASK.isdisjoint(values) and not is_before(version, "23.11")
    forms = {
        form: list(gpus_of(values[name], version)) if name in values and not (rewritten and form == "per_task") else []
        for form, name in _FORMS.items()
    }
    if "gres" in values:
        forms["per_node"] += resources_of(values["gres"], version)
    with_cpus = "cpus-per-task" in values and rewritten
    if "tres-per-task" in values and not is_before(version, "23.02"):
        cpus, items = task_resources(values["tres-per-task"], version)
        forms["per_task"] += [] if rewritten else items
        with_cpus = with_cpus or cpus is not None
    if rewritten and ("tres-per-task" in values or "gpus-per-task" in values):
        forms["per_task"] += task_items(task_text(values, version), version)
    per_gpu = job.ntasks_per_gpu
    if (forms["per_task"] or with_cpus or per_gpu is not None) and job.num_tasks is None:
        if job.min_nodes is not None and job.min_nodes == job.max_nodes:
            if per_gpu is not None:
                job.num_tasks = job.min_nodes * per_gpu
            elif job.ntasks_per_node is not None:
                job.num_tasks = job.min_nodes * job.ntasks_per_node
            elif job.cpus_per_task is None:
                job.num_tasks = job.min_nodes
    records: dict[tuple[str, str], _Record] = {}
    if "cpus-per-gpu" in values:
        _record(records, "gpu", "").cpus_per = number(values["cpus-per-gpu"])
    for form, items in forms.items():
        for item in items:
            if item.count:
                record = _record(records, item.name, item.type)
                setattr(record, form, item.count)
                record.total = max(record.total, _total(form, item.count, job))
    has_gpus = any(name == "gpu" and _requested(record) for (name, _), record in records.items())
    if "mem-per-gpu" in values and megabytes(values["mem-per-gpu"]) != 0:
        _record(records, "gpu", "")
    if per_gpu is not None:
        mismatch = _tasks_per_gpu(values, job, records, has_gpus)
        if mismatch is not None:
            return mismatch
        has_gpus = any(record.per_job for record in records.values()) or has_gpus
    if not has_gpus and records:
        mismatch = _without_gpus(values, version)
        if mismatch is not None:
            return mismatch
    return _compare(values, job, records, version)


_FORMS = {
    "per_job": "gpus",
    "per_node": "gpus-per-node",
    "per_socket": "gpus-per-socket",
    "per_task": "gpus-per-task",
}


_BY_TASK = frozenset({"cpus-per-task", "gpus-per-task", "tres-per-task"})


def number(string: str | None) -> int:
    """A count. Raises UnknownValue."""
    found = whole(string)
    if found is None:
        raise UnknownValue
    return found


def _record(records: dict[tuple[str, str], _Record], name: str, kind: str) -> _Record:
    return records.setdefault((name, kind), _Record(name, kind))


def _requested(record: _Record) -> bool:
    return bool(record.per_job or record.per_node or record.per_socket or record.per_task)


def _tasks_per_gpu(
    values: Values, job: Description, records: dict[tuple[str, str], _Record], has_gpus: bool
) -> Mismatch | None:
    """Applies `--ntasks-per-gpu`: it sets the tasks of a job with GPUs, or the GPUs of a job with tasks."""
    per_gpu = job.ntasks_per_gpu or 1
    names = tuple(name for name in ("ntasks-per-gpu", "ntasks-per-tres") if name in values)
    if has_gpus:
        job.num_tasks = per_gpu * sum(record.total for record in records.values() if record.name == "gpu")
    elif job.num_tasks:
        if job.num_tasks // per_gpu:  # else none
            _record(records, "gpu", "").per_job = job.num_tasks // per_gpu
    else:
        what = "--ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification"
        return Mismatch("tasks-without-gpus", names, f"gres_job_state_validate: {what}")
    return None


def _total(form: str, number: int, job: Description) -> int:
    """The count of an item for the whole job (`total_gres`)."""
    if form == "per_node":
        return number * (job.min_nodes if job.min_nodes is not None else 1)
    if form == "per_task":
        return number * (job.num_tasks if job.num_tasks is not None else 1)
    if form == "per_socket":
        if job.min_nodes is not None and job.sockets_per_node is not None:
            return number * job.min_nodes * job.sockets_per_node
        if job.num_tasks is not None and job.ntasks_per_socket is not None:
            return number * -(-job.num_tasks // job.ntasks_per_socket)
        if job.sockets_per_node is not None:
            return number * job.sockets_per_node
    return number


def _without_gpus(values: Values, version: str) -> Mismatch | None:
    separator = ":" if is_before(version, "23.02") else "/"
    if "mem-per-gpu" in values and not is_before(version, "21.08"):
        size = megabytes(values["mem-per-gpu"])
        if size is None:
            raise UnknownValue
        shown = f"gres{separator}gpu:{size}"
        message = f"Requested mem_per_tres={shown} but did not request any GPU."
        return Mismatch("memory-without-gpus", ("mem-per-gpu",), message)
    if "cpus-per-gpu" in values and not is_before(version, "23.02"):
        shown = f"gres{separator}gpu:{number(values['cpus-per-gpu'])}"
        message = f"Requested cpus_per_tres={shown} but did not request any GPU."
        return Mismatch("cpus-without-gpus", ("cpus-per-gpu",), message)
    return None


def _given(values: Values, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in values)


# The options that request GPUs, in the order of messages.
_REQUESTING = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "tres-per-task")


def _compare(
    values: Values, job: Description, records: dict[tuple[str, str], _Record], version: str
) -> Mismatch | None:
    """The first inconsistent sum of a resource, or resources that exclude each other; None without any."""
    mismatch: Mismatch | None = None
    typed: set[str] = set()
    plain: set[str] = set()
    merge = False
    sharing = shared = False
    for record in records.values():
        mismatch = _sums(values, job, record, version)
        if mismatch is not None:
            break
        sharing = sharing or record.name == "gpu"
        shared = shared or record.name in SHARES
        if sharing and shared:
            mismatch = Mismatch("gpus-and-shares", _given(values, *_REQUESTING), INVALID)
            break
        (typed if record.kind else plain).add(record.name)
        merge = merge or record.name in typed and record.name in plain
    if merge:
        # The result of this comparison replaces the earlier one.
        mismatch = None
        for record in records.values():
            if not record.kind and record.name in typed and record.name in plain and _requested(record):
                return Mismatch("typed-and-untyped", _given(values, *_REQUESTING), MIXED)
    return mismatch


def _sums(values: Values, job: Description, gres: _Record, version: str) -> Mismatch | None:
    """`_test_gres_cnt()`: sets what follows from a resource for nodes, tasks and CPUs; returns an inconsistent sum."""
    if not (gres.per_job or gres.per_task or gres.per_socket or gres.cpus_per or job.ntasks_per_gpu):
        return None  # nothing to compare with
    name = gres.name
    dashed = f"--{name}s"
    per_node, per_task, per_socket = f"--gres={name}/{dashed}-per-node", f"{dashed}-per-task", f"{dashed}-per-socket"
    gpu = name == "gpu"
    total_names = _given(values, "gpus") if gpu else ()
    node_names = _given(values, "gpus-per-node") if gpu else ()
    if "gres" in values and any(item.name == name and item.count for item in resources_of(values["gres"], version)):
        node_names = (*node_names, "gres")
    task_names = _given(values, "gpus-per-task") if gpu else ()
    resources = (values.get("tres-per-task") or "").replace("gres:", "gres/")
    if not is_before(version, "23.02") and f"gres/{name}" in resources:
        task_names = (*task_names, "tres-per-task")
    socket_names = _given(values, "gpus-per-socket") if gpu else ()

    def differ(kind: str, message: str, *names: tuple[str, ...]) -> Mismatch:
        return Mismatch(kind, tuple(dict.fromkeys(sum(names, ()))), message)

    if gres.per_job and max(gres.per_node, gres.per_task, gres.per_socket) > gres.per_job:
        message = f"Failed to ensure {dashed} >= {per_node} >= {per_socket}"
        counts = ((gres.per_node, node_names), (gres.per_task, task_names), (gres.per_socket, socket_names))
        return differ("gpu-sums", message, total_names, *(names for count, names in counts if count > gres.per_job))
    if gres.per_node and max(gres.per_task, gres.per_socket) > gres.per_node:
        over = task_names if gres.per_task > gres.per_node else socket_names
        return differ("gpu-sums", f"Failed to ensure {dashed} >= {per_task}", node_names, over)
    if gres.per_socket and job.sockets_per_node is None:
        message = f"{per_socket} option requires --sockets-per-node specification"
        return differ("gpus-per-socket", message, socket_names)
    if gres.cpus_per and job.cpus_per_task is not None and not is_before(version, "21.08"):
        message = f"--cpus-per-{name} is mutually exclusive with --cpus-per-task"
        return differ("cpus-per-gpu", message, ("cpus-per-gpu",), _given(values, "cpus-per-task", "tres-per-task"))
    if gres.per_job and gres.per_node:
        if gres.per_job % gres.per_node:
            message = f"Failed to validate job spec, {dashed} is not multiple of {per_node}"
            return differ("gpu-sums", message, total_names, node_names)
        nodes = gres.per_job // gres.per_node
        if job.min_nodes is not None and nodes < job.min_nodes or job.max_nodes is not None and nodes > job.max_nodes:
            low, high = (NO_VAL if each is None else each for each in (job.min_nodes, job.max_nodes))
            message = (
                f"Failed to validate job spec. Based on --{name} and {per_node} required nodes ({nodes}) doesn't fall"
                f" between min_nodes ({low}) and max_nodes ({high}) boundaries."
            )
            return differ("gpu-nodes", message, total_names, node_names, _given(values, "nodes", "nodelist"))
        job.min_nodes = job.max_nodes = nodes
    if gres.per_node and gres.per_socket:
        if gres.per_node % gres.per_socket:
            message = f"Failed to validate job spec, {per_node} not multiple of {per_socket}."
            return differ("gpu-sums", message, node_names, socket_names)
        if job.sockets_per_node != gres.per_node // gres.per_socket:
            message = (
                f"Failed to validate job spec. Based on {per_node} and {per_socket} required number of sockets differ"
                " from --sockets-per-node."
            )
            return differ("gpu-sums", message, node_names, socket_names, _given(values, "sockets-per-node"))
    if job.ntasks_per_gpu and job.num_tasks is not None and job.num_tasks % job.ntasks_per_gpu:
        if not is_before(version, "21.08"):
            message = f"Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-{name}."
            return differ("gpu-tasks", message, _given(values, "ntasks", "ntasks-per-gpu", "ntasks-per-tres"))
    if gres.per_task:
        if gres.per_job:
            if gres.per_job % gres.per_task:
                message = f"Failed to validate job spec, {dashed} not multiple of {per_task}"
                return differ("gpu-sums", message, total_names, task_names)
            tasks = gres.per_job // gres.per_task
            if job.num_tasks is None:
                job.num_tasks = tasks
            elif job.num_tasks != tasks:
                message = (
                    f"Failed to validate job spec. Based on {dashed} and {per_task} number of requested tasks differ"
                    " from -n/--ntasks."
                )
                counted = _given(values, "ntasks") or _given(values, "nodes", "ntasks-per-node")
                return differ("gpu-tasks", message, total_names, task_names, counted)
        elif job.num_tasks is not None:
            gres.per_job = job.num_tasks * gres.per_task
        else:
            option = per_task if is_before(version, "23.02") else f"{per_task} or --tres-per-task"
            message = (
                f"Failed to validate job spec. {option} used without either {dashed} or -n/--ntasks is not allowed."
            )
            if not gpu and not is_before(version, "23.02"):
                message = "Failed to validate job spec. --tres-per-task used without -n/--ntasks is not allowed."
            return differ("gpus-per-task", message, task_names)
    for count, shown, names, place in (
        (gres.per_node, per_node, node_names, "node"),
        (gres.per_socket, per_socket, socket_names, "socket"),
    ):
        if count and gres.per_task:
            if count % gres.per_task:
                message = f"Failed to validate job spec, {shown} not multiple of {per_task}."
                return differ("gpu-sums", message, names, task_names)
            tasks = count // gres.per_task
            if not getattr(job, f"ntasks_per_{place}"):
                setattr(job, f"ntasks_per_{place}", tasks)
            elif getattr(job, f"ntasks_per_{place}") != tasks:
                message = (
                    f"Failed to validate job spec. Based on {shown} and {per_task} requested number of tasks per"
                    f" {'node' if place == 'node' else 'sockets'} differ from --ntasks-per-{place}."
                )
                return differ("gpu-tasks", message, names, task_names, _given(values, f"ntasks-per-{place}"))
    if gres.cpus_per and gres.per_task:
        cpus = gres.cpus_per * gres.per_task
        if not job.cpus_per_task:
            job.cpus_per_task = cpus
        elif job.cpus_per_task != cpus:
            message = (
                f"Failed to validate job spec. Based on --cpus-per-{name} and {per_task} requested number of cpus"
                " differ from -c/--cpus-per-task."
            )
            return differ("cpus-per-gpu", message, ("cpus-per-gpu",), task_names, _given(values, "cpus-per-task"))
    if gres.per_job:
        if job.min_nodes is not None and gres.per_job < job.min_nodes:
            gpu_names = total_names or task_names
            return differ("gpus-below-nodes", f"Failed to validate job spec, {dashed} < -N", gpu_names, _nodes(values))
        if job.max_nodes is not None and gres.per_job < job.max_nodes:
            job.max_nodes = gres.per_job
    return None


def _nodes(values: Values) -> tuple[str, ...]:
    return _given(values, "nodes") or _given(values, "nodelist") or _given(values, "ntasks", "ntasks-per-node")
