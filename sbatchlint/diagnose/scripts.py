"""Finds the script of a log by the patterns of its --output and --error, and by its name."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sbatchlint.bash.values import Text
from sbatchlint.job.request import Request
from sbatchlint.slurm.directives import read_directives
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.discover import DEFAULT_EXCLUDE, is_batch_script
from sbatchlint.source.files import InputError, content, is_stream, read

# The parent folders of a log that are searched, how deep below them, how many files, and up to which size.
MOST_ABOVE, DEEPEST, MOST_FILES, LARGEST = 3, 3, 3000, 1 << 20
# Where sbatch writes without --output.
DEFAULT, DEFAULT_ARRAY = "slurm-%j.out", "slurm-%A_%a.out"


class Found(NamedTuple):
    """A script whose job may have written a log; `score`: higher is better; `by`: the evidence."""

    score: int
    path: str
    by: str


class Candidate(NamedTuple):
    """A batch script near a log. `level`: the number of the folder in which the search for it began."""

    level: int
    path: str
    request: Request


def script_of(log: str, known: dict[str, list[Candidate]] | None = None) -> tuple[Found | None, list[str]]:
    """The script of a log; None and the candidates if several fit equally well, None if none does.

    `known`: the scripts near other logs, by folder, which are then not read again.
    """
    folder = os.getcwd() if is_stream(log) else os.path.dirname(os.path.abspath(log))
    candidates: Iterable[Candidate] = _candidates(folder)
    if known is not None:
        if folder not in known:
            known[folder] = list(candidates)
        candidates = known[folder]
    found: list[Found] = []
    nearest = 0
    for candidate in candidates:
        if found and candidate.level > nearest:
            break
        match = _fit(candidate, log)
        if match is not None:
            nearest = candidate.level
            found.append(match)
    if not found:
        return None, []
    best = max(each.score for each in found)
    equal = [each for each in found if each.score == best]
    return (equal[0], []) if len(equal) == 1 else (None, sorted(each.path for each in equal))


def _candidates(folder: str) -> Iterator[Candidate]:
    """The batch scripts near a log: in and below its folder, then in the parent folders up to that of the project."""
    seen: set[str] = set()
    left = MOST_FILES
    roots = [folder]
    while len(roots) <= MOST_ABOVE and not os.path.exists(os.path.join(roots[-1], ".git")):
        above = os.path.dirname(roots[-1])
        if above in (roots[-1], os.path.expanduser("~"), "/"):
            break
        roots.append(above)
    for level, root in enumerate([*roots, os.getcwd()]):
        for path in _files(root):
            if path in seen:
                continue
            seen.add(path)
            left -= 1
            if left < 0:
                return
            try:
                status = os.stat(path)
                if (
                    not stat.S_ISREG(status.st_mode)
                    or status.st_size > LARGEST
                    or not is_batch_script(content(path), path)
                ):
                    continue
                directives = read_directives(Text.of_file(read(path).text))
            except (OSError, InputError):
                continue
            if directives.lines:
                yield Candidate(level, path, Request(directives))


def _files(root: str) -> Iterator[str]:
    depth = root.rstrip(os.sep).count(os.sep)
    for folder, folders, names in os.walk(root):
        if folder.count(os.sep) - depth >= DEEPEST:
            folders.clear()
        folders[:] = sorted(each for each in folders if each not in DEFAULT_EXCLUDE and not each.startswith("."))
        for name in sorted(names):
            yield os.path.join(folder, name)


def _fit(candidate: Candidate, log: str) -> Found | None:
    """The script, if its job may write its log to this file; else None."""
    path, request = candidate.path, candidate.request
    name = request.value("job-name") or os.path.basename(path)
    full = os.path.abspath(log).replace(os.sep, "/")
    for option in ("output", "error"):
        pattern = request.value(option)
        if pattern and "$" not in pattern and re.search(_expression(pattern, name), full):
            return Found(3 if name in pattern or "%x" in pattern else 2, path, f"--{option}={pattern}")
    if request.has_option("output"):
        return Found(1, path, "its name") if name in os.path.basename(log) and len(name) > 3 else None
    for pattern in (DEFAULT, DEFAULT_ARRAY):
        if re.search(_expression(pattern, name), full):
            near = os.path.dirname(os.path.abspath(log)) == os.path.dirname(os.path.abspath(path))
            return Found(1 if near else 0, path, pattern)
    return None


def _expression(pattern: str, name: str) -> str:
    """A regular expression for the paths that a pattern expands to."""
    end = pattern.removeprefix("./").removeprefix("../")
    if end.startswith(("~", "/")):  # may be of another machine: only the last folder and the file
        end = "/".join(end.split("/")[-2:])
    made, at = "", 0
    for use in patterns.found(end):
        made += re.escape(end[at : use.start])
        at = use.end
        if use.letter == "x":
            made += re.escape(name)
        elif use.letter in "Nu":
            made += r"[\w.-]+"
        elif use.letter == "%":
            made += "%"
        else:
            made += r"\d+(?:\.[\w+]+)?(?:_\d+)?" if use.letter == "J" else r"\d+"
    return f"(?:^|/){made}{re.escape(end[at:])}$"
