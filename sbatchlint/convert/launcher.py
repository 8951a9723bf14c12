"""Starts a launcher of one node on all nodes, each told who it is.

The user's words stay where they are, outside of any string: `bash -c 'exec torchrun --node-rank="$SLURM_NODEID" "$@"'
torchrun PROGRAM…` hands them on as they are. How many nodes there are and where they meet is written once, from
Slurm's variables.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.convert.inside import InsideWords, is_inside
from sbatchlint.convert.wish import NotConvertible, Wish
from sbatchlint.convert.words import ADDRESS, PORT, CommandWords, lines_before, without_geometry
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import by_place, find_worlds
from sbatchlint.source.edits import Edit


class Names(NamedTuple):
    """What a launcher calls its options: nodes, this node, the place to meet, workers of a node or of all."""

    nodes: str
    rank: str
    address: str
    port: str
    workers: str


NAMES = {
    "torchrun": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "torch.distributed.launch": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "swift": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "accelerate": Names("num_machines", "machine_rank", "main_process_ip", "main_process_port", "num_processes"),
}


class Start(NamedTuple):
    """What starts the program: a launcher, or a step (the `number`-th) whose tasks are its processes, `program`."""

    launch: Launch | None
    number: int = -1
    step: Step | None = None
    program: Invocation | None = None

    @property
    def kind(self) -> str:
        return "srun" if self.launch is None else self.launch.launcher.kind


def the_start(job: Job) -> Start | None:
    """The one place of a job that starts several processes; None without one. Raises `NotConvertible`."""
    if job.program.errors or job.limits.exhausted:
        raise NotConvertible("not all of it can be read")
    places = [
        place for place in by_place(find_worlds(job)) if place[0].launcher.spawns or place[0].launcher.kind == "mpi"
    ]
    of_launches = {each.step.span for each in job.launches if each.step is not None}
    steps = [step for step in job.steps if step.tasks_per_node != 1 and step.span not in of_launches]
    if len(places) + len(steps) != 1 or places and any(world.invocation.context.looped for world in places[0]):
        spans = [world.span for place in places for world in place] + [step.span for step in steps]
        lines = ", ".join(sorted({str(job.line(span.start)) for span in spans}))
        if not lines:
            return None
        if len(places) + len(steps) == 1:
            raise NotConvertible(f"the launcher on line {lines} stands in a loop, or in one of several branches")
        raise NotConvertible(f"several groups of processes may start (line {lines}), and which is to grow is not known")
    if steps:
        return start_of_step(job, job.steps.index(steps[0]))
    launch = places[0][0].launch
    launcher = launch.launcher
    if launcher.kind not in (*NAMES, "mpi", "deepspeed"):
        raise NotConvertible(f"{launcher.name} is not converted")
    if not launcher.certain or not launcher.program_certain:
        reason = f"not all words of {launcher.name} on line {job.line(launcher.span.start)} are known"
        raise NotConvertible(reason + _what_hides(launcher))
    if launch.step is not None and not launch.step.certain:
        raise NotConvertible(f"not all options of the srun on line {job.line(launch.step.span.start)} are known")
    return Start(launch)


def _what_hides(launcher: Launcher) -> str:
    """Which variable may hold options of a launcher."""
    for field in launcher.argv[launcher.index + 1 :]:
        for piece in field:
            if piece.open and piece.expansion is not None and piece.expansion.name.isidentifier():
                return f": {piece.expansion.name} may hold options: set it in the script, also to nothing"
    return ""


def start_of_step(job: Job, number: int) -> Start:
    """The start of the program by a step, which is the one of this number."""
    return Start(None, number, job.steps[number], _program_of(job, job.steps[number]))


def _program_of(job: Job, step: Step) -> Invocation | None:
    """What the tasks of a step run; None where that is not one command."""
    inside = [each for each in job.invocations if any(parent is step.invocation for parent in each.ancestors())]
    parents = {id(each.context.parent) for each in inside}
    found = [each for each in inside if id(each) not in parents]
    return found[0] if len(found) == 1 else None


def workers_of(launch: Launch) -> int | None:
    """How many workers a node has, where the launcher is told a number."""
    launcher = launch.launcher
    if launcher.kind == "mpi":
        processes = launcher.total_processes
        return None if processes is None else processes.number
    count, total = launcher.processes_per_task, launcher.total_processes
    if launcher.kind == "accelerate" and launcher.config_file is not None and launcher.machines is None:
        return None if total is None else total.number  # on the one node that the script has
    told = ("num_gpus", "include") if launcher.kind == "deepspeed" else (NAMES[launcher.kind].workers,)
    return count if isinstance(count, int) and launcher.setting(*told) else None


def setting_of(launcher: Launcher, name: str) -> Setting | None:
    """What the command line or the environment says; a configuration file is overruled by an option."""
    setting = launcher.setting(name)
    configured = launcher.configured or {}
    return None if setting is not None and setting is configured.get(name) else setting


def is_of_job(setting: Setting) -> bool:
    """Whether an address comes from Slurm; one that is written out names a machine which the job need not get."""
    found = expansions(setting.value or ()) if setting.text is None else ()
    return any("scontrol" in each.name or "SLURM" in each.name for each in found)


def start_everywhere(job: Job, launch: Launch, wish: Wish, gpus: int) -> list[Edit]:
    """The edits that start the launcher on every node of the job, as one group. Raises `NotConvertible`."""
    words, lines = (InsideWords if is_inside(job, launch) else CommandWords)(job, launch), list[str]()
    edits = [*without_geometry(job, launch.step), *_started(words, wish, gpus, lines)]
    return [*lines_before(job, launch, lines, edits), *edits]


# What a configuration file of accelerate may say of nodes. DeepSpeed's runner would look for ssh and a hostfile.
_OVER_CONFIGURATION = {"deepspeed_multinode_launcher": "standard", "rdzv_backend": "static"}


def _over_configuration(words: CommandWords, added: list[str]) -> Iterator[Edit]:
    """What accelerate has to be told where a file, or DeepSpeed, would decide how nodes find each other."""
    launcher = words.launcher
    if "config_file" in launcher.options or "use_deepspeed" in launcher.flags:
        for name, value in _OVER_CONFIGURATION.items():
            given = launcher.options.get(name)
            if given is None:
                added.append(f"--{name}={value}")
            elif name == "deepspeed_multinode_launcher" and text_of(given.value or ()) != value:
                setting = launcher.setting(name)
                if setting is not None and (edit := words.other_value(setting, value)):
                    yield edit


def _started(words: CommandWords, wish: Wish, gpus: int, lines: list[str]) -> Iterator[Edit]:
    """The edits, but for the lines before the command, which are added to `lines`."""
    launcher = words.launcher
    names = NAMES[launcher.kind]
    restarts = launcher.setting("max_restarts") if launcher.kind == "torchrun" else None
    # workers that start again have to find each other again
    elastic = isinstance(launcher.nnodes, tuple) or restarts is not None and restarts.text != "0"
    style = "-" if any("-" in words.written(each.span)[2:] for each in launcher.given) or not launcher.given else "_"
    added: list[str] = []

    def option(name: str, value: str) -> str:
        return f'--{name.replace("_", style)}="{value}"'

    nodes = "$SLURM_NNODES"
    total = f"$((SLURM_NNODES * {gpus}))" if launcher.kind == "accelerate" else gpus
    for name, value in ((names.nodes, nodes), (names.workers, str(total))):
        setting = setting_of(launcher, name)
        if setting is None:
            added.append(option(name, value) if "$" in value else f"--{name.replace('_', style)}={value}")
        elif str(setting.number) == value:
            continue
        elif (
            total != gpus and setting.number == gpus and name == names.workers and (more := words.times_nodes(setting))
        ):
            yield more
        elif edit := words.other_value(setting, value):
            yield edit
    if launcher.kind == "accelerate":
        yield from _over_configuration(words, added)
    backend = wish.rendezvous or ("c10d" if elastic else "static")
    if launcher.kind == "accelerate" and backend != "static":
        raise NotConvertible("accelerate is converted to a static rendezvous only")
    dropped = ["standalone", names.rank, *(each.name for each in launcher.given if each.name.startswith("rdzv_"))]
    for name in dropped:
        if name in launcher.options or name in launcher.flags:
            yield words.without(name)
    for name, variable, value in ((names.address, "MASTER_ADDR", ADDRESS), (names.port, "MASTER_PORT", PORT)):
        setting = setting_of(launcher, name)
        if backend != "static":
            if setting is not None and not setting.from_environment:
                yield words.without(name)
        elif setting is not None and (name != names.address or is_of_job(setting)):
            continue
        elif setting is None:
            added.append(option(name, f"${variable}"))
        elif edit := words.origin(setting, value, f"${variable}"):
            yield edit
            if edit.content == value:
                continue  # the script's own variable holds it
        lines.append(f"export {variable}={value}")
    if backend != "static":
        added += ["--rdzv-backend=c10d", '--rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT"', '--rdzv-id="$SLURM_JOB_ID"']
    rank = option(names.rank, "$SLURM_NODEID") if backend == "static" else None
    yield from words.started(rank, added)
