"""How sbatch reads the directives of other schedulers: `#BSUB` (LSF) and `#PBS` lines.

Follows src/sbatch/xlate.c, 20.11 to 26.05. sbatch reads these lines after its own, so they override `#SBATCH` lines,
and before the environment and the command line. In a script with both, it reads only the LSF lines. The lines count
anywhere, also after commands and in heredocs, up to the 101st line that does not begin with `#`. `--ignore-pbs` in the
option block turns them off (see `Directives.foreign`). All components of a heterogeneous job get the same options.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.slurm.foreign import bsub, pbs
from sbatchlint.slurm.foreign.option_words import OptionParser, Translation
from sbatchlint.slurm.grammar import Refusal, refusals
from sbatchlint.slurm.lines import BLANKS, DirectiveLine, Readable, Token, read_words
from sbatchlint.slurm.model import ForeignSetting, Problem
from sbatchlint.slurm.versions import holds_in, is_before

# sbatch reads on for this many lines that do not begin with `#`.
MOST_COMMANDS = 100

# Errors while sbatch splits the lines into words, before it looks at any option.
_WORD_FAULTS = ("unmatched-quote", "leading-colon")


class ForeignRefused(NamedTuple):
    """A setting whose value Slurm refuses, and why."""

    setting: ForeignSetting
    refusal: Refusal


class Foreign(NamedTuple):
    """The foreign directives of a script, as sbatch translates them.

    `dialect`: `PBS` or `BSUB`. `lines`: those that are read. `settings`: in order; the last of an option wins.
    `problems`: in the order of sbatch; it exits at the first. `certain`: whether no unknown word may be an option.
    `versions`: the releases of interest.
    """

    dialect: str
    lines: tuple[DirectiveLine, ...]
    settings: tuple[ForeignSetting, ...]
    problems: tuple[Problem, ...]
    certain: bool
    versions: tuple[str, ...]

    @property
    def problem(self) -> Problem | None:
        """The first problem."""
        return self.problems[0] if self.problems else None

    @property
    def refused(self) -> tuple[ForeignRefused, ...]:
        """The settings whose values Slurm refuses, in order; those with unknown values are not included."""
        found: list[ForeignRefused] = []
        for setting in self.settings:
            if setting.option is None or setting.text is None:
                continue
            for refusal in refusals(setting.option, setting.text, setting.versions or self.versions):
                if refusal.versions is None and setting.versions is not None:
                    refusal = refusal._replace(versions=setting.versions)
                found.append(ForeignRefused(setting, refusal))
        return tuple(found)

    def rejection(self, version: str) -> str | None:
        """The error for which sbatch of this release exits while reading these lines; None if it accepts them.

        Errors that sbatch or slurmctld finds after reading all options are not included.
        """
        found: list[tuple[bool, int, int, str]] = []
        for problem in self.problems:
            if holds_in(problem.versions, version):
                late = problem.kind not in _WORD_FAULTS
                found.append((late, problem.line.start, problem.span.start, problem.message))
        for setting, refusal in self.refused:
            if refusal.stage == "option" and holds_in(refusal.versions, version):
                found.append((True, setting.line.start, setting.span.start, refusal.message))
        return min(found)[-1] if found else None


def read_foreign(text: Readable, versions: Sequence[str]) -> Foreign | None:
    """The `#BSUB` lines of a script, or else its `#PBS` lines; None without any that are read.

    `versions`: the major releases of interest.
    """
    for magic in ("#BSUB", "#PBS"):
        if magic in text.string:
            lines = list(_lines(text, magic))
            if lines:
                return _read(text, magic, lines, tuple(versions))
    return None


def _lines(text: Readable, magic: str) -> Iterator[DirectiveLine]:
    """The lines with this magic word that sbatch reads, not yet split into words."""
    string = text.string
    commands = at = 0
    while at < len(string):
        newline = string.find("\n", at)
        end, full_end = (len(string), len(string)) if newline < 0 else (newline, newline + 1)
        if string.startswith(magic, at):
            shown_end = end - 1 if string[end - 1] == "\r" else end
            yield DirectiveLine(text, magic, at, shown_end, full_end, 0)
        elif not string.startswith("#", at):
            commands += 1
            if commands > MOST_COMMANDS:
                return
        at = full_end


_Key = tuple[str, tuple[int, int], str | None]


def _read(text: Readable, magic: str, lines: list[DirectiveLine], versions: tuple[str, ...]) -> Foreign:
    groups: dict[tuple[bool, bool, bool], list[str]] = {}
    for version in versions:
        # whether `hetjob` separates components, PBS has -d and -w, a space can be escaped
        reader = (version != "20.11", not is_before(version, "23.02"), not is_before(version, "24.05"))
        groups.setdefault(reader, []).append(version)
    settings: dict[_Key, tuple[int, ForeignSetting]] = {}
    problems: dict[_Key, tuple[int, Problem]] = {}
    holds: dict[_Key, list[str]] = {}
    certain = True
    for (strict, with_directory, escaped_space), majors in groups.items():
        translation = _translate(text, magic, lines, strict, with_directory, escaped_space)
        certain = certain and translation.certain
        for at, setting in translation.settings:
            key = (setting.name, (setting.span.start, setting.span.end), setting.value)
            settings[key] = (at, setting)
            holds.setdefault(key, []).extend(majors)
        for at, problem in translation.problems:
            key = ("!" + problem.kind, (problem.span.start, problem.span.end), problem.message)
            problems[key] = (at, problem)
            holds.setdefault(key, []).extend(majors)

    def only(key: _Key) -> tuple[str, ...] | None:
        return None if len(holds[key]) == len(versions) else tuple(holds[key])

    ordered = sorted(settings.items(), key=lambda each: each[1][0])
    refused = sorted(problems.items(), key=lambda each: (each[1][1].kind not in _WORD_FAULTS, each[1][0]))
    return Foreign(
        magic[1:],
        tuple(lines),
        tuple([setting._replace(versions=only(key)) for key, (_, setting) in ordered]),
        tuple([problem._replace(versions=only(key)) for key, (_, problem) in refused]),
        certain,
        versions,
    )


def _translate(
    text: Readable, magic: str, lines: list[DirectiveLine], strict: bool, with_directory: bool, escaped_space: bool
) -> Translation:
    """The lines as one release reads them."""
    translation = Translation(text)
    words: list[tuple[DirectiveLine, Token]] = []
    for line in lines:
        found = read_words(text.string, line.words_start, line.end, escaped_space, strict)
        line.tokens = found.tokens
        if found.comment is not None:
            line.comment_start = found.comment
            line.comment = text.span(found.comment, line.end)
        words.extend((line, token) for token in found.tokens)
        if found.fault is not None:
            span = text.span(found.fault.start, found.fault.end)
            written = text.string[found.fault.start : found.fault.end].rstrip(BLANKS)
            message = found.fault.message
            if not found.tokens:
                # here the message of sbatch includes the whitespace after the magic word
                message = f"{message.partition('[')[0]}[{text.string[line.words_start : line.end]}]"
            problem = Problem(found.fault.kind, span, message, written, line, (), None)
            translation.problems.append((found.fault.start, problem))
    if magic == "#BSUB":
        OptionParser(translation, words, bsub.DIALECT, bsub.set_option).run()
    else:
        dialect = pbs.DIALECT if with_directory else pbs.OLD_DIALECT
        OptionParser(translation, words, dialect, pbs.set_option).run()
    return translation
