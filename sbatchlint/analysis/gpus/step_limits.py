"""Steps that want more than the job has: GPUs that it did not ask for, or nodes on which the step does not run.

srun refuses a request for GPUs that the job does not hold, and starts nothing (seen on Slurm 22.05, 23.11, 24.11 and
26.05): `Invalid generic resource (gres) specification`, and before 23.11 also `job doesn't have GRES`. A launcher that
is told of more nodes than its step has waits for the others until its rendezvous times out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.gpus.gpu_use import SUBMIT_LINE
from sbatchlint.analysis.launch.launcher_options import place_of
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.job.gpus import FORMS
from sbatchlint.job.request import gpu_count
from sbatchlint.job.steps import StepOption, written
from sbatchlint.job.worlds import LaunchWorld, World, by_place, find_worlds
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step
    from sbatchlint.slurm.directives import Setting


class TooManyGpus(NamedTuple):
    """A step that asks for GPUs which the job does not have.

    `place`, `words`: the srun's option; the srun itself where the request is the job's own. `asked`, `held`: how many
    the step asks for and the job has, in all for `by` `job`, on each node for `node`; `held` 0: the job asks for none.
    `setting`: the directive that says what the job has. `nodes`: of the step and of the job, where the step inherits a
    total that is spread over all nodes of the job.
    """

    step: Step
    place: Span
    words: str
    asked: int
    held: int
    by: str
    setting: Setting | None
    nodes: tuple[int, int] | None = None


class TooManyNodes(NamedTuple):
    """A launcher that waits for more nodes than its step has. `option`: what makes the step that small."""

    world: World
    place: Span
    asked: int
    nodes: int
    option: StepOption | None


def _is_elsewhere(step: Step) -> bool:
    """Whether srun asks for resources of another job, or of a component of this one."""
    jobid = step.option("jobid")
    own = jobid is None or {each.name for each in expansions(jobid.value or ())} & {"SLURM_JOB_ID", "SLURM_JOBID"}
    return not own or "het-group" in step.options


def steps_with_too_many_gpus(job: Job) -> Iterator[TooManyGpus]:
    """Every step that srun refuses for its GPUs, where the script alone decides it."""
    request = job.request
    if job.phase is not Phase.BATCH or not job.directives.settings or not job.directives.certain:
        return
    if request.heterogeneous or request.asked("exclusive") or request.asked("gpus-per-socket"):
        return  # an exclusive job has all GPUs of its nodes
    for step in job.steps:
        if step.certain and not _is_elsewhere(step):
            found = _too_many(job, step) or _whole_total(job, step)
            if found is not None:
                yield found


def _too_many(job: Job, step: Step) -> TooManyGpus | None:
    request = job.request
    asked = [each for each in (step.option(name) for name in FORMS) if each is not None]
    if not asked:
        return None
    if request.asks_for_gpus is False:
        for option in asked:
            number = _count(job, option)
            if number:
                if SUBMIT_LINE.search(job.source.own.text) or counts_on_whole_nodes(job):
                    return None
                return TooManyGpus(step, option.span, written(option), number, 0, _by(option), None)
        return None
    settings = [each for each in request.gpu_settings() if not each.name.startswith("tres") and each.text is not None]
    held, nodes = request.gpus_per_node(), request.exact_nodes()
    total = request.gpus.total if held is None or nodes is None else held * nodes
    if not settings:
        return None
    for option in asked:
        number = _count(job, option)
        if not number:
            continue
        if option.name in ("gpus-per-node", "gres") and held is not None and number > held:
            return TooManyGpus(step, option.span, written(option), number, held, "node", settings[0])
        tasks = step.tasks_per_node
        if option.name in ("gpus-per-task", "tres-per-task") and None not in (tasks, held):
            assert tasks is not None and held is not None
            if number * tasks > held and not _inherits_per_node(step):
                return TooManyGpus(step, option.span, written(option), number * tasks, held, "node", settings[0])
        if option.name == "gpus" and total is not None and number > total:
            return TooManyGpus(step, option.span, written(option), number, total, "job", settings[0])
    return None


def counts_on_whole_nodes(job: Job) -> bool:
    """Whether the script relies on a site that gives every job whole nodes, GPUs included.

    It asks for nodes and nothing on them, which is one CPU a node elsewhere, and starts several tasks on a node, or
    tasks of several CPUs.
    """
    request = job.request
    parts = ("ntasks", "ntasks-per-node", "cpus-per-task", "mem-per-cpu", "mem-per-gpu", "cpus-per-gpu", "mincpus")
    if not request.asked("nodes") or any(request.asked(name) for name in parts):
        return False
    cpus = [each for each in (step.option("cpus-per-task") for step in job.steps) if each is not None]
    return any(each.text != "1" for each in cpus) or any(step.geometry.several for step in job.steps)


def _inherits_per_node(step: Step) -> bool:
    """Whether a number of GPUs per node counts beside --gpus-per-task, which then only binds.

    A task that is alone on its node is given all of them before 25.11.
    """
    own = "gpus-per-node" in step.options or "gres" in step.options
    return own or step.request.asked("gpus-per-node") and step.tasks_per_node == 1


def _by(option: StepOption) -> str:
    return {"gpus": "job", "gpus-per-task": "task", "tres-per-task": "task"}.get(option.name, "node")


def _count(job: Job, option: StepOption) -> int | None:
    if option.text is None:
        return None
    found = gpu_count(option.name, option.text, job.versions.last)
    return None if found is None else found.number


def _whole_total(job: Job, step: Step) -> TooManyGpus | None:
    """A step on some of the job's nodes that inherits `--gpus`: it asks for all of them there."""
    request = job.request
    total, nodes = request.gpus.total, request.exact_nodes()
    setting = request.given("gpus")
    if total is None or setting is None or nodes is None or step.nodes is None or not 0 < step.nodes < nodes <= total:
        return None
    others = ("gpus-per-node", "gpus-per-task", "gres", "tres-per-task", "ntasks-per-gpu")
    own = [name for name in ("gpus", "gpus-per-node", "tres-per-task", "ntasks-per-gpu") if name in step.options]
    gres = step.option("gres")
    if own or any(request.asked(name) for name in others) or gres is not None and (gres.text or "none") == "none":
        return None
    changed = {name for name, _ in step.invocation.variables} | step.invocation.state.variables.keys()
    if changed & {"SLURM_GPUS", "SLURM_STEP_GRES", "SLURM_GRES", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK"}:
        return None
    place = step.invocation.name_span
    return TooManyGpus(step, place, "srun", total, total - (nodes - step.nodes), "job", setting, (step.nodes, nodes))


# --- launchers ---------------------------------------------------------------------------------------


def launchers_with_too_many_nodes(job: Job) -> Iterator[TooManyNodes]:
    """Launchers whose step has fewer nodes than they wait for, and nothing else of the script starts the others."""
    if job.phase is not Phase.BATCH:
        return
    worlds = find_worlds(job)
    for group in by_place(worlds):
        world = group[0]
        step = world.step
        if len(group) > 1 or step is None or world.mpi is not None or world.nodes is None:
            continue
        asked, launcher = world.asked, world.launcher
        if launcher is None or not launcher.spawns or launcher.kind == "mpi" or not world.certain:
            continue
        if asked.least is None or asked.least <= world.nodes or launcher.standalone or world.starts_per_node != 1:
            continue
        nodes = job.request.exact_nodes()
        if nodes is None or world.nodes >= nodes:
            continue  # as large as the job: another fault
        if world.apart not in ("", "part") or _has_companions(job, world, worlds):
            continue
        place = launcher.span if asked.setting is None else place_of(launcher, asked.setting)
        yield TooManyNodes(world, place, asked.least, world.nodes, step.option("ntasks") or step.option("nodes"))


def _has_companions(job: Job, world: World, worlds: list[LaunchWorld]) -> bool:
    """Whether other steps may start the launcher on the other nodes: at the same time, or in a loop or a function."""
    step = world.step
    assert step is not None
    if step.invocation.context.background or step.invocation.context.looped:
        return True
    mine = None if world.launcher is None else world.launcher.kind
    others = [each for each in worlds if each is not world and each.launcher is not None and each.launcher.kind == mine]
    return any(each.step is None or each.step.invocation.context.background for each in others)
