"""Long options of a script that are not written in full.

getopt_long() takes the beginning of a long name as long as it is that of one option alone; each release has other
options, and plugins add more, so that what works today may be refused tomorrow (glibc posix/getopt.c).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.options import matches, table

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.lines import Token
    from sbatchlint.slurm.model import Problem, Setting

# Beginnings that are read as another option than the one that anybody would think of.
MISLEADING = {
    "acct": "account",
    "clust": "clusters",
    "cores": "cpus-per-task",
    "cpu": "cpus-per-task",
    "cpus": "cpus-per-task",
    "task": "ntasks",
    "tasks": "ntasks",
    "threads": "cpus-per-task",
}


class Abbreviation(NamedTuple):
    """An abbreviated option.

    `setting`: as some release of the range reads it, None where all refuse it. `problem`: of the releases to which it
    is ambiguous. `meanings`: the canonical names that releases of the range read it as, newest last. `ambiguous` and
    `unknown`: the releases of the range that refuse it. `candidates`: the names between which it does not decide, in
    the newest of those releases. `full`: the one name in full, '' where releases differ. `likely`: the option that the
    author more probably meant, '' where it is that one.
    """

    written: str
    token: Token
    setting: Setting | None
    problem: Problem | None
    meanings: tuple[str, ...]
    ambiguous: tuple[str, ...]
    unknown: tuple[str, ...]
    candidates: tuple[str, ...]
    full: str
    likely: str


def abbreviations(directives: Directives) -> list[Abbreviation]:
    """Those of the option block, in order; options of plugins have to be written in full to be known."""
    settings: dict[int, Setting] = {}
    problems: dict[int, Problem] = {}
    words: dict[int, tuple[str, Token]] = {}
    oldest = table("sbatch", directives.versions.first).names
    for setting in directives.settings:
        if setting.plugin is None and setting.written[:2] == "--" and not _is_full(directives, setting, oldest):
            settings[setting.token.start] = setting
            words[setting.token.start] = (setting.written, setting.token)
    for problem in directives.problems:
        if problem.kind == "ambiguous-option" and problem.token is not None:
            problems[problem.token.start] = problem
            words[problem.token.start] = (problem.written, problem.token)
    found: list[Abbreviation] = []
    for start, (written, token) in sorted(words.items()):
        found.append(_abbreviation(directives, written, token, settings.get(start), problems.get(start)))
    return found


def _is_full(directives: Directives, setting: Setting, oldest: Collection[str]) -> bool:
    """Whether an option is written in full for all releases that know it.

    Where only newer ones have it, older ones may have taken it for the beginning of a longer one.
    """
    option = setting.option
    if option is None or option.name != setting.written[2:]:
        return False
    return option.name in oldest or not _had_another_meaning(directives, option.name)


def _had_another_meaning(directives: Directives, name: str) -> bool:
    """Whether some release of the range reads a name that is another's in full as the beginning of a longer one."""
    for version in directives.versions.majors:
        options = matches(name, "sbatch", version)
        if len(options) == 1 and options[0].name != name:
            return True
    return False


def _abbreviation(
    directives: Directives, written: str, token: Token, setting: Setting | None, problem: Problem | None
) -> Abbreviation:
    name = written[2:]
    meanings: dict[str, str] = {}
    ambiguous: list[str] = []
    unknown: list[str] = []
    candidates: tuple[str, ...] = ()
    for version in directives.versions.majors:
        options = matches(name, "sbatch", version)
        if len(options) == 1:
            meanings.setdefault(options[0].canonical, options[0].canonical)
        elif options:
            ambiguous.append(version)
            candidates = tuple(each.name for each in options)
        else:
            unknown.append(version)
    full = next(iter(meanings)) if len(meanings) == 1 else ""
    likely = MISLEADING.get(name, "")
    letter = table("sbatch", directives.versions.last).letters.get(name) if ambiguous else None
    if letter is not None:
        # `--t` for `-t`
        likely = letter.canonical
    return Abbreviation(
        written,
        token,
        setting,
        problem,
        tuple(meanings),
        tuple(ambiguous),
        tuple(unknown),
        candidates,
        full,
        "" if likely == full else likely,
    )
