"""Digits of a text as a number. Scripts may hold any number of them, and Python refuses to read more than 4,300."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

# A number of more digits counts as one of so many nines: larger than anything that it is compared with.
MOST_DIGITS = 400
LARGEST: int = 10**MOST_DIGITS - 1


def is_number(string: str) -> bool:
    """Whether a text is digits and nothing else, as C and the shell know them: `٣` and `²` are none."""
    return string.isascii() and string.isdigit()


def parse_integer(string: str, base: int = 10) -> int:
    """The integer that a text holds, as `int` reads it. Raises ValueError where it holds none."""
    if len(string) <= MOST_DIGITS:
        return int(string, base)
    digits = string.strip().lstrip("+-")
    if not digits.isalnum():
        raise ValueError(f"no number: {string[:20]!r}")
    return -LARGEST if string.strip().startswith("-") else LARGEST


def has_between(numbers: Sequence[int], start: int, end: int) -> bool:
    """Whether one of some sorted numbers is from `start` up to `end`, which is not counted."""
    at = bisect_left(numbers, start)
    return at < len(numbers) and numbers[at] < end


# --- numbers of things, as people say them ------------------------------------------------------------


def counted(number: int, noun: str) -> str:
    """`1 task`, `3 tasks`, `2 processes`."""
    return f"{number} {noun if number == 1 else plural(noun)}"


def all_of(number: int, noun: str) -> str:
    """`the task`, `both tasks`, `all 3 tasks`."""
    if number == 1:
        return f"the {noun}"
    return f"both {plural(noun)}" if number == 2 else f"all {number} {plural(noun)}"


def others(number: int, noun: str) -> str:
    """`one other task`, `2 other tasks`."""
    return f"one other {noun}" if number == 1 else f"{number} other {plural(noun)}"


def at_lines(rows: Iterable[object], last: str = "") -> str:
    """`line 3`, `lines 3, 5`; with a word before the last: `lines 3, 5 and 7-9`, or of one of them `line 3 or 5`."""
    *told, end = [str(row) for row in rows]
    several = bool(told) and last != "or" or "-" in end
    before = f"{', '.join(told)}{f' {last} ' if last else ', '}" if told else ""
    return f"line{'s' if several else ''} {before}{end}"


def listed(names: Sequence[str], most: int = 0) -> str:
    """`a`, `a and b`, `a, b and c`; with `most`, of more names than that those first ones: `a, b and 3 more`."""
    if 0 < most < len(names):
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
