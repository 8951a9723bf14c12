"""Whether a job's commands use GPUs, and whether somebody asked for any."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.gpus.gpu_signs import PROCESSORS, STRONG, WEAK, Sign, environment_sign, gpu_signs
from sbatchlint.analysis.gpus.submit_line import is_submitted_with_gpus
from sbatchlint.bash.values import Phase
from sbatchlint.job import Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.request import GPU_OPTIONS, Request
from sbatchlint.job.steps import Step
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex

_RESOURCE_OPTIONS = frozenset({
    "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mem", "mem-per-cpu", "time", "partition", "constraint",
    "exclusive", "account", "qos",
})  # fmt: skip
# The strength of a sign that only looks at GPUs, or prepares for them.
_HINT = "hint"
_GPU_PARTITION = Regex(
    r"gpu(?!less)|(?<![a-z0-9])(?:[ahvlp]\d{2,3}|gh?200|rtx[a-z0-9]*|dgx[a-z0-9]*|mi\d{3}[a-z0-9]*)(?![a-z0-9])"
)
# What a line that sbatch does not read may have asked for.
_ASKING = Regex(r"gres|gpu|[ \t]-[Gp]|exclusive|partition|\$", re.IGNORECASE)
# Commands that look at GPUs, or prepare for them, and do not use them.
LOOKING = frozenset(
    ["nvidia-smi", "dcgmi", "rocm-smi", "amd-smi", "rocminfo", "module", "ml", "spack", "nvcc", "hipcc"]
)


class GpuNeed(NamedTuple):
    """GPUs are used, and none is asked for.

    `place`: the directive to point at. `signs`: what uses them, at most three. `per_node`: how many per node the job
    seems to want. `whole_nodes`: the job has its nodes to itself, which gives it all GPUs at many sites.
    """

    place: Setting
    signs: list[Sign]
    per_node: int
    whole_nodes: bool


@once
def gpu_need(job: Job) -> GpuNeed | None:
    """The unmet need for GPUs of a job; None where there is none, or nobody can know."""
    directives, request, site = job.directives, job.request, job.site
    if request.asks_for_gpus is not False or not directives.settings or request.heterogeneous:
        return None
    if any(typo(directives, setting) is not None for setting in request.gpu_settings()):
        return None  # meant to be a number of GPUs, and another fault
    if request.partition is not None and any(name in site.gpu_partitions for name in request.partition.split(",")):
        return None
    if re.search(r"cpu|prepost|compil|transfer|download|archive|serial", (request.partition or "").lower()):
        return None
    if any(name in step.options for step in job.steps for name in GPU_OPTIONS):
        return None
    if is_submitted_with_gpus(job):
        return None
    signs = list(_signs(job))
    if any(sign.strength == PROCESSORS for sign in signs):
        return None
    found = [sign for sign in signs if sign.strength == STRONG]
    if not found and _is_gpu_partition(request):
        found = [sign for sign in signs if sign.strength in (_HINT, WEAK)]
    if not found:
        return None
    from sbatchlint.analysis.directives.lost_lines import lost_lines  # few jobs come as far as here

    if any(_ASKING.search(line) for line in lost_lines(directives)):
        return None  # they are asked for, but in a line that sbatch does not read
    first = {sign.span: sign for sign in reversed(found)}
    return GpuNeed(
        _place(job),
        sorted(first.values(), key=lambda sign: sign.span)[:3],
        _count(job),
        request.asked("exclusive") or request.text("mem") == "0",
    )


@once
def unseen_gpus(job: Job) -> tuple[Step, Sign] | None:
    """The first step that plainly uses GPUs of an exclusive job which asks for none, and what in it does.

    Only the batch shell of such a job has them.
    """
    if job.request.exclusive != "" or gpu_need(job) is None:
        return None
    by_command = {id(launch.invocation): launch.launcher for launch in job.launches}
    for step in job.steps:
        for command in step.program:
            if command.argv and command.name not in LOOKING:
                for sign in gpu_signs(command.argv, by_command.get(id(command)), container_of(command)):
                    if sign.strength == STRONG:
                        return step, sign
    return None


def _signs(job: Job) -> Iterator[Sign]:
    """Signs of all commands and exported variables of a job.

    What merely looks at GPUs, or prepares for them (nvidia-smi, modules, variables), is a hint: scripts that are used
    on several machines are full of it.
    """
    by_command = {id(launch.invocation): launch.launcher for launch in job.launches}
    for command in job.invocations:
        if command.phase is Phase.SUBMIT or not command.argv:
            continue
        looking = command.name in LOOKING
        for sign in gpu_signs(command.argv, by_command.get(id(command)), container_of(command)):
            yield sign._replace(strength=_HINT) if looking and sign.strength == STRONG else sign
    for each in job.assignments:
        if each.exported and len(each.alternatives) == 1 and each.alternatives[0].fields:
            found = environment_sign(each.name, each.alternatives[0].fields[0], each.span)
            if found is not None:
                yield found._replace(strength=_HINT) if found.strength == STRONG else found


def _place(job: Job) -> Setting:
    partition = job.request.given("partition")
    if partition is not None and _is_gpu_partition(job.request):
        return partition
    settings = job.directives.settings
    return ([setting for setting in settings if setting.name in _RESOURCE_OPTIONS] or settings)[-1]


def _is_gpu_partition(request: Request) -> bool:
    """Whether the partition's name speaks of GPUs."""
    return _GPU_PARTITION.search((request.partition or "").lower()) is not None


def _count(job: Job) -> int:
    """GPUs per node: what the launcher starts, or one a task."""
    counts = [each.launcher.processes_per_task for each in job.launches]
    numbers = [count for count in counts if isinstance(count, int)]
    if numbers:
        return max(max(numbers), 1)
    return job.site.gpus_per_node or job.request.tasks_per_node or 1
