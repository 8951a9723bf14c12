"""The starts of processes in a script: launchers and steps, one for each place."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, shown_text, span_of
from sbatchlint.bash.variables import branches_in
from sbatchlint.convert.container_differences import written_at
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.launcher import CONVERTED, NAMES, setting_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Launcher
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import LaunchWorld, find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_MOST = 32
# Launchers of MPI processes on all nodes, which srun replaces.
RUNNERS = ("mpi", "horovod", "torchpack")


class Start(NamedTuple):
    """A launcher, or a step whose tasks are the processes.

    `number`: the index of the step, -1 for a launcher; `program`: what its tasks run, None if that is not one command.
    """

    launch: Launch | None
    number: int = -1
    step: Step | None = None
    program: Invocation | None = None

    @property
    def kind(self) -> str:
        """That of the launcher, `mpi` for all that start the processes of all nodes; `srun` for a step."""
        if self.launch is None:
            return "srun"
        return "mpi" if self.launch.launcher.kind in RUNNERS else self.launch.launcher.kind

    def line(self, job: Job) -> int:
        if self.launch is not None:
            return job.line(self.launch.launcher.span.start)
        assert self.step is not None
        return job.line(self.step.span.start)


def places_of(job: Job) -> tuple[list[list[LaunchWorld]], list[Step]]:
    """The launchers of several processes, by place, and the steps of several tasks, one for each place.

    An mpirun with one process, as before or after a computation, is left out.
    """
    found: dict[object, list[LaunchWorld]] = {}
    for world in find_worlds(job):
        if world.launcher.starts_several:
            found.setdefault((world.launcher.span, written_at(world.invocation)), []).append(world)
    of_launches = {each.step.span for each in job.launches if each.step is not None}
    steps: dict[object, Step] = {}
    for step in job.steps:
        if step.tasks_per_node != 1 and step.span not in of_launches:
            steps.setdefault((step.span, written_at(step.invocation)), step)
    several = [place for place in found.values() if any(not _is_once(world) for world in place)]
    return several if several or steps else list(found.values()), list(steps.values())


def _is_once(world: LaunchWorld) -> bool:
    return world.launcher.kind == "mpi" and workers_of(world.launch) == 1


def read_whole(job: Job) -> None:
    """Raises `NotConvertible` for a job that bash or sbatchlint does not read to its end."""
    if job.program.errors:
        line = job.line(job.span(*job.program.errors[0]).start)
        raise NotConvertible(f"bash cannot read it: a syntax error on line {line}")
    if job.limits.exhausted:
        raise NotConvertible("not all of it can be read")


def starts_of(job: Job) -> list[Start]:
    """The starts of several processes, all of the same kind, in order. Raises `NotConvertible`."""
    read_whole(job)
    places, steps = places_of(job)
    starts = [_start_of_launch(job, each) for each in places]
    starts += [start_of_step(job, job.steps.index(each)) for each in steps]
    if len(starts) > 1:
        _refuse_different(job, starts)
        commands = [world.invocation for place in places for world in place] + [step.invocation for step in steps]
    else:
        commands = [world.invocation for place in places for world in place if world.invocation.context.may_repeat]
    for command in commands:
        if command.context.background is not None:
            line = job.line(command.span.start)
            raise NotConvertible(
                f"what line {line} starts in the background runs beside others: convert each by itself"
            )
    return starts


def _refuse_different(job: Job, starts: Sequence[Start]) -> None:
    """Raises `NotConvertible` if one option block cannot be right for all of them."""

    def lines(which: Iterable[Start]) -> str:
        return ", ".join(map(str, sorted({each.line(job) for each in which})))

    if len(starts) > _MOST:
        raise NotConvertible(f"it starts processes in {len(starts)} places, more than {_MOST}: convert parts of it")
    counts = [None if each.launch is None else workers_of(each.launch) for each in starts]
    number = next((each for each in counts if each is not None), None)
    kinds: dict[object, list[Start]] = {}
    for start, workers in zip(starts, counts, strict=True):
        kinds.setdefault((start.kind, workers or number), []).append(start)
    if len(kinds) > 1:
        which = " and ".join(f"line {lines(each)}" for each in kinds.values())
        raise NotConvertible(
            f"{which} start different numbers of processes, or in different ways: convert each as a script of its own"
        )
    if starts[0].kind == "mpi" and number == 1:
        raise NotConvertible(f"lines {lines(starts)} start one process each, and which is to grow is not known")
    commands = [written_at(each.launch.invocation) for each in starts if each.launch is not None]
    if len(set(commands)) < len(commands):
        raise NotConvertible(f"line {lines(starts)} holds what one command may run: write a command for each of them")
    numbered = [
        candidate
        for candidate in starts
        if candidate.launch is not None
        and (rank := candidate.launch.launcher.setting("node_rank", "machine_rank")) is not None
        and (rank.text or "0").strip("0")
    ]
    if numbered:
        raise NotConvertible(
            f"line {lines(numbered)} starts one node of several, and differs from the others in more than its number: "
            "write the command of the first node alone"
        )


def _start_of_launch(job: Job, worlds: Sequence[LaunchWorld]) -> Start:
    for world in worlds:
        launch, launcher = world.launch, world.launcher
        line = job.line(launcher.span.start)
        if launcher.kind not in (*NAMES, *RUNNERS, "deepspeed"):
            raise NotConvertible(f"{launcher.name} on line {line} is not converted, only {CONVERTED} are")
        if not launcher.certain or not launcher.program_certain:
            raise NotConvertible(
                f"not all words of {launcher.name} on line {line} are known{_what_hides(job, launcher)}"
            )
        if launch.step is not None and not launch.step.certain:
            raise NotConvertible(f"not all options of the srun on line {job.line(launch.step.span.start)} are known")
    words = {tuple(map(shown_text, each.launcher.argv[: each.launcher.program])) for each in worlds}
    if len(words) > 1 and any(each.invocation.context.may_repeat for each in worlds):
        raise NotConvertible(f"the options of {launcher.name} on line {line} differ in each iteration of its loop")
    return Start(worlds[0].launch)


def _what_hides(job: Job, launcher: Launcher) -> str:
    """The variable or argument that may contain options of a launcher, as a clause; "" if there is none."""
    for field in launcher.argv[launcher.index + 1 :]:
        for piece in field:
            name = piece.expansion.name if piece.open and piece.expansion is not None else ""
            if name.isidentifier() and any(each.name == name for each in job.assignments):
                return f": {name} may hold options where it is submitted: write its value, without ${{{name}:-…}}"
            if name.isidentifier():
                return f": {name} may hold options: set it in the script, also to nothing"
            if name in ("@", "*") or name.isdigit():
                return ": arguments of the script may be options: write the program in front of them"
    return ""


def start_of_step(job: Job, number: int) -> Start:
    """The start by the step with this index."""
    return Start(None, number, job.steps[number], only_program(job.steps[number].invocation))


def start_again(job: Job, start: Start, left: int, first: Job) -> Start | None:
    """The same start in the changed job; None if it shares words, as of an array, with a launcher already converted.

    `left`: the number of starts not converted yet, of which this is the first. `first`: the job before the first
    change. If the words are shared, the launcher now runs as tasks of a step, which it did not before.
    """
    if start.launch is None:  # with the new option block a step may look like one of single tasks
        if start.number >= len(job.steps):
            raise NotConvertible("which steps it starts depends on how many nodes and tasks it has")
        return start_of_step(job, start.number)
    places, were = places_of(job)[0], places_of(first)[0]
    if len(places) < left:
        return None
    now, before = places[-left][0].launch, were[-left][0].launch
    return None if now.step is not None and before.step is None else Start(now)


def count_by_slurm(job: Job) -> set[Edit]:
    """The edits that replace literal numbers of nodes, as options of launchers, by Slurm's variable."""
    found, text = set(), job.source.own.text
    for worlds in places_of(job)[0]:
        launcher = worlds[0].launcher
        setting = setting_of(launcher, NAMES[launcher.kind].nodes) if launcher.kind in NAMES else None
        span = span_of(setting.value) if setting is not None and setting.value else Span(0, 0)
        if setting is not None and setting.number is not None and text[span.start : span.end] == setting.text:
            found.add(Edit(span, "$SLURM_JOB_NUM_NODES"))
    return found


def only_program(command: Invocation) -> Invocation | None:
    """The command that an srun or mpirun runs in the end; None if it is not exactly one."""
    found = command.leaves() if command.children else []
    return found[0] if len(found) == 1 else None


def workers_of(launch: Launch) -> int | None:
    """The workers per node set for the launcher; None if they are not set or unknown."""
    launcher = launch.launcher
    if launcher.kind in RUNNERS:
        processes = launcher.total_processes
        return None if processes is None else processes.number
    count, total = launcher.processes_per_task, launcher.total_processes
    if launcher.kind == "accelerate" and launcher.config_file is not None and launcher.machines is None:
        return None if total is None else total.number  # the script has one node
    names = ("num_gpus", "include") if launcher.kind == "deepspeed" else (NAMES[launcher.kind].workers,)
    return count if isinstance(count, int) and launcher.setting(*names) else None


_ASKED = Regex(r"\$\{?(\w+|[#@*])")
_COUNTS = ("nproc_per_node", "num_processes", "num_gpus", "np")


def counted_by(job: Job, starts: list[Start]) -> str:
    """The unknown variable or argument that sets the number of processes of a launcher, as a clause; "" if none."""
    for launch, name in _counts(starts):
        what = "an argument of the script" if name.isdigit() else name
        return f", as line {job.line(launch.launcher.span.start)} takes it from {what}"
    return ""


def by_argument(job: Job, starts: list[Start], gpus: int) -> Iterator[str]:
    """To-dos for launchers that only some arguments of the script start, of which one is the number of processes."""
    for launch, name in _counts(starts):
        if name.isdigit() and launch.invocation.context.conditional and not _asks_others(launch, name):
            line = job.line(launch.launcher.span.start)
            yield f"submit it with {gpus} as argument {name}: it decides whether line {line} is reached"


def _asks_others(launch: Launch, argument: str) -> bool:
    """Whether the tests before a launch ask for other arguments only."""
    tests = [str(key[1]) for key, _ in branches_in(launch.invocation.guards)]
    asked = [set(_ASKED.findall(each)) for each in tests]
    return bool(asked) and all(each and argument not in each and all(map(str.isdigit, each)) for each in asked)


def by_count(job: Job, launches: Iterable[Launch]) -> Iterator[str]:
    """To-dos for launchers that a test may leave out where it counts one GPU, as they do."""
    for launch in launches:
        told = any(each.name in _COUNTS for each in launch.launcher.all_options)
        if told and launch.invocation.context.conditional and workers_of(launch) is None:
            line = job.line(launch.launcher.span.start)
            yield f"see that line {line} is reached with one GPU on a node: a test before it decides"


def _counts(starts: list[Start]) -> Iterator[tuple[Launch, str]]:
    """The launches whose number of processes an unknown variable or argument sets, with its name."""
    for launch in (each.launch for each in starts if each.launch is not None):
        for option in launch.launcher.all_options:
            names = [each.name for each in expansions(option.value or ()) if each.name]
            if names and option.name in _COUNTS:
                yield launch, names[0]
