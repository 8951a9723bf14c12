"""Limits of time (`--time`, `--time-min`, `--delay-boot`) and moments (`--begin`, `--deadline`).

`time_str2secs()`, `time_str2mins()` and `parse_time()` of src/common/parse_time.c, Slurm 20.11 to 26.05.
"""

import re
from functools import lru_cache

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.grammar.numbers import int32, strtol
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import parse_integer
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
        count, hours, mins, secs = (*numbers, 0, 0, 0)[:4]
        total = count * 86400 + hours * 3600 + mins * 60 + secs
    else:
        numbers = [_c_int(field) for field in fields]
        if len(numbers) == 3:
            total = numbers[0] * 3600 + numbers[1] * 60 + numbers[2]
        else:
            total = numbers[0] * 60 + (numbers[1] if len(numbers) == 2 else 0)
    total = int32(total)
    # -2 is what the function returns for a value that it refuses.
    return None if total == -2 else total


def _c_int(string: str) -> int:
    """The number that `%d` of scanf() reads."""
    return int32(strtol(string)[0])


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of a limit or a moment by a release; see `grammar.refusals`."""
    if option in ("begin", "deadline"):
        fault = timestamp_fault(value, version)
        if fault is None:
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


_WORDS = ("today", "tomorrow", "midnight", "noon", "elevenses", "fika", "teatime")
_DELTAS = ("seconds", "second", "minutes", "minute", "hours", "hour", "days", "day", "weeks", "week")


class _UnreadableMoment(Exception):
    """A moment that cannot be parsed. `args[0]`: where, as sbatch counts; -1 without a place."""


def timestamp_fault(string: str, version: str = "26.05") -> int | None:
    """Where a moment cannot be parsed (-1: nowhere in particular); None for a valid one.

    Words, `HH:MM[:SS] [AM|PM]`, `MMDD[YY]`, `MM/DD[/YY]`, `YYYY-MM-DD`, date and time joined by blanks, `-` or `T`,
    `now+10minutes`, `uts1700000000`. What sbatch reads beyond the end of the text is taken for good.
    """
    try:
        return None if _moment_parts(string, version) else -1
    except _UnreadableMoment as fault:
        place: int = fault.args[0]
        return place


def _moment_parts(string: str, version: str) -> bool:
    """parse_time(): whether it contains a time or a date. Raises _UnreadableMoment."""
    if string[:3].lower() == "uts":
        number, end = strtol(string, 3)
        if number < 1000000 or number == 2**63 - 1 or end != len(string):
            raise _UnreadableMoment(0)
        return True
    lowered = string.lower()
    found = False
    at = 0
    while at < len(string) and string[at] != "\n":
        # Before the words, so that `Tomorrow` loses its first letter.
        if string[at] in " \t-T":
            at += 1
            continue
        word = next((word for word in _WORDS if lowered.startswith(word, at)), None)
        if word == "elevenses" and is_before(version, "24.05"):
            word = None
        if word is not None:
            found = True
            at += len(word)
        elif lowered.startswith("now", at):
            if at:
                return True
            found = True
            at = _after_now(string)
        elif not _digit(string, at):
            raise _UnreadableMoment(at)
        elif ":" in (string[at + 1 : at + 2], string[at + 2 : at + 3]):
            found = True
            at = _clock(string, at)
        else:
            found = True
            at = _date(string, at)
    return found


def _digit(string: str, at: int) -> bool:
    return "0" <= string[at : at + 1] <= "9"


def _after_now(string: str) -> int:
    at = 3
    while True:
        letter = string[at : at + 1]
        if letter in ("+", "-") and letter:
            return _delta(string, at)
        if not letter or letter == "\n":
            return at
        if letter not in " \t":
            raise _UnreadableMoment(at)
        at += 1


def _delta(string: str, sign: int) -> int:
    """_get_delta(): a number and a unit after `now+`, with whitespace anywhere."""
    digits = False
    at = sign + 1
    while at < len(string) and string[at] != "\n":
        if string[at] in " \t\v\f\r":
            at += 1
            continue
        unit = next((unit for unit in _DELTAS if string[at : at + len(unit)].lower() == unit), None)
        if unit is not None:
            at += len(unit)
            break
        if not _digit(string, at):
            raise _UnreadableMoment(at - 1)
        digits = True
        at += 1
    if not digits:
        raise _UnreadableMoment(sign)
    return at


def _two(string: str, at: int) -> int:
    """Two digits. Raises _UnreadableMoment at a character that is not one."""
    for place in (at, at + 1):
        if not _digit(string, place):
            raise _UnreadableMoment(place)
    return parse_integer(string[at : at + 2])


def _clock(string: str, at: int) -> int:
    """_get_time()"""
    hour = parse_integer(string[at])
    at += 1
    if string[at] != ":":
        if not _digit(string, at):
            raise _UnreadableMoment(at)
        hour = hour * 10 + parse_integer(string[at])
        at += 1
    if hour > 23:
        raise _UnreadableMoment(at - 2)
    if _two(string, at + 1) > 59:
        raise _UnreadableMoment(at + 1)
    at += 3
    if string[at : at + 1] == ":":
        if _two(string, at + 1) > 59:
            raise _UnreadableMoment(at + 1)
        at += 3
    while at < len(string) and string[at] in " \t\n\v\f\r":
        at += 1
    half = string[at : at + 2].lower()
    if half == "pm" and hour > 12 or half == "am" and hour > 12:
        raise _UnreadableMoment(at)
    return at + 2 if half in ("am", "pm") else at


def _value(string: str, at: int) -> int:
    """The value of a digit as C computes it, for any character."""
    return (ord(string[at]) if at < len(string) else 0) - ord("0")


def _one_or_two(string: str, at: int) -> tuple[int, int]:
    number = _value(string, at)
    at += 1
    if _digit(string, at):
        number = number * 10 + parse_integer(string[at])
        at += 1
    return number, at


def _date(string: str, at: int) -> int:
    """_get_date()"""
    if string[at + 4 : at + 5] == "-" and string[at + 7 : at + 8] == "-":
        for number in range(at, at + 4):
            if not _digit(string, number):
                raise _UnreadableMoment(number)
        month, at = _one_or_two(string, at + 5)
        if not 1 <= month <= 12:
            raise _UnreadableMoment(at - 2)
        return _day(string, at + 1)
    month, at = _one_or_two(string, at)
    if not 1 <= month <= 12:
        raise _UnreadableMoment(at - 2)
    if string[at : at + 1] in (".", "/"):
        at += 1
    at = _day(string, at)
    if string[at : at + 1] in (".", "/"):
        at += 1
    if _digit(string, at):
        if not _digit(string, at + 1):
            raise _UnreadableMoment(at + 1)
        at += 2
    return at


def _day(string: str, at: int) -> int:
    if not _digit(string, at):
        raise _UnreadableMoment(at)
    day, at = _one_or_two(string, at)
    if not 1 <= day <= 31:
        raise _UnreadableMoment(at - 2)
    return at


def _moment(value: str, version: str) -> tuple[str, str | None]:
    """What is wrong with a moment, and the one plainly meant, None if unknown."""
    text = value.strip()
    lowered = text.lower()
    if lowered in _WORDS and lowered != "elevenses":
        return "words that begin with T must be lower case", lowered
    if lowered == "elevenses":
        return "the word elevenses is new in Slurm 24.05", "11:00"
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
        if timestamp_fault(meant, version) is None:
            return "a date is written as YYYY-MM-DD, with T before the time", meant
    american = re.fullmatch(r"([0-9]{1,2}/[0-9]{1,2}/)20([0-9]{2})(.*)", text, re.ASCII)
    if american is not None and timestamp_fault(meant := "".join(american.groups()), version) is None:
        return "a year after month and day has two digits", meant
    hour = re.fullmatch(r"([0-9]{1,2})\s*([ap]m)", lowered)
    if hour is not None and timestamp_fault(meant := f"{hour.group(1)}:00{hour.group(2)}", version) is None:
        return "a time of day needs minutes", meant
    return "a start time looks like 2030-12-31T12:00:00, now+2hours or 16:00", None


def _from_now(seconds: int, unit: int) -> str:
    for name, size in (("weeks", 604800), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if size <= unit and seconds % size == 0:
            amount = seconds // size
            return f"now+{amount}{name if amount > 1 else name[:-1]}"
    return f"now+{seconds}seconds"
