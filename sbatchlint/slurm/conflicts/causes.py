"""Settings of a script's option block that do not go together; see `exclusions` for the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.conflicts.counts import INHERITED_HINT, hint_rivals
from sbatchlint.slurm.conflicts.exclusions import CONTROLLER, IGNORED, JOB, REFUSED, VERIFY, WARNING, Clash, clashes
from sbatchlint.slurm.directives import carried
from sbatchlint.slurm.model import Cause, Setting

if TYPE_CHECKING:
    from sbatchlint.slurm.conflicts.counts import Values
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import ForeignSetting

__all__ = [
    "CONTROLLER", "IGNORED", "JOB", "REFUSED", "VERIFY", "WARNING", "Cause", "Conflict", "causes", "conflicts",
    "values_of",
]  # fmt: skip


class Conflict(NamedTuple):
    """Settings that do not go together.

    `kind`: which rule of `exclusions`. `settings`: those involved, in order. `message`: what Slurm says, without
    `sbatch: error: `; '' where it says nothing. `versions`: the releases for which it holds, None for all that were
    asked for. `stage`, `order` and `effect`: see `Clash`.
    """

    kind: str
    settings: tuple[Setting | ForeignSetting, ...]
    message: str
    versions: tuple[str, ...] | None
    stage: str
    order: int
    effect: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(setting.name for setting in self.settings)


def conflicts(
    directives: Directives, component: int = 0, versions: Sequence[str] | None = None, certain: bool | None = None
) -> list[Conflict]:
    """The conflicts of one component of a job, in the order in which sbatch meets them.

    `versions`: the releases to ask about; all of the range without it. Of settings of one option only the last counts.
    Empty where it is not `certain` which options there are, which the directives know themselves.
    """
    if not (directives.certain if certain is None else certain):
        return []
    majors = directives.versions.majors if versions is None else tuple(versions)
    found: dict[Clash, list[str]] = {}
    given: dict[str, dict[str, Setting | ForeignSetting]] = {}
    said: dict[str, list[Clash]] = {}
    for releases in _alike(directives, majors):
        settings = _last_settings(directives, component, releases[0])
        if len(settings) > 1 or settings.keys() & _ALONE:
            given.update(dict.fromkeys(releases, settings))
            values = _values(directives, component, releases[0], settings)
            said.update(clashes(values, releases, component, directives.components))
    for version in majors:
        for clash in said.get(version, ()):
            if clash.names:
                found.setdefault(clash, []).append(version)
    made: list[Conflict] = []
    for clash, chosen in found.items():
        own = given[chosen[-1]]
        settings_of = sorted((own[name] for name in clash.names if name in own), key=lambda each: each.span.start)
        versions_of = None if len(chosen) == len(majors) else tuple(chosen)
        made.append(
            Conflict(clash.kind, tuple(settings_of), clash.message, versions_of, clash.stage, clash.order, clash.effect)
        )
    return sorted(made, key=lambda each: each.order)


# Sums are made of what the exclusions have left: behind one of these they mean nothing.
_SUMS = 200


def causes(directives: Directives, component: int = 0) -> list[Cause]:
    """The conflicts of one component, one for each set of settings, in the order in which sbatch meets them.

    A sum that does not come out is no cause of its own where its settings exclude each other anyway. Settings that went
    wrong in the writing (`analysis.directives.typos`) are left out.
    """
    majors = directives.versions.majors
    groups: dict[tuple[Setting | ForeignSetting, ...], list[Conflict]] = {}
    gone: list[Conflict] = []
    for each in conflicts(directives, component):
        if any(isinstance(setting, Setting) and directives.slip(setting) is not None for setting in each.settings):
            continue
        versions = each.versions or majors
        if each.order >= _SUMS:
            versions = tuple(version for version in versions if not any(_covers(one, each, version) for one in gone))
        if versions:
            each = each._replace(versions=versions)
            groups.setdefault(each.settings, []).append(each)
            if each.effect == REFUSED:
                gone.append(each)
    return [_cause(settings, found, majors) for settings, found in groups.items()]


def _covers(first: Conflict, later: Conflict, version: str) -> bool:
    return version in (first.versions or ()) and not set(first.settings).isdisjoint(later.settings)


def _cause(settings: tuple[Setting | ForeignSetting, ...], found: list[Conflict], majors: tuple[str, ...]) -> Cause:
    def releases(effect: str) -> tuple[str, ...]:
        chosen = {version for each in found if each.effect == effect for version in each.versions or majors}
        return tuple(version for version in majors if version in chosen)

    speaking = [each for each in found if each.message]
    newest = max(speaking, key=lambda each: majors.index((each.versions or majors)[-1]), default=found[0])
    return Cause(found[0].kind, settings, newest.message, releases(REFUSED), releases(WARNING), releases(IGNORED))


# Options that can be refused by themselves.
_ALONE = frozenset(
    {"cpus-per-gpu", "distribution", "gpus-per-socket", "gpus-per-task", "mem-per-gpu", "ntasks-per-gpu"}
    | {"ntasks-per-tres", "tres-per-task", "gres", "nodelist", "gpus", "gpus-per-node"}
    | {"array", "batch", "external", "extra-node-info", "hint", "licenses", "resources", "time-min", "wckey"}
)


def values_of(directives: Directives, component: int, version: str) -> Values:
    """The options that count for one component in a release, in order: long names and values as written."""
    return _values(directives, component, version, _last_settings(directives, component, version))


def _alike(directives: Directives, majors: Sequence[str]) -> Iterable[Sequence[str]]:
    """The releases, those together that read the same options: most often all."""
    if directives.components > 1 or directives.foreign is not None:
        return [(version,) for version in majors]
    differing = {setting.versions for setting in directives.settings if setting.versions is not None}
    if not differing:
        return [majors]
    groups: dict[tuple[bool, ...], list[str]] = {}
    for version in majors:
        groups.setdefault(tuple([version in versions for versions in differing]), []).append(version)
    return groups.values()


def _last_settings(directives: Directives, component: int, version: str) -> dict[str, Setting | ForeignSetting]:
    found: dict[str, Setting | ForeignSetting] = {}
    for setting in directives.settings:
        option = setting.option
        if option is None or option.early or option.plugin is not None or _elsewhere(setting.versions, version):
            continue
        if setting.component == component or setting.component < component and carried(setting.name):
            found.pop(setting.name, None)
            found[setting.name] = setting
    foreign = directives.foreign
    if foreign is not None:
        for each in foreign.settings:
            if not _elsewhere(each.versions, version):
                found.pop(each.name, None)
                found[each.name] = each
    return found


def _values(
    directives: Directives, component: int, version: str, settings: dict[str, Setting | ForeignSetting]
) -> Values:
    found: dict[str, str | None] = {}
    for name, setting in settings.items():
        value = setting.value
        if not isinstance(setting, Setting):
            # The words of another scheduler may add to what the options say.
            said = [each.value for each in directives.all(name, component) if not _elsewhere(each.versions, version)]
            value = setting.over(said[-1] if said else None)
        found[name] = value
    if component and any(setting.name == "hint" for setting in directives.settings):
        hint = _inherited_hint(directives, component, version)
        if hint is not None:
            found.pop("hint", None)
            found[INHERITED_HINT] = hint
    return found


def _inherited_hint(directives: Directives, component: int, version: str) -> str | None:
    """The hint of the first component that has one: sbatch puts it into its own environment, which overrides scripts.

    None where there is none.
    """
    for earlier in range(component):
        settings = _last_settings(directives, earlier, version)
        if "hint" in settings and not hint_rivals(_values(directives, earlier, version, settings), version):
            return settings["hint"].value
    return None


def _elsewhere(versions: tuple[str, ...] | None, version: str) -> bool:
    return versions is not None and version not in versions
