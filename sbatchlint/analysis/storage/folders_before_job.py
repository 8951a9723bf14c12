"""The folders of logs that Slurm opens before the script runs: whether somebody makes them in time.

What makes a folder before the job is submitted is the script around this one, another file of the project, or a person
whom a comment tells to; a folder whose name is new in each job nobody can make in time.
"""

import os.path
import posixpath
import re

from sbatchlint.analysis.storage.made_folders import log_folders, makers
from sbatchlint.analysis.storage.project_folders import comments, may_be_made_beside, project_folders
from sbatchlint.analysis.storage.written_paths import operands
from sbatchlint.bash.values import Expansion
from sbatchlint.job import Job
from sbatchlint.job.paths import under
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

# Patterns with another value in each job: no folder named by them is there before it.
_OF_JOB = frozenset("jJAS")
# What no earlier run had: of a `date` only what names a day of a year.
_RANDOM = frozenset({"$", "BASHPID", "RANDOM", "SRANDOM", "EPOCHSECONDS", "EPOCHREALTIME"})
_NEW_DAY = Regex(r"%-?[scFDxN]|(?=.*%[-^]?[mbBh])(?=.*%-?[de])|%-?j")
_OF_ANOTHER_DAY = Regex(r"-[a-zA-Z]*[drf]|--(?:date|reference|file)")
_WANTED = Regex(r"(?i)\b(?:exist|creat|make|mkdir|folder|director)")


def part_of_each_job(folder: str) -> str | None:
    """The first part of a folder's name that another job has otherwise."""
    return next((folder[use.start : use.end] for use in patterns.found(folder) if use.letter in _OF_JOB), None)


def is_new(expansion: Expansion) -> bool:
    """Whether an expansion gives a string that no earlier run had: a day or a moment, or a random name."""
    if expansion.name in _RANDOM:
        return True
    for words in expansion.commands:
        if words[:1] == ("uuidgen",) or words[:1] == ("mktemp",) and {"-u", "--dry-run"} & set(words):
            return True
        if words[:1] == ("date",) and not any(_OF_ANOTHER_DAY.match(word) for word in words[1:]):
            form = next((word for word in words if word[:1] == "+"), None)
            return "+" not in expansion.name if form is None else _NEW_DAY.search(form) is not None
    return False


def is_made_before_job(job: Job, folder: str) -> bool:
    """Whether a folder of a log is in the project, or somebody makes it before the job is submitted."""
    outer = job.outer
    while outer is not None:
        for maker, made in makers(outer):
            for path in (*made, *(operands(maker) if maker.name == "mkdir" else ())):
                if "$" in path or under(path, folder):
                    return True
        outer = outer.outer
    name = posixpath.basename(folder)
    if any("mkdir" in line and name in line for line in comments(job)):
        return True
    start = job.request.text("chdir") or ""
    if folder.startswith("/") or start.startswith("/"):
        return False
    names = {each for each in log_folders(job.request, folder) if "$" not in each}
    project = project_folders(job)
    if project and any(os.path.abspath(project[0]).endswith(os.sep + each) for each in names):
        return True
    if any(lookups.is_folder(os.path.join(each, start, name)) for each in project for name in names):
        return True
    return may_be_made_beside(job, folder)


def is_announced(job: Job, folder: str) -> bool:
    """Whether the job starts elsewhere, or a comment says that the folder has to be there."""
    if job.request.asked("chdir"):
        return True
    name = posixpath.basename(folder)
    lines = [line for line in comments(job) if name in line and _WANTED.search(line)]
    return any(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)
