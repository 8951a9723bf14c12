"""Dollars that no shell expands: a program gets the text `$SLURM_NODEID` for an argument.

Either no shell reads the words again (`srun $CMD`, with `\\$SLURM_NODEID` in CMD), or there is one backslash too many
(`bash -c 'echo \\$SLURM_JOB_ID'`). Programs that may expand such a text themselves are left out: awk, sed, perl, make,
scripts of unknown content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.early import RANK_VARIABLES
from sbatchlint.bash.syntax.tree import Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Piece, Pieces, Text, shown_text
from sbatchlint.job.launchers import recognise
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

PRINTING = frozenset({"echo", "printf"})
# Programs that take their arguments as they are.
PLAIN = PRINTING | frozenset(["cat", "cd", "chmod", "cp", "date", "hostname", "ls", "mkdir", "mv", "rm", "touch"])
_python = re.compile(r"python[0-9.]*\Z").match
_dollar = re.compile(r"\$(?:\{(\w+)(?:(?::?[-=?+]|##?|%%?)[^{}$\s]*)?\}|([A-Za-z_]\w*))").finditer
_slurm = re.compile(r"SLURMD?_[A-Z_]+\Z").match
_harmless = re.compile(rf"[\w \t./:=,@%+\-${{}}{UNKNOWN_CHARACTER}]+\Z").match


class LiteralDollar(NamedTuple):
    """A variable that reaches a program as text.

    `kind`: `words` (srun starts the program without a shell), `value` (it stands in the value of a variable, which is
    not read again), `quotes` (single quotes keep the last shell from expanding it), `escape` (a backslash too many
    does). `command`: the program that gets it; `step`: of which step, if any. `span`: from the backslash or the dollar
    to the end of the name. `edits`, `safe`: what repairs it.
    """

    kind: str
    name: str
    span: Span
    command: Invocation
    step: Step | None
    edits: tuple[Edit, ...]
    safe: bool


def find_literal_dollars(job: Job) -> Iterator[LiteralDollar]:
    """Each such place once, in the order in which the programs run."""
    steps = {id(each): step for step in job.steps for each in step.program}
    seen: set[Span] = set()
    for command in job.invocations:
        if command.phase is Phase.SUBMIT or command.text is not None or command.children or command.piped_to:
            continue
        if any(">" in redirect.operator and redirect.fd in (None, "1") for redirect in command.redirects):
            continue
        for field, plainly in _fields(command):
            if "$" not in shown_text(field):
                continue
            for piece, name, braces, end in _dollars(field):
                if not _slurm(name) and (braces or not plainly or not _is_private(command, name)):
                    continue
                found = _found(job, command, piece, name, end, steps.get(id(command)))
                if found is not None and found.span not in seen:
                    seen.add(found.span)
                    yield found


def _fields(command: Invocation) -> Iterator[tuple[Pieces, bool]]:
    """What a program gets as it is: its words and its rank variables; and whether it is no mere message."""
    name = command.name or ""
    python = bool(_python(name))
    if not python and name not in PLAIN and recognise(command.argv) is None:
        return
    inline = [shown_text(field) for field in command.argv].index("-c") if python and _has_inline(command) else None
    for number, field in enumerate(command.argv[1:], 1):
        if inline is None or number <= inline:
            yield field, name not in PLAIN
    if name in PLAIN:
        return
    for _, field in command.variables:
        yield field, False
    for variable in RANK_VARIABLES:
        known = command.state.variables.get(variable)
        if known is not None and known.exported and len(known.alternatives) == 1 and known.alternatives[0].fields:
            yield known.alternatives[0].fields[0], False


def _has_inline(command: Invocation) -> bool:
    return any(shown_text(field) == "-c" for field in command.argv)


def _dollars(field: Pieces) -> Iterator[tuple[Piece, str, bool, int]]:
    """The literal variables in a field: the piece of the dollar, the name, whether it is in braces, where it ends."""
    string = shown_text(field)
    for match in _dollar(string):
        start, piece = _character(field, match.start())
        last, end_piece = _character(field, match.end() - 1)
        if piece is None or end_piece is None or piece.expansion is not None or end_piece.expansion is not None:
            continue
        if last < start:
            continue
        where = piece if len(str(piece.text)) == 1 else Piece("$", start, start + 1)
        yield where, match[1] or match[2], match[1] is not None, last + 1


def _character(field: Pieces, index: int) -> tuple[int, Piece | None]:
    """Where a character of a field stands in the file, and its piece."""
    at = 0
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if index < at + size:
            return piece.offset(index - at), piece
        at += size
    return 0, None


def _is_private(command: Invocation, name: str) -> bool:
    """Whether the script sets a variable that the program cannot see, so that it cannot expand it itself."""
    known = command.state.variables.get(name)
    return known is not None and bool(known.alternatives) and not known.exported


def _found(job: Job, command: Invocation, piece: Piece, name: str, end: int, step: Step | None) -> LiteralDollar | None:
    file = job.source.text
    shell = next((each for each in command.ancestors() if each.text is not None), None)
    text = job.text if shell is None else shell.text
    assert text is not None
    span = Span(piece.start, end)
    printing = command.name in PRINTING
    if _is_escaped(text, piece, file):
        if shell is None and step is not None:
            return LiteralDollar("words", name, span, command, step, *_shell_around(job, step))
        if shell is None and printing and not _is_copied(command, file):
            return None
        edits: tuple[Edit, ...] = ()
        start = len(file[: piece.end - 1].rstrip("\\"))
        slashes = piece.end - 1 - start
        if slashes in (1, 3):
            # of three, the shell before takes `\\\\` for one, which the last shell then finds before the dollar
            edits = (Edit(Span(start, start + slashes // 2 + 1), ""),)
            span = Span(start, end)
        safe = not printing
        if shell is None and printing:
            edits = ()
        return LiteralDollar("escape", name, span, command, step, edits, safe or shell is not None)
    if shell is not None and step is not None and not _is_in(text, piece, command.span):
        return LiteralDollar("value", name, span, command, step, (), False)
    if shell is None and step is not None:
        return LiteralDollar("words", name, span, command, step, *_shell_around(job, step))
    if printing or not _slurm(name):
        return None
    return LiteralDollar("quotes", name, span, command, step, (), False)


def _is_escaped(text: Text, piece: Piece, file: str) -> bool:
    """Whether the dollar stands in a program behind a backslash, which its shell takes away."""
    if piece.end - piece.start < 2:
        return False
    string = text.string
    at = string.find("\\$")
    while at >= 0:
        if text.span(at, at + 2) == piece.span:
            return True
        at = string.find("\\$", at + 2)
    return False


def _is_copied(command: Invocation, file: str) -> bool:
    """`echo \\"text \\$NAME\\"`: written for another shell's double quotes."""
    words = file[command.span.start : command.span.end].split(None, 1)
    return len(words) == 2 and words[1].startswith('\\"') and words[1].endswith('\\"')


def _is_in(text: Text, piece: Piece, span: Span) -> bool:
    """Whether the dollar is written where the command is, and not in the value of a variable."""
    return span.start <= piece.start < span.end


def _shell_around(job: Job, step: Step) -> tuple[tuple[Edit, ...], bool]:
    """`srun $CMD` to `srun bash -c "$CMD"`, where the whole command is one variable; safe where nothing in it means
    something else to a shell."""
    invocation = step.invocation
    if step.command is None or invocation.kind or invocation.ancestors():
        return (), False
    for node in nodes(job.program):
        if not isinstance(node, Simple) or not node.words:
            continue
        if job.text.span(node.words[0].start, node.words[-1].end) == invocation.span:
            last = node.words[-1]
            if not isinstance(last, Word) or len(last.parts) != 1:
                return (), False
            parameter = last.parts[0]
            if not isinstance(parameter, Parameter) or parameter.quoted or parameter.operator or parameter.index:
                return (), False
            known = invocation.state.variables.get(parameter.name)
            if known is None or known.array or len(known.alternatives) != 1 or not known.alternatives[0].fields:
                return (), False
            value = shown_text(known.alternatives[0].fields[0])
            if len(value.split()) != len(invocation.argv) - step.command or "\n" in value.strip():
                return (), False
            span = job.text.span(last.start, last.end)
            return (Edit(span, f'bash -c "{job.source.text[span.start : span.end]}"'),), bool(_harmless(value))
    return (), False
