"""Amounts of memory and disk: `--mem`, `--mem-per-cpu`, `--mem-per-gpu`, `--tmp`, `--mem-update`.

`str_to_mbytes()` of src/common/proc_args.c, Slurm 20.11 to 26.05; `arg_set_mem_update()` of slurm_opt.c 26.05.
"""

import re

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.grammar.numbers import LONG_MAX, strtol
from sbatchlint.slurm.grammar.times import UNLIMITED, minutes
from sbatchlint.slurm.versions import is_release
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

_FACTORS = {"": 1, "m": 1, "g": 1024, "t": 1024 * 1024}


def megabytes(string: str | None) -> int | None:
    """The megabytes of `4000`, `4G`, `4gb`, `1T`; kilobytes are rounded up. None if it is refused.

    A whole number may be followed by K, M, G or T and an optional B, by nothing else.
    """
    if not string:
        return None
    number, end = strtol(string)
    digits = string[:end].strip(" \t\n\v\f\r+-0")
    if not end or number < 0 or (number == LONG_MAX and digits != str(LONG_MAX)):
        return None
    suffix = string[end:].lower()
    if len(suffix) == 2 and suffix[1] == "b" and suffix[0] in "kmgt":
        suffix = suffix[0]
    if suffix == "k":
        return -(-number // 1024)
    factor = _FACTORS.get(suffix)
    return None if factor is None else number * factor


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of an amount by a release; see `grammar.refusals`."""
    if option == "mem-update":
        return _mem_update(value)
    size = megabytes(value)
    # Only 23.02 checks the amount again after multiplying it, in 64 bits.
    if size is not None and not (is_release(version, "23.02") and size % 2**64 > LONG_MAX):
        return None
    return Refusal("memory", f"Invalid --{option} specification", _reason(value), _instead(option, value))


def _mem_update(value: str) -> Refusal | None:
    """The refusal of `MARGIN@DELAY`: whole per cent or megabytes, and a time of at least a minute."""
    margin_text, at, delay_text = value.partition("@")
    if not at:
        return Refusal("memory", "--mem-update requires MARGIN@DELAY format", "the `@` is missing")
    margin, end = strtol(margin_text)
    delay = minutes(delay_text)
    if end == len(margin_text) and 0 < margin < 65536 and delay is not None and delay != UNLIMITED and delay < 65536:
        return None
    reason = "--mem-update takes a whole number, `@` and a time"
    bare = margin_text.strip().rstrip("%")
    instead = f"{bare}@{delay_text}" if bare != margin_text and _mem_update(f"{bare}@{delay_text}") is None else None
    return Refusal("memory", "Invalid --mem-update specification", reason, instead)


def _reason(value: str) -> str:
    if not value.strip():
        return "the amount is missing"
    if re.search(r"[0-9][.,][0-9]", value):
        return "an amount is a whole number"
    if value[:1] == "-":
        return "an amount cannot be negative"
    if not re.match(r"\s*\+?[0-9]", value):
        return "the value is not an amount such as 4G"
    if re.fullmatch(r"\s*\+?[0-9]+[A-Za-z]*\\+\s*", value):
        return "the backslash is not part of an amount"
    return "an amount is one whole number with K, M, G or T"


# Amounts as other programs write them.
_UNIT = Regex(r"([kmgtpe])(?:i?b?|o|io|bytes?)", re.ASCII | re.IGNORECASE)
_ALL = frozenset({"all", "max", "maxmempernode", "full"})
_MEGABYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3, "e": 1024**4}


def _instead(option: str, value: str) -> str | None:
    """The amount plainly meant, in Slurm's units: `1536M` for `1.5G`, `4G` for `4 GiB`; None if unknown."""
    text = value.strip().rstrip(";,\\").rstrip()
    if option == "mem" and text.lower() in _ALL:
        return "0"
    found = re.fullmatch(r"([0-9]*)(?:[.,]([0-9]+))?\s*([a-z]*)", text, re.ASCII | re.IGNORECASE)
    if found is None:
        return None
    whole, fraction, suffix = found.groups()
    if not whole and not fraction or len(whole) > 9 or len(fraction or "") > 9:
        return None
    if "," in text and len(fraction or "") == 3:
        # `4,000M` is 4000 in one country and 4 in another.
        return None
    unit = _UNIT.fullmatch(suffix)
    if unit is None:
        # Megabytes are whole.
        return whole if not suffix and whole and not (fraction or "").strip("0") else None
    letter = unit.group(1).lower()
    if not (fraction or "").strip("0") and whole and letter in "kmgt":
        return f"{whole}{letter.upper()}"
    thousandths = parse_integer((whole or "0") + (fraction or "")) * 10 ** (9 - len(fraction or ""))
    size = thousandths * _MEGABYTES[letter] / 10**9
    amount = -int(-size // 1)
    for mark, factor in (("T", 1024 * 1024), ("G", 1024)):
        if amount and amount % factor == 0:
            return f"{amount // factor}{mark}"
    return f"{amount}M" if amount else None
