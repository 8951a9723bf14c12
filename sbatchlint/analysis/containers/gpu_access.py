"""Which GPUs a container sees: none, the job's, or all of its node.

docker's daemon runs outside the job's cgroup, so it gives a container the GPUs that the options name, whatever Slurm
allocated to the job; without options it gives none, unless the nvidia runtime is the default. apptainer mounts the
driver's libraries with --nv (NVIDIA) or --rocm (AMD), or if its configuration always does.
"""

from typing import NamedTuple

from sbatchlint.analysis.containers.container_starts import ContainerStart
from sbatchlint.analysis.gpus.gpu_signs import PROCESSORS, gpu_signs
from sbatchlint.bash.trace import exported, is_set
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import CommandOption
from sbatchlint.job.request import GPU_OPTIONS
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex

NONE, ALL, COUNT, NAMED, UNKNOWN = "none", "all", "count", "named", "unknown"

_MASKS = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# Options that may give the container GPUs.
_OTHER_WAYS = (
    "runtime",
    "device",
    "privileged",
    "hooks-dir",
    "device-cgroup-rule",
    "volumes-from",
    "module",
    "annotation",
)
_GPU_PATHS = Regex(r"nvidia|libcuda|cuda|rocm|/dev/(?:kfd|dri|dxg)|^/dev/?$")
_TRUE = frozenset({"1", "true", "yes", "y", "on"})


class GpuAccess(NamedTuple):
    """The GPUs that a container sees: `none`, `all` of the node, a `count` of them, `named` ones, or `unknown`.

    `option`: the option that sets this, None if there is none. `text`: the number, or the names, as written.
    """

    kind: str
    option: CommandOption | None = None
    text: str = ""


def gpu_access(start: ContainerStart) -> GpuAccess:
    """Which GPUs a container sees, according to the options with which it is started."""
    container = start.container
    if not start.is_certain:
        return GpuAccess(UNKNOWN)
    if any(_GPU_PATHS.search(shown_text(mount.source or mount.target)) for mount in container.mounts):
        return GpuAccess(UNKNOWN)
    if container.kind == "apptainer":
        # an instance has the GPUs with which it was started
        instance = shown_text(container.image or ()).startswith("instance:")
        return GpuAccess(UNKNOWN) if instance else _of_apptainer(start)
    if container.kind in ("docker", "podman") and start.verb == "run":
        return _of_docker(start)
    return GpuAccess(UNKNOWN)


def _of_apptainer(start: ContainerStart) -> GpuAccess:
    for name in ("nv", "nvccli", "rocm", "device", "intel-hpu"):
        option = start.flag(name)
        if option is not None:
            return GpuAccess(ALL, option)
    for prefix in ("APPTAINER_", "SINGULARITY_"):
        for name in ("NV", "NVCCLI", "ROCM"):
            value = exported(start.invocation, prefix + name)
            if value is not None and (text_of(value) or "1").lower() in _TRUE:
                return GpuAccess(ALL)
        if prefix + "NV" in start.invocation.state.variables:
            return GpuAccess(UNKNOWN)
    return GpuAccess(NONE)


def _of_docker(start: ContainerStart) -> GpuAccess:
    container = start.container
    gpus = container.option("gpus")
    if gpus is not None:
        text = gpus.text
        return GpuAccess(UNKNOWN, gpus) if text is None else _of_value(text.strip("\"'"), gpus)
    if start.engine == "nvidia-docker":
        # by default all: its runtime follows the image, and images for CUDA name all
        chosen = any(name in container.passed for name in _MASKS) or "device" in {
            each.name for each in container.options
        }
        return GpuAccess(UNKNOWN if chosen or is_set(start.invocation, "NV_GPU") or _before(start) else ALL)
    if container.option("gpu") is not None:
        return GpuAccess(UNKNOWN)
    runtime = container.option("runtime")
    visible = container.passed.get("NVIDIA_VISIBLE_DEVICES")
    if runtime is not None and runtime.text == "nvidia" and visible is not None:
        option = next(each for each in container.options if "NVIDIA_VISIBLE_DEVICES" in shown_text(each.value or ()))
        text = text_of(visible)
        if text is None:
            return GpuAccess(UNKNOWN)
        return GpuAccess(ALL, option) if text == "all" else GpuAccess(NAMED, option, text)
    hidden = any(container.option(name) is not None for name in _OTHER_WAYS)
    masked = any(name in container.passed for name in _MASKS)
    return GpuAccess(UNKNOWN if hidden or masked else NONE)


def _before(start: ContainerStart) -> bool:
    """Whether `NV_GPU=0 nvidia-docker run …` names GPUs."""
    return any(name == "NV_GPU" for name, _ in start.invocation.variables)


def _of_value(text: str, option: CommandOption) -> GpuAccess:
    """What a value of `--gpus` gives: `all`, `2`, `device=0,1`, `"device=GPU-…",capabilities=utility`."""
    fields = [each.strip("\"'") for each in text.split(",")]
    first = fields[0]
    if first in ("all", "-1", "count=all", "count=-1"):
        return GpuAccess(ALL, option)
    if first in ("0", "none", "count=0"):
        return GpuAccess(NONE, option)
    number = first.removeprefix("count=")
    if is_number(number):
        return GpuAccess(COUNT, option, number)
    if first.startswith("device="):
        names = [first.removeprefix("device="), *(each for each in fields[1:] if "=" not in each)]
        if all(is_number(name) for name in names):
            return GpuAccess(NAMED, option, ",".join(names))
    return GpuAccess(UNKNOWN, option)


def runs_on_cpus(start: ContainerStart) -> bool:
    """Whether a command in the container shows that it uses no GPU."""
    inside = {id(launch.invocation): launch.launcher for launch in start.launches}
    return any(
        sign.strength == PROCESSORS
        for command in start.program
        for sign in gpu_signs(command.argv, inside.get(id(command)))
    )


def gpus_of_shared_node(job: Job, start: ContainerStart) -> int | None:
    """The number of the job's GPUs on its node, where other jobs may have the rest; None where it may have all."""
    request = job.request
    if request.has_option("exclusive") or request.value("mem") == "0" or not request.directives.certain:
        return None
    step = start.step
    if step is not None and any(name in step.options for name in ("exclusive", *GPU_OPTIONS)):
        return None
    gpus = request.gpus_per_node()
    if gpus is None and not request.has_option("nodes"):
        gpus = request.gpus.total
        if gpus is None and request.gpus.per_task is not None and request.tasks == 1:
            gpus = request.gpus.per_task
    if not gpus:
        return None
    if job.site.gpus_per_node is not None:
        return gpus if gpus < job.site.gpus_per_node else None
    # Nodes usually have 4 or 8 GPUs; a node with a single GPU has many processors for it.
    processors = (request.cpus_per_task or 1) * (request.tasks_on_each_node() or 1)
    return gpus if gpus not in (4, 8, 16) and processors < 48 * gpus else None


def own_gpus(start: ContainerStart) -> str:
    """The variable with the numbers of the GPUs on a node: that of the job holds those of its first node."""
    several = start.step is not None and start.step.several_nodes is not False
    return "$SLURM_STEP_GPUS" if several else "$SLURM_JOB_GPUS"
