"""Counts: `-n`, `-c`, `-N`, `-B` and similar options.

`parse_int()`, `parse_uint16()`, `verify_node_count()`, `verify_socket_core_thread_count()` and `bit_unfmt()` of
src/common/proc_args.c and bitstring.c, Slurm 20.11 to 26.05; the setters of src/common/slurm_opt.c.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_NUMBER = Regex(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", re.ASCII)

# The characters of C's isspace().
SPACES = " \t\n\v\f\r"

# The limit of numbers in a list of node counts since 24.11 (`MAX_JOB_SIZE_BITMAP`, slurm/slurm.h), exclusive.
_LISTED_NODES = 16384

_NO_SUCH_COUNT = "Batch job submission failed: Node count specification invalid"


def strtol(string: str, start: int = 0) -> tuple[int, int]:
    """The number at an offset, and the offset of its end, as read by C's strtol() with base 10.

    Without a number the end is `start`. A number too large for 64 bits becomes the largest or smallest one.
    """
    found = _NUMBER.match(string, start)
    if found is None:
        return 0, start
    digits = found.group(1)
    if len(digits) > 40 and digits.lstrip("+-0") != "":
        stripped = digits.lstrip("+-0")
        digits = ("-" if digits[0] == "-" else "") + stripped[:40]
    number = parse_integer(digits)
    return max(-LONG_MAX - 1, min(LONG_MAX, number)), found.end()


def int32(number: int) -> int:
    """A number truncated to a C int."""
    return (number + 2**31) % 2**32 - 2**31


@lru_cache(maxsize=1024)  # scripts have the same few numbers
def whole(string: str | None) -> int | None:
    """A count that parse_int() accepts in every release: 0 to 2³¹ - 2; None for anything else.

    Whitespace and a sign may precede it, whitespace must not follow it.
    """
    if not string:
        return None
    number, end = strtol(string)
    return number if 0 < end == len(string) and 0 <= number < INT_MAX else None


class NodeCount(NamedTuple):
    """A number of nodes from `minimum` to `maximum`; `sizes`: the only numbers accepted, () for all between these.

    A `maximum` of 0 means none (`2-0`).
    """

    minimum: int
    maximum: int
    sizes: tuple[int, ...] = ()


def node_count(string: str | None, version: str = "26.05") -> NodeCount | None:
    """The parsed value of `--nodes`: `2`, `2-4`, `-4`, `1k`; since 23.02 `2,4,8` and `2-8:2`. None if it is refused.

    The end of `a-b:step` is always excluded: `4-8:2` is 4 or 6.
    """
    if string is None:
        return None
    read = _read_nodes(string, version)
    return read if isinstance(read, NodeCount) else None


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of a count by a release; see `grammar.refusals`."""
    judge = _JUDGES.get(option)
    if judge is not None:
        return judge(value, version)
    kinds = _COUNTED.get(option)
    return None if kinds is None else _counted(option, value, version, *kinds)


def _no(message: str, reason: str, instead: str | None = None, stage: str = "option") -> Refusal:
    return Refusal("count", message, reason, instead, stage)


# By option, its name in the messages of parse_int(), and whether 0 is too small. The option that must be a number below
# 1 has a function of its own.
_COUNTED = {
    name: (f"--{name}", True)
    for name in (
        "cores-per-socket", "cpus-per-gpu", "cpus-per-task", "mincpus", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
        "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "sockets-per-node", "thread-spec",
        "threads-per-core",
    )
}  # fmt: skip
_COUNTED["core-spec"] = ("--core-spec", False)
_COUNTED["resv-ports"] = ("--resv-port", False)


def _counted(option: str, value: str, version: str, name: str, positive: bool) -> Refusal | None:
    """parse_int(), and for two options a later check of the number, which was truncated to 32 bits before 23.02."""
    number, end = strtol(value)
    at_least = "1" if positive else "0"
    if end != len(value) or number < 0 or (positive and number == 0):
        if end == len(value) and value.strip():
            reason = f"--{option} is at least {at_least}"
        elif not value.strip():
            reason = f"--{option} takes a number"
        else:
            reason = f"--{option} takes only a whole number"
        return _no(f'Invalid numeric value "{value}" for {name}.', reason, _plain(value, positive))
    large = "the number is too large"
    if is_before(version, "23.02"):
        if number == LONG_MAX:
            return _no(f"Numeric argument ({number}) to big for {name}.", large)
        if option == "ntasks" and int32(number) < 0:
            return _no(f"invalid number of tasks (-n {int32(number)})", large, stage="verify")
        if option == "cpus-per-task" and int32(number) <= 0:
            return _no(f"invalid number of cpus per task (-c {int32(number)})", large, stage="verify")
        return None
    if number >= INT_MAX:
        size = "to big" if is_before(version, "23.11") else "too large"
        return _no(f"Numeric argument ({number}) {size} for {name}.", large)
    return None


def _plain(value: str, positive: bool) -> str | None:
    """The count plainly meant, as 4 by `4.0`, `4;`, `4 `; None if unknown."""
    found = re.fullmatch(r"\s*([0-9]+)(?:\.0+)?\s*[;,]?\s*", value, re.ASCII)
    if found is None or found.group(1) == value or len(found.group(1)) > 9:
        return None
    return None if positive and not found.group(1).strip("0") else found.group(1)


def _switches(value: str, version: str) -> Refusal | None:
    # The time after the `@` is never checked: an invalid one means the longest wait.
    return _counted("switches", value.partition("@")[0], version, "--switches", True)


def _wait_all_nodes(value: str, version: str) -> Refusal | None:
    refused = _counted("wait-all-nodes", value, version, "--wait-all-nodes", False)
    if refused is not None:
        return refused._replace(instead=None)
    if strtol(value)[0] % 65536 > 1:
        return _no("Invalid --wait-all-nodes specification", "--wait-all-nodes takes 0 or 1")
    return None


def _uint16(value: str) -> int | None:
    """parse_uint16(); the empty value is 0."""
    number, end = strtol(value)
    return number if end == len(value) and 0 <= number < 65534 else None


def _oom_kill_step(value: str, version: str) -> Refusal | None:
    number = _uint16(value)
    if number is not None and number <= 1:
        return None
    return _no("Invalid --oom-kill-step specification", "--oom-kill-step takes 0 or 1")


def _segment(value: str, version: str) -> Refusal | None:
    if _uint16(value) is not None:
        return None
    reason = "--segment takes a whole number from 0 to 65533"
    return _no("Invalid --segment specification", reason, _plain(value, False))


def _nice(value: str, version: str) -> Refusal | None:
    # A string that is not a number is 0, and llabs() does not change the smallest number.
    number, _ = strtol(value)
    if abs(number) <= INT_MAX - 2 or number == -LONG_MAX - 1:
        return None
    message = "Invalid --nice value, out of range (+/- 2147483645)"
    return _no(message, "the number is out of range")


def _priority(value: str, version: str) -> Refusal | None:
    if value.upper() == "TOP":
        return None
    number, _ = strtol(value)
    if number < 0:
        return _no("Priority must be >= 0", "a priority cannot be negative")
    if number >= 2**32 - 2:
        return _no("Priority must be < 4294967294", "the number is too large")
    return None


_PLACES = ("first", "second", "third")


def _extra_node_info(value: str, version: str) -> Refusal | None:
    """The refusal of `-B sockets[:cores[:threads]]`, each a number, a range or `*`; a fourth part is ignored."""
    for place, part in zip(_PLACES, value.split(":"), strict=False):
        refused = _resource_range(part, f"{place} arg of -B", version)
        if refused is not None:
            return refused
    return None


def _resource_range(part: str, what: str, version: str) -> Refusal | None:
    """get_resource_arg_range(). Only the end of a range must be at least 1."""
    if not part or part[0] == "*":
        return None
    at, least = 0, 0
    while True:
        number, end = strtol(part, at)
        letter = part[end : end + 1].lower()
        if letter in ("k", "m") and letter:
            number *= 1024 if letter == "k" else 1024 * 1024
            end += 1
        if part[end : end + 1] not in ("", "-") or number < least:
            reason = "-B takes whole numbers, sockets:cores:threads"
            return _no(f'Invalid numeric value "{part}" for {what}.', reason)
        if number > INT_MAX:
            size = "to big" if is_before(version, "23.11") else "too large"
            return _no(f"Numeric argument ({number}) {size} for {what}.", "the number is too large")
        if end == len(part) or least:
            return None
        at, least = end + 1, 1


def _nodes(value: str, version: str) -> Refusal | None:
    read = _read_nodes(value, version)
    if isinstance(read, Refusal):
        meant = read.instead
        return read if meant is None or _nodes(meant, version) is None else read._replace(instead=None)
    if read.minimum == 0 and read.maximum == 0:
        return _no(_NO_SUCH_COUNT, "a job needs at least one node", stage="controller")
    return None


def _read_nodes(string: str, version: str) -> NodeCount | Refusal:
    """verify_node_count(), and the later refusal of a list without any size."""
    if ("," in string or ":" in string) and not is_before(version, "23.02"):
        return _read_sizes(string, version)
    low_text, dash, high_text = string.partition("-")
    low, rest = _nodes_number(low_text, version)
    if rest.strip(SPACES) or (low < 0 and not dash):
        return _not_nodes(low_text, string, version)
    if not dash:
        return NodeCount(low, low)
    low = 1 if low < 0 else low
    high, rest = _nodes_number(high_text, version)
    if rest.strip(SPACES):
        return _not_nodes(high_text, string, version)
    if high and high < low:
        message = f"Maximum node count {high} is less than minimum node count {low}"
        if not high_text.strip():
            return _no(message, "the number after `-` is missing")
        swapped = f"{high_text.strip()}-{low_text.strip()}"
        return _no(message, "the smaller number comes first", swapped if high > 0 else None)
    return NodeCount(low, high)


def _nodes_number(string: str, version: str) -> tuple[int, str]:
    """str_to_nodes(): the number, -1 if there is none, and the rest of the string."""
    number, end = strtol(string)
    if not end:
        return -1, string
    if string[end : end + 1] in ("k", "K"):
        number *= 1024
        end += 1
    if string[end : end + 1] in ("m", "M"):
        number *= 1024 * 1024
        end += 1
    if not 0 <= number <= INT_MAX:
        # Before 23.11 truncated to 32 bits, so that some numbers that are too large become smaller ones.
        number = int32(number) if is_before(version, "23.11") else -1
    return number, string[end:]


def _not_nodes(part: str, string: str, version: str) -> Refusal:
    reason = "--nodes takes a whole number, or a range such as 2-4"
    if ("," in string or ":" in string) and is_before(version, "23.02"):
        listed = _read_nodes(string, "23.02")
        if isinstance(listed, NodeCount):
            reason = "lists of node counts are new in Slurm 23.02"
    instead = _plain(string, True)
    span = re.fullmatch(r"([0-9]+)\s*(?:\.\.+|to|~)\s*([0-9]+)", string.strip(), re.ASCII)
    if span is not None and parse_integer(span.group(1)[:18]) <= parse_integer(span.group(2)[:18]):
        instead = f"{span.group(1)}-{span.group(2)}"
    return _no(f'"{part}" is not a valid node count', reason, instead)


def _read_sizes(string: str, version: str) -> NodeCount | Refusal:
    """The sizes of a list: each word must begin with a number; then bit_unfmt() parses the whole string differently."""
    largest = 0
    for word in re.split("[,:-]", string):
        if not word:
            continue
        number, end = strtol(word)
        if end != len(word) or (not is_before(version, "24.11") and number >= _LISTED_NODES):
            reason = "a list of node counts takes whole numbers"
            if end == len(word):
                reason = "a list of node counts takes numbers below 16384"
            return _no(f'"{word}" is not a valid node count', reason)
        largest = max(largest, number)
    sizes = _bit_list(string) if ":" not in string else _bit_steps(string)
    if sizes is None or any(size > largest or size < 0 for pair in sizes for size in pair):
        reason = "a list of node counts is numbers and ranges, or one range with a step such as 2-8:2"
        return _no(f'"{string}" is not a valid node count', reason)
    chosen = sorted({size for low, high in sizes for size in range(low, min(high, low + 2**16) + 1)})
    if not chosen:
        message = "invalid number of nodes (-N -1--1)"
        return _no(message, "the list holds no number", stage="verify")
    return NodeCount(chosen[0], chosen[-1], tuple(chosen))


def _bit_list(string: str) -> list[tuple[int, int]] | None:
    """bitfmt2int() without steps: characters other than digits, `-` and `,` are skipped, and an empty item is 0."""
    if string[:1] == ",":
        return []
    found: list[tuple[int, int]] = []
    for item in string.split(","):
        numbers = [parse_integer("".join(re.findall("[0-9]", part))[:20] or "0") for part in item.split("-")]
        low = numbers[-2] if len(numbers) > 1 else numbers[-1]
        found.append((int32(low), int32(numbers[-1])))
    return found


def _bit_steps(string: str) -> list[tuple[int, int]] | None:
    """bitfmt2int() with a step: only one range, whose end is excluded."""
    first, end = strtol(string)
    if string[end : end + 1] != "-":
        return None
    last, end = strtol(string, end + 1)
    if string[end : end + 1] != ":":
        return None
    step, end = strtol(string, end + 1)
    if end != len(string) or last < first or step <= 0:
        return None
    return [(size, size) for size in range(first, min(last, first + 2**16 * step), step)]


_JUDGES = {
    "extra-node-info": _extra_node_info,
    "nice": _nice,
    "nodes": _nodes,
    "oom-kill-step": _oom_kill_step,
    "priority": _priority,
    "segment": _segment,
    "switches": _switches,
    "wait-all-nodes": _wait_all_nodes,
}
