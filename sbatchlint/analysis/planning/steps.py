"""The steps of a job as plain values for JSON: what each srun starts, where, how often, and with which ranks.

A launcher that the batch shell starts itself is a step of one task on one node. None stands for unknown or not given.
"""

from typing import Any

from sbatchlint.analysis.directives.submission_options import submission_options
from sbatchlint.analysis.directives.unknown_options import is_plausible
from sbatchlint.analysis.gpus.step_limits import steps_with_too_many_gpus
from sbatchlint.bash.trace import Context, Invocation
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import is_unknown
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.gpus import StepGpus, devices_chosen, step_gpus
from sbatchlint.job.launchers import Launcher, Setting, is_python, python_command
from sbatchlint.job.launches import Launch, container_of
from sbatchlint.job.ranks import (
    Task,
    TaskViews,
    Workload,
    is_certain,
    process_ranks,
    tasks_of,
    workload,
)
from sbatchlint.job.request import fixed_nodes, gpu_count
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import node_count
from sbatchlint.slurm.options import accepting_commands
from sbatchlint.source.numbers import is_number, parse_integer

Plain = dict[str, Any]


def steps_of(job: Job) -> list[Plain]:
    """The steps of a job in the order in which they start.

    Beside what a step is in general, `argv` has the words of its program (None for one that is not known), and
    `by_task` what each task is and runs; see `_by_task`.
    """
    views = TaskViews(job)
    found: list[tuple[Invocation, Plain]] = []
    for number, step in enumerate(job.steps):
        found.append((step.invocation, _step(job, step, tasks_of(views, number))))
    own = [each for each in job.launches if each.step is None and each.invocation.phase is Phase.BATCH]
    found.extend((launch.invocation, _of_batch_shell(job, launch)) for launch in own)
    found.sort(key=lambda each: each[0].index)
    return _without_alternatives(job, found)


def _without_alternatives(job: Job, found: list[tuple[Invocation, Plain]]) -> list[Plain]:
    """One entry for a command whose words can be one thing or the other; what differs between them is None."""
    # a statement that ran has one command for each combination of words that it may have
    statement = {
        id(each): number for number, ran in enumerate(job.pipelines) for element in ran.elements for each in element
    }
    kept: list[tuple[tuple[object, ...], Plain]] = []
    for invocation, plain in found:
        rounds = frozenset(guard for guard in invocation.guards if _is_round(guard[0]))
        # the rounds of a loop run all
        key = (invocation.span, statement.get(id(invocation), id(invocation)), rounds)
        if kept and kept[-1][0] == key:
            kept[-1] = (key, _in_common(kept[-1][1], plain))
        else:
            kept.append((key, plain))
    return [plain for _, plain in kept]


def _is_round(key: object) -> bool:
    return isinstance(key, tuple) and bool(key) and key[0] == "loop"


def _in_common(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        same = {name: _in_common(first[name], second[name]) for name in first if name in second}
        if "program" in same and same["program"] is None and first["program"] and second["program"]:
            same["program"] = _same_words(first["program"], second["program"])
        return same
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [_in_common(*pair) for pair in zip(first, second, strict=True)]
    return first if first == second else None


def _same_words(first: str, second: str) -> str | None:
    """Two programs as one, with the words that differ left out."""
    pairs = list(zip(first.split(" "), second.split(" "), strict=False))
    if len(pairs) != first.count(" ") + 1 or len(pairs) != second.count(" ") + 1 or pairs[0][0] != pairs[0][1]:
        return None
    return " ".join(one if one == other else "…" for one, other in pairs)


# --- a step -----------------------------------------------------------------------------------------


def _step(job: Job, step: Step, tasks: list[Task] | None) -> Plain:
    launches = [each for each in job.launches if each.step is step]
    work = workload(step, launches)
    invocation = step.invocation
    refused = _refused(job, step)
    sharing = step_gpus(job, step)
    found: Plain = {
        **_place(job, invocation.span.start),
        "command": "srun",
        "phase": "batch",
        "nodes": step.nodes,
        "tasks": step.tasks,
        "tasks_per_node": step.tasks_per_node,
        "background": invocation.context.background is not None,
        "gpus_on_node": sharing.on_node,
        "gpus_per_task": sharing.each,
        "container": _container(step, work),
        "launcher": None if work.launch is None else _launcher(job, work.launch),
        "processes": None,
        "program": _program(work),
        "argv": _program_words(work),
    }
    _flow(found, invocation.context)
    if refused is not None:
        found.update(
            dict.fromkeys(("nodes", "tasks", "tasks_per_node", "gpus_on_node", "gpus_per_task")), refused=refused
        )
        found["by_task"] = None
        return found
    found["processes"] = _all_processes(job, step, work, tasks, found["gpus_per_task"])
    found["by_task"] = None if tasks is None else [_by_task(each, sharing) for each in tasks]
    return found


def _place(job: Job, offset: int) -> Plain:
    """The line of a place, and the file where that is not the script's own."""
    line = job.line(offset)
    path = getattr(line, "path", None)
    return {"line": int(line)} if path is None else {"line": int(line), "path": path}


def _flow(found: Plain, context: Context) -> None:
    if context.conditional:
        found["conditional"] = True
    if context.looped:
        found["repeated"] = True


def _all_processes(job: Job, step: Step, work: Workload, tasks: list[Task] | None, gpus: int | None) -> int | None:
    """How many processes the tasks of a step start, launchers included."""
    if step.tasks is None:
        return None
    if tasks is not None and len(tasks) == step.tasks:
        counts = [_count(each, gpus) for each in tasks]
        return None if None in counts else sum(each or 0 for each in counts)
    if not is_certain(work) or work.invocation is None or work.invocation.context.restricted:
        return None
    if work.launch is None:
        return step.tasks
    each = _processes_of(work.launch.launcher, gpus)
    return None if each is None else each * step.tasks


def _processes_of(launcher: Launcher, gpus: int | None) -> int | None:
    if launcher.kind == "mpi":
        total = launcher.total_processes
        return None if total is None else total.number
    found = process_ranks(launcher, gpus)
    return None if found is None or not launcher.spawns and launcher.processes_per_task is None else len(found)


def _processes(task: Task, gpus: int | None) -> list[dict[str, str]] | None:
    launch = task.workload.launch
    if task.processes is None and launch is not None and is_certain(task.workload) and launch.launcher.kind != "mpi":
        return process_ranks(launch.launcher, gpus)
    return task.processes


def _count(task: Task, gpus: int | None) -> int | None:
    launch = task.workload.launch
    if launch is not None and launch.launcher.kind == "mpi" and is_certain(task.workload):
        return _processes_of(launch.launcher, gpus)
    found = _processes(task, gpus)
    return None if found is None else len(found)


def _by_task(task: Task, sharing: StepGpus) -> Plain:
    """One task: its rank, its node's number in the step, its number there, its GPUs, and what it runs.

    `gpus`: those that the command sees, by their number among the step's GPUs of the node; None where that is unknown.
    `variables`: rank variables in the environment of that command, as far as they are known. `processes`: those of each
    process that the launcher starts. `argv`: the words of the command, None for those that are not known.
    """
    invocation = task.workload.invocation
    return {
        "task": task.place.rank,
        "node": task.place.node,
        "local": task.place.local,
        "gpus": _gpus(task, sharing),
        "variables": task.variables,
        "argv": None if invocation is None else [text_of(field) for field in invocation.argv],
        "processes": _processes(task, sharing.each),
    }


def _gpus(task: Task, sharing: StepGpus) -> list[int] | None:
    """What the task sees as Slurm binds it, or as it chooses itself by CUDA_VISIBLE_DEVICES."""
    invocation = task.workload.invocation
    if invocation is not None and devices_chosen(invocation, task.step):
        ids = task.variables.get("CUDA_VISIBLE_DEVICES", "").split(",")
        return [parse_integer(each) for each in ids] if all(is_number(each) for each in ids) else None
    seen = sharing.seen(task.place.local)
    return None if seen is None else list(seen)


# --- launchers ---------------------------------------------------------------------------------------


def _of_batch_shell(job: Job, launch: Launch) -> Plain:
    """A launcher that the batch shell starts."""
    launcher, invocation = launch.launcher, launch.invocation
    work = Workload(launch, invocation)
    context = invocation.context
    gpus = job.request.gpus_per_node()
    found: Plain = {
        **_place(job, invocation.span.start),
        "command": None,
        "phase": "batch",
        "nodes": 1,
        "tasks": 1,
        "tasks_per_node": 1,
        "background": context.background is not None,
        "gpus_on_node": gpus,
        "gpus_per_task": gpus,
        "container": _container(None, work),
        "launcher": _launcher(job, launch),
        "processes": _processes_of(launcher, gpus),
        "program": _program(work),
        "argv": _program_words(work),
    }
    _flow(found, context)
    if launcher.kind == "mpi":
        found.update(_mpi(job, launch))
    found["by_task"] = None
    return found


def _mpi(job: Job, launch: Launch) -> Plain:
    """mpirun makes tasks of its own, on all nodes of the job."""
    launcher = launch.launcher
    total = launcher.total_processes
    each = getattr(launcher, "processes_per_node", None)
    nodes = job.request.exact_nodes()
    tasks = None if total is None else total.number
    if total is None and each is not None and nodes is not None:
        tasks = each * nodes
    if nodes == 1 and tasks is not None:
        each = tasks
    return {
        "command": launcher.name.rpartition("/")[2],
        "nodes": nodes if nodes == 1 or each is not None and tasks is not None and nodes == tasks // each else None,
        "tasks": tasks,
        "tasks_per_node": each,
        "gpus_on_node": None,
        "gpus_per_task": None,
        "processes": _started_by_tasks(job, launch, tasks),
        "launcher": None,
    }


def _started_by_tasks(job: Job, launch: Launch, tasks: int | None) -> int | None:
    """The processes of an mpirun, of which each may be a launcher again."""
    inner = [each for each in job.launches if launch.invocation in each.invocation.ancestors()]
    if not inner:
        return tasks
    each = _processes_of(inner[0].launcher, job.request.gpus_per_node())
    return None if tasks is None or each is None or len(inner) > 1 else tasks * each


def _launcher(job: Job, launch: Launch) -> Plain:
    launcher, invocation = launch.launcher, launch.invocation
    count = launcher.processes_per_task
    rendezvous = launcher.rendezvous
    return {
        "kind": launcher.kind,
        **_place(job, launcher.span.start),
        "processes_per_task": count if isinstance(count, int) else _processes_of(launcher, None),
        "nnodes": node_count(launcher),
        "node_rank": _origin(launcher.node_rank, invocation),
        "rendezvous": None
        if rendezvous is None
        else {"backend": rendezvous.backend, "address": _origin(rendezvous.address, invocation)},
        "argv": [text_of(field) for field in invocation.argv],
    }


def _origin(setting: Setting | None, invocation: Invocation) -> str | int | None:
    """A value, or where it comes from: `task:SLURM_NODEID` is the variable and the phase in which it was expanded."""
    if setting is None or setting.value is None:
        return None
    field = setting.value
    for each in expansions(field):
        if each.name in TASK_VARIABLES:
            return f"{each.phase.name.lower()}:{each.name}"
    text = text_of(field)
    if text is not None:
        return parse_integer(text) if is_number(text) else text
    phases = [each.phase for each in expansions(field)]
    phase = min(phases, default=invocation.phase).name.lower()
    if len(field) == 1:
        name = _holder(field, invocation) or (field[0].expansion.name if field[0].expansion is not None else None)
        return None if not name else f"{phase}:{name}"
    return f"{phase}:{with_names(field)}"


def _holder(field: Pieces, invocation: Invocation) -> str | None:
    """The variable that has just this value; an exported one sooner than another."""
    names = [
        (not variable.exported, name)
        for name, variable in invocation.state.variables.items()
        if any(_is_same(each.fields, field) for each in variable.alternatives)
    ]
    return min(names)[1] if names else None


def _is_same(fields: tuple[Pieces, ...] | None, field: Pieces) -> bool:
    """Whether a variable holds just this value, quoted or not."""
    if fields is None or len(fields) != 1:
        return False
    return [(each.text, each.expansion) for each in fields[0]] == [(each.text, each.expansion) for each in field]


def with_names(field: Pieces) -> str:
    """A word with the names of what is not known in it."""
    parts = []
    for piece in field:
        if piece.text is not None:
            parts.append(piece.text)
        else:
            name = piece.expansion.name if piece.expansion is not None else ""
            parts.append(name if name.startswith("$") else f"${{{name}}}" if name else "…")
    return "".join(parts)


# --- programs and containers -----------------------------------------------------------------------------


def _program_argv(work: Workload) -> list[Pieces]:
    if work.invocation is None:
        return []
    return list(work.launch.launcher.program_words) if work.launch is not None else list(work.invocation.argv)


def _program_words(work: Workload) -> list[str | None] | None:
    """The words of the program: of the command, or of what its launcher starts."""
    words = _program_argv(work)
    return [text_of(field) for field in words] if words else None


def _program(work: Workload) -> str | None:
    """The program as one would name it: `python train.py`, `python -m pkg.train`, `./a.out`."""
    words = _program_argv(work)
    if not words:
        # `ray start` runs nothing but itself
        return None if work.launch is None else work.launch.launcher.name
    kind = "command" if work.launch is None else work.launch.launcher.program_kind
    if kind == "script":
        return f"python {with_names(words[0])}"
    if kind == "module":
        return f"python -m {with_names(words[0])}"
    if is_python(words[0]):
        command = python_command(words)
        words = words if command is None else words[: command.after]
        if command is not None and command.kind == "code":
            words = words[:-1]
    elif with_names(words[0]).rpartition("/")[2] in ("bash", "sh", "dash", "zsh"):
        words = [word for word in words if "\n" not in shown_text(word)][:2]
    else:
        words = words[:1]
    return " ".join(with_names(word) for word in words)


def _container(step: Step | None, work: Workload) -> Plain | None:
    found = container_of(work.invocation) if work.invocation is not None else None
    if found is None and step is not None:
        found = step.container
    if found is None:
        return None
    return {"kind": found.kind, "image": None if found.image is None else with_names(found.image)}


# --- refusals -------------------------------------------------------------------------------------------


def _refused(job: Job, step: Step) -> str | None:
    """Why srun starts nothing."""
    option_name = _refused_option(job, step)
    if option_name is not None:
        return f"srun does not accept {option_name}"
    if _two_gpu_forms(job, step):
        return "srun does not accept --gres=gpu beside --gpus-per-node"
    if str(job.versions) == "23.11" and "gpus-per-task" in step.options and step.request.asked("cpus-per-task"):
        # sbatch leaves SLURM_TRES_PER_TASK=cpu=N in the environment (23.11.4; 24.11 takes both)
        if "SLURM_TRES_PER_TASK" not in step.invocation.state.variables:
            return "srun does not accept --gpus-per-task in a job with --cpus-per-task"
    for each in steps_with_too_many_gpus(job):
        if each.step is step and each.setting is not None:
            unit = " a node" if each.by == "node" else ""
            return f"the job has {each.held} GPUs{unit} and srun requests {each.asked}"
    option, nodes = step.option("nodes"), step.request.exact_nodes()
    asked = None if option is None else fixed_nodes(option.text)
    # with fewer tasks than nodes srun lowers the nodes
    least = None if asked is None or step.tasks is None else min(asked.minimum, step.tasks)
    if asked is not None and nodes is not None and least is not None and least > nodes:
        return f"the job has {nodes} node{'' if nodes == 1 else 's'} and srun requests {asked.minimum}"
    return None


def _refused_option(job: Job, step: Step) -> str | None:
    """An option that makes srun end in every release of the range; one that a site's plugin might have does not."""
    if not step.problems:
        return None
    majors = job.versions.majors
    unknown = next((at for at, field in enumerate(step.invocation.argv[1:]) if is_unknown(field)), None)
    of_sbatch = {problem.written for problem, _ in submission_options(step, job.versions)}
    for problem in step.problems:
        if unknown is not None and problem.word >= unknown or not set(majors) <= set(problem.versions or majors):
            continue
        if problem.kind != "unknown-option" or problem.written in of_sbatch or not is_plausible(problem.written):
            return problem.written
        others = accepting_commands(problem.written).get("srun")
        if others and set(majors).isdisjoint(others):
            return problem.written
    return None


def _two_gpu_forms(job: Job, step: Step) -> bool:
    """Whether srun meets both forms, of which one may come from the job; it refuses that since 26.05."""
    gres = step.option("gres")
    if gres is None or gpu_count("gres", gres.text or "", job.versions.last) is None:
        return False
    if not job.versions.all_since("26.05"):
        return False
    inherited = step.request.asked("gpus-per-node") and "SLURM_GPUS_PER_NODE" not in step.invocation.state.variables
    return inherited or step.option("gpus-per-node") is not None
