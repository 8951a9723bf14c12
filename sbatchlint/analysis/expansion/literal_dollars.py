"""Dollars that no shell expands: a program gets the literal argument `$SLURM_NODEID`.

Either no shell parses the words again (`srun $CMD`, with `\\$SLURM_NODEID` in CMD), or there is one backslash too many
(`bash -c 'echo \\$SLURM_JOB_ID'`). Programs that may expand such a string themselves are left out: awk, sed, perl,
make, scripts with unknown contents.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.expansion.early import RANK_VARIABLES
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Piece, Pieces, Text, shown_text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import all_words, commands_of
from sbatchlint.job.steps import Step
from sbatchlint.programs import programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_PRINTING = programs_with("prints")
_PLAIN = _PRINTING | {"cat", "cd", "chmod", "cp", "date", "hostname", "ls", "mkdir", "mv", "rm", "touch"}
_PYTHON = Regex(r"python[0-9.]*")
_DOLLAR = Regex(r"\$(?:\{(\w+)(?:(?::?[-=?+]|##?|%%?)[^{}$\s]*)?\}|([A-Za-z_]\w*))")
_NAME_OF_SLURM = Regex(r"SLURMD?_[A-Z_]+")


def is_only_logged(command: Invocation) -> bool:
    """Whether a command only prints, and into the log: not to a file, a pipe or a substitution."""
    elsewhere = command.redirects or command.piped_to or command.context.captured
    return command.name in _PRINTING and not elsewhere


class LiteralDollar(NamedTuple):
    """A variable that reaches a program unexpanded.

    `dollar`: the piece of the dollar itself. `span`: from there, or from a backslash before it, to the end of the name.
    `command`: the program that gets it; `step`: its step, None if there is none; `shell`: the innermost shell that
    parsed the command, None for the batch shell. `escaped`: whether a backslash, not a quote, keeps it from being
    expanded.
    """

    name: str
    span: Span
    dollar: Piece
    command: Invocation
    step: Step | None
    shell: Invocation | None
    escaped: bool

    @property
    def has_no_shell(self) -> bool:
        """Whether srun starts the program without a shell that would parse the words again."""
        return self.shell is None and self.step is not None

    @property
    def of_slurm(self) -> bool:
        """Whether the name looks like that of a Slurm variable."""
        return _NAME_OF_SLURM.fullmatch(self.name) is not None


@once
def literal_dollars(job: Job) -> list[LiteralDollar]:
    """Variables that reach programs unexpanded, in the order in which these run; one for each place and program."""
    launchers = {launch.invocation.index: launch.invocation for launch in job.launches}
    found = []
    escapes: dict[int, set[Span]] = {}
    in_words = "$" in all_words(job)
    takers = commands_of(job, _takes_dollars if in_words else _is_python)
    for index, command in sorted(({each.index: each for each in takers} | launchers).items()):
        if command.phase is Phase.SUBMIT or command.text is not None or command.children or command.piped_to:
            continue
        if command.name is None and index not in launchers:
            continue  # it may be another program of that name
        fields = _fields_of_words(command) if in_words else []
        if command.name not in _PLAIN:
            fields += _fields_of_variables(command)
        if not fields:
            continue
        if any(">" in redirect.operator and redirect.fd in (None, "1") for redirect in command.redirects):
            continue
        shell = next((each for each in command.ancestors() if each.text is not None), None)
        text = job.text if shell is None or shell.text is None else shell.text
        for field, is_argument in fields:
            for dollar, name, braces, end in _dollars(field):
                if not _NAME_OF_SLURM.fullmatch(name) and (braces or not is_argument or not _is_private(command, name)):
                    continue
                step, escaped = _steps(job).get(id(command)), _is_escaped(text, dollar, escapes)
                found.append(LiteralDollar(name, Span(dollar.start, end), dollar, command, step, shell, escaped))
    return found


@once
def _steps(job: Job) -> dict[int, Step]:
    """The steps, by the identity of each command of their programs."""
    return {id(each): step for step in job.steps for each in step.program}


def _is_python(name: str) -> bool:
    return name.startswith("python") and _PYTHON.fullmatch(name) is not None


def _takes_dollars(name: str) -> bool:
    """Whether a program uses its arguments as they are."""
    return name in _PLAIN or _is_python(name)


def _fields_of_words(command: Invocation) -> list[tuple[Pieces, bool]]:
    """The words with a dollar that a program gets as they are, and whether they are arguments rather than a message."""
    words = command.words
    if "$" not in "".join(words):
        return []
    if command.name in _PLAIN:
        return [(field, False) for field, word in zip(command.argv[1:], words[1:], strict=True) if "$" in word]
    python = _is_python(command.name or "")
    end = words.index("-c") + 1 if python and "-c" in words else len(words)  # what follows is Python
    return [(field, True) for field, word in zip(command.argv[1:end], words[1:end], strict=True) if "$" in word]


def _fields_of_variables(command: Invocation) -> list[tuple[Pieces, bool]]:
    """The values with a dollar in a program's rank variables, and in variables set for it alone."""
    values = [field for _, field in command.variables]
    for _, known in command.state.variables.among(RANK_VARIABLES):
        if known.exported and len(known.alternatives) == 1 and known.alternatives[0].fields:
            values.append(known.alternatives[0].fields[0])
    return [(field, False) for field in values if "$" in shown_text(field)]


def _dollars(field: Pieces) -> Iterator[tuple[Piece, str, bool, int]]:
    """The literal variables in a field: the piece of the dollar, the name, whether it has braces, and its end."""
    for match in _DOLLAR.finditer(shown_text(field)):
        start, piece = _character(field, match.start())
        last, end_piece = _character(field, match.end() - 1)
        if piece is None or end_piece is None or piece.expansion is not None or end_piece.expansion is not None:
            continue
        if last < start:
            continue
        dollar = piece if len(str(piece.text)) == 1 else Piece("$", start, start + 1)
        yield dollar, match[1] or match[2], match[1] is not None, last + 1


def _character(field: Pieces, index: int) -> tuple[int, Piece | None]:
    """The offset in the file of a character of a field, and its piece."""
    at = 0
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if index < at + size:
            return piece.offset(index - at), piece
        at += size
    return 0, None


def _is_private(command: Invocation, name: str) -> bool:
    """Whether the script sets the variable without exporting it, so that the program cannot expand it itself."""
    known = command.state.variables.get(name)
    return known is not None and bool(known.alternatives) and not known.exported


def _is_escaped(text: Text, dollar: Piece, known: dict[int, set[Span]]) -> bool:
    """Whether a backslash precedes a dollar, which the shell of this program removes. `known`: results, by program."""
    if dollar.end - dollar.start < 2:
        return False
    if id(text) not in known:
        known[id(text)] = {text.span(match.start(), match.end()) for match in re.finditer(r"\\\$", text.string)}
    return dollar.span in known[id(text)]
