"""Variables that a shell sets and does not export, and that a program which it starts reads.

A task, and any other program, gets what is exported. What a shell in it reads under the name of a plain variable of the
script is empty. What the environment holds when the job is submitted is not known: a variable that was there already
stays exported, so only names count that the script sets itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.uses import DEFAULTS, Uses
from sbatchlint.bash.expansion.assignment import ENVIRONMENT_NAMES
from sbatchlint.bash.trace import Assigned, Invocation, Read
from sbatchlint.bash.values import Phase
from sbatchlint.bash.variables import Variable
from sbatchlint.job.containers import Container
from sbatchlint.job.steps import Step, step_around
from sbatchlint.slurm.environment import find
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# What only programs read: names that mean nothing to a script itself.
_FOR_PROGRAMS = Regex(
    r"(?:NCCL|UCX|TORCH|PYTORCH|CUDA|TRANSFORMERS|WANDB|OMPI_MCA|FI|GLOO|MKL|KMP|MPICH|I_MPI|TOKENIZERS|XLA|TRITON"
    r"|NVTE|VLLM|RAY|MIOPEN|HSA|ROCR|HIP|NVSHMEM|APPTAINERENV|SINGULARITYENV|SLURM|SRUN|PYXIS|ENROOT)_[A-Z0-9_]+"
    r"|HF_(?:HOME|TOKEN|ENDPOINT|DEBUG|(?:HUB|DATASETS|XET)_[A-Z0-9_]+|[A-Z]+_CACHE)"
    r"|OMP_(?:NUM_THREADS|PLACES|PROC_BIND|STACKSIZE)"
)
# Beginnings of a command after which an assignment may be a statement of its own.
_OPENINGS = Regex(r"(?:^|[;{(]|&&|\|\||\bthen|\belse|\bdo)\s*\Z")


class Unexported(NamedTuple):
    """A variable that is not exported, and a program that wants it.

    `span`: the name where it is set; where that is no plain assignment, the place where it is read. `reads`: the places
    that find it empty; none where a program is known to look for it. `starter`: the command whose program reads it (an
    srun, a shell). `step`: the step in whose tasks that is. `edits`: what exports it.
    """

    name: str
    span: Span
    reads: tuple[Span, ...]
    starter: Invocation
    step: Step | None
    array: bool
    edits: tuple[Edit, ...]


def find_unexported(job: Job, uses: Uses) -> list[Unexported]:
    """Each such variable once, by the setting that counted; then the settings of programs."""
    found: dict[Span, Unexported] = {}
    for read in job.trace.reads:
        if read.variable is not None or read.operator in DEFAULTS or read.context.parent is None:
            continue
        each = _unexported(job, read, uses)
        if each is None:
            continue
        old = found.setdefault(each.span, each)
        if not set(each.reads) <= set(old.reads):
            found[each.span] = old._replace(reads=(*old.reads, *each.reads))
    for each in _for_programs(job):
        found.setdefault(each.span, each)
    return list(found.values())


def _unexported(job: Job, read: Read, uses: Uses) -> Unexported | None:
    starter = _lost_at(read)
    if starter is None or uses.use(read).kind == "guard" or _may_be_set(read, uses):
        return None
    variable = starter.state.variables[read.name]
    step = step_around(read.context)
    assignment = _assignment(uses, read.name, variable)
    if assignment is None:
        return Unexported(read.name, read.span, (read.span,), starter, step, variable.array, ())
    edits = () if variable.array else _exporting(job, assignment)
    return Unexported(read.name, assignment.name_span, (read.span,), starter, step, variable.array, edits)


def _assignment(uses: Uses, name: str, variable: Variable) -> Assigned | None:
    """The assignment that a variable has its value from; None for a loop, `read` and the like."""
    found = uses.assignment_around(variable.span)
    return found if found is not None and (found.name, found.span) == (name, variable.span) else None


def _lost_at(read: Read) -> Invocation | None:
    """The command whose shell has the variable and keeps it for itself; None where it is lost otherwise."""
    entry = find(read.name)
    if read.name in ENVIRONMENT_NAMES or entry is not None and entry.batch:
        return None  # in the environment already, so that setting it changes what programs get
    for each in _around(read.context.parent):
        if _passes_nothing(each):
            return None
        variable = each.state.variables.get(read.name)
        if variable is not None:
            set_always = bool(variable.alternatives) and all(way.fields is not None for way in variable.alternatives)
            return each if set_always and not variable.exported else None
    return None


def _around(command: Invocation | None) -> Iterator[Invocation]:
    """A command and those that started it, the nearest first."""
    while command is not None:
        yield command
        command = command.context.parent


def _passes_nothing(command: Invocation) -> bool:
    """Whether even an exported variable would not get through."""
    spawn = command.spawn
    if command.name in ("ssh", "pdsh", "docker", "podman", "sudo", "su", "sbatch") or spawn is None:
        return command.text is None
    info = getattr(spawn, "info", None)
    if isinstance(info, Container) and info.kind in ("docker", "podman", "charliecloud"):
        return True
    return bool(getattr(spawn, "cleared", False)) or getattr(spawn, "kind", "") in ("ssh", "sbatch", "sudo")


def _may_be_set(read: Read, uses: Uses) -> bool:
    """Whether a file that cannot be read here runs before in the same program, and may set the variable."""
    return any(each.index < read.order and each.context.parent is read.context.parent for each in uses.sources)


def _for_programs(job: Job) -> Iterator[Unexported]:
    """Variables that only programs look for, set and not exported before one is started."""
    candidates = [
        each
        for each in job.assigned
        if not each.exported and each.context.phase is not Phase.SUBMIT and _FOR_PROGRAMS.fullmatch(each.name)
    ]
    if not candidates:
        return
    words = Counter(re.findall(r"\w+", job.source.text))
    starters = {command.index: command for command in (step.invocation for step in job.steps)}
    starters.update((launch.invocation.index, launch.invocation) for launch in job.launches)
    for each in candidates:
        entry = find(each.name)
        if entry is not None and entry.batch or words[each.name] != 1:
            continue
        for index in sorted(starters):
            starter = starters[index]
            variable = starter.state.variables.get(each.name)
            if index < each.order or variable is None or variable.span != each.span or variable.exported:
                continue
            if starter.context.parent is each.context.parent and all(way.fields for way in variable.alternatives):
                edits = () if variable.array else _exporting(job, each)
                yield Unexported(each.name, each.name_span, (), starter, None, variable.array, edits)
                break


def _exporting(job: Job, assignment: Assigned) -> tuple[Edit, ...]:
    """The edit that exports a variable at its assignment; none where that is part of something else.

    `export X=$(command)` would hide the command's exit status, so that the name is exported on a line before.
    """
    text = job.source.text
    start, end = assignment.span
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    if not text.startswith(assignment.name, start) or _OPENINGS.search(before) is None:
        return ()
    after = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)].strip()
    if after and not after.startswith((";", "#", "&&", "||", "}", ")")):
        return ()  # NAME=value before a command, or several assignments
    status = _status_matters(job, assignment)
    if not status:
        return (Edit(Span(start, start), "export "),)
    above = text[: max(line - 1, 0)].rpartition("\n")[2].rstrip()
    if before.strip() or above.endswith(("&&", "||", "|", "\\")):
        return ()
    return (Edit(Span(start, start), f"export {assignment.name}\n{before}"),)


def _status_matters(job: Job, assignment: Assigned) -> bool:
    """Whether a command in the value gives the assignment its exit status."""
    value = job.source.text[assignment.span.start : assignment.span.end]
    return "$(" in value.replace("$((", "") or "`" in value
