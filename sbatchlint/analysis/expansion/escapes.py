"""How a text that is expanded too early can be left to the shell in each task: by a backslash before its `$`."""

from typing import NamedTuple

from sbatchlint.analysis.expansion.early import EarlyUse
from sbatchlint.analysis.expansion.reads import PRINTING
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    CommandSubstitution,
    Node,
    Parameter,
)
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.values import Expansion, Phase, expansions
from sbatchlint.job import Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once


class Escape(NamedTuple):
    """What to write in place of an expansion, so that the task's shell makes it.

    `safe`: whether nothing else uses the text.
    """

    text: str
    safe: bool


def escape(job: Job, use: EarlyUse) -> Escape | None:
    """What makes each task expand the text itself; None where a backslash would not do that, or more than that."""
    file, expansion = job.source.text, use.expansion
    postponed = _postponed(expansion, file)
    container = container_of(use.command)
    if postponed is None or container is not None and container.kind in ("docker", "podman"):
        return None  # such a container gets none of the job's variables
    # In a script inside a string or heredoc a backslash more may be one for the shell outside.
    if job.is_embedded and file[expansion.span.start - 1 : expansion.span.start] == "\\":
        return None
    read, written = postponed
    if not _expands_once(use, read):
        return None
    return Escape(written, not _is_spliced(expansion, file) and expansion not in _used_by_batch_shell(job))


def is_plain(expansion: Expansion, file: str) -> bool:
    """Whether the place holds `$NAME` or `${NAME…}` itself, so that a backslash before it postpones it."""
    written = file[expansion.span.start : expansion.span.end]
    return written.startswith("$") and not written.startswith(("$(", "$[")) and expansion.name in written


def _postponed(expansion: Expansion, file: str) -> tuple[str, str] | None:
    """What the task's shell is to read, and how that is written in double quotes or a heredoc; None where moving the
    place of expansion could change more than the place."""
    written = file[expansion.span.start : expansion.span.end]
    if expansion.name == "HOSTNAME" and written in ("$HOSTNAME", "${HOSTNAME}"):
        written = "${SLURMD_NODENAME}" if "{" in written else "$SLURMD_NODENAME"  # HOSTNAME is the same everywhere
        return written, "\\" + written
    if is_plain(expansion, file):
        return written, "\\" + written
    if written.startswith("`") and written.endswith("`"):
        written = f"$({written[1:-1]})"
    inside = written[2:-1]
    if not written.startswith("$(") or any(letter in inside for letter in '"\\`\n'):
        return None
    # what is quoted inside stays as it is; a variable of the batch shell may be unknown in the task
    expanded = (Parameter, CommandSubstitution, Arithmetic)
    if any(isinstance(node, expanded) for node in nodes(parse(inside).statements)):
        return None
    return written, "\\$(" + inside.replace("$", "\\$") + ")"


def _expands_once(use: EarlyUse, written: str) -> bool:
    """Whether `$NAME` or `$(…)`, were it still unexpanded, would be expanded just once more: by the one shell in the
    task."""
    if len(use.shells) != 1:
        return False
    program = use.shells[0].text
    assert program is not None
    at = 0
    for piece in program.field:
        size = 1 if piece.text is None else len(piece.text)
        if piece.expansion == use.expansion:
            string = program.string[:at] + written + program.string[at + size :]
            return any(_is_expansion(node, at, at + len(written)) for node in nodes(parse(string)))
        at += size
    return False


def _is_expansion(node: Node, start: int, end: int) -> bool:
    if isinstance(node, (Arithmetic, ArithmeticCommand)):
        return node.expression_start <= start and end <= node.expression_end
    if isinstance(node, ArithmeticFor):
        return node.header_start <= start and end <= node.header_end
    return isinstance(node, (Parameter, CommandSubstitution)) and (node.start, node.end) == (start, end)


def _is_spliced(expansion: Expansion, file: str) -> bool:
    """Whether it stands in `'…'"$NAME"'…'`, quotes within quotes."""
    at = expansion.span.start
    return file[at - 1 : at] == '"' and file[at - 2 : at - 1] == "'" or file[at - 1 : at] == "'"


@once
def _used_by_batch_shell(job: Job) -> frozenset[Expansion]:
    """What commands of the batch shell itself use, other than to print it or hand it to a step."""
    found: set[Expansion] = set()
    for command in job.invocations:
        passing = command.name in PRINTING or command.name in ("date", "srun", "cat", "tee")
        if command.phase is Phase.BATCH and not passing:
            found.update(each for field in command.argv for each in expansions(field))
    return frozenset(found)
