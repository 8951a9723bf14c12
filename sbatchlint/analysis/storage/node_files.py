"""Files on the disk of the job's first node, and tasks on other nodes that open them."""

import math
from typing import NamedTuple

from sbatchlint.analysis.script.work import UTILITIES
from sbatchlint.analysis.storage.written_paths import created_paths, named_paths, redirected_paths, words
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.job.paths import under
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex

_HOSTS = Regex(r"^-{1,2}(?:\w*[_-])?(?:host|node|machine)s?[_-]?(?:file|list)|^--hosts\b")
# Commands that put files on other nodes.
ELSEWHERE = programs_with("remote", "mpi") | {"sbcast", "scp", "pdcp"}
# Commands whose words may name files that do not exist.
HANDLING = frozenset(
    {"rm", "echo", "printf", "export", "[", "[[", "test", "mkdir", "touch", "tee", "ls", "chmod", "true"}
)


def opened(job: Job, command: Invocation) -> tuple[Pieces, ...]:
    """The words that name files which a command opens in every task.

    In an unknown program, which may use MPI, possibly only the first rank opens files; host files are read by one.
    """
    argv = command.argv
    if not argv or not (has_trait(command.name, "opens") or is_python(argv[0]) or job.launcher_of(command) is not None):
        return argv[:1]
    hosts = [_HOSTS.search(shown_text(field)) is not None for field in argv]
    return tuple(() if hosts[at] or at and hosts[at - 1] else field for at, field in enumerate(argv))


def is_made_there(job: Job, path: str, user: Invocation, *, folder: bool) -> bool:
    """Whether a path is made on the other nodes too before `user` runs: by a task, sbcast, ssh, or a program."""
    return _made_since(job, path, folder) < user.index


@once
def _made_since(job: Job, path: str, folder: bool) -> float:
    """The index of the command after which a path exists on the other nodes too; -1 for always, infinity for never."""
    since = math.inf
    for maker in _makers(job):
        if any(path in word for word in maker.elsewhere):
            return -1
        # a redirection makes a file, but not its folder
        targets = maker.folders if folder else maker.files
        if any(under(target, path) or under(path, target) and target.count("/") > 1 for target in targets):
            return -1
        if folder and maker.order < since and any(under(name, path) for name in maker.named):
            since = maker.order
    return since


class _Maker(NamedTuple):
    """A command that may make files on other nodes.

    `order`: its index. `elsewhere`: its words, if it reaches other nodes. `files`, `folders`: the paths that it makes.
    `named`: the paths among a program's words.
    """

    order: int
    elsewhere: list[str]
    files: list[str]
    folders: list[str]
    named: list[str]


@once
def _makers(job: Job) -> list[_Maker]:
    found = []
    for command in job.invocations:
        elsewhere = words(command) if command.name in ELSEWHERE else []
        if command.phase is Phase.TASK:
            made = created_paths(command)
            is_program = command.name not in UTILITIES and command.text is None and not command.children
            named = named_paths(command) if is_program else []
            found.append(_Maker(command.index, elsewhere, [*redirected_paths(command), *made], made, named))
        elif elsewhere:
            found.append(_Maker(command.index, elsewhere, [], [], []))
    return found
