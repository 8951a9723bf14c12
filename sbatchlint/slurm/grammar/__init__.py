"""The grammars of option values, by release: what sbatch and slurmctld accept, and their messages for the rest.

There is a module for each family of options (`refusals`). Most values of real scripts are plain, such as a number or a
time in digits, and are accepted without loading a module.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from sbatchlint.slurm.options import Option
from sbatchlint.slurm.versions import answers, with_releases
from sbatchlint.source.numbers import is_number


class Refusal(NamedTuple):
    """Why a value is refused.

    `kind`: the family: `time`, `memory`, `count`, `array`, `mail-type`, `signal`, `dependency`, `choice`, `resource` or
    `constraint`; `release` for a word that only later releases know.
    `message`: that of Slurm, without `sbatch: error: `. `reason`: what is wrong with the value, as the end of a
    sentence (`a time has no unit`). `instead`: the value plainly meant, None if that is unknown. `stage`: who refuses
    it, and when: `option` (sbatch, at this option), `verify` (sbatch, after reading all options) or `controller`.
    `versions`: the releases that refuse it, None for all of interest.
    """

    kind: str
    message: str
    reason: str
    instead: str | None = None
    stage: str = "option"
    versions: tuple[str, ...] | None = None


def refusals(option: Option, value: str, versions: tuple[str, ...], command: str = "sbatch") -> tuple[Refusal, ...]:
    """The refusals of a value of an option, by release; empty if all accept it.

    `value`: as `command` gets it, without unknown parts. Whatever depends on the configuration of a site is accepted.
    """
    if option.kind not in _FAMILY:
        return ()
    return (_cached if len(value) <= _LONGEST_CACHED else _refusals)(option, value, versions, command)


def _refusals(option: Option, value: str, versions: tuple[str, ...], command: str) -> tuple[Refusal, ...]:
    plain = _PLAIN.get(option.kind)
    if plain is not None and plain(value):
        return ()
    judge = _judge(_FAMILY[option.kind])
    name = option.canonical
    if command == "srun" and name in _OWN_OF_SRUN:
        name = f"srun {name}"
    judged = with_releases(answers(lambda version: judge(name, value, version), versions), versions)
    return tuple(refusal._replace(versions=releases) for refusal, releases in judged if refusal is not None)


_cached = lru_cache(maxsize=1024)(_refusals)  # scripts have the same times and counts
_LONGEST_CACHED = 80

# Options whose values srun and sbatch read differently.
_OWN_OF_SRUN = ("gres-flags",)

Judge = Callable[[str, str, str], "Refusal | None"]

# By kind in the option table, the module of its grammar.
_FAMILY = {
    kind: module
    for module, kinds in {
        "times": ("time", "timestamp"),
        "numbers": (
            "count[@time]", "int>=1", "int>=0", "int", "int 0|1", "uint|TOP", "uint16", "node-count", "S[:C[:T]]"
        ),
        "sizes": ("mem", "MARGIN%@DELAY"),
        "hosts": ("hostlist", "hostlist-or-path"),
        "arrays": ("array-spec",),
        "signals": ("signal-spec",),
        "dependencies": ("dependency",),
        "mail": ("mail-type",),
        "choices": ("enum", "enum-list", "rlimit-list", "dist", "list"),
        "bindings": ("cpu-freq", "gpu-freq", "bind-list", "tres-bind"),
        "resources": ("gpu-spec", "gres", "tres-list", "license-list"),
        "features": ("feature-expr",),
    }.items()
    for kind in kinds
}  # fmt: skip


@cache
def _judge(module: str) -> Judge:
    """The function `refusal(option, value, version)` of a module of this package, which is loaded on first use."""
    from importlib import import_module

    judge: Judge = import_module(f"{__name__}.{module}").refusal
    return judge


def _is_count(value: str) -> bool:
    """Whether every release accepts it as a count: 1 to 999,999,999."""
    return is_number(value) and len(value) < 10 and value.strip("0") != ""


def _is_time(value: str) -> bool:
    """Whether it is a time in digits that every release accepts: `10`, `1:00:00`, `2-12`."""
    days, dash, rest = value.partition("-")
    fields = (rest if dash else days).split(":")
    if dash and not (is_number(days)):
        return False
    return len(fields) <= 3 and all(is_number(field) and len(field) < 6 for field in fields)


def _is_size(value: str) -> bool:
    """Whether it is a plain size: `4000`, `4G`."""
    number = value[:-1] if value[-1:] in ("K", "M", "G", "T", "k", "m", "g", "t") else value
    return is_number(number) and len(number) < 10


def _is_mail(value: str) -> bool:
    return all(word in ("BEGIN", "END", "FAIL", "ALL", "NONE") for word in value.upper().split(","))


def _is_gres(value: str) -> bool:
    """Whether it is a plain list of GRES: `gpu:4`, `gpu:a100:4`."""
    name, colon, number = value.rpartition(":")
    parts = name.split(":", 1)
    return colon != "" and _is_count(number) and parts[0] != "gres" and all(each.isidentifier() for each in parts)


def _is_gpus(value: str) -> bool:
    """Whether it is a plain number of GPUs: `4`, `a100:4`."""
    name, colon, number = value.rpartition(":")
    return _is_count(number) and (not colon or name.isidentifier())


def _is_feature(value: str) -> bool:
    return not any(sign in value for sign in "*&|,()[]")


_PLAIN: dict[str, Callable[[str], bool]] = {
    "time": _is_time,
    "mem": _is_size,
    "int>=1": _is_count,
    "int>=0": _is_count,
    "node-count": _is_count,
    "gpu-spec": _is_gpus,
    "mail-type": _is_mail,
    "gres": _is_gres,
    "feature-expr": _is_feature,
}
