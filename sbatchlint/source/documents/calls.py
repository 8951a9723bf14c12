"""What calls in a Python program say: of files that are opened, and of programs that are started."""

import ast

from sbatchlint.source.documents.expressions import String, Strings, command_line, name_of
from sbatchlint.source.documents.literals import Characters, at_place
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_PROGRAMS = frozenset(("sbatch", "srun", "salloc"))
# Programs that start others by their words, as the shell's model knows them.
_WRAPPERS = frozenset(
    (
        *("bash", "sh", "dash", "ksh", "zsh", "env", "sudo", "nohup", "timeout", "time", "nice", "ionice", "setsid"),
        *("stdbuf", "flock", "command", "exec", "xargs"),
    )
)
# `os.execvp` and its kind: words as arguments (`l`) or as a list (`v`), with an environment as the last (`e`).
_REPLACES = Regex(r"(exec|spawn)([lv])p?(e?)|posix_(spawn)()p?()")
# Options of ssh with a word of their own.
_SSH_VALUE = Regex(r"-[46AaCfGgKkMNnqsTtVvXxYy]*[BbcDEeFIiJLlmOopQRSWw]")


def is_for_a_shell(call: ast.Call) -> bool:
    """Whether a call starts a command line by a shell: with `shell=True`."""
    return any(each.arg == "shell" and getattr(each.value, "value", None) is True for each in call.keywords)


def is_of_a_connection(call: ast.Call) -> bool:
    """Whether a call may have a shell of another host run a line: `connection.run("cd a; sbatch b")`, as of fabric."""
    function = call.func
    of_module = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") in ("subprocess", "sp")
    has_shell = any(each.arg == "shell" for each in call.keywords)
    return isinstance(function, ast.Attribute) and function.attr in ("run", "sudo") and not (of_module or has_shell)


def is_opened(call: ast.Call) -> bool:
    return name_of(call.func) == "open"


def mode_of(call: ast.Call) -> str:
    """The mode in which a file is opened, of `open(path, "w")` and `path.open("w")`; "" where it is not written so."""
    at = 0 if isinstance(call.func, ast.Attribute) else 1
    nodes = [*call.args[at : at + 1], *(each.value for each in call.keywords if each.arg == "mode")]
    return next((str(each.value) for each in nodes if isinstance(each, ast.Constant)), "")


def path_of(call: ast.Call) -> str:
    """What names the file that is opened."""
    node = call.func.value if isinstance(call.func, ast.Attribute) else call.args[0] if call.args else call
    return ast.dump(node)


def started(call: ast.Call) -> ast.expr | None:
    """The command that a call may start: its words, or a command line."""
    nodes = [each for each in call.args if not isinstance(each, ast.Starred)]
    replaces = _REPLACES.fullmatch(name_of(call.func))
    if replaces is not None and len(nodes) == len(call.args):
        nodes = nodes[2 if replaces[1] == "spawn" else 1 :]
        if replaces[2] == "l":
            return ast.List(nodes[: len(nodes) - len(replaces[3])], ast.Load())
    if nodes:
        return nodes[0]
    return next((each.value for each in call.keywords if each.arg in ("args", "cmd")), None)


def is_starting(name: str) -> bool:
    """Whether a function starts a program in place of this one, or beside it."""
    return _REPLACES.fullmatch(name) is not None


def command_of(words: Strings) -> String | None:
    """The command line for a shell that does what a program with these words does; None for programs that start none.

    Of ssh it is the one for the other host.
    """
    if len(words.items) < 2:
        return None  # what sbatch alone submits is given to it
    program = words.items[0].text.rpartition("/")[2]
    if program == "ssh":
        return _remote(words)
    return command_line(words) if program in _PROGRAMS or program in _WRAPPERS else None


def _remote(words: Strings) -> String | None:
    """The command line that ssh gives to the shell of a host: its words, with blanks between."""
    at = 1
    while at < len(words.items) and words.items[at].text.startswith("-"):
        at += 2 if _SSH_VALUE.fullmatch(words.items[at].text) else 1
    found: Characters = []
    for word in words.items[at + 1 :]:
        if found and word.characters:
            start = word.characters[0].span.start
            found += at_place(" ", Span(start, start))
        found += word.characters
    return String(found, words.is_partial) if found else None
