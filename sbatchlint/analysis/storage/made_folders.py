"""The folders that a script makes, and whether one exists when it is needed, as by a file that is opened for output."""

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.script.work import UTILITIES
from sbatchlint.analysis.storage.written_paths import WRITING, named_paths, operands, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.job import Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import HERE, key, under
from sbatchlint.job.programs import commands_named
from sbatchlint.job.request import Request
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The variables with the values that patterns of file names stand for.
_VARIABLES = {"j": "SLURM_JOB_ID", "A": "SLURM_ARRAY_JOB_ID", "a": "SLURM_ARRAY_TASK_ID", "x": "SLURM_JOB_NAME",
              "u": "USER", "N": "SLURMD_NODENAME"}  # fmt: skip
_HERE = HERE - {"."}
_UNKNOWN = Regex(r"\$\{(?:[^\w$]?|\d+)\}|[*?]")
# Commands that make no folders but those that their words name.
_HARMLESS = UTILITIES - {"find", "lfs", "mktemp", "sbatch", "split", "xargs"}
# Commands whose words may name a folder that does not exist afterwards.
_NAMING = frozenset({"echo", "printf", "export", "local", "declare", "readonly", "rm", "dirname", "basename"})


def log_folders(request: Request, folder: str) -> set[str]:
    """The names under which the script may make a folder of --output."""
    found = {folder}
    if "%" in folder:
        name = request.value("job-name")
        found = {folder if name is None else folder.replace("%x", name)}
        for use in reversed(patterns.found(folder)):
            folder = folder[: use.start] + "${" + _VARIABLES.get(use.letter, "") + "}" + folder[use.end :]
        found.add(folder)
    start = request.value("chdir") or ""
    return found | {posixpath.normpath(posixpath.join(start, each)) for each in found if start.startswith("/")}


def folder_of_shell(job: Job, command: Invocation) -> str | None:
    """The folder in which a command runs: '' for the one in which the job starts, None where it is not known."""
    for move in moves_before(job, command):
        if move.name == "popd" or len(move.argv) != 2:
            return None
        target = key(move.argv[1])
        if target in HERE:
            if target == "${SLURM_SUBMIT_DIR}":
                return None if job.request.has_option("chdir") else ""
            continue
        return target if target.startswith(("/", "${")) and not _UNKNOWN.search(target) else None
    return ""


def moves_before(job: Job, command: Invocation) -> Iterator[Invocation]:
    """The calls of cd, pushd and popd before a command, in its shell and the enclosing ones, the last one first."""
    moves = _moves(job)
    shells = list(command.context.shell.enclosing_shells()) if moves else []
    index = command.index
    while shells:
        found: Invocation | None = None
        for shell in shells:
            own = moves.get(id(shell), [])
            at = bisect_left(own, index, key=lambda move: move.index)
            if at and (found is None or own[at - 1].index > found.index):
                found = own[at - 1]
        if found is None:
            return
        yield found
        index = found.index


@once
def _moves(job: Job) -> dict[int, list[Invocation]]:
    """The calls of cd, pushd and popd in each shell, by the shell's identity."""
    found: dict[int, list[Invocation]] = {}
    for command in commands_named(job, "cd", "pushd", "popd"):
        found.setdefault(id(command.context.shell), []).append(command)
    return found


def resolved(job: Job, command: Invocation, path: str) -> str | None:
    """A path of a command, relative to the folder in which the job starts if it is there; None where not known."""
    if not path or _UNKNOWN.search(path):
        return None
    start = folder_of_shell(job, command)
    if not path.startswith(("/", "${")):
        return None if start is None else posixpath.normpath(posixpath.join(start, path))
    for here in _HERE:
        if under(path, here):
            if start is None or start and here == "${PWD}" or job.request.has_option("chdir") and here != "${PWD}":
                return None
            return posixpath.normpath(path[len(here) :].lstrip("/") or ".")
    return posixpath.normpath(path)


@once
def makers(job: Job) -> list[tuple[Invocation, list[str]]]:
    """The calls of mkdir and install in order, each with the folders that it makes."""
    return [
        (command, _resolved(job, command, operands(command)))
        for command in commands_named(job, "mkdir", "install")
        if command.name == "mkdir" or _makes_folders(command)
    ]


@once
def named_folders(job: Job) -> frozenset[str]:
    """The folders that calls of mkdir name, as they are named there."""
    return frozenset(path for command in commands_named(job, "mkdir") for path in operands(command))


def _makes_folders(install: Invocation) -> bool:
    options = [word for word in install.words[1:] if word.startswith("-")]
    return any(option == "--directory" or option[1:2] != "-" and "d" in option for option in options)


def _resolved(job: Job, command: Invocation, paths: Iterable[str]) -> list[str]:
    return [found for path in paths if (found := resolved(job, command, path)) is not None]


def may_be_there(job: Job, folder: str, start: int, end: int) -> bool:
    """Whether a command before `start` may have made a folder, or one up to `end` shows that it existed (indexes)."""
    for name in ("output", "error"):
        path = job.request.value(name)
        logs = () if path is None else log_folders(job.request, patterns.directory(path) or ".")
        if any(under(each, folder) for each in logs):
            return True
    for command in job.invocations:
        if command.index > end:
            break
        if command.index >= start and command.name not in ("rm", "mv"):
            continue  # commands of the same pipeline may run earlier or later
        paths = _resolved(job, command, (*named_paths(command), *redirected_paths(command)))
        is_named = any(under(path, folder) for path in paths)
        if command.index >= start:
            if is_named:
                return True  # rm and mv need what they name
            continue
        if command.name == "mkdir" and None in [resolved(job, command, path) for path in operands(command)]:
            return True
        if command.name not in _NAMING and is_named:
            return True
        elsewhere = folder.startswith(("/", "${")) and not any(under(folder, path) for path in paths)
        copies = has_trait(command.name, "copies") or command.name == "touch"
        if copies and not elsewhere or is_unclear_source(command):
            return True
        if command.name == "mktemp" and any(text_of(field) in ("-u", "--dry-run") for field in command.argv[1:]):
            continue
        if command.children or command.calls_function or command.name in _HARMLESS:
            continue
        if not _is_elsewhere(command, folder):
            return True
    return False


def _is_elsewhere(command: Invocation, folder: str) -> bool:
    """Whether a command runs in a container without this relative folder."""
    container = container_of(command)
    if container is None or container.kind != "pyxis" or folder.startswith(("/", "${")):
        return False
    return container.certain and not any(key(each.source) in HERE for each in container.mounts)


_PARENTS = Regex(r"-[a-zA-Z]*p|--parents\Z")


class Opening(NamedTuple):
    """A file that is opened for the output of a command.

    `start`: the index of the first command of its pipeline. `by`: what opens it: `bash`, `tee`, or the srun option that
    names it.
    """

    command: Invocation
    folder: str
    span: Span
    start: int
    by: str

    @property
    def is_option(self) -> bool:
        return self.by not in ("bash", "tee")


def openings(job: Job) -> Iterator[Opening]:
    """The files in folders that a script opens, in the order in which the commands run."""
    starts = _starts(job)
    steps = {id(step.invocation): step for step in job.steps}
    for command in job.invocations:
        step = steps.get(id(command))
        if command.phase is not Phase.BATCH or command.alternatives > 1 or command.context.handler:
            continue
        if enclosing_step(command.context) is not None or container_of(command) is not None and step is None:
            continue
        for target, span, by in _targets(command, step, not job.versions.all_since("23.02")):
            folder, slash, _ = key(target).rpartition("/")
            found = resolved(job, command, folder) if slash else None
            if found is not None and found not in (".", "/") and "%" not in found and not found.startswith("/dev/"):
                yield Opening(command, found, span, starts.get(command.index, command.index), by)


def _starts(job: Job) -> dict[int, int]:
    """The index of the first command of a pipeline, by the index of each of its commands."""
    starts: dict[int, int] = {}
    for run in job.pipelines:
        first = min((command.index for element in run.elements for command in element), default=0)
        for element in run.elements:
            if len([command for command in element if not command.kind]) == 1:  # of several, others may run earlier
                starts.update((command.index, first) for command in element)
    return starts


def _targets(command: Invocation, step: Step | None, of_steps: bool) -> Iterator[tuple[Pieces, Span, str]]:
    """The paths that are opened for a command, each with its place and with what opens it.

    `of_steps`: whether the options of steps count too: from 23.02 on both srun and slurmstepd, which opens the files
    of single tasks and nodes, make the folders.
    """
    for redirect in command.redirects:
        if redirect.operator in WRITING and redirect.target:
            yield redirect.target, redirect.span, "bash"
    if command.name == "tee":
        yield from ((field, command.span, "tee") for field in command.argv[1:] if not shown_text(field).startswith("-"))
    if of_steps and step is not None and step.option("chdir") is None:
        for name in ("output", "error"):
            option = step.option(name)
            if option is not None and option.value:
                yield option.value, option.span or step.span, name


def makers_by_folder(job: Job) -> dict[str, list[Invocation]]:
    """The commands that make each folder, alone or with one in it, in order, without those in traps."""
    found: dict[str, list[Invocation]] = {}
    for maker, made in makers(job):
        if not maker.context.handler:
            parents = maker.name == "install" or any(_PARENTS.match(word) for word in maker.words[1:])
            paths = {folder for path in made for folder in accumulate(path.split("/"), "{}/{}".format)}
            for folder in paths if parents else {*made}:  # without -p the folders above have to exist
                found.setdefault(folder, []).append(maker)
    return found


def is_too_late(maker: Invocation, opening: Opening) -> bool:
    """Whether a command makes the folder of an opening only after the file is opened."""
    if not runs_after(maker, opening.command, opening.start):
        return False
    return container_of(maker) is None or opening.folder.startswith(("/", "${"))  # else it is another folder


def runs_after(maker: Invocation, command: Invocation, start: int) -> bool:
    """Whether a command that makes a folder runs after another one, whose pipeline begins at the index `start`."""
    return maker.index >= start and merge_guards(maker.guards, command.guards) is not None
