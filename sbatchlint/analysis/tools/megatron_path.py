"""Training scripts of Megatron-LM that are started without its folder on PYTHONPATH.

Python puts the folder of a script first on sys.path, so that `python DIR/pretrain_gpt.py` finds the `megatron` beside
it; `python -m pretrain_gpt` puts the working folder there instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.tools.tool_environments import before, folder_of, install_of
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of
from sbatchlint.job.commands.argv import is_unknown
from sbatchlint.job.launchers import python_command, recognise
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job

_SCRIPT = Regex(r"(?P<folder>.*?3rdparty/Megatron-LM)/pretrain_\w+\.py", re.DOTALL)
_MODULE = Regex(r"pretrain_(?:gpt|bert|t5|vlm|mamba|retro|ict|vision_\w+)")
_MEGATRON = Regex(r"megatron", re.IGNORECASE)


class MissingPath(NamedTuple):
    """`module`: it is started as a module, which is not found then. `edits`: set PYTHONPATH for it."""

    span: Span
    program: str
    module: bool
    command: Invocation
    edits: tuple[Edit, ...]


def missing_paths(job: Job) -> Iterator[MissingPath]:
    """Each program once."""
    if any(install_of(each) is not None and "-e" in map(shown_text, each.argv) for each in job.invocations):
        return
    seen: set[Span] = set()
    for command in job.invocations:
        if command.children or command.state.sourced or not command.argv or _is_on_path(command):
            continue
        kind, field = _program(command)
        if field is None or span_of(field) in seen:
            continue
        text = shown_text(field)
        if kind == "module":
            folder = folder_of(job, command)
            if _MODULE.fullmatch(text) is None or folder is None or _in_megatron(folder):
                continue
            if any(each.name in ("module", "conda") for each in before(job, command)):
                continue
        elif _SCRIPT.fullmatch(text) is None:
            continue
        seen.add(span_of(field))
        edits = () if kind == "module" else _edits(job, command, field)
        yield MissingPath(span_of(field), text.rpartition("/")[2], kind == "module", command, edits)


def _program(command: Invocation) -> tuple[str, Pieces | None]:
    """What Python is to run: how it is given (`script` or `module`), and the word."""
    launcher = recognise(command.argv)
    if launcher is not None:
        return launcher.program_kind, None if launcher.program is None else launcher.argv[launcher.program]
    python = python_command(command.argv)
    return ("", None) if python is None or python.target is None else (python.kind, python.target)


def _is_on_path(command: Invocation) -> bool:
    """Whether PYTHONPATH names Megatron's folder, or may."""
    variable = command.state.variables.get("PYTHONPATH")
    values = [] if variable is None else [field for way in variable.alternatives for field in way.fields or ()]
    values += [value for name, value in command.variables if name == "PYTHONPATH"]
    for value in values:
        if _MEGATRON.search(shown_text(value)) or is_unknown(value):
            return True
        if any(each.name not in ("PYTHONPATH", "PWD", "HOME") for each in expansions(value)):
            return True
    return False


def _in_megatron(folder: Pieces) -> bool:
    """Whether a folder is Megatron's own, or nobody knows."""
    last = shown_text(folder).rstrip("/").rpartition("/")[2]
    return not re.fullmatch(r"[\w.-]+", last, re.ASCII) or _MEGATRON.search(last) is not None and "ridge" not in last


def _edits(job: Job, command: Invocation, field: Pieces) -> tuple[Edit, ...]:
    """PYTHONPATH before the command, where this is a statement of its own in the text that a task or the job runs."""
    span, file = span_of(field), job.source.text
    start = command.span.start
    folder = file[span.start : span.end].rpartition("/")[0]
    dollar = _dollar(job, command)
    if dollar is None or not re.fullmatch(r"(?:\$\w+|\$\{\w+\}|[\w./-])+", folder) or command.variables:
        return ()
    return (Edit(Span(start, start), f"PYTHONPATH={folder}:{dollar}{{PYTHONPATH:-}} "),)


def _dollar(job: Job, command: Invocation) -> str | None:
    """How a dollar is written for the shell that reads the command; None where that is not plain."""
    parent = command.context.parent
    if parent is None:
        return "$"
    if parent.name not in ("bash", "sh") or parent.text is None or command.kind:
        return None
    first = parent.text.field[0].start if parent.text.field else 0
    return {"'": "$", '"': "\\$"}.get(job.source.text[first - 1 : first])
