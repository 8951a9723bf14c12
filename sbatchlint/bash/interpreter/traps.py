"""`trap`: commands that run when a signal comes, a command fails, or the shell exits.

It is not known when that is: a variable that such commands change may have any value from then on, whatever it is set
to (flag `v`).
"""

from collections.abc import Sequence

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.state import NAME, State
from sbatchlint.bash.syntax.tree import Statement
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, Text, text_of
from sbatchlint.bash.variables import VOLATILE, Alternative, Variable, changed_names
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The option of a state in which a command that fails may end the script, as with errexit.
ENDS = "a trap on ERR"
LEAVING = Regex(r"\b(?:break|continue|return)\b")


def trap(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`trap 'commands' SIGNAL`."""
    state = scope.state
    state.status = 0
    words = invocation.argv[1:]
    if words and text_of(words[0]) == "--":
        words = words[1:]
    if len(words) < 2 or scope.context.phase is Phase.SUBMIT:
        return state
    text, signals = Text(words[0]), _signals(words[1:])
    if text.field and any(piece.text for piece in text.field) and text.string not in ("-", ""):
        context = scope.context.replace(parent=invocation, handler=True, conditional=True)
        inner = Scope(state.copy(), text, context)
        inner.state.status = None
        ends: list[State | None] = []
        interpreter.subshell(lambda: ends.append(interpreter.program(text, inner)), scope)
        if signals != {"EXIT"}:
            _note(ends[-1], text, signals, invocation.span, scope)
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
    walked = interpreter.silently(lambda: interpreter.returning(inner, lambda: interpreter.statement(body, inner)))
    if walked is None:
        scope.state.doubtful = True
    else:
        _note(walked[0], Text(()), interpreter.handlers[name], scope.text.span(body.start, body.end), scope)


def _signals(words: Sequence[Pieces]) -> set[str | None]:
    """The names of signals; None among them: some are not known."""
    names = [text_of(each) for each in words]
    found = {None if name is None else name.upper().removeprefix("SIG") for name in names}
    return {"EXIT" if name == "0" else name for name in found}


def _note(end: State | None, text: Text, signals: set[str | None], span: Span, scope: Scope) -> None:
    """Notes what a handler changes that may run at any time; `end`: the state after it, None where the shell exits."""
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
    if end.positional != state.positional or end.options != state.options:
        state.doubtful = True
    for name in changed_names(state.variables, [end.variables]):
        if NAME.fullmatch(name):
            state.variables[name] = _changed(name, state.variables.get(name), end.variables.get(name), span, scope)


def _changed(name: str, old: Variable | None, new: Variable | None, span: Span, scope: Scope) -> Variable:
    known = [each for each in (old, new) if each is not None]
    is_array = any(each.array for each in known)
    unset = old is None or any(not each.alternatives for each in known)
    unknown = Alternative((scope.unknown(name, span, is_open=is_array),))
    flags = "".join(sorted({VOLATILE, *(flag for each in known for flag in each.flags)}))
    exported = any(each.exported for each in known)
    return Variable((Alternative(None), unknown) if unset else (unknown,), is_array, exported, span, flags)
