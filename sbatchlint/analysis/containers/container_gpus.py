"""Which GPUs a container sees: none, the job's, or all of its node.

docker's daemon gives a container the GPUs that its options name, whichever of them Slurm gave to the job, because it
runs outside of the job's cgroup; without options it gives none, unless the nvidia runtime is its default. apptainer
brings the driver's libraries in with --nv (NVIDIA) or --rocm (AMD), or where its configuration always does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.containers.container_starts import removed_word, runs_script
from sbatchlint.analysis.containers.docker import on_processors
from sbatchlint.analysis.containers.host_tools import brings_slurm, site_binds_slurm
from sbatchlint.analysis.gpus.gpu_use import GPU_OPTIONS, LOOKING
from sbatchlint.analysis.launch.evidence import STRONG, gpu_signs
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import shown_text, span_of, text_of
from sbatchlint.job.commands.container_commands import behind_image
from sbatchlint.job.launchers import python_command
from sbatchlint.job.request import gpu_count
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.analysis.containers.container_starts import ContainerStart
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.commands.argv import Given

NONE, ALL, COUNT, NAMED, UNKNOWN = "none", "all", "count", "named", "unknown"

# Types of GPUs, as sites name them in GRES, partitions and constraints.
_NVIDIA_TYPES = Regex(
    r"(?:^|[^a-z0-9])(?:nvidia|tesla|quadro|titan|volta|ampere|hopper|turing|pascal|blackwell|dgx"
    r"|(?:rtx|gtx|geforce)[a-z0-9_]*|[abhlptvk]\d{1,3}[a-z]?|gh200|gb?200|[1-5]0[5-9]0(?:ti)?)(?:$|[^a-z0-9])"
)
# Images whose own program needs GPUs.
_SERVERS = Regex(r"vllm-openai|tritonserver|text-generation-inference|(?:^|/)sglang\b|nvcr\.io/nim/")
_NVIDIA_IMAGES = Regex(
    r"nvcr\.io|nvidia|cuda|(?:^|[^a-z])ngc(?:[^a-z]|$)|pytorch/pytorch:|tensorflow[/_](?:tensorflow[:_])?[\w.-]*gpu"
)
# Machines and software of AMD, wherever the script speaks of them: their sites bring the libraries in by modules.
_AMD = Regex(
    r"rocm|\bHIP_|\bROCR_|amdgpu|\bmi[23]\d\d|(?<![a-z])lumi|(?:standard|small|dev)-g\b"
    r"|project_46\d{7}|adastra|frontier|setonix|dardel",
    re.IGNORECASE,
)
_MASKS = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# Options that may bring GPUs in.
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
_LATE = {"apptainer": ("nv", "nvccli", "rocm"), "docker": ("gpus",), "podman": ("gpus",)}
_PROGRAMS = frozenset(
    {"gmx", "gmx_mpi", "namd3", "lmp", "colabfold_batch", "dorado", "guppy_basecaller", "pbrun", "relion_refine"}
)
_NO_PROGRAMS = frozenset({"pip", "venv", "json.tool", "ensurepip", "compileall"})
_TRUE = frozenset({"1", "true", "yes", "y", "on"})


class Access(NamedTuple):
    """What a container sees: `none`, `all` of the node, a `count` of them, `named` ones, or `unknown`.

    `option`: what says so. `text`: the number, or the names, as written.
    """

    kind: str
    option: Given | None = None
    text: str = ""


class Blind(NamedTuple):
    """A program that uses GPUs in a container that sees none.

    `words`, `place`: what uses them. `missing`: the option to give. `certain`: an error. `late`: the option is there,
    but behind the image, where it is the program's.
    """

    start: ContainerStart
    words: str
    place: Span
    missing: str
    certain: bool
    late: bool
    edits: tuple[Edit, ...]
    safe: bool


class WrongOrder(NamedTuple):
    """An srun that runs inside a container, which it was to start."""

    start: ContainerStart
    step: Invocation
    edits: tuple[Edit, ...]


class TooMany(NamedTuple):
    """A container of docker's that takes GPUs of its node which may be another job's. `gpus`: those of the job."""

    start: ContainerStart
    access: Access
    gpus: int
    edits: tuple[Edit, ...]


def access(start: ContainerStart) -> Access:
    """Which GPUs the container of a start sees, as far as its options tell."""
    container = start.container
    if not start.is_certain:
        return Access(UNKNOWN)
    if any(_GPU_PATHS.search(shown_text(mount.source or mount.target)) for mount in container.mounts):
        return Access(UNKNOWN)
    if container.kind == "apptainer":
        # an instance has what it was started with
        instance = shown_text(container.image or ()).startswith("instance:")
        return Access(UNKNOWN) if instance else _of_apptainer(start)
    if container.kind in ("docker", "podman") and start.verb == "run":
        return _of_docker(start)
    return Access(UNKNOWN)


def _of_apptainer(start: ContainerStart) -> Access:
    for name in ("nv", "nvccli", "rocm", "device", "intel-hpu"):
        given = start.flag(name)
        if given is not None:
            return Access(ALL, given)
    for prefix in ("APPTAINER_", "SINGULARITY_"):
        for name in ("NV", "NVCCLI", "ROCM"):
            value = exported(start.invocation, prefix + name)
            if value is not None and (text_of(value) or "1").lower() in _TRUE:
                return Access(ALL)
        if prefix + "NV" in start.invocation.state.variables:
            return Access(UNKNOWN)
    return Access(NONE)


def _of_docker(start: ContainerStart) -> Access:
    container = start.container
    gpus = container.option("gpus")
    if gpus is not None:
        text = gpus.text
        if text is None:
            return Access(UNKNOWN, gpus)
        return _of_value(text.strip("\"'"), gpus)
    if start.engine == "nvidia-docker" or container.option("gpu") is not None:
        return Access(UNKNOWN)
    runtime = container.option("runtime")
    visible = container.passed.get("NVIDIA_VISIBLE_DEVICES")
    if runtime is not None and runtime.text == "nvidia" and visible is not None:
        option = next(each for each in container.options if "NVIDIA_VISIBLE_DEVICES" in shown_text(each.value or ()))
        text = text_of(visible)
        return (
            Access(UNKNOWN) if text is None else Access(ALL, option) if text == "all" else Access(NAMED, option, text)
        )
    hidden = any(container.option(name) is not None for name in _OTHER_WAYS)
    masked = any(name in container.passed for name in _MASKS)
    return Access(UNKNOWN if hidden or masked else NONE)


def _of_value(text: str, option: Given) -> Access:
    """`all`, `2`, `device=0,1`, `"device=GPU-…",capabilities=utility`."""
    fields = [each.strip("\"'") for each in text.split(",")]
    first = fields[0]
    if first in ("all", "-1", "count=all", "count=-1"):
        return Access(ALL, option)
    if first in ("0", "none", "count=0"):
        return Access(NONE, option)
    number = first.removeprefix("count=")
    if number.isdigit():
        return Access(COUNT, option, number)
    if first.startswith("device="):
        names = [first.removeprefix("device="), *(each for each in fields[1:] if "=" not in each)]
        if all(name.isdigit() for name in names):
            return Access(NAMED, option, ",".join(names))
    return Access(UNKNOWN, option)


# --- containers that see none ----------------------------------------------------------------------


def blind(job: Job, starts: list[list[ContainerStart]]) -> Iterator[Blind]:
    """Containers without the GPUs that their programs use, and the job asks for; each place once."""
    seen: set[Span] = set()
    for ways in starts:
        late = _late(ways)
        if late is not None:
            yield late
            continue
        start = ways[0]
        if start.place in seen or not all(access(each).kind == NONE and _has_gpus(job, each) for each in ways):
            continue
        if any(on_processors(each) for each in ways):
            continue
        uses = [_use(job, each, starts) for each in ways]
        if uses[0] is None or None in uses:
            continue
        words, place, strong = uses[0]
        vendor = _vendor(job, start)
        if start.container.kind == "apptainer":
            if vendor != "nvidia":
                continue
            option = "--nv"
        else:
            option = "--device=/dev/kfd --device=/dev/dri" if vendor == "amd" else "--gpus all"
            if start.engine == "podman-hpc":
                option = "--gpu"
            elif start.engine == "podman" and vendor != "amd":
                option = "--device nvidia.com/gpu=all"
        certain = strong and start.by_daemon
        given = access(start).option
        added = start.added(option) if given is None else None
        seen.add(start.place)
        safe = start.container.kind == "apptainer"
        yield Blind(start, words, place, option, certain, False, () if added is None else (added,), safe)


def _has_gpus(job: Job, start: ContainerStart) -> bool:
    """Whether the job, or the step around, has GPUs for it."""
    step = start.step
    if step is not None:
        for name in GPU_OPTIONS:
            option = step.option(name)
            if option is None:
                continue
            counted = None if option.text in (None, "none") else gpu_count(name, option.text or "", job.versions.last)
            return counted is not None and bool(counted.number)
    return job.request.asks_for_gpus is True


def _use(job: Job, start: ContainerStart, starts: list[list[ContainerStart]]) -> tuple[str, Span, bool] | None:
    """What uses GPUs in a container: in words, where, and whether that is beyond doubt."""
    launchers = {id(each.invocation): each.launcher for each in start.launches}
    for command in start.program:
        for sign in gpu_signs(command.argv, launchers.get(id(command))):
            if sign.strength == STRONG:
                return sign.words, sign.span, True
    image = start.container.image
    own = not start.program or (start.program[0].name or "").startswith("-")
    if own and image is not None and _SERVERS.search(shown_text(image)):
        return "its image serves a model on GPUs", span_of(image), True
    python = next((each for each in start.program if _runs_program(each)), None)
    if python is None or _others_use(job, starts):
        return None
    return "nothing else in the script uses the job's GPUs", python.name_span, False


def _runs_program(command: Invocation) -> bool:
    """Whether a command may be what the job asks for GPUs for."""
    if runs_script(command) or command.name in _PROGRAMS:
        return True
    python = python_command(command.argv)
    return (
        python is not None and python.kind in ("script", "module") and python.text not in ("pip", "venv", "json.tool")
    )


def _others_use(job: Job, starts: list[list[ContainerStart]]) -> bool:
    """Whether a command outside of blind containers may be what the GPUs are for."""
    inside = {id(each) for ways in starts for way in ways for each in way.program}
    if any(access(way).kind != NONE for ways in starts for way in ways):
        return True
    if any(step.container is not None for step in job.steps):
        return True
    if any(id(each.invocation) not in inside for each in job.launches):
        return True
    outside = [each for each in job.invocations if id(each) not in inside]
    return any(_runs_program(each) or _strong(each) for each in outside)


def _strong(command: Invocation) -> bool:
    return command.name not in LOOKING and any(sign.strength == STRONG for sign in gpu_signs(command.argv))


def _vendor(job: Job, start: ContainerStart) -> str | None:
    """Whose GPUs the job gets: `nvidia`, `amd`, or None where the script does not tell."""
    if job.site.gpu_vendor is not None:
        return job.site.gpu_vendor
    request = job.request
    if _AMD.search(job.source.text):
        return "amd"
    kinds = [request.gpus.kind, request.constraint, request.partition]
    if start.step is not None:
        options = [start.step.option(name) for name in (*sorted(GPU_OPTIONS), "constraint", "partition")]
        kinds += [each.text for each in options if each is not None]
    if any(kind and _NVIDIA_TYPES.search(kind.lower()) for kind in kinds):
        return "nvidia"
    image = start.container.image
    if image is not None and _NVIDIA_IMAGES.search(shown_text(image).lower()):
        return "nvidia"
    if any(each.exported and each.name.startswith(("NCCL_", "CUDA_HOME", "CUDA_PATH")) for each in job.assigned):
        return "nvidia"
    for command in job.invocations:
        if python_command(command.argv) is None and any(s.vendor == "nvidia" for s in gpu_signs(command.argv)):
            return "nvidia"
    return None


def _late(ways: list[ContainerStart]) -> Blind | None:
    """An option for GPUs behind the image, where the engine takes it for the program or its argument."""
    start = ways[0]
    argv = start.invocation.argv
    reading = behind_image(start.container, argv) if start.verb in ("exec", "run") else None
    if reading is None or reading.operand is None or not reading.given:
        return None
    names = _LATE.get(start.container.kind, ())
    option = next((each for each in reading.given if each.name in names), None)
    if option is None or not all(access(each).kind in (NONE, UNKNOWN) and each.container.certain for each in ways):
        return None
    if start.verb == "run" and not _is_program(shown_text(argv[reading.operand])):
        return None
    moved = [argv[at] for at in range(option.at, option.value_at + 1)]
    removed = [removed_word(start.job, field) for field in moved]
    added = start.added(" ".join(shown_text(field) for field in moved))
    edits = () if added is None or None in removed else (added, *(edit for edit in removed if edit is not None))
    word = shown_text(argv[option.at]).partition("=")[0]
    return Blind(start, "", span_of(argv[option.at]), word, start.verb == "exec", True, edits, True)


def _is_program(text: str) -> bool:
    base = text.rpartition("/")[2]
    return base in ("bash", "sh", "torchrun", "accelerate", "deepspeed", "nvidia-smi") or base.startswith("python")


# --- srun inside -----------------------------------------------------------------------------------


def wrong_orders(job: Job, starts: list[list[ContainerStart]]) -> Iterator[WrongOrder]:
    """`apptainer exec IMAGE srun …`, where `srun apptainer exec IMAGE …` was meant."""
    for ways in starts:
        start = ways[0]
        if start.container.kind != "apptainer" or not start.container.certain or site_binds_slurm(job):
            continue
        if brings_slurm(start.container, job):
            continue
        inner = start.invocation.children[0] if start.invocation.children else None
        if inner is not None and inner.name == "srun":
            yield WrongOrder(start, inner, _swapped(start, inner))


def _swapped(start: ContainerStart, inner: Invocation) -> tuple[Edit, ...]:
    """Puts srun and its options in front of the engine."""
    step = getattr(inner.spawn, "info", None)
    if not isinstance(step, Step) or step.command is None or not step.certain:
        return ()
    source = start.job.source
    first, command = span_of(inner.argv[0]), span_of(inner.argv[step.command])
    words = source.slice(Span(first.start, command.start))
    engine = start.container.span
    plain = words.startswith("srun") and "\n" not in words and source.slice(engine) == start.engine
    if not plain or not engine.end < first.start < command.start:
        return ()
    return Edit(Span(engine.start, engine.start), words), Edit(Span(first.start, command.start), "")


# --- containers that see too many ------------------------------------------------------------------


def too_many(job: Job, starts: list[list[ContainerStart]]) -> Iterator[TooMany]:
    """Containers of docker's daemon with GPUs of a node that the job shares with others."""
    seen: set[Span] = set()
    for ways in starts:
        found = [access(each) for each in ways]
        start, first = ways[0], found[0]
        if not start.by_daemon or first.option is None or any(each.kind not in (ALL, COUNT, NAMED) for each in found):
            continue
        if any(name in way.container.passed for way in ways for name in ("CUDA_VISIBLE_DEVICES",)):
            continue
        gpus = _shared(job, start)
        place = first.option.span
        if gpus is None or place in seen or on_processors(start):
            continue
        seen.add(place)
        yield TooMany(start, first, gpus, _renamed(job, start, first.option))


def _shared(job: Job, start: ContainerStart) -> int | None:
    """How many GPUs the job has on its node, where others may have the rest; None where it may have all."""
    request = job.request
    if request.asked("exclusive") or request.text("mem") == "0" or not request.directives.certain:
        return None
    step = start.step
    if step is not None and any(name in step.options for name in ("exclusive", *GPU_OPTIONS)):
        return None
    gpus = request.gpus_per_node()
    if gpus is None and not request.asked("nodes"):
        gpus = request.gpus.total
        if gpus is None and request.gpus.per_task is not None and request.tasks == 1:
            gpus = request.gpus.per_task
    if not gpus:
        return None
    if job.site.gpus_per_node is not None:
        return gpus if gpus < job.site.gpus_per_node else None
    # Nodes have 4 or 8 GPUs as a rule; one that has a single one has it for many processors.
    processors = (request.cpus_per_task or 1) * (request.tasks_on_each_node() or 1)
    return gpus if gpus not in (4, 8, 16) and processors < 48 * gpus else None


def _renamed(job: Job, start: ContainerStart, option: Given) -> tuple[Edit, ...]:
    """Names the GPUs of the job, where the batch shell expands the words; docker wants quotes around a list."""
    if option.name != "gpus" or option.value is None or job.in_quoted_text(option.span.start):
        return ()
    if start.step is not None and start.step.several_nodes is not False:
        return ()
    span, text = span_of(option.value), job.source.text
    before = text[span.start - 1]
    if before in "\"'" and text[span.end : span.end + 1] == before:
        span = Span(span.start - 1, span.end + 1)
    if text[span.start : span.end].strip("'") != option.text or text[span.start - 1] not in " =\t":
        return ()
    return (Edit(span, '"\\"device=$SLURM_JOB_GPUS\\""'),)
