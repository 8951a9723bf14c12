"""The variable at a place, the phase in which it is expanded, and its values there."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.bash.values import Phase, expansions, text_of
from sbatchlint.job import Job
from sbatchlint.job.environment import NODE_COUNTS, TASK_COUNTS
from sbatchlint.report.plan_view import Plan
from sbatchlint.slurm.environment import find
from sbatchlint.source.secrets import redacted
from sbatchlint.source.text import Span

_WORD = re.compile(r"[A-Za-z_]\w*")
MOST_VALUES = 8


class Use(NamedTuple):
    """A variable where it is used.

    `values`: those that the script gives it there, as far as they are known, without secrets; of an array, its elements
    in parentheses.
    """

    name: str
    span: Span
    phase: Phase
    values: tuple[str, ...]


def name_at(text: str, offset: int) -> tuple[str, Span] | None:
    """The name of a variable or a function at a place, and where it is."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for match in _WORD.finditer(text, start, len(text) if end < 0 else end):
        if match.start() <= offset <= match.end():
            return match[0], Span(*match.span())
    return None


def use_at(job: Job, text: str, offset: int) -> Use | None:
    """The variable that is expanded or assigned at a place; None for none."""
    named = name_at(text, offset)
    if named is None:
        return None
    name, span = named
    phases = [
        expansion.phase
        for invocation in job.invocations
        for word in invocation.argv
        for expansion in expansions(word)
        if expansion.name == name and _touches(expansion.span, offset)
    ]
    values: dict[str, None] = {}
    for read in job.trace.reads:
        if read.name == name and _touches(read.span, offset):
            phases.append(read.context.phase)
            for alternative in read.variable.alternatives if read.variable is not None else ():
                known = [text_of(field) for field in alternative.fields or ()]
                if known and None not in known:
                    words = " ".join(map(str, known))
                    shown = redacted(f"{name}={words}")[len(name) + 1 :]  # the name may tell that it is a secret
                    values[shown if len(known) == 1 else f"({shown})"] = None
    before = text[max(span.start - 2, 0) : span.start]
    if not phases and (job.outer is not None or not before.endswith(("$", "${"))):
        return None
    return Use(name, span, max(phases, default=job.phase), tuple(values)[:MOST_VALUES])


def _touches(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def values_of(job: Job, use: Use, plan: Plan | None) -> str:
    """The values of a variable of Slurm in a phase, in words."""
    entry = find(use.name)
    assert entry is not None
    if use.values:
        return "the script sets it: " + " or ".join(f"`{value}`" for value in use.values)
    if use.phase is Phase.SUBMIT:
        return "not set there, unless the shell is itself part of a job"
    if use.phase is Phase.TASK:
        seen = _of_tasks(use.name, plan)
        if seen:
            return seen
        if entry.varies:
            return f"another value for each {entry.varies}"
        return "the same in all tasks of the step" if entry.task else "not set in tasks"
    if not entry.batch:
        return f"not set in the batch script; write `${entry.twin}`" if entry.twin else "not set in the batch script"
    known = _in_batch(job, use.name, entry.value)
    if known is not None:
        note = f", while each {entry.varies} of a step has its own" if entry.varies else ""
        return f"**{known}** in the batch script{note}"
    if entry.when == "options":
        options = ", ".join(f"`--{name}`" for name in entry.options)
        return f"set if one of {options} is"
    return {
        "always": "set in each job; the value is known only when it runs",
        "gpus": "set in jobs that ask for GPUs",
        "array": "set in job arrays: another value for each job of it",
        "het": "set in heterogeneous jobs",
        "requeue": "set in jobs that were requeued",
    }.get(entry.when, "set at some sites")


def _in_batch(job: Job, name: str, value: str) -> str | None:
    request = job.request
    if value.startswith("option "):
        option = value.removeprefix("option ")
        return request.value(option) if request.has_option(option) else None
    if name in NODE_COUNTS:
        nodes = request.exact_nodes()
        return None if nodes is None else str(nodes)
    if name in TASK_COUNTS:
        tasks = request.effective_tasks()
        return None if tasks is None else str(tasks)
    return value if value == "0" else None


def _of_tasks(name: str, plan: Plan | None) -> str:
    """The values in the first tasks of the steps, as the plan has them."""
    told = []
    for step in plan["steps"] if plan is not None else ():
        values = [task["variables"].get(name) for task in step["by_task"] or ()]
        if values and None not in values:
            told.append(f"**{_shortened(values)}** in the tasks of line {step['line']}")
    return "; ".join(dict.fromkeys(told))


def _shortened(values: Iterable[str]) -> str:
    found = list(dict.fromkeys(values))
    if len(found) > 3 and found == [str(number) for number in range(len(found))]:
        return f"0 to {len(found) - 1}"
    return ", ".join(found[:MOST_VALUES]) + (", …" if len(found) > MOST_VALUES else "")
