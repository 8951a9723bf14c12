"""The CPUs that a process may use, and how many programs a script starts at once."""

from bisect import bisect_left
from typing import NamedTuple

from sbatchlint.analysis.launch.mpi_slots import takes_slots, tasks_of_job
from sbatchlint.analysis.script.background import enclosing_loops
from sbatchlint.analysis.script.centres import gets_whole_nodes
from sbatchlint.analysis.script.loops import loop_counts
from sbatchlint.analysis.script.threads import cpu_options
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.site.defaults import cpus_without_asking
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.bash.values import Phase
from sbatchlint.bash.variables import branches_in
from sbatchlint.job import Job
from sbatchlint.job.launchers import Mpi
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.job.worlds import World, find_worlds
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Options that affect the CPUs of a job in ways that are not modelled here.
UNCLEAR = (
    "exclusive", "mincpus", "cores-per-socket", "sockets-per-node", "threads-per-core", "extra-node-info",
    "ntasks-per-core", "ntasks-per-socket", "ntasks-per-gpu",
    "core-spec", "thread-spec", "tres-per-task", "hint",
)  # fmt: skip
# Commands with which a loop limits how many run at once.
_THROTTLING = frozenset({"wait", "jobs", "pgrep", "sem", "read", "ps", "squeue"})
_MOST = 2**16
_FEW = 32
_OVER_ARRAY = Regex(r"for\s+\w+\s+in\s+\"?\$\{(\w+)\[[@*]\]\}\"?\s*(?:;|\n|do\b)")


class AtOnce(NamedTuple):
    """Programs that the batch shell starts in the background, and that run at the same time.

    `first`: the first of them. `number`: how many there are. `starts`: for each command, how often it is started.
    """

    first: Invocation
    number: int
    starts: list[tuple[Invocation, int]]


def cpus_of_process(job: Job, step: Step | None) -> int | None:
    """The maximum number of CPUs that one process may use; None where it is unknown."""
    request = job.request
    if not request.has_option("cpus-per-task"):
        given = cpus_without_asking(job)
        if given is not None and (step is None or step.option("cpus-per-task") is None):
            return given
        if gets_whole_nodes(job):
            return None
    if step is not None:
        option = step.option("cpus-per-task")
        if not step.certain or any(step.option(name) is not None for name in UNCLEAR):
            return None
        if option is not None:
            return whole(option.text)
    if request.has_option("cpus-per-gpu"):
        per_gpu, gpus = whole(request.value("cpus-per-gpu")), request.gpus_per_node()
        return None if step is not None or per_gpu is None or gpus is None else per_gpu * gpus
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    tasks: int | None = 1
    if request.has_option("ntasks-per-node") or request.has_option("ntasks"):
        tasks = request.tasks_on_each_node() or request.tasks  # at most
    if per_task is None or tasks is None:
        return None
    if step is not None and step.tasks_per_node:
        return max(per_task, per_task * tasks // step.tasks_per_node)
    return per_task * tasks


def cpus_of_each_task(job: Job, step: Step) -> int | None:
    """The CPUs of each task of a step that has as many tasks as the job; None where they are not known."""
    request, option = job.request, step.option("cpus-per-task")
    if option is not None or request.has_option("cpus-per-gpu"):
        return None if option is None else whole(option.text)
    return whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1


def cpus_of_rank(job: Job, command: Invocation) -> int | None:
    """The CPUs for each process that an mpirun in the batch shell starts; None where they are not known."""
    launch = None if command.parent is None else job.launch_of(command.parent)
    request = job.request
    if launch is None or not isinstance(launch.launcher, Mpi) or not takes_slots(job, launch):
        return None
    if not request.has_option("ntasks") and not request.has_option("ntasks-per-node") or gets_whole_nodes(job):
        return None
    tasks, _ = tasks_of_job(job)
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    total = launch.launcher.total_processes
    processes = tasks if total is None and launch.launcher.processes_per_node is None else total and total.number
    if not tasks or not per_task or not processes or processes > tasks * per_task:
        return None
    if processes < tasks and not request.has_option("cpus-per-task"):
        return None  # the other tasks' CPUs may be meant for the threads, and more where nodes are whole
    return tasks * per_task // processes


def ranks_of(job: Job, command: Invocation) -> tuple[int, Span | None] | None:
    """The number of ranks as which a program starts, and what decides that; None where that is not known."""
    step = enclosing_step(command.context)
    if step is not None:
        reason = step.geometry.reason
        if not step.certain or not step.tasks or step.in_other_job or len(step.parts) > 1 or command.context.restricted:
            return None
        counting = ("ntasks", "ntasks-per-node")
        if not step.request.has_any_option(counting) and step.options.keys().isdisjoint(counting):
            return None  # one on each node, unless the command line says more
        return step.tasks, None if reason is None else reason[0]
    launch = None if command.parent is None else job.launch_of(command.parent)
    if launch is None or not isinstance(launch.launcher, Mpi) or launch.launcher.joined:
        return None
    total = launch.launcher.total_processes
    if total is not None:
        return None if total.number is None else (total.number, total.span)
    if not takes_slots(job, launch) or launch.launcher.processes_per_node is not None:
        return None
    tasks, setting = tasks_of_job(job)
    return None if tasks is None or setting is None else (tasks, setting.span)


def copies(command: Invocation) -> tuple[int, str] | None:
    """How many of a command run at once, as `parallel -j 8` or `xargs -P 8` around it says, and these words.

    None where nothing around it says so, or where the number is not known.
    """
    number, shown = 1, ""
    for parent in command.ancestors():
        if not has_trait(parent.name, "repeats"):
            continue
        options = cpu_options(parent)
        if len(options) != 1 or options[0].number is None:
            return None
        number *= options[0].number
        shown = f"{parent.name} {options[0].shown}"
    return (number, shown) if number > 1 else None


def processes_of(job: Job, command: Invocation) -> tuple[int, str] | None:
    """How many processes of a program a launcher such as torchrun starts on a node, and its name."""
    worlds = _worlds(job)
    for ancestor in (command, *command.ancestors()) if worlds else ():
        world = worlds.get(id(ancestor))
        if world is not None:
            processes = world.processes if world.starts_per_node == 1 else None
            return (processes, world.name) if processes and processes > 1 else None
    return None


@once
def _worlds(job: Job) -> dict[int, World]:
    return {id(each.invocation): each for each in find_worlds(job) if each.launch is not None}


@once
def programs_at_once(job: Job) -> list[AtOnce]:
    """The groups of programs that run at the same time in the background of the batch shell."""
    groups: dict[tuple[int, int], dict[Shell, list[Invocation]]] = {}
    waits: dict[int, list[int]] = {}
    for each in job.invocations:
        if each.name == "wait":
            waits.setdefault(id(each.context.shell), []).append(each.index)
    for command in job.invocations:
        background = command.context.background
        if background is None or background.parent is None or command.children or not _is_program(job, command):
            continue
        before = bisect_left(waits.get(id(background.parent), []), command.index)
        groups.setdefault((id(background.parent), before), {}).setdefault(background, []).append(command)
    found = []
    for shells in groups.values():
        starts: list[tuple[Invocation, int]] = []
        rounds: dict[object, int] = {}
        for background in shells:
            rounds[background.span] = rounds.get(background.span, 0) + 1
        for background, commands in shells.items():
            number = _starts(job, commands[0], background, rounds[background.span])
            if number is not None:
                starts.append((commands[0], number))
                starts += [(each, 0) for each in commands[1:]]
        if starts:
            found.append(AtOnce(starts[0][0], sum(number for _, number in starts), starts))
    return found


def _is_program(job: Job, command: Invocation) -> bool:
    if command.phase is not Phase.BATCH or enclosing_step(command.context) is not None or command.context.captured:
        return False
    if command.kind == "mpi" or has_trait(command.name, "serves", "session", "monitors", "spreads", "slurm", "minor"):
        return False
    return weight(job, command) is Weight.PROGRAM


def _starts(job: Job, command: Invocation, background: Shell, rounds: int) -> int | None:
    """How often a background statement is started before anything is awaited; None where that is not known.

    `rounds`: how many of its iterations are recorded one by one.
    """
    loops = enclosing_loops(command, background)
    if branches_in(command.context.guards) or command.context.conditional and not loops:
        return None
    for each in _throttles(job).get(loops[-1], []) if loops else []:
        if each.context.background is background:
            continue
        # an `if`, or a list such as `(( n % 8 )) || wait`, may decide it
        tested = each.context.conditional or branches_in(each.context.guards)
        always = each.name == "wait" and not each.words[1:] and not tested
        return 1 if always and each.context.shell is background.parent else None
    if rounds > 1:
        return 1 if len(loops) == 1 else None
    counts, number = loop_counts(job), 1
    for loop in loops:
        times = counts.get(loop) or _elements(job, command, loop)
        if times is None:
            return None
        number *= times
    return number if number <= _MOST else None


@once
def _throttles(job: Job) -> dict[Span, list[Invocation]]:
    """The commands in each loop with which it may limit how many run at once; the first few of them."""
    found: dict[Span, list[Invocation]] = {}
    for command in job.invocations:
        for loop in command.context.loops if command.name in _THROTTLING else ():
            inside = found.setdefault(loop, [])
            if len(inside) < _FEW:
                inside.append(command)
    return found


def _elements(job: Job, command: Invocation, loop: Span) -> int | None:
    """The number of iterations of a loop over an array that the script sets; None for other loops."""
    match = _OVER_ARRAY.match(job.source.slice(loop))
    variable = None if match is None else command.state.variables.get(match[1])
    if variable is None or len(variable.alternatives) != 1 or variable.alternatives[0].fields is None:
        return None
    fields = variable.alternatives[0].fields
    return len(fields) if len(fields) > 1 else None
