"""Options are not set: a misspelled `#SBATCH` makes the line a comment.

sbatch reads lines that begin with `#SBATCH`, in capitals and in the first column. `#SBTACH`, ` #SBATCH`, `# SBATCH` and
`#sbatch` are comments, and the job runs without the option and without any message. `SBATCH` without its `#` is a
command that does not exist, and no directive below it is read. `#SLURM` is an old spelling that sbatch still obeys, but
with an error message; a banner such as `#SLURM options` makes it refuse the script. A warning where only mail, a name
or the name of a log is lost, or where, when and how long the job runs (`--nodelist`, `--begin`, `--time`); only advice
where the job has anyway what the line sets, or a directive below sets the option. A warning, too, where a directive
that is read sets what sbatch would refuse beside it (`--mem`, and `#SBTACH --mem-per-gpu`), and for a number of tasks
where none is started.

`#SBATCh`, with one small letter, is never intended. `##SBATCH`, `#S BATCH` and `#XSBATCH` are common ways to switch a
directive off, and are not reported, nor is `# SBATCH` for an option that another directive sets, or where a comment
says that such lines are off. Among directives that count, `# SBATCH` and `#sbatch` are only advice for an option that
the job can do without, in a row of several such lines, and where another `# SBATCH` is beside directives that count, or
a comment says what to uncomment: they are kept for another time.

## Fix

Writes `#SBATCH`. Safe for a misspelt, an indented and a `#SLURM` line; unsafe for `# SBATCH` and `#sbatch`, which may
have been switched off on purpose, for an option that a directive sets which is read, and for GPUs in a script that sets
CUDA_VISIBLE_DEVICES itself. A banner gets a space after its `#`.

## References

sbatch(1), DESCRIPTION; `_opt_batch_script()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.analysis.directives.lost_options import rivals, severity_of_loss
from sbatchlint.analysis.directives.near_misses import NearMiss, near_misses
from sbatchlint.analysis.gpus.gpu_use import gpu_need, gpus_wanted
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, remove, replace, shortened
from sbatchlint.job.gpus import DEVICE_VARIABLES
from sbatchlint.job.once import once
from sbatchlint.job.request import GPU_OPTIONS
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Written

CARD = Card(
    "SB103", "misspelled-directive", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Written("comments"),
)  # fmt: skip

# Options that a job can do without.
_OPTIONAL = (
    "array begin comment deadline dependency error exclude hold input job-name licenses mail-type mail-user nice"
    " nodelist no-requeue open-mode output profile qos requeue reservation signal wckey contiguous exclusive hint"
    " threads-per-core"
)
_PICKING = (*GPU_OPTIONS, "gres")
_MOST_CAPITALS = 4
# Options that say together how many tasks there are.
_SIZES = {"ntasks": ("ntasks-per-node",), "ntasks-per-node": ("ntasks",)}
DISPENSABLE = frozenset(_OPTIONAL.split())
# A comment that explains the spelling: `with "# SBATCH" a line is off`, `delete the space before SBATCH`.
_EXPLAINED = Regex(
    r"(?i)[\"'`]#[ \t]+(?:SBATCH|SLURM)\b|\b(?:space|blank)\b.*\bSBATCH\b|\bSBATCH\b.*\b(?:space|blank)\b"
)
_WITH_BLANK = Regex(r"(?m)^#[ \t]+SBATCH[ \t]+-")
_ASIDE = Regex(r"(?m)^#+[ \t]*--[a-z][a-z-]*\b")
_UNCOMMENT = Regex(r"(?im)^[ \t]*#(?!SBATCH).*\buncomment(?:ed)?\b")
# A comment that says that the lines below it are off.
_OFF = Regex(
    r"(?i)\bnot (?:be )?(?:active|applied|needed|read|set|used)\b|\b(?:dis|en)abled?\b|\bun(?:used|comment)\b"
    r"|\boptional|^#[ \t]*(?:with|without|if|when|for)\b[^:]*:"
    r"|\b(?:inactive|ignored|alternatives?|commented out)\b|\b(?:switch|turn)(?:ed)? o(?:ff|n)\b"
)


def check(job: Job) -> Iterator[Finding]:
    misses = near_misses(job.directives)
    for number, miss in enumerate(misses):
        if miss.kind in ("old-word", "banner", "bare"):
            yield _read(job, miss)
        elif miss.kind not in ("blank", "case") or not _is_said_to_be_off(job, miss):
            beside = [each for each in misses[max(number - 1, 0) : number + 2] if each is not miss]
            often = miss.kind == "blank" and _comments(job).has_blanks
            yield _unread(job, miss, often or any(_is_next(job, miss, each) for each in beside))


class _Comments(NamedTuple):
    """What is around the misses of a script. `rows`: the line of each, by its start; `above`: the line over all that
    stand together with it; `has_blanks`: several are `# SBATCH`; `explains`: a comment says that such a line is off."""

    lines: list[str]
    rows: dict[int, int]
    above: dict[int, int]
    has_blanks: bool
    explains: bool


@once
def _comments(job: Job) -> _Comments:
    misses = near_misses(job.directives)
    string = job.directives.text.string
    lines = string[: misses[-1].start].split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    rows = {each.start: bisect_right(starts, each.start) - 1 for each in misses}
    taken = set(rows.values())
    above: dict[int, int] = {}
    for row in sorted(taken):
        at = row - 1
        if at >= 0 and at not in taken and not lines[at].strip():
            at -= 1
        above[row] = above.get(at, at)
    explains = any(
        each[:1] == "#" and each[:7] != "#SBATCH" and number not in taken and _EXPLAINED.search(each)
        for number, each in enumerate(lines)
    )
    has_blanks = len(_WITH_BLANK.findall(string)) > 1
    return _Comments(lines, rows, above, has_blanks, explains or _UNCOMMENT.search(job.source.own.text) is not None)


def _is_said_to_be_off(job: Job, miss: NearMiss) -> bool:
    """Whether a comment says that such lines are off, or that those right below it are."""
    comments = _comments(job)
    if miss.kind == "blank" and comments.explains:
        return True
    at = comments.above[comments.rows[miss.start]]
    above = comments.lines[at] if at >= 0 else ""
    return above[:1] == "#" and above[:7] != "#SBATCH" and _OFF.search(above) is not None


def _is_next(job: Job, miss: NearMiss, other: NearMiss) -> bool:
    """Whether two comments of the same form stand on neighbouring lines."""
    between = job.directives.text.string[min(miss.last, other.last) : max(miss.start, other.start)]
    return miss.kind == other.kind and miss.word == other.word and between.strip(" \t") == "\n"


def _unread(job: Job, miss: NearMiss, in_row: bool) -> Finding:
    text = job.directives.text
    if miss.kind == "no-hash":
        edit = replace(text.span(miss.start, miss.end), "#SBATCH")
        message = f"`{miss.word}` without `#` is a command, so sbatch stops reading directives here; write `#SBATCH`"
        below = [setting for line in job.directives.unread for setting in job.directives.read_line(line)[0]]
        severity = severity_of_loss(job, [*miss.settings, *below], unread=True)
        repair = Fix("write #SBATCH", [edit], safe=True)
        return Finding(text.span(miss.start, miss.last), message, severity, fix=repair)
    if not miss.settings:
        written = shortened(text.string[miss.end : miss.last].split("#")[0].strip(), 30)
        message = f"`#{miss.word}` is not `#SBATCH`, so the line is a comment, and sbatch has no option `{written}`"
        return Finding(text.span(miss.start, miss.end), f"{message}; correct both", "warning")
    names = list(dict.fromkeys(f"--{setting.name}" for setting in miss.settings))
    unset = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not set"
    read = [job.directives.last(setting.name) for setting in miss.settings]
    lines = [job.line(each.span.start) for each in read if each is not None]
    all_read = None not in read
    if all_read:
        unset = f"{', '.join(names)} {'keeps' if len(names) == 1 else 'keep'} the value of line {lines[0]}"
    reason = {
        "spelling": f"`#{miss.word}` is not `#SBATCH`",
        "indented": "a directive must begin in the first column",
        "blank": "`# SBATCH` is not `#SBATCH`",
        "case": "sbatch recognizes `#SBATCH` only in capitals",
    }[miss.kind]
    # `#sBATCH` is a slip, as nobody switches a directive off by one small letter.
    slip = miss.kind == "case" and sum(map(str.isupper, miss.word)) >= _MOST_CAPITALS
    certain = miss.kind in ("spelling", "indented") or slip
    # A space or small letters are often used on purpose to switch off an option that the job can do without.
    is_off = not certain and bool(job.directives.lines)
    is_off = is_off and (in_row or all(each.name in DISPENSABLE for each in miss.settings) or _is_of_gpus(job, miss))
    off = "" if certain else ", or `##SBATCH` if it is disabled on purpose"
    aside = miss.kind == "spelling" and all_read and _is_put_aside(job, miss)
    advice = "remove the spaces before it" if miss.kind == "indented" else f"write `#SBATCH`{off}"
    rival = next(iter(rivals(job.directives, miss.settings)), None)
    if rival is not None:
        beside = f"`--{rival.name}` (line {job.line(rival.span.start)})"
        advice = f"sbatch refuses it together with {beside}, so keep only the one you want"
    is_below = all(each is not None and each.begin > miss.start for each in read)
    if is_below and rival is None:
        advice = "remove one of the two"
    if aside and rival is None:
        advice = "remove the line you do not want"
    message = f"{reason}, so {unset}; {advice}"
    hash_at = text.string.index("#", miss.start)
    word = text.span(hash_at + 1, miss.end)
    edits = [replace(word, "SBATCH" if text.string[miss.end] in " \t" else "SBATCH ")]
    if hash_at > miss.start:
        edits.append(remove(text.span(miss.start, hash_at)))
    # A line that sbatch would refuse is better left as a comment until it is corrected.
    # a script that picks GPUs itself does not count on a number from Slurm
    picked = any(each.name in _PICKING for each in miss.settings)
    picked = picked and any(each.name in DEVICE_VARIABLES for each in job.assignments)
    correct = miss.accepted and not is_off and not aside and rival is None and not is_below
    # a line that is read sets the option to something else, which the job has had until now
    overrides = any(job.directives.last(each.name) is not None for each in miss.settings)
    # one number of tasks would count beside another, which alone has counted until now
    sized = any(job.directives.last(other) is not None for each in miss.settings for other in _SIZES.get(each.name, ()))
    safe = certain and not picked and not overrides and not sized
    fix = Fix("write #SBATCH", edits, safe) if correct else None
    severity = severity_of_loss(job, miss.settings, unread=True) or (None if certain and rival is None else "warning")
    # a value below counts, whether or not this line is read
    severity = "info" if is_off or is_below or aside else severity
    return Finding(text.span(hash_at, miss.last), message, severity, fix=fix)


def _is_put_aside(job: Job, miss: NearMiss) -> bool:
    """Whether lines beside it are off as well: by the same word, or without any (`# --gres=gpu:1`)."""
    string = job.directives.text.string
    start = string.rfind("\n", 0, string.rfind("\n", 0, miss.start)) + 1
    below = string.find("\n", miss.last + 1)
    around = (string[start : miss.start], string[miss.last : below if below >= 0 else len(string)])
    return any(_ASIDE.search(each) or f"#{miss.word} " in each for each in around)


def _is_of_gpus(job: Job, miss: NearMiss) -> bool:
    """Whether a line requests GPUs, and nothing in the script is a sign that the job uses any."""
    gpus = all(each.name in _PICKING for each in miss.settings)
    return gpus and gpu_need(job) is None and gpus_wanted(job) is None


def _read(job: Job, miss: NearMiss) -> Finding:
    text = job.directives.text
    word = text.span(miss.start + 1, miss.end)
    if miss.kind == "old-word":
        message = "sbatch reads `#SLURM` as `#SBATCH`, but prints an error; write `#SBATCH`"
        fix = Fix("write #SBATCH", [replace(word, "SBATCH")], safe=True)
        return Finding(text.span(miss.start, miss.end), message, "warning", fix=fix)
    prose = " -" not in text.string[miss.start : miss.last]
    fix = Fix("put a space after the #", [insert(word.start, " ")], safe=prose)
    if miss.kind == "bare":
        message = "sbatch reads `#SLURM` as a directive, and prints an error; write `# SLURM`"
        return Finding(text.span(miss.start, miss.end), message, "warning", fix=fix)
    message = "sbatch reads a line that begins with `#SLURM` as a directive, and refuses the script; write `# SLURM`"
    return Finding(text.span(miss.start, miss.last), message, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «#SBTACH --mem=4G  # per node»
        srun ./a.out
        """,
        fixed={"#SBTACH": "#SBATCH"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
          «#SBATCH --ntasks=4»
        srun ./a.out
        """,
        fixed={"  #SBATCH": "#SBATCH"},
        title="indented",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «# SBATCH --ntasks-per-node=4»
        «#sbatch -t 10»
        srun ./a.out
        """,
        unsafe_fixed={"# SBATCH": "#SBATCH", "#sbatch": "#SBATCH"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        «#SLURM» --nodes=2
        srun ./a.out
        """,
        fixed={"#SLURM": "#SBATCH"},
        severity="warning",
        title="the old word",
    ),
    Bad(
        """\
        #!/bin/bash
        «#SLURM options»
        #SBATCH --nodes=2
        srun ./a.out
        """,
        fixed={"#SLURM": "# SLURM"},
        title="a banner that sbatch takes for a directive",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\n##SBATCH --mem=4G\n### #SBATCH -n 4\n#S BATCH -t 5\n#XSBATCH -t 9\nsrun ./a.out\n"),
    Good(
        """\
        #!/bin/bash
        # sbatch --nodes=2 train.sh
        # SBATCH --job-name, OUTPUT_DIR and others are set by the launcher
        #SBATCH --nodes=2
        srun ./a.out
        # SBATCH --mem=4G
        """,
        title="usage, prose, and a line below the commands",
    ),
]
