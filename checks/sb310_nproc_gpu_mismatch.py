"""Processes fail, or GPUs stay idle: a launcher starts more or fewer processes than it sees GPUs.

`--nproc_per_node=8` in a job with `--gpus-per-node=4`: ranks 4 to 7 use GPUs that do not exist and fail with `CUDA
error: invalid device ordinal`, and the others with them; or, where the program takes its rank modulo the number of
GPUs, two ranks share one (NCCL: `Duplicate GPU detected`). With fewer processes the other GPUs are idle, which is a
warning, and only where nothing else in the script could use them and the launcher starts more than one process.

## Fix

Where the launcher starts more processes than there are GPUs: `--nproc_per_node=$SLURM_GPUS_ON_NODE`. Unsafe, as the
request may be what is wrong. None where it starts fewer: the program may be made for just so many, as a model that is
split into two parts is, so that the request is what to lower.

## References

torch/distributed/run.py; torch/cuda, `set_device`; https://github.com/ACEsuit/mace/issues/435
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.editing.options import place_of
from sbatchlint.analysis.gpus.gpu_signs import PROCESSORS, gpu_signs
from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span
from sbatchlint.analysis.script.submit_lines import is_submitted_with_gpus
from sbatchlint.bash.values import expansions
from sbatchlint.bash.variables import is_default
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.gpus import chosen_devices, devices_chosen, step_gpus
from sbatchlint.job.launchers import Setting
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.programs import programs_with
from sbatchlint.slurm.directives import Setting as Directive
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB310", "nproc-gpu-mismatch", severity="error", fix="sometimes", since="0.1.0", sized=True, homogeneous=True,
    when=Launchers(*programs_with("per-gpu", "by-variables")), seen="https://github.com/ACEsuit/mace/issues/435",
)  # fmt: skip

_OPTION = Regex(r"(--?[A-Za-z][\w-]*)(=.*)?")
_GPU_NAME = Regex(r"(?i)gpu|nproc|devices")
COUNTS = ("nproc_per_node", "num_processes", "num_gpus", "nproc", "devices")


class Mismatch(NamedTuple):
    """A launcher whose number of processes on a node differs from the number of GPUs that it sees there.

    `setting`: sets the number. `chosen`: the script itself sets the visible GPUs (CUDA_VISIBLE_DEVICES).
    """

    world: LaunchWorld
    setting: Setting
    processes: int
    gpus: int
    chosen: bool


def check(job: Job) -> Iterator[Finding]:
    if is_submitted_with_gpus(job):
        return
    places = by_place(find_worlds(job))
    for place in places:
        found = [_mismatch(job, world) for world in place]
        mismatches = [each for each in found if each is not None]
        if not mismatches or len(mismatches) < sum(world.processes is not None for world in place):
            continue  # one of its alternatives is right
        certain = len(mismatches) == len(place)  # otherwise the number is a default that the caller may replace
        few = mismatches[0].processes < mismatches[0].gpus
        idle = few and len(places) == 1 and (certain and _leaves_gpus_idle(job, mismatches[0].world))
        if not few or idle or few and len(places) == 1 and _is_fallback(job, mismatches[0]):
            yield _finding(job, mismatches[0], None if certain and not few else "warning")


def _mismatch(job: Job, world: LaunchWorld) -> Mismatch | None:
    launcher, setting = world.launcher, world.launcher.setting(*COUNTS)
    if not launcher.is_a("per-gpu", "by-variables") or launcher.cpu:
        return None
    if world.mpi is not None or world.starts_per_node != 1:
        return None
    if not launcher.certain or launcher.config_file is not None:
        return None
    if launcher.is_a("counts-all") and world.nodes_setting.number != 1:
        return None  # its number counts all nodes
    if world.processes is None or setting is None or setting.value is None or launcher.processes_per_task == "auto":
        return None
    chosen = devices_chosen(world.invocation, world.step)
    gpus = chosen_devices(world.invocation) if chosen else _seen_gpus(job, world)
    if not gpus or gpus == world.processes or world.processes < gpus and not launcher.is_a("per-gpu"):
        return None  # swift shares the GPUs out among fewer processes
    signs = gpu_signs(world.invocation.argv, launcher, world.launch.container)
    if any(sign.strength == PROCESSORS for sign in signs):
        return None
    return Mismatch(world, setting, world.processes, gpus, chosen)


def _seen_gpus(job: Job, world: LaunchWorld) -> int | None:
    """The number of the job's GPUs that a launcher sees; None if unknown."""
    container = world.launch.container
    if container is not None and container.kind in ("docker", "podman"):
        return None  # options of the container decide
    if world.step is not None:
        gpus = step_gpus(job, world.step)
        # gpu-binding-mismatch reports tasks that are bound to GPUs of their own
        return gpus.per_task if gpus.meant is None else None
    if not world.in_batch_shell or job.request.may_have_all_gpus:
        return None  # an exclusive job's batch shell sees all GPUs of the node
    return job.request.gpus_per_node()


def _leaves_gpus_idle(job: Job, world: LaunchWorld) -> bool:
    """Whether the only launcher starts several processes, and nothing else can use the remaining GPUs."""
    step = world.step
    if world.processes == 1 or world.isolation not in ("", "part"):
        return False
    return not any(each.context.background for each in (*job.invocations, *([step.invocation] if step else [])))


def _is_fallback(job: Job, found: Mismatch) -> bool:
    """Whether the number is what `${NGPU:-1}` falls back to, while the script itself requests the GPUs.

    Nothing in the script, its comments included, names the variable otherwise.
    """
    names = {str(key[1]) for key, _ in found.world.invocation.guards if is_default(key)}
    asks = any(each.name.startswith("gpu") or each.name == "gres" for each in job.request.gpu_settings())
    if not asks or len(names) != 1 or found.world.isolation not in ("", "part"):
        return False
    (name,) = names
    if not _GPU_NAME.search(name) or name.startswith("SLURM"):
        return False
    lines = [line for line in job.source.own.text.split("\n") if name in line]
    return not any(line.lstrip().startswith("#") or "usage" in line.lower() for line in lines)


def _finding(job: Job, found: Mismatch, severity: str | None) -> Finding:
    processes, gpus, step = found.processes, found.gpus, found.world.step
    span, value = place_of(found.world.launcher, found.setting), literal_span(found.setting.value)
    related = [] if value in (None, span) else [(value, f"{processes} set here")]
    seen = "one GPU" if gpus == 1 else f"{gpus} GPUs"
    directive = None if found.chosen else _directive(job, found.world)
    if directive is not None:
        where = f" (line {job.line(directive.span.start)})"
        related.append((directive.span, f"requests {seen} on each node"))
    else:
        where = " (CUDA_VISIBLE_DEVICES)" if found.chosen else " (its srun requests them)" if step else ""
    if processes > gpus:
        rest = processes - gpus
        last = "one fails" if rest == 1 else f"{rest} fail"
        consequence = f"{last}, or share{'s' * (rest == 1)} a GPU"
    else:
        rest = gpus - processes
        consequence = "one GPU stays idle" if rest == 1 else f"{rest} GPUs stay idle"
    starts = "one process" if processes == 1 else f"{processes} processes"
    message = f"{found.world.name} starts {starts} for {seen} per node{where}: {consequence}"
    fewer = processes < gpus
    ways = [_all_gpus(job, found.setting, gpus), f"request {counted(processes, 'GPU')}"]
    if fewer and not _is_fallback(job, found):  # the program may need just so many
        ways.reverse()
    advice = ", or ".join(ways)
    if found.chosen:
        advice = f"start {gpus}, or make {processes} visible"
    fix = None if fewer else _count_gpus(job, found, directive)
    return Finding(span, f"{message}; {advice}", severity, related=related, fix=fix)


def _all_gpus(job: Job, setting: Setting, gpus: int) -> str:
    """What to write for a process on each GPU: the option as the script writes it."""
    written = _OPTION.fullmatch(job.source.slice(setting.span))
    if written is None or "config" in written[1]:
        return f"start {counted(gpus, 'process')}"
    return f"write `{written[1]}{'=' if written[2] else ' '}$SLURM_GPUS_ON_NODE`"


def _directive(job: Job, world: LaunchWorld) -> Directive | None:
    """The directive that requests the GPUs; None where the srun does."""
    if world.step is not None and any("gpu" in name or name == "gres" for name in world.step.options):
        return None
    return next((each for each in job.request.gpu_settings() if not each.name.startswith("tres")), None)


def _count_gpus(job: Job, found: Mismatch, directive: Directive | None) -> Fix | None:
    """The fix that counts the GPUs of the job instead, where the number is in the launcher's own words."""
    launcher, setting, span = found.world.launcher, found.setting, literal_span(found.setting.value)
    if span is None or directive is None or not launcher.is_a("torch") or setting.from_environment:
        return None
    if expansions(setting.value or ()) or literal_number(job, span) is None:
        return None
    if not launcher.span.start <= span.start <= max(launcher.span.end, setting.span.end) + 1:
        return None
    return Fix("start a process for each GPU", [replace(span, "$SLURM_GPUS_ON_NODE")])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun torchrun --standalone «--nproc_per_node=8» train.py
        """,
        unsafe_fixed={"--nproc_per_node=8": "--nproc_per_node=$SLURM_GPUS_ON_NODE"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8
        GPUS_PER_NODE=4
        srun torchrun --nnodes=2 «--nproc_per_node=»$GPUS_PER_NODE --rdzv_backend=c10d \\
            --rdzv_endpoint=$HEAD:29500 train.py
        """,
        severity="warning",
        title="half of the GPUs stay idle",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export CUDA_VISIBLE_DEVICES=0,1
        accelerate launch «--num_processes» 4 train.py
        """,
        title="the script shows it two of them",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE evaluate.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        torchrun --nproc_per_node=1 convert.py
        """,
        title="one process, which may use all of them",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        CUDA_VISIBLE_DEVICES=0 python -m vllm.entrypoints.openai.api_server --model m &
        CUDA_VISIBLE_DEVICES=1,2,3,4,5,6,7 accelerate launch --num_processes 7 train.py
        """,
        title="the first GPU is for another program",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:2
        torchrun --nproc_per_node=8 train.py --backend gloo
        """,
        title="it works on processors",
    ),
]
