"""`--array`: indexes of job arrays. sbatch passes the value on; slurmctld parses it.

`slurm_parse_array_tok()` of src/common/slurm_protocol_defs.c, `_valid_array_inx()` and `_create_job_array()` of
src/slurmctld/job_mgr.c, Slurm 20.11 to 26.05.
"""

import re
from typing import NamedTuple

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.grammar.numbers import int32, strtol
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

# The maximum of `MaxArraySize` (src/common/read_config.c), whose default is 1001.
SIZE_LIMIT = 4000001

_MESSAGE = "Batch job submission failed: Invalid job array specification"


class Indexes(NamedTuple):
    """The tasks of an array: how many, the smallest and the largest index, and how many may run at the same time.

    `step`: the value of SLURM_ARRAY_TASK_STEP. `throttle`: 0 for no limit. `dropped_step`: a step after the throttle,
    which has no effect; '' if there is none.
    """

    tasks: int
    minimum: int
    maximum: int
    step: int
    throttle: int
    dropped_step: str


def indexes(string: str | None, version: str = "26.05", limit: int = SIZE_LIMIT) -> Indexes | None:
    """The indexes of a value of `--array`; None if it is refused or means no array (`''`, `,`).

    `limit`: the site's MaxArraySize; the largest index is one less.
    """
    if not string:
        return None
    ranges: list[range] = []
    for item in string.split(","):
        if not item:
            continue
        chosen = _item(item, version, limit)
        if chosen is None:
            return None
        ranges.append(chosen)
    if not ranges:
        return None
    if len(ranges) == 1:
        count = len(ranges[0])
    else:
        taken = bytearray(max(each.stop for each in ranges))
        for other_range in ranges:
            taken[other_range.start : other_range.stop : other_range.step] = b"\1" * len(other_range)
        count = taken.count(1)
    step = strtol(string, string.index(":") + 1)[0] if ":" in string else 1
    throttle, end = strtol(string, string.index("%") + 1) if "%" in string else (0, 0)
    lost = re.match(r"\]?(:[0-9]+)", string[end:], re.ASCII) if end else None
    return Indexes(
        count,
        min(each.start for each in ranges),
        max(each[-1] for each in ranges),
        step,
        max(0, throttle),
        lost.group(1) if lost is not None else "",
    )


def _item(item: str, version: str, limit: int) -> range | None:
    """The indexes of one item of the list; None if it is refused. Brackets are skipped; text after `%` is ignored."""
    first, at = strtol(item, 1 if item[0] == "[" else 0)
    if item[at : at + 1] == "]":
        at += 1
    last, step = first, 1
    if item[at : at + 1] == "-":
        last, at = _number(item, at + 1)
        if item[at : at + 1] == ":":
            step, at = _number(item, at + 1)
    if is_before(version, "22.05"):
        first, last, step = int32(first), int32(last), int32(step)
    if at < len(item) and item[at] != "%":
        return None
    if first < 0 or last < first or last >= limit or step <= 0:
        return None
    if step >= limit and not is_before(version, "22.05"):
        return None
    return range(first, last + 1, step)


def _number(item: str, at: int) -> tuple[int, int]:
    number, end = strtol(item, at)
    return number, end + 1 if item[end : end + 1] == "]" else end


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of a value of `--array` by slurmctld of a release; see `grammar.refusals`."""
    if not value.strip(",") or indexes(value, version) is not None:
        return None
    return Refusal("array", _MESSAGE, _reason(value), _instead(value, version), "controller")


def _reason(value: str) -> str:
    for first, last in re.findall(r"(?<![0-9:%-])([0-9]{1,18})-([0-9]{1,18})(?![0-9.])", value, re.ASCII):
        if parse_integer(last) < parse_integer(first):
            return f"the range {first}-{last} ends before it begins"
    if re.search(r"-[0-9]+:0+(?![0-9])", value, re.ASCII):
        return "a step must be at least 1"
    if re.match(r"\s*\[?-[0-9]", value, re.ASCII):
        return "an index cannot be negative"
    if re.search(r"\s", value):
        return "an array contains no spaces"
    if any(parse_integer(number) >= SIZE_LIMIT for number in re.findall("[0-9]{7,18}", value)):
        return f"an index is at most {SIZE_LIMIT - 1}"
    return "an array is a list of numbers and ranges, such as 1,3,5-9:2%4"


_SPAN = Regex(r"([0-9]+)(?:\.\.+|…|to|~|:|/|_)([0-9]+)", re.ASCII)


def _instead(value: str, version: str) -> str | None:
    """The array plainly meant, as `1-10` by `1..10` and `10-1`, `1,3` by `1 ,3`; None if unknown."""
    text = re.sub(r"\s*([-,:%\[\]])\s*", r"\1", value.strip()).rstrip(";,")
    text = text.replace(";", ",")
    if text[:1] in "[{(" and text[-1:] in "]})":
        text = text.strip("[]{}()")
    # Brackets as printed by Slurm enclose the whole list.
    text = text.replace("[", "").replace("]", "")
    text = re.sub(r"(?<=[0-9])\s+(?=[0-9])", ",", text)
    items = []
    for item in text.split(","):
        numbers, percent, throttle = item.partition("%")
        span = _SPAN.fullmatch(numbers)
        if span is not None:
            numbers = f"{span.group(1)}-{span.group(2)}"
        found = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})(:[0-9]+)?", numbers, re.ASCII)
        if found is not None:
            first, last, step = found.groups()
            if parse_integer(last) < parse_integer(first):
                if span is not None:
                    return None
                first, last = last, first
            if step is not None and not step.strip(":0"):
                step = None
            numbers = f"{first}-{last}{step or ''}"
        items.append(f"{numbers}{percent}{throttle}")
    meant = ",".join(items)
    return meant if meant != value and indexes(meant, version) is not None else None
