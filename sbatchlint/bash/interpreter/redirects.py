"""Redirects: their targets, and the text on standard input."""

from collections.abc import Iterable, Sequence

from sbatchlint.bash.expansion.assignment import widen_one
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.expansion.words import Expander
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.tree import Heredoc, Part, Redirect, Word
from sbatchlint.bash.trace import Redirection
from sbatchlint.bash.values import Piece, Pieces, Text, shown_text, text_of
from sbatchlint.bash.variables import common_prefix
from sbatchlint.source.numbers import is_number

# Operators that redirect standard output.
OUTPUTS = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})

# Standard output alone leads to what a substitution captures.
ONLY_OUTPUT = frozenset({"1"})
STANDARD = {"/dev/stdout": "1", "/dev/stderr": "2", "/proc/self/fd/1": "1", "/proc/self/fd/2": "2"}


def redirects_output(redirects: Sequence[Redirection]) -> bool:
    """Whether standard output is redirected."""
    return bool(redirects) and any(each.operator in OUTPUTS and each.fd in (None, "1") for each in redirects)


def captured_by(redirects: Sequence[Redirection], before: frozenset[str]) -> tuple[frozenset[str] | None, str]:
    """The descriptors that lead to what a substitution captures, with redirects (None: unknown); and the last one that
    standard output became a copy of ("": none). `before`: those without the redirects."""
    now, copied = before, ""
    for each in redirects:
        if each.operator not in OUTPUTS:
            continue
        target = text_of(each.target) if each.target is not None else ""
        if target is None and each.operator == ">&":
            return None, copied
        source = STANDARD.get(target or "") or (target or "").removeprefix("/dev/fd/").removesuffix("-")
        is_copy = is_number(source) and (each.operator == ">&" or source != target)
        both = each.operator in ("&>", "&>>") or each.operator == ">&" and each.fd is None and not is_copy
        own = {"1", "2"} if both else {each.fd or "1"}
        copied = (source if is_copy else "") if "1" in own else copied
        now = now | own if is_copy and source in now else now - own
    return now, copied


def expand_redirects(
    expander: Expander, redirects: Iterable[Redirect], scope: Scope
) -> tuple[tuple[Redirection, ...], Text | None]:
    """The redirects of a command, and its standard input where that is a heredoc or here-string."""
    found: list[Redirection] = []
    stdin: Text | None = None
    for node in redirects:
        span = scope.span(node)
        if node.fd is not None and node.fd.startswith("{"):  # gets the number of the descriptor
            name = node.fd[1:-1].partition("[")[0]
            widen_one(scope.state.target(name), span, scope, "[" in node.fd, True)
        if node.heredoc is not None:
            stdin = Text(heredoc_value(expander, node.heredoc, scope))
            found.append(Redirection(node.operator, node.fd, None, span))
            continue
        target = expander.single_value(node.target, scope) if node.target is not None else ()
        if node.operator == "<<<":
            end = node.end
            stdin = Text((*target, Piece("\n", end, end + 1)))
        found.append(Redirection(node.operator, node.fd, target, span))
    return tuple(found), stdin


_THERE = frozenset({"/dev/null", "/dev/stdin", "/dev/zero", "/dev/urandom", "/dev/tty"})


def note_opened(redirects: Sequence[Redirection], state: State | None) -> None:
    """The status of a command is not known where the file that it reads may not be there."""
    for each in redirects if state is not None else ():
        name = text_of(each.target) if each.operator == "<" and each.target is not None else ""
        if state is not None and name != "" and name not in _THERE and (name is None or name not in state.files):
            state.status = None


def heredoc_value(expander: Expander, heredoc: Heredoc, scope: Scope) -> Pieces:
    """The body of a heredoc after expansion."""
    choices = expander.value(heredoc.body, scope)
    if len(choices) == 1:
        return choices[0][0]
    # only the parts that differ become unknown
    pieces: list[Piece] = []
    for part in heredoc.body.parts:
        alone: tuple[Part, ...] = (part,)
        own = expander.value(Word(alone, part.start, part.end), scope)
        if len(own) == 1:
            pieces.extend(own[0][0])
        else:
            span = scope.span(part)
            name = getattr(part, "name", "")
            pieces.extend(_first_lines([each for each, _ in own]))
            pieces.append(scope.expanded(None, name, span))
    return tuple(pieces)


def _first_lines(values: Sequence[Pieces]) -> Pieces:
    """The option block with which all values of a script begin: a branch may only have appended further directives."""
    prefix = common_prefix(values)
    lines = shown_text(prefix).split("\n")
    return prefix if lines[0].startswith("#!") and all(each.startswith("#") for each in lines) else ()
