"""Crowds: launchers that a step starts several times on a node, though one start of them fills the node.

Semantics of the launchers from their sources (torch/distributed/run.py, accelerate utils/launch.py, deepspeed
launcher/runner.py) and from runs of torch 2.6 on two nodes; those of tasks from `steps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span, task_edits, task_option_at
from sbatchlint.analysis.launch.repeatable import is_repeatable, is_repeatable_step
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.job.environment import TASK_COUNTS
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch

# Options that give every task GPUs of its own.
PER_TASK_GPUS = ("gpus-per-task", "ntasks-per-gpu", "tres-per-task", "ntasks-per-tres", "gpu-bind", "tres-bind")
# Directives that count tasks in ways this module does not rewrite.
OTHER_COUNTS = ("ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-tres", "tres-per-task",
                "distribution", "mincpus")  # fmt: skip
TASK_COUNT_USE = Regex(r"SLURM_(?:STEP_)?(?:NTASKS|NPROCS|NUM_TASKS|TASKS_PER_NODE)")


class Repair(NamedTuple):
    """How a job gets one task per node: what is done, and the edits of the file."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool


class Crowd(NamedTuple):
    """Launchers started several times on a node, for one reason.

    `reason`: the directive or the option that decides the number of tasks (where, and how it is written).
    `inherited`: it is a directive, which the srun inherits. `launches`: at least one, in order of running.
    """

    reason: tuple[Span, str]
    inherited: bool
    launches: tuple[Launch, ...]
    repair: Repair | None

    @property
    def takes_places(self) -> bool:
        """Whether the launchers are numbered by task, so that those of the first nodes make the whole world."""
        rank = self.launches[0].launcher.node_rank
        found = expansions(rank.value) if rank is not None and rank.value is not None else []
        return [(each.name, each.phase) for each in found] == [("SLURM_PROCID", Phase.TASK)]


def find_crowds(job: Job) -> list[Crowd]:
    """The crowds of a job, by the place that decides."""
    found: dict[tuple[Span, str], list[Launch]] = {}
    for launch in job.launches:
        if is_crowded(job, launch):
            assert launch.step is not None
            reason = launch.step.geometry.reason
            if reason is not None:
                found.setdefault(reason, []).append(launch)
    crowds = []
    for reason, launches in found.items():
        own = launches[0].step is not None and task_option_at(launches[0].step, reason[0]) is not None
        crowds.append(Crowd(reason, not own, tuple(launches), _repair(job, launches, reason[0])))
    return crowds


# --- which launchers are too many ----------------------------------------------------------------


def is_crowded(job: Job, launch: Launch) -> bool:
    """Whether some node starts this launcher several times, which is not by design."""
    step, launcher = launch.step, launch.launcher
    if step is None or launch.restricted or not launcher.spawns or launcher.kind == "mpi":
        return False
    geometry = step.geometry
    if geometry.several is not True or geometry.ignored is not False:
        return False
    if launcher.kind == "deepspeed" and "no_ssh" not in launcher.flags:
        return False
    if launcher.kind == "ray" and "head" not in launcher.flags:
        # A Ray node a task, each with its share, is a legal cluster; several heads of a node clash.
        if not launcher.certain or launcher.setting("num-cpus", "num-gpus") is not None:
            return False
    if any(launch.invocation is not each and each in launch.invocation.ancestors() for each in _launchers(job)):
        return False  # its own launcher decides how often it runs
    return not _a_node_per_task(job, launch, step)


def _launchers(job: Job) -> list[object]:
    return [each.invocation for each in job.launches if each.launcher.spawns or each.launcher.kind == "mpi"]


def _a_node_per_task(job: Job, launch: Launch, step: Step) -> bool:
    """Whether every task is meant to be a node of its own: one worker a task, or GPUs of its own."""
    launcher = launch.launcher
    each = launcher.processes_per_task
    if each == 1:
        # as many as there are nodes, and no more, can join a world of so many
        return not (isinstance(launcher.nnodes, int) and 1 < launcher.nnodes == step.nodes)
    bound = any(name in step.options or job.request.asked(name) for name in PER_TASK_GPUS)
    bound = bound or _picks_gpus(launch)
    counts_tasks = _counts_tasks(launch, step)
    if not isinstance(each, int):
        return bound or counts_tasks or each is None and not _fills_node(launch, step)
    if counts_tasks:
        gpus = job.request.gpus_per_node()
        crowd = step.tasks_per_node
        return bound or gpus is None or crowd is None or each * crowd <= gpus
    if not bound:
        return False
    own = step_gpus(job, step).each
    return own is None or own == each and not isinstance(launcher.nnodes, int)


def _fills_node(launch: Launch, step: Step) -> bool:
    """Whether a launcher of an unknown number of workers is meant to be alone on its node."""
    launcher = launch.launcher
    if launcher.kind not in ("torchrun", "torch.distributed.launch", "accelerate", "swift"):
        return True
    setting = launcher.setting("nproc_per_node", "num_processes")
    if setting is None or setting.value is None:
        return False
    if any("GPU" in each.name or "nvidia-smi" in each.name for each in expansions(setting.value)):
        return True
    return launcher.nnodes is not None and launcher.nnodes == step.nodes


def _picks_gpus(launch: Launch) -> bool:
    """Whether each task chooses its GPUs: CUDA_VISIBLE_DEVICES from its own number."""
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        variable = launch.invocation.state.variables.get(name)
        if variable is not None and variable.alternatives:
            return True
    return False


def _counts_tasks(launch: Launch, step: Step) -> bool:
    """Whether the launcher's number of nodes is the number of tasks."""
    machines = launch.launcher.machines
    if machines is None or machines.value is None:
        return False
    if {each.name for each in expansions(machines.value)} & TASK_COUNTS:
        return True
    number = machines.number
    return number is not None and number > 1 and number == step.tasks


# --- repairs ---------------------------------------------------------------------------------------


def _repair(job: Job, launches: list[Launch], reason: Span) -> Repair | None:
    if any(launch.launcher.processes_per_task == 1 for launch in launches):
        return None  # a worker of each task was meant, or a launcher of all GPUs
    steps: dict[Span, Step] = {}
    for launch in launches:
        assert launch.step is not None
        steps.setdefault(launch.step.invocation.name_span, launch.step)
    if any(task_option_at(step, reason) is not None for step in steps.values()):
        return _change_option(job, next(iter(steps.values())), reason) if len(steps) == 1 else None
    return _change_directive(job, reason) or _add_options(job, list(steps.values()))


def _change_option(job: Job, step: Step, reason: Span) -> Repair | None:
    """`srun --ntasks-per-node=8` becomes 1, `srun -n 8` the number of nodes."""
    if not step.certain or any(name in step.options for name in PER_TASK_GPUS):
        return None
    edits = task_edits(job, step, 1)
    if edits is None:
        return None
    within = all(step.span.start <= each.span.start and each.span.end <= step.span.end for each in edits)
    cpus = step.option("cpus-per-task")
    safe = within and cpus is None and _only_launchers(job, step) and not TASK_COUNT_USE.search(job.source.text)
    title = "run one task per node in this step"
    if cpus is not None:
        span = literal_span(cpus)
        number, old = literal_number(job, span), step.tasks_per_node
        if span is None or number is None or old is None:
            return None
        edits.append(Edit(span, str(number * old)))
        title += ", with the CPUs of all of them"
    return Repair(title, tuple(edits), safe)


def _only_launchers(job: Job, step: Step) -> bool:
    """Whether a step's tasks run crowded launchers, and what does not care how often it runs."""
    crowded = [launch.invocation for launch in job.launches if launch.step is step and is_crowded(job, launch)]
    if not crowded:
        return False
    for each in step.program:
        if each in crowded or is_repeatable(each):
            continue
        if any(each in launcher.ancestors() for launcher in crowded) or any(
            launcher in each.ancestors() for launcher in crowded
        ):
            continue
        return False
    return True


def _change_directive(job: Job, reason: Span) -> Repair | None:
    """`--ntasks-per-node=8` becomes 1, where nothing else of the job needs eight tasks."""
    request = job.request
    if not request.directives.certain or any(request.asked(name) for name in OTHER_COUNTS):
        return None
    if TASK_COUNT_USE.search(job.source.text) or any(each.launcher.kind == "mpi" for each in job.launches):
        return None
    for step in job.steps:
        if step.geometry.several is False:
            continue
        if step.geometry.several is None or not (_only_launchers(job, step) or is_repeatable_step(step)):
            return None
        if any(name in step.options for name in (*PER_TASK_GPUS, "ntasks", "ntasks-per-node", "cpus-per-task")):
            return None
    return _fewer_tasks(job, reason)


def _fewer_tasks(job: Job, reason: Span) -> Repair | None:
    request = job.request
    nodes = request.exact_nodes()
    settings = [each for each in (request.given("ntasks"), request.given("ntasks-per-node")) if each is not None]
    if reason not in [each.span for each in settings]:
        return None
    edits = []
    for setting in settings:
        target = "1" if setting.name == "ntasks-per-node" else None if nodes is None else str(nodes)
        if target is None or literal_number(job, setting.value_span) is None:
            return None
        edits.append(request.directives.replacement(setting, target))
    tasks, per_node = request.tasks, request.tasks_on_each_node()
    if per_node is None and tasks is not None and nodes and tasks % nodes == 0:
        per_node = tasks // nodes
    title = "ask for one task per node"
    scaled = [each for each in (request.given("cpus-per-task"), request.given("gpus-per-task")) if each is not None]
    for setting in scaled:
        number = literal_number(job, setting.value_span)
        if number is None or per_node is None:
            return None
        edits.append(request.directives.replacement(setting, str(number * per_node)))
    if scaled:
        what = " and ".join("CPUs" if setting.name == "cpus-per-task" else "GPUs" for setting in scaled)
        return Repair(f"{title}, with the {what} of {per_node}", tuple(edits), False)
    if request.exclusive == "" or request.asked("cpus-per-gpu"):
        return Repair(title, tuple(edits), True)  # the CPUs do not depend on the number of tasks
    if per_node is None:
        return None
    end = settings[-1].span.end
    edits.append(Edit(Span(end, end), f" --cpus-per-task={per_node}"))
    return Repair(f"{title}, with the CPUs of {per_node}", tuple(edits), True)


def _add_options(job: Job, steps: list[Step]) -> Repair | None:
    """One task per node for just these steps."""
    if any(job.request.asked(name) for name in ("gpus-per-task", "tres-per-task")):
        return None
    edits = []
    for step in steps:
        options = _options_for(job, step)
        if options is None:
            return None
        end = step.invocation.name_span.end
        edits.append(Edit(Span(end, end), options))
    return Repair("run one task per node in this step", tuple(edits), False) if edits else None


def _options_for(job: Job, step: Step) -> str | None:
    word = step.invocation.name_span
    if job.source.slice(word).rpartition("/")[2] != "srun" or not step.certain:
        return None
    if any(name in step.options for name in ("ntasks", "ntasks-per-node", *PER_TASK_GPUS)):
        return None
    quoted = job.is_embedded or job.in_quoted_text(word.start)
    if step.nodes == 1:
        options = " --ntasks=1"
    elif "nodes" in step.options or quoted:
        if step.nodes is None:
            return None
        options = f" --ntasks={step.nodes} --ntasks-per-node=1"
    else:
        options = " --ntasks=$SLURM_NNODES --ntasks-per-node=1"
    cpus = job.request.cpus_per_task
    if "cpus-per-task" in step.options:
        return None
    if cpus is not None and step.tasks_per_node is not None:
        options += f" --cpus-per-task={cpus * step.tasks_per_node}"
    return options
