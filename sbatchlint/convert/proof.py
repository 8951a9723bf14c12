"""The proof that a script reaches the goal, by its plan and its findings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from sbatchlint.analysis.expansion.reads import assigned_names
from sbatchlint.analysis.planning.plan import Plan, plan_of
from sbatchlint.convert.container_differences import containers_of_starts, differences
from sbatchlint.convert.detached import returning, still_disowned
from sbatchlint.convert.first_node import endless, of_first_node
from sbatchlint.convert.goal import Goal
from sbatchlint.convert.launcher import is_standalone, unread_configuration
from sbatchlint.convert.lightning import untold_nodes
from sbatchlint.convert.once import spread
from sbatchlint.convert.program_words import word_differences, words_of_starts
from sbatchlint.convert.sizes import stale_counts, stale_devices, stale_interfaces
from sbatchlint.convert.starts import places_of
from sbatchlint.convert.words import LOOPBACK
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import inspect_job
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import Setting
from sbatchlint.job.worlds import find_worlds
from sbatchlint.registry import registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

# Variables that a node sets to its own name.
_OF_HOST = ("HOSTNAME", "HOST")
_GPUS_NOT_REQUESTED = "SB201"
# A preview, which says what batches DeepSpeed refuses with another number of processes.
_BATCHES = "SB334"


class Proof:
    """The plan of a script, the `faults` for which it does not reach the goal, and its errors and warnings.

    `stale`: to-dos for what tells its programs other numbers of nodes or devices.
    `ranks`: whether each process needs a RANK; those of MPI and Slurm may get it otherwise.
    `containers`: those of the original script, one for each place that starts processes; None for no container.
    `starts`: the number of these places; None for those of the script. `words`: those of the programs there.
    `once`: the words of the commands that run once. `were`: the numbers of nodes before.
    """

    def __init__(
        self, source: Source, settings: Settings, goal: Goal, gpus: int, ranks: bool = True,
        containers: Sequence[Container | None] = (), starts: int | None = None,
        words: Sequence[Argv | None] = (), once: frozenset[tuple[str, ...]] = frozenset(),
        were: frozenset[int] = frozenset({1}),
    ) -> None:  # fmt: skip
        # the script itself has to set the address of the rendezvous
        settings = without_variables(settings, frozenset({"MASTER_ADDR", "MASTER_PORT"}))
        codes = {_BATCHES, *(each.code for each in settings.selected)}
        settings.selected = tuple(each for each in registry().entries if each.code in codes)
        job = Job.from_source(source, settings.site)
        self.plan: Plan = plan_of(job)
        launchers, tasks = places_of(job)
        places = len(launchers) + len(tasks)
        self.faults = [f"line {job.line(job.span(*each).start)} would be a syntax error" for each in job.program.errors]
        self.faults += list(_faults(self.plan, goal, gpus, ranks, places, starts))
        self.faults += _apart(job, goal.nodes * gpus, goal.nodes)
        self.stale = list(dict.fromkeys(stale_counts(job, goal.nodes, gpus, were)))
        self.stale += dict.fromkeys(
            [*stale_devices(job), *returning(job), *still_disowned(job), *endless(job), *untold_nodes(job, goal.nodes)]
        )
        if goal.nodes > 1:
            self.stale += dict.fromkeys(todo for each in job.launches for todo in unread_configuration(job, each))
            self.stale += dict.fromkeys([*stale_interfaces(job), *of_first_node(job, goal.nodes * gpus)])
        self.faults += spread(job, once)
        self.faults += word_differences(words, words_of_starts(job))
        self.faults += differences(containers, containers_of_starts(job))
        self.findings = [
            diagnostic
            for diagnostic in inspect_job(job, source, settings).diagnostics
            if diagnostic.severity in ("error", "warning")
            and not (goal.gpus == 0 and diagnostic.code == _GPUS_NOT_REQUESTED)
        ]
        job.release()

    def new(self, before: list[str]) -> Iterator[Diagnostic]:
        """The new findings; `before`: the codes of the old ones."""
        known = Counter(before)
        for finding in self.findings:
            if known[finding.code] > 0:
                known[finding.code] -= 1
            else:
                yield finding

    def new_findings(self, before: list[str]) -> Iterator[str]:
        """The new findings as strings, each with its line."""
        for finding in self.new(before):
            yield f"line {finding.source.row(finding.span.start)}: {finding.code} {finding.name}: {finding.message}"


def _apart(job: Job, wanted: int, nodes: int) -> Iterator[str]:
    """The faults by which processes that start together do not find each other."""
    worlds = [world for world in find_worlds(job) if world.launcher.spawns]
    for size in dict.fromkeys(world.size for world in worlds if world.size not in (None, wanted)):
        yield f"{size} processes would find each other, not {wanted}"
    settings = [world.launcher.setting("master_addr", "main_process_ip", "rdzv_endpoint") for world in worlds]
    if nodes > 1 and any(each is not None and (each.text or "").split(":")[0] in LOOPBACK for each in settings):
        yield "each node would look for the others at its own address"
    for world in worlds if nodes > 1 else ():
        if is_standalone(world.launcher) and world.launcher.setting("rdzv_endpoint") is None:
            yield f"each {world.launcher.name} would meet by itself: it takes no address but --rdzv-endpoint"
    names = {name for each in settings if each is not None for name in _hosts(each)}
    for name in sorted(names - assigned_names(job)) if nodes > 1 else ():
        yield f"where the processes meet is not known: nothing sets {name}"
    meetings = [world.launcher.rendezvous for world in worlds]
    ports = [each.port for each in meetings if each is not None]
    if nodes > 1 and any(each is not None and each.number == 0 for each in ports):
        yield "each node would take a free port of its own, by port 0: write one port for all of them"
    texts = dict.fromkeys(each.text for each in settings if nodes > 1 and each is not None)
    for text in [each for each in texts if each not in (None, *LOOPBACK)]:
        yield f"the first node of the job need not be {text}"


def _hosts(setting: Setting) -> list[str]:
    """The variables that an address begins with, whose values nothing tells."""
    field = setting.value or ()
    first = field[0].expansion if field and field[0].text is None else None
    if first is None or not first.name.isidentifier() or first.name.startswith("SLURM") or first.name in _OF_HOST:
        return []
    return [first.name]


def without_variables(settings: Settings, names: frozenset[str]) -> Settings:
    """Settings by which jobs do not inherit these variables from the submission."""
    changed = copy(settings)
    changed.site = settings.site._replace(unset=settings.site.unset | names)
    return changed


def groups(plan: Plan) -> list[dict[str, Any]]:
    """The steps that start the processes of a program.

    These are all but those of one process on each node or less; where there are no others, those of a Python program.
    """
    steps: list[dict[str, Any]] = plan["steps"]
    several = [
        step for step in steps if step.get("launcher") or 1 not in (step.get("tasks_per_node"), step.get("tasks"))
    ]
    return several or [step for step in steps if (step.get("program") or "").startswith(("python", "fairseq-train"))]


def _faults(plan: Plan, goal: Goal, gpus: int, ranks: bool, places: int, starts: int | None) -> Iterator[str]:
    request = plan["request"]
    by_version = request.get("by_version", {"": request})
    refusing: dict[str, list[str]] = {}
    for version, verdict in by_version.items():
        if verdict["accepted"] is False:
            refusing.setdefault(verdict["message"], []).append(version)
    for message, versions in refusing.items():
        yield f"sbatch {' to '.join(dict.fromkeys((versions[0], versions[-1])))} refuses it: {message}"
    (component,) = request["components"]
    if component["nodes"] != {"min": goal.nodes, "max": goal.nodes}:
        yield f"it does not ask for {goal.nodes} nodes"
    found = groups(plan)
    # steps with one task per node are not in `places`
    number = places or len({(step["line"], step.get("path")) for step in found})
    if not found or number != (starts or places or 1):
        yield f"it starts {number} groups of processes"
        return
    for step in found:
        yield from _faults_of_step(step, goal, gpus, ranks)


def _faults_of_step(step: dict[str, Any], goal: Goal, gpus: int, ranks: bool) -> Iterator[str]:
    wanted, what = goal.nodes * gpus, step.get("program") or "the program"
    if step["nodes"] != goal.nodes:
        yield f"{what} would be started on {step['nodes'] or 'an unknown number of'} nodes"
    if step["processes"] != wanted:
        if step["processes"] is None:
            yield f"how many processes would run {what} is not known: write their number where it is started"
        else:
            yield f"{step['processes'] or 'no'} processes would run {what}, not {wanted}"
    launcher = step.get("launcher") or {}
    for who, value in (("srun", step), ("the launcher", launcher)):
        if value.get("refused"):
            yield f"{who} refuses the step: {value['refused']}"
    meeting = launcher.get("rendezvous") or {}
    if launcher and goal.nodes > 1 and meeting.get("address") in (None, "", *LOOPBACK):
        yield "where the processes meet is not known"
    if meeting.get("backend") != "c10d":
        yield from _wrong_ranks(step, wanted, ranks)


def _wrong_ranks(step: dict[str, Any], wanted: int, needed: bool) -> Iterator[str]:
    tasks = step.get("by_task") or []
    ranks = [
        {**task.get("variables", {}), **process}.get("RANK")
        for task in tasks
        for process in task.get("processes") or [{}]
    ]
    if not needed and not any(ranks):
        return
    if None in ranks or not ranks:
        yield "the ranks of the processes are not known"
    elif len(ranks) == wanted and set(ranks) != set(map(str, range(wanted))):
        yield f"the ranks are not 0 to {wanted - 1}, each once"
    elif len(set(ranks)) < len(ranks):
        yield "several processes have the same rank"
