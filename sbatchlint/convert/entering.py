"""Puts a launcher that runs on the node into a container: `--container pyxis --image IMAGE --mounts MOUNTS`."""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.convert.wish import Goal, NotConvertible
from sbatchlint.convert.words import CommandWords
from sbatchlint.job import Job, Launch
from sbatchlint.programs import programs_with
from sbatchlint.source.edits import insert, remove
from sbatchlint.source.text import Span

# What sets up the node, and not the container.
_SETTING_UP = programs_with("software") | {"activate"}


def enter(draft: Draft, launch: Launch, goal: Goal) -> None:
    """Puts the launcher into the wanted container. Raises `NotConvertible`."""
    if goal.image is None:
        raise NotConvertible("it runs in no container: say --image, and --mounts")
    job, words = draft.job, CommandWords(draft.job, launch)
    before = [command for command in _of_batch_shell(job) if command.span.start < launch.launcher.span.start]
    draft.todos += [
        f"see that the image has what {command.name} on line {job.line(command.span.start)} sets up"
        for command in before
        if command.name in _SETTING_UP or command.name in ("source", ".") and "activate" in (_word(command) or "")
    ]
    change = _change_of_folder(before, goal)
    workdir = '"$PWD"' if change is None else _word(change)
    start = words.prefix.start
    if goal.container == "apptainer":
        bind = f"--bind {goal.mounts} " if goal.mounts else ""
        edits = [insert(start, f"apptainer exec --nv {bind}--pwd {workdir} {goal.image} ")]
    else:
        mounts = f"--container-mounts={goal.mounts} " if goal.mounts else ""
        options = f"--container-image={goal.image} {mounts}--container-workdir={workdir} --no-container-mount-home"
        if launch.step is None:
            edits = [insert(start, f"srun --kill-on-bad-exit=1 {options} ")]
        else:
            edits = [insert(launch.step.invocation.name_span.end, f" {options}")]
    if change is not None:
        line = job.source.line_of(change.span.start)
        if job.source.slice(line).strip() != job.source.slice(change.span):
            raise NotConvertible(f"the cd on line {job.line(line.start)} does not stand alone")
        edits.append(remove(Span(line.start, min(line.end + 1, len(job.source.own.text)))))
    elif not goal.mounts:
        draft.todos.append("say --mounts: the container has to see the working directory")
    draft.edit(edits)
    draft.decisions.append(f"it runs in {goal.image}, and begins in {workdir}")


def _change_of_folder(before: list[Invocation], goal: Goal) -> Invocation | None:
    """The one command that goes to the folder in which the program begins, if that is a folder of the container."""
    changes = [command for command in before if command.name in ("cd", "pushd")]
    folder = _word(changes[0]) if len(changes) == 1 else None
    targets = [mount.split(":")[1] for mount in (goal.mounts or "").split(",") if ":" in mount]
    inside = folder is not None and any(f"{folder}/".startswith(f"{target.rstrip('/')}/") for target in targets)
    return changes[0] if inside else None


def _of_batch_shell(job: Job) -> Iterator[Invocation]:
    return (each for each in job.invocations if each.phase is Phase.BATCH and each.context.parent is None)


def _word(command: Invocation) -> str | None:
    return text_of(command.argv[1]) if len(command.argv) > 1 else None
