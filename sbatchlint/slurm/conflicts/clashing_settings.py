"""Clashing settings in the option block of a script; the rules are in `clashes`."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sbatchlint.slurm.conflicts.clash import Clash
from sbatchlint.slurm.conflicts.clashes import clashes
from sbatchlint.slurm.conflicts.counts import INHERITED_HINT, options_overriding_hint
from sbatchlint.slurm.conflicts.gpu_arithmetic import Values
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.model import ForeignSetting, Setting
from sbatchlint.slurm.versions import holds_in, with_releases


class ClashingSettings(NamedTuple):
    """Settings that clash.

    `kind`: which rule of `clashes`. `settings`: those involved, in order. `message`: that of Slurm, without
    `sbatch: error: `; '' if there is none. `versions`: the releases for which it holds, None for all of interest.
    `stage`, `order` and `effect`: see `Clash`.
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


def clashing_settings(
    directives: Directives, component: int = 0, versions: Sequence[str] | None = None, certain: bool | None = None
) -> list[ClashingSettings]:
    """The clashes in one component of a job, in the order in which sbatch finds them.

    Of several settings of an option only the last counts. `versions`: the releases of interest, None for the range of
    the directives. `certain`: whether all options are known, None for what the directives say; if not, the result is
    empty.
    """
    if not (directives.certain if certain is None else certain):
        return []
    majors = directives.versions.majors if versions is None else tuple(versions)
    settings_in: dict[str, dict[str, Setting | ForeignSetting]] = {}
    clashes_in: dict[str, list[Clash]] = {}
    for releases in _alike(directives, component, majors):
        settings = _last_settings(directives, component, releases[0])
        if len(settings) > 1 or settings.keys() & _ALONE:
            settings_in.update(dict.fromkeys(releases, settings))
            values = _values(directives, component, releases[0], settings)
            clashes_in.update(clashes(values, releases, component, directives.components))
    found = ((version, clash) for version in majors for clash in clashes_in.get(version, ()) if clash.names)
    made: list[ClashingSettings] = []
    for clash, chosen in with_releases(found, majors):
        own = settings_in[(chosen or majors)[-1]]
        settings_of = sorted((own[name] for name in clash.names if name in own), key=lambda each: each.span.start)
        made.append(
            ClashingSettings(
                clash.kind, tuple(settings_of), clash.message, chosen, clash.stage, clash.order, clash.effect
            )
        )
    return sorted(made, key=lambda each: each.order)


# Options that can be refused by themselves.
_ALONE = frozenset(
    {"cpus-per-gpu", "distribution", "gpus-per-socket", "gpus-per-task", "mem-per-gpu", "ntasks-per-gpu"}
    | {"ntasks-per-tres", "tres-per-task", "gres", "nodelist", "gpus", "gpus-per-node"}
    | {"array", "batch", "external", "extra-node-info", "hint", "licenses", "resources", "time-min", "wckey"}
)


def values_of(directives: Directives, component: int, version: str) -> Values:
    """The options in effect for one component in a release, in order: long names and values as written."""
    return _values(directives, component, version, _last_settings(directives, component, version))


def _alike(directives: Directives, component: int, majors: Sequence[str]) -> Iterable[Sequence[str]]:
    """The releases, grouped by the options that they read: nearly always one group."""
    # Which directives of other schedulers apply depends on the release, and so does a hint that components inherit.
    inherits = directives.components > 1 and directives.has_option("hint")
    if inherits or directives.foreign is not None:
        return [(version,) for version in majors]
    differing = {setting.versions for setting in directives.settings_for(component) if setting.versions is not None}
    if not differing:
        return [majors]
    groups: dict[tuple[bool, ...], list[str]] = {}
    for version in majors:
        groups.setdefault(tuple([version in versions for versions in differing]), []).append(version)
    return groups.values()


def _last_settings(directives: Directives, component: int, version: str) -> dict[str, Setting | ForeignSetting]:
    found: dict[str, Setting | ForeignSetting] = {}
    for setting in (*directives.settings_for(component, version), *directives.overriding_for(component)):
        option = setting.option
        if not holds_in(setting.versions, version):
            continue
        if option is not None and not option.early and option.plugin is None:
            found.pop(setting.name, None)
            found[setting.name] = setting
    foreign = directives.foreign
    if foreign is not None:
        for other_setting in foreign.settings:
            if holds_in(other_setting.versions, version):
                found.pop(other_setting.name, None)
                found[other_setting.name] = other_setting
    return found


def _values(
    directives: Directives, component: int, version: str, settings: dict[str, Setting | ForeignSetting]
) -> Values:
    found: dict[str, str | None] = {}
    for name, setting in settings.items():
        value = setting.value
        if not isinstance(setting, Setting):
            # A directive of another scheduler may add to the value of the option.
            own = [each.value for each in directives.all(name, component) if holds_in(each.versions, version)]
            value = setting.applied_to(own[-1] if own else None)
        found[name] = value
    if component and directives.has_option("hint"):
        hint = _inherited_hint(directives, component, version)
        if hint is not None:
            found.pop("hint", None)
            found[INHERITED_HINT] = hint
    return found


def _inherited_hint(directives: Directives, component: int, version: str) -> str | None:
    """The hint of the first component with one, None without any.

    sbatch sets it in its own environment, which overrides the directives of later components.
    """
    for earlier in range(component):
        settings = _last_settings(directives, earlier, version)
        if "hint" in settings and not options_overriding_hint(_values(directives, earlier, version, settings), version):
            return settings["hint"].value
    return None
