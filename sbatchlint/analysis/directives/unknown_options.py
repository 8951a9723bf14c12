"""Options that only some releases of Slurm have, that only sbatch has, or that sbatch, srun or salloc never had."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from sbatchlint.analysis.directives.typos import INVISIBLE, dashed
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.job import Job
from sbatchlint.job.command_lines import option_blocks
from sbatchlint.job.steps import Step
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.getopt import UNKNOWN, OptionFault
from sbatchlint.slurm.model import Problem
from sbatchlint.slurm.options import accepting_commands, all_options, matches, table
from sbatchlint.slurm.versions import MAJORS, Range
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span


class Gone(NamedTuple):
    """What became of an option before 20.11: the release that dropped it, and its name from then on (None: none)."""

    since: str
    name: str | None


# From the option tables of sbatch in 14.11 to 20.11.
GONE = {
    "blrts-image": Gone("18.08", None),
    "checkpoint": Gone("20.02", None),
    "checkpoint-dir": Gone("19.05", None),
    "cnload-image": Gone("18.08", None),
    "conn-type": Gone("18.08", None),
    "geometry": Gone("18.08", None),
    "ioload-image": Gone("18.08", None),
    "linux-image": Gone("18.08", None),
    "mem_bind": Gone("19.05", "mem-bind"),
    "mincores": Gone("19.05", "cores-per-socket"),
    "minsockets": Gone("19.05", "sockets-per-node"),
    "minthreads": Gone("19.05", "threads-per-core"),
    "mloader-image": Gone("18.08", None),
    "no-rotate": Gone("18.08", None),
    "ramdisk-image": Gone("18.08", None),
    "share": Gone("19.05", "oversubscribe"),
    "workdir": Gone("19.05", "chdir"),
}


class MissingOption(NamedTuple):
    """An option that only other releases have.

    `absent`: the releases of the range that do not have it. `kind`: `new` (only later ones have it), `removed` (only
    earlier ones) or `gap` (both). `since`: the release that added or removed it. `gone`: for an option removed before
    20.11, what became of it; then `kind` is `removed`.
    """

    written: str
    absent: tuple[str, ...]
    kind: str
    since: str
    gone: Gone | None


def missing_options(job: Job) -> list[tuple[Span, MissingOption]]:
    """Options of the block, and of sbatch command lines, that some release of the range lacks and another release has.

    Each comes with its place: the option alone, if it is written without quotes or backslashes.
    """
    found: list[tuple[Span, MissingOption]] = []
    blocks = [each for each in option_blocks(job) if each.command == "sbatch"]
    for problem in (problem for block in blocks for problem in block.problems):
        # A long name with one dash or three is another fault.
        if problem.kind != "unknown-option" or problem.token is None or dashed(problem.token.text) is not None:
            continue
        missing = missing_option(problem.written, "sbatch", problem.versions or job.versions.majors)
        if missing is not None:
            span = problem.span
            plain = job.source.slice(span).startswith(problem.written)
            found.append((Span(span.start, span.start + len(problem.written)) if plain else span, missing))
    return found


def missing_step_options(job: Job) -> list[tuple[Span, MissingOption]]:
    """Options of the script's sruns that some release of the range lacks and another has, with their places."""
    found: dict[tuple[Span, MissingOption], None] = {}
    for step in job.steps:
        argv = step.invocation.argv
        spans = {option.word: option.span for option in step.all_options}
        for problem in step.problems:
            if problem.kind == "unknown-option":
                missing = missing_option(problem.written, "srun", problem.versions or job.versions.majors)
                if missing is not None:
                    word = problem.word + 1
                    found[spans.get(word) or span_of(argv[word]), missing] = None
    return list(found)


def missing_option(written: str, command: str, absent: tuple[str, ...]) -> MissingOption | None:
    """What is known of an option that these releases lack and others have; None where no release has it."""
    has = accepting_commands(written).get(command, ())
    if not has:
        gone = GONE.get(written[2:]) if written.startswith("--") else None
        return None if gone is None else MissingOption(written, absent, "removed", gone.since, gone)
    order = MAJORS.index
    earlier = any(order(each) < order(absent[0]) for each in has)
    later = [each for each in has if order(each) > order(absent[-1])]
    if earlier and later:
        return MissingOption(written, absent, "gap", later[0], None)
    if later:
        return MissingOption(written, absent, "new", has[0], None)
    return MissingOption(written, absent, "removed", MAJORS[order(has[-1]) + 1], None)


def submission_options(step: Step, versions: Range) -> list[tuple[OptionFault, str]]:
    """The words that srun refuses because only sbatch has these options, with the options' long names."""
    last = _program(step)
    found: list[tuple[OptionFault, str]] = []
    for problem in step.problems:
        if problem.kind != "unknown-option" or problem.word + 1 > last:
            continue
        names = {_name(problem.written, "sbatch", version) for version in problem.versions or versions.majors}
        name = names.pop() if len(names) == 1 else None
        # Where srun has the option in some release, the release is the fault.
        if name is not None and not any(_name(problem.written, "srun", version) for version in MAJORS):
            found.append((problem, name))
    return found


def _program(step: Step) -> int:
    """The index of the first unknown word that may be the program, as it is not an option's value; else the end."""
    argv = step.invocation.argv
    if step.certain:
        return len(argv)
    values = {each.value_word for each in step.all_options}
    unknown = (at for at, field in enumerate(argv) if at and at not in values and shown_text(field)[:1] == UNKNOWN)
    return next(unknown, len(argv))


@lru_cache(maxsize=256)
def _name(written: str, command: str, version: str) -> str | None:
    """The long name of the command's own option that is written so; None where there is none, or several."""
    if written.startswith("--"):
        options = matches(written[2:], command, version)
        return options[0].name if len(options) == 1 and options[0].plugin is None else None
    option = table(command, version).letters.get(written[1:])
    return None if option is None else option.name


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
