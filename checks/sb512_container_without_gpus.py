r"""A program finds no GPU: its container sees none.

docker and podman do not give a container any GPU without `--gpus`, `--device` or the like; apptainer and singularity
mount the driver's libraries only with `--nv` (NVIDIA) or `--rocm` (AMD), or where the site's configuration always does
so. The program then finds no CUDA device: it fails, or runs on the CPUs while the job's GPUs stay idle. The same
happens where the option comes after the image: there it belongs to the program, and apptainer looks for a command named
`--nv`.

Reported for jobs that request GPUs, where a command in the container clearly uses them, or is a Python program and
nothing else in the script could be what the GPUs are for. For apptainer only where the GPUs are certainly NVIDIA's (by
the requested type, the image, a module, nvidia-smi): sites with AMD GPUs provide the libraries through modules.

An error for docker, whose daemon adds the GPUs itself only where the site made the nvidia runtime its default;
otherwise a warning. `apptainer exec IMAGE srun …` is reported too: the image is unlikely to contain srun, which was
meant to start the container.

As advice: where a profile or a prolog sets ROCR_VISIBLE_DEVICES to the node's numbers, it has to be unset before the
srun of a pyxis container, in which the GPUs count from 0. The value that Slurm sets for a step is right there, with
ConstrainDevices (its numbers are those of the step) and without (the container has all GPUs of the node).

## Fix

Adds `--nv`: safe where the GPUs are NVIDIA's, as it does nothing without them. `--gpus all` is unsafe; where the job
has a part of a node, `--gpus "\"device=$SLURM_JOB_GPUS\""` names its own (see SB513). An option after the image is
moved before it, which is safe.

## References

docker run manual, --gpus and --runtime; apptainer manual, "GPU Support"; podman run manual, --device;
https://github.com/apptainer/singularity/issues/6203; gres_common.c of Slurm (`use_local_dev_index`); hooks of enroot 4
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts, runs_script
from sbatchlint.analysis.containers.gpu_access import (
    NONE,
    UNKNOWN,
    gpu_access,
    gpus_of_shared_node,
    own_gpus,
    runs_on_cpus,
)
from sbatchlint.analysis.containers.slurm_tools import provides_slurm, site_binds_slurm
from sbatchlint.analysis.editing.options import remove_word
from sbatchlint.analysis.gpus.gpu_signs import STRONG, gpu_signs
from sbatchlint.analysis.gpus.gpu_use import LOOKING
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, joined_alike
from sbatchlint.job import Step
from sbatchlint.job.commands.container_commands import options_after_image
from sbatchlint.job.launchers import python_of
from sbatchlint.job.once import once
from sbatchlint.job.request import GPU_OPTIONS, gpu_count
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB512", "container-without-gpus", severity="error", fix="sometimes", since="0.1.0",
    when=Containers("docker", "podman", "apptainer", "pyxis"),
    seen="docker run manual, --gpus; apptainer manual, GPU Support; apptainer/singularity issue 6203",
)  # fmt: skip

# GPU types, as sites name them in GRES, partitions and constraints.
NVIDIA_TYPES = Regex(
    r"(?:^|[^a-z0-9])(?:nvidia|tesla|quadro|titan|volta|ampere|hopper|turing|pascal|blackwell|dgx"
    r"|(?:rtx|gtx|geforce)[a-z0-9_]*|[abhlptvk]\d{1,3}[a-z]?|gh200|gb?200|[1-5]0[5-9]0(?:ti)?)(?:$|[^a-z0-9])"
)
NVIDIA_IMAGES = Regex(
    r"nvcr\.io|nvidia|cuda|(?:^|[^a-z])ngc(?:[^a-z]|$)|pytorch/pytorch:|tensorflow[/_](?:tensorflow[:_])?[\w.-]*gpu"
)
# Images whose own program needs GPUs.
SERVERS = Regex(r"vllm-openai|tritonserver|text-generation-inference|(?:^|/)sglang\b|nvcr\.io/nim/")
# Signs of AMD machines and software anywhere in the script: these sites provide the libraries through modules.
AMD = Regex(
    r"rocm|\bHIP_|\bROCR_|amdgpu|\bmi[23]\d\d|(?<![a-z])lumi|(?:standard|small|dev)-g\b"
    r"|project_46\d{7}|adastra|frontier|setonix|dardel",
    re.IGNORECASE,
)
MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
LATE = {"apptainer": ("nv", "nvccli", "rocm"), "docker": ("gpus",), "podman": ("gpus",)}
PROGRAMS = frozenset(
    {"gmx", "gmx_mpi", "namd3", "lmp", "colabfold_batch", "dorado", "guppy_basecaller", "pbrun", "relion_refine"}
)
AMD_NODE = 8  # GPUs on AMD's nodes


class Use(NamedTuple):
    """A use of GPUs in a container: in words ('' where the GPUs can only be for this program), and its place."""

    words: str
    span: Span


def check(job: Job) -> Iterator[Finding]:
    return joined_alike(_all(job), "here too")  # once one of the containers has what all lack, the others may be meant


def _all(job: Job) -> Iterator[Finding]:
    seen: set[Span] = set()
    for ways in container_starts(job):
        found = _after_image(ways) or (None if ways[0].place in seen else _without_gpus(job, ways))
        if found is not None:
            seen.add(found.span)
            yield found
    for ways in container_starts(job):
        yield from _srun_inside(job, ways[0])
    yield from _masks(job)


# --- an option for GPUs that is missing, or too late --------------------------------------------------


def _without_gpus(job: Job, ways: list[ContainerStart]) -> Finding | None:
    """The finding for a container without the GPUs that the job requests and its program uses."""
    start = ways[0]
    access = [gpu_access(each) for each in ways]
    if any(each.kind != NONE for each in access) or not all(_has_gpus(job, each) for each in ways):
        return None
    if any(map(runs_on_cpus, ways)):
        return None
    uses = [_use(job, each) for each in ways]
    use, vendor = uses[0], _vendor(job, start)
    if use is None or None in uses:
        return None
    if start.container.kind == "apptainer":
        if vendor != "nvidia":
            return None
        option = "--nv"
    elif start.engine == "podman-hpc":
        option = "--gpu"
    elif vendor == "amd":
        option = "--device=/dev/kfd --device=/dev/dri"
    else:
        option = "--device nvidia.com/gpu=all" if start.engine == "podman" else "--gpus all"
        if start.by_daemon and gpus_of_shared_node(job, start) is not None:
            option = rf'--gpus "\"device={own_gpus(start)}\""'
    if use.words:
        reason = f"but line {job.line(use.span.start)} needs one ({use.words})"
    else:
        reason = "and nothing outside it uses the job's GPUs"
    expands = "$" not in option or start.step is None and not job.in_quoted_text(start.place.start)
    added = start.added(option) if access[0].option is None and expands else None
    write = f"`{start.engine} {start.verb} {option}`"
    if access[0].option is not None:
        write = f"`{option}` in place of the option that gives none"
    if not use.words:
        write += ", or request no GPU"
    # a program that nothing is known of may be for CPUs
    known = bool(use.words) or any(python_of(each) is not None for each in start.program)
    safe = known and start.container.kind == "apptainer"
    return Finding(
        start.place,
        f"the container sees no GPU, {reason}; write {write}",
        "error" if use.words and start.by_daemon else "warning",
        related=[(use.span, use.words or "no other command uses the job's GPUs")],
        fix=None if added is None else Fix(f"add {option}", [added], safe=safe),
    )


def _after_image(ways: list[ContainerStart]) -> Finding | None:
    """The finding for a GPU option after the image, which the engine takes for the program or its argument."""
    start = ways[0]
    argv = start.invocation.argv
    reading = options_after_image(start.container, argv) if start.verb in ("exec", "run") else None
    if reading is None or reading.operand is None or not reading.options:
        return None
    option = next((each for each in reading.options if each.name in LATE.get(start.container.kind, ())), None)
    if option is None or not all(each.container.certain and gpu_access(each).kind in (NONE, UNKNOWN) for each in ways):
        return None
    program = shown_text(argv[reading.operand]).rpartition("/")[2]
    known = program in ("bash", "sh", "torchrun", "accelerate", "deepspeed", "nvidia-smi")
    if start.verb == "run" and not known and not program.startswith("python"):
        return None
    moved = [argv[at] for at in range(option.at, option.value_at + 1)]
    edits = [start.added(" ".join(map(shown_text, moved))), *(remove_word(start.job, field) for field in moved)]
    certain = [each for each in edits if each is not None]
    word = shown_text(argv[option.at]).partition("=")[0]
    effect = f"{start.engine} runs it as the command" if start.verb == "exec" else "the program gets it"
    return Finding(
        span_of(argv[option.at]),
        f"the container sees no GPU: `{word}` comes after the image, so {effect}; put it before the image",
        "error",
        fix=Fix("put it before the image", certain, safe=True) if len(certain) == len(edits) else None,
    )


def _has_gpus(job: Job, start: ContainerStart) -> bool:
    """Whether the job, or the enclosing step, has GPUs for the container."""
    for name in GPU_OPTIONS:
        option = None if start.step is None else start.step.option(name)
        if option is not None:
            counted = None if option.text in (None, "none") else gpu_count(name, option.text or "", job.versions.last)
            return counted is not None and bool(counted.number)
    return job.request.asks_for_gpus is True


def _use(job: Job, start: ContainerStart) -> Use | None:
    launchers = {id(each.invocation): each.launcher for each in start.launches}
    for command in start.program:
        for sign in gpu_signs(command.argv, launchers.get(id(command))):
            if sign.strength == STRONG:
                return Use(sign.words, sign.span)
    image = start.container.image
    own = not start.program or (start.program[0].name or "").startswith("-")
    if own and image is not None and SERVERS.search(shown_text(image)):
        return Use("its image serves a model on GPUs", span_of(image))
    python = next((each for each in start.program if _runs_program(each)), None)
    return None if python is None or _others_use(job) else Use("", python.name_span)


def _runs_program(command: Invocation) -> bool:
    """Whether a command may be what the job requests GPUs for."""
    if runs_script(command) or command.name in PROGRAMS:
        return True
    python = python_of(command)
    return (
        python is not None and python.kind in ("script", "module") and python.text not in ("pip", "venv", "json.tool")
    )


@once
def _others_use(job: Job) -> bool:
    """Whether the job's GPUs may be for a command outside its containers without GPUs."""
    starts = [way for ways in container_starts(job) for way in ways]
    if any(gpu_access(each).kind != NONE for each in starts) or any(step.container is not None for step in job.steps):
        return True
    inside = {id(each) for start in starts for each in start.program}
    if any(id(each.invocation) not in inside for each in job.launches):
        return True
    return any(
        _runs_program(command)
        or command.name not in LOOKING
        and any(sign.strength == STRONG for sign in gpu_signs(command.argv))
        for command in job.invocations
        if id(command) not in inside
    )


def _vendor(job: Job, start: ContainerStart) -> str | None:
    """The vendor of a container's GPUs: `nvidia`, `amd`, or None where the script does not show it."""
    vendor = _vendor_of_job(job)
    if vendor is not None:
        return vendor
    image = start.container.image
    if image is not None and NVIDIA_IMAGES.search(shown_text(image).lower()):
        return "nvidia"
    names = (*sorted(GPU_OPTIONS), "constraint", "partition")
    options = [] if start.step is None else [start.step.option(name) for name in names]
    return "nvidia" if any(each is not None and _is_nvidia(each.text) for each in options) else None


def _is_nvidia(kind: str | None) -> bool:
    return kind is not None and NVIDIA_TYPES.search(kind.lower()) is not None


@once
def _vendor_of_job(job: Job) -> str | None:
    """The vendor of the job's GPUs, by the settings of the site and the whole script."""
    if job.site.gpu_vendor is not None:
        return job.site.gpu_vendor
    if AMD.search(job.source.text):
        return "amd"
    request = job.request
    if any(map(_is_nvidia, (request.gpus.kind, request.constraint, request.partition))):
        return "nvidia"
    if any(each.exported and each.name.startswith(("NCCL_", "CUDA_HOME", "CUDA_PATH")) for each in job.assignments):
        return "nvidia"
    for command in job.invocations:
        if python_of(command) is None and any(s.vendor == "nvidia" for s in gpu_signs(command.argv)):
            return "nvidia"
    return None


# --- srun inside, masks ------------------------------------------------------------------------------


def _srun_inside(job: Job, start: ContainerStart) -> Iterator[Finding]:
    """`apptainer exec IMAGE srun …`, where `srun apptainer exec IMAGE …` was meant."""
    inner = start.invocation.children[0] if start.invocation.children else None
    if inner is None or inner.name != "srun" or start.container.kind != "apptainer" or not start.container.certain:
        return
    if site_binds_slurm(job) or provides_slurm(start.container):
        return
    edits = _srun_first(start, inner)
    yield Finding(
        inner.name_span,
        f"srun runs inside the container, which probably has no srun; write `srun {start.engine} {start.verb} …`",
        "warning",
        related=[(start.place, "the container")],
        fix=Fix("start the container with srun", edits) if edits else None,
    )


def _srun_first(start: ContainerStart, inner: Invocation) -> list[Edit]:
    """Edits that move srun and its options before the engine."""
    step = inner.spawn.info
    if not isinstance(step, Step) or step.command is None or not step.certain:
        return []
    source = start.job.source
    first, command = span_of(inner.argv[0]), span_of(inner.argv[step.command])
    words = source.slice(Span(first.start, command.start))
    engine = start.container.span
    plain = words.startswith("srun") and "\n" not in words and source.slice(engine) == start.engine
    if not plain or not engine.end < first.start < command.start:
        return []
    return [Edit(Span(engine.start, engine.start), words), Edit(Span(first.start, command.start), "")]


def _masks(job: Job) -> Iterator[Finding]:
    """Steps that start a pyxis container on some of a node's AMD GPUs without unsetting the mask."""
    request = job.request
    gpus = request.gpus_per_node()
    if gpus is None or not 0 < gpus < (job.site.gpus_per_node or AMD_NODE) or request.exclusive is not None:
        return
    for step in job.steps:
        image = None if step.container is None else step.container.image
        if image is None:
            continue
        if job.site.gpu_vendor != "amd" and "rocm" not in shown_text(image).lower():
            continue
        export = step.option("export")
        if export is not None and (export.text or "").partition(",")[0] != "ALL":
            continue
        if any(name in step.invocation.state.variables for name in MASKS):
            continue
        yield Finding(
            step.place,
            f"if the site sets `{MASKS[0]}`, it names GPUs that this container lacks; write `unset {MASKS[0]}` "
            "before this srun",
            "info",
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:4
        module load apptainer
        srun «apptainer exec» -B /data train.sif python train.py
        """,
        fixed={"-B": "--nv -B"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        «docker run» --rm --ipc=host -v $PWD:/work train:1 torchrun --nproc_per_node=8 train.py
        """,
        unsafe_fixed={"--rm": "--gpus all --rm"},
        severity="error",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        singularity exec train.sif «--nv» python train.py
        docker run --rm train:1 «--gpus» all python train.py
        """,
        fixed={"train.sif --nv": "--nv train.sif", "--rm train:1 --gpus all": "--gpus all --rm train:1"},
        severity="error",
        title="after the image",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        apptainer exec --nv train.sif «srun» -n 8 python train.py
        """,
        unsafe_fixed={"apptainer exec --nv train.sif srun -n 8": "srun -n 8 apptainer exec --nv train.sif"},
        severity="warning",
        title="srun inside of the container",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:4
        apptainer exec --nv train.sif python train.py
        APPTAINER_NV=1 apptainer exec train.sif python train.py
        docker run --rm --runtime=nvidia train:1 torchrun --nproc_per_node=4 train.py
        podman run --rm --device nvidia.com/gpu=all train:1 torchrun --nproc_per_node=4 train.py
        docker run --rm $OPTIONS train:1 torchrun --nproc_per_node=4 train.py
        """,
        title="they are there, or may be",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --partition=standard-g --gpus-per-node=8
        module load LUMI singularity-bindings
        srun singularity exec train.sif python train.py
        """,
        title="AMD's, by a module",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:1
        apptainer exec tools.sif samtools sort in.bam
        apptainer exec tools.sif python prepare.py
        python train.py
        """,
        title="other programs are what the GPUs are for",
    ),
]
