"""The plan of a job, as plain values for JSON: its request, whether sbatch accepts it, and the steps that it starts.

Counts are what Slurm computes from all options together (see `slurm.counts`), so `--ntasks=1 --nodes=2` has one node.
None is for unknown or not set.
"""

from typing import Any

from sbatchlint.analysis.planning.steps import steps_of
from sbatchlint.job import Job
from sbatchlint.job.request import Request
from sbatchlint.slurm.verdict import verdict

Plan = dict[str, Any]


def plan_of(job: Job) -> Plan:
    """The plan of a batch script, with those of the scripts that it submits."""
    plan: Plan = {
        "path": job.source.path,
        "slurm_version": str(job.versions),
        "request": request_of(job),
        "steps": steps_of(job),
    }
    if job.submits:
        plan["submits"] = [plan_of(inner) for inner in job.submits]
    return plan


def request_of(job: Job) -> Plan:
    versions = job.versions.majors
    verdicts = [verdict(job.directives, version) for version in versions]
    accepted = {each.accepted for each in verdicts}
    refused = [each.message for each in verdicts if each.accepted is False]
    found: Plan = {
        "accepted": accepted.pop() if len(accepted) == 1 else None,
        "message": refused[-1] if refused else None,
    }
    if len(versions) > 1:
        found["by_version"] = {
            version: {"accepted": each.accepted, "message": each.message}
            for version, each in zip(versions, verdicts, strict=True)
        }
    newest = versions[-1]
    found["components"] = [
        _component(job, Request(job.directives, index, newest)) for index in range(job.directives.components)
    ]
    if job.site.profile is not None:
        from sbatchlint.analysis.site.view import cluster_view  # most runs know no cluster

        for index, component in enumerate(found["components"]):
            component["cluster"] = cluster_view(job, index)
    return found


def _component(job: Job, request: Request) -> Plan:
    nodes, tasks, gpus, memory = request.effective_nodes(), request.effective_tasks(), request.gpus, request.memory
    counts = {name: getattr(gpus, name) for name in ("per_node", "total", "per_task", "per_socket")}
    found: Plan = {
        "nodes": None if nodes is None else {"min": nodes.minimum, "max": nodes.maximum},
        "tasks": request.tasks if tasks is None else tasks,
        "tasks_per_node": request.tasks_on_each_node(),
        "cpus_per_task": request.cpus_per_task,
        "time_minutes": request.time,
        "memory_mb": None if memory is None else {f"per_{memory.per}": memory.megabytes},
        "gpus": {name: number for name, number in counts.items() if number is not None} or None,
        "gpu_type": gpus.kind or None,
    }
    for name in _TEXTS:
        found[name.replace("-", "_")] = request.value(name)
    found["exclusive"] = "exclusive" if request.exclusive == "" else request.exclusive
    found["mail_type"] = request.mail_type
    found["options"] = {
        setting.name: {"value": "" if setting.value is None else setting.text, "line": job.line(setting.span.start)}
        for setting in request.settings()
    }
    for foreign in request.foreign_settings():
        found["options"][foreign.name] = {"value": foreign.value, "line": job.line(foreign.span.start)}
    return found


_TEXTS = (
    *("job-name", "partition", "account", "output", "error", "array", "dependency", "exclusive", "constraint", "qos"),
    *("reservation", "chdir", "export", "signal", "mail-type"),
)
