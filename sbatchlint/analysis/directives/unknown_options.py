"""Options that sbatch of no release knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.directives.typos import INVISIBLE, dashed
from sbatchlint.slurm.options import all_options, plugin_options, table
from sbatchlint.slurm.suggestions import GONE, Suggestion, suggest, takers
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import Problem

_NAME = Regex(r"[a-z][a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
# Words of Slurm's trade that are part of no option's name.
_TRADE = ("job", "jobs", "limit", "list", "memory", "number", "processes", "queue", "rank", "total", "walltime")
# First words that many plugins share.
_COMMON = frozenset(("no", "disable", "enable", "add", "auto", "power"))


class Unknown(NamedTuple):
    """An option that sbatch of no release of the range has.

    `takers`: see `suggest.takers`. `suggestion`: what was probably meant, and `suggestion_fits`: whether it takes what
    is written behind the option. `plausible`: whether a plugin may have that name; `plugin`: the one whose options
    begin like it, '' for none.
    """

    problem: Problem
    takers: Mapping[str, tuple[str, ...]]
    suggestion: Suggestion | None
    suggestion_fits: bool
    plausible: bool
    plugin: str


def unknown_options(directives: Directives) -> list[Unknown]:
    """Those of the option block, in order; not those of `missing_options`, nor names with one dash or three."""
    found: list[Unknown] = []
    for problem in directives.problems:
        if problem.kind != "unknown-option" or problem.versions is not None or _misses_dashes(problem):
            continue
        if INVISIBLE.search(problem.written):
            continue
        if problem.name in GONE and problem.written.startswith("--") or problem.written == "-=":
            continue
        had = takers(problem.written)
        if problem.value_token is not None and _is_flag(problem.written, "srun"):
            # `-l nodes=2` is no `--label`, but an option of another scheduler.
            had = {command: releases for command, releases in had.items() if command != "srun"}
        suggestion = None if "srun" in had or "sbatch" in had else suggest(problem.written, directives.versions.majors)
        plausible = suggestion is None and not had and is_plausible(problem.written)
        plugin = plugin_like(problem.name) if plausible else ""
        fits = suggestion is not None and _fits(problem, suggestion)
        found.append(Unknown(problem, had, suggestion, fits, plausible, plugin))
    return found


def _is_flag(written: str, command: str) -> bool:
    """Whether a letter is an option of this command that takes no value."""
    newest = MAJORS[-1]
    option = table(command, newest).letters.get(written[1:])
    return option is not None and option.argument(newest) == "none"


def is_plausible(written: str) -> bool:
    """Whether a plugin might well have an option of this name.

    It can only be a long one, and none would be put together from nothing but words of Slurm's own options.
    """
    name = written[2:]
    if not written.startswith("--") or not _NAME.fullmatch(name):
        return False
    return not all(word in _vocabulary() for word in re.split("[-_]", name))


def plugin_like(name: str) -> str:
    """The known plugin several of whose options begin with the same word; '' for none."""
    return _prefixes().get(re.split("[-_]", name)[0], "")


@cache
def _vocabulary() -> frozenset[str]:
    words = {word for option in all_options() for word in re.split("[-_]", option.name)}
    return frozenset(words | {f"{word}s" for word in words} | {word.removesuffix("s") for word in words} | set(_TRADE))


@cache
def _prefixes() -> dict[str, str]:
    counts: dict[tuple[str, str], int] = {}
    for name, option in plugin_options().items():
        key = (name.partition("-")[0], option.plugin or "")
        counts[key] = counts.get(key, 0) + 1
    return {word: plugin for (word, plugin), count in counts.items() if count > 1 and word not in _COMMON}


def _misses_dashes(problem: Problem) -> bool:
    """Whether the word is a long name with one dash or three: another fault."""
    return problem.token is None or dashed(problem.token.text) is not None


def _fits(problem: Problem, suggestion: Suggestion) -> bool:
    token = problem.token
    has_value = token is not None and "=" in token.text or suggestion.written.endswith("=")
    follows = problem.value_token is not None
    fits = suggestion.argument != "none" if has_value or follows else suggestion.argument != "required"
    return fits and not (follows and suggestion.argument == "optional")
