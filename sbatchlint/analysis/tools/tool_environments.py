"""Which environment of Python's tools a command runs in: what was activated before, what uv makes for a project.

`uv sync` writes the environment of a project (UV_PROJECT_ENVIRONMENT, else `.venv` beside its pyproject.toml), and so
does `uv run` before it runs a command, unless it is told not to (uv 0.9).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.trace import exported, is_set
from sbatchlint.bash.values import Pieces, cut, shown_text, text_of
from sbatchlint.job.commands.argv import Given, basename, is_unknown, read
from sbatchlint.job.commands.python_runners import UV
from sbatchlint.job.launchers import python_command
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import SHARED, UNKNOWN, Location, classify
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.site import Site

# What puts tools on PATH, or changes PATH itself, in ways that are not followed.
_LOADING = frozenset({"module", "ml", "spack", "conda", "mamba", "micromamba", "pyenv", "guix", "eb", "nix", "workon"})
_UNTOUCHED = frozenset({"no-sync", "frozen", "active", "isolated", "no-project", "script", "help"})
_UNTOUCHED_VARIABLES = ("UV_NO_SYNC", "UV_FROZEN", "UV_ISOLATED")


class UvCommand(NamedTuple):
    """A call of uv. `verb`: `sync`, `run`, `pip install` …; `at`: index of the verb's last word. `given`: its options.

    `certain`: no word hides further ones.
    """

    verb: str
    at: int
    given: tuple[Given, ...]
    certain: bool

    def has(self, *names: str) -> bool:
        return any(each.name in names for each in self.given)

    def value(self, name: str) -> Pieces | None:
        return next((each.value for each in self.given if each.name == name), None)


def uv_command(command: Invocation) -> UvCommand | None:
    """The call of uv that a command is; None for others."""
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
    return UvCommand(verb, at, (*top.given, *rest.given), top.certain and rest.certain)


class Install(NamedTuple):
    """A command that writes an environment. `kind`: `uv sync`, `uv pip install`, `pip install` or `uv run`.

    `at`: index of the word that says so. `uv`: the call of uv, None for pip.
    """

    kind: str
    command: Invocation
    at: int
    uv: UvCommand | None


def install_of(command: Invocation) -> Install | None:
    """What a command installs into its environment; None where it does not, or nobody knows."""
    uv = uv_command(command)
    if uv is not None:
        if uv.has("dry-run", "help", "check"):
            return None
        if uv.verb in ("pip install", "pip sync"):
            return Install("uv pip install", command, uv.at, uv)
        if uv.verb == "sync":
            return Install("uv sync", command, uv.at, uv)
        if uv.verb == "run":
            untouched = uv.has(*_UNTOUCHED) or any(is_set(command, name) for name in _UNTOUCHED_VARIABLES)
            return None if untouched or not uv.certain else Install("uv run", command, uv.at, uv)
        return None
    words = [shown_text(field) for field in command.argv]
    if command.name is not None and _PIP.fullmatch(command.name):
        start = 1
    else:
        python = python_command(command.argv)
        if python is None or python.kind != "module" or python.text != "pip":
            return None
        start = python.after
    at = next((number for number in range(start, len(words)) if not words[number].startswith("-")), 0)
    return Install("pip install", command, at, None) if words[at] == "install" and "--dry-run" not in words else None


_PIP = Regex(r"pip(?:3(?:\.\d+)?)?")


def before(job: Job, command: Invocation) -> Iterator[Invocation]:
    """What ran before a command in its own shell and in the shells around it, the last one first."""
    shells = {id(each.context.parent) for each in (command, *command.ancestors())}
    for each in reversed(job.invocations):
        if each.index < command.index and id(each.context.parent) in shells:
            yield each


def is_activated(job: Job, command: Invocation) -> bool:
    """Whether something before a command may have put other tools first on its PATH."""
    if is_set(command, "PATH") or command.state.sourced:
        return True
    return any(
        each.name in ("source", ".", "activate") or each.name in _LOADING or each.name == "eval" and not each.children
        for each in before(job, command)
    )


def folder_of(job: Job, command: Invocation) -> Pieces | None:
    """The folder into which the script last changed before a command; None where it did not."""
    for each in before(job, command):
        if each.name in ("cd", "pushd") and len(each.argv) == 2:
            return each.argv[1]
    return None


def environment_place(job: Job, install: Install) -> Location:
    """Where the environment lies that a command writes to, as far as the script tells."""
    command, site = install.command, job.site
    container = container_of(command)
    if install.kind in ("uv sync", "uv run"):
        named = exported(command, "UV_PROJECT_ENVIRONMENT")
        if named and shown_text(named).startswith(("/", "~")) or named and is_unknown(named[:1]):
            return classify(named, site, container)
        uv = install.uv
        project = None if uv is None else uv.value("project") or uv.value("directory")
        folder = project or folder_of(job, command)
        if folder is not None:
            found = classify(folder, site, container)
            if found.kind != UNKNOWN or container is not None:
                return found
        # a project's own folder is where the job was submitted from, or one that the user keeps
        return Location(UNKNOWN) if container is not None else Location(SHARED, "the project's folder")
    return _pip_place(job, command, site)


def _pip_place(job: Job, command: Invocation, site: Site) -> Location:
    container = container_of(command)
    words = list(command.argv)
    for number, field in enumerate(words):
        text = shown_text(field)
        if text in ("-t", "--target", "--prefix", "-p", "--python") and number + 1 < len(words):
            return classify(words[number + 1], site, container)
        if text.startswith(("--target=", "--prefix=", "--python=")):
            return classify(cut(field, text.index("=") + 1, len(text)), site, container)
        if text == "--user":
            return Location(SHARED, "the home folder") if container is None else Location(UNKNOWN)
    for each in before(job, command):
        if each.name in ("source", ".") and len(each.argv) > 1 and shown_text(each.argv[1]).endswith("/bin/activate"):
            field = each.argv[1]
            return classify(cut(field, 0, len(shown_text(field)) - len("/bin/activate")), site, container)
        if each.name in ("conda", "mamba", "micromamba") and container is None and len(each.argv) == 3:
            if text_of(each.argv[1]) == "activate":
                named = "/" not in shown_text(each.argv[2])
                return Location(SHARED, "conda's environment") if named else classify(each.argv[2], site)
    return Location(UNKNOWN)
