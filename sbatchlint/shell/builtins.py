"""The shell's own commands, as far as they change what later commands see."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..source.text import Span
from . import programs
from .expand import Scope
from .state import Alternative, State, Variable
from .syntax import Assignment, Simple, Word
from .trace import Invocation
from .values import Expansion, Phase, Piece, Pieces, Text, text_of

if TYPE_CHECKING:
    from .evaluate import Interpreter

Builtin = Callable[["Interpreter", Invocation, Scope], "State | None"]
Declaration = Callable[["Interpreter", Simple, Scope], None]

# Set in the environment of every batch job: an assignment changes what children see.
ENVIRONMENT_NAMES = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "SHELL",
        "LD_LIBRARY_PATH",
        "HOSTNAME",
        "LANG",
        "TERM",
        "PWD",
        "LOGNAME",
        "TMPDIR",
        "CUDA_VISIBLE_DEVICES",
        "PYTHONPATH",
    ]
)
LETTERS = {"e": "errexit", "u": "nounset", "x": "xtrace", "a": "allexport"}


# --- declarations --------------------------------------------------------------------------------


def declare(interpreter: Interpreter, node: Simple, scope: Scope) -> None:
    """`export`, `declare`, `local`, `readonly`, `typeset`."""
    first = node.words[0]
    command = scope.text.string[first.start : first.end]
    flags = ""
    names: list[tuple[Word, str | None]] = []
    for word in node.words[1:]:
        if isinstance(word, Word):
            text = text_of(interpreter.expander.single(word, scope))
            if text is not None and text[:1] in "-+" and len(text) > 1 and not names:
                flags += text
                continue
            names.append((word, text))
    unexport = command == "export" and "n" in flags or "+x" in flags
    exported = (command == "export" or "x" in flags) and not unexport
    local = command in ("local", "declare", "typeset") and "g" not in flags and scope.state.restored is not None
    for word in node.words[1:]:
        if isinstance(word, Assignment):
            interpreter.assign(word, scope, exported, local)
            if "A" in flags:
                variable = scope.state.variables[word.name]
                scope.state.variables[word.name] = variable._replace(array=True)
    if not names:
        return
    for word, text in names:
        if text is None or "f" in flags and not exported:
            continue
        if "f" in flags:
            function = scope.state.functions.get(text)
            if function is not None:
                scope.state.functions[text] = function._replace(exported=True)
            continue
        name, equals, _ = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            continue
        old = scope.state.variables.get(name)
        span = scope.text.span(word.start, word.end)
        if local and scope.state.restored is not None:
            scope.state.restored.setdefault(name, old)
        if equals:
            value = Piece(text[len(name) + 1 :], *span, Expansion(name, span, scope.context.phase))
            scope.state.variables[name] = Variable((Alternative(((value,),)),), False, exported, span)
        elif unexport and old is not None:
            scope.state.variables[name] = old._replace(exported=False)
        elif exported:
            if old is None:
                old = Variable((Alternative(None),), span=span)
            scope.state.variables[name] = old._replace(exported=True)
        elif local or command in ("declare", "typeset") and old is None:
            scope.state.variables[name] = Variable(
                (Alternative(((),)),) if "a" not in flags.lower() else (), span=span, array="a" in flags.lower()
            )


DECLARATIONS: dict[str, Declaration] = dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), declare)


# --- control -------------------------------------------------------------------------------------


def leave(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`exit`: nothing after it runs."""
    code = text_of(invocation.argv[1]) if len(invocation.argv) > 1 else None
    if code is not None and code.strip("0"):
        interpreter.exits += 1
    return None


def give_back(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`return`: the function ends."""
    if interpreter.returns:
        interpreter.returns[-1].append(scope.state.copy())
        return None
    return None if not scope.context.calls else scope.state


def leave_loop(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`break`, `continue`."""
    if interpreter.breaks:
        interpreter.breaks[-1].append(scope.state.copy())
        return None
    return scope.state


def replace_shell(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`exec command`: the shell becomes the command; without one only redirects."""
    at = _after_options(invocation, with_value="a")
    if at is None:
        return scope.state
    _prefix(interpreter, invocation, scope, at, "exec")
    return None


def prefix(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`command X`, `builtin X`."""
    at = _after_options(invocation, with_value="")
    if at is not None and not any(text_of(field) in ("-v", "-V") for field in invocation.argv[1:at]):
        return _prefix(interpreter, invocation, scope, at, str(invocation.name))
    return scope.state


def _after_options(invocation: Invocation, with_value: str) -> int | None:
    at = 1
    while at < len(invocation.argv):
        word = text_of(invocation.argv[at])
        if word is None or not word.startswith("-") or word == "-":
            return at
        at += 2 if word[-1] in with_value else 1
    return None


def _prefix(interpreter: Interpreter, invocation: Invocation, scope: Scope, at: int, kind: str) -> State | None:
    from .commands import note, run

    context = scope.context.replace(parent=invocation)
    child = Invocation(
        invocation.argv[at:], invocation.variables, (), invocation.span, context, invocation.state,
        invocation.guards, kind,
    )  # fmt: skip
    child.stdin = invocation.stdin
    note(interpreter, child)
    return run(interpreter, child, Scope(scope.state, scope.text, context))


def evaluate(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`eval`: its words are a program of this shell."""
    text = Text(programs.join_fields(invocation.argv[1:]))
    if not text.field or all(piece.text is None for piece in text.field):
        scope.state.sourced = True
        return scope.state
    invocation.text = text
    context = scope.context.replace(parent=invocation)
    return interpreter.program(text, Scope(scope.state, text, context))


def source(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`source FILE`: a file that the script wrote itself, or one that stands beside it."""
    text = programs.find_file(interpreter, scope.state, invocation, 1) if len(invocation.argv) > 1 else None
    if text is None:
        scope.state.sourced = True
        return scope.state
    return interpreter.program(text, Scope(scope.state, text, scope.context.replace(parent=invocation)))


# --- options, arguments, variables -------------------------------------------------------------------


def set_options(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`set -euo pipefail`, `set -- a b`."""
    words = invocation.argv[1:]
    at = 0
    while at < len(words):
        word = text_of(words[at])
        if word is None:
            scope.state.positional = tuple(words[at:])
            return scope.state
        if word in ("--", "-") or word[:1] not in "-+":
            scope.state.positional = tuple(words[at + 1 if word in ("--", "-") else at :])
            return scope.state
        on = word[0] == "-"
        for letter in word[1:]:
            if letter in LETTERS:
                scope.state.options[LETTERS[letter]] = on
            elif letter == "o" and at + 1 < len(words):
                at += 1
                name = text_of(words[at])
                if name is not None:
                    scope.state.options[name] = on
        at += 1
    return scope.state


def shift(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    if scope.state.positional is not None:
        count = text_of(invocation.argv[1]) if len(invocation.argv) > 1 else "1"
        if count is None or not count.isdigit():
            scope.state.positional = None
        else:
            scope.state.positional = scope.state.positional[int(count) :]
    return scope.state


def unset(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    for field in invocation.argv[1:]:
        name = text_of(field)
        if name is not None and not name.startswith("-"):
            if scope.state.restored is not None:
                scope.state.restored.setdefault(name, scope.state.variables.get(name))
            scope.state.variables[name] = Variable((), span=invocation.span)
            scope.state.functions.pop(name, None)
    return scope.state


def _set(scope: Scope, name: str, fields: tuple[Pieces, ...], span: Span, array: bool = False) -> None:
    old = scope.state.variables.get(name)
    scope.state.variables[name] = Variable((Alternative(fields),), array, bool(old and old.exported), span)


def read(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`read`: known from a heredoc or here-string with one name; else the names become unknown."""
    names: list[str] = []
    whole = array = False
    at = 1
    while at < len(invocation.argv):
        word = text_of(invocation.argv[at])
        if word is None:
            return scope.state
        if word.startswith("-") and len(word) > 1 and not names:
            if word[-1] in "dinNptua":
                array = array or word[-1] == "a"
                if word[-1] == "d":
                    whole = True
                if word[-1] == "a" and at + 1 < len(invocation.argv):
                    names.append(text_of(invocation.argv[at + 1]) or "")
                at += 1
        else:
            names.append(word)
        at += 1
    span = invocation.span
    if len(names) == 1 and not array and invocation.stdin is not None:
        field = invocation.stdin.field
        text = text_of(field)
        if whole or text is not None and "\n" not in text.rstrip("\n"):
            _set(scope, names[0], (programs.without_final_newlines(field),), span)
            return scope.state
    for name in names:
        piece = Piece(None, *span, Expansion("$(read)", span, scope.context.phase), open=array)
        _set(scope, name, ((piece,),), span, array)
    return scope.state


def read_lines(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`mapfile -t A < <(command)`: as many unknown fields as the command prints lines."""
    words = [text_of(field) for field in invocation.argv[1:]]
    name = words[-1] if words and words[-1] and not words[-1].startswith("-") else "MAPFILE"
    expansion = Expansion("$(mapfile)", invocation.span, scope.context.phase)
    for redirect in invocation.redirects:
        for piece in redirect.target or ():
            if piece.expansion is not None and piece.expansion.name.startswith("<("):
                inside = " ".join(piece.expansion.name[2:-1].split())
                expansion = piece.expansion._replace(name=f"$({inside})")
    piece = Piece(None, *invocation.span, expansion, open=True)
    _set(scope, name, ((piece,),), invocation.span, array=True)
    return scope.state


def print_formatted(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`printf -v NAME …`."""
    words = invocation.argv
    if len(words) > 3 and text_of(words[1]) == "-v":
        name = text_of(words[2])
        value = programs.formatted(words[3], words[4:])
        if name is not None:
            unknown = (Piece(None, *invocation.span, Expansion(name, invocation.span, scope.context.phase)),)
            _set(scope, name, (value if value is not None else unknown,), invocation.span)
    return scope.state


def compute(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`let EXPRESSION…`."""
    for field in invocation.argv[1:]:
        text = text_of(field)
        if text is not None:
            interpreter.expander.number_of(text, scope, {})
    return scope.state


def options_loop(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`getopts`: sets its variable and OPTARG to what cannot be known."""
    if len(invocation.argv) > 2:
        for name in (text_of(invocation.argv[2]), "OPTARG", "OPTIND"):
            if name:
                piece = Piece(None, *invocation.span, Expansion(name, invocation.span, scope.context.phase))
                _set(scope, name, ((piece,),), invocation.span)
    return scope.state


def trap(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`trap 'commands' SIGNAL`: they may run at any later time."""
    if len(invocation.argv) > 2 and scope.context.phase is not Phase.SUBMIT:
        text = Text(invocation.argv[1])
        if text.field and any(piece.text for piece in text.field) and text.string not in ("-", ""):
            context = scope.context.replace(
                parent=invocation, handler=True, conditional=True, shell=scope.context.shell + 1
            )
            interpreter.program(text, Scope(scope.state.copy(), text, context))
    return scope.state


BUILTINS: dict[str, Builtin] = {
    ".": source,
    "break": leave_loop,
    "builtin": prefix,
    "command": prefix,
    "continue": leave_loop,
    "eval": evaluate,
    "exec": replace_shell,
    "exit": leave,
    "getopts": options_loop,
    "let": compute,
    "mapfile": read_lines,
    "printf": print_formatted,
    "read": read,
    "readarray": read_lines,
    "return": give_back,
    "set": set_options,
    "shift": shift,
    "source": source,
    "trap": trap,
    "unset": unset,
}
