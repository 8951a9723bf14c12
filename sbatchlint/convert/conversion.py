"""The conversion of a script to several nodes, with its proof and to-dos."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from sbatchlint.analysis.planning.plan import Plan, plan_of
from sbatchlint.bash.interpreter.programs import SHELLS
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import shown_text
from sbatchlint.convert.container_differences import containers_of_starts, differences
from sbatchlint.convert.containers import contain, has_container
from sbatchlint.convert.dependents import names_of_counts, of_one_node
from sbatchlint.convert.detached import keep_disowned, leave_out_sessions
from sbatchlint.convert.draft import Draft, as_job
from sbatchlint.convert.goal import Goal, NotConvertible, at_line
from sbatchlint.convert.header import asked_by_steps, changes, chosen_nodes, gpus_of, header, tasks_of, unbound
from sbatchlint.convert.launcher import is_standalone, read_by_others, start_by_variables, start_everywhere
from sbatchlint.convert.launcher_in_file import LauncherInFile
from sbatchlint.convert.launcher_in_string import is_in_other_file, on_every_node
from sbatchlint.convert.lightning import tell_nodes
from sbatchlint.convert.merging import merge
from sbatchlint.convert.misfits import uneven_batches
from sbatchlint.convert.names import write_names
from sbatchlint.convert.once import branches_without, commands_once, single_steps
from sbatchlint.convert.processors import hidden_gpus, other_devices, processor_sign, undecided
from sbatchlint.convert.program_words import IMPLIED_MODULES, words_of_starts
from sbatchlint.convert.programs import program_of, start_program, todos_of
from sbatchlint.convert.proof import Proof, groups, without_variables
from sbatchlint.convert.removal import without_assignments
from sbatchlint.convert.repair import proven
from sbatchlint.convert.replacing import module_of, start_module, start_other
from sbatchlint.convert.sizes import (
    devices_of_node,
    follow_nodes,
    grown_batch,
    loopbacks,
    nodes_of,
    says_nodes,
    stale_meeting,
)
from sbatchlint.convert.starts import (
    Start,
    by_argument,
    by_count,
    count_by_slurm,
    counted_by,
    places_of,
    read_whole,
    start_again,
    starts_of,
    workers_of,
)
from sbatchlint.convert.tasks import shared_address, start_launcher, start_ranks, start_tasks
from sbatchlint.convert.unfollowed import unfollowed
from sbatchlint.convert.words import without_geometry
from sbatchlint.engine import inspect
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import integer
from sbatchlint.job.gpus import chosen_devices
from sbatchlint.job.reevaluation import changed_job
from sbatchlint.programs import has_trait
from sbatchlint.settings import Settings
from sbatchlint.source.edits import Edit, edited
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source

# What runs in the background when the job ends: no conversion proves it.
_KILLED = "SB801"


class Conversion(NamedTuple):
    """The converted script.

    `before`, `after`: the plans (`before` of the script as a job of one node). `decisions`: what was chosen, and why;
    `todos`: what only the user can do. Without to-dos the conversion is proven.
    """

    source: Source
    before: Plan
    after: Plan
    decisions: list[str]
    todos: list[str]


def convert(source: Source, goal: Goal, settings: Settings) -> Conversion:
    """The script converted to a goal. Raises `NotConvertible`.

    If a script cannot be converted for all values of its variables, those with a default (`${NNODES:-1}`) have the
    default, and arrays that it does not set (`${EXTRA[@]}`) are empty. If that is not enough, it gets no arguments.
    """
    job = as_job(source, settings)
    read_whole(job)
    try:
        return _converted(job, goal, settings)
    except NotConvertible as error:
        first = error
    names = frozenset(_DEFAULT.findall(job.source.text))
    names |= frozenset(_ARRAY.findall(job.source.text)) - {each.name for each in job.assignments}
    assumed = {names: f"where it is submitted none of these is set: {', '.join(sorted(names))}"} if names else {}
    if _ARGUMENT.search(job.source.text):
        decision = (
            "its arguments are left out, so that their defaults count: with others, see to the numbers in #SBATCH lines"
        )
        assumed[names | {"@"}] = "; ".join([decision, *assumed.values()])
    for variables, decision in assumed.items():
        assuming = without_variables(settings, variables)
        other = as_job(source, assuming)
        if not _lines_of_starts(job) <= _lines_of_starts(other):
            continue  # launchers that need other values would not be converted
        try:
            conversion = _converted(other, goal, assuming)
        except NotConvertible:
            continue
        return conversion._replace(decisions=[*conversion.decisions, decision])
    raise first


def _lines_of_starts(job: Job) -> set[int]:
    launches, steps = places_of(job)
    return {job.line(each[0].span.start) for each in launches} | {job.line(each.span.start) for each in steps}


class _Script(Draft):
    """A script to be converted, and its state before that. Raises `NotConvertible`.

    `job`: the script with commands merged, and in the containers of the goal. `before`: the plan of the original script
    as a job of one node; `findings`: the codes of its errors and warnings, but for those of processes that are killed.
    """

    def __init__(self, job: Job, goal: Goal, settings: Settings) -> None:
        super().__init__(job, settings)
        self._original = job
        self.goal = goal
        leave_out_sessions(self)
        keep_disowned(self)
        write_names(self, goal.launcher)
        merge(self)
        merged = self.job
        contain(self, goal)
        if self.job is not merged:
            starts_of(merged)  # its refusals name lines of the original script
        self.containers = containers_of_starts(self.job)
        self.words = words_of_starts(merged)
        self.nodes = nodes_of(job) | nodes_of(self.job)
        self.once = commands_once(merged) if job.launches else frozenset()
        lost = differences(containers_of_starts(merged), self.containers)
        if lost:
            raise NotConvertible("; ".join(lost))

    # Computed on demand: a script that is refused does not need these.

    @cached_property
    def before(self) -> Plan:
        return plan_of(self._original)

    @cached_property
    def findings(self) -> list[str]:
        found = inspect(self._original.source.own, self.settings).diagnostics
        return [each.code for each in found if each.severity in ("error", "warning") and each.code != _KILLED]

    def with_header(self, tasks: int, gpus: int, keep: Iterable[int] = ()) -> Job:
        """The job with the option block of the goal, whose missing options become to-dos.

        `keep`: the indexes of steps of one task that are to grow with it.
        """
        job = changed_job(self.job, [])  # without the option that `as_job` assumes
        asked = asked_by_steps(self.job, self.goal, gpus)  # one that is no batch job has no steps
        goal = self.goal._replace(options=asked.options | dict(self.goal.options))
        edits, todos = header(job, goal, tasks, gpus, of_one_cpu=not gpus and tasks > 1)
        self.todos += [f"fill in, and write #SBATCH: {todo}" for todo in todos]
        self.todos += [*asked.todos, *unbound(job, tasks, gpus), *chosen_nodes(job, self.goal.nodes)]
        once, alone = single_steps(self.job, job, keep) if self.goal.nodes > 1 else ([], [])
        if once:
            lines = ", ".join(dict.fromkeys(str(job.line(each.span.start)) for each in once))
            self.decisions.append(f"the srun of line {lines} keeps its one task: --nodes=1 --ntasks=1")
        self.todos += alone
        changed = changed_job(job, [*edits, *asked.edits, *once])
        told = ", ".join(changes(job.request, changed.request))
        self.decisions += [f"#SBATCH: {told}"] if told else []
        return changed

    def proven(self, job: Job, workers: int, ranks: bool, starts: int = 1) -> tuple[Source, Proof, list[str]]:
        """The script with its proof, and the repairs made; see `Proof`. Raises `NotConvertible`."""

        def prove(source: Source) -> Proof:
            return Proof(
                source, self.settings, self.goal, workers, ranks, self.containers, starts, self.words, self.once,
                self.nodes,
            )  # fmt: skip

        return proven(job.source.own, prove, self.findings, self.settings)

    def conversion(
        self, after: Source, proof: Proof, decisions: Iterable[str], todos: Iterable[str] = ()
    ) -> Conversion:
        told = [*self.todos, *todos, *proof.stale, *proof.new_findings(self.findings), *self._of_one_node(after)]
        return Conversion(after, self.before, proof.plan, [*self.decisions, *decisions], told)

    def _of_one_node(self, after: Source) -> list[str]:
        """To-dos for what the script still tells of one node."""
        if self.goal.nodes == 1:
            return []
        job = Job.from_source(after, self.settings.site)
        dependents = of_one_node(job, names_of_counts(self._original), self.goal.nodes)
        told = dict.fromkeys([*uneven_batches(job), *dependents.values(), *unfollowed(job, dependents)])
        job.release()
        return [*told]


def _converted(job: Job, goal: Goal, settings: Settings) -> Conversion:
    """The conversion of a job with these settings. Raises `NotConvertible`."""
    script = _Script(job, goal, settings)
    proof = _proof_without_conversion(script.source, goal, settings, script.job)
    if proof is not None:
        return script.conversion(script.source, proof, ["it is the wanted job already"])
    starts = starts_of(script.job)
    if not starts:
        return _of_program(script)
    _require_container(script)
    kind = starts[0].kind
    workers = next((count for each in starts if each.launch and (count := workers_of(each.launch))), None)
    target = goal.launcher or _TARGETS.get(kind, kind)
    by_srun = target == "srun" and kind in ("mpi", "srun") and not _is_horovod(starts)
    on_processors = by_srun and not _gpus_chosen(starts) or _runs_on_processors(script.job, starts, workers)
    cpu_only = _is_cpu_only(script.job, goal, on_processors)
    # the processes per node: one per GPU if it has some
    gpus = (
        goal.gpus
        or workers
        or (
            (tasks_of(script.job, goal) if by_srun else None)
            if cpu_only
            else gpus_of(script.job) or _gpus_chosen(starts)
        )
    )
    if not gpus:
        raise NotConvertible(
            "how many processes a node has is not known; say "
            + ("--set ntasks-per-node=N, or --gpus-per-node" if by_srun else "it to the launcher")
            if cpu_only
            else f"how many GPUs a node has is not known{counted_by(script.job, starts)}; say --gpus-per-node"
        )
    if gpus > _MOST:
        raise NotConvertible(f"{gpus} processes on a node are more than a node has CPUs: say --gpus-per-node")
    job = script.with_header(gpus if target == "srun" else 1, 0 if cpu_only else gpus)
    with_new_header = None
    for source, decision in (
        (job.source.own, "it needs another option block only"),
        (edited(job.source.own, count_by_slurm(job)), "it needs another option block, and Slurm's number of nodes"),
    ):
        proof = _proof_without_conversion(source, goal, settings, job)
        if proof is not None:
            with_new_header = script.conversion(source, proof, [decision, _growth(script.before, proof.plan)])
            if not any(proof.new(script.findings)):
                return with_new_header
    try:
        return _of_starts(script, starts, job, target, gpus, cpu_only)
    except NotConvertible:
        if with_new_header is None:
            raise
        return with_new_header


def _of_starts(script: _Script, starts: list[Start], job: Job, target: str, gpus: int, cpu_only: bool) -> Conversion:
    """The conversion of a script whose launchers or steps have to change; `job`: it with the new option block."""
    first, goal, before, kind = job, script.goal, script.before, starts[0].kind
    notes, todos, changed = list[str](), list[str](), list[tuple[Job, Launch]]()
    todos += dict.fromkeys(by_argument(script.job, starts, gpus))
    if gpus == 1:
        launches = [each.launch for each in starts if each.launch is not None]
        todos += dict.fromkeys(branches_without(script.job, [each.invocation for each in launches]))
        todos += dict.fromkeys(by_count(script.job, launches))
    if not cpu_only:
        commands = [(each.launch.invocation, each.launch.launcher) for each in starts if each.launch]
        todos += hidden_gpus(script.job, commands)
        if goal.gpus is None and script.job.request.asks_for_gpus is False:
            todos += dict.fromkeys(undecided(script.job, commands))
            todos += other_devices(script.job, [each for each, _ in commands])
    for left in range(len(starts), 0, -1):
        with at_line(starts[-left].line(script.job)):
            start = start_again(job, starts[-left], left, first)
            if start is None:
                continue
            launch, edits = start.launch, list[Edit]()
            if launch is not None and is_in_other_file(job, launch):
                in_file = _in_file(job, launch, target, gpus)
                edits += in_file.started()
                notes.append(in_file.notes)
            else:
                edits += _edits(job, start, target, goal, gpus)
            if launch is not None:
                todos += on_every_node(job, launch)
                changed.append((job, launch))
                known = {each.span for each in edits}
                told = [*follow_nodes(job, launch, goal.nodes, script.nodes), *tell_nodes(job, launch)]
                edits += [each for each in told if each.span not in known]
                _leave_out(job, launch.invocation, edits, notes)
                if launch.launcher.hostfile is not None and target != launch.launcher.kind:
                    notes.append("the hostfile is left out: Slurm says which nodes the job has")
            job = changed_job(job, edits)
    ranks = kind != "mpi" and (kind, target) != ("srun", "srun")
    after, proof, repairs = script.proven(job, gpus, ranks, len(starts))
    if kind == "mpi":
        todos.append("see that srun has the PMI of your MPI: srun --mpi=list")
    threads = exported(starts[0].launch.invocation, "OMP_NUM_THREADS") if starts[0].launch else None
    number = None if kind != "mpi" else integer(threads)
    if number is not None and number > 1 and number > (first.request.cpus_per_task or 1):
        todos.append(f"write #SBATCH --cpus-per-task={number}: OMP_NUM_THREADS is {number}, and a task has fewer CPUs")
    if kind == "mpi" and any(each.launch is not None and each.launch.launcher.hostfile for each in starts):
        todos.append(f"see that {gpus} processes are those of one node: the hostfile may have named several")
    if _is_horovod(starts):
        todos.append("see that Horovod is built with MPI: horovodrun --check-build")
    by_option = any(each.launch is not None and "use_env" not in each.launch.launcher.flags for each in starts)
    if (kind, target) == ("torch.distributed.launch", "srun") and by_option:
        todos.append("see that the program reads LOCAL_RANK: the launcher gave it --local-rank=N, srun does not")
    files = {each.launch.launcher.options.get("config_file") for each in starts if each.launch is not None}
    if target == "accelerate" and any(each is not None and each.name == "config" for each in files):
        todos.append("see that the file of --config says nothing of processes, which is accelerate's")
    if target == "deepspeed":
        todos.append("see that DeepSpeed has --no_ssh (0.14.5 and newer), and that all nodes see the working directory")
    todos += _changed_words(before, proof.plan)
    converted = Job.from_source(after, script.settings.site)
    todos += dict.fromkeys([*read_by_others(converted)])
    repairs += dict.fromkeys(note for each in changed for note in _stale_prints(*each, converted))
    if cpu_only:
        one = "task" if target == "srun" else "worker"
        decision = f"{counted(gpus, one)} on each of {goal.nodes} nodes, without GPUs"
        decision += "" if goal.gpus == 0 else ", as the script asks for none; else say --gpus-per-node"
    elif target == "srun":
        decision = f"a task for each of the {gpus} GPUs of {goal.nodes} nodes, which gets its rank from Slurm"
    else:
        decision = (
            f"one {_LAUNCHED[target]} on each of {goal.nodes} nodes, started by srun, with {counted(gpus, 'worker')}"
        )
    growth = _growth(before, proof.plan) + _grown_batch(script, proof.plan)
    return script.conversion(after, proof, [decision, *notes, growth, *repairs], todos)


def _leave_out(job: Job, command: Invocation, edits: list[Edit], notes: list[str]) -> None:
    """Adds the edits that leave out variables that hold for one node, and a note on each."""
    looping = [*loopbacks(command)]
    reasons = dict.fromkeys((name for name, _ in looping), "by the loopback interface nodes do not meet")
    devices, stale = devices_of_node(command), [*stale_meeting(job, command, edits)]
    reasons |= dict.fromkeys((name for name, _ in devices), "Slurm says which GPUs a task sees")
    reasons |= dict.fromkeys((name for name, _ in stale), "it was that of one node")
    removed, removals = without_assignments(job, [*devices, *stale, *looping])
    notes += [f"{name} is left out: {reasons[name]}" for name in removed]
    edits += removals


def _require_container(script: _Script) -> None:
    if script.goal.container is not None and not has_container(script.job):
        raise NotConvertible("it runs in no container, and one launcher alone is put into one: leave out --container")


def _of_program(script: _Script) -> Conversion:
    """The conversion of a script whose program has no launcher."""
    goal, program = script.goal, program_of(script.job)
    _require_container(script)
    if goal.launcher not in (None, "srun"):
        raise NotConvertible(f"a program without a launcher becomes tasks of srun; from there to {goal.launcher}")
    sign = processor_sign(program.invocation, None)
    if sign is not None and goal.gpus is None:
        raise NotConvertible(f"{sign.words}, and a program without a launcher gets a task for each GPU")
    if sign is not None:
        script.todos += hidden_gpus(script.job, [(program.invocation, None)])
    if goal.gpus == 0:
        raise NotConvertible("a program without a launcher gets a task for each GPU: say how many, or write the srun")
    gpus = goal.gpus or gpus_of(script.job) or program.sign.devices or chosen_devices(program.invocation)
    if not gpus:
        raise NotConvertible("how many GPUs a node has is not known; say --gpus-per-node")
    tasks = gpus if program.per_gpu else 1
    if goal.gpus is None and script.job.request.asks_for_gpus is False:
        script.todos += other_devices(script.job, [program.invocation])
    job = script.with_header(tasks, gpus, [program.number])
    ranks = program.sign.kind in ("megatron", "rank-variables")
    with at_line(script.job.line(program.invocation.name_span.start)):
        again = program_of(job)
        edits, notes = [*start_program(job, again, goal, gpus)], list[str]()
        _leave_out(job, again.invocation, edits, notes)
        changed = changed_job(job, edits)
    after, proof, repairs = script.proven(changed, tasks, ranks)
    decision = (
        f"a task for each of the {gpus} GPUs" if program.per_gpu else "a task, which uses all GPUs,"
    ) + f" of {goal.nodes} nodes: {program.sign.words}"
    growth = _growth(script.before, proof.plan)
    if program.spawning is not None:
        become = "process becomes" if gpus == 1 else "processes become"
        growth = f"{gpus} {become} {goal.nodes * gpus}; batch sizes stay as they are written"
    todos = todos_of(script.job, program)
    return script.conversion(after, proof, [decision, *notes, growth, *repairs], todos)


_ARGUMENT = Regex(r"\$(?:[1-9#]|\{#?[1-9])")
_ARRAY = Regex(r"\$\{((?!SLURM)[A-Za-z_]\w*)\[[@*]\]")
_DEFAULT = Regex(r"\$\{((?!SLURM)[A-Za-z_]\w*):?-")
# The default target: mpirun and DeepSpeed's runner reach nodes by other means than Slurm.
_TARGETS = {"mpi": "srun", "deepspeed": "torchrun"}
# The process started on each node.
_LAUNCHED = {
    "torchrun": "torchrun",
    "torch.distributed.launch": "launcher of PyTorch",
    "swift": "torchrun of swift",
    "llamafactory": "torchrun of LLaMA-Factory",
    "deepspeed": "runner of DeepSpeed",
    "accelerate": "accelerate launch",
    "fabric": "fabric run",
    "composer": "composer",
}


_MOST = 4096
# No node has more GPUs.
_MOST_GPUS = 16


def _is_cpu_only(job: Job, goal: Goal, without_gpus: bool) -> bool:
    """Whether it is to use no GPU; `without_gpus`: whether its processes may do that."""
    if goal.gpus is not None or any("gpu" in name for name in goal.options):
        return goal.gpus == 0
    return without_gpus and job.request.asks_for_gpus is False


def _is_horovod(starts: list[Start]) -> bool:
    return any(each.launch is not None and each.launch.launcher.kind == "horovod" for each in starts)


def _gpus_chosen(starts: list[Start]) -> int | None:
    """The GPUs that CUDA_VISIBLE_DEVICES selects for all launchers; None where that is not known."""
    counts = {chosen_devices(each.launch.invocation) if each.launch is not None else None for each in starts}
    return counts.pop() if len(counts) == 1 else None


def _runs_on_processors(job: Job, starts: list[Start], workers: int | None) -> bool:
    """Whether the processes of launchers use processors only: by a sign of that, or as many as its task has CPUs."""
    if workers is not None and workers > _MOST_GPUS and workers == job.request.cpus_per_task:
        return True
    launches = [each.launch for each in starts if each.launch is not None]
    steps = [each.step for each in starts if each.launch is None and each.step is not None]
    if steps and not launches:
        return all(processor_sign(each.invocation, None) for each in steps)
    return bool(launches) and all(processor_sign(each.invocation, each.launcher) for each in launches)


def _edits(job: Job, start: Start, target: str, goal: Goal, gpus: int) -> Iterator[Edit]:
    launch = start.launch
    if goal.gpus == 0 and target != start.kind and target in ("accelerate", "deepspeed"):
        raise NotConvertible(f"without GPUs it is not converted to {target}")
    if launch is not None and target != start.kind and is_standalone(launch.launcher):
        raise NotConvertible(f"what {launch.launcher.name} starts is known to it alone: leave out --to")
    if launch is None:
        assert start.step is not None
        if target == "srun":
            yield from without_geometry(job, start.step)
            yield from shared_address(job, start.step)
        elif start.program is None:
            raise NotConvertible("which program the tasks run is not known: start one command, after srun or bash -c")
        else:
            yield from start_launcher(job, start.step, start.program, target, gpus)
    elif start.kind == "mpi" and target == "srun":
        yield from start_ranks(job, launch)
    elif target == "srun":
        yield from start_tasks(job, launch)
    elif target == start.kind and target in ("swift", "llamafactory"):
        yield from start_by_variables(job, launch, gpus)
    elif target == start.kind and module_of(launch.launcher):
        yield from start_module(job, launch, goal, gpus)
    elif target == start.kind and target != "deepspeed":
        yield from start_everywhere(job, launch, goal, gpus)
    else:
        yield from start_other(job, launch, target, goal, gpus)


def _in_file(job: Job, launch: Launch, target: str, gpus: int) -> LauncherInFile:
    launcher = launch.launcher
    if target != launcher.kind:
        line = job.line(launcher.span.start)
        raise NotConvertible(f"{launcher.name} is in a file of its own (line {line}): convert that one")
    return LauncherInFile(job, launch, gpus)


def _growth(before: Plan, after: Plan) -> str:
    old, new = ([step["processes"] for step in _by_place(plan)] for plan in (before, after))
    if len(new) > 1:
        return f"each of {len(new)} starts has {new[0]} processes; batch sizes stay as they are written"
    count = sum(old) if old and None not in old and all(old) else "?"
    one = "process becomes" if count == 1 else "processes become"
    return f"{count} {one} {new[0]}; batch sizes stay as they are written"


def _grown_batch(script: _Script, after: Plan) -> str:
    """How the batch of a program grows, as a clause; "" where that is not known."""
    counts = [sum(each["processes"] or 0 for each in _by_place(plan)) for plan in (script.before, after)]
    words = script.words[0] if len(script.words) == 1 else None
    job = script.job
    starts = [each.invocation for each in job.launches] or [each.invocation for each in job.steps]
    command = starts[0] if starts else None
    return "" if words is None or command is None else grown_batch(job, command, words, *counts)


def _by_place(plan: Plan) -> list[dict[str, Any]]:
    """The starts of a plan, one for each place: one in a loop, or with an unknown value, may occur several times."""
    return list({(step["line"], step.get("path")): step for step in groups(plan)}.values())


def _changed_words(before: Plan, after: Plan) -> list[str]:
    """To-dos for changed words of the programs. Raises `NotConvertible` if another program would run."""
    old, new = _by_place(before), _by_place(after)
    starts = zip(old, new, strict=True) if len(old) == len(new) else ()
    return list(dict.fromkeys(todo for first, then in starts for todo in _changed_words_of(first, then)))


def _changed_words_of(first: dict[str, Any], then: dict[str, Any]) -> list[str]:
    was, now = first.get("program"), then.get("program")
    if was != now:
        if now and IMPLIED_MODULES.fullmatch(now.split()[-1]):
            return []
        if was and now and SHELLS.isdisjoint((was.split()[0], now.split()[0])) and was.split()[-1] != now.split()[-1]:
            raise NotConvertible(f"{now} would run instead of {was}")
        return []  # a shell, and a command that it runs
    old, new = (each.get("argv") or [] for each in (first, then))
    if len(new) > len(old):
        new = [word for last, word in pairwise(["", *new]) if not _tells_nodes(last or "", word or "")]
    least = min(len(old), len(new))
    pairs = zip(old[len(old) - least :], new[len(new) - least :], strict=True)
    nodes = [
        says_nodes(last or "") or says_nodes(word or "") for last, word in pairwise(["", *new[len(new) - least :]])
    ]
    return [
        f"look at {pair!r}, which was {was!r} for the program"
        for (was, pair), of_nodes in zip(pairs, nodes, strict=True)
        if None not in (was, pair) and was != pair and not of_nodes
    ]


def _tells_nodes(last: str, word: str) -> bool:
    return says_nodes(word) or says_nodes(last) and "=" not in last


def _stale_prints(job: Job, launch: Launch, after: Job) -> list[str]:
    """Notes on commands that print the words of the launcher from a variable, and still print the old ones."""

    def printing(each: Job) -> list[Invocation]:
        return [command for command in each.invocations if has_trait(command.name, "prints")]

    at = launch.launcher.span.start
    words = [
        invocation.words
        for invocation in printing(job)
        if any(piece.start <= at < piece.end and piece.text for field in invocation.argv for piece in field)
    ]
    same = [each for each in printing(after) if list(map(shown_text, each.argv)) in words]
    return list(dict.fromkeys(f"line {after.line(each.span.start)} prints the command as it was" for each in same))


def _proof_without_conversion(source: Source, goal: Goal, settings: Settings, job: Job) -> Proof | None:
    """The proof that a script already reaches the goal; None if it does not."""
    request = job.request
    gpus = goal.gpus or request.gpus_per_node() or (tasks_of(job, goal) if _is_cpu_only(job, goal, True) else None)
    if (
        not gpus
        or request.heterogeneous
        or any(request.value(name) != (value or None) for name, value in goal.options.items())
    ):
        return None
    if goal.launcher and _launcher_of(job) != goal.launcher:
        return None
    words = words_of_starts(job)
    proof = Proof(source, settings, goal, gpus, ranks=_launcher_of(job) != "srun", words=words, were=nodes_of(job))
    return None if proof.faults else proof


def _launcher_of(job: Job) -> str:
    return next((each.launcher.kind for each in job.launches if each.launcher.spawns), "srun")
