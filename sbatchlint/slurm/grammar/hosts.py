"""Lists of hosts: `--nodelist`, `--exclude`.

`_hostlist_create_bracketed()` of src/common/hostlist.c, Slurm 20.11 to 26.05, for clusters of one dimension. Which
hosts exist depends on the site.
"""

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.grammar.numbers import strtol
from sbatchlint.slurm.versions import is_before

# The maximum number of hosts of one range, and of the ranges before the last one (`MAX_RANGE`, `MAX_PREFIX_CNT`).
_MAX_RANGE = 64 * 1024

_SEPARATORS = "\t, \n"


class _Bad(Exception):
    """The string is not a list of hosts. `args[0]`: the invalid range, or one of the words below."""


class _Endless(Exception):
    """The list has too many hosts to enumerate, although Slurm accepts it."""


_OPEN = "["
_SUFFIX = "]"
_TOO_MANY = "#"
_REASONS = {
    _OPEN: "a bracket of the list of hosts is not closed",
    _SUFFIX: "nothing may follow a bracket but a comma",
    _TOO_MANY: "these are too many hosts",
}


def hosts(string: str | None, version: str = "26.05") -> tuple[str, ...] | None:
    """The distinct names of a list of hosts such as `node[01-03,7],gpu5`, in order.

    None if it is refused, is the path of a file with the names, is expanded by slurmctld (`{`, 24.11), or has more than
    a million names.
    """
    if string is None or "/" in string or "{" in string:
        return None
    try:
        return tuple(dict.fromkeys(_names(string, version)))
    except (_Bad, _Endless):
        return None


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of a list of hosts by a release; see `grammar.refusals`."""
    if "/" in value or "{" in value:
        return None
    try:
        _names(value, version)
    except _Bad as bad:
        return _refused(option, bad.args[0], value, version)
    except _Endless:
        pass
    return None


def _refused(option: str, part: str, value: str, version: str) -> Refusal:
    reason = _REASONS.get(part) or f"`{part}` is not a range of hosts"
    if option == "exclude" or (part == _OPEN and is_before(version, "23.02")):
        # Before 23.02 sbatch reads the bracket as a part of the name.
        message = "Batch job submission failed: Invalid node name specified"
        return Refusal("count", message, reason, _instead(value, version), "controller")
    message = "memory allocation failure" if is_before(version, "24.05") else "Invalid node list specified"
    return Refusal("count", message, reason, _instead(value, version), "verify")


def _instead(value: str, version: str) -> str | None:
    """The list plainly meant; None if unknown."""
    for meant in (value + "]", value.replace(":", "-"), value.replace("..", "-"), value.replace(",]", "]")):
        if meant != value and "[" in value and hosts(meant, version) is not None:
            return meant
    return None


def _names(string: str, version: str) -> list[str]:
    found: list[str] = []
    for token in _tokens(string):
        prefix, bracket, rest = token.rpartition("[")
        if not bracket:
            found.append(token)
            continue
        inside, closed, suffix = rest.partition("]")
        if not closed:
            if prefix or not is_before(version, "23.02"):
                raise _Bad(_OPEN)
            found.append(rest)
            continue
        if suffix and is_before(version, "23.11"):
            raise _Bad(_SUFFIX)
        numbers = _ranges(inside)
        for start in _prefixes(prefix):
            found.extend(f"{start}{number}{suffix}" for number in numbers)
            if len(found) > 16 * _MAX_RANGE:
                raise _Endless
    return found


def _tokens(string: str) -> list[str]:
    """The items, separated by commas and whitespace outside brackets; an unclosed bracket protects nothing."""
    found: list[str] = []
    at, size = 0, len(string)
    while at < size:
        if string[at] in _SEPARATORS:
            at += 1
            continue
        start = look = at
        while True:
            while at < size and string[at] not in _SEPARATORS:
                at += 1
            opened = string.find("[", look, at)
            closed = string.find("]", look)
            if opened < 0 or closed < opened:
                break
            if closed < at:
                look = closed + 1
            else:
                at = closed
        found.append(string[start:at])
    return found


def _ranges(string: str) -> list[str]:
    """The numbers of `01-03,7`, with leading zeros."""
    found: list[str] = []
    for part in string.split(","):
        low_text, _, high_text = part.partition("-")
        width = len(low_text)
        low, end = strtol(low_text)
        if "x" in part or not end or high_text[:1] == "-":
            raise _Bad(part)
        high = low
        if high_text:
            high, end = strtol(high_text)
            if end != len(high_text) or not end:
                raise _Bad(part)
        elif end != len(low_text):
            raise _Bad(part)
        if low > high or high - low + 1 > _MAX_RANGE:
            raise _Bad(part)
        found.extend(f"{number:0{width}d}" for number in range(low, high + 1))
    return found


def _prefixes(prefix: str) -> list[str]:
    """The names of a prefix that contains ranges itself: `rack[1-4]n`."""
    before, bracket, rest = prefix.rpartition("[")
    inside, closed, after = rest.rpartition("]")
    if not bracket or not closed:
        return [prefix]
    numbers = _ranges(inside)
    if len(numbers) > _MAX_RANGE:
        raise _Bad(_TOO_MANY)
    found: list[str] = []
    for number in numbers:
        found.extend(_prefixes(f"{before}{number}{after}"))
        if len(found) > _MAX_RANGE:
            raise _Bad(_TOO_MANY)
    return found
