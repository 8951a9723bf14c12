"""The option block of the converted script.

The sruns of a script without #SBATCH lines ask an allocation of their own, which only the option block can. In a batch
job srun ignores most of these options, and others fail where the job has less than they ask for (`create_job_step()` in
src/srun/launch.c of 26.05).
"""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from sbatchlint.analysis.editing.options import remove_step_option
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.job import Job, has_directives
from sbatchlint.job.request import Request
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.rewriting import insertion, quote, removal, replacement
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

# Options for tasks or GPUs that the new ones replace.
_COUNTING = (
    "ntasks", "ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "gpus", "gpus-per-task", "gpus-per-socket",
)  # fmt: skip
# Options that choose nodes, or distribute tasks in their own way.
_PLACING = ("nodefile", "tres-per-task", "batch")
# Distributions by which each node gets as many tasks as it is to have (`slurm_verify_dist_option`, 25.11).
_EVEN = frozenset({"block", "cyclic", "fcyclic", "*", "pack", "nopack", ""})
_TOLD = ("ntasks-per-node", "cpus-per-task", "gpus-per-node", "gres", "cpus-per-gpu", "mem-per-gpu")
# Options that determine the number of CPUs, so that none needs to be added.
_GRANTING = ("exclusive", "cpus-per-gpu", "mincpus")


def header(job: Job, goal: Goal, tasks: int, gpus: int, of_one_cpu: bool = False) -> tuple[list[Edit], list[str]]:
    """The edits that request the nodes of the goal, with these tasks and GPUs per node; and options left to the user.

    The latter are added as commented-out lines. `of_one_cpu`: whether a task may have one, as those of MPI have. Raises
    `NotConvertible`.
    """
    request, directives = job.request, job.directives
    if request.heterogeneous:
        raise NotConvertible("a heterogeneous job has components of different kinds: write one of one component")
    if directives.foreign is not None and directives.foreign.settings:
        raise NotConvertible("its options are in lines of another scheduler: write them as #SBATCH lines")
    if not directives.certain:
        raise NotConvertible("its #SBATCH lines cannot all be read: see what sbatchlint says of them")
    for name in _PLACING:
        if (setting := request.setting(name)) is not None:
            line = job.line(setting.span.start)
            raise NotConvertible(f"--{name} on line {line} places it on nodes of its own choice: leave it out")
    spread = request.setting("distribution")
    if spread is not None and not _EVEN.issuperset((spread.text or "?").lower().replace(",", ":").split(":")):
        raise NotConvertible(
            f"--distribution on line {job.line(spread.span.start)} places tasks in its own way: leave it out"
        )
    own = [option.text or "" for step in job.steps if (option := step.option("cpus-per-task")) is not None]
    cpus, todos = _cpus(request, goal, tasks, max((parse_integer(each) for each in own if is_number(each)), default=1))
    if of_one_cpu:
        todos.clear()
    wanted = {"nodes": str(goal.nodes), "ntasks-per-node": str(tasks)}
    keeps = _keeps_per_task(request, tasks, gpus) and not {"gres", "gpus-per-task"} & goal.options.keys()
    if gpus and not keeps and request.gpus.per_node != gpus and not goal.options.get("gres", "").startswith("gpu"):
        kind = request.gpus.kind
        wanted["gpus-per-node"] = f"{kind}:{gpus}" if kind else str(gpus)
    if cpus is not None:
        wanted["cpus-per-task"] = str(cpus)
    wanted |= goal.options
    if not request.has_option("time") and "time" not in wanted:
        todos.append("--time=HH:MM:SS")
    kept = ("gpus-per-task",) if keeps else ()
    edits = [*_removed(job, (*wanted, *kept), goal.gpus == 0), *_set(job, wanted, todos)]
    if not job.text.string.startswith("#!"):
        edits.insert(0, insert(0, "#!/bin/bash\n"))
    return edits, todos


def _keeps_per_task(request: Request, tasks: int, gpus: int) -> bool:
    """Whether GPUs per task stay as they are written: they bind each of several tasks to its own."""
    per_task = request.gpus.per_task
    counts = request.gpus.total, request.gpus.per_node
    return tasks > 1 and per_task is not None and per_task * tasks == gpus and counts == (None, None)


def chosen_nodes(job: Job, nodes: int) -> Iterator[str]:
    """To-dos for nodes that the script names."""
    setting = job.request.setting("nodelist")
    named = None if setting is None else hosts(setting.text)
    if setting is None or nodes == 1 or named is not None and len(named) == nodes:
        return
    option = f"--nodelist on line {job.line(setting.span.start)}"
    if named is None:
        yield f"see that {option} names {nodes} nodes"
    elif len(named) < nodes:
        yield f"{option} names {len(named)} of {nodes} nodes, and Slurm chooses the others: leave it out, or name all"
    else:
        yield f"{option} names {len(named)} nodes, and the job is to have {nodes}"


def changes(before: Request, after: Request) -> Iterator[str]:
    """What other values the options that count tasks, CPUs and GPUs get, as clauses."""
    for name in (*_TOLD, *_COUNTING):
        old, new = before.value(name), after.value(name)
        if old is not None and old != new and not (new is None and old in ("0", "1")):
            yield f"--{name} {old} becomes {new}" if new is not None else f"--{name}={old} is left out"


def unbound(job: Job, tasks: int, gpus: int) -> Iterator[str]:
    """To-dos for options that bind tasks to GPUs, which the new option block does not have."""
    request = job.request
    if tasks < 2 or not gpus or request.has_option("gpu-bind") or _keeps_per_task(request, tasks, gpus):
        return
    for name in ("gpus-per-task", "ntasks-per-gpu"):
        setting = request.setting(name)
        if setting is not None and (request.tasks_on_each_node() or request.tasks or 2) > 1:
            yield (
                f"see which GPUs a task is to use: --{name} on line {job.line(setting.span.start)} gave each its own, "
                "and --gpus-per-node shows it all of the node"
            )


def tasks_of(job: Job, goal: Goal) -> int | None:
    """The tasks per node of the goal or the script, None if unknown; a job without a number of nodes has one."""
    request, wanted = job.request, goal.options.get("ntasks-per-node", "")
    if is_number(wanted):
        return parse_integer(wanted)
    is_set = request.has_option("ntasks") or request.has_option("ntasks-per-node")
    return (request.tasks_on_each_node() or request.tasks) if is_set else None


def gpus_of(job: Job) -> int | None:
    """The GPUs per node of the script, None if unknown; a job without a number of nodes has one."""
    gpus, request = job.request.gpus, job.request
    found = request.gpus_per_node()
    if found is not None or request.has_option("nodes"):
        return found
    tasks = request.tasks_on_each_node() or request.tasks
    return gpus.total or (gpus.per_task * tasks if gpus.per_task and tasks else None)


def _cpus(request: Request, goal: Goal, tasks: int, of_step: int) -> tuple[int | None, list[str]]:
    """The CPUs per task, None for no option; and to-dos. `of_step`: the CPUs per task of an srun."""
    if goal.cpus is not None:
        if goal.cpus < tasks:
            raise NotConvertible(f"{goal.cpus} CPUs are too few for {tasks} tasks on a node")
        return goal.cpus // tasks, []
    is_set = request.has_option("cpus-per-task")
    if not is_set and of_step > 1 and tasks == request.tasks_on_each_node():
        return None, []
    on_node = request.tasks_on_each_node() or request.tasks_per_node or request.tasks or 1  # it has one node
    before = on_node * ((request.cpus_per_task or 1) if is_set else of_step)
    if is_set:
        return max(1, before // tasks), []
    if "cpus-per-task" in goal.options or any(request.has_option(each) or each in goal.options for each in _GRANTING):
        return None, []
    if before > 1:  # the default is one CPU per task
        return before // tasks if before // tasks > 1 else None, []
    return None, ["--cpus-per-task=CPUS"]


def _removed(job: Job, wanted: Container[str], without_gpus: bool) -> list[Edit]:
    names = (*_COUNTING, "gpus-per-node", "cpus-per-gpu", "mem-per-gpu") if without_gpus else _COUNTING
    replaced = [each for each in map(job.request.setting, names) if each is not None and each.name not in wanted]
    gres = job.request.setting("gres")
    if ("gpus-per-node" in wanted or without_gpus) and gres is not None and "gres" not in wanted:
        if "," in (gres.text or ","):
            raise NotConvertible("--gres asks for more than GPUs: ask for these by --gpus-per-node")
        replaced.append(gres)
    return removal(job.directives, replaced) if replaced else []


def _set(job: Job, wanted: Mapping[str, str], todos: list[str]) -> Iterator[Edit]:
    lines = []
    for name, value in wanted.items():
        old = job.request.setting(name)
        if old is None:
            lines.append(f"#SBATCH --{name}={quote(value)}" if value else f"#SBATCH --{name}")
        elif value and old.text != value:
            yield replacement(job.directives, old, value)
    lines += [line for each in todos if (line := f"##SBATCH {each}") not in job.text.string]
    if lines:
        edit = insertion(job.directives, "OPTIONS")
        yield edit._replace(content=edit.content.replace("#SBATCH OPTIONS", "\n".join(lines)))


# Those that srun ignores in a job, of which SB331 tells.
_IGNORED = (
    "account", "begin", "deadline", "dependency", "hold", "mail-type", "mail-user", "partition", "priority", "qos",
    "reservation", "time-min",
)  # fmt: skip
_OF_ALLOCATION = (
    "clusters", "comment", "constraint", "contiguous", "cpus-per-gpu", "exclude", "exclusive", "licenses", "mem",
    "mem-per-cpu", "mem-per-gpu", "mincpus", "oversubscribe", "prefer", "reboot", "switches", "thread-spec", "time",
    "tmp", "wckey",
)  # fmt: skip
# Options that choose nodes, which the nodes of the goal may not be.
_CHOOSING = ("nodelist", "nodefile", "relative")
# What needs the terminal of somebody who waits.
_OF_TERMINAL = ("pty",)
_OF_GPUS = ("gres", "gpus-per-node", "gpus", "gpus-per-task")
# The type of GPU in `gpu:a100:8` and `a100:8`.
_KIND = Regex(r"(?:gpu:)?(?!gpu:)([a-zA-Z]\w*):\d+")


class Asked(NamedTuple):
    """The options by long name (an empty value for a flag), the edits that take them out of the sruns, and to-dos."""

    options: dict[str, str]
    edits: list[Edit]
    todos: list[str]


def asked_by_steps(job: Job, goal: Goal, gpus: int) -> Asked:
    """What the sruns ask, for the option block; of what the goal has, its value counts. `gpus`: those of a node."""
    asked = Asked({}, [], [])
    if has_directives(job.source.own, job.site):
        return asked
    for name in (*_IGNORED, *_OF_ALLOCATION, *_CHOOSING, *_OF_TERMINAL):
        given = [(step, option) for step in job.steps if (option := step.option(name)) is not None]
        if given and name in _CHOOSING:
            line = job.line(given[0][1].span.start)
            raise NotConvertible(f"--{name} on line {line} places it on nodes of its own choice: leave it out")
        asked.edits.extend(_take(job, goal, given, asked))
    options = [option for step in job.steps for option in map(step.option, _OF_GPUS) if option is not None]
    kinds = {found[1] for option in options if (found := _KIND.fullmatch(option.text or "")) is not None}
    if len(kinds) == 1 and gpus and not {*_OF_GPUS} & goal.options.keys():
        asked.options["gpus-per-node"] = f"{kinds.pop()}:{gpus}"
    for option in options:
        if "," in (option.text or ""):
            line = job.line(option.span.start)
            asked.todos.append(f"line {line}: {option.as_written} asks for more than GPUs: write it as #SBATCH")
    return asked


def _take(job: Job, goal: Goal, given: list[tuple[Step, StepOption]], asked: Asked) -> list[Edit]:
    """The edits that take an option out of the sruns that have it, once the option block has it."""
    names = {option.name for _, option in given}
    texts = {option.text if option.value is not None else "" for _, option in given}
    is_set = names <= goal.options.keys() or names == {"cpus-per-gpu"} and goal.cpus is not None
    if not is_set and (len(texts) > 1 or None in texts):
        for option in [option for _, option in given if option.name not in _IGNORED]:
            what = f"{option.as_written} is for the whole job: write #SBATCH --{option.name}, with its value"
            asked.todos.append(f"line {job.line(option.span.start)}: {what}")
        return []
    if not is_set and not names & {*_OF_TERMINAL}:
        asked.options.update((name, text) for name in names for text in texts if text is not None)
    edits = (remove_step_option(job, step, option) for step, option in given)
    return list(dict.fromkeys(edit for edit in edits if edit is not None))
