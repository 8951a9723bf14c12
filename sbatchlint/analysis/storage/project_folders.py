"""The folders of the project in which a script lies, and what beside it makes folders for its jobs."""

import os.path
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

_COMMENT = Regex(r"(?m)^[ \t]*#(?!SBATCH\b|!).*")
_MAKING = Regex(r"\b(?:mkdir|makedirs|install\s+-d)\b")
_SUBMITTING = Regex(r"(?<![#\w])sbatch\b")
_DIRECTIVE = Regex(r"(?m)^#SBATCH\b")
_MOST_FILES, _MOST_BYTES = 100, 1 << 16


@once
def comments(job: Job) -> list[str]:
    """The lines of a script that are comments."""
    found: list[str] = _COMMENT.findall(job.source.text)
    return found


@once
def project_folders(job: Job) -> tuple[str, ...]:
    """The script's folder and those above it, up to that of the project; none for a script that is no file."""
    if not job.source.own.has_files_beside or not lookups.exists(job.source.path):
        return ()
    found = [os.path.dirname(os.path.abspath(job.source.path))]
    while found[-1] != job.hooks.files.root:
        found.append(os.path.dirname(found[-1]))
    return tuple(found)


def may_be_made_beside(job: Job, folder: str) -> bool:
    """Whether a comment, or another file of the project, makes a folder of this name before the job is submitted."""
    name = os.path.basename(folder)
    if any(name in line and "mkdir" in line for line in comments(job)):
        return True
    return _is_named_by_maker(job, name)


def is_started_by_maker(job: Job) -> bool:
    """Whether a file beside the script, or in the folder above, names it and makes folders."""
    return _is_named_by_maker(job, os.path.basename(job.source.path), 2)


def _is_named_by_maker(job: Job, name: str, most: int | None = None) -> bool:
    """Whether another file beside the script, or in the folders above it, has this name in it and makes folders, but
    not for a job of its own; a report of findings makes none."""
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
    """The files of a folder, and the folders in it, that are searched."""
    visible = (each for each in names if not each.startswith(".") and not each.endswith(".sarif"))
    return [os.path.join(folder, each) for each in islice(visible, _MOST_FILES)]


@lru_cache(maxsize=256)  # the scripts of a folder look at the same files
def _makes_folders(data: bytes) -> bool:
    """Whether a file makes folders, and not for a job of its own."""
    if not any(word in data for word in (b"mkdir", b"makedirs", b"install")):
        return False  # only to be quick: most files do not speak of it
    text = data.decode("utf-8", "replace")
    if _MAKING.search(text) is None:
        return False
    return _SUBMITTING.search(text) is not None or _DIRECTIVE.search(text) is None
