"""Limits that Slurm takes, but that are hardly meant: `--time=24:00`, `--mem=4`; and more hosts than `-N` allows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sbatchlint.job.request import Request
from sbatchlint.slurm.grammar import numbers, sizes, times
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.records import NamedTuple
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.job import Job
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import Setting


class DoubtfulTime(NamedTuple):
    """A limit of time that may be meant otherwise.

    `kind`: `two-part` (`24:00`), `bare` (`48`), `zero` (`0:00:00`), `short` (less than a minute) or `overflow` (more
    than Slurm can count). `minutes`: what the job gets, 0 for no limit. `evidence`: why something else was meant, the
    end of a sentence; '' where only the form says so. `instead`: what was meant, or where there is no evidence another
    spelling of the same limit; None where neither is known.
    """

    setting: Setting
    kind: str
    minutes: int
    evidence: str
    instead: str | None


# The remark on a line, or on the comment above it, as far as it speaks of a length of time.
_LENGTH = Regex(
    r"(?<![\w.:-])([0-9]+)(?:\.0+)?\s*-?\s*(hours?|hrs?|h|days?|d|minutes?|mins?|min|m)\b", re.ASCII | re.IGNORECASE
)
_HOURS = Regex(r"(?<![\w:])(?:hours|hrs)\b|(?<![\w:])hh?:mm\b(?!:)", re.ASCII | re.IGNORECASE)
_IN_HOURS = Regex(r"\bin hours\b|\((?:hours|hrs)\)|^\W*(?:hours|hrs)\W*$", re.ASCII | re.IGNORECASE)
# Whoever writes this knows it.
_IN_MINUTES = Regex(r"(?<![A-Za-z])min(?:ute)?s?\b|(?<![\w:])mm?:ss?\b", re.ASCII | re.IGNORECASE)
_MINUTES = Regex(r"(?<![\w:])(?:min(?:ute)?s?|mm?:ss?)\b|hh?:mm?:ss?|seconds?", re.ASCII | re.IGNORECASE)

# Minutes of two weeks: few sites let a job run as long.
_LONGEST = 14 * 24 * 60
# Lengths that only people who count in hours write: one day, two, and so on.
_WHOLE_DAYS = frozenset({24, 36, 48, 72, 96, 120, 144, 168, 240})


def doubtful_times(job: Job) -> Iterator[DoubtfulTime]:
    """The limits of a job that can be read in two ways. Values that are refused or not known are not among them."""
    directives = job.directives
    for setting in directives.settings:
        text = setting.text
        if setting.name not in ("time", "time-min") or not text or directives.slip(setting) is not None:
            continue
        if _is_overridden(directives, setting):
            continue
        limit = times.minutes(text)
        if limit is None or _goes_on(setting):
            continue
        found = _doubt(job, setting, text, limit)
        if found is not None:
            yield found


def _doubt(job: Job, setting: Setting, text: str, limit: int) -> DoubtfulTime | None:
    days, dash, rest = text.partition("-")
    fields = (rest if dash else text).split(":")
    if not all(field.isdigit() for field in (*fields, days if dash else "0")):
        return None
    asked = _seconds(int(days) if dash else 0, [int(field) for field in fields], bool(dash))
    if asked >= 2**31:
        return DoubtfulTime(setting, "overflow", limit, "", "UNLIMITED")
    if asked == 0:
        return DoubtfulTime(setting, "zero", 0, "", None)
    if dash or len(fields) > 2:
        return DoubtfulTime(setting, "short", limit, "", None) if asked < 60 else None
    first = int(fields[0])
    remark = _remark(job, setting)
    if len(fields) == 1:
        evidence = _of_hours(remark, first, _IN_HOURS)
        if not evidence and _IN_MINUTES.search(remark):
            return None
        if not evidence and first >= _LONGEST and first % 3600 == 0:
            # Whole hours in seconds, as other schedulers count; as minutes it would be weeks.
            shown = f"as seconds it is {times.duration(first)}, and as minutes {limit // 1440} days"
            return DoubtfulTime(setting, "bare", limit, shown, times.duration(first))
        instead = f"{first}:00:00" if evidence else times.duration(first * 60)
        return DoubtfulTime(setting, "bare", limit, evidence, instead)
    evidence = _of_hours(remark, first, _HOURS) or _by_itself(job, setting, first, fields[1], remark)
    if not evidence and _IN_MINUTES.search(remark):
        return None
    return DoubtfulTime(setting, "two-part", limit, evidence, f"{text}:00" if evidence else None)


def _seconds(days: int, fields: list[int], dashed: bool) -> int:
    if dashed:
        hours, mins, secs = (*fields, 0, 0)[:3]
        return days * 86400 + hours * 3600 + mins * 60 + secs
    if len(fields) == 3:
        return fields[0] * 3600 + fields[1] * 60 + fields[2]
    return fields[0] * 60 + (fields[1] if len(fields) == 2 else 0)


def _remark(job: Job, setting: Setting) -> str:
    """The comment behind the directive or, without one, the comment line above it."""
    line = setting.value_line or setting.line
    if line.comment is not None:
        return job.source.slice(line.comment)
    string = job.directives.text.string
    above = string[string.rfind("\n", 0, max(0, line.start - 1)) + 1 : max(0, line.start - 1)].strip()
    return above if re.match(r"#(?!SBATCH|SLURM|!|PBS|BSUB)", above) else ""


def _is_overridden(directives: Directives, setting: Setting) -> bool:
    """Whether a later one of its component takes its place, so that it has no effect."""
    later = [each for each in directives.settings if each.name == setting.name and each.component == setting.component]
    return later[-1] is not setting


def _goes_on(setting: Setting) -> bool:
    """Whether a word stands behind the value that may belong to it (`--mem=16 GB`): another fault."""
    line = setting.value_line or setting.line
    behind = [
        token for token in line.tokens if setting.value_token is not None and token.start > setting.value_token.start
    ]
    return bool(behind) and behind[0].text[:1] != "-"


def _of_hours(remark: str, first: int, hours_meant: Regex) -> str:
    """Whether a remark says that this many hours were meant."""
    if not remark:
        return ""
    lengths = [(int(number[:9]), unit.lower()) for number, unit in _LENGTH.findall(remark)]
    for number, unit in lengths:
        hours = number if unit[0] == "h" else number * 24 if unit[0] == "d" else -1
        if hours == first > 0:
            name = "hour" if unit[0] == "h" else "day"
            return f"the comment says {number} {name}{'' if number == 1 else 's'}"
    if lengths or _MINUTES.search(remark) or not hours_meant.search(remark):
        return ""
    return "the comment speaks of hours"


def _by_itself(job: Job, setting: Setting, first: int, second: str, remark: str) -> str:
    """Whether the numbers alone, or what the job asks for, say that hours and minutes were meant."""
    if _MINUTES.search(remark):
        return ""
    if first == 0 and int(second):
        return "nobody asks for seconds"
    if len(second) != 2 or int(second) or first not in _WHOLE_DAYS:
        return ""
    request = job.request if setting.component == 0 else Request(job.directives, setting.component)
    if request.asks_for_gpus:
        return "the job asks for GPUs"
    nodes = numbers.node_count(request.text("nodes"), job.versions.last)
    if nodes is not None and nodes.minimum > 1:
        return f"the job asks for {nodes.minimum} nodes"
    return ""


class TinyMemory(NamedTuple):
    """An amount of memory without a unit, which is megabytes, and too little of them.

    `megabytes`: what is asked for. `evidence`: why gigabytes were meant, the end of a sentence; '' where the number is
    so small that it says so itself. `instead`: the same number of gigabytes; None where that is much, too.
    """

    setting: Setting
    megabytes: int
    evidence: str
    instead: str | None


_IN_MEGABYTES = Regex(r"(?i)\b[0-9]*\s*(?:mb|mib|megabytes?|megs?|mbytes?)\b|(?-i:\b[0-9]+\s*M\b)")
_IN_GIGABYTES = Regex(r"(?i)\b[0-9]*\s*(?:gb|gib|gigabytes?|gigs?|gbytes?)\b|(?-i:\b[0-9]+\s*G\b)")

# Below this many megabytes not even an interpreter starts; tests of a few minutes are let off.
_TOO_LITTLE = 64
_TEST_MINUTES = 10


def tiny_memory(job: Job) -> Iterator[TinyMemory]:
    """The amounts of `--mem` and its kin that were hardly meant as megabytes."""
    directives = job.directives
    for setting in directives.settings:
        text = setting.text
        if setting.name not in ("mem", "mem-per-cpu", "mem-per-gpu") or not text or not text.isdigit():
            continue
        size = sizes.megabytes(text)
        if size is None or not 0 < size < 1024 or directives.slip(setting) is not None or _goes_on(setting):
            continue
        if _is_overridden(directives, setting):
            continue
        remark = _remark(job, setting)
        if _IN_MEGABYTES.search(remark):
            continue
        request = job.request if setting.component == 0 else Request(directives, setting.component)
        evidence = _of_gigabytes(setting, size, remark, request)
        if evidence or (size <= _TOO_LITTLE and not _is_test(request)):
            yield TinyMemory(setting, size, evidence, f"{size}G" if size <= 512 else None)


def _of_gigabytes(setting: Setting, size: int, remark: str, request: Request) -> str:
    if _IN_GIGABYTES.search(remark):
        return "the comment says GB"
    if request.asks_for_gpus and setting.name != "mem-per-cpu":
        return "the job asks for GPUs"
    if setting.name == "mem" and request.cpus_per_task is not None and size < 16 * request.cpus_per_task:
        return f"the job asks for {request.cpus_per_task} CPUs"
    return ""


def _is_test(request: Request) -> bool:
    limit = times.minutes(request.text("time"))
    return limit is not None and 0 < limit <= _TEST_MINUTES


class TooManyHosts(NamedTuple):
    """A list of hosts that is longer than `--nodes` allows, which releases before 23.02 refuse.

    `hosts`: how many it names. `nodes`: the setting that allows fewer. `says`: what sbatch says. `versions`: the
    releases of the range that refuse it.
    """

    setting: Setting
    hosts: int
    nodes: Setting
    maximum: int
    says: str
    versions: tuple[str, ...]


def too_many_hosts(job: Job) -> Iterator[TooManyHosts]:
    """Each `--nodelist` that names more hosts than the job may have nodes."""
    from sbatchlint.slurm.grammar import hosts

    directives = job.directives
    versions = tuple(version for version in job.versions.majors if is_before(version, "23.02"))
    for component in range(directives.components):
        nodes = directives.last("nodes", component)
        listed = directives.last("nodelist", component)
        if not versions or nodes is None or listed is None or nodes.text is None or listed.text is None:
            continue
        count = numbers.node_count(nodes.text, versions[-1])
        names = hosts.hosts(listed.text, versions[-1])
        if count is None or names is None or not 0 < count.maximum < len(names):
            continue
        if directives.slip(nodes) is not None or directives.slip(listed) is not None:
            continue
        says = f"invalid number of nodes (-N {len(names)}-{count.maximum})"
        yield TooManyHosts(listed, len(names), nodes, count.maximum, says, versions)


class LostStep(NamedTuple):
    """A step of `--array` that stands behind the throttle (`1-10%2:3`), and so has no effect.

    `tasks`: how many there are without it. `instead`: the array with the step before the throttle.
    """

    setting: Setting
    tasks: int
    instead: str


def lost_array_steps(job: Job) -> Iterator[LostStep]:
    """Each such step, where moving it gives an array."""
    from sbatchlint.slurm.grammar import arrays

    for setting in job.directives.settings:
        text = setting.text
        if setting.name != "array" or not text or "%" not in text or job.directives.slip(setting) is not None:
            continue
        found = arrays.indexes(text, job.versions.last)
        if found is None or not found.dropped_step:
            continue
        head, _, behind = text.partition("%")
        throttle, _, rest = behind.partition(found.dropped_step)
        meant = f"{head.rstrip(']')}{found.dropped_step}{']' if head[-1:] == ']' else ''}%{throttle}{rest}"
        moved = arrays.indexes(meant, job.versions.last)
        if moved is not None and moved.tasks < found.tasks:
            yield LostStep(setting, found.tasks, meant)
