"""Commands and variables that tell of a node or a process, and that the batch shell expanded for all tasks of a step.

Much of that is meant: `MASTER_ADDR=$(hostname)` is the address of the first node, `$(date +%s)` a tag for the whole
job. So only uses count that make no sense with one text for all: where a process is told its own node, where a task
compares the name of its node, where every task writes a file, and, as advice, what is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.analysis.expansion.early import (
    CONSTANTS,
    PLACES,
    EarlyUse,
    Repair,
    early_exports,
    early_uses,
    worst_by_place,
)
from sbatchlint.analysis.expansion.uses import Uses
from sbatchlint.analysis.expansion.varying import NODE, variation
from sbatchlint.bash.trace import Read
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.steps import Step, step_around
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Options by which a step gets other numbers than the job; commands whose programs get an environment of their own.
_OWN_NUMBERS = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "nodelist", *GPU_OPTIONS)
_FRESH = frozenset({"ssh", "pdsh", "docker", "podman", "sudo", "su"})


def early_places(job: Job) -> list[EarlyUse]:
    """The uses that do harm, each by its worst."""
    commands = ("$(", "`", "$$", "RANDOM", "HOSTNAME", "BASHPID")
    if not job.steps or not any(each in job.source.text for each in commands):
        return []
    uses = [use for step in job.steps for use in early_uses(step, PLACES)]
    uses = [use for use in uses if _is_fault(use, job.variables.uses)]
    exports = [use for step in job.steps for use in early_exports(step, PLACES)]
    uses.extend(use for use in exports if _is_fault(use, None))
    return worst_by_place(uses)


def _is_fault(use: EarlyUse, uses: Uses | None) -> bool:
    found = variation(use.expansion)
    if found is None or use.consumer not in ("rank", "test", "file", "label"):
        return False
    if found.by == NODE and not use.step.several_nodes:
        return False
    if use.consumer == "rank":
        return found.name
    if uses is not None and _is_deliberate(use, uses):
        return False
    if use.consumer == "file":
        return found.name or found.by != NODE
    return found.name if use.consumer == "test" else found.by == NODE


def _is_deliberate(use: EarlyUse, uses: Uses) -> bool:
    """Whether it stands in a variable of its own (`TAG=$(hostname)-1`), not in a text that is a program."""
    assigned = uses.assignment_around(use.expansion.span)
    if assigned is None or assigned.context.phase is Phase.TASK:
        return False
    values = [each.fields for each in assigned.alternatives if each.fields]
    return not any(" " in shown_text(field) for fields in values for field in fields)


def early_constants(job: Job) -> list[tuple[EarlyUse, Repair]]:
    """Variables of the job in the text of a program that a shell in the tasks reads, expanded by the batch shell."""
    if not job.steps or "SLURM_" not in job.source.text:
        return []
    found: dict[int, tuple[EarlyUse, Repair]] = {}
    for step in job.steps:
        for use in early_uses(step, CONSTANTS):
            place = use.expansion.span.start
            if not use.shells or place in found or _is_deliberate(use, job.variables.uses) or _is_another(use):
                continue
            way = job.early_repair(use)
            if way is not None and way.kind == "escape" and way.safe:
                found[place] = (use, way)
    return list(found.values())


def _is_another(use: EarlyUse) -> bool:
    """Whether the step has a number of its own under that name."""
    name = use.expansion.name
    if name.startswith("SLURM_JOB") or not any(word in name for word in ("NODES", "TASK", "PROCS", "GPU", "CPU")):
        return False
    return not use.step.certain or any(option in use.step.options for option in _OWN_NUMBERS)


def inherited_hostnames(job: Job) -> list[tuple[Read, Step]]:
    """Reads of HOSTNAME in tasks on several nodes, which all have it from the first node, by way of the batch shell.

    bash keeps a HOSTNAME that it inherits; it sets one itself only where the environment has none.
    """
    found: dict[Span, tuple[Read, Step]] = {}
    for read in job.trace.reads:
        if read.name != "HOSTNAME" or read.context.phase is not Phase.TASK or read.variable is not None:
            continue
        step = step_around(read.context)
        if step is None or not step.several_nodes or read.context.restricted:
            continue
        around = [read.context.parent, *read.context.parent.ancestors()] if read.context.parent else []
        fresh = any(getattr(each.spawn, "cleared", False) or each.name in _FRESH for each in around)
        if not fresh and read.name in job.source.text[read.span.start : read.span.end]:
            found.setdefault(read.span, (read, step))
    return list(found.values())
