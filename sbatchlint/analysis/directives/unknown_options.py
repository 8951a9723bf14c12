"""Options that sbatch, srun or salloc does not know in any release."""

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
# Words about batch jobs that are not part of an option's name.
_TERMS = ("job", "jobs", "limit", "list", "memory", "number", "processes", "queue", "rank", "total", "walltime")


class UnknownOption(NamedTuple):
    """An option that the block's command does not know in any release of the range.

    `commands`: those that do (see `accepting_commands`).
    """

    block: Directives
    problem: Problem
    commands: Mapping[str, tuple[str, ...]]


def unknown_options(job: Job) -> list[UnknownOption]:
    """The unknown options of the block and of command lines, without `missing_options` and names with a wrong dash."""
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
            # `-l nodes=2` is not `--label`, but an option of another scheduler.
            commands = {command: releases for command, releases in commands.items() if command != "srun"}
        yield UnknownOption(block, problem, commands)


def _is_flag(written: str, command: str) -> bool:
    """Whether `-X` is an option of this command that takes no value."""
    newest = MAJORS[-1]
    option = table(command, newest).letters.get(written[1:])
    return option is not None and option.argument(newest) == "none"


def is_plausible(written: str) -> bool:
    """Whether a plugin might have an option of this name: a long one, with a word that is not one of Slurm's own."""
    name = written[2:]
    if not written.startswith("--") or not _NAME.fullmatch(name):
        return False
    return not all(word in _vocabulary() for word in re.split("[-_]", name))


@cache
def _vocabulary() -> frozenset[str]:
    words = {word for option in all_options() for word in re.split("[-_]", option.name)}
    return frozenset(words | {f"{word}s" for word in words} | {word.removesuffix("s") for word in words} | set(_TERMS))
