"""Lone ranks: a program that wants one task for each GPU, in a step of one task per node.

Which programs these are: `evidence.rank_sign`. Lightning takes its ranks from Slurm whenever SLURM_NTASKS is there
(lightning/fabric/plugins/environments/slurm.py), JAX likewise, and one process for each device at that
(jax/_src/clusters/slurm_cluster.py); Megatron from RANK and WORLD_SIZE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.evidence import RankSign, rank_sign
from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span, task_edits, task_option_at
from sbatchlint.analysis.launch.repeatable import is_repeatable_step
from sbatchlint.bash.trace import exported, is_set
from sbatchlint.bash.values import shown_text
from sbatchlint.job.commands.argv import integer
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.rewriting import insertion, replacement
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job

# Who sets these has told each process which GPUs are its own.
# MaxText takes these of JAX_COORDINATOR_IP's node; JAX_PROCESS_ID is for programs that tell JAX all of it themselves.
CHOOSING = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "JAX_LOCAL_DEVICE_IDS",
            "JAX_COORDINATOR_IP", "JAX_PROCESS_ID")  # fmt: skip
# Lightning does not look at Slurm any more where these were changed.
DETECTED_BY = ("SLURM_NTASKS", "SLURM_JOB_NAME")
# Strategies of one process, a submitter of jobs, and machines without GPUs.
OTHER_WAYS = Regex(
    r"[ .+-](?:strategy[= ]['\"]?(?:dp|ddp_spawn|ddp_notebook|ddp_fork)|accelerator[= ]['\"]?(?:cpu|tpu|mps))\b"
    r"|hydra/launcher="
)


class Repair(NamedTuple):
    """What is done, and the edits of the file."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool


class LoneRank(NamedTuple):
    """A program that lacks its other ranks.

    `gpus`: on each node. `expected`: the tasks per node that it wants. `reason`: the directive or the option that makes
    it one task per node; None where nothing asks for tasks. `awaited`: it is told of all ranks in WORLD_SIZE, so that
    it waits for those that are not there.
    """

    step: Step
    invocation: Invocation
    sign: RankSign
    gpus: int
    expected: int
    reason: tuple[Span, str] | None
    repair: Repair | None
    awaited: bool = False

    @property
    def place(self) -> Span:
        """What to change: the directive or the option, else the srun."""
        return self.step.invocation.name_span if self.reason is None else self.reason[0]


class Refused(NamedTuple):
    """Tasks that Lightning refuses when it starts.

    `reason`: what counts them (where, and how it is written). `tasks`: all of them, or those of a node where
    `per_node`. `devices`: what the program is told; None: it is not told, or the tasks are refused as such. `edits`:
    as a guess.
    """

    step: Step
    invocation: Invocation
    sign: RankSign
    reason: tuple[Span, str]
    tasks: int
    per_node: bool
    devices: int | None
    expected: int | None
    edits: tuple[Edit, ...] | None


def find_refused(job: Job) -> list[Refused]:
    """Steps of Lightning whose tasks it does not take, each program once.

    lightning/fabric/plugins/environments/slurm.py (2.5): SLURM_NTASKS above 1 without SLURM_NTASKS_PER_NODE is a
    RuntimeError, and SLURM_NTASKS_PER_NODE that is not the number of devices a ValueError.
    """
    found: dict[Span, Refused] = {}
    for step in job.steps:
        geometry = step.geometry
        if geometry.ignored is not False or geometry.reason is None or not step.certain or _is_spread(job, step):
            continue
        for each in step.program:
            sign = _sign(each, step)
            if sign is None or sign.kind != "lightning" or is_set(each, "SLURM_NTASKS_PER_NODE"):
                continue
            refused = _refused(job, step, each, sign)
            if refused is not None:
                found.setdefault(each.span, refused)
    return list(found.values())


def _refused(job: Job, step: Step, invocation: Invocation, sign: RankSign) -> Refused | None:
    geometry, request = step.geometry, job.request
    assert geometry.reason is not None
    if not request.directives.certain or request.heterogeneous:
        return None
    if request.asked("ntasks-per-node") or "ntasks-per-node" in step.options:
        each = geometry.tasks_per_node
        if each is None or each < 2 or sign.devices is None or sign.devices == each:
            return None
        return Refused(step, invocation, sign, geometry.reason, each, True, sign.devices, sign.devices, None)
    tasks, nodes = geometry.tasks, geometry.nodes
    if tasks is None or tasks < 2 or not geometry.reason[1].lstrip("-").startswith(("ntasks", "n")):
        return None
    expected = sign.devices
    if expected is None and nodes and tasks % nodes == 0:
        expected = tasks // nodes
    if expected is not None and nodes and expected * nodes != tasks:
        expected = tasks // nodes if tasks % nodes == 0 else None
    edits = None
    span = geometry.reason[0]
    option = task_option_at(step, span)
    place = request.given("ntasks") if option is None else None
    literal = literal_span(option.value) if option is not None else None if place is None else place.value_span
    if expected is not None and literal_number(job, literal) is not None and job.source.slice(span)[:1] == "-":
        edits = (Edit(span, f"--ntasks-per-node={expected}"),)
    return Refused(step, invocation, sign, geometry.reason, tasks, False, None, expected, edits)


def find_lone_ranks(job: Job) -> list[LoneRank]:
    """The lone ranks of a job, one for each step and program."""
    found: list[LoneRank] = []
    seen: set[tuple[Span, Span]] = set()
    for step in job.steps:
        geometry = step.geometry
        if geometry.tasks_per_node != 1 or geometry.several is not False or geometry.ignored is not False:
            continue
        context = step.invocation.context
        if context.background and context.looped or _is_spread(job, step):
            continue
        sharing = step_gpus(job, step)
        gpus = sharing.each
        if gpus is None or gpus < 2 or sharing.meant is not None and sharing.meant < gpus:
            continue
        for each in step.program:
            sign = _sign(each, step)
            place = (step.span, each.span)
            if sign is None or place in seen:
                continue
            expected = gpus if sign.devices is None else sign.devices
            if expected > 1:
                seen.add(place)
                awaited = _is_told_of_all(each, sign, step, expected)
                found.append(LoneRank(step, each, sign, gpus, expected, geometry.reason, None, awaited))
    return [each._replace(repair=_repair(job, each, found)) for each in found]


def _is_told_of_all(invocation: Invocation, sign: RankSign, step: Step, expected: int) -> bool:
    """Whether the program reads a WORLD_SIZE that counts the ranks that nobody starts."""
    field = exported(invocation, "WORLD_SIZE")
    number = None if field is None else integer(field)
    if number is None or step.tasks is None or sign.kind not in ("rank-variables", "megatron"):
        return False
    return number == expected * step.tasks


def _is_spread(job: Job, step: Step) -> bool:
    """Whether something in the step's tasks starts several processes itself."""
    return any(launch.step is step and (launch.launcher.spawns or launch.launcher.kind == "mpi")
               for launch in job.launches)  # fmt: skip


def _sign(invocation: Invocation, step: Step) -> RankSign | None:
    context = invocation.context
    if context.restricted or context.background or context.looped and context.shell:
        return None
    sign = rank_sign(invocation.argv, lambda name: exported(invocation, name))
    if sign is None or any(is_set(invocation, name) for name in CHOOSING):
        return None
    if OTHER_WAYS.search(" ".join(map(shown_text, invocation.argv))):
        return None
    if sign.kind == "lightning" and any(name in invocation.state.variables for name in DETECTED_BY):
        return None
    if sign.kind == "jax" and step.several_nodes is not True:
        return None  # alone on its node, one process of JAX has all GPUs, unless it asks Slurm
    return sign


# --- repairs ---------------------------------------------------------------------------------------


def _repair(job: Job, lone: LoneRank, all_of_them: list[LoneRank]) -> Repair | None:
    if lone.reason is not None and task_option_at(lone.step, lone.reason[0]) is not None:
        return _change_option(job, lone.step, lone.expected)
    alike = {each.step.span for each in all_of_them if each.expected == lone.expected}
    all_lightning = all(each.sign.kind == "lightning" for each in all_of_them)
    return _change_directive(job, lone.step, lone.expected, alike, all_lightning)


def _change_option(job: Job, step: Step, expected: int) -> Repair | None:
    if "cpus-per-task" in step.options or "gpus-per-task" in step.options or not step.certain:
        return None
    edits = task_edits(job, step, expected)
    if edits is None:
        return None
    return Repair(f"run {expected} tasks per node in this step", tuple(edits), False)


def _change_directive(job: Job, step: Step, expected: int, alike: set[Span], all_lightning: bool) -> Repair | None:
    """More tasks for the whole job, where no other step would feel it but those that want the same."""
    request, directives = job.request, job.directives
    if not directives.certain or job.is_embedded and job.directives_expand:
        return None
    if any(request.asked(name) for name in ("tres-per-task", "ntasks-per-gpu", "ntasks-per-socket")):
        return None
    for other in job.steps:
        if other.span not in alike and not {"ntasks", "ntasks-per-node"} & other.options.keys():
            if not is_repeatable_step(other):
                return None
    edits = []
    per_node, tasks = request.given("ntasks-per-node"), request.given("ntasks")
    if per_node is not None:
        if literal_number(job, per_node.value_span) is None:
            return None
        edits.append(replacement(directives, per_node, str(expected)))
    if tasks is not None:
        if literal_number(job, tasks.value_span) is None or step.nodes is None:
            return None
        if per_node is None and all_lightning and job.source.slice(tasks.span)[:1] == "-":
            edits.append(Edit(tasks.span, f"--ntasks-per-node={expected}"))  # it refuses --ntasks alone
        else:
            edits.append(replacement(directives, tasks, str(expected * step.nodes)))
    if not edits:
        edits.append(insertion(directives, f"--ntasks-per-node={expected}"))
    shared = []
    for name, what in (("cpus-per-task", "CPUs"), ("gpus-per-task", "GPUs")):
        setting = request.given(name)
        if setting is None:
            continue
        number = whole(setting.text)
        if number is None or literal_number(job, setting.value_span) is None or number < expected:
            return None
        edits.append(replacement(directives, setting, str(number // expected)))
        shared.append(what)
    title = f"ask for {expected} tasks per node"
    if shared:
        title += f", which share the {' and '.join(shared)}"
    return Repair(title, tuple(edits), False)
