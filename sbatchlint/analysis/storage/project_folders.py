"""The folders of a script's project, and what makes folders for its jobs before they are submitted.

That may be an outer script, another file of the project, or a user who follows a comment.
"""

import os.path
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from sbatchlint.analysis.storage.made_folders import log_folders, makers
from sbatchlint.analysis.storage.written_paths import operands
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.paths import under
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

_COMMENT = Regex(r"(?m)^[ \t]*#(?!SBATCH\b|!).*")
_MAKING = Regex(r"\b(?:mkdir|makedirs|install\s+-d)\b")
_SUBMITTING = Regex(r"(?<![#\w])sbatch\b")
_DIRECTIVE = Regex(r"(?m)^#SBATCH\b")
_WANTED = Regex(r"(?i)\b(?:exist|creat|make|mkdir|folder|director)")
_MOST_FILES, _MOST_BYTES = 100, 1 << 16


@once
def comments(job: Job) -> list[str]:
    """The comment lines of a script."""
    found: list[str] = _COMMENT.findall(job.source.text)
    return found


@once
def project_folders(job: Job) -> tuple[str, ...]:
    """The script's folder and those above it, up to the project's; empty for a script that is not a file."""
    if not job.source.own.has_files_beside or not lookups.exists(job.source.path):
        return ()
    found = [os.path.dirname(os.path.abspath(job.source.path))]
    while found[-1] != job.hooks.files.root:
        found.append(os.path.dirname(found[-1]))
    return tuple(found)


def is_made_before_job(job: Job, folder: str) -> bool:
    """Whether a log's folder is in the project, or is made before the job is submitted."""
    outer = job.outer
    while outer is not None:
        for maker, made in makers(outer):
            for path in (*made, *(operands(maker) if maker.name == "mkdir" else ())):
                if "$" in path or under(path, folder):
                    return True
        outer = outer.outer
    name = os.path.basename(folder)
    if _is_made_by_hand(job, name):
        return True
    start = job.request.value("chdir") or ""
    if folder.startswith("/") or start.startswith("/"):
        return False
    names = {each for each in log_folders(job.request, folder) if "$" not in each}
    project = project_folders(job)
    if project and any(os.path.abspath(project[0]).endswith(os.sep + each) for each in names):
        return True
    if any(lookups.is_folder(os.path.join(each, start, name)) for each in project for name in names):
        return True
    return _is_named_by_maker(job, name)


def is_announced(job: Job, folder: str) -> bool:
    """Whether the job starts in another folder, or a comment says that the folder has to exist."""
    if job.request.has_option("chdir"):
        return True
    name = os.path.basename(folder)
    lines = [line for line in comments(job) if name in line and _WANTED.search(line)]
    return any(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)


def may_be_made_beside(job: Job, folder: str) -> bool:
    """Whether a comment, or another file of the project, says that a folder of this name is made before submission."""
    name = os.path.basename(folder)
    return _is_made_by_hand(job, name) or _is_named_by_maker(job, name)


def _is_made_by_hand(job: Job, name: str) -> bool:
    return any(name in line and "mkdir" in line for line in comments(job))


def is_started_by_maker(job: Job) -> bool:
    """Whether a file in the script's folder, or the one above, names the script and makes folders."""
    return _is_named_by_maker(job, os.path.basename(job.source.path), 2)


def _is_named_by_maker(job: Job, name: str, most: int | None = None) -> bool:
    """Whether another file in the script's folder, or in those above, mentions this name and makes folders.

    Files that make folders for a job of their own do not count, nor do reports of findings.
    """
    sought = name.encode("utf-8", "surrogateescape")
    for folder in project_folders(job)[:most]:
        for path in _searched(folder, lookups.names_in(folder)):
            data = lookups.read(path, _MOST_BYTES)
            if data is not None and _makes_folders(data) and sought in data:
                if not lookups.is_same_file(path, job.source.path):
                    return True
    return False


@lru_cache(maxsize=16)  # the scripts of a folder look at the same files
def _searched(folder: str, names: Sequence[str]) -> list[str]:
    """The paths in a folder that are searched."""
    visible = (each for each in names if not each.startswith(".") and not each.endswith(".sarif"))
    return [os.path.join(folder, each) for each in islice(visible, _MOST_FILES)]


@lru_cache(maxsize=256)  # the scripts of a folder look at the same files
def _makes_folders(data: bytes) -> bool:
    """Whether a file makes folders, though not for a job of its own."""
    if not any(word in data for word in (b"mkdir", b"makedirs", b"install")):
        return False  # saves 0.8 %: most files have none of these words
    text = data.decode("utf-8", "replace")
    if _MAKING.search(text) is None:
        return False
    return _SUBMITTING.search(text) is not None or _DIRECTIVE.search(text) is None
