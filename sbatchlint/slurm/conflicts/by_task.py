"""TresPerTask: how sbatch combines `--tres-per-task`, `--gpus-per-task` and `--cpus-per-task`.

Since 23.11 it writes them into one string (`_validate_tres_per_task()`, src/common/slurm_opt.c), which slurmctld
parses (`slurm_get_next_tres()`, src/common/slurm_protocol_defs.c) and scontrol shows; read in 23.11 to 26.05.
"""

import re
from collections.abc import Mapping

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.grammar.numbers import strtol
from sbatchlint.slurm.grammar.resources import Item, ResourceFault, gres_item
from sbatchlint.slurm.versions import is_before


class UnknownValue(Exception):
    """A value that affects the result is unknown, or not accepted by Slurm."""


def task_text(values: Mapping[str, str | None], version: str) -> str:
    """`TresPerTask` of a release since 23.11: `cpu=4,gres/gpu:a100=1`; '' without any. Raises UnknownValue."""
    return _written(values, version)[0]


def task_fault(values: Mapping[str, str | None], version: str) -> str | None:
    """The message of sbatch if it cannot add `--gpus-per-task` to TresPerTask; None if it can. Raises UnknownValue."""
    return _written(values, version)[1]


def _written(values: Mapping[str, str | None], version: str) -> tuple[str, str | None]:
    given = {name: values[name] for name in ("tres-per-task", "gpus-per-task", "cpus-per-task") if name in values}
    if any(value is None or UNKNOWN in value for value in given.values()):
        raise UnknownValue
    text = re.sub(r"(license|gres):", r"\1/", given.get("tres-per-task") or "")
    gpus = given.get("gpus-per-task") or ""
    fault: str | None = None
    sign = "="
    if is_before(version, "24.05"):
        sign = ":"
        text = f"gres/gpu:{gpus}" if "gpus-per-task" in given else text
    else:
        for name, number in _gpus(gpus, version):
            at = text.lower().find(name.lower())
            if at >= 0:
                # An existing entry must have a number.
                before = strtol(text, at + len(name) + 1)[0]
                fault = fault or (None if before > 0 else f"Invalid --tres-per-task={name}={before}")
            elif number:
                text = _joined(f"{name}={number}", text)
    cpus = given.get("cpus-per-task")
    if cpus is not None and ("cpu:" if sign == ":" else "cpu") not in text.lower():
        number = strtol(cpus)[0]
        text = _joined(f"cpu{sign}{number}", text) if number else text
    return text, fault


def _joined(item: str, string: str) -> str:
    return f"{item},{string}" if string else item


def _gpus(string: str, version: str) -> list[tuple[str, int]]:
    """The names and numbers that sbatch takes from `--gpus-per-task`; before 25.05 only the first."""
    found: list[tuple[str, int]] = []
    while string:
        sign = ":" if ":" in string else "="
        kind, typed, number = string.partition(sign)
        found.append((f"gres/gpu:{kind}", strtol(number)[0]) if typed else ("gres/gpu", strtol(string)[0]))
        if not typed or is_before(version, "25.05"):
            break
        string = string.partition(",")[2]
    return found


def task_items(string: str, version: str) -> list[Item]:
    """The generic resources in a TresPerTask. Raises UnknownValue."""
    found: list[Item] = []
    for match in re.finditer(r"gres/?([^,]*)", string):
        item = gres_item(match.group(1), version) if match.group(1) else None
        if isinstance(item, ResourceFault):
            raise UnknownValue
        if item is not None:
            found.append(item)
    return found


def task_cpus(string: str | None, version: str) -> int | None:
    """The CPUs per task in `--tres-per-task` since 23.11; None without any. Raises UnknownValue."""
    if string is None or UNKNOWN in string:
        raise UnknownValue
    # Before 24.05 sbatch looks only for `cpu:4`, and ignores `cpu=4`.
    found = re.search("cpu:" if is_before(version, "24.05") else "cpu[:=]", string, re.IGNORECASE)
    if found is None:
        return None
    return strtol(string, found.end())[0] or None
