"""How the tasks compute a rank that the batch shell computes: a shell in each task sets it and starts the program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.early import RANK_VARIABLES, EarlyUse, early_exports
from sbatchlint.bash.trace import Assigned
from sbatchlint.bash.values import Phase, is_open, span_of
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step

_PLAIN = Regex(r"(\w+)=(\"?)(\$(?:SLURM_(?:PROCID|LOCALID|NODEID)|\{SLURM_(?:PROCID|LOCALID|NODEID)\}))\2")


class Move(NamedTuple):
    """The edits, and what the tasks' shell runs (`RANK=$SLURM_PROCID exec "$@"`)."""

    edits: tuple[Edit, ...]
    program: str


def move(job: Job, use: EarlyUse) -> Move | None:
    """All ranks of the steps that get this one, moved together; None where a step or a value is not plain enough."""
    assigned = _ranks(job)
    wanted = next((each for each in assigned if _holds(each, use)), None)
    if wanted is None or use.command.kind != "srun":
        return None
    steps: dict[int, tuple[Step, list[Assigned]]] = {}
    for step in job.steps:
        found = [each for other in early_exports(step) for each in assigned if _holds(each, other)]
        if found:
            steps[step.invocation.index] = (step, sorted(set(found), key=lambda each: each.span))
    edits: dict[Span, Edit] = {}
    program = ""
    moved: set[Span] = set()
    for step, ranks in steps.values():
        at = _start_of_program(job, step)
        if at is None or not any(each.span == wanted.span for each in ranks) and len(steps) > 1:
            return None
        program = " ".join(_plain(job, each) or "" for each in ranks) + ' exec "$@"'
        edits[Span(at, at)] = Edit(Span(at, at), f"bash -c '{program}' _ ")
        moved.update(each.span for each in ranks)
    read = {each.name for each in job.trace.reads if each.context.phase is not Phase.TASK}
    for each in assigned:
        if each.span in moved and each.name not in read:
            edit = _removal(job, each)
            if edit is not None:
                edits[edit.span] = edit
    return Move(tuple(sorted(edits.values(), key=lambda edit: edit.span)), program) if steps else None


def _ranks(job: Job) -> list[Assigned]:
    """The plain assignments of ranks in the batch shell."""
    return [
        each
        for each in job.assigned
        if each.name in RANK_VARIABLES and each.context.phase is Phase.BATCH and _plain(job, each) is not None
    ]


def _holds(assigned: Assigned, use: EarlyUse) -> bool:
    return assigned.span.start <= use.expansion.span.start < assigned.span.end


def _plain(job: Job, assigned: Assigned) -> str | None:
    """`RANK=$SLURM_PROCID` as it is written, without quotes."""
    match = _PLAIN.fullmatch(job.source.text[assigned.span.start : assigned.span.end])
    return f"{match[1]}={match[3]}" if match else None


def _start_of_program(job: Job, step: Step) -> int | None:
    """Where the command of an srun begins in the file, where it is written behind the srun itself."""
    if step.command is None or not step.certain:
        return None
    field = step.invocation.argv[step.command]
    start, end = span_of(field)
    outside = not step.invocation.span.start <= start < end <= step.invocation.span.end
    return (
        None
        if is_open(field) or outside or job.in_quoted_text(start) and job.source.text[start] not in "\"'"
        else start
    )


def _removal(job: Job, assigned: Assigned) -> Edit | None:
    """Takes away `export RANK=…`, with its line where nothing else is on it."""
    text = job.source.text
    start, end = assigned.span
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    before, after = text[line:start], text[end:stop]
    if re.fullmatch(r"\s*(?:export\s+)?", before) and not after.strip():
        return Edit(Span(line, min(stop + 1, len(text))), "")
    if re.fullmatch(r"\s*export\s+(?:\S+=\S*\s+)*", before) and re.fullmatch(r"(?:\s+\w+=[^\s;&|#]*)*\s*", after):
        return Edit(Span(start, end + 1), "") if after.strip() else Edit(Span(start - 1, end), "")
    rest = re.match(r"[ \t]+(?=[\w./$\"'])", after)
    if rest is not None and re.fullmatch(r"(?:.*[;&|({]|.*\b(?:then|do|else)\b)?\s*(?:\w+=[^\s;&|]*\s+)*", before):
        return Edit(Span(start, end + rest.end()), "")  # `RANK=… srun …`
    return None
