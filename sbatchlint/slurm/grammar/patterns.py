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

# By letter, since when.
LETTERS = dict.fromkeys("AaJjNnstux%", "20.11") | {"b": "24.11", "r": "25.11", "S": "25.11"}

_PATTERN = Regex(r"%(%|[0-9]*([A-Za-z]))")


class Use(NamedTuple):
    """A letter in a path. `letter`: `%` for `%%`. `width`: None without one. `start` and `end`: in the path."""

    letter: str
    width: int | None
    start: int
    end: int


@lru_cache(maxsize=64)
def letters(version: str) -> frozenset[str]:
    """The letters that a release knows."""
    return frozenset(letter for letter, since in LETTERS.items() if not is_before(version, since))


def expands(string: str) -> bool:
    """Whether a path is expanded at all: a backslash that reaches Slurm turns that off."""
    return "\\" not in string


@lru_cache(maxsize=1024)  # several checks ask, and many scripts give the same names
def found(string: str) -> tuple[Use, ...]:
    """Every `%` with a letter behind it, known or not, in order."""
    return tuple([_use(match) for match in _PATTERN.finditer(string)]) if expands(string) else ()


def _use(match: re.Match[str]) -> Use:
    digits = match.group(1)[:-1]
    return Use(match.group(2) or "%", parse_integer(digits) if digits else None, *match.span())


def uses(string: str, letter: str) -> bool:
    """Whether a path holds the letter (case counts): `uses("%5j.out", "j")`."""
    return "%" in string and any(use.letter == letter for use in found(string))


def unknown(string: str, versions: tuple[str, ...] = MAJORS) -> list[tuple[Use, tuple[str, ...]]]:
    """The letters that stay as they are written, and the releases in which they do. `versions`: oldest first."""
    result: list[tuple[Use, tuple[str, ...]]] = []
    for use in found(string):
        since = LETTERS.get(use.letter)
        if since is None:
            result.append((use, versions))
        elif is_before(versions[0], since):
            result.append((use, tuple([version for version in versions if is_before(version, since)])))
    return result


def directory(string: str) -> str:
    """The folder of a path, as written; '' where it has none."""
    head, slash, _ = string.rpartition("/")
    return head or slash
