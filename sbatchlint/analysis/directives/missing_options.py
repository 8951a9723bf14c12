"""Options that only some releases of Slurm have, in the option block and on sruns."""

from typing import NamedTuple

from sbatchlint.analysis.directives.typos import dashed
from sbatchlint.bash.values import span_of
from sbatchlint.job import Job
from sbatchlint.job.command_lines import option_blocks
from sbatchlint.slurm.options import accepting_commands
from sbatchlint.slurm.versions import MAJORS
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
