"""Docker containers in the background, which another command enters.

`docker run -d --name C IMAGE sleep infinity` and `docker exec C torchrun …` become one command, because containers of
pyxis and Apptainer end with their command.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, shown_text, text_of
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.job import Job
from sbatchlint.job.containers import Container
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

# Commands of containers that wait to be entered; a shell without a terminal would end at once.
_IDLE = frozenset({"sleep", "tail", "bash", "sh", "cat"})
_ENDING = frozenset({"stop", "kill", "rm", "start", "wait"})


class BackgroundContainer(NamedTuple):
    """The command that starts a container, the edits that remove it with the commands that end it, and to-dos."""

    run: Invocation
    edits: list[Edit]
    todos: list[str]


def entered(job: Job, starts: Sequence[Invocation], command: Invocation) -> BackgroundContainer:
    """The start of the container that a command enters; `starts`: all commands that start or enter containers.

    Raises `NotConvertible`.
    """
    container = command.spawn.info
    assert isinstance(container, Container)
    name = shown_text(container.name or ())
    line = job.line(command.span.start)
    same = [each for each in starts if _name(each) == name]
    runs = [each for each in same if _image(each) is not None]
    others = [job.line(each.span.start) for each in same if each not in runs and each is not command]
    told = name.replace(UNKNOWN_CHARACTER, "…")
    if len(runs) != 1:
        raise NotConvertible(
            f"line {line} enters {told}, a container that the script does not start: write a docker run with its image "
            "and mounts there"
        )
    if others:
        lines = ", ".join(map(str, sorted([line, *others])))
        raise NotConvertible(
            f"lines {lines} run commands in the container {told}: write one, {command.name} exec {told} bash -c '…'"
        )
    (run,) = runs
    started = job.line(run.span.start)
    own = None if run.spawn.command is None else shown_text(run.argv[run.spawn.command])
    if own is not None and own.rpartition("/")[2] not in _IDLE:
        raise NotConvertible(f"line {started} runs {own} in the container that line {line} enters")
    todos = [f"see that the image's own program, which line {started} started, is not needed"] if own is None else []
    return BackgroundContainer(run, [_removal(job, each) for each in (run, *_ending(job, name))], todos)


def _name(command: Invocation) -> str | None:
    info = command.spawn.info
    return shown_text(info.name) if isinstance(info, Container) and info.name is not None else None


def _image(command: Invocation) -> object:
    info = command.spawn.info
    return info.image if isinstance(info, Container) else None


def _ending(job: Job, name: str) -> Iterator[Invocation]:
    """The commands that stop or remove this container."""
    for command in job.invocations:
        words = [text_of(field) for field in command.argv]
        if command.name in ("docker", "podman") and words[1:2] and words[1] in _ENDING and words[-1] == name:
            yield command


def _removal(job: Job, command: Invocation) -> Edit:
    """The edit that removes a command on lines of its own, with the handling of its failure (`|| true`)."""
    outer = [command, *command.ancestors()][-1]
    text = job.source.own.text
    if outer.span.end > len(text):
        raise NotConvertible(f"{command.name} on line {job.line(command.span.start)} is not in the script itself")
    start, end = job.source.line_of(outer.span.start).start, job.source.line_of(outer.span.end).end
    after = text[outer.span.end : end].replace(" ", "").replace("2>/dev/null", "").replace(">/dev/null", "")
    if text[start : outer.span.start].strip() or after not in ("", "||true", "||:", "2>&1||true", "2>&1"):
        raise NotConvertible(f"{command.name} on line {job.line(outer.span.start)} does not stand alone")
    return Edit(Span(start, min(end + 1, len(text))), "")
