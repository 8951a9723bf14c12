"""The records that `scontrol show` prints: `Name=value` pairs, on several lines or (`--oneliner`) on one."""

from sbatchlint.slurm.grammar.numbers import strtol
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

_PAIR = Regex(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_:/\[\]]*)=(\S*)")
NOTHING = frozenset({"", "(null)", "NONE", "N/A", "n/a", "UNLIMITED", "INFINITE", "ALL", "Unknown"})


class Damaged(ValueError):
    """Why an output cannot be what Slurm printed."""


Record = dict[str, str]


def records(lines: list[str], first: str) -> list[Record]:
    """The records of an output; each begins with the field `first`. Of a repeated field the first counts.

    Free text (`OS=`, `Reason=`, `Comment=`) may hold what looks like a field, but is after those that matter.
    """
    found: list[Record] = []
    for line in lines:
        for name, value in _PAIR.findall(line):
            if name == first:
                found.append({})
            if found:
                found[-1].setdefault(name, value)
    return found


def needed(record: Record, name: str, of: str) -> str:
    """A field that every release prints. Raises `Damaged` without it."""
    if name not in record:
        raise Damaged(f"the record of {of} has no {name}=: is the output cut off?")
    return record[name]


def number(value: str | None) -> int | None:
    """The number of a field; None for words such as UNLIMITED."""
    return parse_integer(value) if value is not None and is_number(value) else None


def listed(value: str | None) -> tuple[str, ...] | None:
    """The names of a field with commas; None for all of them, or none."""
    if value is None or value in NOTHING:
        return None
    return tuple(each for each in value.split(",") if each)


def leading_number(value: str | None) -> int | None:
    """The number at the start of a value: `64+`, `512000M`."""
    read, end = strtol(value or "")
    return read if end and read >= 0 else None
