"""Checkpoints or new files are lost: the job removes what it, or another task, still needs.

A job with `--requeue`, an array of one job at a time (`--array=1-10%1`) or `--dependency=singleton` runs its script
from the first line at each start. `rm -rf checkpoints` before the training then deletes the checkpoints of the previous
run, and every part of the chain begins at step 0.

In the shell program of a step `rm -rf` runs once in each task. The tasks do not wait for each other there, so a late
one deletes what an early one has created.

An error where a restarted job loses its checkpoints; a warning for removals that tasks on several nodes do at the same
time; advice where the restart is only a habit of the site, or tasks share a node.

## Fix

None: only you know whether the old files should go at all. `if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]` is true in the
first run of a requeued job, and `[ "$SLURM_ARRAY_TASK_ID" -eq "$SLURM_ARRAY_TASK_MIN" ]` in the first of an array.

## References

sbatch(1), --requeue, SLURM_RESTART_COUNT; NeMo's exp_manager, `resume_if_exists`
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.analysis.storage.written_paths import created_paths, is_recursive, named_paths, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import partition
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import SHARED, classify, key, under
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card("SB811", "rm-before-resume", severity="error", fix="never", since="0.1.0", when=Commands("rm"))

# Options that name the folder in which a program keeps its checkpoints, or from which it resumes.
KEEPING = Regex(
    r"-{0,2}(?:[\w.]+\.)?(?:save(?:[_-](?:dir|path|folder))?|load(?:[_-](?:dir|path))?|output[_-]?(?:dir|path)|work[_-]?dir"
    r"|(?:ckpt|checkpoints?)(?:[_-](?:dir|path|folder))?|resume(?:[_-]\w+)?|default[_-]root[_-]dir|exp(?:eriment)?[_-]dir"
    r"|explicit_log_dir)"
)
RESUMING = Regex(
    r"-{0,2}(?:[\w.+]+\.)?(?:auto[_-]?resume|resume[_-]if[_-]exists|resume(?:[_-]from[_-]checkpoint)?|load)(?:=.*)?|--resume\S*"
)
OFF = Regex(r"=(?:false|none|null|no|0)$", re.IGNORECASE)
CHECKPOINT = Regex(r"check_?point|ckpt|iter_|global_?step|epoch|latest|\.pth?\b", re.IGNORECASE)
# The default folder for runs of NeMo and Megatron Bridge.
DEFAULT = "nemo_experiments"
NEMO = Regex(r"nemo|megatron|run_recipe|pretrain_", re.IGNORECASE)
# Variables that differ between the runs of an array or a chain of jobs, so that each has its own folder.
OWN = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT"})


class Restart(NamedTuple):
    """Why the script runs again on the same files. `words`: as written; `same_job`: whether the job id stays the same.

    `habit`: whether scripts that run once often have it too (`--load` of what they `--save`).
    """

    words: str
    span: Span
    same_job: bool
    habit: bool = False


def check(job: Job) -> Iterator[Finding]:
    restarts: list[Restart] | None = None
    for command in commands_named(job, "rm"):
        several = is_recursive(command) or any(word.endswith("*") for word in command.words[1:])
        if not several or command.context.restricted:
            continue
        step = enclosing_step(command.context)
        if depends_on_test(command, None if step is None else step.invocation):
            continue
        if restarts is None:
            restarts = list(_restarts(job))
        for field in command.argv[1:]:
            if not field or shown_text(field).startswith("-"):
                continue
            found = None if depends_on_test(command) else _before_restart(job, command, field, restarts)
            found = found or _in_every_task(job, command, field)
            if found is not None:
                yield found


def _place(command: Invocation, field: Pieces) -> Span:
    """The place of the removed word; the whole command where that is written elsewhere."""
    span, whole = span_of(field), command.span
    return span if whole.contains(span) else whole


def _path(field: Pieces) -> str:
    """The path that is removed, with `FOLDER/*` as the folder."""
    return re.sub(r"/[*?]+$", "", key(field)).removeprefix("./")


# --- at each start -----------------------------------------------------------------------------------


def _restarts(job: Job) -> Iterator[Restart]:
    request = job.request
    requeues = bool(commands_named(job, "scontrol", "trap"))
    for name in ("requeue", "array", "dependency", "signal"):
        setting = request.setting(name)
        if setting is None:
            continue
        text, written = setting.text or "", job.source.slice(setting.span)
        if name == "requeue" and request.requeue or name == "signal" and requeues:
            yield Restart(written, setting.span, True)
        elif name == "array" and text.endswith("%1") or name == "dependency" and "singleton" in text:
            yield Restart(written, setting.span, False)
    for command in commands_named(job, "scontrol"):
        if command.words[1:2] == ["requeue"]:
            yield Restart("scontrol requeue", command.span, True)


def _before_restart(job: Job, command: Invocation, field: Pieces, restarts: list[Restart]) -> Finding | None:
    user = _keeper(job, command, _path(field))
    if user is None:
        return None
    differs = any(each.name in OWN for each in expansions(field))
    restart = next((each for each in restarts if each.same_job or not differs), None)
    resumed = _resuming_word(user) if restart is None and not differs else None
    if resumed is not None:
        word = shown_text(resumed)
        restart = Restart(word, span_of(resumed), True, word.startswith("--load"))
    if restart is None:
        return None
    first = 'if `[ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]`' if restart.same_job else "in the first run"
    return Finding(
        _place(command, field),
        f"each start (`{restart.words}`, line {job.line(restart.span.start)}) removes the checkpoints on line "
        f"{job.line(user.span.start)}, so training begins again; remove them only {first}",
        "info" if restart.habit else "error",
        related=[(restart.span, "starts it again"), (user.name_span, "keeps its checkpoints there")],
    )


def _keeper(job: Job, command: Invocation, path: str) -> Invocation | None:
    """The program after a removal that keeps its checkpoints there."""
    for invocation, folders, default in _keepers(job):
        if invocation.index <= command.index:
            continue
        if default and path.rpartition("/")[2] == DEFAULT:
            return invocation
        for kept in folders:
            if under(kept, path) or under(path, kept) and CHECKPOINT.search(path[len(kept) :]):
                return invocation
    return None


@once
def _keepers(job: Job) -> list[tuple[Invocation, list[str], bool]]:
    """The programs that keep checkpoints, each with the folders in its words, and whether it has a default folder."""
    found = []
    for command in job.invocations:
        if not command.children and command.name not in ("rm", "mkdir", "echo"):
            folders, default = list(_kept(command)), _keeps_default(command)
            if folders or default:
                found.append((command, folders, default))
    return found


def _keeps_default(command: Invocation) -> bool:
    """Whether a program is one of NeMo's, which have a default folder for their runs."""
    return any(NEMO.search(word) for word in command.words)


def _kept(command: Invocation) -> Iterator[str]:
    """The folders in which a program keeps its checkpoints."""
    argv = command.argv
    for field, following in zip(argv[1:], (*argv[2:], None)):
        name, value = partition(field, "=")
        if KEEPING.fullmatch(shown_text(name)) is None:
            continue
        if value is None and shown_text(name).startswith("-"):
            value = following
        if value:
            yield key(value).removeprefix("./")


def _resuming_word(command: Invocation) -> Pieces | None:
    """The word that makes a program resume from its own checkpoints; None where there is none."""
    pairs = list(zip(command.argv, (*command.argv[1:], ())))
    saved = next((key(value) for field, value in reversed(pairs) if value and shown_text(field) == "--save"), None)
    for field, value in pairs:
        word = shown_text(field)
        if RESUMING.fullmatch(word) is None or OFF.search(word):
            continue
        if not word.startswith("--load") or word == "--load" and saved is not None and key(value) == saved:
            return field
    return None


# --- in every task -----------------------------------------------------------------------------------


def _in_every_task(job: Job, command: Invocation, field: Pieces) -> Finding | None:
    step = enclosing_step(command.context)
    if step is None or step.geometry.several is None or not (step.geometry.several or step.several_nodes):
        return None
    location = classify(field, job.site, container_of(command), folder_of(job, command))
    own = any(each.name in OWN for each in expansions(field) if each.phase is Phase.TASK)
    if own or location.per_task or location.per_node or location.private and not step.geometry.several:
        return None
    path = _path(field)
    for invocation in job.invocations[command.index + 1 :]:
        if invocation.context.parent is not command.context.parent or invocation.name == "rm":
            continue
        paths = (*redirected_paths(invocation), *created_paths(invocation), *named_paths(invocation))
        by_default = path.rpartition("/")[2] == DEFAULT and _keeps_default(invocation)
        if not by_default and not any(under(name.removeprefix("./"), path) for name in paths):
            continue
        tasks = f"each of the {step.tasks} tasks" if step.tasks else "every task"
        return Finding(
            _place(command, field),
            f"{tasks} of the step on line {job.line(step.span.start)} runs this, and a late one removes the output of "
            f"line {job.line(invocation.span.start)}; remove it once, before the srun",
            "warning" if step.geometry.several or location.kind == SHARED else "info",
            related=[(step.invocation.name_span, "the step"), (invocation.name_span, "makes it again")],
        )
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --requeue
        OUT=/lustre/team/run1
        «rm -rf $OUT»
        srun torchrun --nnodes=2 train.py --output_dir $OUT
        """,
        title="a requeued job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --array=1-10%1
        rm -rf «nemo_experiments»
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain
        """,
        title="one part of the array after the other",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        rm -rf «/lustre/run/*»
        srun python finetune.py --output-dir /lustre/run --resume
        """,
        title="the program is told to go on from there",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun bash -c "rm -rf «/lustre/run/cache» && mkdir -p /lustre/run/cache && python train.py"
        """,
        title="eight tasks on each node",
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --requeue
        OUT=/lustre/team/run1
        if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
            rm -rf $OUT
        fi
        srun torchrun --nnodes=2 train.py --output_dir $OUT
        """,
        title="in the first run only",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        OUT=/lustre/team/run1
        rm -rf $OUT
        srun torchrun --nnodes=2 train.py --output_dir $OUT
        """,
        title="a job that starts once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun bash -c 'if [ $SLURM_PROCID -eq 0 ]; then rm -rf /lustre/run; fi; python train.py --output_dir /lustre/run'
        """,
        title="one task does it",
    ),
]
