"""The settings that apply to a path, from configuration files and the command line.

`[tool.sbatchlint]` in pyproject.toml, or the top level of sbatchlint.toml or .sbatchlint.toml. The nearest file wins;
`extend = "path"` reads another one first. The command line overrides both.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.card_index import card_index
from sbatchlint.configuration import CONFIGURATION_FILES, LEVELS, check_table, merge_tables, read_configuration
from sbatchlint.registry import Check, Entry, registry
from sbatchlint.site import FOUND, Site
from sbatchlint.slurm.getopt import site_names
from sbatchlint.source import lookups
from sbatchlint.source.discover import DEFAULT_EXCLUDE
from sbatchlint.source.files import InputError, read_bytes
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.patterns import patterns as patterns_of

if TYPE_CHECKING:
    from sbatchlint.site.model import Profile

Table = Mapping[str, object]


class Overrides(NamedTuple):
    """The settings of the command line; None and empty values set nothing.

    `configuration`: the file of `--config`; `pairs`: its KEY=VALUE forms, merged into one table.
    `ignores`: whether comments of scripts can suppress findings. `site`: the profile of the cluster.
    `have_run`: whether the scripts ran as they are, so that none of them is a template.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    slurm_version: str | None = None
    sbatch_options: str | None = None
    fail_on: str | None = None
    min_severity: str | None = None
    isolated: bool = False
    configuration: str | None = None
    pairs: Table = {}
    ignores: bool = True
    site: str | None = None
    have_run: bool = False


class Settings:
    """The settings of the files below `root`.

    `selected`: the checks that run; `named`: the codes of those selected by their own code or name, whose advice is
    shown. `origin`: the configuration file, None if there is none. `baseline`: the path of the baseline, None if there
    is none. `output_format`: that of reports; None where none is set. `ignores`: whether comments of scripts can
    suppress findings. `have_run`: as in `Overrides`. `fingerprint`: equal for equal settings.
    """

    def __init__(self, table: Table, overrides: Overrides, root: str, origin: str | None = None) -> None:
        where = f"{origin}: " if origin else ""
        self.root = root
        self.origin = origin
        self.fail_on = overrides.fail_on or _text(table, "fail-on") or "warning"
        self.min_severity = overrides.min_severity or _text(table, "min-severity") or "warning"
        self.output_format = _text(table, "output-format")
        self.ignores = overrides.ignores
        self.have_run = overrides.have_run
        self.baseline = _text(table, "baseline") or None
        self.include = _texts(table, "include") or ()
        self.exclude = _texts(table, "exclude") if "exclude" in table else None
        self.extend_exclude = _texts(table, "extend-exclude") or ()
        self.selected, self.named = _select(table, overrides)
        self.severities = {
            entry.code: str(value)
            for selector, value in sorted(
                _table(table, "severity").items(), key=lambda item: registry().specificity(item[0])
            )
            for entry in registry().select(selector)
        }
        self._per_file_ignores = tuple(
            (pattern, frozenset(entry.code for each in _names(value) for entry in registry().select(each)))
            for pattern, value in _table(table, "per-file-ignores").items()
        )
        self._options = _options(_table(table, "checks"))
        self._submissions = [(_names(each["paths"]), str(each["options"])) for each in _tables(table, "submit")]
        self._sbatch_options = overrides.sbatch_options
        if self._sbatch_options is not None:
            _check_options(self._sbatch_options, "--sbatch-options")
        for _, options in self._submissions:
            _check_options(options, f"{where}submit.options")
        self.site = _site(table, overrides, where)
        self.fingerprint = repr((table, overrides, root, origin, tuple(self.site)))

    @classmethod
    def of_table(cls, table: Table | None = None, select: Sequence[str] | None = None) -> "Settings":
        """The settings of a configuration file with this table. Raises `InputError` if it is invalid."""
        chosen = None if select is None else tuple(select)
        checked = dict(table or {})
        check_table(checked, "settings")
        return cls(checked, Overrides(select=chosen, isolated=True), ".")

    def narrowed(self, codes: Collection[str]) -> "Settings":
        """These settings, with only these checks."""
        from copy import copy  # rarely needed

        found = copy(self)
        found.selected = tuple(entry for entry in registry().entries if entry.code in codes)
        found.named = frozenset(codes)
        found.fingerprint = repr((self.fingerprint, sorted(codes)))
        return found

    def checks(self, path: str) -> tuple[Entry, ...]:
        """The checks that run on a file."""
        if not self._per_file_ignores:
            return self.selected
        relative = self._relative(path)
        ignored: set[str] = set()
        for pattern, codes in self._per_file_ignores:
            if matches([pattern], relative):
                ignored |= codes
        return tuple(entry for entry in self.selected if entry.code not in ignored)

    def site_of(self, path: str) -> Site:
        """What holds for a script at the site, with the options with which it is submitted."""
        relative = self._relative(path) if self._submissions else ""
        found = [options for paths, options in self._submissions if matches(paths, relative)]
        origin = f"[[submit]] in {os.path.basename(self.origin)}" if found and self.origin else ""
        found += [self._sbatch_options] if self._sbatch_options is not None else []
        return self.site._replace(submit_options=" ".join(found), submit_origin=origin) if found else self.site

    def options(self, check: Check) -> dict[str, object]:
        """The options of a check: those of the configuration, and the card's defaults."""
        options = {option.name: option.default for option in check.card.options}
        options.update(self._options.get(check.entry.name, {}))
        return options

    def shows(self, code: str, severity: str) -> bool:
        """Whether a finding is reported; advice (info) only of checks selected by name or with --min-severity info."""
        return LEVELS.index(severity) >= LEVELS.index(self.min_severity) or code in self.named

    def fails(self, severity: str) -> bool:
        """Whether a finding makes the run fail."""
        return LEVELS.index(severity) >= LEVELS.index(self.fail_on)

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.abspath(path), os.path.abspath(self.root)).replace(os.sep, "/")

    def includes(self, path: str) -> bool:
        """Whether a document is linted even if it is not named on the command line."""
        if not self.include:
            return False
        relative = self._relative(path)
        return not relative.startswith("../") and matches(self.include, relative)

    def excluded(self, path: str, is_folder: bool) -> bool:
        """Whether a path found in a folder is excluded."""
        if self.exclude is None and os.path.basename(path) in DEFAULT_EXCLUDE:
            return True
        patterns = (*(self.exclude or ()), *self.extend_exclude)
        if not patterns:
            return False
        relative = self._relative(path)
        return not relative.startswith("../") and matches(patterns, relative + ("/" if is_folder else ""))


def matches(patterns: Sequence[str], relative: str) -> bool:
    """Whether a path, relative to the folder of the patterns, matches one of them by the rules of .gitignore."""
    return patterns_of(tuple(patterns)).decide(relative) is True


def _text(table: Table, key: str) -> str | None:
    value = table.get(key)
    return value if isinstance(value, str) else None


def _texts(table: Table, key: str) -> tuple[str, ...] | None:
    return _names(table[key]) if key in table else None


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(each) for each in value) if isinstance(value, (list, tuple)) else ()


def _table(table: Table, key: str) -> Table:
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}


def _tables(table: Table, key: str) -> list[Table]:
    value = table.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _layer(chosen: set[str], select: Iterable[str] | None, extend: Iterable[str], ignore: Iterable[str]) -> None:
    """Adds checks to `chosen` and removes others, wide selectors first, so that the most specific one decides."""
    steps = [(registry().specificity(selector), 0, selector) for selector in (*(select or ()), *extend)]
    steps += [(registry().specificity(selector), 1, selector) for selector in ignore]
    if select is not None:
        chosen.clear()
    for _, ignored, selector in sorted(steps):
        found = {entry.code for entry in registry().select(selector)}
        if ignored:
            chosen -= found
        else:
            chosen |= found


def _select(table: Table, overrides: Overrides) -> tuple[tuple[Entry, ...], frozenset[str]]:
    """The checks that run, and the codes of those selected by their own code or name."""
    chosen = {entry.code for entry in registry().entries}
    select = _texts(table, "select")
    extend = _texts(table, "extend-select") or ()
    _layer(chosen, select, extend, _texts(table, "ignore") or ())
    _layer(chosen, overrides.select, overrides.extend_select, overrides.ignore)
    selectors = overrides.select if overrides.select is not None else select or ()
    selectors = (*selectors, *extend, *overrides.extend_select)
    named = frozenset(entry.code for each in selectors if (entry := registry().find(each)) is not None)
    optional = card_index().optional
    running = (entry for entry in registry().entries if entry.module not in optional or entry.code in named)
    return tuple(entry for entry in running if entry.code in chosen), named


def _options(table: Table) -> dict[str, dict[str, object]]:
    """The options of single checks, by their names."""
    found: dict[str, dict[str, object]] = {}
    for key, value in table.items():
        entry = registry().find(key)
        if entry is not None and isinstance(value, Mapping):
            found.setdefault(entry.name, {}).update((name, _setting(each)) for name, each in value.items())
    return found


def _setting(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _check_options(options: str, where: str) -> None:
    """Raises `InputError` for options that no sbatch takes."""
    from sbatchlint.bash.values import Text  # only where a submission is described
    from sbatchlint.slurm.directives import read_directives

    block = read_directives(Text.of_file(f"#!/bin/bash\n#SBATCH {options}\n"))
    problem = next((each for each in block.problems if each.versions is None), None)
    if problem is not None or "\n" in options or options.strip() and not block.settings:
        wrong = f": {problem.written}" if problem is not None and problem.written else ""
        raise InputError(f"{where}: sbatch takes no such options{wrong}")


def _site(table: Table, overrides: Overrides, where: str) -> Site:
    fields: dict[str, object] = {}
    for key, value in _table(table, "site").items():
        fields[key.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
    options = _texts(table, "plugin-options") or ()
    listing = _text(table, "plugin-options-from")
    if listing is not None:
        listed = _listed(listing, where)
        fields["plugins_listed"] = True
        fields.setdefault("pyxis_in_sbatch", "container-image" in site_names(listed))
        named = site_names(options)
        options = (*options, *(each for each in listed if not named & site_names([each])))
    pyxis = fields.get("pyxis")
    if isinstance(pyxis, str) and _is_before_sbatch_support(pyxis):
        fields.setdefault("pyxis_in_sbatch", False)
    if options:
        fields["plugin_options"] = options
    profile = _profile(fields.pop("profile", None), overrides, where)
    if profile is not None:
        from sbatchlint.site.facts import facts_of  # most runs know no cluster

        fields["profile"] = profile
        for name, value in facts_of(profile).items():
            fields.setdefault(name, value)
    version = overrides.slurm_version or _text(table, "slurm-version")
    if version is not None:
        low, _, high = version.partition("-")
        fields["slurm_versions"] = (low.strip(), (high or low).strip())
        fields["versions_named"] = True
    return Site(**fields)  # type: ignore[arg-type]  # the table was checked key by key


def _profile(named: object, overrides: Overrides, where: str) -> "Profile | None":
    """The profile of the cluster: that of the command line, of the settings, or the one that is found here."""
    if overrides.site is not None:
        named, where = overrides.site, "--site: "
    elif named is None and not overrides.isolated and not lookups.is_out_of_bounds(FOUND) and os.path.isfile(FOUND):
        named = FOUND
    if not isinstance(named, str):
        return None
    from sbatchlint.site.reading import is_example, path_of, read_profile  # most runs know no cluster

    try:
        path = path_of(named)
        if not is_example(path) and lookups.is_out_of_bounds(path):
            raise InputError(f"{named} lies outside of what may be read")
        return read_profile(path)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _listed(path: str, where: str) -> tuple[str, ...]:
    """The plugin options in a saved `sbatch --help`. Raises `InputError` if the file is missing or not such a help."""
    from sbatchlint.slurm.plugin_help import NoHelp, options_of_help  # rarely needed

    relative = os.path.relpath(path)
    shown = path if relative.startswith("..") else relative
    if lookups.is_out_of_bounds(path):
        raise InputError(f"{where}plugin-options-from: {shown} lies outside of what may be read")
    try:
        return options_of_help(read_bytes(path).decode("utf-8", "replace"))
    except NoHelp as error:
        raise InputError(f"{where}plugin-options-from: {shown} {error}") from None
    except InputError as error:
        raise InputError(f"{where}plugin-options-from: {error}") from None


def _is_before_sbatch_support(pyxis: str) -> bool:
    """Whether this version of pyxis is older than 0.12, which added options to sbatch."""
    parts = pyxis.strip().removeprefix("v").split(".")[:2]
    numbers = [parse_integer(part) for part in parts if is_number(part)]
    return len(numbers) == 2 and (numbers[0], numbers[1]) < (0, 12)


class Resolver:
    """The settings of each path; each configuration file is read once. `top`: the highest folder with one; "": any."""

    def __init__(self, overrides: Overrides, top: str = "") -> None:
        self.overrides = overrides
        self.top = top
        self._by_folder: dict[str, Settings] = {}
        self._of_file: dict[str, Settings] = {}
        self._fixed: Settings | None = None
        if overrides.configuration is not None:
            path = overrides.configuration
            self._fixed = self._made(path, read_configuration(path, required=True) or {}, os.path.dirname(path) or ".")
        elif overrides.isolated:
            self._fixed = self._default()

    def __reduce__(self) -> "tuple[type[Resolver], tuple[Overrides, str]]":
        return (Resolver, (self.overrides, self.top))  # each worker process reads the files it needs

    def settings(self, path: str) -> Settings:
        """The settings of a file. Raises `InputError` if its configuration is invalid."""
        if self._fixed is not None:
            return self._fixed
        return self._of_folder(os.path.dirname(os.path.abspath(path)))

    def _of_folder(self, folder: str) -> Settings:
        folders: list[str] = []  # a path may have thousands, too many to ask one from within another
        known = self._by_folder.get(folder)
        while known is None:
            folders.append(folder)
            parent = os.path.dirname(folder)
            known = self._in(folder)
            if known is None and folder in (parent, self.top):
                known = self._default()
            folder = parent
            known = known or self._by_folder.get(folder)
        self._by_folder |= dict.fromkeys(folders, known)
        return known

    def _in(self, folder: str) -> Settings | None:
        """The settings of a configuration file in a folder."""
        for name in CONFIGURATION_FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                table = read_configuration(path)
                if table is not None:
                    return self._made(path, table, folder)
        return None

    def _made(self, path: str, table: dict[str, object], root: str) -> Settings:
        known = self._of_file.get(path)
        if known is None:
            relative = os.path.relpath(path)
            shown = path if relative.startswith("..") else relative
            known = self._of_file[path] = Settings(
                merge_tables([table, self.overrides.pairs]), self.overrides, root, shown
            )
        return known

    def _default(self) -> Settings:
        known = self._of_file.get("")
        if known is None:
            known = self._of_file[""] = Settings(dict(self.overrides.pairs), self.overrides, ".")
        return known
