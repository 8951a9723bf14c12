"""Which GPUs a script makes visible itself, against those that Slurm gives it.

Slurm sets CUDA_VISIBLE_DEVICES in the batch shell to the job's GPUs on that node, and anew in each task of a step, so
that what the batch shell exports does not reach a task (22.05 and 24.11: it is set or unset for every one). CUDA stops
reading at the first number that there is no GPU for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.trace import is_set
from sbatchlint.bash.values import Phase, Pieces, span_of, text_of
from sbatchlint.job.commands.argv import assignment_of
from sbatchlint.job.gpus import DEVICE_VARIABLES, step_gpus
from sbatchlint.job.ranks import QUIET
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.bash.trace import Context, Invocation
    from sbatchlint.job import Job

_IDS = Regex(r"[0-9]+(?:,[0-9]+)*")
# What the fault is; see `DeviceChoice`.
BEYOND, LOST, PART, SAME = "beyond", "lost", "part", "same"


class DeviceChoice(NamedTuple):
    """A literal list of GPUs that the script sets.

    `kind`: `beyond` where it names one that the job does not have there; `lost` where only steps follow, to which it
    does not get; `part` where it leaves out some of the job's GPUs; `same` where it names just these. `held`: the job's
    GPUs on the node. `edits`: what takes the assignment out, where that is a line of its own; `safe`: and nothing
    changes by it.
    """

    kind: str
    name: str
    span: Span
    ids: tuple[int, ...]
    held: int
    edits: tuple[Edit, ...]
    safe: bool


class _Setting(NamedTuple):
    name: str
    ids: tuple[int, ...]
    span: Span
    context: Context
    command: Invocation | None


def device_choices(job: Job) -> Iterator[DeviceChoice]:
    """The literal lists of GPUs in the batch script, each once, where it is certain what Slurm gives the job."""
    held = job.request.gpus_per_node()
    if held is None or held == 0 or job.request.asked("exclusive") or job.request.heterogeneous:
        return
    if job.phase is not Phase.BATCH:
        return
    found = {each.span: each for each in _settings(job)}
    several = len({each.ids for each in found.values()}) > 1
    for each in found.values():
        kind = _kind(job, each, held, several)
        if kind is not None:
            edits = _without(job, each)
            safe = kind == SAME and _only_steps(job) or kind == BEYOND and held == 1 and len(each.ids) == 1
            safe = safe and _is_read_nowhere(job, each.name)
            yield DeviceChoice(kind, each.name, each.span, each.ids, held, edits, safe)


def _kind(job: Job, setting: _Setting, held: int, several: bool) -> str | None:
    context = setting.context
    if max(setting.ids) >= held:
        return None if context.conditional else BEYOND
    shared = context.looped or context.background or setting.command is not None and setting.command.context.background
    if several or shared or context.conditional or setting.name != "CUDA_VISIBLE_DEVICES":
        return None  # each process gets its own
    if set(setting.ids) == set(range(held)):
        return SAME if setting.ids == tuple(range(held)) else None
    if setting.command is not None:
        return None  # for this one command alone
    if _only_steps(job):
        return LOST
    return PART if _works_in_batch_shell(job) else None


def _settings(job: Job) -> Iterator[_Setting]:
    """Every assignment of a literal list of numbers in the batch shell, also that before a command."""
    for assigned in job.assigned:
        if assigned.name in DEVICE_VARIABLES and assigned.context.phase is Phase.BATCH:
            if len(assigned.alternatives) == 1 and assigned.alternatives[0].fields is not None:
                fields = assigned.alternatives[0].fields
                ids = _ids(fields[0]) if len(fields) == 1 else None
                if ids:
                    yield _Setting(assigned.name, ids, assigned.span, assigned.context, _command(job, assigned.span))
    for invocation in job.invocations:
        if invocation.name == "env" and invocation.phase is Phase.BATCH:
            for name, field in map(_assignment, invocation.argv[1:]):
                ids = _ids(field) if name in DEVICE_VARIABLES and field else None
                if ids and name is not None:
                    yield _Setting(name, ids, span_of(field), invocation.context, invocation)


def _command(job: Job, span: Span) -> Invocation | None:
    """The command before whose name an assignment stands."""
    for invocation in job.invocations:
        if invocation.variables and invocation.span.start <= span.start < invocation.name_span.start:
            return invocation
    return None


def _assignment(field: Pieces) -> tuple[str | None, Pieces]:
    """The name and the value of a word `NAME=value`."""
    found = assignment_of(field)
    return (None, ()) if found is None else found


def _ids(field: Pieces) -> tuple[int, ...] | None:
    text = text_of(field)
    if text is None or any(piece.expansion is not None for piece in field):
        return None
    text = re.sub(r",\s*$|\s", "", text)
    return tuple(map(int, text.split(","))) if _IDS.fullmatch(text) else None


# --- who sees it -----------------------------------------------------------------------------------------


def _working(job: Job) -> Iterator[Invocation]:
    for invocation in job.invocations:
        if invocation.argv and not invocation.children and invocation.text is None and invocation.name not in QUIET:
            yield invocation


def _only_steps(job: Job) -> bool:
    """Whether every program of the script runs in a step, and each step has GPUs from Slurm."""
    if not job.steps or _works_in_batch_shell(job):
        return False
    return all(step_gpus(job, step).on_node for step in job.steps)


def _works_in_batch_shell(job: Job) -> bool:
    """Whether the batch shell itself starts a program that is more than preparation."""
    if any(launch.step is None and launch.invocation.phase is Phase.BATCH for launch in job.launches):
        return True
    of_steps = {id(each.invocation) for each in job.steps}
    for invocation in _working(job):
        if invocation.phase is Phase.BATCH and id(invocation) not in of_steps and invocation.name != "srun":
            from sbatchlint.job.launchers import is_python

            if is_python(invocation.argv[0]) or is_set(invocation, "CUDA_VISIBLE_DEVICES"):
                return True
    return False


def _is_read_nowhere(job: Job, name: str) -> bool:
    return len(re.findall(rf"(?<![A-Z_]){name}", job.source.text)) == 1


def _without(job: Job, setting: _Setting) -> tuple[Edit, ...]:
    """Takes an assignment out that is a line of its own."""
    if setting.command is not None:
        return ()
    line = job.source.line_of(setting.span.start)
    text = job.source.slice(Span(line.start, setting.span.start)).strip()
    rest = job.source.slice(Span(setting.span.end, line.end)).strip()
    if text not in ("", "export") or rest not in ("", ";", '"', "'"):
        return ()
    end = line.end + 1 if job.source.slice(Span(line.end, line.end + 1)) == "\n" else line.end
    return (Edit(Span(line.start, end), ""),)
