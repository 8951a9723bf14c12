"""What a job removes before it writes it: its own checkpoints at each start, or what another of its tasks has made.

A job that is requeued, or whose parts follow each other (an array of one at a time, jobs of one name with
`--dependency=singleton`), runs its script from the beginning each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.storage.outputs import made_paths, named_paths
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.job.commands.argv import partition
from sbatchlint.job.commands.conditionals import is_asked_for
from sbatchlint.job.paths import classify, key, under
from sbatchlint.job.steps import step_around
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step

# Options that say where a program keeps its checkpoints, or goes on from.
_KEEPING = Regex(
    r"-{0,2}(?:[\w.]+\.)?(?:save(?:[_-](?:dir|path|folder))?|load(?:[_-](?:dir|path))?|output[_-]?(?:dir|path)|work[_-]?dir"
    r"|(?:ckpt|checkpoints?)(?:[_-](?:dir|path|folder))?|resume(?:[_-]\w+)?|default[_-]root[_-]dir|exp(?:eriment)?[_-]dir"
    r"|explicit_log_dir)"
)
_RESUMING = Regex(
    r"-{0,2}(?:[\w.+]+\.)?(?:auto[_-]?resume|resume[_-]if[_-]exists|resume(?:[_-]from[_-]checkpoint)?|load)(?:=.*)?|--resume\S*"
)
_OFF = Regex(r"=(?:false|none|null|no|0)$", re.IGNORECASE)
_CHECKPOINT = Regex(r"check_?point|ckpt|iter_|global_?step|epoch|latest|\.pth?\b", re.IGNORECASE)
# Where NeMo and Megatron Bridge keep their runs unless they are told.
_DEFAULT = "nemo_experiments"
_NEMO = Regex(r"nemo|megatron|run_recipe|pretrain_", re.IGNORECASE)
# What differs between the runs of an array or of a chain of jobs, so that each has a folder of its own.
_OWN = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT"})


class Restart(NamedTuple):
    """Why the script runs again on the same files. `words`: for a message; `same_job`: with the same number.

    `habit`: many scripts have it though they are started once (`--load` of what they `--save`).
    """

    words: str
    span: Span
    same_job: bool
    habit: bool = False


class Removal(NamedTuple):
    """Something that is removed, and wanted.

    `kind`: `restart` (its checkpoints, at each start) or `tasks` (by every task, also after another has made it anew).
    `user`: the command that keeps its files there. `restart`: what starts the script again; `step`: whose tasks remove.
    """

    kind: str
    span: Span
    path: str
    user: Invocation
    restart: Restart | None = None
    step: Step | None = None


def removals(job: Job) -> Iterator[Removal]:
    """Each place once."""
    removing = [each for each in job.invocations if _removes(each)]
    if not removing:
        return
    restarts = list(_restarts(job))
    seen: set[Span] = set()
    for command in removing:
        step = step_around(command.context)
        if command.context.restricted or is_asked_for(command, None if step is None else step.invocation):
            continue
        for field in command.argv[1:]:
            if not field or shown_text(field).startswith("-") or span_of(field) in seen:
                continue
            found = None if is_asked_for(command) else _before_restart(job, command, field, restarts)
            found = found or _in_every_task(job, command, field)
            if found is not None:
                seen.add(found.span)
                yield found


def _removes(command: Invocation) -> bool:
    if command.name != "rm":
        return False
    words = [shown_text(field) for field in command.argv[1:]]
    return any(re.fullmatch(r"-\w*[rR]\w*|--recursive", word) or word.endswith("*") for word in words)


def _place(command: Invocation, field: Pieces) -> Span:
    """The word that is removed; the whole command where that is written elsewhere."""
    span, around = span_of(field), command.span
    return span if around.start <= span.start and span.end <= around.end else around


def _path(field: Pieces) -> str:
    """The path that is removed; of `FOLDER/*` the folder."""
    return re.sub(r"/[*?]+$", "", key(field)).removeprefix("./")


# --- at each start ---------------------------------------------------------------------------------


def _restarts(job: Job) -> Iterator[Restart]:
    request = job.request
    for name in ("requeue", "array", "dependency", "signal"):
        setting = request.given(name)
        if setting is None:
            continue
        text = setting.text or ""
        written = job.source.slice(setting.span)
        if name == "requeue" and request.requeue or name == "signal" and _requeues(job):
            yield Restart(f"`{written}`", setting.span, True)
        elif name == "array" and re.search(r"%1$", text) or name == "dependency" and "singleton" in text:
            yield Restart(f"`{written}`", setting.span, False)
    for command in job.invocations:
        words = [text_of(field) for field in command.argv]
        if words[:2] == ["scontrol", "requeue"]:
            yield Restart("`scontrol requeue`", command.span, True)


def _requeues(job: Job) -> bool:
    return any(each.name in ("scontrol", "trap") for each in job.invocations)


def _before_restart(job: Job, command: Invocation, field: Pieces, restarts: list[Restart]) -> Removal | None:
    path = _path(field)
    user = _keeper(job, command, path)
    if user is None:
        return None
    fresh = any(each.name in _OWN for each in expansions(field))
    for restart in restarts:
        if restart.same_job or not fresh:
            return Removal("restart", _place(command, field), path, user, restart)
    resumed = _resumes(user)
    if resumed is not None and not fresh:
        word = shown_text(resumed)
        restart = Restart(f"`{word}`", span_of(resumed), True, word.startswith("--load"))
        return Removal("restart", _place(command, field), path, user, restart)
    return None


def _keeper(job: Job, command: Invocation, path: str) -> Invocation | None:
    """The program behind a removal that keeps its checkpoints there."""
    last = path.rpartition("/")[2]
    for each in job.invocations:
        if each.index <= command.index or each.children or each.name in ("rm", "mkdir", "echo"):
            continue
        if last == _DEFAULT and any(_NEMO.search(shown_text(field)) for field in each.argv):
            return each
        for kept in _kept(each):
            if under(kept, path) or under(path, kept) and _CHECKPOINT.search(path[len(kept) :]):
                return each
    return None


def _kept(command: Invocation) -> Iterator[str]:
    """The folders in which a program keeps its checkpoints."""
    argv = command.argv
    for number, field in enumerate(argv[1:], 1):
        name, value = partition(field, "=")
        if _KEEPING.fullmatch(shown_text(name)) is None:
            continue
        if value is None and shown_text(name).startswith("-") and number + 1 < len(argv):
            value = argv[number + 1]
        if value:
            yield key(value).removeprefix("./")


def _resumes(command: Invocation) -> Pieces | None:
    """The word with which a program is told to go on from its own checkpoints."""
    saved: str | None = None
    for number, field in enumerate(command.argv[:-1]):
        if shown_text(field) == "--save":
            saved = key(command.argv[number + 1])
    for number, field in enumerate(command.argv):
        word = shown_text(field)
        if _RESUMING.fullmatch(word) is None or _OFF.search(word):
            continue
        if word.startswith("--load"):
            following = command.argv[number + 1] if number + 1 < len(command.argv) else ()
            if word != "--load" or saved is None or key(following) != saved:
                continue
        return field
    return None


# --- in every task ---------------------------------------------------------------------------------


def _in_every_task(job: Job, command: Invocation, field: Pieces) -> Removal | None:
    step = step_around(command.context)
    if step is None or not (step.geometry.several or step.several_nodes):
        return None
    location = classify(field, job.site)
    if (
        location.per_task
        or location.per_node
        or any(each.name in _OWN for each in expansions(field) if each.phase == 2)
    ):
        return None
    if location.private and step.geometry.several is not True or step.geometry.several is None:
        return None
    path = _path(field)
    for each in job.invocations:
        if each.index <= command.index or each.context.parent is not command.context.parent or each.name == "rm":
            continue
        made = [name.removeprefix("./") for name in (*made_paths(each), *named_paths(each))]
        nemo = path.rpartition("/")[2] == _DEFAULT and any(_NEMO.search(shown_text(word)) for word in each.argv)
        if nemo or any(under(name, path) for name in made):
            return Removal("tasks", _place(command, field), path, each, None, step)
    return None
