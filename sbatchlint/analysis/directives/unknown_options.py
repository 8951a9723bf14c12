"""Options that sbatch, srun or salloc of no release knows."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from sbatchlint.analysis.directives.missing_options import GONE
from sbatchlint.analysis.directives.typos import INVISIBLE, dashed
from sbatchlint.job import Job
from sbatchlint.job.command_lines import option_blocks
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.model import Problem
from sbatchlint.slurm.options import accepting_commands, all_options, table
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.regex import Regex

_NAME = Regex(r"[a-z][a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
# Words of Slurm's trade that are part of no option's name.
_TRADE = ("job", "jobs", "limit", "list", "memory", "number", "processes", "queue", "rank", "total", "walltime")


class UnknownOption(NamedTuple):
    """An option that the command of its block knows in no release of the range.

    `commands`: those that take it (see `accepting_commands`).
    """

    block: Directives
    problem: Problem
    commands: Mapping[str, tuple[str, ...]]


def unknown_options(job: Job) -> list[UnknownOption]:
    """The unknown options of the block and of command lines.

    Not those of `missing_options`, nor names with one dash or three.
    """
    return [found for block in option_blocks(job) for found in _of_block(block)]


def _of_block(block: Directives) -> Iterator[UnknownOption]:
    for problem in block.problems:
        if problem.kind != "unknown-option" or problem.versions is not None or problem.token is None:
            continue
        if dashed(problem.token.text, block.command) is not None or INVISIBLE.search(problem.written):
            continue
        if problem.name in GONE and problem.written.startswith("--") or problem.written == "-=":
            continue
        commands = accepting_commands(problem.written)
        if block.command == "sbatch" and problem.value_token is not None and _is_flag(problem.written, "srun"):
            # `-l nodes=2` is no `--label`, but an option of another scheduler.
            commands = {command: releases for command, releases in commands.items() if command != "srun"}
        yield UnknownOption(block, problem, commands)


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
