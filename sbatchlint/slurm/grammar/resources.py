"""GRES, GPUs, TRES and licences: `--gres`, `--gpus*`, `--tres-per-task`, `--licenses`.

`_get_next_gres()` (src/common/gres.c, 20.11 to 22.05), `slurm_get_next_tres()` (src/common/slurm_protocol_defs.c, 23.02
to 26.05), `_validate_tres_per_task()` (src/common/slurm_opt.c, 23.02 to 26.05) and `_build_license_list()`
(src/slurmctld/licenses.c). Which resources, types and licences exist depends on the site; their syntax does not.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before, is_release
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

_GRES = "Invalid generic resource (gres) specification"
_TRES = "Invalid Trackable RESource (TRES) specification"
_CONTROLLER = f"Batch job submission failed: {_TRES}"
_NUMBER = Regex(r"([0-9]+)([A-Za-z]*)", re.ASCII)
_POWERS = {letter: power for power, letter in enumerate("kmgtp", 1)}
_LIMIT = 2**64 - 1


class Item(NamedTuple):
    """A requested resource.

    `name`: `gpu`, `cpu`, `license/matlab`, without `gres/`. `type`: '' for any. `count`: 0 is the same as no request.
    `text`: the item as written.
    """

    name: str
    type: str
    count: int  # type: ignore[assignment]
    text: str


class ResourceFault(NamedTuple):
    """Why an item is refused: the reason, the message of Slurm, and the stage (`verify` or `controller`)."""

    reason: str
    message: str
    stage: str = "verify"


def count(string: str) -> int | None:
    """A number with its suffix: k, m, g, t and p are powers of 1024, kb, mb, … of 1000; None for anything else."""
    found = _NUMBER.fullmatch(string)
    if found is None or len(found.group(1)) > 20 or parse_integer(found.group(1)) >= _LIMIT:
        return None
    number, suffix = parse_integer(found.group(1)), found.group(2).lower()
    if not suffix:
        return number
    power = _POWERS.get(suffix[0])
    if power is None or suffix[1:] not in ("", "b", "ib"):
        return None
    factor: int = (1000 if suffix[1:] == "b" else 1024) ** power
    return number * factor % 2**64


def gres_items(string: str, version: str) -> tuple[Item, ...] | ResourceFault:
    """The items of `--gres`; () for `none`. `help` and `list`, for which sbatch prints a text and exits, are faults.

    A GPU type in place of a name (`a100:4`) cannot be distinguished from a GRES of that name.
    """
    folded = string.lower()
    if folded == "none":
        return ()
    if folded in ("help", "list"):
        return ResourceFault(f"{folded} prints a text and ends sbatch", "Valid gres options are:")
    prefix = "gres:" if is_before(version, "23.11") else "gres/"
    return _collected(gres_item(item.removeprefix(prefix), version) for item in string.split(","))


def gpu_list(string: str, version: str) -> tuple[Item, ...] | ResourceFault:
    """The items of `--gpus` or `--gpus-per-*`: `N`, `TYPE:N` or `TYPE`, all named `gpu`; `gpu:4` has the type gpu."""
    read = _collected(gres_item(f"gpu:{item}", version) for item in string.split(",") if item)
    return read if isinstance(read, ResourceFault) else tuple([item._replace(text=item.text[4:]) for item in read])


def _collected(reads: Iterable[Item | ResourceFault | None]) -> tuple[Item, ...] | ResourceFault:
    """The items, or the first fault; those of sbatch come before those of slurmctld."""
    found: list[Item] = []
    late: ResourceFault | None = None
    for read in reads:
        if isinstance(read, Item):
            found.append(read)
        elif read is not None:
            if read.stage == "verify":
                return read
            late = late or read
    return tuple(found) if late is None else late


def gres_item(string: str, version: str) -> Item | ResourceFault | None:
    """The item `NAME`, `NAME:COUNT`, `NAME:TYPE` or `NAME:TYPE:COUNT`, since 23.11 also with `=` before the count.

    None for an item that is skipped.
    """
    if is_before(version, "23.11"):
        return _old_item(string, _GRES if is_before(version, "23.02") else _TRES)
    if not string:
        return None
    head, sign, last = string.rpartition("=" if "=" in string else ":")
    number = count(last)
    if not sign:
        if number is None and "/" in last and last != "gres/":
            return ResourceFault("the type comes after a colon, NAME:TYPE", _GRES)
        if number is None:
            return Item(last, "", 1, string)
        # sbatch skips a bare number; slurmctld finds no name in it.
        return ResourceFault("the name is missing", _CONTROLLER, "controller") if number else None
    if not last:
        return ResourceFault("the number is missing", _TRES)
    name, second, kind = head.partition(":")
    if number is None:
        if second or sign == "=":
            return ResourceFault(f"`{last}` is not a number", _TRES)
        number, kind = 1, last
    if not name:
        return ResourceFault("the name is missing", _CONTROLLER, "controller") if number else None
    if name == "gres":
        return ResourceFault("the prefix is `gres/` since Slurm 23.11", _GRES)
    if "/" in name and number:
        return ResourceFault("the type comes after a colon, NAME:TYPE", _GRES)
    return Item(name, kind, number, string)


def _old_item(string: str, message: str) -> Item | ResourceFault:
    """The item before 23.11, with colons only. slurmctld parses the text after the last one again, more strictly."""
    if not string:
        return ResourceFault("an item is empty", _CONTROLLER, "controller")
    name, colon, rest = string.partition(":")
    asks = not colon or _old_count(rest.rpartition(":")[2]) != 0
    if asks and (not name or not name.strip("0123456789") or "=" in name or "/" in name):
        reason = "the name is missing"
        if "=" in name or "/" in name:
            reason = "the number needs a colon before it" if "=" in name else "the prefix `gres/` is new in Slurm 23.11"
        return ResourceFault(reason, _GRES)
    if not colon:
        return Item(name, "", 1, string)
    kind, second, last = rest.partition(":")
    if second:
        if not kind or not last:
            what = "the type is missing" if not kind else "the number is missing"
            return ResourceFault(what, _GRES)
        number = _old_count(last)
        if number is None:
            return ResourceFault(f"`{last}` is not a number", message)
        return Item(name, kind, number, string)
    if not rest:
        return ResourceFault("the number is missing", message)
    number = _old_count(rest)
    if number is None and is_number(rest[0]):
        return ResourceFault(f"`{rest}` is not a number", _CONTROLLER, "controller")
    return Item(name, rest, 1, string) if number is None else Item(name, "", number, string)


def _old_count(string: str) -> int | None:
    """strtoull() before 23.11: signs and whitespace before the number, and no digits before a suffix (`k` is 0)."""
    bare = string.lstrip(" \t\n").removeprefix("+")
    if bare[:1] == "-" and is_number(bare[1:]):
        return -parse_integer(bare[1:]) % 2**64 if parse_integer(bare[1:]) != 1 else None
    if bare[:1].isalpha():
        return 0 if count("0" + string) == 0 else None
    return count(bare) if bare else None


# What cannot be requested per task, in the order in which sbatch checks.
FORBIDDEN = ("mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb")


def tres_items(string: str, version: str) -> tuple[Item, ...] | ResourceFault:
    """The items of `--tres-per-task`: `cpu=4`, `gres/gpu=1`, `gres/gpu:a100=1`, `license/x=1`.

    In 23.02 they are written with colons only: `cpu:4`, `gres:gpu:1`.
    """
    folded = string.lower()
    old = is_before(version, "23.11")
    for name in FORBIDDEN:
        if f",{name}:" in folded if old else f",{name}" in folded or folded.startswith(name):
            return ResourceFault(f"{name} cannot be requested per task", f"Invalid TRES for --tres-per-task: {name}")
    reads = ((item, (_old_tres if old else _tres)(item, version)) for item in string.split(",") if item)
    return _collected(read._replace(text=item) if isinstance(read, Item) else read for item, read in reads)


def _tres(item: str, version: str) -> Item | ResourceFault | None:
    """The item `TYPE=N` or `TYPE/NAME=N`, also with colons; None for one that is skipped."""
    found = re.match(r"(?:(gres|license)[/:])?", item)
    kind = found.group(1) if found is not None else None
    if kind == "gres":
        return gres_item(item[5:], version)
    name, sign, last = item.partition("=") if "=" in item else item.partition(":")
    if name == "cpu":
        number = _leading(last)
        if not 0 < number < 2**31 and not is_release(version, "23.11"):
            return ResourceFault("cpu needs a number above 0", f"Invalid --tres-per-task=cpu={number}")
        if sign and count(last) is None:
            return ResourceFault(f"`{last}` is not a number", _CONTROLLER, "controller")
    elif name.partition("/")[0] not in ("license", "ic"):
        # A bare name requests nothing, and so does a count of 0; `x/y` requests one.
        if not sign:
            name, slash, last = item.partition("/")
            if not slash or not last or count(last) == 0:
                return None
        if count(last) == 0:
            return None
        reason = "a GRES is written gres/NAME=N" if name else "the name is missing"
        return ResourceFault(reason, _CONTROLLER, "controller")
    return Item(re.sub(r"^license:", "license/", name), "", count(last) or 1, item)


def _old_tres(item: str, version: str) -> Item | ResourceFault | None:
    """The item in 23.02, with colons only; None for one that is skipped."""
    kind, sign, rest = item.partition(":")
    if kind == "gres" and sign:
        return gres_item(rest, version)
    if not sign or kind not in (*FORBIDDEN, "cpu", "license", "ic"):
        return ResourceFault("Slurm before 23.11 wants cpu:N or gres:NAME:N", _CONTROLLER, "controller")
    if kind == "cpu" and not 0 < _leading(rest) < 2**31:
        return ResourceFault("cpu needs a number above 0", f"Invalid --tres-per-task=cpu:{_leading(rest)}")
    name, _, last = rest.rpartition(":")
    return Item(f"{kind}/{name}" if name else kind, "", count(last) or 1, item)


def _leading(string: str) -> int:
    """The number at the beginning, as read by atoi()."""
    digits = re.match(r"\s*([+-]?[0-9]{1,18})", string, re.ASCII)
    return parse_integer(digits.group(1)) if digits is not None else 0


def licences(string: str, version: str) -> tuple[Item, ...] | ResourceFault:
    """The items of `--licenses`: `NAME`, `NAME:COUNT`, since 23.11 `NAME=COUNT`; since 25.05 also separated by `|`."""
    message = "Batch job submission failed: Invalid license specification"
    alternatives = "|" in string and not is_before(version, "25.05")
    if alternatives and re.search(r"[,;(]", string):
        return ResourceFault("`|` cannot be mixed with `,`", message, "controller")
    found: list[Item] = []
    for item in re.split(r"[|]" if alternatives else r"[,;]", string):
        if not item:
            continue
        if "(" in item and not is_before(version, "25.05"):
            # A hierarchical resource and its nodes.
            return ()
        for sign, since in (("=", "23.11"), ("|", "25.05"), ("(", "25.05")):
            if sign in item and is_before(version, since):
                return ResourceFault(f"`{sign}` is new in Slurm {since}", message, "controller")
        parts = re.split(r"[:=]", item, maxsplit=1)
        if re.search(r"\s", parts[0]):
            return ResourceFault("a space cannot be part of a name", message, "controller")
        number = 1
        if len(parts) > 1:
            digits = re.match(r"\s*([+-]?[0-9]+)", parts[1], re.ASCII)
            rest = parts[1] if digits is None else parts[1][digits.end() :]
            if digits is None and parts[1] and not is_before(version, "25.11"):
                # It may be a variable of a hierarchical resource.
                return ()
            number = parse_integer(digits.group(1)) if digits is not None else 0
            if rest or number < 0 or digits is None and not is_before(version, "25.11"):
                return ResourceFault(f"`{parts[1]}` is not a number", message, "controller")
        found.append(Item(parts[0], "", number, item))
    return tuple(found)


_MEANT = Regex(r"(?:gres[:/])?([A-Za-z]\w*)(?::([A-Za-z][\w.-]*))?[:=]+([0-9]+)", re.ASCII)


def corrected(option: str, value: str, version: str) -> str | None:
    """The value plainly meant by one that is refused; None if unknown."""
    found: list[str] = []
    for item in value.split(","):
        match = _MEANT.fullmatch(item.strip())
        if match is None:
            if item:
                return None
            continue
        name, kind, number = match.groups()
        if option == "gres":
            found.append(":".join(part for part in (name, kind, number) if part))
        elif option == "tres-per-task" and name in ("cpu", "gpu", "shard", "mps"):
            old = is_before(version, "23.11")
            head = name if name == "cpu" else f"gres:{name}" if old else f"gres/{name}"
            found.append(head + (f":{kind}" if kind else "") + (":" if old else "=") + number)
        elif option.startswith("gpus") and not kind:
            found.append(f"{name}:{number}")
        else:
            return None
    fixed = ",".join(found)
    return fixed if fixed and fixed != value else None


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`."""
    if option == "gres":
        read = gres_items(value, version)
    elif option == "tres-per-task":
        read = tres_items(value, version)
    elif option == "licenses":
        read = licences(value, version)
    elif option == "gpus-per-task" and not is_before(version, "23.11"):
        read = _by_task(value) if not is_before(version, "24.05") else _first_by_task(value, version)
    elif option.startswith("gpus"):
        read = gpu_list(value, version)
    else:
        return None
    if not isinstance(read, ResourceFault):
        return None
    return Refusal("resource", read.message, read.reason, corrected(option, value, version), read.stage)


def _first_by_task(value: str, version: str) -> tuple[Item, ...] | ResourceFault:
    """`--gpus-per-task` in 23.11: sbatch prepends `gres/gpu:` to the first item only; a type is not a TRES."""
    first, *others = value.split(",")
    for name in FORBIDDEN:
        if f",{name}" in value.lower():
            return ResourceFault(f"`{name}` is read as a TRES", f"Invalid TRES for --tres-per-task: {name}")
    if not first:
        return ResourceFault("the number is missing", _TRES)
    read = gpu_list(first, version)
    if isinstance(read, ResourceFault) or read and not read[0].count:
        return read
    for item in others:
        found = re.search("[/:=]", item)
        kind = item[: found.start()] if found is not None else ""
        if found is not None and kind not in _NAMED and count(item[found.end() :]) != 0:
            return ResourceFault("Slurm before 24.05 accepts only one type", _CONTROLLER, "controller")
    return read


# The TRES of every site.
_NAMED = frozenset(("cpu", "mem", "energy", "node", "billing", "vmem", "pages", "gres"))


def _by_task(value: str) -> tuple[Item, ...] | ResourceFault:
    """`--gpus-per-task` since 24.05: sbatch rewrites it, and a type without a number requests nothing."""
    for item in value.split(","):
        number = item.rpartition(":")[2]
        if re.match(r"\s*-0*[1-9]", number, re.ASCII):
            return ResourceFault(f"`{number}` is not a number", _TRES)
    return ()
