"""Programs inside values: `bash -c`, scripts on standard input or in files, and commands that other commands start."""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion.arithmetic import combine
from sbatchlint.bash.expansion.printing import echo_output, printf_output
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.limits import WORK_OF, cost_of_script
from sbatchlint.bash.state import ZSH, State
from sbatchlint.bash.trace import Invocation, Redirection, Spawn, Submission
from sbatchlint.bash.values import (
    Expansion,
    Phase,
    Piece,
    Pieces,
    Text,
    cut,
    expansions,
    flattened,
    is_open,
    maybe_empty,
    shown_text,
    text_of,
)
from sbatchlint.bash.variables import NO_GUARDS, Alternative, Variable, Variables, is_loop
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import Span

SHELLS = {"bash", "sh", "dash", "ksh", "zsh"}
OPTION_LETTERS = {
    "a": "allexport", "B": "braceexpand", "e": "errexit", "f": "noglob", "k": "keyword", "n": "noexec", "t": "onecmd",
    "u": "nounset", "x": "xtrace",
}  # fmt: skip
SHELL_OPTIONS_WITH_VALUE = {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}


# --- what a command prints -----------------------------------------------------------------------


def without_final_newlines(pieces: Pieces) -> Pieces:
    end = len(pieces)
    while end:
        last = pieces[end - 1]
        kept = None if last.text is None else last.text.rstrip("\n")
        if kept:
            return (*pieces[: end - 1], *cut((last,), 0, len(kept)))
        if kept is None:
            break
        end -= 1
    return maybe_empty(pieces[:end])


def output_of(invocation: Invocation) -> Pieces | None:
    """What a command writes to standard output, as far as it is known: echo, printf, cat of a heredoc."""
    name = text_of(invocation.argv[0])
    arguments = invocation.argv[1:]
    if name == "cat" and invocation.stdin is not None and (not arguments or text_of(arguments[0]) == "-"):
        return invocation.stdin.field
    if name == "tee" and invocation.stdin is not None:
        return invocation.stdin.field
    if name == "echo":
        return echo_output(arguments, invocation.span.end)
    if name == "printf" and arguments and text_of(arguments[0]) != "-v":
        return printf_output(arguments[0], arguments[1:])
    if name == "expr" and len(arguments) == 3:
        return _expr_output(arguments)
    return None


def _expr_output(arguments: Sequence[Pieces]) -> Pieces | None:
    """What `expr A + B` prints."""
    first, operator, second = (text_of(field) or "" for field in arguments)
    numbers = all(re.fullmatch(r"-?\d+", text) for text in (first, second))
    if not numbers or len(operator) != 1 or operator not in "+-*/%":
        return None
    left, right = parse_integer(first), parse_integer(second)
    if operator in "/%" and right == 0:
        return None
    start, end = arguments[0][0].start if arguments[0] else 0, arguments[2][-1].end if arguments[2] else 0
    inputs = flattened(expansion for field in arguments for expansion in expansions(field))
    phase = max((each.phase for each in inputs), default=Phase.BATCH)
    text = str(combine(operator, left, right))
    return (Piece(text, start, max(start, end), Expansion("$(expr)", Span(start, max(start, end)), phase, inputs)),)


# --- files that the script writes ------------------------------------------------------------------


def file_name(field: Pieces) -> str | None:
    """A name that identifies a file within the script: its path, with unknown variables by name between NULs."""
    parts = []
    for piece in field:
        if piece.text is not None:
            parts.append(piece.text)
        elif piece.expansion is not None and piece.expansion.name:
            parts.append(f"\0{piece.expansion.name}\0")
        else:
            return None
    name = "".join(parts)
    while name.startswith("./"):
        name = name[2:]
    return name or None


def record_files(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> None:
    """Records what a command writes to files, so that programs in them can be followed."""
    targets = _targets(invocation.redirects)
    if invocation.name == "tee" and invocation.stdin is not None:
        arguments = [text_of(field) for field in invocation.argv[1:]]
        append = "-a" in arguments
        for field, word in zip(invocation.argv[1:], arguments, strict=True):
            name = None if word is not None and word.startswith("-") else file_name(field)
            if name is not None:
                targets.append((name, append))
    if targets:
        _store(interpreter, targets, output_of(invocation), scope)


# Commands that print nothing.
_SILENT = ": [ [[ cd chmod declare export local mkdir read rm set shift shopt sleep source test touch true unset wait ."
SILENT = frozenset(_SILENT.split())


def record_group_output(interpreter: Interpreter, redirects: Sequence[Redirection], first: int, scope: Scope) -> None:
    """Records what the commands of `{ … } > file` write, which are those of the trace from `first` on."""
    targets = _targets(redirects)
    if not targets:
        return
    content: Pieces | None = ()
    for command in interpreter.trace.invocations[first:]:
        context = command.context
        if context.parent is not scope.context.parent or context.captured is not scope.context.captured:
            continue
        if command.piped_to or command.name in SILENT or any(one.operator in OUTPUTS for one in command.redirects):
            continue
        once = context.conditional is scope.context.conditional and context.loops == scope.context.loops
        own = output_of(command) if once and context.guards is scope.context.guards else None
        content = None if own is None or content is None else content + own
    _store(interpreter, targets, content, scope)


OUTPUTS = (">", ">>", ">|", "&>", "&>>", ">&")


def _targets(redirects: Sequence[Redirection]) -> list[tuple[str, bool]]:
    """The files that get a command's output, and whether it is appended to them."""
    targets = []
    for redirect in redirects:
        if redirect.operator in (">", ">>", ">|") and redirect.fd in (None, "1") and redirect.target:
            name = file_name(redirect.target)
            if name is not None:
                targets.append((name, redirect.operator == ">>"))
    return targets


def _store(interpreter: Interpreter, targets: list[tuple[str, bool]], content: Pieces | None, scope: Scope) -> None:
    for name, append in targets:
        if content is None:
            scope.state.set_file(name, ())
            continue
        old = scope.state.files.get(name) if append else None
        if old:
            own = [Alternative(((each.fields or ((),))[0] + content,), each.guards) for each in old]
            scope.state.set_file(name, tuple(own))
        else:
            scope.state.set_file(name, (Alternative((content,), NO_GUARDS),))
        string = shown_text(content)
        is_batch = string.lstrip().startswith("#!") and "\n#SBATCH" in string
        if is_batch and scope.context.phase is not Phase.TASK:
            text = Text(content)
            interpreter.charge(cost_of_script(string), span_of_text(text))
            quoted = not any(piece.expansion is not None for piece in content)
            interpreter.trace.submissions.append(Submission(text, span_of_text(text), quoted, None))


def span_of_text(text: Text) -> Span:
    return Span(text.field[0].start, text.field[-1].end) if text.field else Span(0, 0)


def read_file(state: State, field: Pieces) -> Text | None:
    """The text of a file that the script wrote; None where it is unknown, or differs between branches."""
    name = file_name(field)
    found = state.files.get(name) if name is not None else None
    if found is not None and len(found) == 1 and found[0].fields:
        return Text(found[0].fields[0])
    return None


def find_file(interpreter: Interpreter, state: State, invocation: Invocation, index: int) -> Text | None:
    """The text of the file that a word names, written by the script or beside it; None where unknown."""
    field = invocation.argv[index]
    name = file_name(field)
    if name is None or name in state.files:
        return read_file(state, field)
    outside = [(each, found) for each in interpreter.hooks.host_paths(field, invocation) if (found := file_name(each))]
    for path, found in outside:
        if found in state.files:
            return read_file(state, path)
    for found in (name, *(found for _, found in outside)):
        text = interpreter.hooks.file(found, invocation.span)
        if text is not None:
            return text
    return None


# --- starting programs ---------------------------------------------------------------------------


def child_scope(invocation: Invocation, scope: Scope, spawn: Spawn | None = None) -> Scope:
    """The scope of what a command starts: a new process, with the exported environment."""
    state = invocation.state.child()
    phase = scope.context.phase
    if spawn is not None:
        phase = phase if spawn.phase is None else spawn.phase
        if spawn.cleared or phase is not scope.context.phase:  # the environment is another one
            state.facts = {}
        if spawn.cleared:
            state.variables = Variables({name: each for name, each in state.variables.items() if name in spawn.kept})
        for name in spawn.dropped:
            state.variables[name] = Variable(())
        for beginning in spawn.renaming:
            _rename(invocation.state.variables, state.variables, beginning)
        for name, field in spawn.variables:
            state.variables[name] = Variable((Alternative((field,)),), exported=True)
    context = scope.context.in_shell("program", invocation.span)
    context.parent, context.phase = invocation, phase
    return Scope(state, scope.text, context)


def _rename(outside: Variables, inside: Variables, beginning: str) -> None:
    """Sets inside what is exported outside under a longer name; unknown where some branch leaves it as it was."""
    for name, variable in outside.items():
        if name.startswith(beginning) and variable.exported and variable.alternatives:
            certain = all(each.fields is not None for each in variable.alternatives)
            inside[name.removeprefix(beginning)] = (
                variable if certain else Variable((Alternative(None),), exported=True)
            )


def start_child(interpreter: Interpreter, invocation: Invocation, spawn: Spawn, scope: Scope) -> None:
    """Runs the command that another one starts (`srun …`, `env …`, `apptainer exec IMAGE …`)."""
    if spawn.kind == "sbatch":
        submit(interpreter, invocation, spawn, scope)
        return
    if spawn.command is None or spawn.command >= len(invocation.argv) and not spawn.prefix:
        return
    interpreter.charge(WORK_OF["start"], invocation.span)
    inner = child_scope(invocation, scope, spawn)
    argv = (*spawn.prefix, *invocation.argv[spawn.command :])
    child = Invocation(argv, (), (), invocation.span, inner.context, inner.state.copy(), invocation.guards, spawn.kind)
    child.stdin = invocation.stdin
    interpreter.trace.record(child)
    interpreter.command(child, inner)


def next_component(interpreter: Interpreter, before: Invocation, argv: tuple[Pieces, ...]) -> Invocation:
    """Records the next component of a command that has several."""
    found = Invocation(
        argv, before.variables, before.redirects, before.span, before.context, before.state, before.guards, before.kind
    )
    found.stdin, found.alternatives, found.before = before.stdin, before.alternatives, before
    interpreter.trace.record(found)
    return found


def run_program(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> bool:
    """Runs the program of a shell (`bash -c`, a script, standard input). Returns whether the command is one."""
    name = invocation.name
    if name not in SHELLS:
        first = invocation.argv[0]
        # `> run_$SLURM_JOB_ID` and `./run_$SLURM_JOB_ID` are the same file
        if is_open(first):
            if file_name(first) not in scope.state.files:
                return False
        elif "/" not in (text_of(first) or "/"):
            return False
        text = find_file(interpreter, scope.state, invocation, 0)
        if text is None or not is_shell_text(text, name):
            return False
        _run_text(interpreter, invocation, scope, text, invocation.argv[1:], "script")
        return True
    found = shell_arguments(invocation.argv)
    if found is None and file_name(invocation.argv[1]) in scope.state.files:
        found = ("script", 1)
    if found is None:
        return True
    kind, at = found
    if kind == "-c":
        _run_text(interpreter, invocation, scope, Text(invocation.argv[at]), invocation.argv[at + 2 :], f"{name} -c")
    elif kind == "script":
        text = find_file(interpreter, scope.state, invocation, at)
        if text is not None:
            _run_text(interpreter, invocation, scope, text, invocation.argv[at + 1 :], "script")
    elif invocation.stdin is not None:
        _run_text(interpreter, invocation, scope, invocation.stdin, invocation.argv[at:], "stdin")
    return True


def is_shell_text(text: Text, name: str | None) -> bool:
    """Whether a file that is started by its name is a script of one of `SHELLS`."""
    first = text.string.partition("\n")[0]
    if not first.startswith("#!"):
        return not name or name.endswith((".sh", ".bash"))
    return any(word in SHELLS for word in first[2:].replace("/", " ").split())


def shell_arguments(argv: Sequence[Pieces]) -> tuple[str, int] | None:
    """How a shell gets its program: ("-c", index of the text), ("script", index of the file) or ("stdin", index of
    the first argument); None where an unknown word may change that."""
    at = 1
    command = False
    stdin = False
    while at < len(argv):
        word = text_of(argv[at])
        if word is None:
            if is_open(argv[at]) and not command:
                return None
            break
        if word in SHELL_OPTIONS_WITH_VALUE:
            at += 2
            continue
        if word == "--":
            at += 1
            break
        if word == "-" or word.startswith("--"):
            at += 1
            continue
        if word[:1] not in "-+" or len(word) < 2:
            break
        command = command or word[0] == "-" and "c" in word
        stdin = stdin or word[0] == "-" and "s" in word
        # in `-eo pipefail` the last letter takes the next word
        at += 2 if word[-1] in "oO" else 1
    if command:
        return ("-c", at) if at < len(argv) else None
    if at < len(argv) and not stdin:
        return ("script", at)
    return ("stdin", at)


def shell_flags(argv: Sequence[Pieces], end: int) -> set[str]:
    """The options (`errexit`, `pipefail` …) that a shell gets on its command line."""
    flags: set[str] = set()
    for number, field in enumerate(argv[1:end], 1):
        word = text_of(field) or ""
        if word.startswith("-") and not word.startswith("--"):
            flags.update(OPTION_LETTERS[letter] for letter in word[1:] if letter in OPTION_LETTERS)
            if word[-1] == "o" and number + 1 < len(argv):
                flags.add(text_of(argv[number + 1]) or "")
    return flags


def is_one_of_several(invocation: Invocation) -> bool:
    """Whether a command runs with one of several values, and not with that of an iteration."""
    guards = invocation.guards
    return invocation.alternatives > 1 and not (guards and all(is_loop(key) for key, _ in guards))


def _run_text(
    interpreter: Interpreter, invocation: Invocation, scope: Scope, text: Text, arguments: Sequence[Pieces], kind: str
) -> None:
    if not text.field or all(piece.text is None for piece in text.field):
        return
    invocation.text = text
    inner = child_scope(invocation, scope)
    inner.state.positional = tuple(arguments)
    if kind.endswith(" -c"):
        named = invocation.argv[len(invocation.argv) - len(arguments) - 1]
        if named is not text.field and is_open(named):  # where it is no word, `$1` is `$0`
            inner.state.positional = None
        elif named is not text.field:
            inner.state.zero = named
    if invocation.name == ZSH:
        inner.state.set_option(ZSH, True)
    for flag in shell_flags(invocation.argv, len(invocation.argv) if kind == "stdin" else 6):
        inner.state.set_option(flag, True)
    several = is_one_of_several(invocation)
    program = Scope(inner.state, text, inner.context.replace(conditional=True) if several else inner.context)
    interpreter.subshell(lambda: interpreter.program(text, program), scope)


def submit(interpreter: Interpreter, invocation: Invocation, spawn: Spawn, scope: Scope) -> None:
    """sbatch with a script that the file itself holds: on standard input, in a file that it wrote, or with --wrap."""
    rest = len(invocation.argv) if spawn.command is None else spawn.command
    found = interpreter.trace.submissions
    if spawn.prefix:
        wrapped = spawn.prefix[0]
        interpreter.charge(cost_of_script(shown_text(wrapped)), invocation.span)
        if not wrapped or all(piece.text is None for piece in wrapped):
            return
        start = wrapped[0].start
        text = Text((Piece("#!/bin/sh\n", start, start), *wrapped))
        quoted = not any(piece.expansion is not None for piece in wrapped)
        found.append(Submission(text, span_of_text(Text(wrapped)), quoted, invocation, rest, True))
        return
    script = invocation.stdin
    if spawn.command is not None:
        script = find_file(interpreter, scope.state, invocation, spawn.command)
    interpreter.charge(cost_of_script("" if script is None else script.string), invocation.span)
    if script is None or not script.field:
        return
    span = span_of_text(script)
    for number, submission in enumerate(found):
        if submission.span == span:
            found[number] = submission._replace(command=invocation, rest=rest, alone=submission.command is None)
            return
    quoted = not any(piece.expansion is not None for piece in script.field)
    found.append(Submission(script, span, quoted, invocation, rest))
