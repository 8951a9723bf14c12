"""The folders that a script makes, and whether one is there when it is needed."""

import posixpath
from bisect import bisect_left

from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.script.step_programs import UTILITIES
from sbatchlint.analysis.storage.written_paths import named_paths, operands, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import HERE, key, under
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.regex import Regex

# The variables in which the script has what a pattern stands for.
_VARIABLES = {"j": "SLURM_JOB_ID", "A": "SLURM_ARRAY_JOB_ID", "a": "SLURM_ARRAY_TASK_ID", "x": "SLURM_JOB_NAME",
              "u": "USER", "N": "SLURMD_NODENAME"}  # fmt: skip
_HERE = HERE - {"."}
_UNKNOWN = Regex(r"\$\{(?:[^\w$]?|\d+)\}|[*?]")
# Commands that make no folder, unless for what their words name.
_HARMLESS = UTILITIES - {"find", "lfs", "mktemp", "sbatch", "split", "xargs"}
# Those whose words may name a folder that still is not there afterwards.
_NAMING = frozenset({"echo", "printf", "export", "local", "declare", "readonly", "rm", "dirname", "basename"})


def log_folders(job: Job, folder: str) -> set[str]:
    """The names by which the script may make a folder of --output."""
    found = {folder}
    if "%" in folder:
        name = job.request.text("job-name")
        found = {folder if name is None else folder.replace("%x", name)}
        for use in reversed(patterns.found(folder)):
            folder = folder[: use.start] + "${" + _VARIABLES.get(use.letter, "") + "}" + folder[use.end :]
        found.add(folder)
    start = job.request.text("chdir") or ""
    return found | {posixpath.normpath(posixpath.join(start, each)) for each in found if start.startswith("/")}


def _folder_of_shell(job: Job, command: Invocation) -> str | None:
    """The folder in which a command runs: '' for that in which the job starts, None where it is not known."""
    moves = _moves(job)
    if not moves:
        return ""
    shells = set(map(id, command.context.shell.around()))
    for each in reversed(moves[: bisect_left(moves, command.index, key=lambda move: move.index)]):
        if id(each.context.shell) in shells:
            if each.name == "popd" or len(each.argv) != 2:
                return None
            target = key(each.argv[1])
            if target in HERE:
                if target == "${SLURM_SUBMIT_DIR}":
                    return None if job.request.asked("chdir") else ""
                continue
            return target if target.startswith(("/", "${")) and not _UNKNOWN.search(target) else None
    return ""


@once
def _moves(job: Job) -> list[Invocation]:
    return commands_named(job, "cd", "pushd", "popd")


def resolved(job: Job, command: Invocation, path: str) -> str | None:
    """A path of a command, relative to where the job starts if it lies there; None where it is not known."""
    if not path or _UNKNOWN.search(path):
        return None
    start = _folder_of_shell(job, command)
    if not path.startswith(("/", "${")):
        return None if start is None else posixpath.normpath(posixpath.join(start, path))
    for here in _HERE:
        if under(path, here):
            if start is None or start and here == "${PWD}" or job.request.asked("chdir") and here != "${PWD}":
                return None
            return posixpath.normpath(path[len(here) :].lstrip("/") or ".")
    return posixpath.normpath(path)


@once
def makers(job: Job) -> list[Invocation]:
    """The commands that may make folders, in order."""
    return commands_named(job, "mkdir", "install")


def folders_made(job: Job, command: Invocation) -> list[str]:
    """The folders that a command makes, by mkdir or install."""
    if command.name == "install":
        options = command.words[1:]
        if not any(each == "--directory" or each[:1] == "-" and each[1:2] != "-" and "d" in each for each in options):
            return []
    elif command.name != "mkdir":
        return []
    return [found for path in operands(command) if (found := resolved(job, command, path)) is not None]


def may_be_there(job: Job, folder: str, start: int, end: int) -> bool:
    """Whether something before the command `start` may have made a folder, or one up to `end` proves that it was."""
    for name in ("output", "error"):
        path = job.request.text(name)
        if path is not None and any(under(each, folder) for each in log_folders(job, patterns.directory(path) or ".")):
            return True
    for each in job.invocations:
        if each.index > end:
            break
        if each.index >= start:
            # What runs beside it in the same pipeline may be quicker; and what is moved away was there.
            if each.name in ("rm", "mv") and any(under(path, folder) for path in _paths(job, each)):
                return True
            continue
        if each.name == "mkdir" and each.argv[1:] and None in [resolved(job, each, path) for path in operands(each)]:
            return True
        paths = _paths(job, each)
        if each.name not in _NAMING and any(under(path, folder) for path in paths):
            return True
        named = folder.startswith(("/", "${")) and not any(under(folder, path) for path in paths)
        if (has_trait(each.name, "copies") or each.name == "touch") and not named or is_unclear_source(each):
            return True
        if each.name == "mktemp" and any(text_of(field) in ("-u", "--dry-run") for field in each.argv[1:]):
            continue
        if each.children or each.calls_function or each.name in _HARMLESS:
            continue
        if not _is_elsewhere(each, folder):
            return True
    return False


def _is_elsewhere(command: Invocation, folder: str) -> bool:
    """Whether a command runs in a container that has not this relative folder."""
    container = container_of(command)
    if container is None or container.kind != "pyxis" or folder.startswith(("/", "${")):
        return False
    return container.certain and not any(key(each.source) in HERE for each in container.mounts)


def _paths(job: Job, command: Invocation) -> list[str]:
    paths = (*named_paths(command), *redirected_paths(command))
    return [found for each in paths if (found := resolved(job, command, each)) is not None]
