"""File name patterns of --output, --error and --input.

`fname_create()`, src/slurmd/common/fname.c (20.11 to 25.05); `expand_stdio_fields()`, src/common/print_fields.c
(25.11 on). A node's slurmstepd expands them; other options have none.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.slurm.versions import MAJORS, is_before
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

# By letter, the first release with it.
LETTERS = dict.fromkeys("AaJjNnstux%", "20.11") | {"b": "24.11", "r": "25.11", "S": "25.11"}

# By letter, the variable of the job that has what it stands for.
VARIABLES = {
    "A": "SLURM_ARRAY_JOB_ID",
    "J": "SLURM_JOB_ID",
    "N": "SLURMD_NODENAME",
    "a": "SLURM_ARRAY_TASK_ID",
    "j": "SLURM_JOB_ID",
    "u": "USER",
    "x": "SLURM_JOB_NAME",
}

_PATTERN = Regex(r"%(%|[0-9]*([A-Za-z]))")


class Use(NamedTuple):
    """A letter in a path. `letter`: `%` for `%%`. `width`: None if none. `start` and `end`: offsets in the path."""

    letter: str
    width: int | None
    start: int
    end: int


@lru_cache(maxsize=64)
def letters(version: str) -> frozenset[str]:
    """The letters of a release."""
    return frozenset(letter for letter, since in LETTERS.items() if not is_before(version, since))


def expands(string: str) -> bool:
    """Whether a path is expanded: a backslash that reaches Slurm disables that."""
    return "\\" not in string


@lru_cache(maxsize=1024)  # several checks ask, and many scripts have the same names
def found(string: str) -> tuple[Use, ...]:
    """All letters after a `%`, known or not, in order."""
    return tuple([_use(match) for match in _PATTERN.finditer(string)]) if expands(string) else ()


def _use(match: re.Match[str]) -> Use:
    digits = match.group(1)[:-1]
    return Use(match.group(2) or "%", parse_integer(digits) if digits else None, *match.span())


def uses(string: str, letter: str) -> bool:
    """Whether a path contains the letter, case-sensitively: `uses("%5j.out", "j")`."""
    return "%" in string and any(use.letter == letter for use in found(string))


def unknown(string: str, versions: tuple[str, ...] = MAJORS) -> list[tuple[Use, tuple[str, ...]]]:
    """The letters that are not expanded, with the releases that do not expand them. `versions`: oldest first."""
    result: list[tuple[Use, tuple[str, ...]]] = []
    for use in found(string):
        since = LETTERS.get(use.letter)
        if since is None:
            result.append((use, versions))
        elif is_before(versions[0], since):
            result.append((use, tuple([version for version in versions if is_before(version, since)])))
    return result


def directory(string: str) -> str:
    """The folder of a path, as written; '' if there is none."""
    head, slash, _ = string.rpartition("/")
    return head or slash
