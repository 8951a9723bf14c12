"""`scontrol show config`: `Name = value` lines, and sections for cgroup, MPI and others after them.

22.05 was seen live. Later releases drop and add names (23.02: `CgroupPlugin` in a section of its own; 24.05: no
`SLURM_CONF` of others), but keep those that are read here.
"""

from typing import Any

from sbatchlint.site.outputs.records import NOTHING, Damaged, number
from sbatchlint.slurm.versions import major

BEGINS = "Configuration data as of "
_NAMES = {
    "MaxArraySize": "max_array_size",
    "MaxTasksPerNode": "max_tasks_per_node",
    "DefMemPerNode": "default_memory_per_node",
    "DefMemPerCPU": "default_memory_per_cpu",
    "MaxMemPerNode": "max_memory_per_node",
    "MaxMemPerCPU": "max_memory_per_cpu",
}


def read_config(lines: list[str]) -> dict[str, Any]:
    """The fields of a profile that the configuration decides. Raises `Damaged`."""
    values: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition("=")
        if separator:
            values.setdefault(name.strip(), value.strip())
    missing = [
        name
        for name in ("SLURM_VERSION", "SelectType", "TaskPlugin", "MaxArraySize", "GresTypes")
        if name not in values
    ]
    if missing:
        raise Damaged(f"the configuration has no {missing[0]}: is the output cut off?")
    try:
        major(_version(values["SLURM_VERSION"]))
    except ValueError as error:
        raise Damaged(str(error)) from None
    found: dict[str, Any] = {field: number(values.get(name)) for name, field in _NAMES.items()}
    found |= {
        "cluster": _word(values.get("ClusterName")) or "",
        "date": lines[0].removeprefix(BEGINS)[:10],
        "release": _version(values["SLURM_VERSION"]),
        "select_type": values["SelectType"].removeprefix("select/"),
        "select_parameters": _words(values.get("SelectTypeParameters")),
        "task_plugins": tuple(each.removeprefix("task/") for each in _words(values.get("TaskPlugin"))),
        "task_parameters": _task_parameters(values.get("TaskPluginParam")),
        "submit_plugins": (
            *_words(values.get("JobSubmitPlugins")),
            *(f"cli_filter/{each.removeprefix('cli_filter/')}" for each in _words(values.get("CliFilterPlugins"))),
        ),
        "enforce_part_limits": _enforced(values.get("EnforcePartLimits")),
        "accounting_enforce": _accounting(values),
        "gres_types": _words(values["GresTypes"]),
        "gpus_bound": _gpus_bound(values),
        "x11": "x11" in (values.get("PrologFlags") or "").lower(),
    }
    for item in _words(values.get("JobDefaults")):
        if item.startswith("DefMemPerGPU="):
            found["default_memory_per_gpu"] = number(item.partition("=")[2])
    return found


def _version(text: str) -> str:
    """`23.11.4` of `23.11.4-1` or `23.11.0-0rc1`."""
    return text.partition("-")[0]


def _word(value: str | None) -> str | None:
    return None if value is None or value in NOTHING else value


def _words(value: str | None) -> tuple[str, ...]:
    return tuple(each for each in (_word(value) or "").split(",") if each)


def _task_parameters(value: str | None) -> tuple[str, ...] | None:
    """`(null type)` where there are none: slurm_sprint_cpu_bind_type() in src/common/slurm_resource_info.c."""
    return None if value is None else _words("" if value == "(null type)" else value.lower())


def _enforced(value: str | None) -> str | None:
    """`NO`, `ANY` or `ALL`; `YES` is an old name of `ALL`."""
    return {"YES": "ALL"}.get(value.upper(), value.upper()) if value else None


def _accounting(values: dict[str, str]) -> tuple[str, ...] | None:
    if values.get("AccountingStorageType", "accounting_storage/none") in ("accounting_storage/none", "(null)"):
        return None
    said = values.get("AccountingStorageEnforce", "").lower()
    return tuple(each for each in said.split(",") if each not in ("", "none"))


def _gpus_bound(values: dict[str, str]) -> bool | None:
    """Whether cgroups hide GPUs that a job did not ask for; None where the section on cgroups is missing."""
    constrained = values.get("ConstrainDevices")
    if constrained is None:
        return None
    return constrained.lower() == "yes" and "cgroup" in values.get("TaskPlugin", "")
