"""Options that sbatch of no release knows."""

import re
from collections.abc import Mapping
from functools import cache

from sbatchlint.analysis.directives.missing_options import GONE
from sbatchlint.analysis.directives.typos import INVISIBLE, dashed
from sbatchlint.job import Job
from sbatchlint.slurm.model import Problem
from sbatchlint.slurm.options import accepting_commands, all_options, table
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.regex import Regex

_NAME = Regex(r"[a-z][a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
# Words of Slurm's trade that are part of no option's name.
_TRADE = ("job", "jobs", "limit", "list", "memory", "number", "processes", "queue", "rank", "total", "walltime")


def unknown_options(job: Job) -> list[tuple[Problem, Mapping[str, tuple[str, ...]]]]:
    """Options that sbatch of no release of the range has, with the commands that take them (see `accepting_commands`).

    Not those of `missing_options`, nor names with one dash or three.
    """
    found: list[tuple[Problem, Mapping[str, tuple[str, ...]]]] = []
    for problem in job.directives.problems:
        if problem.kind != "unknown-option" or problem.versions is not None or problem.token is None:
            continue
        if dashed(problem.token.text) is not None or INVISIBLE.search(problem.written):
            continue
        if problem.name in GONE and problem.written.startswith("--") or problem.written == "-=":
            continue
        commands = accepting_commands(problem.written)
        if problem.value_token is not None and _is_flag(problem.written, "srun"):
            # `-l nodes=2` is no `--label`, but an option of another scheduler.
            commands = {command: releases for command, releases in commands.items() if command != "srun"}
        found.append((problem, commands))
    return found


def _is_flag(written: str, command: str) -> bool:
    """Whether a letter is an option of this command that takes no value."""
    newest = MAJORS[-1]
    option = table(command, newest).letters.get(written[1:])
    return option is not None and option.argument(newest) == "none"


def is_plausible(written: str) -> bool:
    """Whether a plugin might well have an option of this name.

    It can only be a long one, and none would be put together from nothing but words of Slurm's own options.
    """
    name = written[2:]
    if not written.startswith("--") or not _NAME.fullmatch(name):
        return False
    return not all(word in _vocabulary() for word in re.split("[-_]", name))


@cache
def _vocabulary() -> frozenset[str]:
    words = {word for option in all_options() for word in re.split("[-_]", option.name)}
    return frozenset(words | {f"{word}s" for word in words} | {word.removesuffix("s") for word in words} | set(_TRADE))
