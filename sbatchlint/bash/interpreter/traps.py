"""`trap`: commands that run when a signal comes, a command fails, or the shell exits.

It is not known when that is: a variable that such commands change may have any value from then on, whatever it is set
to (flag `v`), and what is assigned after the `trap` may have any value in these commands.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.state import NAME, State
from sbatchlint.bash.syntax.tree import Statement
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, Text, shown_text, text_of
from sbatchlint.bash.variables import PARTLY_EXPORTED, VOLATILE, Alternative, Variable, changed_names
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The option of a state in which a command that fails may end the script, as with errexit.
ENDS = "a trap on ERR"
# The option of a state in which there may be a trap.
TRAPPED = "a trap"
# The signals whose commands run without any that is sent; None: one that is not known.
_RUNNING = frozenset({"CHLD", "DEBUG", "ERR", "EXIT", "RETURN", None})
LEAVING = Regex(r"\b(?:break|continue|return)\b")
# What may assign variables: `NAME=`, commands whose words may be names, arithmetic, and `${NAME:=…}`.
_WRITES = Regex(
    r"(?:^|(?<=[\s;&|({`'\"]))(?P<name>[A-Za-z_]\w*)(?:\[[^\]\n]{0,200}\])?\+?="
    r"|\b(?:read|mapfile|readarray|for|select|getopts|unset|let|printf|declare|typeset|local|export|readonly)[ \t]+"
    r"(?P<words>[^\n;|&]+)"
    r"|\(\((?P<sum>[^\n)]+)|\$\{(?P<default>\w+):?=",
    re.ASCII | re.MULTILINE,
)
_ARGUMENTS = Regex(r"\b(?:set|shift)\b")
_FUNCTION = Regex(r"\w[ \t]*\(\)|\bfunction[ \t]")


def trap(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`trap 'commands' SIGNAL`."""
    state = scope.state
    state.status = 0
    state.set_option(TRAPPED, True)
    words = invocation.argv[1:]
    if words and text_of(words[0]) == "--":
        words = words[1:]
    if len(words) < 2 or scope.context.phase is Phase.SUBMIT:
        return state
    text, signals = Text(words[0]), _signals(words[1:])
    if text.string not in ("-", "") and signals & _RUNNING:
        interpreter.prints_later = True
    if text.field and any(piece.text for piece in text.field) and text.string not in ("-", ""):
        context = scope.context.replace(parent=invocation, handler=True, conditional=True)
        inner = Scope(state.copy(), text, context)
        inner.state.status = None
        _forget_what_changes(inner, scope, invocation.span)
        begin = inner.state.copy()
        ends: list[State | None] = []
        interpreter.subshell(lambda: ends.append(interpreter.program(text, inner)), scope)
        if signals != {"EXIT"}:
            _note(ends[-1], begin, text, signals, invocation.span, scope)
            interpreter.handlers[text.string.partition(" ")[0]] = signals
    elif text_of(words[0]) is None and signals != {"EXIT"}:
        state.doubtful = True
    elif "ERR" in signals:
        state.set_option(ENDS, False)
    return state


def on_defined(interpreter: Interpreter, name: str, body: Statement, scope: Scope) -> None:
    """Notes what a function changes that a trap calls, when it is defined later."""
    inner = Scope(scope.state.copy(), scope.text, scope.context)
    inner.state.status = None
    begin = inner.state.copy()
    walked = interpreter.silently(lambda: interpreter.returning(inner, lambda: interpreter.statement(body, inner)))
    if walked is None:
        scope.state.doubtful = True
    else:
        _note(walked[0], begin, Text(()), interpreter.handlers[name], scope.text.span(body.start, body.end), scope)


def _signals(words: Sequence[Pieces]) -> set[str | None]:
    """The names of signals; None among them: some are not known."""
    names = [text_of(each) for each in words]
    found = {None if name is None else name.upper().removeprefix("SIG") for name in names}
    return {"EXIT" if name == "0" else name for name in found}


def _forget_what_changes(inner: Scope, scope: Scope, span: Span) -> None:
    """Makes unknown in a handler's commands what the shell may assign before they run."""
    state, writes = inner.state, _writes(scope.text.string)
    at = 0 if scope.context.loops else span.end - scope.text.start  # an iteration may run what is above in the loop
    for name in sorted(_mentioned(inner) & writes.last.keys()):
        is_later = writes.last[name] >= at
        if is_later or writes.functions and (writes.times[name] > 1 or name not in state.variables):
            state.variables[name] = _changed(name, state.variables.get(name), None, span, inner)
    if writes.arguments >= at:
        state.positional = None


def _mentioned(inner: Scope) -> set[str]:
    """The names in a handler's commands, in the functions that they call, and behind references."""
    functions, variables = inner.state.functions, inner.state.variables
    found: set[str] = set()
    left = [inner.text.string]
    while left:
        text = left.pop()
        names = set(NAME.findall(text)) - found
        found |= names
        left.extend(shown_text(functions[name].source) for name in names if name in functions)
        known = [variables[name] for name in names if name in variables]
        references = known if "${!" in text else [variable for variable in known if "n" in variable.flags]
        values = [value for variable in references for value in variable.alternatives]
        left.extend(shown_text(field) for value in values for field in value.fields or ())
    return found


class _Writes(NamedTuple):
    """The names that a text may assign, where last and how often; where it last sets arguments; if it has functions."""

    last: dict[str, int]
    times: Counter[str]
    arguments: int
    functions: bool


@lru_cache(maxsize=16)  # for all traps of a text
def _writes(string: str) -> _Writes:
    found = [
        (match.start(), name)
        for match in _WRITES.finditer(string)
        for group in filter(None, match.groups())
        for name in NAME.findall(group)
    ]
    arguments = max((match.start() for match in _ARGUMENTS.finditer(string)), default=-1)
    times = Counter(name for _, name in found)
    return _Writes({name: at for at, name in found}, times, arguments, _FUNCTION.search(string) is not None)


def _note(end: State | None, begin: State, text: Text, signals: set[str | None], span: Span, scope: Scope) -> None:
    """Notes what a handler changes that may run at any time.

    `end`: the state after it, None where the shell exits; `begin`: that before it.
    """
    state = scope.state
    if "ERR" in signals or None in signals:
        if end is None or end.escaped:
            state.set_option(ENDS, True if end is None else None)
        elif state.option(ENDS) is not False:
            state.set_option(ENDS, False)
        if LEAVING.search(text.string):
            state.doubtful = True
    if end is None:
        return
    if end.positional != begin.positional or end.options != begin.options:
        state.doubtful = True
    for name in changed_names(begin.variables, [end.variables]):
        if NAME.fullmatch(name):
            state.variables[name] = _changed(name, state.variables.get(name), end.variables.get(name), span, scope)


def _changed(name: str, old: Variable | None, new: Variable | None, span: Span, scope: Scope) -> Variable:
    known = [each for each in (old, new) if each is not None]
    is_array = any(each.array for each in known)
    unset = old is None or any(not each.alternatives for each in known)
    unknown = Alternative((scope.unknown(name, span, is_open=is_array),))
    flags = "".join(sorted({VOLATILE, *(flag for each in known for flag in each.flags)}))
    exported = any(each.exported for each in known)
    if len({each.exported for each in known}) == 2:
        flags += PARTLY_EXPORTED
    return Variable((Alternative(None), unknown) if unset else (unknown,), is_array, exported, span, flags)
