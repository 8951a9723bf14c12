"""Options of the job that do not go together, with what each release of Slurm makes of them."""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.conflicts.clash import CONTROLLER, IGNORED, REFUSED
from sbatchlint.slurm.conflicts.clashing_settings import ClashingSettings, clashing_settings, values_of
from sbatchlint.slurm.conflicts.counts import Counts, job_counts
from sbatchlint.slurm.model import ForeignSetting, Setting

# Sums are made of what the exclusions have left: behind one of these they mean nothing.
_SUMS = 200


class Conflict(NamedTuple):
    """Settings that do not go together, with what each release makes of them.

    `kind`: the rule that sbatch meets first. `message`: what the newest release says that says anything, '' for none;
    `refuser`: who says it, `sbatch` or `slurmctld`. `refused`: the releases of the range that refuse the job;
    `ignored`: those that take it, and drop one of the settings.
    """

    kind: str
    settings: tuple[Setting | ForeignSetting, ...]
    message: str
    refuser: str
    refused: tuple[str, ...]
    ignored: tuple[str, ...]

    def setting(self, name: str) -> Setting | ForeignSetting | None:
        """The setting of an option that is involved."""
        return next((each for each in self.settings if each.name == name), None)


def named(job: Job, settings: Sequence[Setting | ForeignSetting], at: Setting | ForeignSetting) -> str:
    """The options for a message: short values, and the lines of those on other lines than `at`.

    "`--mem=4G` (line 3) and `--mem-per-cpu=1G`"
    """
    here = job.line(at.span.start)
    names: list[str] = []
    for setting in settings:
        line = job.line(setting.span.start)
        value = f"={setting.text}" if setting.text and len(setting.text) <= 20 else ""
        names.append(f"`--{setting.name}{value}`" + ("" if line == here else f" (line {line})"))
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


@once
def conflicts(job: Job) -> list[Conflict]:
    """The conflicts of all components, one for each set of settings, in the order in which sbatch meets them.

    A sum that does not come out is none of its own where its settings exclude each other anyway. Settings with a typo
    are left out.
    """
    return [conflict for component in range(job.directives.components) for conflict in _of_component(job, component)]


def _of_component(job: Job, component: int) -> list[Conflict]:
    majors = job.versions.majors
    groups: dict[tuple[Setting | ForeignSetting, ...], list[ClashingSettings]] = {}
    gone: list[ClashingSettings] = []
    for settings in clashing_settings(job.directives, component):
        if any(
            isinstance(setting, Setting) and typo(job.directives, setting) is not None for setting in settings.settings
        ):
            continue
        versions = settings.versions or majors
        if settings.order >= _SUMS:
            versions = tuple(
                version for version in versions if not any(_covers(one, settings, version) for one in gone)
            )
        if versions:
            settings = settings._replace(versions=versions)
            groups.setdefault(settings.settings, []).append(settings)
            if settings.effect == REFUSED:
                gone.append(settings)
    return [_conflict(settings, found, majors) for settings, found in groups.items()]


def _covers(first: ClashingSettings, later: ClashingSettings, version: str) -> bool:
    return version in (first.versions or ()) and not set(first.settings).isdisjoint(later.settings)


def _conflict(
    settings: tuple[Setting | ForeignSetting, ...], found: list[ClashingSettings], majors: tuple[str, ...]
) -> Conflict:
    def releases(effect: str) -> tuple[str, ...]:
        chosen = {version for each in found if each.effect == effect for version in each.versions or majors}
        return tuple(version for version in majors if version in chosen)

    speaking = [each for each in found if each.message]
    newest = max(speaking, key=lambda each: majors.index((each.versions or majors)[-1]), default=found[0])
    refuser = "slurmctld" if newest.stage == CONTROLLER else "sbatch"
    kind, message = found[0].kind, newest.message
    return Conflict(kind, settings, message, refuser, releases(REFUSED), releases(IGNORED))


def task_counts(job: Job) -> list[Counts | None]:
    """The nodes and tasks of each component, as the newest release makes them of the options; None for unknown."""
    directives, newest = job.directives, job.versions.last
    if not directives.certain:
        return [None] * directives.components
    if directives.components == 1:
        return [job.request.counts]
    return [job_counts(values_of(directives, index, newest), newest) for index in range(directives.components)]
