"""A torchrun that is looked for on PATH, in a script whose Python lives in the environment of a uv project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.tools.tool_environments import is_activated, uv_command
from sbatchlint.bash.values import shown_text, span_of, text_of
from sbatchlint.job.launches import container_of
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job

# With these uv makes an environment that is not the project's.
_OTHER = ("no-project", "isolated", "script", "project", "directory", "package", "help")


class BareTorchrun(NamedTuple):
    """`sign`: the command that tells of the uv project. `synced`: whether that is a `uv sync` before. `edits`: start it
    through uv."""

    span: Span
    command: Invocation
    sign: Invocation
    edits: tuple[Edit, ...]


def bare_torchruns(job: Job) -> Iterator[BareTorchrun]:
    """Each once."""
    signs = []
    for each in job.invocations:
        uv = uv_command(each)
        if uv is not None and uv.verb in ("sync", "run") and not uv.has(*_OTHER):
            signs.append((each, uv.verb))
    seen: set[Span] = set()
    for launch in job.launches if signs else ():
        command = launch.invocation
        if text_of(command.argv[0]) != "torchrun" or any(_provides(each) for each in command.ancestors()):
            continue
        span = span_of(command.argv[0])
        image = _image(command)
        own = [(each, verb) for each, verb in signs if _image(each) == image]
        if not own or span in seen or is_activated(job, command):
            continue
        seen.add(span)
        synced = any(verb == "sync" and each.index < command.index for each, verb in own)
        edits: tuple[Edit, ...] = ()
        if job.source.slice(span) == "torchrun":
            run = "uv run --no-sync" if synced else "uv run"
            edits = (Edit(span, f"{run} python -m torch.distributed.run"),)
        yield BareTorchrun(span, command, own[0][0], edits)


def _provides(command: Invocation) -> bool:
    """Whether a wrapper brings an environment with it: `uv run`, `conda run`, `poetry run`."""
    return getattr(command.spawn, "kind", "").endswith(" run")


def _image(command: Invocation) -> str | None:
    container = container_of(command)
    return None if container is None else shown_text(container.image or container.name or ())
