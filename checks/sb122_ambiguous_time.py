"""A time limit that looks like hours is minutes: `24:00` is 24 minutes.

`--time=24:00` is 24 minutes: two fields are minutes and seconds, one field is minutes. The job is killed long before
its end. Limits are rounded up to whole minutes. 0 means no limit, and a job without a limit never starts in a partition
that has one.

A warning where something suggests that hours were meant: a comment, or whole days for a job with GPUs or several nodes.
Two fields in a partition or a QOS for tests (`debug`) are not reported. Advice where only the form is doubtful: two
fields, or one number that would be a whole day as hours (`48`). A plain `--time=15` is left alone.

## Fix

Writes hours where hours were meant (`24:00` becomes `24:00:00`): a guess, and so unsafe. Minutes alone are written out
(`48` becomes `0:48:00`), which is the same.

## References

sbatch(1); `time_str2secs()` in src/common/parse_time.c, Slurm 20.11 to 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import comment_on, plain_limits, request_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.grammar import times
from sbatchlint.slurm.grammar.numbers import node_count
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import counted, is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB122", "ambiguous-time", severity="warning", fix="sometimes", since="0.1.0", alone=True,
    when=Options("time", "time-min"),
)  # fmt: skip

# A duration in the comment on the line, or above it.
LENGTH = Regex(
    r"(?<![\w.:-])([0-9]+)(?:\.0+)?\s*(?:-\s*)?(hours?|hrs?|h|days?|d|minutes?|mins?|min|m)\b", re.ASCII | re.IGNORECASE
)
HOURS = Regex(r"(?<![\w:])(?:hours|hrs)\b|(?<![\w:])hh?:mm\b(?!:)", re.ASCII | re.IGNORECASE)
IN_HOURS = Regex(r"\bin hours\b|\((?:hours|hrs)\)|^\W*(?:hours|hrs)\W*$", re.ASCII | re.IGNORECASE)
# A comment that shows that minutes were meant.
IN_MINUTES = Regex(r"(?<![A-Za-z])min(?:ute)?s?\b|(?<![\w:])mm?:ss?\b", re.ASCII | re.IGNORECASE)
MINUTES = Regex(r"(?<![\w:])(?:min(?:ute)?s?|mm?:ss?)\b|hh?:mm?:ss?|seconds?", re.ASCII | re.IGNORECASE)

_TESTS = Regex(r"(?i)(?<![a-z])(?:debug|devel(?:op)?|testing|test|short|express|quick|interactive)(?![a-z])")
# Minutes of two weeks: few sites let a job run that long.
LONGEST = 14 * 24 * 60
# Numbers that only make sense as hours: one day, two days, and so on.
WHOLE_DAYS = frozenset({24, 36, 48, 72, 96, 120, 144, 168, 240})

_SHORT = "which is short for a job"  # evidence of what the job requests
# The evidence in `00:05`: few jobs need only seconds.
_SECONDS = "only seconds"
# A number up to which minutes may have been meant as hours.
_MOST_HOURS = 96
_UNLIMITED = Regex(r"(?im)^[^#\n]{0,200}#[^\n]{0,300}\b(?:unlimited|no (?:time )?limit|infinite)\b")


def check(job: Job) -> Iterator[Finding]:
    for setting, text in plain_limits(job, "time", "time-min"):
        limit = times.minutes(text)
        days, dash, rest = text.rpartition("-")
        fields = rest.split(":")
        if limit is None or not all(is_number(each) for each in (*fields, days if dash else "0")):
            continue
        seconds = _seconds(parse_integer(days or "0"), [parse_integer(each) for each in fields], bool(dash))
        if seconds >= 2**31:
            message = "a limit this long overflows in Slurm and becomes another one; write UNLIMITED"
            fix = Fix("write UNLIMITED", [replacement(job.directives, setting, "UNLIMITED")])
            yield Finding(setting.value_place, message, fix=fix)
        elif seconds == 0:
            if _UNLIMITED.search(job.source.text):
                continue  # a comment says so
            message = f"`{text}` means no time limit; write UNLIMITED if that is intended"
            yield Finding(setting.value_place, message, "info")
        elif dash or len(fields) > 2:
            if seconds < 60:
                message = "Slurm rounds time limits up to whole minutes, so the job gets 1 minute; write 0:01:00"
                yield Finding(setting.value_place, message, "info")
        elif len(fields) == 1:
            yield from _one_number(job, setting, text, limit)
        else:
            yield from _two_numbers(job, setting, text, limit)


def _seconds(days: int, fields: list[int], dashed: bool) -> int:
    """Seconds of `M`, `M:S` and `H:M:S`, or after days of `H`, `H:M` and `H:M:S`."""
    if not dashed and len(fields) < 3:
        fields = [0, *fields]
    hours, minutes, seconds = (*fields, 0, 0)[:3]
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _one_number(job: Job, setting: Setting, text: str, limit: int) -> Iterator[Finding]:
    """The finding on `48`, which is minutes."""
    number, comment = parse_integer(text), comment_on(job, setting)
    instead = times.duration(number * 60)
    evidence = _hours_in(comment, number, IN_HOURS)
    if evidence:
        instead = f"{number}:00:00"
    elif IN_MINUTES.search(comment):
        return
    elif number >= LONGEST and number % 3600 == 0:
        # Whole hours in seconds, as other schedulers count; as minutes it would be weeks.
        instead = times.duration(number)
        evidence = f"in seconds it would be {instead}, not {limit // 1440} days"
    elif number not in WHOLE_DAYS:
        return
    yield _finding(job, setting, limit, evidence, instead)


def _two_numbers(job: Job, setting: Setting, text: str, limit: int) -> Iterator[Finding]:
    """The finding on `24:00`, which is minutes and seconds."""
    number, second = text.split(":")
    if times.minutes(f"{text}:00") == limit:
        return  # rounded up to the same: `00:01`
    comment = comment_on(job, setting)
    hours = parse_integer(number)
    evidence = _hours_in(comment, hours, HOURS)
    if not evidence and _is_for_tests(job, setting):
        return  # a partition for tests takes minutes
    evidence = evidence or _hours_without_comment(job, setting, hours, second, comment)
    if evidence or not IN_MINUTES.search(comment):
        yield _finding(job, setting, limit, evidence, f"{text}:00" if evidence else None)


def _is_for_tests(job: Job, setting: Setting) -> bool:
    """Whether the partition or the QOS of a job is one for short tests."""
    request = request_of(job, setting)
    return any(_TESTS.search(request.value(name) or "") for name in ("partition", "qos", "reservation"))


def _finding(job: Job, setting: Setting, limit: int, evidence: str, instead: str | None) -> Finding:
    """The finding on a limit. `instead`: what was meant, or without `evidence` another spelling of the same limit."""
    duration = "1 minute" if limit == 1 else f"{limit} minutes"
    if instead is None:
        first, second = map(parse_integer, (setting.text or "").split(":"))
        means = f"{counted(first, 'minute')} and {counted(second, 'second')}" if second else counted(first, "minute")
        clear = times.duration(first * 60 + second)
        hours = "" if second else f", or `{setting.text}:00` for {counted(first, 'hour')}"
        message = f"`{setting.text}` means {means}; write `{clear}` to be clear{hours}"
    elif evidence == _SECONDS:
        number = parse_integer((setting.text or "").partition(":")[2])
        message = f"`{setting.text}` is {counted(number, 'second')}, rounded up to {duration}; "
        message += f"for {counted(number, 'minute')} write {instead}"
    elif evidence.startswith(_SHORT):
        hours = counted(parse_integer((setting.text or "").partition(":")[0]), "hour")
        message = f"`{setting.text}` is {duration}, {evidence}; for {hours} write {instead}"
    elif evidence:
        message = f"`{setting.text}` is {duration}, but {evidence}; write {instead}"
    else:
        message = f"`{setting.text}` is {duration}; write {instead} to be clear"
        message += f", or {setting.text}:00:00 for {setting.text} hours" if limit <= _MOST_HOURS else ""
    fix = None
    if instead is not None:
        fix = Fix(f"write {instead}", [replacement(job.directives, setting, instead)], safe=not evidence)
    return Finding(setting.value_place, message, "warning" if evidence else "info", fix=fix)


def _hours_in(comment: str, number: int, hours_meant: Regex) -> str:
    """The end of a sentence that says why a comment means this many hours; '' where it does not."""
    lengths = [(parse_integer(each[:9]), unit.lower()) for each, unit in LENGTH.findall(comment)]
    for length, unit in lengths:
        hours = length if unit[0] == "h" else length * 24 if unit[0] == "d" else -1
        if hours == number > 0:
            name = "hour" if unit[0] == "h" else "day"
            return f"the comment says {counted(length, name)}"
    if lengths or MINUTES.search(comment) or not hours_meant.search(comment):
        return ""
    return "the comment says hours"


def _hours_without_comment(job: Job, setting: Setting, first: int, second: str, comment: str) -> str:
    """The end of a sentence that says why the numbers or the request of the job mean hours; '' where they do not."""
    if MINUTES.search(comment):
        return ""
    if first == 0 and parse_integer(second):
        return _SECONDS
    if len(second) != 2 or parse_integer(second) or first not in WHOLE_DAYS:
        return ""
    request = request_of(job, setting)
    if request.asks_for_gpus:
        return f"{_SHORT} with GPUs"
    nodes = node_count(request.value("nodes"), job.versions.last)
    return f"{_SHORT} of {nodes.minimum} nodes" if nodes is not None and nodes.minimum > 1 else ""


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=«24:00»  # one day = 24 hours
        srun ./a.out
        """,
        unsafe_fixed={"--time=24:00": "--time=24:00:00"},
        title="the comment says so",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --time=«48:00»
        srun ./a.out
        """,
        unsafe_fixed={"--time=48:00": "--time=48:00:00"},
        title="two days",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -t «0:30»
        srun ./a.out
        """,
        unsafe_fixed={"0:30": "0:30:00"},
        title="half a minute",
    ),
    Bad("#!/bin/bash\n#SBATCH --time=«10:00»\nsrun ./a.out\n", severity="info", title="a test, perhaps"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=«48»
        srun ./a.out
        """,
        fixed={"--time=48": "--time=0:48:00"},
        severity="info",
        title="minutes alone",
    ),
    Bad("#!/bin/bash\n#SBATCH --time=«00:00:00»\nsrun ./a.out\n", severity="info", title="no limit"),
    Good("#!/bin/bash\n#SBATCH --time=24:00:00 --time-min=1-12\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --time=UNLIMITED\nsrun ./a.out\n"),
]
