"""Worlds: the processes that form a distributed program, started by one launch or by one step of plain programs.

How many processes find each other depends on where the launcher is started (the step's nodes, or only the first node)
and on its options (`--nnodes`, `--nproc_per_node`). The two are independent, and most faults of a launch are that they
differ. Sources: torch/distributed/run.py (2.13), accelerate commands/launch.py (1.15), deepspeed launcher/runner.py,
mpirun(1).
"""

from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Phase, Pieces, expansions
from sbatchlint.bash.variables import Variable
from sbatchlint.job import Job
from sbatchlint.job.environment import NODE_COUNTS, NODE_LISTS, TASK_VARIABLES
from sbatchlint.job.geometry import is_node_count
from sbatchlint.job.gpus import chosen_devices, devices_chosen, step_gpus
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.job.launches import Launch
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Variables and commands that name the nodes of the job, one by one.
_NODE_NAMES = (*NODE_LISTS, "scontrol show host", "PSSH_NODEFILE")
_NAMES_HOSTS = frozenset({"nodelist", "nodefile", "exclude", "relative"})
# Variables that may differ between tasks which do the same work.
_OWN = Regex(r"RANK|ADDR|HOST|(?:^|_)IP$|PORT|CACHE|TMP|LOG|DEVICES|NODE|NAME|^(?:PET|MASTER|OMP|NCCL|UCX|GLOO|FI)_")


class NodesSetting(NamedTuple):
    """The number of nodes that a launcher's options set.

    `least`, `most`: both None where it is not known, both 1 for that default. `setting`: what sets it, None for the
    default. `of_job`: whether it is the number of the job's (or the step's) nodes, counted when the job runs:
    `$SLURM_NNODES`, the length of the node list.
    """

    least: int | None
    most: int | None
    setting: Setting | None
    of_job: bool

    @property
    def number(self) -> int | None:
        """The number of nodes; None for a range, or where it is not known."""
        return self.least if self.least == self.most else None

    @property
    def several(self) -> bool | None:
        """Whether it is more than one in every run; None where that depends on the run, or is not known."""
        if self.least is None or self.most is None:
            return None
        return True if self.least > 1 else False if self.most == 1 else None


class World:
    """A launch, or a step of plain programs: where it is started, and how many processes it expects.

    `launch`: None for programs that are the tasks of a step themselves. `step`: None in the batch shell. `invocation`:
    the launcher, or the plain program.
    """

    def __init__(self, job: Job, invocation: Invocation, launch: Launch | None, step: Step | None) -> None:
        self.job = job
        self.invocation = invocation
        self.launch = launch
        self.step = step

    @property
    def launcher(self) -> Launcher | None:
        return None if self.launch is None else self.launch.launcher

    @property
    def name(self) -> str:
        """The name of the launcher or the program: `torchrun`, `python`."""
        launcher = self.launcher
        return launcher.name if launcher is not None else self.invocation.name or "program"

    @property
    def span(self) -> Span:
        """The place of that name."""
        launcher = self.launcher
        return launcher.span if launcher is not None else self.invocation.name_span

    # --- where it is started -------------------------------------------------------------------

    @property
    def in_batch_shell(self) -> bool:
        """Whether the batch shell itself starts it, on the first node."""
        return self.step is None and self.mpi is None and self.invocation.phase is Phase.BATCH

    @property
    def mpi(self) -> Launcher | None:
        """The mpirun that starts it; None if there is none."""
        for command in self.invocation.ancestors():
            if command.spawn.kind == "mpi":
                info = command.spawn.info
                return info if isinstance(info, Launcher) else None
        return None

    @property
    def nodes(self) -> int | None:
        """The number of nodes on which it is started, 1 in the batch shell; None where that is not known."""
        if self.mpi is not None:
            starts, total = self.starts_per_node, _number(self.mpi.total_processes)
            return total // starts if starts and total and total % starts == 0 else None
        if self.step is not None:
            # the other components may start it too
            return self.step.nodes if len(self.step.parts) == 1 else None
        return 1 if self.in_batch_shell else None

    @property
    def starts_per_node(self) -> int | None:
        """How often it is started on each node; None where that is not known."""
        if self.mpi is not None:
            return getattr(self.mpi, "processes_per_node", None)
        if self.step is not None:
            return self.step.tasks_per_node if self.step.geometry.ignored is False else None
        return 1 if self.in_batch_shell else None

    @property
    def several_nodes(self) -> bool | None:
        """Whether it is started on more than one node, even where only the least number of nodes is known."""
        if self.nodes is not None:
            return self.nodes > 1
        step = self.step
        if step is None or self.mpi is not None or step.geometry.several is not False or len(step.parts) > 1:
            return None
        request = step.request
        if {"nodes", "ntasks"} & step.options.keys() or not step.certain or request.nodes is None:
            return None
        return True if request.nodes.minimum > 1 and not request.has_option("ntasks") else None

    @cached_property
    def isolation(self) -> str:
        """Why it is certainly one of several worlds, or only for a part of the job; '' where nothing says so.

        `restricted`: only some tasks start it; `loop`: a loop starts one for each host, or several at once; `sharded`:
        each node has other work; `part`: it runs on fewer nodes than the job has.
        """
        if self.invocation.context.restricted:
            return "restricted"
        step = self.step
        outer = self.invocation.context if step is None else step.invocation.context
        if outer.may_repeat and (outer.background or step is not None and _NAMES_HOSTS & step.options.keys()):
            return "loop"
        if self._is_sharded():
            return "sharded"
        nodes = self.job.request.exact_nodes()
        if step is not None and nodes is not None and step.nodes is not None and step.nodes < nodes:
            return "part"
        return ""

    def _is_sharded(self) -> bool:
        """Whether the program gets the index of its node, or of its array element."""
        launcher = self.launcher
        words = self.invocation.argv if launcher is None else launcher.program_words
        set_here = [field for name, field in self.invocation.variables if not _OWN.search(name)]
        expanded = [piece.expansion for field in (*words, *set_here) for piece in field if piece.expansion is not None]
        found = [each for expansion in expanded for each in expansion.all()]
        if any(_tells_task(each) or each.name == "SLURM_ARRAY_TASK_ID" for each in found):
            return True
        if self.step is None:
            return False
        variables = self.invocation.state.variables
        since = self.step.invocation.state.variables.changes(variables)
        return any(_is_of_task(name, variables.get(name)) for name in since)

    # --- its options ---------------------------------------------------------------------------

    @property
    def certain(self) -> bool:
        """Whether all of the launcher's options are known: no unknown word or configuration file may set others."""
        launcher = self.launcher
        return launcher is None or launcher.certain and launcher.config_file is None

    @cached_property
    def nodes_setting(self) -> NodesSetting:
        """The number of nodes that the launcher's options set; for plain programs that of their step."""
        if self.launcher is None:
            return NodesSetting(self.nodes, self.nodes, None, False)
        return nodes_setting(self.launcher)

    @cached_property
    def processes(self) -> int | None:
        """The processes that one launcher starts, from the request if it starts one per GPU; None where not known."""
        launcher = self.launcher
        found = 1 if launcher is None else launcher.processes_per_task
        if found == "auto" and launcher is not None:
            found = counted_devices(launcher, self.gpus)
        return found if isinstance(found, int) else None

    @property
    def gpus(self) -> int | None:
        """The GPUs that one launcher sees; None where the script alone does not decide it."""
        if self.mpi is not None:
            return None
        if devices_chosen(self.invocation, self.step):
            return chosen_devices(self.invocation)
        if self.step is None:
            return self.job.request.gpus_per_node()
        return step_gpus(self.job, self.step).per_task

    @property
    def size(self) -> int | None:
        """WORLD_SIZE, the processes that are to find each other; None where it is not certain.

        The launcher computes it from its options, whether or not the nodes exist. A launcher for one node makes a world
        of its own on each.
        """
        launcher = self.launcher
        if launcher is None:
            return self._tasks()
        total = _number(launcher.total_processes)
        if launcher.is_a("reaches"):
            return total
        if not self.certain:
            return None
        if total is not None and launcher.is_a("counts-all"):
            return total
        if launcher.standalone:
            return self.processes
        nodes, per_node = self.nodes_setting.number, self.processes
        return None if nodes is None or per_node is None else nodes * per_node

    def _tasks(self) -> int | None:
        if self.mpi is not None:
            return _number(self.mpi.total_processes)
        if self.step is not None:
            return self.step.all_tasks
        return 1 if self.in_batch_shell else None


class LaunchWorld(World):
    """The world of a launch."""

    launch: Launch

    @property
    def launcher(self) -> Launcher:
        return self.launch.launcher


def _tells_task(expansion: Expansion) -> bool:
    return expansion.name in TASK_VARIABLES or expansion.phase is Phase.TASK and expansion.name.startswith("$(hostname")


def _is_of_task(name: str, variable: Variable | None) -> bool:
    """Whether an exported variable differs between tasks, and may give them different work."""
    if variable is None or not variable.exported or _OWN.search(name):
        return False
    values = [field for each in variable.alternatives for field in each.fields or ()]
    return any(each.phase is Phase.TASK and _tells_task(each) for field in values for each in expansions(field))


def _number(setting: Setting | None) -> int | None:
    return None if setting is None else setting.number


def counted_devices(launcher: Launcher, gpus: int | None) -> int | None:
    """The workers of a launcher that starts one per device (`--nproc_per_node=gpu`), if it sees `gpus` GPUs.

    None if it starts one per CPU of the node, whatever the job has, as `auto` does without a GPU
    (`determine_local_world_size()` of torch/distributed/run.py, 2.13).
    """
    setting = launcher.setting("nproc_per_node")
    return None if setting is not None and setting.text in ("cpu", "xpu") else gpus or None


def nodes_setting(launcher: Launcher) -> NodesSetting:
    """The number of nodes that a launcher's options set, or its default."""
    setting = launcher.machines
    found = launcher.nnodes
    if isinstance(found, int):
        return NodesSetting(found, found, setting, setting is not None and counts_nodes(setting.value))
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(each, int) for each in found):
        least, most = found
        assert isinstance(least, int) and isinstance(most, int)
        return NodesSetting(least, most, setting, counts_nodes(setting.value if setting else None))
    if found is None:
        default = node_count(launcher)
        return NodesSetting(default, default, setting, False)
    return NodesSetting(None, None, setting, counts_nodes(setting.value if setting else None))


def node_count(launcher: Launcher) -> int | None:
    """The number of nodes that a launcher expects, by its options or by default; None where not known."""
    nodes = launcher.nnodes
    if isinstance(nodes, int):
        return nodes
    total, count = launcher.total_processes, launcher.processes_per_task
    if launcher.kind == "composer" and total is not None and total.number and isinstance(count, int) and count:
        return total.number // count
    if nodes is not None or not launcher.certain or launcher.machines is not None:
        return None
    if launcher.config_file is not None or launcher.hostfile is not None:
        return None
    return 1 if launcher.is_a("ranks") else None


def counts_nodes(value: Pieces | None) -> bool:
    """Whether a value is the number of the job's nodes: `$SLURM_NNODES`, `${#nodes[@]}`, `$(… | wc -l)`."""
    if not value:
        return False
    if is_node_count(value):
        return True
    if len(value) != 1 or value[0].expansion is None:
        return False
    expansion = value[0].expansion
    names = [each.name for each in expansion.inputs]
    if expansion.name == "$((…))" or expansion.name.startswith("$(("):
        inside = expansion.name[3:-2].strip().lstrip("$").strip("{}")
        return inside in NODE_COUNTS and len(names) == 1
    counting = expansion.name.startswith("#") or expansion.name.startswith("$(") and "wc -l" in expansion.name
    return counting and any(mark in name for name in (*names, expansion.name) for mark in _NODE_NAMES)


def from_submission(value: Pieces | None) -> bool:
    """Whether a value is a variable that only the environment of the submission can have set."""
    if value is None or len(value) != 1 or value[0].text is not None or value[0].expansion is None:
        return False
    name = value[0].expansion.name
    return name.isidentifier() and not name.startswith("SLURM")


@once
def find_worlds(job: Job) -> list[LaunchWorld]:
    """The worlds of a job's launches, one for each, in the order in which they run."""
    return [LaunchWorld(job, launch.invocation, launch, launch.step) for launch in job.launches]


def world_of(job: Job, invocation: Invocation) -> World:
    """The world of a command: that of the launcher that it is or that starts it, or else of its step's tasks."""
    worlds = _by_command(job)
    own = worlds.get(id(invocation))
    if own is not None:
        return own[0][1]
    outer = [pair for each in invocation.ancestors() for pair in worlds.get(id(each), ())]
    _, world = max((pair for pair in outer if pair[1].launcher.spawns), key=itemgetter(0), default=(0, None))
    return World(job, invocation, None, enclosing_step(invocation.context)) if world is None else world


@once
def _by_command(job: Job) -> dict[int, list[tuple[int, LaunchWorld]]]:
    """The worlds of each command's launches, except mpirun's, numbered in the order in which they run."""
    found: dict[int, list[tuple[int, LaunchWorld]]] = {}
    for number, world in enumerate(find_worlds(job)):
        if world.launcher.kind != "mpi":
            found.setdefault(id(world.invocation), []).append((number, world))
    return found


def by_place(worlds: Iterable[LaunchWorld]) -> list[list[LaunchWorld]]:
    """The worlds grouped by the place of their launcher, which may have several readings."""
    found: dict[Span, list[LaunchWorld]] = {}
    for world in worlds:
        found.setdefault(world.launcher.span, []).append(world)
    return list(found.values())
