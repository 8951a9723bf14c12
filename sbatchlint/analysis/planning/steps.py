"""The steps of a job as plain values for JSON: what each srun starts, where, how often, and with which ranks.

A launcher that the batch shell starts itself is a step of one task on one node, and so is a program of a job in which
no step does the work. None is for unknown or not set.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sbatchlint.analysis.launch.launcher_refusals import launcher_refusal
from sbatchlint.analysis.planning.refusals import refusal_of
from sbatchlint.analysis.script.conditionals import may_not_run
from sbatchlint.analysis.script.work import batch_programs
from sbatchlint.bash.trace import Context, Invocation
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.bash.variables import NO_GUARDS, Guards, assumed_defaults, is_loop, merge_guards
from sbatchlint.job import Job
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.exports import exports_of
from sbatchlint.job.gpus import DEVICE_VARIABLES, StepGpus, chosen_devices, devices_chosen, step_gpus
from sbatchlint.job.launchers import Launcher, Mpi, Setting, is_python, python_command
from sbatchlint.job.launchers.refusals import Refusal
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
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import counted_devices, node_count
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.text import Span

Plain = dict[str, Any]


def steps_of(job: Job) -> list[Plain]:
    """The steps of a job in the order in which they start.

    `argv` has the words of a step's program (None for unknown ones), `by_task` the tasks with what each runs; see
    `_by_task`.
    """
    views = TaskViews(job)
    found: list[tuple[Invocation, Plain]] = []
    for number, step in enumerate(job.steps):
        plain = _step(job, step, tasks_of(views, number))
        _number(plain, step, step.parts)
        found.append((step.invocation, plain))
    own = [each for each in job.launches if each.step is None and each.invocation.phase is Phase.BATCH]
    contexts: dict[int, list[Launch]] = {}
    for launch in own:
        contexts.setdefault(id(_first_part(launch.invocation)), []).append(launch)
    for launch in own:
        plain = _of_batch_shell(job, Workload(launch, launch.invocation))
        _number(plain, launch, contexts[id(_first_part(launch.invocation))])
        found.append((launch.invocation, plain))
    found.extend((each, _of_batch_shell(job, Workload(None, each))) for each in batch_programs(job))
    found.sort(key=lambda each: each[0].index)
    return _without_alternatives(job, found)


class _Statement(NamedTuple):
    """A command as it is written. `choices`: what it runs, each with other words that it may have."""

    number: int
    choices: tuple[Invocation, ...]
    context: Context


class _Entry(NamedTuple):
    """An entry of the plan. `choices`: how many there are of its command; `seen`: those that are in the entry."""

    key: tuple[object, ...]
    plain: Plain
    choices: int
    seen: set[int]


def _without_alternatives(job: Job, found: list[tuple[Invocation, Plain]]) -> list[Plain]:
    """The steps with one entry for a command whose words have alternatives; what differs between these is None.

    It is conditional where some of these are no step.
    """
    statements = {
        id(command): _Statement(number, element, ran.context)
        for number, ran in enumerate(job.pipelines)
        for element in ran.elements
        for command in element
    }
    kept: list[_Entry] = []
    every: dict[Span, list[Guards]] = {}
    for invocation, _ in found:
        every.setdefault(invocation.span, []).append(invocation.guards)
    for invocation, plain in found:
        is_certain = not invocation.context.conditional
        if is_certain and assumed_defaults(invocation.guards, NO_GUARDS, every[invocation.span]):
            plain = _in_common(plain, _with_other_values(job, plain, invocation))
        first = _first_part(invocation)
        root = next((each for each in (first, *first.ancestors()) if id(each) in statements), first)
        statement = statements.get(id(root), _Statement(-id(root), (root,), root.context))
        if may_not_run(invocation, (invocation.context.guards - root.guards) | statement.context.guards):
            plain["conditional"] = True
        # the iterations of a loop are not alternatives: all of them run
        iterations = _iterations(invocation.guards)
        choices = [each for each in statement.choices if each.span == root.span and _are_together(each, root)]
        key = (invocation.span, statement.number, iterations, plain.get("component", {}).get("number"))
        if kept and kept[-1].key == key and (first is root or id(root) not in kept[-1].seen):
            entry = kept.pop()
            conditional = entry.plain.get("conditional") or plain.get("conditional")
            plain = _in_common(entry.plain, plain)
            if conditional:
                plain["conditional"] = True
            kept.append(_Entry(key, plain, max(entry.choices, len(choices)), entry.seen | {id(root)}))
        else:
            kept.append(_Entry(key, plain, len(choices), {id(root)}))
    for entry in kept:
        if len(entry.seen) < entry.choices:
            entry.plain["conditional"] = True
    return [entry.plain for entry in kept]


def _iterations(guards: Guards) -> Guards:
    return frozenset(guard for guard in guards if is_loop(guard[0]))


def _are_together(first: Invocation, second: Invocation) -> bool:
    """Whether two choices of a command may be those of the same iteration of each loop."""
    return merge_guards(_iterations(first.guards), _iterations(second.guards)) is not None


def _with_other_values(job: Job, plain: Plain, invocation: Invocation) -> Plain:
    """A step of so many `${X:-d}` that only their defaults are told, with None for what any expansion decides."""
    everything = [field for each in (invocation, *invocation.descendants()) for field in each.argv]
    values = {text for field in everything if (text := text_of(field)) is not None and not _is_literal(job, field)}

    def other(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: other(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [other(each, key) for each in value]
        return None if key == "argv" and value in values else value

    found: Plain = other(plain)
    own = invocation.argv[1 : len(invocation.argv) - len(plain["argv"] or ())]
    if not all(_is_literal(job, field) for field in own):
        found.update(dict.fromkeys((*_COUNTS, *_GPUS, "processes", "by_task")))
    return found


def _is_literal(job: Job, field: Pieces) -> bool:
    """Whether a word stands in the command as it is."""
    if not field:
        return True
    start, end = field[0].start, field[-1].end
    text = job.text.string
    edges = text[start - 1 : start].strip("\"' \t\n") + text[end : end + 1].strip("\"' \t\n;&|)")
    return not edges and text[start:end] == text_of(field)


def _number(plain: Plain, part: object, parts: Sequence[object]) -> None:
    """Adds the number of a step's component (`srun a : b`), if there are several."""
    if len(parts) > 1:
        number = next(at for at, each in enumerate(parts, 1) if each is part)
        plain["component"] = {"number": number, "of": len(parts)}


def _first_part(invocation: Invocation) -> Invocation:
    while invocation.before is not None:
        invocation = invocation.before
    return invocation


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
    """Two programs as one, with `…` for each word that differs; None where their shapes differ."""
    pairs = list(zip(first.split(" "), second.split(" "), strict=False))
    if len(pairs) != first.count(" ") + 1 or len(pairs) != second.count(" ") + 1 or pairs[0][0] != pairs[0][1]:
        return None
    return " ".join(one if one == other else "…" for one, other in pairs)


# --- a step -----------------------------------------------------------------------------------------


def _step(job: Job, step: Step, tasks: list[Task] | None) -> Plain:
    work = workload(step, job.launches_of(step))
    refused = refusal_of(job, step)
    sharing, counts = step_gpus(job, step), (step.nodes, step.tasks, step.tasks_per_node)
    found = _entry(job, step, step.invocation, work, counts, (sharing.on_node, sharing.per_task))
    exports = exports_of(step)
    if not exports.whole_environment:
        found["environment"] = {
            "names": [*exports.names, *(name for name, _ in exports.values)],
            "by": exports.as_written,
        }
    if refused is not None:
        found.update(dict.fromkeys((*_COUNTS, *_GPUS)), processes=0, refused=refused, by_task=None)
        return found
    found["processes"] = _all_processes(job, step, work, tasks, found["gpus_per_task"])
    if found["processes"] != 0 and found["launcher"] is not None and found["launcher"].pop("refused", None):
        found["launcher"]["processes_per_task"] = None  # only some tasks start one that is refused
    found["by_task"] = None if tasks is None else [_by_task(job, each, sharing) for each in tasks]
    # the GPUs that the tasks choose count
    chosen = {None if each["gpus"] is None else len(each["gpus"]) for each in found["by_task"] or ()}
    if len(chosen) == 1 and None not in chosen:
        found["gpus_per_task"] = chosen.pop()
    return found


def _entry(
    job: Job, step: Step | None, invocation: Invocation, work: Workload, counts: Sequence[int | None],
    gpus: Sequence[int | None],
) -> Plain:  # fmt: skip
    """What all entries have. `counts`: nodes, tasks, tasks on each node; `gpus`: of a node, and of a task."""
    found: Plain = {
        **_place(job, invocation.span.start),
        "command": None if step is None else "srun",
        "phase": "batch",
        **dict(zip(_COUNTS, counts, strict=True)),
        "background": invocation.context.background is not None,
        **dict(zip(_GPUS, gpus, strict=True)),
        "container": _container(step, work),
        "launcher": None if work.launch is None else _launcher(job, work.launch),
        "processes": None,
        "program": _program(work),
        "argv": _program_words(work),
    }
    if invocation.context.may_repeat:
        found["repeated"] = True
    return found


_COUNTS, _GPUS = ("nodes", "tasks", "tasks_per_node"), ("gpus_on_node", "gpus_per_task")


def _place(job: Job, offset: int) -> Plain:
    """The line of a place, with the path of its file if that is not the script."""
    line = job.line(offset)
    path = getattr(line, "path", None)
    return {"line": int(line)} if path is None else {"line": int(line), "path": path}


def _all_processes(job: Job, step: Step, work: Workload, tasks: list[Task] | None, gpus: int | None) -> int | None:
    """How many processes the tasks of a step start, with their launchers; None where that is not known."""
    refused = work.launch is not None and not work.several and launcher_refusal(job, work.launch) is not None
    if not tasks and refused:
        return 0
    if step.tasks is None:
        return None
    if tasks is not None and len(tasks) == step.tasks:
        counts = [_count(job, each, gpus) for each in tasks]
        return None if None in counts else sum(each or 0 for each in counts)
    if not is_certain(work) or work.invocation is None or work.invocation.context.restricted:
        return None
    if work.launch is None:
        return step.tasks
    per_task = _processes_of(work.launch.launcher, _visible(work.launch.invocation, step, gpus))
    return None if per_task is None else per_task * step.tasks


def _processes_of(launcher: Launcher, gpus: int | None) -> int | None:
    if isinstance(launcher, Mpi):
        total = launcher.own_processes
        return None if total is None else total.number
    found = process_ranks(launcher, counted_devices(launcher, gpus))
    return None if found is None or not launcher.spawns and launcher.processes_per_task is None else len(found)


def _visible(invocation: Invocation, step: Step | None, gpus: int | None) -> int | None:
    """How many GPUs a command sees, of the `gpus` of its task or the batch shell; None where that is not known."""
    return chosen_devices(invocation) if devices_chosen(invocation, step) else gpus


def _processes(job: Job, task: Task, gpus: int | None) -> list[dict[str, str]] | None:
    launch = task.workload.launch
    if launch is not None and not task.workload.several and launcher_refusal(job, launch) is not None:
        return []
    if task.processes is None and launch is not None and is_certain(task.workload) and launch.launcher.kind != "mpi":
        visible = _visible(launch.invocation, launch.step, gpus)
        return process_ranks(launch.launcher, counted_devices(launch.launcher, visible))
    return task.processes


def _count(job: Job, task: Task, gpus: int | None) -> int | None:
    launch = task.workload.launch
    found = _processes(job, task, gpus)
    if found != [] and launch is not None and launch.launcher.kind == "mpi" and is_certain(task.workload):
        return _processes_of(launch.launcher, gpus)
    return None if found is None else len(found)


def _by_task(job: Job, task: Task, sharing: StepGpus) -> Plain:
    """One task: its rank, the index of its node in the step, its index on the node, its GPUs, and what it runs.

    `gpus`: those that the command sees, as indexes among the step's GPUs on the node; None where that is unknown.
    `variables`: the known rank variables in the environment of that command. `processes`: the rank variables of each
    process that the launcher starts. `argv`: the words of the command, None for unknown ones.
    """
    invocation = task.workload.invocation
    return {
        "task": task.place.rank,
        "node": task.place.node,
        "local": task.place.local,
        "gpus": _gpus(task, sharing),
        "variables": _variables(task, sharing),
        "argv": None if invocation is None else [text_of(field) for field in invocation.argv],
        "processes": _processes(job, task, sharing.per_task),
    }


def _variables(task: Task, sharing: StepGpus) -> dict[str, str]:
    """The known rank variables of a task, without the GPUs that the batch shell selects where Slurm selects others."""
    invocation = task.workload.invocation
    replaced = sharing.on_node and invocation is not None and not devices_chosen(invocation, task.step)
    return {name: value for name, value in task.variables.items() if not replaced or name not in DEVICE_VARIABLES}


def _gpus(task: Task, sharing: StepGpus) -> list[int] | None:
    """The GPUs that a task sees, as Slurm binds it or as CUDA_VISIBLE_DEVICES selects them; None where unknown."""
    invocation = task.workload.invocation
    if invocation is not None and devices_chosen(invocation, task.step):
        ids = task.variables.get("CUDA_VISIBLE_DEVICES", "").split(",")
        return [parse_integer(each) for each in ids] if all(is_number(each) for each in ids) else None
    seen = sharing.seen(task.place.local)
    return None if seen is None else list(seen)


# --- launchers ---------------------------------------------------------------------------------------


def _of_batch_shell(job: Job, work: Workload) -> Plain:
    """The entry of a launcher or a program that the batch shell starts."""
    launch, invocation = work.launch, work.invocation
    assert invocation is not None
    on_node = job.request.gpus_per_node()
    gpus = _visible(invocation, None, on_node)
    found = _entry(job, None, invocation, work, (1, 1, 1), (on_node, gpus))
    found["processes"] = 1 if launch is None else _processes_of(launch.launcher, gpus)
    refusal = None if launch is None else launcher_refusal(job, launch)
    if refusal is not None:
        found["processes"] = 0
    if launch is not None and launch.launcher.kind == "mpi":
        found.update(_mpi(job, launch) if refusal is None else _refused_mpi(launch, refusal))
    found["by_task"] = None
    return found


def _mpi(job: Job, launch: Launch) -> Plain:
    """What mpirun changes of an entry, as it starts tasks of its own on all nodes of the job."""
    launcher = launch.launcher
    total = launcher.own_processes if isinstance(launcher, Mpi) else launcher.total_processes
    per_node = getattr(launcher, "processes_per_node", None)
    nodes = job.request.exact_nodes()
    tasks = None if total is None else total.number
    if total is None and per_node is not None and nodes is not None:
        tasks = per_node * nodes
    if nodes == 1 and tasks is not None:
        per_node = tasks
    is_exact = nodes == 1 or per_node is not None and tasks is not None and nodes == tasks // per_node
    return {
        "command": launcher.name.rpartition("/")[2],
        "nodes": nodes if is_exact else None,
        "tasks": tasks,
        "tasks_per_node": per_node,
        "gpus_on_node": None,
        "gpus_per_task": None,
        "processes": _started_by_tasks(job, launch, tasks),
        "launcher": None,
    }


def _refused_mpi(launch: Launch, refusal: Refusal) -> Plain:
    name = launch.launcher.name.rpartition("/")[2]
    return {**dict.fromkeys((*_COUNTS, *_GPUS, "launcher")), "command": name, "refused": refusal.reason}


def _started_by_tasks(job: Job, launch: Launch, tasks: int | None) -> int | None:
    """How many processes an mpirun starts, each of which may be a launcher again; None where that is not known."""
    inner = [each for each in map(job.launch_of, launch.invocation.descendants()) if each is not None]
    if not inner:
        return tasks
    per_task = _processes_of(inner[0].launcher, job.request.gpus_per_node())
    return None if tasks is None or per_task is None or len(inner) > 1 else tasks * per_task


def _launcher(job: Job, launch: Launch) -> Plain:
    launcher, invocation = launch.launcher, launch.invocation
    count = launcher.processes_per_task
    rendezvous = launcher.rendezvous
    refusal = launcher_refusal(job, launch)
    found: Plain = {
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
    restarts = launcher.setting("max_restarts")
    if restarts is not None and restarts.number:
        found["restarts"] = restarts.number
    if refusal is not None:
        found.update(processes_per_task=0, refused=refusal.reason)
    return found


def _origin(setting: Setting | None, invocation: Invocation) -> str | int | None:
    """A value, or its origin: `task:SLURM_NODEID` is a variable, with the phase in which it was expanded."""
    if setting is None or setting.value is None:
        return None
    field = setting.value
    for expansion in expansions(field):
        if expansion.name in TASK_VARIABLES:
            return f"{expansion.phase.name.lower()}:{expansion.name}"
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
    """A variable that has just this value, preferably an exported one; None if there is none."""
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
    """A word with the names of its unknown expansions."""
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
    """The words of the command, or of the program that its launcher starts."""
    words = _program_argv(work)
    return [text_of(field) for field in words] if words else None


def _program(work: Workload) -> str | None:
    """The program as one would name it: `python train.py`, `python -m pkg.train`, `./a.out`."""
    words = _program_argv(work)
    if not words:
        # `ray start` runs no program
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
