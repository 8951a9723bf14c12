"""Comments that were meant as directives, and directives that were meant as comments.

sbatch takes a line as a directive if it begins with `#SBATCH`, in column 0 and in capitals, or with `#SLURM`, for
which it prints an error (`_opt_batch_script()`, src/sbatch/opt.c, 20.11 to 26.05). `##SBATCH`, `#S BATCH` and
`#XSBATCH` are the usual ways to switch a directive off, so they are deliberate: `turned_off` finds them.
"""

import re
from typing import NamedTuple

from sbatchlint.analysis.directives.unknown_options import GONE
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.grammar import refusals
from sbatchlint.slurm.lines import DirectiveLine, magic_of, read_words
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.reading import MOST_CHARACTERS
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import end_of_line

# The kinds of `NearMiss`.
SPELLING = "spelling"
INDENTED = "indented"
BLANK = "blank"
CASE = "case"
OLD_WORD = "old-word"
BANNER = "banner"
BARE = "bare"
NO_HASH = "no-hash"

WORD = "SBATCH"
_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
# The pattern begins with the hash, so that the rest of a text is skipped quickly.
_LOOKS_NEAR = Regex(r"#(?!(?<=\n#)SBATCH)(?P<gap>[ \t]*+)(?P<word>[A-Za-z]{4,9}+)(?P<sign>[ \t:=]*+)(?=--?[A-Za-z])")
_WITHOUT_HASH = Regex(r"[$%@!]?SBATCH[ \t]+(?=--?[A-Za-z])")


class NearMiss(NamedTuple):
    """A line that is almost a directive, or that sbatch reads as one though it was not meant so.

    `start`, `end`: what is written for `#SBATCH`, with the whitespace before it; `last`: the end of the line.
    `kind`: `spelling` (`#SBTACH`), `indented`, `blank` (`# SBATCH`), `case` (`#sbatch`); `no-hash` (`SBATCH`, a command
    after which sbatch reads no directives); of lines that sbatch does read: `old-word` (`#SLURM --nodes=2`), `banner`
    (`#SLURM options`, which it refuses) and `bare` (`#SLURM`). `settings`: what it would set; empty for an option that
    sbatch does not know. `word`: as written.
    `accepted`: whether sbatch would accept the line if it read it.
    """

    kind: str
    start: int
    end: int
    last: int
    settings: tuple[Setting, ...]
    word: str
    accepted: bool = True


def read_as_directive(directives: Directives, start: int, end: int) -> tuple[list[Setting], bool]:
    """The options in a part of a line, read as if after `#SBATCH`; and whether sbatch would accept them."""
    string = directives.text.string
    line = DirectiveLine(directives.text, "", start, end, end, 0)
    words = read_words(string, start, end)
    line.tokens = words.tokens
    line.fault = words.fault
    if not words.tokens:
        return [], False
    return directives.read_line(line)


def near_misses(directives: Directives) -> list[NearMiss]:
    """Comments of the option block that were meant as directives, and directives that were not meant as such."""
    if not directives.has_comments:
        return []
    found = _old_words(directives)
    gone = [GONE.get(each.written.removeprefix("--")) for each in directives.problems if each.kind == "unknown-option"]
    renamed = {each.name for each in gone if each is not None}
    text = directives.text
    string = text.string
    for match in _LOOKS_NEAR.finditer(string, 0, min(directives.end, MOST_CHARACTERS)):
        start = string.rfind("\n", 0, match.start()) + 1
        lead = string[start : match.start()]
        kind = None if lead.strip(" \t") else _kind(lead, match)
        if kind is None:
            continue
        last = end_of_line(string, start)
        if string[last - 1] == "\r":
            last -= 1
        settings, accepted = read_as_directive(directives, match.end(), last)
        sure = kind == SPELLING and match["word"][0] == "S" and match["word"].isupper()
        if not accepted and not sure:
            continue
        if not settings or all(each.option is None or each.option.early for each in settings):
            # beside another directive, an option that sbatch does not know was meant as one, too
            if settings or not sure or string[match.end()] != "-" or not _adjoins_directive(string, start, last):
                continue
        if kind in (BLANK, CASE) and not _is_meant(directives, settings, renamed):
            continue
        if kind == CASE and (not directives.lines or match["gap"] and not _adjoins_directive(string, start, last)):
            continue
        end = match.end("word") if match["sign"].isspace() else match.end()
        found.append(NearMiss(kind, start, end, last, tuple(settings), match["word"], accepted))
    found.extend(_without_hash(directives))
    return sorted(found, key=lambda each: each.start)


def _without_hash(directives: Directives) -> list[NearMiss]:
    """Lines such as `SBATCH --nodes=2`, from the command on at which sbatch stopped reading."""
    string = directives.text.string
    found: list[NearMiss] = []
    at = directives.end
    while (match := _WITHOUT_HASH.match(string, at)) is not None:
        end = end_of_line(string, at)
        last = len(string[:end].rstrip("\r"))
        settings, accepted = read_as_directive(directives, match.end(), last)
        if not accepted or all(each.option is None or each.option.early for each in settings):
            break
        word = string[at : match.end()].rstrip()
        found.append(NearMiss(NO_HASH, at, at + len(word), last, tuple(settings), word))
        at = end + 1
    return found


def _kind(lead: str, match: re.Match[str]) -> str | None:
    """What is wrong with the beginning of such a line; None for a directive, one switched off, or another word."""
    gap, word = match["gap"], match["word"]
    if word == WORD:
        return BLANK if gap else INDENTED if lead else None
    upper = word.upper()
    if upper == WORD:
        return CASE
    if upper == "YBATCH":
        return None  # ybatch, a wrapper of sbatch, has directives of its own beside those of Slurm
    if upper.startswith(("SBATCH", "SLURM")) and not lead and not gap:
        return None  # sbatch reads it: a directive with a letter too many
    if upper.endswith(WORD) and upper != "S" + WORD:
        return None
    distance = edit_distance(upper, WORD)
    if distance == 2:
        # Only the letters of SBATCH in another order: not PATCH, SWITCH and the like.
        return SPELLING if word == upper and word[0] == "S" and set(word) <= set(WORD) else None
    return SPELLING if distance == 1 and (word == upper or not gap) else None


def _is_meant(directives: Directives, settings: list[Setting], renamed: set[str | None]) -> bool:
    """Whether the options are likely to be meant: their values are valid, and the block does not set all of them.

    Nor does it set alternatives that exclude them: `--mem` for `--mem-per-cpu`. `renamed`: the options of which the
    block has the old name, which sbatch refuses: `--workdir` for `--chdir`.
    """
    if all(
        each.name in renamed
        or any(directives.all(name, each.component) for name in (_MEMORY if each.name in _MEMORY else (each.name,)))
        for each in settings
    ):
        return False
    majors = directives.versions.majors
    return not any(
        setting.option is not None
        and setting.value is not None
        and setting.known
        and refusals(setting.option, setting.value, majors)
        for setting in settings
    )


def _adjoins_directive(string: str, start: int, end: int) -> bool:
    """Whether the line above or below is a directive."""
    above = string.rfind("\n", 0, max(start - 1, 0)) + 1
    return start > 0 and magic_of(string, above) is not None or magic_of(string, end + 1) is not None


def _old_words(directives: Directives) -> list[NearMiss]:
    found: list[NearMiss] = []
    for line in directives.lines:
        if line.magic != "#SLURM":
            continue
        settings = tuple(each for each in directives.settings_on(line) if each.line.start == line.start)
        options = bool(line.tokens) and line.tokens[0].text[:1] == "-"
        bare = not line.tokens and line.fault is None
        kind = BARE if bare else OLD_WORD if options and line.fault is None else BANNER
        found.append(NearMiss(kind, line.start, line.words_start, line.end, settings, line.magic[1:]))
    return found


# Also at the end of another directive, and with a word that a program replaces to turn it on: `#DOGPU --gres=gpu:1`.
_OFF = Regex(
    r"(?m)(?:^[ \t]*#(?!SBATCH\b)[# \t]*(?:[A-Z]*SBATCH[ \t]+(?=-)|(?:[A-Z]+[ \t]+)?(?=--[a-z]))"
    r"|(?<=[ \t])##+[ \t]*SBATCH[ \t]+)"
    r"(?!--[a-z-]+[ \t]+(?:is|are|comes?|gets?|must|should|may|can|will|has|was)[ \t])(?P<words>[^\n]*)"  # a sentence
)


@once
def turned_off(job: Job) -> tuple[Setting, ...]:
    """The options that such lines would set, anywhere in a script."""
    directives = job.directives
    lines = _OFF.finditer(directives.text.string)
    return tuple(each for line in lines for each in read_as_directive(directives, *line.span("words"))[0])


def is_turned_off(job: Job, *names: str) -> bool:
    """Whether such a line would set one of these options (canonical names)."""
    return any(each.name in names for each in turned_off(job))
