"""Lone ranks: programs that expect one task per GPU, in steps of one task per node.

`rank_signs.rank_sign` says which programs these are. Lightning takes its ranks from Slurm whenever SLURM_NTASKS is set
(lightning/fabric/plugins/environments/slurm.py); so does JAX, with one process per device
(jax/_src/clusters/slurm_cluster.py); Megatron takes them from RANK and WORLD_SIZE.
"""

from typing import NamedTuple

from sbatchlint.analysis.launch.literal_counts import literal_number, task_edits, task_option_at
from sbatchlint.analysis.launch.rank_signs import RankSign, rank_sign
from sbatchlint.analysis.script.work import is_repeatable_step
from sbatchlint.bash.trace import Invocation, exported, is_set
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.job.argv import integer
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.rewriting import insertion, replacement
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# A script that sets these tells each process which GPUs are its own. MaxText takes the GPUs from JAX_COORDINATOR_IP's
# node; JAX_PROCESS_ID is for programs that pass everything to JAX themselves.
CHOOSING = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "JAX_LOCAL_DEVICE_IDS",
            "JAX_COORDINATOR_IP", "JAX_PROCESS_ID")  # fmt: skip
# Lightning no longer detects Slurm where these were changed.
DETECTED_BY = ("SLURM_NTASKS", "SLURM_JOB_NAME")
# Strategies with one process, a launcher that submits jobs, and accelerators other than GPUs.
OTHER_WAYS = Regex(
    r"[ .+-](?:strategy[= ]['\"]?(?:dp|ddp_spawn|ddp_notebook|ddp_fork)|accelerator[= ]['\"]?(?:cpu|tpu|mps))\b"
    r"|hydra/launcher="
    # what a program is to start for each GPU: it goes through them itself
    r"|[ .](?:--?)(?!\w*(?:batch|train|eval|samples|images|tokens|imgs|mem))[a-z_-]+[_-]per[_-](?:gpu|device)\b"
)


class LoneRank(NamedTuple):
    """A program whose other ranks are not started.

    `gpus`: per node. `expected`: the tasks per node that it needs. `awaited`: whether WORLD_SIZE counts all ranks, so
    that the program waits for the missing ones.
    """

    step: Step
    invocation: Invocation
    sign: RankSign
    gpus: int
    expected: int
    awaited: bool

    @property
    def place(self) -> Span:
        """What to change: the directive or option that sets the number of tasks; the srun, if there is none."""
        reason = self.step.geometry.reason
        return self.step.invocation.name_span if reason is None else reason[0]


@once
def lone_ranks(job: Job) -> list[LoneRank]:
    """The lone ranks of a job, one per step and program."""
    found: dict[tuple[Span, Span], LoneRank] = {}
    for step in job.steps:
        geometry, context = step.geometry, step.invocation.context
        if geometry.tasks_per_node != 1 or geometry.several is not False or geometry.ignored is not False:
            continue
        if context.background and context.may_repeat or is_spread(job, step):
            continue
        signs = [(each, sign) for each in step.program if (sign := sign_of_rank(job, each, step)) is not None]
        sharing = step_gpus(job, step) if signs else None
        gpus = None if sharing is None else sharing.per_task
        if sharing is None or gpus is None or gpus < 2 or (meant := sharing.meant) is not None and meant < gpus:
            continue
        for command, sign in signs:
            expected = gpus if sign.devices is None else sign.devices
            if expected > 1:
                awaited = _reads_world_size(command, sign, step, expected)
                found.setdefault((step.span, command.span), LoneRank(step, command, sign, gpus, expected, awaited))
    return list(found.values())


def is_spread(job: Job, step: Step) -> bool:
    """Whether a launcher in the step's tasks starts several processes itself."""
    launchers = [launch.launcher for launch in job.launches_of(step)]
    return any(launcher.starts_several for launcher in launchers)


def sign_of_rank(job: Job, invocation: Invocation, step: Step) -> RankSign | None:
    """The sign that a program of a step is one rank of many; None if there is none, or if something contradicts it."""
    context, outer = invocation.context, step.invocation.context
    if context.restricted or context.background is not outer.background or context.loops != outer.loops:
        return None
    sign = rank_sign(job, invocation)
    if sign is None or any(is_set(invocation, name) for name in CHOOSING):
        return None
    if OTHER_WAYS.search(" ".join(invocation.words)):
        return None
    if sign.kind == "lightning" and any(name in invocation.state.variables for name in DETECTED_BY):
        return None
    if sign.kind == "jax" and step.several_nodes is not True:
        return None  # a single JAX process has all GPUs of its node, unless it asks Slurm
    return sign


def _reads_world_size(invocation: Invocation, sign: RankSign, step: Step, expected: int) -> bool:
    """Whether the program reads a WORLD_SIZE that counts ranks which are never started."""
    field = exported(invocation, "WORLD_SIZE")
    number = None if field is None else integer(field)
    if number is None or step.tasks is None or sign.kind not in ("rank-variables", "megatron"):
        return False
    return number == expected * step.tasks


# --- a task for each rank ------------------------------------------------------------------------------


def more_tasks(job: Job, lone: LoneRank) -> Fix | None:
    """The fix that starts as many tasks per node as the program needs.

    None where it would change other steps, a number is not literal, or all tasks would have one rank.
    """
    if lone.sign.early:
        return None
    step, expected, reason = lone.step, lone.expected, lone.step.geometry.reason
    if reason is None or task_option_at(step, reason[0]) is None:
        return _by_directive(job, step, expected)
    if "cpus-per-task" in step.options or "gpus-per-task" in step.options or not step.certain:
        return None
    edits = task_edits(job, step, expected)
    return None if edits is None else Fix(f"run {expected} tasks per node in this step", edits)


def _by_directive(job: Job, step: Step, expected: int) -> Fix | None:
    """The fix that sets the tasks of the whole job; None where it would change steps that do not need the same."""
    request, directives = job.request, job.directives
    if not directives.certain or job.is_embedded and job.directives_expand:
        return None
    if any(request.has_option(name) for name in ("tres-per-task", "ntasks-per-gpu", "ntasks-per-socket")):
        return None
    ranks = lone_ranks(job)
    alike = {each.step.span for each in ranks if each.expected == expected}
    for other in job.steps:
        counted = "ntasks" in other.options or "ntasks-per-node" in other.options
        if other.span not in alike and not counted and not is_repeatable_step(other):
            return None
    edits = []
    per_node, tasks = request.setting("ntasks-per-node"), request.setting("ntasks")
    if per_node is not None:
        if literal_number(job, per_node.value_span) is None:
            return None
        edits.append(replacement(directives, per_node, str(expected)))
    if tasks is not None:
        if literal_number(job, tasks.value_span) is None or step.nodes is None:
            return None
        all_lightning = all(each.sign.kind == "lightning" for each in ranks)
        if per_node is None and all_lightning and job.source.slice(tasks.span)[:1] == "-":
            edits.append(Edit(tasks.span, f"--ntasks-per-node={expected}"))  # it refuses --ntasks alone
        else:
            edits.append(replacement(directives, tasks, str(expected * step.nodes)))
    if not edits:
        edits.append(insertion(directives, f"--ntasks-per-node={expected}"))
    shared = []
    for name, resource in (("cpus-per-task", "CPUs"), ("gpus-per-task", "GPUs")):
        setting = request.setting(name)
        if setting is None:
            continue
        number = whole(setting.text)
        if number is None or literal_number(job, setting.value_span) is None or number % expected:
            return None  # some of them would be lost
        if name == "gpus-per-task" and setting.value_line is setting.line and step.nodes is not None:
            edits.append(Edit(setting.span, f"--gpus-per-node={number}"))  # each rank takes the GPU of its number
            continue
        edits.append(replacement(directives, setting, str(number // expected)))
        shared.append(resource)
    title = f"request {expected} tasks per node"
    return Fix(title + (f", which share the {' and '.join(shared)}" if shared else ""), edits)
