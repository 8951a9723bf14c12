"""Built-in commands, with the effects that later commands can see."""

import re
from collections.abc import Callable
from itertools import pairwise, takewhile

from sbatchlint.bash.expansion.arithmetic import status_of
from sbatchlint.bash.expansion.arrays import is_open
from sbatchlint.bash.expansion.assignment import widen_all, widen_one
from sbatchlint.bash.expansion.printing import echo_output, join_fields, printf_output
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter import programs, reading
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.interpreter.conditions import test_status
from sbatchlint.bash.interpreter.declarations import declare_words, unset
from sbatchlint.bash.interpreter.double_brackets import holds
from sbatchlint.bash.interpreter.redirects import OUTPUTS
from sbatchlint.bash.interpreter.traps import trap
from sbatchlint.bash.state import NAME, STDOUT, UNHEEDED, UNKNOWN_OUTPUT, State
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Text, shown_text, text_of
from sbatchlint.bash.variables import changed_names
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

Builtin = Callable[[Interpreter, Invocation, Scope], State | None]

DECLARATIONS = frozenset({"export", "declare", "local", "readonly", "typeset"})


# --- control -------------------------------------------------------------------------------------


def exit_(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`exit`: no statement after it runs."""
    _set_status(invocation, scope.state)
    code = text_of(invocation.argv[1]) if len(invocation.argv) > 1 else None
    if code is not None and code.strip("0"):
        interpreter.failed_exits += 1
    interpreter.exit_states.append(scope.state.copy())
    return None


def _set_status(invocation: Invocation, state: State) -> None:
    """Sets the exit status to the argument of `exit` or `return`, where there is one."""
    if len(invocation.argv) > 1:
        code = text_of(invocation.argv[1]) or ""
        state.status = parse_integer(code) & 255 if is_number(code) and len(code) < 10 else None


def return_(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`return`: the function ends, or the sourced file; of the script itself it counts as the end.

    In a subshell of the script bash only says that it cannot return.
    """
    _set_status(invocation, scope.state)
    if interpreter.return_states:
        interpreter.return_states[-1].append(scope.state.copy())
    elif scope.context.calls:
        return scope.state
    elif scope.context.shell.depth:
        scope.state.status = 2
        return scope.state
    else:
        interpreter.exit_states.append(scope.state.copy())
    return None


def break_or_continue(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`break`, `continue`."""
    text = text_of(invocation.argv[1]) if len(invocation.argv) > 1 else "1"
    scope.state.status = 0
    if not interpreter.loops:
        return scope.state
    if text is None or not is_number(text) or text.strip("0") == "":
        scope.state.doubtful = True
        text = "1"
    frame = interpreter.loops[-min(parse_integer(text[:6]), len(interpreter.loops))]
    (frame.continues if invocation.name == "continue" else frame.breaks).append(scope.state.copy())
    return None


def exec_(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`exec command`: the command replaces the shell; without one, only redirects."""
    at = _first_operand(invocation, with_value="a")
    if at is None:
        if scope.context.captured and any(each.operator in OUTPUTS for each in invocation.redirects):
            scope.state.variables[STDOUT] = UNKNOWN_OUTPUT
        return scope.state
    _run_words(interpreter, invocation, scope, at, "exec")
    interpreter.emit(None, scope)
    interpreter.exit_states.append(scope.state.copy())
    interpreter.exit_states[-1].status = None
    return None


def run_without_functions(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`command X`, `builtin X`."""
    at = _first_operand(invocation, with_value="")
    if at is not None and not any(text_of(field) in ("-v", "-V") for field in invocation.argv[1:at]):
        return _run_words(interpreter, invocation, scope, at, str(invocation.name))
    scope.state.status = 0
    interpreter.emit((), scope)
    return scope.state if len(invocation.argv) == 1 else look_up(interpreter, invocation, scope)


def look_up(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`command -v NAME`, `type NAME`, `hash NAME`, `which NAME`: whether there is such a command."""
    at = _first_operand(invocation, with_value="p" if invocation.name == "hash" else "")
    names = [text_of(field) for field in invocation.argv[at:]] if at is not None else []
    found = [name and interpreter.environment.has_program(name, scope.context) for name in names]
    scope.state.status = 0 if found and all(found) else None
    interpreter.emit(None, scope)
    return scope.state


def _first_operand(invocation: Invocation, with_value: str) -> int | None:
    at = 1
    while at < len(invocation.argv):
        word = text_of(invocation.argv[at])
        if word is None or not word.startswith("-") or word == "-":
            return at
        at += 2 if word[-1] in with_value else 1
    return None


def _run_words(interpreter: Interpreter, invocation: Invocation, scope: Scope, at: int, kind: str) -> State | None:
    context = scope.context.replace(parent=invocation)
    child = Invocation(
        invocation.argv[at:], invocation.variables, (), invocation.span, context, invocation.state,
        invocation.guards, kind,
    )  # fmt: skip
    child.stdin = invocation.stdin
    interpreter.trace.record(child)
    return interpreter.command(child, Scope(scope.state, scope.text, context))


def _after_unknown_program(interpreter: Interpreter, scope: Scope) -> State:
    """The state after this shell has run a program that is not known."""
    scope.state.sourced = True
    scope.state.facts = {}
    scope.state.status = None
    interpreter.emit(None, scope)
    return scope.state


def eval_(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`eval`: its words are a program of this shell."""
    text = Text(join_fields(invocation.argv[1:]))
    if not text.field:
        scope.state.status = 0
        return scope.state
    if any(piece.text is None for piece in text.field):
        # an unknown word may also be a command
        scope.state.doubtful = True
    if all(piece.text is None for piece in text.field):
        return _after_unknown_program(interpreter, scope)
    invocation.text = text
    context = scope.context.replace(parent=invocation)
    for prefix in _BEGUN.findall(text.string):  # `eval "$NAME=1"`
        for name in [each for each in scope.state.variables if NAME.fullmatch(each) and each.startswith(prefix)]:
            widen_one(name, invocation.span, scope)
    before = scope.state.variables.copy()
    end = interpreter.program(text, Scope(scope.state, text, context))
    if end is not None and any(piece.text is None for piece in text.field):
        end.facts = {}
        # what is not known may make it another program, or none
        for name in changed_names(before, [end.variables]):
            widen_one(name, invocation.span, Scope(end, scope.text, scope.context), is_unset=name not in before)
    return end


# The known beginning of a name that is assigned.
_BEGUN = Regex(rf"(?<![\w$])(?<!\$\{{)(\w{{0,99}}){UNKNOWN_CHARACTER}[\w{UNKNOWN_CHARACTER}]{{0,99}}\+?=")
_STANDARD_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_NAMED = Regex(r"[A-Za-z_]\w{0,99}", re.ASCII)
_SETTING = Regex(r"(?<!\w)([A-Za-z_]\w{0,99})(?:\[[^\]\n]{0,99}\])?\+?=")


def source(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`source FILE`: a file that the script wrote, one beside the script, or what standard input has."""
    if len(invocation.argv) == 1:
        return _after_unknown_program(interpreter, scope)
    file = invocation.argv[1]
    is_input = text_of(file) in _STANDARD_INPUT
    text = invocation.stdin if is_input else programs.find_file(interpreter, scope.state, invocation, 1)
    if text is None:
        # `source <(echo N=2)`: what is written there as a setting is one; what it names may be changed
        printed = [piece.expansion.name for piece in file if piece.expansion is not None]
        written = " ".join(each for each in printed if each.startswith("<("))
        named = [name for name in _NAMED.findall(written) if name in scope.state.variables]
        for name in dict.fromkeys([*_SETTING.findall(written), *named]):
            widen_one(scope.state.target(name), invocation.span, scope, is_unset=name in named)
        return _after_unknown_program(interpreter, scope)
    context = scope.context.replace(parent=invocation)
    state, arguments = scope.state, invocation.argv[2:]
    before, has_set = state.positional, state.has_set_positional
    if arguments:
        state.positional, state.has_set_positional = arguments, False
    result = interpreter.returning(scope, lambda: interpreter.program(text, Scope(state, text, context)))
    if arguments and result is not None:
        # outside of functions what `set` makes of them stays, what `shift` makes of them does not
        if not result.has_set_positional or state.restored is not None:
            result.positional = before
        result.has_set_positional |= has_set
    return result


# --- options, arguments, variables -------------------------------------------------------------------


# With these bash reads or runs commands in ways that are not followed.
_OTHER_SHELLS = ("keyword", "noexec", "onecmd", "posix")


def set_(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`set -euo pipefail`, `set -- a b`."""
    words = invocation.argv[1:]
    at = 0
    scope.state.status = 0
    if not words:
        interpreter.emit(None, scope)
    while at < len(words):
        word = text_of(words[at])
        if word is None:
            scope.state.positional = tuple(words[at:])
            scope.state.has_set_positional = True
            return scope.state
        if word in ("", "--", "-") or word[0] not in "-+":
            scope.state.positional = tuple(words[at + 1 if word in ("--", "-") else at :])
            scope.state.has_set_positional = True
            return scope.state
        on = word[0] == "-"
        for letter in word[1:]:
            if letter in programs.OPTION_LETTERS:
                scope.state.set_option(programs.OPTION_LETTERS[letter], on)
            elif letter == "o" and at + 1 < len(words):
                at += 1
                name = text_of(words[at])
                if name is not None:
                    scope.state.set_option(name, on)
        at += 1
    if words and scope.state.option(UNHEEDED):
        scope.state.set_option(UNHEEDED, False)
    if any(scope.state.option(name) is not False for name in _OTHER_SHELLS):
        scope.state.doubtful = True
    return scope.state


# The option of a state in which there may be aliases, which `shopt -s expand_aliases` makes count later, too.
ALIASED = "an alias"
# Words of an alias that only start a program.
_PLAIN = Regex(r"[\w./ -]+", re.ASCII)


def shopt(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`shopt -s extglob`."""
    words = [text_of(field) for field in invocation.argv[1:]]
    scope.state.status = None
    options = list(takewhile(lambda word: word is not None and word.startswith("-"), words))
    letters = {letter for each in options for letter in each or ""} - {"-", "o"}
    if letters in ({"s"}, {"u"}) and len(words) > len(options):
        for name in words[len(options) :]:
            if name is not None:
                scope.state.set_option(name, letters == {"s"})
        if scope.state.option("expand_aliases") is not False and scope.state.option(ALIASED) is not False:
            scope.state.doubtful = True
        scope.state.status = 0
    else:
        interpreter.emit(None, scope)
    return scope.state


def shift(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    state = scope.state
    count = text_of(invocation.argv[1]) if len(invocation.argv) > 1 else "1"
    state.status = None
    state.facts = {name: each for name, each in state.facts.items() if not name.isdigit()}
    if state.positional is None or count is None or not is_number(count) or len(count) > 6:
        state.positional = None
        return state
    number = parse_integer(count)
    if is_open(state.positional[:number]):
        state.positional = None
    elif number > len(state.positional):
        state.status = 1
        if is_open(state.positional):
            state.positional, state.status = None, None
    else:
        state.positional = state.positional[number:]
        state.status = 0
    return state


def test(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`[ … ]` and `test …`."""
    words = invocation.argv[1:]
    if invocation.name == "[":
        if not words or text_of(words[-1]) != "]":
            scope.state.status = None
            return scope.state
        words = words[:-1]
    scope.state.status = test_status(words, lambda operator, name: holds(interpreter, operator, name, scope))
    return scope.state


def _known(status: int) -> Builtin:
    def run(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
        scope.state.status = status
        return scope.state

    return run


def echo(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`echo`."""
    scope.state.status = 0
    if STDOUT in scope.state.variables:
        is_plain = scope.state.option("xpg_echo") is False
        interpreter.emit(echo_output(invocation.argv[1:], invocation.span.end) if is_plain else None, scope)
    return scope.state


def printf(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`printf`, and `printf -v NAME …`."""
    words = invocation.argv[1:]
    name = None
    if len(words) > 2 and text_of(words[0]) == "-v":
        name = text_of(words[1])
        words = words[2:]
        if name is None:
            widen_all(interpreter.expander, invocation.span, scope)
    first = (text_of(words[0]) or "") if words else ""
    if first == "--":
        words = words[1:]
    elif len(first) > 1 and first[0] == "-":  # no such option, or `-vNAME`
        if first[1] == "v" and name is None:
            widen_one(scope.state.target(first[2:].partition("[")[0]), invocation.span, scope)
        scope.state.status = None if first[1] == "v" else 2
        interpreter.emit((), scope)
        return scope.state
    if not words:
        scope.state.status = None
        return scope.state
    output = name is not None or STDOUT in scope.state.variables
    value = printf_output(words[0], words[1:]) if output or len(words) > 1 else ()
    scope.state.status = None if value is None else 0
    if name is not None:
        if not NAME.match(name):
            scope.state.status = 2
        reading.set_named(interpreter, name, value, scope, invocation.span)
    else:
        interpreter.emit(value, scope)
    return scope.state


def let(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`let EXPRESSION…`."""
    status: int | None = 1
    may_be_wrong = False
    for field in invocation.argv[1:]:
        # bash reads no further than to an invalid expression
        scope.state.guessed = scope.state.guessed or may_be_wrong
        text = text_of(field)
        inner = Scope(scope.state, Text(field), scope.context)
        value, wrong = interpreter.expander.evaluated(field, inner)
        interpreter.expander.note_names(0, len(inner.text.string), inner)
        may_be_wrong = may_be_wrong or wrong is None
        status = status_of(value, None if may_be_wrong else wrong)
        # an unknown expression may assign anything
        scope.state.guessed = scope.state.guessed or text is None
        if wrong:
            break
    scope.state.status = status
    return scope.state


def alias(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`alias NAME=VALUE`: where aliases count, any later command may be another one."""
    scope.state.status = None
    interpreter.emit(None, scope)
    if len(invocation.argv) > 1:
        scope.state.set_option(ALIASED, True)
        for field in invocation.argv[1:]:
            name, equals, value = shown_text(field).partition("=")
            words = value.split()
            if equals and not (_PLAIN.fullmatch(value) and words and words[0] not in BUILTINS):
                scope.state.set_option(f"{ALIASED} {name}", True)
        if scope.state.option("expand_aliases") is not False:
            scope.state.doubtful = True
    return scope.state


def note_waited(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> None:
    """Sets the variable of `wait -p`."""
    for option, field in pairwise(invocation.argv[1:]):
        if (text_of(option) or "").startswith("-") and (text_of(option) or "").endswith("p"):
            name = text_of(field)
            if name is None:
                widen_all(interpreter.expander, invocation.span, scope)
            else:
                widen_one(scope.state.target(name.partition("[")[0]), invocation.span, scope, is_unset=True)


def enable(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`enable -n NAME`: the built-in command is a program from now on."""
    interpreter.emit(None, scope)
    scope.state.status = None
    scope.state.doubtful = True
    return scope.state


BUILTINS: dict[str, Builtin] = {
    ".": source,
    ":": _known(0),
    "[": test,
    "alias": alias,
    "break": break_or_continue,
    "builtin": run_without_functions,
    "command": run_without_functions,
    "continue": break_or_continue,
    "echo": echo,
    "enable": enable,
    "eval": eval_,
    "exec": exec_,
    "exit": exit_,
    "false": _known(1),
    "getopts": reading.getopts,
    "hash": look_up,
    "let": let,
    "mapfile": reading.mapfile,
    "printf": printf,
    "read": reading.read,
    "readarray": reading.mapfile,
    "return": return_,
    "set": set_,
    "shift": shift,
    "shopt": shopt,
    "source": source,
    "test": test,
    "trap": trap,
    "true": _known(0),
    "type": look_up,
    "unset": unset,
    "which": look_up,
    **dict.fromkeys(DECLARATIONS, declare_words),
}
