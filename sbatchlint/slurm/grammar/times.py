"""Limits of time (`--time`, `--time-min`, `--delay-boot`) and moments (`--begin`, `--deadline`).

`time_str2secs()`, `time_str2mins()` and `parse_time()` of src/common/parse_time.c, Slurm 20.11 to 26.05.
"""

import re
from functools import lru_cache

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.grammar.numbers import int32, strtol
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

# The result of `minutes` for no limit, which is also written as 0.
UNLIMITED = 0

_ENDLESS = frozenset({"-1", "INFINITE", "UNLIMITED"})
_FIELDS = Regex("[0-9]+")


def minutes(string: str | None) -> int | None:
    """The minutes of a limit; `UNLIMITED` (0) for none (`0`, `-1`, `INFINITE`); None if it is refused.

    `MM`, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`, fields of any size; seconds are rounded up.
    """
    count = limit_seconds(string) if string else None
    if count is None:
        return None
    if count == -1:
        return UNLIMITED
    rounded = int32(count + 59)
    # C divides towards 0; a limit is recorded without a sign.
    whole = rounded // 60 if rounded >= 0 else -(-rounded // 60)
    return UNLIMITED if whole in (0, -1) else whole % 2**32


@lru_cache(maxsize=1024)  # several checks ask, and most scripts have the same limits
def limit_seconds(string: str) -> int | None:
    """The seconds of a limit, in a C int: -1 for none; None if it is refused (`time_str2secs()`)."""
    if string.upper() in _ENDLESS and string.isascii():
        return -1
    days, dash, rest = string.partition("-")
    fields = (rest if dash else string).split(":")
    if not set(string) <= set("0123456789-:") or "-" in rest or not _FIELDS.search(string):
        return None
    if (":" in days and dash) or len(fields) > 3:
        return None
    runs = len(_FIELDS.findall(string))
    if len(fields) > 1 and runs < len(fields) + (1 if dash else 0):
        return None
    if dash:
        # `-5` is read as -5 days, and `1-` as one day.
        numbers = [_c_int(days)] if days else [_c_int(f"-{fields[0]}")]
        numbers += [_c_int(field) for field in (fields if days else fields[1:]) if field]
    else:
        numbers = [_c_int(field) for field in fields]
        numbers = [0, *numbers] if len(numbers) == 3 else [0, 0, *numbers]
    count, hours, mins, secs = (*numbers, 0, 0, 0)[:4]
    total = int32(count * 86400 + hours * 3600 + mins * 60 + secs)
    # -2 is what the function returns for a value that it refuses.
    return None if total == -2 else total


def _c_int(string: str) -> int:
    """The number that `%d` of scanf() reads."""
    return int32(strtol(string)[0])


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of a limit or a moment by a release; see `grammar.refusals`."""
    if option in ("begin", "deadline"):
        if is_moment(value, version):
            return None
        reason, instead = _moment(value, version)
        return Refusal("time", f"Invalid --{option} specification", reason, instead)
    if minutes(value) is not None:
        return None
    return Refusal("time", f"Invalid --{option} specification", _limit_reason(value), _limit(value))


_DURATION = Regex(r"(?:[0-9]+(?:\.[0-9]+)?\s*[a-z]+[\s,]*)+", re.ASCII | re.IGNORECASE)
_PART = Regex(r"([0-9]+)(?:\.([0-9]+))?\s*([a-z]+)", re.ASCII | re.IGNORECASE)
_UNITS = {
    name: seconds
    for names, seconds in (
        ("s sec second", 1), ("m min minute", 60), ("h hr hour", 3600), ("d day", 86400), ("w wk week", 604800)
    )
    for name in names.split()
}  # fmt: skip


def _limit_reason(value: str) -> str:
    if not value.strip():
        return "a time is written as minutes, H:MM:SS or D-HH:MM:SS"
    if re.search(r"[0-9]\s*[a-z]", value, re.ASCII | re.IGNORECASE):
        return "times take no unit"
    if value.count(":") > 2:
        return "days are separated by `-`"
    if re.search(r"[0-9]\.[0-9]", value):
        return "times take no decimals"
    if re.search(r"\s", value):
        return "times contain no spaces"
    return "a time is written as minutes, H:MM:SS or D-HH:MM:SS"


def _limit(value: str) -> str | None:
    """The limit plainly meant, as `2:00:00` by `2h`, `1-00:00:00` by `1:00:00:00`; None if unknown."""
    text = value.strip().rstrip(";,").rstrip()
    if text != value and minutes(text) is not None:
        return text
    if text.lower() in ("inf", "infinity"):
        return "INFINITE"
    days = re.fullmatch(r"([0-9]{1,6}):([0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2})", text, re.ASCII)
    if days is not None:
        return f"{days.group(1)}-{days.group(2)}"
    if re.fullmatch(r":[0-9]{1,2}(:[0-9]{1,2})?", text, re.ASCII):
        return "0" + text
    if re.fullmatch(r"[0-9-]*[0-9]+:[0-9]{2}:[0-9]{2}\.0+", text, re.ASCII):
        return text.partition(".")[0]
    seconds = _duration(text)
    return None if seconds is None else duration(*seconds)


def _duration(string: str) -> tuple[int, int] | None:
    """The seconds of `1h30m`, `2 days`, `1.5h`, and the seconds of its largest unit."""
    if not _DURATION.fullmatch(string):
        return None
    total, largest, last = 0, 0, 10**9
    for whole, fraction, name in _PART.findall(string):
        unit = _UNITS.get(name.lower()) or _UNITS.get(name.lower().rstrip("s"))
        if unit is None or unit >= last or len(whole) + len(fraction) > 9:
            return None
        amount = parse_integer(whole + fraction) * unit
        if amount % 10 ** len(fraction):
            return None
        total += amount // 10 ** len(fraction)
        largest, last = max(largest, unit), unit
    return (total, largest) if total else None


def duration(seconds: int, unit: int = 3600) -> str:
    """Seconds as a limit for Slurm; `unit`: the seconds of the largest unit to show, 60 or at least 3600."""
    mins, secs = divmod(seconds, 60)
    hours, rest = divmod(mins, 60)
    if unit >= 86400 or (seconds > 86400 * 2 and unit >= 3600):
        return f"{hours // 24}-{hours % 24:02d}:{rest:02d}:{secs:02d}"
    return f"{hours}:{rest:02d}:{secs:02d}"


# What a moment consists of: a word, `now` with an amount, a time of day, a date.
_WORD = Regex("today|tomorrow|midnight|noon|elevenses|fika|teatime", re.ASCII | re.IGNORECASE)
_NOW = Regex(
    r"now[ \t]*(?:(?=\n|\Z)|[+-](?:[ \t\v\f\r]*[0-9])+[ \t\v\f\r]*"
    r"(?:(?:second|minute|hour|day|week)s?|(?=\n|\Z)))",
    re.ASCII | re.IGNORECASE,
)
_MINUTES = r":[0-5][0-9](?::[0-5][0-9]|(?!:))[ \t\n\v\f\r]*+"
_CLOCK = Regex(rf"(?:0?[0-9]|1[0-2]){_MINUTES}[ap]m|(?:2[0-3]|[01]?[0-9]){_MINUTES}(?![ap]m)", re.ASCII | re.IGNORECASE)
_DAY = "(?:0[1-9]|[12][0-9]|3[01]|[1-9](?![0-9]))"
_ISO_DATE = Regex(rf"[0-9]{{4}}-(?:0[1-9]|1[0-2])-{_DAY}", re.ASCII)
_DATE = Regex(rf"(?:0[1-9]|1[0-2]|[1-9](?![0-9]))[./]?{_DAY}[./]?(?:[0-9]{{2}}|(?![0-9]))", re.ASCII)


def is_moment(string: str, version: str = "26.05") -> bool:
    """Whether sbatch reads a value as a point in time (`parse_time()`).

    Words, `HH:MM[:SS] [AM|PM]`, `MMDD[YY]`, `MM/DD[/YY]`, `YYYY-MM-DD`, date and time joined by blanks, `-` or `T`,
    `now+10minutes`, `uts1700000000`. What sbatch reads beyond the end of the text is taken for good.
    """
    if string[:3].lower() == "uts":
        number, end = strtol(string, 3)
        return number >= 1000000 and number != 2**63 - 1 and end == len(string)
    found = False
    at = 0
    while at < len(string) and string[at] != "\n":
        # Before the words, so that `Tomorrow` loses its first letter.
        if string[at] in " \t-T":
            at += 1
            continue
        if string[at : at + 3].lower() == "now":
            if at:
                return True
            part = _NOW.match(string)
        elif not is_number(string[at]):
            part = _WORD.match(string, at)
            if part is not None and part[0].lower() == "elevenses" and is_before(version, "24.05"):
                return False
        elif ":" in string[at + 1 : at + 3]:
            part = _CLOCK.match(string, at)
        else:
            is_iso = string[at + 4 : at + 5] == "-" == string[at + 7 : at + 8]
            part = (_ISO_DATE if is_iso else _DATE).match(string, at)
        if part is None:
            return False
        found, at = True, part.end()
    return found


def _moment(value: str, version: str) -> tuple[str, str | None]:
    """What is wrong with a moment, and the one plainly meant, None if unknown."""
    text = value.strip()
    lowered = text.lower()
    if lowered == "elevenses":
        return "the word elevenses is new in Slurm 24.05", "11:00"
    if _WORD.fullmatch(lowered) is not None:
        return "words that begin with T must be lower case", lowered
    delta = re.fullmatch(r"(?:now\s*)?\+?\s*((?:[0-9]+\s*[a-z]+\s*)+)", lowered, re.ASCII)
    if delta is not None:
        seconds = _duration(delta.group(1))
        if seconds is not None:
            return "now+ takes seconds, minutes, hours, days or weeks", _from_now(*seconds)
    date = re.fullmatch(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:[Tt_, ]\s*(.*))?", text, re.ASCII)
    if date is not None:
        year, month, day, clock = date.groups()
        meant = f"{year}-{parse_integer(month):02d}-{parse_integer(day):02d}"
        if clock:
            hour = re.fullmatch("[0-9]{1,2}", clock)
            meant += f"T{clock}:00" if hour is not None else f"T{clock}"
        if is_moment(meant, version):
            return "a date is written as YYYY-MM-DD, with T before the time", meant
    american = re.fullmatch(r"([0-9]{1,2}/[0-9]{1,2}/)20([0-9]{2})(.*)", text, re.ASCII)
    if american is not None and is_moment(meant := "".join(american.groups()), version):
        return "a year after month and day has two digits", meant
    hour = re.fullmatch(r"([0-9]{1,2})\s*([ap]m)", lowered)
    if hour is not None and is_moment(meant := f"{hour.group(1)}:00{hour.group(2)}", version):
        return "a time of day needs minutes", meant
    return "a start time looks like 2030-12-31T12:00:00, now+2hours or 16:00", None


def _from_now(seconds: int, unit: int) -> str:
    for name, size in (("weeks", 604800), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if size <= unit and seconds % size == 0:
            amount = seconds // size
            return f"now+{amount}{name if amount > 1 else name[:-1]}"
    return f"now+{seconds}seconds"
