"""The options of srun, sbatch and salloc on command lines, read like an option block.

All three have one table of options and one grammar of values (src/common/slurm_opt.c, 20.11 to 26.05).
"""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.job.submission import option_words
from sbatchlint.slurm.directives import UNKNOWN, Directives
from sbatchlint.slurm.getopt import parse
from sbatchlint.slurm.options import COMMANDS
from sbatchlint.slurm.reading import Reading, parse_words


@once
def command_lines(job: Job) -> tuple[Directives, ...]:
    """The options of each srun, sbatch and salloc of the script, up to the program or the script that it starts.

    Commands without options are left out. Of those whose words have alternatives, all are read if they only differ in
    the values of the same options: it is not known which others go together.
    """
    found: dict[int, dict[str, Directives]] = {}
    known = {each.span.start for each in job.invocations if each.name in COMMANDS}
    outside = [each for each in job.trace.outside if each.span.start not in known]
    for command in (*job.invocations, *outside):
        if command.name in COMMANDS and command.words[1:] and command.words[1][:1] in ("-", UNKNOWN):
            read = _read(job, command, command.name)
            found.setdefault(command.span.start, {}).setdefault(read.text.string, read)
    groups = (tuple(each.values()) for each in found.values())
    return tuple(read for group in groups if len(group) == 1 or _are_alike(group) for read in group)


def _are_alike(group: tuple[Directives, ...]) -> bool:
    """Whether command lines have the same options, known or not."""
    shapes = {
        (*(each.name for each in read.settings), *(f"{each.kind} {each.span.start}" for each in read.problems))
        for read in group
    }
    return len(shapes) == 1


def option_blocks(job: Job) -> tuple[Directives, ...]:
    """The option block of the script, the options with which it is submitted, and those on its command lines."""
    submitted = job.directives.submitted
    return (job.directives, *(() if submitted is None else (submitted,)), *command_lines(job))


def _read(job: Job, command: Invocation, name: str) -> Directives:
    strings = command.words
    majors, extra = job.versions.majors, job.site.plugin_options
    step = command.spawn.info
    if isinstance(step, Step) and step.certain:
        end = step.command or len(strings)
    else:
        end = _program(strings[1:], name, majors, extra) + 1
    line, words = option_words(command.argv[:end], name)
    line.tokens = tuple([token for _, token in words])
    settings, problems, certain = parse_words(line.text, words, 0, majors, extra, name)
    read = Directives(line.text, job.versions, extra, Reading([line], [], None, settings, problems, certain, 1))
    read.command, read.in_job = name, name == "srun" and command.phase is not Phase.SUBMIT
    read.conditional = command.alternatives > 1 or command.context.conditional
    return read


def _program(words: list[str], name: str, majors: tuple[str, ...], extra: tuple[str, ...]) -> int:
    """The index of the first word that is, or may be, the program."""
    parsed = parse(words, name, majors, extra)
    if not parsed.uncertain:
        return parsed.rest
    values = {each.value_word for each in parsed.options}
    unknown = (at for at, word in enumerate(words) if word[:1] == UNKNOWN and at not in values)
    return min(parsed.rest, next(unknown, parsed.rest))
