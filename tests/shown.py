"""What `scontrol show job` shows of a held job, told from the picture alone, for comparison with a real one.

A field that is not here is not predicted. Facts of the cluster that matter: no accounting, partitions without limits,
2000 MB for each CPU by default.
"""

from __future__ import annotations

import re

from sbatchlint.job.request import Request
from sbatchlint.slurm.combined.counts import shown as shown_counts
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.grammar import arrays, hosts, sizes, times
from sbatchlint.slurm.versions import is_before

DEFAULT_MEMORY = {"MinMemoryCPU": "2000M"}


def shown(directives: Directives, version: str, script_name: str = "job.sh") -> list[dict[str, str]]:
    """The fields of each component."""
    return [
        _component(Request(directives, index, version), version, script_name) for index in range(directives.components)
    ]


def _component(request: Request, version: str, script_name: str) -> dict[str, str]:
    fields = shown_counts(request.values(), version, node_cpus=64, node_cores=64) or {}
    text = request.text
    name = text("job-name")
    fields["JobName"] = script_name if name is None else name
    for option, field in (("time", "TimeLimit"), ("time-min", "TimeMin")):
        if text(option) is not None:
            fields[field] = time_text(times.minutes(text(option)) or 0)
    fields.update(_memory(request))
    fields.update(_resources(request, version))
    for option, field in (("comment", "Comment"), ("constraint", "Features"), ("prefer", "Prefer")):
        value = text(option)
        if value is not None:
            fields[field] = value
    for option, field in (("nodelist", "ReqNodeList"), ("exclude", "ExcNodeList")):
        if hosts.hosts(text(option), version):
            fields[field] = text(option) or ""
    if text("tmp") is not None:
        fields["MinTmpDiskNode"] = size_text(sizes.megabytes(text("tmp")) or 0)
    fields["Contiguous"] = "1" if request.asked("contiguous") else "0"
    events = request.mail_type
    if events:
        fields["MailType"] = events
        fields["MailUser"] = text("mail-user") or "root"
    fields.update(_sharing(request, version))
    array = arrays.indexes(text("array") or "", version)
    if isinstance(array, arrays.Indexes) and array.tasks <= 20:
        fields["ArrayTaskId"] = text("array") or ""
    output = text("output")
    if output is not None and not re.search(r"[%\\]", output):
        fields["StdOut"] = "/dev/null" if output == "none" else output
    return fields


def _memory(request: Request) -> dict[str, str]:
    memory = request.memory
    if memory is None:
        return {} if any(request.asked(name) for name in ("mem", "mem-per-cpu", "mem-per-gpu")) else DEFAULT_MEMORY
    if memory.per == "gpu":
        return {"MemPerTres": f"gres/gpu:{memory.megabytes}"}
    return {f"MinMemory{'Node' if memory.per == 'node' else 'CPU'}": size_text(memory.megabytes)}


def _resources(request: Request, version: str) -> dict[str, str]:
    old = is_before(version, "23.11")
    prefix = "gres:" if old else "gres/"
    fields: dict[str, str] = {}

    def gpus(option: str) -> list[str]:
        value = request.text(option)
        return [f"{prefix}gpu:{part}" for part in value.split(",")] if value else []

    gres = request.text("gres")
    per_node = gpus("gpus-per-node")
    if gres is not None and gres.lower() != "none":
        per_node += [prefix + part for part in gres.split(",")]
    if per_node:
        fields["TresPerNode"] = ",".join(per_node)
    tasks = _by_task(request, version)
    if tasks:
        fields["TresPerTask"] = tasks
    if gpus("gpus"):
        fields["TresPerJob"] = ",".join(gpus("gpus"))
    if gpus("gpus-per-socket"):
        fields["TresPerSocket"] = ",".join(gpus("gpus-per-socket"))
    return fields


def _by_task(request: Request, version: str) -> str | None:
    """What a task gets; None where the two ways of asking for it meet, or for a number of none."""
    gpus, cpus = request.text("gpus-per-task"), request.cpus_per_task
    if request.asked("tres-per-task"):
        return None if gpus or cpus else request.text("tres-per-task")
    if is_before(version, "23.11"):
        return ",".join(f"gres:gpu:{part}" for part in gpus.split(",")) if gpus else None
    sign = ":" if is_before(version, "24.05") else "="
    parts = [f"cpu{sign}{cpus}"] if cpus else []
    for part in gpus.split(",") if gpus else ():
        kind, colon, count = part.rpartition(":")
        if not count.isdigit() or count.strip("0") == "":
            return None
        parts.append(f"gres/gpu{colon}{kind}{sign}{count}")
    return ",".join(parts)


def _sharing(request: Request, version: str) -> dict[str, str]:
    if request.asked("exclusive") and request.asked("oversubscribe"):
        return {}
    if request.asked("oversubscribe") or request.text("exclusive") == "oversubscribe":
        return {"OverSubscribe": "YES"}
    if request.exclusive is None:
        return {}
    if is_before(version, "25.05"):
        return {"OverSubscribe": request.exclusive.upper() or "NO"}
    return {"Exclusive": request.exclusive.upper() or "NODE"}


def is_same(name: str, ours: str, theirs: str, version: str) -> bool:
    """Whether two values of a field say the same; lists may be written with ranges or one by one."""
    if ours == theirs:
        return True
    if name in ("ReqNodeList", "ExcNodeList"):
        return sorted(hosts.hosts(ours, version) or ()) == sorted(hosts.hosts(theirs, version) or (theirs,))
    return name == "ArrayTaskId" and _tasks(ours) == _tasks(theirs)


def _tasks(text: str) -> tuple[list[int], str]:
    """The indexes of an array, and its throttle as written; `%0` and none are the same."""
    indexes, _, throttle = text.strip("[]").partition("%")
    found: list[int] = []
    for part in filter(None, indexes.split(",")):
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return sorted(set(found)), throttle.strip("0")


def time_text(minutes: int) -> str:
    """A limit as Slurm writes it; 0 is no limit."""
    if minutes == times.UNLIMITED:
        return "UNLIMITED"
    days, rest = divmod(minutes, 24 * 60)
    return (f"{days}-" if days else "") + f"{rest // 60:02}:{rest % 60:02}:00"


def size_text(megabytes: int) -> str:
    """Megabytes in the largest unit that holds them as a whole number."""
    unit = 0
    while megabytes >= 1024 and megabytes % 1024 == 0 and unit < 2:
        megabytes //= 1024
        unit += 1
    return f"{megabytes}{'MGT'[unit]}" if megabytes else "0"
