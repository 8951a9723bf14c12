"""What `scontrol show job` shows of a held job, told from the picture alone, for comparison with a real one.

A field that is not here is not predicted. Facts of the cluster that matter: no accounting, partitions without limits,
2000 MB for each CPU by default.
"""

from __future__ import annotations

import re

from sbatchlint.job.request import Request
from sbatchlint.slurm.conflicts.by_task import UnknownValue, task_text
from sbatchlint.slurm.conflicts.clashing_settings import values_of
from sbatchlint.slurm.conflicts.counts import Counts, Values, job_counts
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.grammar import arrays, hosts, numbers, sizes, times
from sbatchlint.slurm.versions import is_before

DEFAULT_MEMORY = {"MinMemoryCPU": "2000M"}


def shown(directives: Directives, version: str, script_name: str = "job.sh") -> list[dict[str, str]]:
    """The fields of each component."""
    found = []
    for index in range(directives.components):
        fields = _component(Request(directives, index, version), version, script_name)
        if index:
            # Mail is sent for the first component.
            fields = {name: value for name, value in fields.items() if name not in ("MailType", "MailUser")}
        found.append(fields)
    return found


def _component(request: Request, version: str, script_name: str) -> dict[str, str]:
    values = values_of(request.directives, request.component, version)
    fields = shown_counts(values, version, node_cpus=64, node_cores=64) or {}
    text = request.value
    name = text("job-name")
    fields["JobName"] = script_name if name is None else name
    for option, field in (("time", "TimeLimit"), ("time-min", "TimeMin")):
        if text(option) is not None:
            fields[field] = time_text(times.minutes(text(option)) or 0)
    fields.update(_memory(request, version))
    fields.update(_resources(request, version))
    for option, field in (("comment", "Comment"), ("constraint", "Features"), ("prefer", "Prefer")):
        value = text(option)
        if value is not None:
            fields[field] = value if option == "comment" else value.replace(",", "&")
    for option, field in (("nodelist", "ReqNodeList"), ("exclude", "ExcNodeList")):
        if hosts.hosts(text(option), version):
            fields[field] = text(option) or ""
    if text("tmp") is not None:
        fields["MinTmpDiskNode"] = size_text(sizes.megabytes(text("tmp")) or 0)
    fields["Contiguous"] = "1" if request.has_option("contiguous") else "0"
    events = request.mail_type
    if events:
        fields["MailType"] = events
        fields["MailUser"] = text("mail-user") or "root"
    fields.update(_sharing(request, version))
    array = arrays.indexes(text("array") or "", version)
    if isinstance(array, arrays.Indexes) and array.tasks <= 20:
        fields["ArrayTaskId"] = _array(text("array") or "")
    for option, field in (("output", "StdOut"), ("error", "StdErr"), ("input", "StdIn")):
        path = text(option)
        if path and not re.search(r"[%\\]", path):
            fields[field] = "/dev/null" if path == "none" else path
    fields.update(_account(request, version))
    return fields


def _account(request: Request, version: str) -> dict[str, str]:
    """What has nothing to do with resources."""
    text = request.value
    fields = {"Reboot": "1" if request.has_option("reboot") else "0"}
    account = text("account")
    if account:
        fields["Account"] = account.lower()
    if request.has_option("nice"):
        fields["Nice"] = "100" if text("nice") is None else str(numbers.strtol(text("nice") or "")[0])
    if request.requeue is not None:
        fields["Requeue"] = "1" if request.requeue else "0"
    if text("network"):
        fields["Network"] = text("network") or ""
    folder = text("chdir")
    if folder and folder.startswith("/") and "%" not in folder:
        fields["WorkDir"] = folder
    if text("dependency") == "singleton":
        fields["Dependency"] = "singleton(unfulfilled)"
    if text("cpus-per-gpu"):
        fields["CpusPerTres"] = f"gres{':' if is_before(version, '23.02') else '/'}gpu:{text('cpus-per-gpu')}"
    return fields


def _memory(request: Request, version: str) -> dict[str, str]:
    memory = request.memory
    if memory is None:
        return {} if any(request.has_option(name) for name in ("mem", "mem-per-cpu", "mem-per-gpu")) else DEFAULT_MEMORY
    if memory.per == "gpu":
        return {"MemPerTres": f"gres{':' if is_before(version, '23.02') else '/'}gpu:{memory.megabytes}"}
    if memory.megabytes == 0:
        return {"MinMemoryNode": "0"}
    return {f"MinMemory{'Node' if memory.per == 'node' else 'CPU'}": size_text(memory.megabytes)}


def _resources(request: Request, version: str) -> dict[str, str]:
    old = is_before(version, "23.11")
    prefix = "gres:" if old else "gres/"
    fields: dict[str, str] = {}

    def gpus(option: str) -> list[str]:
        value = request.value(option)
        return [f"{prefix}gpu:{part}" for part in value.split(",") if part] if value else []

    gres = request.value("gres")
    per_node = gpus("gpus-per-node")
    if gres is not None and gres.lower() != "none":
        per_node += [prefix + part.removeprefix(prefix) for part in gres.split(",") if part]
    if per_node:
        fields["TresPerNode"] = ",".join(per_node)
    try:
        tasks = _by_task(request, version)
    except UnknownValue:
        tasks = ""
    if tasks:
        fields["TresPerTask"] = tasks
    if gpus("gpus"):
        fields["TresPerJob"] = ",".join(gpus("gpus"))
    if gpus("gpus-per-socket"):
        fields["TresPerSocket"] = ",".join(gpus("gpus-per-socket"))
    return fields


def _by_task(request: Request, version: str) -> str:
    values = values_of(request.directives, request.component, version)
    if not is_before(version, "23.11"):
        return task_text(values, version)
    gpus = request.value("gpus-per-task")
    return ",".join(f"gres:gpu:{part}" for part in gpus.split(",") if part) if gpus else ""


def _sharing(request: Request, version: str) -> dict[str, str]:
    if request.has_option("exclusive") and request.has_option("oversubscribe"):
        return {}
    if request.has_option("oversubscribe") or (request.value("exclusive") or "").lower() == "oversubscribe":
        return {"OverSubscribe": "YES"}
    if request.has_option("reboot"):
        return {"OverSubscribe": "NO"} if is_before(version, "26.05") else {"Exclusive": "NODE"}
    if request.exclusive is None:
        return {"OverSubscribe": "OK"} if is_before(version, "26.05") else {"OverSubscribe": "NO", "Exclusive": "NO"}
    if is_before(version, "26.05"):
        return {"OverSubscribe": request.exclusive.upper() or "NO"}
    kind = request.exclusive.upper()
    return {"Exclusive": "NODE" if kind in ("", "EXCLUSIVE", "ALLOCATION") else kind}


def is_same(name: str, ours: str, theirs: str, version: str) -> bool:
    """Whether two values of a field say the same; lists may be written with ranges or one by one."""
    if ours == theirs:
        return True
    if name in ("ReqNodeList", "ExcNodeList"):
        return sorted(hosts.hosts(ours, version) or ()) == sorted(hosts.hosts(theirs, version) or (theirs,))
    return name == "ArrayTaskId" and _tasks(ours) == _tasks(theirs)


def _array(text: str) -> str:
    """The indexes as Slurm lists them: in order, each once, and ranges of those that follow one another."""
    indexes, throttle = _tasks(text)
    parts: list[list[int]] = []
    for index in indexes:
        if parts and index == parts[-1][-1] + 1:
            parts[-1].append(index)
        else:
            parts.append([index])
    # Several with one step between them are listed one by one.
    shown = ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
    return shown + (f"%{throttle}" if throttle else "")


def _tasks(text: str) -> tuple[list[int], str]:
    """The indexes of an array, and its throttle as written; `%0` and none are the same."""
    throttles = re.findall("%([0-9]+)", text)
    indexes = re.sub(r"%[0-9]*(?::[0-9]*)?|[\[\]]", "", text)  # a step behind the throttle is dropped
    found: list[int] = []
    for part in filter(None, indexes.split(",")):
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return sorted(set(found)), (throttles[0].lstrip("0") if throttles else "")


def time_text(minutes: int) -> str:
    """A limit as Slurm writes it; 0 is no limit."""
    if minutes == times.UNLIMITED:
        return "UNLIMITED"
    days, rest = divmod(minutes, 24 * 60)
    return (f"{days}-" if days else "") + f"{rest // 60:02}:{rest % 60:02}:00"


def size_text(megabytes: int) -> str:
    """Megabytes in the largest unit that holds them in halves; a half is written as `1.50G`."""
    number, unit = float(megabytes), 0
    while number >= 1024 and number % 512 == 0 and unit < 3:
        number /= 1024
        unit += 1
    shown = f"{number:.0f}" if number == int(number) else f"{number:.2f}"
    return f"{shown}{'MGTP'[unit]}" if megabytes else "0"


def shown_counts(
    values: Values, version: str, node_cpus: int | None = None, node_cores: int | None = None
) -> dict[str, str] | None:
    """What `scontrol show job` says of the job while it is held: `NumNodes`, `NumTasks`, `CPUs/Task` and so on.

    `node_cpus`, `node_cores`: of the largest node of the partition; slurmctld guesses from them how many nodes the
    tasks will need. Without them `NumNodes` is left out where they would matter. None as for `job_counts`.
    """
    counts = job_counts(values, version)
    if counts is None:
        return None
    tasks = counts.ntasks if counts.ntasks_given else 0
    found = {
        "NumTasks": str(counts.ntasks),
        "CPUs/Task": str(max(counts.cpus_per_task or 1, 1)),
        "ReqB:S:C:T": f"0:0:{_star(counts.cores_per_socket)}:{_star(counts.threads_per_core)}",
        "NtasksPerN:B:S:C": ":".join(
            (
                str(counts.ntasks_per_node or 0),
                "0",
                _star(counts.ntasks_per_socket),
                _star(counts.ntasks_per_core),
            )
        ),
        "Socks/Node": _star(counts.sockets_per_node),
    }
    if counts.sizes is not None:
        found["NumNodes"] = _ranges(counts.sizes)
        return found
    nodes = _shown_nodes(counts, tasks, version, node_cpus, node_cores)
    # With --spread-job the most is the tasks or all nodes of the site.
    spread = "spread-job" in values and tasks > 0 and counts.max_nodes is None
    if nodes is not None and not spread:
        low, high = nodes
        if high and high < low:
            low = high
        found["NumNodes"] = f"{low}-{high}" if high else str(low)
    return found


def _star(count: int | None) -> str:
    return "*" if count is None else str(count)


def _shown_nodes(
    counts: Counts, tasks: int, version: str, cpus: int | None, cores: int | None
) -> tuple[int, int] | None:
    """The least and the most nodes as shown (`_pack_default_job_details()`, src/slurmctld/job_mgr.c)."""
    low, high = counts.min_nodes, counts.max_nodes or 0
    if counts.ntasks_per_node:
        return max(tasks // counts.ntasks_per_node, low), high
    if counts.cpus_per_task is not None and counts.cpus_per_task > 1:
        if cpus is None:
            return None if tasks > 1 else (max(low, 1), high)
        on_node = max(cpus // counts.cpus_per_task, 1)
        rounded = bool(tasks % on_node) and is_before(version, "23.11")
        return max(tasks // on_node, low) + rounded, high
    if counts.ntasks_per_core:
        if tasks > counts.ntasks_per_core * low and cores is None:
            return None
        needed = -(-tasks // counts.ntasks_per_core)
        return max(-(-needed // cores) if cores else 1, low), high
    if tasks > low and cpus is None:
        return None
    low = max(-(-tasks // cpus) if cpus else low, low)
    return low, high if is_before(version, "23.11") else max(low, high)


def _ranges(sizes: tuple[int, ...]) -> str:
    """`1-4,8`."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and size == runs[-1][1] + 1:
            runs[-1][1] = size
        else:
            runs.append([size, size])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
