"""The options of sbatch, srun and salloc, by release.

Extracted from `common_options[]` of Slurm's src/common/slurm_opt.c (20.11 to 26.05) by tools/build_options.py; options
of known SPANK plugins are data too (data/plugins.json), because they are valid where the plugin is installed.
"""

import json
import os.path
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sbatchlint.slurm.versions import MAJORS, expand, is_before, with_releases

_DATA = os.path.join(os.path.dirname(__file__), "data")


def _load(name: str) -> Any:
    with open(os.path.join(_DATA, name), encoding="utf-8") as file:
        return json.load(file)


COMMANDS = ("sbatch", "srun", "salloc")


class Option:
    """One row of Slurm's table.

    `name`: the long name without dashes. `letter`: the short form or None. `commands`: the commands that have it, with
    the releases. `alias_of`: for a second spelling, the canonical name. `early`: accepted in a directive without effect
    (sbatch's early pass). `kind`: the grammar of its value. `plugin`: the SPANK plugin that adds it, or None.
    `environment`: by command, the variables that set it.
    """

    def __init__(self, row: Mapping[str, Any], plugin: str | None = None) -> None:
        self.name: str = row["name"]
        self.letter: str | None = row.get("letter")
        self.alias_of: str | None = row.get("alias_of")
        self.early: bool = row.get("early", False)
        self.kind: str = row.get("kind", "string")
        self.form: str | None = row.get("form")
        self.words: Any = row.get("words", ())
        self.environment: Mapping[str, Mapping[str, str]] = row.get("environment", {})
        self.commands: Mapping[str, frozenset[str]] = {
            command: expand(releases) for command, releases in row["commands"].items()
        }
        self.plugin = plugin
        argument = row["argument"]
        self._argument: tuple[tuple[str, str], ...] = (
            ((MAJORS[0], argument),) if isinstance(argument, str) else tuple((since, name) for since, name in argument)
        )

    @property
    def canonical(self) -> str:
        """The long name of which this is a spelling."""
        return self.alias_of or self.name

    def argument(self, version: str) -> str:
        """`none`, `required` or `optional` in this release."""
        found = self._argument[0][1]
        for since, name in self._argument:
            if not is_before(version, since):
                found = name
        return found

    def __repr__(self) -> str:
        return f"Option(--{self.name})"


@cache
def all_options() -> tuple[Option, ...]:
    """All options of Slurm itself, in the order of its table. `wait` occurs twice, for sbatch and for srun."""
    rows = _load("options.json")["options"]
    return tuple([Option(row) for row in rows if "name" in row])


@cache
def plugin_options() -> Mapping[str, Option]:
    """The options that known SPANK plugins add, by long name."""
    found: dict[str, Option] = {}
    for plugin in _load("plugins.json")["plugins"]:
        commands = dict.fromkeys(plugin["commands"], "all")
        for name, argument in plugin["options"].items():
            found[name] = Option({"name": name, "argument": argument, "commands": commands}, plugin["name"])
    return found


class Table:
    """The options of one command in one release, by long name (in the order of Slurm's table) and by letter."""

    def __init__(self, names: Mapping[str, Option], letters: Mapping[str, Option]) -> None:
        self.names = names
        self.letters = letters
        self._sorted = sorted(names)
        self._order = {name: number for number, name in enumerate(names)}

    def beginning_with(self, name: str) -> list[Option]:
        """The options whose long names begin so, in the order of Slurm's table."""
        at = bisect_left(self._sorted, name)
        end = bisect_left(self._sorted, name + "\U0010ffff", at)
        return [self.names[each] for each in sorted(self._sorted[at:end], key=self._order.__getitem__)]


@cache
def table(command: str, version: str) -> Table:
    """The options of `sbatch`, `srun` or `salloc` in a major release."""
    names: dict[str, Option] = {}
    letters: dict[str, Option] = {}
    for option in all_options():
        if version in option.commands.get(command, ()):
            names[option.name] = option
            if option.letter:
                letters[option.letter] = option
    return Table(names, letters)


def find(name: str, command: str = "sbatch", version: str = MAJORS[-1]) -> Option | None:
    """The option with exactly this long name, of Slurm or of a known plugin; None if there is none."""
    option = table(command, version).names.get(name)
    if option is None:
        option = plugin_options().get(name)
        if option is not None and command not in option.commands:
            option = None
    return option


def matches(name: str, command: str, version: str) -> list[Option]:
    """The option that glibc's getopt_long finds for a long name, or all candidates if it is ambiguous; else empty.

    An exact name wins; spellings of one option are not ambiguous. Plugin options count only when written in full,
    because it is not known which plugins a site has.
    """
    options = table(command, version)
    exact = options.names.get(name)
    if exact is not None:
        return [exact]
    found = options.beginning_with(name)
    if found:
        first = found[0]
        argument = first.argument(version)
        if all(each.canonical == first.canonical and each.argument(version) == argument for each in found):
            return [first]
        return found
    plugin = plugin_options().get(name)
    return [plugin] if plugin is not None and command in plugin.commands else []


@lru_cache(maxsize=1024)
def accepting_commands(written: str) -> Mapping[str, tuple[str, ...]]:
    """The commands that have this option, with the releases; abbreviations count, unknown plugins do not."""
    found: dict[str, tuple[str, ...]] = {}
    for command in ("sbatch", "srun", "salloc"):
        if written.startswith("--"):
            releases = tuple(version for version in MAJORS if len(matches(written[2:], command, version)) == 1)
        else:
            releases = tuple(version for version in MAJORS if written[1:] in table(command, version).letters)
        if releases:
            found[command] = releases
    return found


class Meaning(NamedTuple):
    """What an option as written means in some releases.

    `option`: None if it is unknown or ambiguous; then `candidates` has the long names it may stand for.
    `argument`: none, required or optional. `versions`: None for all releases of interest.
    """

    option: Option | None
    argument: str
    candidates: tuple[str, ...]
    versions: tuple[str, ...] | None


def _meanings(found: Iterable[list[Option]], versions: tuple[str, ...]) -> tuple[Meaning, ...]:
    """What an option means that may be one of these in each release, in their order; one entry if they all agree."""
    read: list[tuple[str, tuple[Option | None, str, tuple[str, ...]]]] = []
    for version, options in zip(versions, found, strict=True):
        if len(options) == 1:
            read.append((version, (options[0], options[0].argument(version), ())))
        else:
            read.append((version, (None, "none", tuple(each.name for each in options))))
    return tuple([Meaning(*meaning, releases) for meaning, releases in with_releases(read, versions)])


@lru_cache(maxsize=4096)
def meanings(name: str, command: str, versions: tuple[str, ...]) -> tuple[Meaning, ...]:
    """What a long name, maybe abbreviated, means in these releases."""
    return _meanings((matches(name, command, version) for version in versions), versions)


@lru_cache(maxsize=1024)
def letter_meanings(letter: str, command: str, versions: tuple[str, ...]) -> tuple[Meaning, ...]:
    """What the letter of a short option means in these releases."""
    found = (table(command, version).letters.get(letter) for version in versions)
    return _meanings(([] if option is None else [option] for option in found), versions)
