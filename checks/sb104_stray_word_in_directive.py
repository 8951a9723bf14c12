"""sbatch refuses the script: a word in a directive is neither an option nor a value.

`sbatch: error: Invalid directive found in batch script: Job`: nothing is submitted. Usually a value with a space is not
quoted (`--job-name=My Job`), a list has spaces (`BEGIN, END`), a comment has no `#` (`--time=5 (minutes)`), or an
optional value has no `=` (`--exclusive user`). No shell reads a directive, so `#SBATCH $OPTIONS` is a stray word too.

Words after an empty word (`--comment "" --nodes=2`), or after `hetjob` on its line, are not even refused: sbatch drops
them without any message. The option before the empty word takes the next directive's first word as its value, or is
refused if none follows.

## Fix

By its shape: quotes the value, closes the list, writes `#` before the comment, `=` before an optional value, `--`
before an option's name. All are guesses at what was meant, and so unsafe; only a space that a backslash joins to the
value, as releases from 24.05 on read it, is quoted safely. There is no fix where the shape suggests nothing.

## References

sbatch(1); getopt_long(3); `get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.placeholders import placeholder
from sbatchlint.analysis.directives.positional_words import PositionalWords
from sbatchlint.analysis.directives.typos import (
    BLANK_AT_EQUALS,
    HASH,
    INVISIBLE,
    SINGLE_DASH,
    dashed,
    gap_at_equals,
    swallowed_option,
    typo,
)
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.lines import BLANKS, DirectiveLine
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Problems, Written

CARD = Card(
    "SB104", "stray-word-in-directive", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Problems("stray-word", "leading-colon") | Written("dropped"),
)  # fmt: skip

# The word that begins a component, and options after it (read by releases before 21.08).
SEPARATOR = Regex(r"[ \t]*((?i:hetjob|packjob))[ \t]+([^#\s].*)")
OPEN_EXPANSION = Regex(r"\$\([^()]*\Z|\$\{[^}]*\Z")
BRACED = Regex(r"(?<!\$)\{[^{}]*\}")


def check(job: Job) -> Iterator[Finding]:
    for problem in job.directives.problems:
        if problem.kind in ("stray-word", "leading-colon"):
            words = PositionalWords(job.directives, problem)
            if not _is_explained(words):
                yield _finding(job, words)
    for line in job.directives.lines:
        if line.dropped is not None:
            yield from _dropped(job, line, line.dropped)
        elif line.separator:
            yield from _after_separator(job, line)


def _is_explained(words: PositionalWords) -> bool:
    """Whether the words follow from a mistake on the line that another check reports."""
    directives, string, setting = words.directives, words.string, words.setting
    raw = string[words.before[0].start if words.before else words.start : words.end]
    joined = "".join(words.words)
    # What is filled in as the value of an option before (`--gres={gres} --mem=3 GB`) leaves the words where they are.
    near = string[words.before[-1].start if setting is not None else words.start : words.end]
    values = {each.value_token.start for each in directives.settings_on(words.line) if each.value_token is not None}
    unknown = UNKNOWN in near + joined
    unknown = unknown or any(each.text.startswith(UNKNOWN) and each.start not in values for each in words.before)
    if unknown or INVISIBLE.search(raw):
        return True
    if not joined.strip() and string[words.end : words.line.end].lstrip(BLANKS)[:1] in ("", "#"):
        return True  # a backslash at the end of the line
    if words.line.magic == "#SLURM" and not words.before:
        return True
    if setting is None and placeholder("", string[words.start : words.end]) is not None:
        return True
    value = string[words.value_start : words.end]
    if BRACED.search(value) or setting is not None and placeholder(setting.name, value) is not None:
        return True
    if setting is not None:
        if typo(directives, setting) in (BLANK_AT_EQUALS, SINGLE_DASH, HASH) or swallowed_option(setting):
            return True
        own_value = string[words.value_start : words.before[-1].end]
        return OPEN_EXPANSION.search(own_value) is not None or own_value.count("`") % 2 == 1
    if not words.before:
        return False
    last = words.before[-1]
    if dashed(last.text) is not None or last.start in directives.faulty_words:
        return True
    # After `--time =`: the words belong to an option that lost its value.
    on_line = [each for each in directives.settings_on(words.line) if each.line.start == words.line.start]
    gaps = [gap for gap in (gap_at_equals(directives, each) for each in on_line) if gap is not None]
    return any(gap.start <= words.start <= gap.last for gap in gaps)


def _finding(job: Job, words: PositionalWords) -> Finding:
    guess = words.meant()
    fault = guess.fault or f"`{words.words[0]}` is neither an option nor a value"
    versions = words.problem.versions
    sbatch = job.versions.slurm(versions).replace("Slurm", "sbatch in Slurm", 1) if versions else "sbatch"
    sbatch = sbatch.replace("in Slurm before", "before Slurm")
    message = f"{sbatch} refuses the script: {fault}; {guess.advice}"
    if len(message) > MOST and guess.advice.startswith('write `"') and guess.fault.startswith("a backslash"):
        message = f"{sbatch} refuses the script: {fault}; write the value in double quotes, without backslashes"
    span = job.directives.text.span(words.start, guess.end or words.end)
    title = guess.title or (guess.advice if len(guess.advice) < 45 else "correct the line")
    fix = Fix(title, guess.edits, guess.safe) if guess.edits else None
    return Finding(span, message, fix=fix, versions=versions)


def _dropped(job: Job, line: DirectiveLine, dropped: Span) -> Iterator[Finding]:
    """The finding on words after the place where sbatch ends the line."""
    shown = job.source.slice(dropped)
    words = shown.strip()
    span = Span(dropped.start + len(shown) - len(shown.lstrip()), dropped.start + len(shown.rstrip()))
    if not words or words[0] == "#":
        return
    if words[:7].lower() == "packjob" or words[:6].lower() == "hetjob":
        message = f"`{words.split()[0]}` starts a component only as the first word of a directive"
        yield Finding(span, f"{message}; write it on its own line, and the options after it on another")
    elif job.source.text[dropped.start - 1] == "\\":
        yield Finding(span, "sbatch reads the line only up to the backslash, so this is ignored; remove the backslash")
    else:
        last = line.tokens[-1].text if line.tokens else ""
        advice = f"write `{last}=`" if last[:2] == "--" and "=" not in last else "remove the empty quotes"
        yield Finding(span, f"sbatch reads the line only up to the empty word, so this is ignored; {advice}")


def _after_separator(job: Job, line: DirectiveLine) -> Iterator[Finding]:
    """The finding on options on the line that begins a component."""
    text = job.directives.text
    found = SEPARATOR.match(text.string, line.words_start, line.end)
    if found is not None:
        span = text.span(found.start(2), line.end)
        edit = replace(text.span(found.end(1), found.start(2)), f"{job.source.newline}#SBATCH ")
        message = f"sbatch reads nothing after `{found.group(1)}`, so this is ignored; write it on a separate line"
        yield Finding(span, message, fix=Fix("write two lines", [edit]))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name=My «Job»
        #SBATCH --time=5 «(minutes)»
        srun ./a.out
        """,
        unsafe_fixed={"--job-name=My Job": '--job-name="My Job"', "(minutes)": "# (minutes)"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN, «END» --mem=4 «G»
        #SBATCH --array=1-10 «%2»
        srun ./a.out
        """,
        unsafe_fixed={
            "--mail-type=BEGIN, END --mem=4 G": "--mail-type=BEGIN,END --mem=4G",
            "--array=1-10 %2": "--array=1-10%2",
        },
        title="spaces inside a value",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name="HW 01" «Name of the job»
        #SBATCH --error=perf.err      «Where to write stderr»
        srun ./a.out
        """,
        unsafe_fixed={'01" Name': '01" # Name', "      Where": "      # Where"},
        title="a comment after a whole value",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --exclusive «user»
        srun ./a.out
        """,
        unsafe_fixed={"--exclusive user": "--exclusive=user"},
        title="an optional value needs the =",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J my\\ «job» -N 2
        srun ./a.out
        """,
        fixed={"my\\ job": '"my job"'},
        severity="warning",
        title="joined only from 24.05 on",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «nodes=2»
        srun ./a.out
        """,
        unsafe_fixed={"nodes=2": "--nodes=2"},
    ),
    Good("#!/bin/bash\n#SBATCH -J 'My Job' --comment=\"a, b\"  # (prose)\n#SBATCH --mail-type\n#SBATCH END\n./a\n"),
    Good(
        "#!/bin/bash\n#SBATCH --time = 5\n#SBATCH --account=<project id> -J $(date +%F)\nsrun ./a.out\n",
        title="something else is the cause",
    ),
]
