"""Commands that install Python packages, and those of uv, which runs programs in a project's environment.

`uv sync` writes the environment of a project (UV_PROJECT_ENVIRONMENT, else `.venv` beside its pyproject.toml), and so
does `uv run` before it runs a command, unless an option prevents it (uv 0.9).
"""

from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, is_set
from sbatchlint.bash.values import Pieces, shown_text, text_of
from sbatchlint.job.argv import CommandOption, basename, read
from sbatchlint.job.commands.python_runners import UV
from sbatchlint.job.launchers import python_of
from sbatchlint.job.launches import container_of
from sbatchlint.source.regex import Regex

# With these, `uv run` does not change the environment.
_UNTOUCHED = frozenset({"no-sync", "frozen", "active", "isolated", "no-project", "script", "help"})
_UNTOUCHED_VARIABLES = ("UV_NO_SYNC", "UV_FROZEN", "UV_ISOLATED")
# Every command that installs has one of these words.
_VERBS = frozenset({"install", "sync", "run"})
_PIP = Regex(r"pip(?:3(?:\.\d+)?)?")


class UvCommand(NamedTuple):
    """A call of uv. `verb`: `sync`, `run`, `pip install` …; `at`: index of the verb's last word.

    `certain`: whether all words are known.
    """

    verb: str
    at: int
    options: tuple[CommandOption, ...]
    certain: bool

    def has(self, *names: str) -> bool:
        return any(each.name in names for each in self.options)

    def value(self, name: str) -> Pieces | None:
        return next((each.value for each in self.options if each.name == name), None)


def uv_command(command: Invocation) -> UvCommand | None:
    """A command as a call of uv; None for other commands."""
    argv = command.argv
    if not argv or basename(argv[0]) != "uv":
        return None
    top = read(argv, 1, UV)
    at = top.operand
    verb = None if at is None else text_of(argv[at])
    if at is None or verb is None:
        return None
    if verb in ("pip", "tool") and at + 1 < len(argv):
        at += 1
        verb = f"{verb} {shown_text(argv[at])}"
    rest = read(argv, at + 1, UV)
    return UvCommand(verb, at, (*top.options, *rest.options), top.certain and rest.certain)


class Install(NamedTuple):
    """A command that writes a Python environment. `kind`: `uv sync`, `uv pip install`, `pip install` or `uv run`.

    `at`: index of its `install`, `sync` or `run`. `uv`: the call of uv, None for pip.
    """

    kind: str
    command: Invocation
    at: int
    uv: UvCommand | None


def install_of(command: Invocation) -> Install | None:
    """A command as one that writes its Python environment; None where it does not, or where that is not known."""
    if _VERBS.isdisjoint(command.words):
        return None
    uv = uv_command(command)
    if uv is not None:
        if uv.has("dry-run", "help", "check"):
            return None
        if uv.verb in ("pip install", "pip sync"):
            return Install("uv pip install", command, uv.at, uv)
        if uv.verb == "sync":
            return Install("uv sync", command, uv.at, uv)
        untouched = uv.has(*_UNTOUCHED) or any(is_set(command, name) for name in _UNTOUCHED_VARIABLES)
        return Install("uv run", command, uv.at, uv) if uv.verb == "run" and uv.certain and not untouched else None
    if command.name is not None and _PIP.fullmatch(command.name):
        start = 1
    else:
        python = python_of(command)
        if python is None or python.kind != "module" or python.text != "pip":
            return None
        start = python.after
    words = command.words
    at = next((number for number in range(start, len(words)) if not words[number].startswith("-")), 0)
    return Install("pip install", command, at, None) if words[at] == "install" and "--dry-run" not in words else None


def image_of(command: Invocation) -> str | None:
    """The image, or else the name, of the container in which a command runs; None on the host."""
    container = container_of(command)
    return None if container is None else shown_text(container.image or container.name or ())
