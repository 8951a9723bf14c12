"""Tasks fail or share a GPU: they do not see the GPUs that their program expects.

`--gpus-per-task=1`, `--ntasks-per-gpu` and `--gpu-bind=single:1` show each task one GPU, GPU 0 for its program.
torchrun with four processes in such a task, and a program that calls `set_device(LOCAL_RANK)`, then use GPUs that do
not exist: `CUDA error: invalid device ordinal`. A task that is alone on its node is bound since Slurm 25.11; before
that, `--gpu-bind` and a `--gpus-per-task` in addition to GPUs per node had no effect there.

Conversely, `srun --ntasks=4 --gres=gpu:1` gives four tasks of a node the same GPU, as `--gres` counts per node: NCCL
ends with `Duplicate GPU detected`, or four ranks share the memory of one GPU while the others are idle.

Where only a flag such as `--distributed` says what the program does, this is advice: most, but not all, then use the
GPU of their local rank.

## Fix

Shows each task all GPUs of its node (`--gpus-per-node=8` for eight tasks of one), or gives the one task of a launcher
as many as it starts processes. Unsafe: the program may take this into account.

## References

srun(1), --gpu-bind, --gpus-per-task; runs on Slurm 22.05, 23.11, 24.11 and 26.05; torch/cuda (`set_device`),
jax/_src/clusters/slurm_cluster.py (the device of the local number), lightning/fabric (`devices` against what is
visible); https://github.com/ACEsuit/mace/issues/435; https://github.com/jax-ml/jax/issues/23452;
https://github.com/clessig/atmorep/issues/77
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sbatchlint.analysis.gpus.gpu_signs import PROCESSORS, gpu_signs
from sbatchlint.analysis.launch.duplicate_launchers import is_duplicated
from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span
from sbatchlint.analysis.launch.rank_signs import rank_sign
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.job.gpus import BINDINGS, DEVICE_VARIABLES, FORMS, StepGpus, binding_reason, step_gpus
from sbatchlint.job.launchers import is_python
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import find_worlds
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import all_of, is_number
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options, StepOptions

GPU_OPTIONS = (*FORMS, *BINDINGS, "ntasks-per-gpu")

CARD = Card(
    "SB211", "gpu-binding-mismatch", severity="error", fix="sometimes", since="0.1.0",
    when=Options(*GPU_OPTIONS) | StepOptions(*GPU_OPTIONS),
)  # fmt: skip

# Options whose value is the index of a device, or a local rank that programs use as one.
DEVICE_OPTION = Regex(
    r"-{1,2}(?:local[_-]?(?:rank|id)|gpu(?:[_-]?id)?|device(?:[_-]?id)?|cuda[_-]?device|rank[_-]?local)"
)
DISTRIBUTED = Regex(r"--(?:use[_-]?)?(?:distributed|ddp|dist)(?:=(?:true|1|yes))?", re.IGNORECASE)


def check(job: Job) -> Iterator[Finding]:
    yield from _bound_launchers(job)
    yield from _bound_ranks(job)
    for step in job.steps:
        if (step.tasks_per_node or 0) > 1 and not _has_launcher(job, step):
            found = (_shared(job, step, invocation) for invocation in step.program)
            yield from islice((each for each in found if each is not None), 1)


# --- launchers that see fewer GPUs than they start processes -------------------------------------------


def _bound_launchers(job: Job) -> Iterator[Finding]:
    seen: set[Span] = set()
    for world in find_worlds(job):
        launcher, step = world.launcher, world.step
        if step is None or not launcher.is_a("per-gpu") or launcher.cpu or launcher.span in seen:
            continue
        count = launcher.processes_per_task
        if not isinstance(count, int) or count < 2 or not world.certain or is_duplicated(job, world.launch):
            continue
        if launcher.is_a("counts-all") and world.nodes_setting.number is None:
            continue  # its number of processes counts all nodes
        reason = binding_reason(step)
        if reason is None:
            continue
        sharing = step_gpus(job, step)
        least, most = sharing.least, sharing.most
        if sharing.meant is None or least is None or most is None or least >= count:
            continue
        if any(exported(world.invocation, name) is not None for name in DEVICE_VARIABLES):
            continue
        seen.add(launcher.span)
        span, words = reason
        gpus = "one GPU" if least == 1 else f"{least} GPUs"
        since = "" if most < count else " in Slurm 25.11 and later"
        line = job.line(world.invocation.span.start)
        # One task on each node can have as many GPUs as there are processes.
        edit = _with_value(job, step, count, None) if step.tasks_per_node == 1 else None
        yield Finding(
            span,
            f"`{words}` shows each task {gpus}{since}, but {launcher.name} (line {line}) starts {count} processes "
            f"per task: {count - least} find no GPU; give each task {count} GPUs",
            None if most < count else "warning",
            related=[(launcher.span, f"starts {count} processes")],
            fix=None if edit is None else Fix(f"give the task {count} GPUs", [edit]),
        )


def _with_value(job: Job, step: Step, number: int, other: str | None) -> Edit | None:
    """The edit that sets --gpus-per-task to another number, or the option `other` in its place."""
    option = step.option("gpus-per-task")
    if option is not None:
        span = literal_span(option.value)
        if span is None or literal_number(job, span) is None:
            return None
        if other is None:
            return Edit(span, str(number))
        whole = Span(option.span.start, span.end)
        is_joined = job.source.slice(whole) == f"--gpus-per-task={job.source.slice(span)}"
        return Edit(whole, f"--{other}={number}") if is_joined else None
    setting = step.request.setting("gpus-per-task")
    if setting is None or literal_number(job, setting.value_span) is None:
        return None
    if other is None:
        return replacement(job.directives, setting, str(number))
    return Edit(setting.span, f"--{other}={number}") if setting.value_line is setting.line else None


# --- programs that choose a GPU by their local rank, where each task sees only its own -----------------


class DeviceUse(NamedTuple):
    """How a program chooses a GPU by its local rank.

    `place`: what shows it; `how`: in words; `certain`: the script says so, rather than just most programs doing so;
    `consequence`: what happens to the tasks where each sees one GPU.
    """

    place: Span
    how: str
    certain: bool = True
    consequence: str = "the others fail"


def _bound_ranks(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        reason = binding_reason(step)
        if reason is None or _has_launcher(job, step):
            continue
        sharing = step_gpus(job, step)
        if sharing.meant is None or sharing.per_task != 1:
            continue
        by_gpu = step.request.has_option("ntasks-per-gpu") and (sharing.on_node or 0) > 1
        if not (step.geometry.several or by_gpu and not {"ntasks", "nodes"} & step.options.keys()):
            continue
        span, words = reason
        for invocation in step.program:
            use = _device_use(job, invocation)
            if use is None:
                continue
            edit, instead = _all_visible(job, step, sharing)
            line = job.line(use.place.start)
            yield Finding(
                span,
                f"`{words}` shows each task only GPU 0, but {use.how} (line {line}), so {use.consequence}; write "
                f"{instead}",
                "warning" if use.certain else "info",
                related=[(use.place, use.how)],
                fix=None if edit is None else Fix("show each task all GPUs of its node", [edit]),
            )


def _has_launcher(job: Job, step: Step) -> bool:
    return any(launch.launcher.spawns for launch in job.launches_of(step))


def _device_use(job: Job, invocation: Invocation) -> DeviceUse | None:
    if not invocation.argv or invocation.context.restricted:
        return None
    for name in DEVICE_VARIABLES:
        value = exported(invocation, name)
        if value is not None and _is_local_rank(value):
            return DeviceUse(value[0].span, f"{name} is $SLURM_LOCALID", consequence="most find none")
    if not is_python(invocation.argv[0]):
        return None
    local = exported(invocation, "LOCAL_RANK")
    if local is not None:
        return DeviceUse(local[0].span, "LOCAL_RANK is $SLURM_LOCALID") if _is_local_rank(local) else None
    for at, field in enumerate(invocation.argv):
        name, equals, _ = shown_text(field).partition("=")
        value = field if equals else invocation.argv[at + 1] if at + 1 < len(invocation.argv) else None
        if DEVICE_OPTION.fullmatch(name) and value is not None and _is_local_rank(value):
            return DeviceUse(Span(field[0].start, field[-1].end), f"{name} is $SLURM_LOCALID")
    sign = rank_sign(job, invocation)
    if sign is not None and sign.kind == "lightning" and (sign.devices or 0) > 1:
        return DeviceUse(sign.span, f"Lightning expects {sign.devices} GPUs", consequence="it refuses to start")
    if sign is not None and sign.kind == "jax":
        return DeviceUse(sign.span, "JAX takes the GPU of its task's number")
    for field in invocation.argv:
        text = text_of(field)
        if text is not None and DISTRIBUTED.fullmatch(text):
            how = f"with {text} it takes the GPU of its local rank"
            return DeviceUse(Span(field[0].start, field[-1].end), how, certain=False)
    return None


def _is_local_rank(value: Pieces) -> bool:
    """Whether a value is the local rank of the task, expanded in the task."""
    found = [each for each in expansions(value) if each.name == "SLURM_LOCALID"]
    return any(each.phase is Phase.TASK for each in found)


def _all_visible(job: Job, step: Step, sharing: StepGpus) -> tuple[Edit | None, str]:
    """The edit that shows each task all GPUs of its node (None where not known), and the option to write."""
    tasks, per_task = step.tasks_per_node, sharing.meant
    for name in ("gpu-bind", "tres-bind"):
        if name in step.options or step.request.has_option(name):
            return None, f"--{name}={'gres/gpu:' if name == 'tres-bind' else ''}none"
    if tasks is None or per_task is None:
        return None, "--gpu-bind=none"
    number = tasks * per_task
    if "gpus-per-task" in step.options and step.request.has_option("gpus-per-task"):
        return None, f"--gpus-per-node={number}"
    return _with_value(job, step, number, "gpus-per-node"), f"--gpus-per-node={number}"


# --- ranks that all see the same GPU of their node -----------------------------------------------------


def _shared(job: Job, step: Step, invocation: Invocation) -> Finding | None:
    if not invocation.argv or invocation.context.restricted or not is_python(invocation.argv[0]):
        return None
    sharing, tasks = step_gpus(job, step), step.tasks_per_node or 0
    alone = sharing.on_node == 1 and sharing.meant is None and sharing.per_task == 1
    if not alone and not any(exported(invocation, name) for name in DEVICE_VARIABLES):
        return None
    if any(sign.strength == PROCESSORS for sign in gpu_signs(invocation.argv)):
        return None
    sign = rank_sign(job, invocation)
    if sign is not None and sign.kind == "jax":
        sign = None
    related = [(step.invocation.name_span, f"starts {tasks} tasks on a node")]
    suffer = "NCCL fails, or the tasks share its memory"
    for name in DEVICE_VARIABLES:
        value = exported(invocation, name)
        if value is None or value is exported(step.invocation, name):
            continue  # what the batch shell exports does not reach the task
        text = text_of(value)
        if text is None or not is_number(text) or any(each.expansion is not None for each in value):
            return None
        if (sharing.on_node or 1) < 2 or sharing.meant is not None or sign is None:
            return None
        message = f"`{name}={text}` shows {all_of(tasks, 'task')} of a node the same GPU: {suffer}"
        advice = "remove it, or set it to $SLURM_LOCALID"
        return Finding(value[0].span, f"{message}; {advice}", related=related)
    if not alone:
        return None
    option = step.option("gres") or step.option("gpus-per-node")
    if option is not None and (job.request.gpus_per_node() or 1) >= tasks:
        span, words = option.span, option.as_written
    elif sign is None or option is not None:
        return None
    else:
        settings = map(step.request.setting, ("gpus-per-node", "gres", "gpus"))
        setting = next((each for each in settings if each is not None), None)
        if setting is None:
            return None
        span, words = setting.span, job.source.slice(setting.span)
    every = all_of(tasks, "task")
    return Finding(
        span,
        f"`{words}` counts per node, so {every} of a node see the same GPU: {suffer}; request {tasks} GPUs",
        None if sign is not None else "warning",
        related=related,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 «--gpus-per-task=1»
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        unsafe_fixed={"--gpus-per-task=1": "--gpus-per-task=4"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 «--gpus-per-task=1»
        srun bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID; python train.py'
        """,
        unsafe_fixed={"--gpus-per-task=1": "--gpus-per-node=8"},
        severity="warning",
        title="the rank on the node is not an index",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun --ntasks=4 «--gres=gpu:1» python tools/train.py config.py --launcher slurm
        """,
        title="--gres counts by node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-task=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
        srun ./solver
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=0 python train.py'
        """,
        title="each takes the one that it sees",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-task=1 --gpu-bind=none
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
        """,
        title="nothing is bound",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4
        srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python train.py'
        """,
        title="each chooses among all of them",
    ),
]
