"""Installs that every task of a step does again, at the same time and often into the same environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.tools.tool_environments import Install, environment_place, install_of
from sbatchlint.bash.values import Phase, shown_text, span_of
from sbatchlint.job.commands.conditionals import is_asked_for
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import SHARED
from sbatchlint.job.steps import step_around
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.containers import Container
    from sbatchlint.job.steps import Step

# Loops in which the other tasks may wait for a sign.
_WAITING = Regex(r"\b(?:while|until)\b")


class RepeatedInstall(NamedTuple):
    """An install in a step of several tasks.

    `kind`: `race` (several tasks write one environment), `cost` (each node has its own, and fills it again), `sleep`
    (one does it, and the others wait a fixed time), `run` (`uv run` syncs first) or `host` (outside of the container
    in which `step` runs). `warm`: what did the same in one task before. `edits`: keep `uv run` from syncing.
    """

    kind: str
    install: Install
    step: Step
    warm: Invocation | None
    edits: tuple[Edit, ...] = ()

    @property
    def span(self) -> Span:
        """The words that say what is done: `uv sync`, `pip install`."""
        argv = self.install.command.argv
        first, last = span_of(argv[0]), span_of(argv[self.install.at])
        return Span(first.start, last.end) if first.end <= last.end else first


def repeated_installs(job: Job) -> Iterator[RepeatedInstall]:
    """Each once, in order of running."""
    installs = [each for each in map(install_of, job.invocations) if each is not None]
    seen: set[Span] = set()
    for each in installs:
        found = _judged(job, each, installs)
        if found is not None and found.span not in seen:
            seen.add(found.span)
            yield found


def _judged(job: Job, install: Install, installs: list[Install]) -> RepeatedInstall | None:
    command = install.command
    if command.phase is Phase.BATCH:
        return _on_host(job, install)
    step = step_around(command.context)
    if step is None or not (step.several_nodes or step.geometry.several):
        return None
    warm = _warm_up(install, installs)
    context = command.context
    if context.restricted:
        # `else sleep 10`: only the commands of the other tasks
        if install.kind != "uv run" and _sleeps(job, command):
            return RepeatedInstall("sleep", install, step, warm)
        return None
    if is_asked_for(command, step.invocation):
        return None
    if install.kind == "uv run":
        if step.geometry.several is not True:
            return None
        return RepeatedInstall("run", install, step, warm, _no_sync(job, install, installs))
    if install.kind == "uv sync" and step.geometry.several is not True and warm is not None:
        return None
    place = environment_place(job, install)
    if step.geometry.several is True or place.kind == SHARED and not place.per_node:
        return RepeatedInstall("race", install, step, warm)
    container = container_of(command)
    lost = container is not None and container.kind in ("pyxis", "docker", "podman", "enroot")
    return RepeatedInstall("cost", install, step, warm) if lost else None


def _warm_up(install: Install, installs: list[Install]) -> Invocation | None:
    """What did the same before in one task: a step of one, or the batch shell, with the same image."""
    image = _image(container_of(install.command))
    for each in installs:
        command = each.command
        if command.index >= install.command.index:
            break
        if _image(container_of(command)) != image or (each.kind == "pip install") != (install.kind == "pip install"):
            continue
        step = step_around(command.context)
        if command.phase is not Phase.TASK or step is not None and step.tasks == 1:
            return command
    return None


def _image(container: Container | None) -> str | None:
    if container is None:
        return None
    return shown_text(container.image or container.name or ())


def _sleeps(job: Job, command: Invocation) -> bool:
    """Whether the other tasks merely sleep while one runs this command."""
    context = command.context
    text = None if context.parent is None else context.parent.text
    if text is not None and _WAITING.search(text.string):
        return False
    return any(
        each.name == "sleep" and each.context.parent is context.parent and each.context.restricted == context.restricted
        for each in job.invocations
    )


def _no_sync(job: Job, install: Install, installs: list[Install]) -> tuple[Edit, ...]:
    """`--no-sync` behind `uv run`, where the script has synced before, there or in one task."""
    command = install.command
    image = _image(container_of(command))
    synced = any(
        each.kind == "uv sync" and each.command.index < command.index and _image(container_of(each.command)) == image
        for each in installs
    )
    if not synced or install.uv is None:
        return ()
    word = span_of(command.argv[install.uv.at])
    if job.source.slice(word) != "run":
        return ()
    return (Edit(Span(word.end, word.end), " --no-sync"),)


def _on_host(job: Job, install: Install) -> RepeatedInstall | None:
    """A sync in the batch shell, of a job whose later steps run in a container."""
    if install.kind != "uv sync" or container_of(install.command) is not None:
        return None
    for step in job.steps:
        if step.invocation.index > install.command.index and any(container_of(each) for each in step.program):
            return RepeatedInstall("host", install, step, None)
    return None
