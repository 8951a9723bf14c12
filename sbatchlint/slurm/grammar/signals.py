"""`--signal=[R|B:]signal[@seconds]`.

`get_signal_opts()` and `sig_name2num()` of src/common/proc_args.c, Slurm 20.11 to 26.05.
"""

import re
from typing import NamedTuple

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.grammar.numbers import SPACES, int32, strtol
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

_OLD = "HUP INT QUIT ABRT KILL ALRM TERM USR1 USR2 URG CONT STOP TSTP TTIN TTOU XCPU"
_NUMBERS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15,
    "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24,
}  # fmt: skip
# Signals of Linux without a name in Slurm.
_NAMELESS = {
    "ILL": 4, "TRAP": 5, "IOT": 6, "BUS": 7, "FPE": 8, "SEGV": 11, "STKFLT": 16, "XFSZ": 25, "VTALRM": 26, "PROF": 27,
    "WINCH": 28, "IO": 29, "POLL": 29, "PWR": 30, "SYS": 31,
}  # fmt: skip
_OLD_NAMES = frozenset(_OLD.split())
_NAMES_BY_NUMBER = {number: name for name, number in _NUMBERS.items()}

# The default of seconds before the end of the job.
DEFAULT_SECONDS = 60


class EarlySignal(NamedTuple):
    """The signal before the end of a job: `name` without SIG, the number in digits without a name; `seconds`.

    `batch`: only to the batch shell, otherwise only to the steps. `reservation`: also at the end of a reservation.
    """

    name: str
    seconds: int
    batch: bool
    reservation: bool


def names(version: str) -> frozenset[str]:
    """The names of signals in a release, without SIG."""
    return _OLD_NAMES if is_before(version, "23.11") else frozenset(_NUMBERS)


def early_signal(string: str | None, version: str = "26.05") -> EarlySignal | None:
    """The parsed value of `--signal`; None if it is refused."""
    if string is None:
        return None
    at = 0
    batch = reservation = False
    for letter in "RBR":
        if string[at : at + 1].upper() == letter:
            batch = batch or letter == "B"
            reservation = reservation or letter == "R"
            at += 1
    if string[at : at + 1] == ":":
        at += 1
    shown, sign, delay = string[at:].partition("@")
    number, end = strtol(shown)
    if end:
        number = 0 if shown[end:].strip(SPACES) else int32(number) % 65536
        name = _NAMES_BY_NUMBER.get(number, str(number))
    else:
        name = shown.strip(SPACES).upper()
        name = name[3:] if name[:3] == "SIG" else name
        number = _NUMBERS[name] if name in names(version) and shown.isascii() else 0
    if not number:
        return None
    if not sign:
        return EarlySignal(name, DEFAULT_SECONDS, batch, reservation)
    seconds, end = strtol(delay)
    if end != len(delay) or not 0 <= seconds < 65536:
        return None
    return EarlySignal(name, seconds, batch, reservation)


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of a value of `--signal` by a release; see `grammar.refusals`."""
    if early_signal(value, version) is not None:
        return None
    reason, instead = _cause(value, version)
    return Refusal("signal", "Invalid --signal specification", reason, instead)


_SHAPE = Regex(
    r"\s*(?P<flags>[RB]{1,3}(?:\s*:\s*|(?=\s*(?:SIG|[0-9]))|\s+))?(?P<more>[RB]\s*:\s*)?"
    r"(?P<signal>[a-z]+[12]?|[0-9]+)\s*(?:(?P<sign>[@:=,+-]|\s)\s*(?P<delay>[0-9:]+)\s*(?P<unit>[a-z]*))?\s*[;,]?\s*",
    re.ASCII | re.IGNORECASE,
)
_UNITS = {"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60}
_UNITS |= {"minutes": 60, "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600}


def _cause(value: str, version: str) -> tuple[str, str | None]:
    """What is wrong with a refused value, and the one plainly meant, None if unknown."""
    found = _SHAPE.fullmatch(value) if len(value) < 100 else None
    form = "the form is B:SIGNAL@SECONDS, such as B:USR1@60"
    if found is None:
        return form, None
    flags = "".join(dict.fromkeys(re.findall("[RB]", f"{found['flags'] or ''}{found['more'] or ''}".upper())))
    head = f"{flags}:" if flags else ""
    signal = found["signal"].upper()
    name = signal[3:] if signal[:3] == "SIG" else signal
    reason = form
    if is_number(signal):
        if not parse_integer(signal[:9]) % 65536:
            return "there is no signal 0; name one, such as USR1", None
    elif name not in names(version):
        number = _NAMELESS.get(name, _NUMBERS.get(name))
        reason = f"Slurm does not know the signal {signal}"
        if number is None:
            return reason, None
        reason = f"Slurm knows the signal {signal} by its number only"
        signal = str(number)
    if found["delay"] is None:
        return reason, _taken(f"{head}{signal}", version)
    seconds = _seconds(found["delay"], found["unit"].lower())
    if seconds is None:
        return form, None
    if reason == form and found["sign"] != "@":
        reason = "the seconds come after an `@`"
    elif reason == form and (found["unit"] or ":" in found["delay"]):
        reason = "the time before the end is in seconds, without a unit"
    elif reason == form and seconds > 65535:
        reason = "the time before the end is at most 65535 seconds"
    return reason, _taken(f"{head}{signal}@{seconds}", version)


def _seconds(delay: str, unit: str) -> int | None:
    fields = delay.split(":")
    if unit not in _UNITS or not all(fields) or len(fields) > 3 or len(delay) > 12 or (unit and len(fields) > 1):
        return None
    total = 0
    for field in fields:
        total = total * 60 + parse_integer(field)
    return total * _UNITS[unit]


def _taken(value: str, version: str) -> str | None:
    return value if early_signal(value, version) is not None else None
