"""sbatch refuses the script: a quote in a directive is not closed.

sbatch reads quotes as a shell does: they begin and end anywhere in a word, and an apostrophe is a quote too. They do
not reach beyond the line: ``fatal: job.sh: line 2: Unmatched `'` in [--comment=don't]``, and nothing is submitted.

## Fix

Puts the value with the apostrophe between quotes of the other kind, closes the quote at the end of the value, or
removes one that was never opened. Unsafe: where the value should end is a guess.

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import CURLY
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.lines import BLANKS, TEMPLATED, DirectiveLine, read_words
from sbatchlint.slurm.options import find
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Problems

CARD = Card(
    "SB106", "unmatched-quote", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Problems("unmatched-quote"), seen="runs of Slurm 22.05 and 26.05",
)  # fmt: skip

# A further option, or a comment, after the text that was meant to be quoted.
NEXT = re.compile(r"(?<![ \t])(?:[ \t]+(?:--?[A-Za-z]|#)|[ \t]*\Z)")
# A value in single quotes that holds an apostrophe.
APOSTROPHE = re.compile(r"(?<=[ \t=])'([^'\"\\#]*\w'\w[^'\"\\#]*)'(?![^ \t])")
OPTION = re.compile(r"(?<![ \t])[ \t]+--?[A-Za-z]")

_OPTION_NAME = Regex(r"([a-z][a-z-]+)=")
_LETTER = Regex(r"-[A-Za-z]")


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    string = text.string
    for line in job.directives.lines:
        fault = line.fault
        if fault is None or fault.kind != "unmatched-quote":
            continue
        if line.magic == "#SLURM" and not (line.tokens and line.tokens[0].text[:1] == "-"):
            continue  # a comment that sbatch should not read at all
        shown = string[line.words_start : line.end]
        if UNKNOWN in shown or TEMPLATED.search(shown) or CURLY.search(shown):
            continue
        start = _value_start(string, line, fault.start)
        close = NEXT.search(string, fault.start, line.end)
        end = close.start() if close is not None else line.end
        instead = _corrected(string, line, start, fault.start, end)
        quoted = APOSTROPHE.search(string, line.words_start, line.end)
        if quoted is not None and quoted.start() < fault.start < quoted.end():
            start, end, instead = quoted.start(), quoted.end(), f'"{quoted.group(1)}"'
        advice, fix = "close the quote on the same line", None
        if instead is not None:
            advice = f"write `{_option(string, start)}{instead}`"
            name = _OPTION_NAME.match(_option(string, start) + instead)
            before = string[line.words_start : start - len(_option(string, start))].split()
            if name is not None and find(name[1]) is not None and before and _LETTER.fullmatch(before[-1]):
                # `-p constraint="a|b`
                instead = f"--{_option(string, start)}{instead}"
                advice = f"write `{instead}`, without the {before[-1]} before it"
                start = string.rindex(before[-1], line.words_start, start)
            fix = Fix("correct the quotes", [replace(text.span(start, end), instead)])
        message = f"sbatch refuses the script: this quote is not closed on its line; {advice}"
        yield Finding(text.span(fault.start, end), message, fix=fix)


def _option(string: str, value: int) -> str:
    """The part of the word before its value: `--comment=`."""
    start = value
    while start > 0 and string[start - 1] not in " \t\n":
        start -= 1
    return string[start:value]


def _value_start(string: str, line: DirectiveLine, quote: int) -> int:
    """The offset where the value with the quote begins: after the `=` of its option, or with the word."""
    start = quote
    while start > line.words_start and string[start - 1] not in BLANKS:
        start -= 1
    # An earlier quoted part of the value may contain spaces.
    words = read_words(string, line.words_start, quote, strict_separator=False)
    if words.tokens and words.tokens[-1].end == quote:
        start = words.tokens[-1].start
    word = string[start:quote]
    if word.startswith("--"):
        return start + word.index("=") + 1 if "=" in word else start
    if len(word) > 1 and word[0] == "-" and word[1].isalpha():
        return start + 2
    return start


def _corrected(string: str, line: DirectiveLine, value: int, quote: int, end: int) -> str | None:
    """A replacement for the value between these offsets with which sbatch can read the line; None if there is none."""
    sign = string[quote]
    other = '"' if sign == "'" else "'"
    before, after = string[value:quote], string[quote + 1 : end]
    for candidate in _candidates(sign, other, before, after):
        changed = string[line.words_start : value] + candidate + string[end : line.end]
        words = read_words(changed, 0, len(changed))
        if words.fault is None and words.dropped is None:
            return candidate
    return None


def _candidates(sign: str, other: str, before: str, after: str) -> list[str]:
    if not before:
        if not after:
            return []
        if after[-1] == other and other not in after[:-1]:
            # `"my job'`
            return [sign + after[:-1] + sign]
        # `"my job`
        return [sign + after + sign]
    option = OPTION.search(before)
    if option is not None and before[0] == sign:
        # `"a --error="b"`: the first one is not closed.
        at = option.start()
        return [before[:at] + sign + before[at:] + sign + after]
    if not after:
        if before[0] == other and other not in before[1:]:
            return [other + before[1:] + other]
        if not set(before) & set("\"'\\"):
            # `train"`: nothing was opened.
            return [before] if not re.search(r"[ \t#]", before) else [sign + before + sign]
        inner = before[1:] if before[0] == sign else before
        return [other + inner + other] if other not in inner and sign in inner else []
    whole = before + sign + after
    if before[-1] == "=" and set(after).isdisjoint("\"'\\"):
        # `constraint="a|b`
        return [whole + sign]
    if whole[0] == sign == whole[-1]:
        # `'it's'`
        whole = whole[1:-1]
    if other in whole or "\\" in whole:
        return []
    # `don't`
    return [other + whole + other]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --comment=don«'t»
        srun ./a.out
        """,
        unsafe_fixed={"--comment=don't": "--comment=\"don't\""},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J «"my job» --nodes=2  # two
        srun ./a.out
        """,
        unsafe_fixed={"job": 'job"'},
        title="never closed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --partition=gpu«"»
        srun ./a.out
        """,
        unsafe_fixed={'--partition=gpu"': "--partition=gpu"},
        title="never opened",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name=«"train'»
        srun ./a.out
        """,
        unsafe_fixed={"--job-name=\"train'": '--job-name="train"'},
        title="two kinds of quotes",
    ),
    Bad("#!/bin/bash\n#SBATCH --comment=say=«\"it's\\n»\nsrun ./a.out\n", title="no plain repair"),
    Good("#!/bin/bash\n#SBATCH --comment=\"don't\" -J 'a \"b\"' --account=\"a\"'b'  # it's\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --comment=don\\'t\nsrun ./a.out\n#SBATCH --comment=can't\n", title="escaped; not read"),
]
