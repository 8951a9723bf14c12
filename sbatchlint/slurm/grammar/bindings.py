"""Frequencies and bindings: --cpu-freq, --gpu-freq, --gpu-bind, --tres-bind and --mem-bind.

Follows `cpu_freq_verify_cmdline()` (src/common/cpu_frequency.c), `tres_freq_verify_cmdline()`
(src/common/tres_frequency.c), `tres_bind_verify_cmdline()` (src/common/tres_bind.c) and `slurm_verify_mem_bind()`
(src/common/slurm_resource_info.c), Slurm 21.08 to 26.05.
"""

import re
from collections.abc import Callable

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

_DIGITS = Regex(r"[0-9]+", re.ASCII)
# A number that strtol() consumes completely, with or without the prefix of its base.
_LONG = Regex(r"[ \t\n\v\f\r]*[+-]?[0-9]+", re.ASCII)


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`."""
    return _JUDGES[option](value, version) if option in _JUDGES else None


def _choice(message: str, reason: str, instead: str | None = None) -> Refusal:
    return Refusal("choice", message, reason, instead)


# Named frequencies by their shortest accepted prefix, ranked as Slurm compares them.
_NAMED = (("lo", 1), ("him1", 4), ("highm1", 4), ("hi", 3), ("med", 2))
_GOVERNORS = {
    "co": "conservative",
    "perf": "performance",
    "pow": "powersave",
    "user": "userspace",
    "onde": "ondemand",
    "sche": "schedutil",
}


def governor(string: str) -> str | None:
    """The governor named by a word of --cpu-freq, which may be a prefix; None if there is none."""
    folded = string.lower()
    return next((name for start, name in _GOVERNORS.items() if folded.startswith(start)), None)


def frequency(string: str, version: str) -> int | None:
    """The kilohertz of a number, or for a name its rank, above all numbers; None for anything else.

    Before 23.11 text after the number is ignored: `2.4GHz` is 2 kilohertz.
    """
    folded = string.lower()
    for start, rank in _NAMED:
        if folded.startswith(start):
            return 0x80000000 + rank
    found = _LONG.match(string)
    if found is None or len(found.group()) > 19 or found.end() != len(string) and not is_before(version, "23.11"):
        return None
    return parse_integer(found.group()) % 2**32 or None


def _cpu_freq(value: str, version: str) -> Refusal | None:
    def wrong(reason: str) -> Refusal:
        return _choice("Invalid --cpu-freq argument", reason)

    head, colon, last = value.partition(":")
    if "-" in last:
        return None
    first, dash, second = head.partition("-")
    frequencies = "a number of kilohertz, low, medium, high or highm1"
    low: int | None = None
    if governor(first) is not None:
        if colon:
            return wrong("a governor is named twice")
        if dash:
            return wrong("a governor follows a range: low-high:governor")
    else:
        low = frequency(first, version)
        if low is None:
            kinds = f"a frequency ({frequencies})"
            neither = f"not {kinds}" if dash or colon else f"neither {kinds} nor a governor"
            return wrong(f"`{first}` is {neither}")
    if dash:
        if not colon and not is_before(version, "23.11"):
            return wrong("a range needs a governor unless the site sets CpuFreqDef")
        high = frequency(second, version)
        if high is None:
            return wrong(f"`{second}` is not a frequency ({frequencies})")
        if low is not None and high < low:
            return wrong("the range ends before it begins")
    if colon:
        chosen = governor(last)
        if chosen is None:
            return wrong(f"`{last}` is not a governor")
        if not dash and (chosen != "userspace" or is_before(version, "23.11")):
            return wrong(f"{chosen} needs a range, low-high:{chosen}")
        if dash and chosen == "userspace" and not is_before(version, "23.11"):
            return wrong("userspace takes no range")
    return None


def _gpu_freq(value: str, version: str) -> Refusal | None:
    for number, part in enumerate(value.split(";")):
        name, colon, rest = ("gpu", ":", part) if number == 0 else part.partition(":")
        if number and not part:
            continue
        if not colon or name != "gpu" or not rest or not all(map(_is_gpu_frequency, rest.split(","))):
            reason = "--gpu-freq takes megahertz, low, medium, high or highm1, memory= and one of these, or verbose"
            return _choice(f"Invalid --gpu-freq argument: gpu:{value}", reason)
    return None


def _is_gpu_frequency(item: str) -> bool:
    name, equals, value = item.partition("=")
    if equals and name != "memory":
        return False
    text = value if equals else item
    if text in ("low", "medium", "high", "highm1") or not equals and text in ("verbose", ""):
        return True
    return _DIGITS.fullmatch(text) is not None and parse_integer(text[:20]) < 2**63 - 1


def _gpu_bind(value: str, version: str) -> Refusal | None:
    old = is_before(version, "23.11")
    first, *others = value.split(";" if old else "+")
    taken = _is_binding(first, version)
    for part in others:
        if not part:
            continue
        name, colon, rest = part.partition(":")
        taken = taken and bool(colon) and _is_resource(name, old) and _is_resource_binding(name, rest, version)
    if taken:
        return None
    shown = f"gpu:{value}" if old else value
    reason = "--gpu-bind takes closest, none, single:N, per_task:N, map_gpu:LIST or mask_gpu:LIST"
    if old and re.match(r"(?:verbose,)?(?:map|mask):", value):
        reason = "map: and mask: are new in Slurm 23.11"
    return _choice(f"Invalid --gpu-bind argument: {shown}", reason, _binding_meant(value, version))


def _binding_meant(value: str, version: str) -> str | None:
    """The binding plainly meant, as `per_task:1` by `per-task=1`; None if unknown."""
    flags = re.ASCII | re.IGNORECASE | re.DOTALL
    found = re.fullmatch("(single|per[_-]task|map(?:_gpu)?|mask(?:_gpu)?)[:= ]+([^:= ].*)", value, flags)
    if found is None:
        return None
    kind = found.group(1).lower().replace("-", "_")
    meant = f"{kind}_gpu:" if kind in ("map", "mask") else f"{kind}:"
    meant += found.group(2)
    return meant if _is_binding(meant, version) else None


def _is_resource(name: str, old: bool) -> bool:
    return name == "gpu" if old else name.startswith("gres/")


def _is_resource_binding(name: str, string: str, version: str) -> bool:
    if name not in ("gres/mps", "gres/shard"):
        return _is_binding(string, version)
    bare = string[8:] if string[:8].lower() == "verbose," else string
    return bare[:4].lower() == "none" or bare[:9].lower() == "per_task:" and _is_number(bare[9:])


def _is_binding(string: str, version: str) -> bool:
    bare = string[8:] if string[:8].lower() == "verbose," else string
    folded = bare.lower()
    if is_before(version, "23.02"):
        # One letter sufficed.
        if folded[:1] in ("c", "n"):
            return True
    elif folded.startswith(("closest", "none")):
        return True
    heads = ["map_gpu:", "mask_gpu:"] if is_before(version, "23.11") else ["map_gpu:", "map:", "mask_gpu:", "mask:"]
    for head in heads:
        if folded.startswith(head):
            return _is_list(bare[len(head) :], head.startswith("mask"), head, version)
    for head in ("per_task:", "single:"):
        if folded.startswith(head):
            return _is_number(bare[len(head) :])
    return False


def _is_number(string: str) -> bool:
    """Whether strtol() reads a number that is not negative; a word counts as 0."""
    found = re.match(r"\s*-0*[1-9]", string, re.ASCII)
    return found is None


def _is_list(string: str, hexadecimal: bool, head: str, version: str) -> bool:
    """Whether it is a list of numbers, each with an optional repetition `*N`."""
    if head in ("map:", "mask:") and is_before(version, "26.05"):
        # 23.11 to 25.11 skip as many characters as the longer names of before had.
        string = string[4:]
    for item in string.split(","):
        digits, star, times = item.partition("*")
        if hexadecimal:
            digits = digits.removeprefix("0x")
        pattern = r"[0-9a-fA-F]*" if hexadecimal else r"[0-9]*"
        if not re.fullmatch(pattern, digits, re.ASCII) or not re.fullmatch(pattern, times, re.ASCII):
            return False
        if star and times and not re.fullmatch(r"0[0-7]*|[1-9][0-9]*", times, re.ASCII):
            return False
    return True


def _mem_bind(value: str, version: str) -> Refusal | None:
    # words separated by `;`, and by commas except before a number of a list
    for word in re.split(";|,(?![0-9]|[0-9a-fA-F]*(?:,|$))", value):
        folded = word.lower()
        if folded == "help":
            return _choice("Memory bind options:", "help prints a text and ends sbatch")
        if folded in _MEMORY or folded in ("sort", "nosort") and is_before(version, "25.11"):
            continue
        found = re.match(r"(map|mask)_?mem[^:=]*(?:[:=]([^:=]*))?", word, re.DOTALL | re.IGNORECASE)
        if found is None:
            return _choice(
                f'unrecognized --mem-bind argument "{word}"',
                "--mem-bind takes none, rank, local, map_mem:LIST, mask_mem:LIST, prefer, quiet or verbose",
            )
        name, numbers = found.group(1).lower(), found.group(2)
        if not numbers:
            return _choice(f'missing list for "--mem-bind={name}_mem:<list>"', "the list is missing")
        for item in numbers.split(","):
            message = _listed_fault(item, name) if item else None
            if message is not None:
                return _choice(message, f"`{item}` is not a number in the list of {name}_mem")
    return None


def _listed_fault(item: str, name: str) -> str | None:
    """The message of `_expand_mult()` for an item of a list; None if it is accepted."""
    digits, star, times = (item.removeprefix("0x") if name == "mask" else item).partition("*")
    wrong = re.search(r"[^0-9]", times, re.ASCII)
    if wrong is not None:
        return f"Failed to validate number: *{times}, the offending character is {wrong.group()}"
    if star and not times.strip("0"):
        return f"Invalid {name}_mem multiplier: {times}"
    wrong = re.search(r"[^0-9a-fA-F]" if name == "mask" else r"[^0-9]", digits, re.ASCII)
    return None if wrong is None else f"Failed to validate number: {digits}, the offending character is {wrong.group()}"


_MEMORY = frozenset({"p", "prefer", "q", "quiet", "v", "verbose", "no", "none", "rank", "local"})


def _tres_bind(value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`. slurmctld parses it; the binding of a resource follows its name."""
    for part in value.split("+"):
        name, colon, rest = part.partition(":")
        if not part or colon and name.startswith("gres/") and _is_resource_binding(name, rest, version):
            continue
        message = "Batch job submission failed: Invalid Trackable RESource (TRES) specification"
        reason = "a binding is written gres/NAME:BINDING, several are joined by `+`"
        if name.startswith("gres/") and colon:
            reason = f"`{rest}` is not a binding of {name}"
        return Refusal("choice", message, reason, None, "controller")
    return None


_JUDGES: dict[str, Callable[[str, str], Refusal | None]] = {
    "cpu-freq": _cpu_freq,
    "gpu-bind": _gpu_bind,
    "gpu-freq": _gpu_freq,
    "mem-bind": _mem_bind,
    "tres-bind": _tres_bind,
}
