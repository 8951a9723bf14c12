"""Names of hosts as one list: `gpu[01-16,20]`."""

from collections import defaultdict
from collections.abc import Iterable

from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

_NUMBERED = Regex(r"(.*?)([0-9]{1,9})")


def folded(names: Iterable[str]) -> str:
    """The list of hosts that has these names, in the order of their prefixes."""
    numbers: dict[tuple[str, int], list[int]] = defaultdict(list)
    single = []
    for name in sorted(set(names)):
        found = _NUMBERED.fullmatch(name)
        if found is None:
            single.append(name)
        else:
            numbers[found[1], len(found[2])].append(parse_integer(found[2]))
    parts = list(single)
    for (prefix, width), values in numbers.items():
        ranges = _ranges(sorted(values), width)
        parts.append(f"{prefix}[{','.join(ranges)}]" if len(values) > 1 else f"{prefix}{ranges[0]}")
    return ",".join(sorted(parts))


def _ranges(values: list[int], width: int) -> list[str]:
    found = []
    start = last = values[0]
    for value in [*values[1:], -1]:
        if value == last + 1:
            last = value
            continue
        found.append(f"{start:0{width}d}" + (f"-{last:0{width}d}" if last > start else ""))
        start = last = value
    return found
