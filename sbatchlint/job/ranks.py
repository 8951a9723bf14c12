"""The tasks of a step: the node, the ranks and the command of each, and the ranks of the processes that it starts.

The script is reevaluated for every task, with that task's own SLURM_PROCID, SLURM_LOCALID and SLURM_NODEID, so that
conditions, arithmetic and quoting have the same results as there. Nothing is executed.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from sbatchlint.bash.trace import Context, Invocation, exported
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.job import Job
from sbatchlint.job.geometry import spread
from sbatchlint.job.launchers import Launcher, is_python
from sbatchlint.job.launches import Launch, by_step
from sbatchlint.job.reevaluation import evaluate
from sbatchlint.job.request import Request
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.job.srun import variable_change
from sbatchlint.job.steps import Step, enclosing_step, total
from sbatchlint.job.worlds import node_count
from sbatchlint.programs import programs_with

# How many tasks of a step are evaluated one by one, and how many statements for all of them.
MOST_TASKS = 64
MOST_STATEMENTS = 30_000
IDENTITIES = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID")
# Variables by which programs and launchers learn their ranks.
SLURM_RANKS = (
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
)  # fmt: skip
OWN_RANKS = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "NNODES", "NPROC_PER_NODE", "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
# Commands in the shell of a task that are not its work.
QUIET = programs_with("minor", "copies") | {"mount", "pip", "ssh"}


class Place(NamedTuple):
    """Where a task runs: the index of its node in the step, and its index on that node; None where not known.

    The distribution of the step decides on which node a task runs; the default is blocks.
    """

    rank: int
    node: int | None
    local: int | None


class Workload(NamedTuple):
    """The work of a step or a task: the launcher or the command that it starts (None: not known, or nothing).

    `several`: whether other launchers or programs run as well, or instead.
    """

    launch: Launch | None
    invocation: Invocation | None
    several: bool = False


class Task(NamedTuple):
    """One task of a step. `workload`: what it runs; `variables`: its known rank variables.

    `processes`: the rank variables of each process that it starts, None where their number is not known.
    """

    place: Place
    step: Step
    workload: Workload
    variables: dict[str, str]
    processes: list[dict[str, str]] | None


# --- where tasks run ---------------------------------------------------------------------------------


def distribution(step: Step) -> str | None:
    """How the tasks of a step are distributed over its nodes: `block`, `cyclic`, or None for others and unknown."""
    own = variable_change(step.invocation, "SLURM_DISTRIBUTION")
    option = step.option("distribution") or step.variable("distribution", "SLURM_DISTRIBUTION")
    if option is not None:
        return spread(option.text)
    if own.how or not step.request.has_option("distribution"):
        return "block" if own.how in ("", "unset") else None
    return spread(step.request.value("distribution"))


def place_of(step: Step, rank: int) -> Place:
    """The place of the task with this rank in a step."""
    nodes, per_node = step.nodes, step.tasks_per_node
    if step.tasks is None or nodes is None or per_node is None:
        return Place(rank, None, None)
    if per_node == 1:
        return Place(rank, rank, 0)
    if nodes == 1:
        return Place(rank, 0, rank)
    how = distribution(step)
    if how is None:
        return Place(rank, None, None)
    if how == "cyclic":
        return Place(rank, rank % nodes, rank // nodes)
    return Place(rank, rank // per_node, rank % per_node)


# --- one task's view of the script ---------------------------------------------------------------------


class TaskEnvironment(JobEnvironment):
    """The environment, as the task with this rank in each step sees it."""

    def __init__(self, request: Request, unset: frozenset[str], rank: int) -> None:
        super().__init__(request, unset)
        self.rank = rank

    def lookup(self, name: str, context: Context) -> str | bool | None:
        if context.phase is Phase.TASK and name in IDENTITIES:
            step = None if _under_mpi(context) else enclosing_step(context)
            if step is not None and step.tasks is not None and self.rank < step.tasks:
                place, before = place_of(step, self.rank), step.parts_before
                value, first = {
                    "SLURM_PROCID": (place.rank, total(part.tasks for part in before)),
                    "SLURM_LOCALID": (place.local, 0),
                    "SLURM_NODEID": (place.node, total(part.nodes for part in before)),
                }[name]
                if value is not None and first is not None:
                    return str(first + value)
        return super().lookup(name, context)


def _under_mpi(context: Context) -> bool:
    return context.parent is not None and any(
        command.spawn.kind == "mpi" for command in (context.parent, *context.parent.ancestors())
    )


class TaskViews:
    """The evaluations of a job, one for each rank, on demand."""

    def __init__(self, job: Job) -> None:
        self.job = job
        # if no task reads its rank, all are alike
        self.is_alike = not any(name in job.source.text for name in IDENTITIES)
        self._by_step = by_step(job.launches)
        self._left = MOST_STATEMENTS
        self._known: dict[int, tuple[list[Step], dict[int, list[Launch]], JobEnvironment] | None] = {}

    def of(self, rank: int) -> tuple[list[Step], dict[int, list[Launch]], JobEnvironment] | None:
        """The steps, the launchers of each by its identity, and the environment; None when the limit is exceeded."""
        if rank not in self._known:
            self._known[rank] = self._of(rank)
        return self._known[rank]

    def _of(self, rank: int) -> tuple[list[Step], dict[int, list[Launch]], JobEnvironment] | None:
        job = self.job
        if self.is_alike:
            return job.steps, self._by_step, TaskEnvironment(job.request, job.site.unset, rank)
        if self._left <= 0:
            return None
        found = evaluate(job, partial(TaskEnvironment, rank=rank))
        self._left -= found.interpreter.limits.work
        return found.hooks.steps, by_step(found.launches), found.hooks.environment


def tasks_of(views: TaskViews, number: int) -> list[Task] | None:
    """The first tasks of the job's step with this index, each as it would run; None where they are not known."""
    step = views.job.steps[number]
    if step.tasks is None:
        return None
    found = []
    idle = is_idle(workload(step, views.job.launches_of(step)))
    first: Task | None = None
    for rank in range(min(step.tasks, MOST_TASKS)):
        view = views.of(rank)
        if view is None:
            break
        steps, launches, environment = view
        if len(steps) != len(views.job.steps) or steps[number].span != step.span:
            return None
        own = steps[number]
        if views.is_alike and first is not None:
            others = {name: value for name, value in first.variables.items() if name not in IDENTITIES}
            variables = {**_variables(first.workload, environment, IDENTITIES), **others}
            found.append(first._replace(place=place_of(own, rank), variables=variables))
            continue
        work = workload(own, launches.get(id(own), []))
        if not idle and is_idle(work):
            work = Workload(None, None)
        place = place_of(own, rank)
        unread = work.invocation is None and "multi-prog" in own.options
        processes = None if unread else _processes(work)
        first = Task(place, own, work, _variables(work, environment, (*SLURM_RANKS, *OWN_RANKS)), processes)
        found.append(first)
    return found


# --- what a task runs ----------------------------------------------------------------------------------


def workload(step: Step, launches: Sequence[Launch]) -> Workload:
    """The work of a step: its launcher, or else its program, which is the last command that is not just preparation.

    `launches`: the launchers that run in the step's tasks.
    """
    spawning = [each for each in launches if each.launcher.spawns] or list(launches)
    if spawning:
        return Workload(spawning[0], spawning[0].invocation, len({each.invocation.span for each in spawning}) > 1)
    captured = step.invocation.context.captured
    leaves = [each for each in step.program if each.argv and not each.children and each.text is None]
    leaves = [each for each in leaves if captured or not each.context.captured]
    working = [each for each in leaves if each.name is None or each.name not in QUIET]
    if working:
        python = [each for each in working if is_python(each.argv[0])]
        return Workload(None, (python or working)[-1], len({each.span for each in python or working}) > 1)
    return Workload(None, leaves[-1] if leaves else None)


def is_idle(work: Workload) -> bool:
    """Whether there is no work, or nothing but preparation."""
    return work.invocation is None or work.launch is None and work.invocation.name in QUIET


def is_certain(work: Workload) -> bool:
    """Whether the task certainly runs this, once, and nothing else."""
    if work.invocation is None:
        return False
    context = work.invocation.context
    parent = context.parent
    loops = context.may_repeat
    while parent is not None and parent.spawn.kind != "srun":
        if parent.spawn.kind == "xargs":
            return False
        parent = parent.context.parent
    outside = parent.context if parent is not None else None
    if outside is not None and outside.may_repeat:
        loops = False
    conditional = context.conditional and not (outside is not None and outside.conditional)
    return not conditional and not loops and not work.several


def _variables(work: Workload, environment: JobEnvironment, names: Sequence[str]) -> dict[str, str]:
    """Those of some rank variables of what a task runs that are known."""
    found: dict[str, str] = {}
    if work.invocation is None:
        return found
    state, context = work.invocation.state, work.invocation.context
    for name in names:
        if name in state.variables:
            field = exported(work.invocation, name)
            value: str | bool | None = None if field is None else text_of(field)
        else:
            value = environment.lookup(name, context)
        if isinstance(value, str):
            found[name] = value
    return found


# --- processes -----------------------------------------------------------------------------------------


def _processes(work: Workload) -> list[dict[str, str]] | None:
    """The rank variables of each process that a task starts; None where their number is not known."""
    if work.invocation is None:
        return []
    if not is_certain(work):
        return None
    if work.launch is None or not work.launch.launcher.spawns:
        return [{}] if work.launch is None else None
    return process_ranks(work.launch.launcher)


# If all of these are on the command line, accelerate's configuration file does not affect ranks.
_OF_ACCELERATE = frozenset({"num_processes", "num_machines", "machine_rank", "rdzv_backend"})


def _counts(launcher: Launcher) -> bool:
    """Whether a DeepSpeed runner that starts only its own node takes no numbers from its hostfile."""
    return "no_ssh" in launcher.flags and {"num_nodes", "num_gpus"} <= launcher.options.keys()


# Launchers that number their processes by that of their node, where they are told it.
_BY_NODE_RANK = ("composer", "fabric")
# The maximum number of processes of one task that are computed; no node has as many.
MOST_PROCESSES = 1024


def is_told_distributed(launcher: Launcher) -> bool:
    """Whether accelerate is told to start distributed processes; of several on a node it does so by itself."""
    told = launcher.flags.keys() & {"multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm"}
    return bool(told or launcher.configured)


def _is_distributed(launcher: Launcher) -> bool:
    """Whether accelerate starts torchrun's agent for one process on a node, too: it is told so, of several nodes."""
    return is_told_distributed(launcher) and (node_count(launcher) or 1) > 1


def process_ranks(launcher: Launcher, local: int | None = None) -> list[dict[str, str]] | None:
    """The known rank variables of the processes that one launcher starts; None where their number is not known.

    `local`: the number of processes if the launcher starts one per device. torchrun (torch 2.13, run.py and
    local_elastic_agent): RANK is node_rank times nproc_per_node plus LOCAL_RANK with the static rendezvous; with
    others the nodes are numbered as they arrive.
    """
    count = launcher.processes_per_task
    count = local if count == "auto" else count
    if not isinstance(count, int) or not 0 <= count <= MOST_PROCESSES:
        return None
    ranks: list[dict[str, str]] = [{} for _ in range(count)]
    if not launcher.is_a("ranks") and launcher.kind not in _BY_NODE_RANK:
        return ranks
    if launcher.kind == "accelerate" and (count <= 1 and not _is_distributed(launcher) or not launcher.certain):
        return ranks
    if launcher.config_file is not None and not launcher.options.keys() >= _OF_ACCELERATE:
        return ranks
    if launcher.kind == "deepspeed" and not launcher.certain:
        return ranks
    if launcher.hostfile is not None and launcher.kind == "deepspeed" and not _counts(launcher):
        return ranks
    if launcher.kind == "swift" and not launcher.spawns:
        return ranks
    nodes = node_count(launcher)
    rendezvous = launcher.rendezvous
    static = rendezvous is not None and rendezvous.backend == "static" and not launcher.standalone
    setting = launcher.node_rank
    if launcher.kind in _BY_NODE_RANK and (nodes is None or setting is None or setting.name == "base_rank"):
        return ranks
    first: int | None = None
    if nodes == 1:
        first = 0
    if static:
        first = 0 if setting is None and launcher.certain else None if setting is None else setting.number
    for number, rank in enumerate(ranks):
        rank["LOCAL_RANK"] = str(number)
        if launcher.kind != "deepspeed":
            rank["LOCAL_WORLD_SIZE"] = str(count)
        if nodes is not None:
            rank["WORLD_SIZE"] = str(nodes * count)
        if first is not None:
            rank["RANK"] = str(first * count + number)
    return ranks
