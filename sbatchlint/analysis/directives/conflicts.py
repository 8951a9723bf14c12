"""Options of the job that do not go together, with what each release of Slurm does with them."""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.conflicts.clash import CONTROLLER, IGNORED, REFUSED
from sbatchlint.slurm.conflicts.clashing_settings import ClashingSettings, clashing_settings, values_of
from sbatchlint.slurm.conflicts.counts import Counts, job_counts
from sbatchlint.slurm.model import ForeignSetting, Setting

# Rules from this order on compare sums. A sum says nothing where its settings exclude each other anyway.
_SUMS = 200


class Conflict(NamedTuple):
    """Settings that conflict, with what each release does with them.

    `kind`: the rule that sbatch applies first. `message`: that of the newest release that prints one, '' for none;
    `refuser`: what prints it, `sbatch` or `slurmctld`. `refused`: the releases of the range that refuse the job;
    `ignored`: those that accept it and drop one of the settings.
    """

    kind: str
    settings: tuple[Setting | ForeignSetting, ...]
    message: str
    refuser: str
    refused: tuple[str, ...]
    ignored: tuple[str, ...]

    def setting(self, name: str) -> Setting | ForeignSetting | None:
        """The conflicting setting of this option; None if it is not part of the conflict."""
        return next((each for each in self.settings if each.name == name), None)


def named(job: Job, settings: Sequence[Setting | ForeignSetting], at: Setting | ForeignSetting) -> str:
    """The options as a message names them, with short values, and with line numbers where these differ from `at`'s.

    "`--mem=4G` (line 3) and `--mem-per-cpu=1G`"
    """
    here = job.line(at.span.start)
    names: list[str] = []
    for setting in settings:
        line = job.line(setting.span.start)
        value = f"={setting.text}" if setting.text and len(setting.text) <= 20 else ""
        names.append(f"`--{setting.name}{value}`" + ("" if str(line) == str(here) else f" (line {line})"))
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


@once
def conflicts(job: Job) -> list[Conflict]:
    """The conflicts of all components, one per set of settings, in the order in which sbatch checks them.

    A wrong sum is left out where its settings exclude each other anyway, and so are settings with a typo.
    """
    return [conflict for component in range(job.directives.components) for conflict in _of_component(job, component)]


def _of_component(job: Job, component: int) -> list[Conflict]:
    majors = job.versions.majors
    groups: dict[tuple[Setting | ForeignSetting, ...], list[ClashingSettings]] = {}
    refused: list[ClashingSettings] = []
    for settings in clashing_settings(job.directives, component):
        if any(
            isinstance(setting, Setting) and typo(job.directives, setting) is not None for setting in settings.settings
        ):
            continue
        versions = settings.versions or majors
        if settings.order >= _SUMS:
            versions = tuple(
                version for version in versions if not any(_covers(earlier, settings, version) for earlier in refused)
            )
        if versions:
            settings = settings._replace(versions=versions)
            groups.setdefault(settings.settings, []).append(settings)
            if settings.effect == REFUSED:
                refused.append(settings)
    return [_conflict(settings, found, majors) for settings, found in groups.items()]


def _covers(first: ClashingSettings, later: ClashingSettings, version: str) -> bool:
    return version in (first.versions or ()) and not set(first.settings).isdisjoint(later.settings)


def _conflict(
    settings: tuple[Setting | ForeignSetting, ...], found: list[ClashingSettings], majors: tuple[str, ...]
) -> Conflict:
    def releases(effect: str) -> tuple[str, ...]:
        chosen = {version for each in found if each.effect == effect for version in each.versions or majors}
        return tuple(version for version in majors if version in chosen)

    with_message = [each for each in found if each.message]
    newest = max(with_message, key=lambda each: majors.index((each.versions or majors)[-1]), default=found[0])
    refuser = "slurmctld" if newest.stage == CONTROLLER else "sbatch"
    kind, message = found[0].kind, newest.message
    return Conflict(kind, settings, message, refuser, releases(REFUSED), releases(IGNORED))


def task_counts(job: Job) -> list[Counts | None]:
    """The nodes and tasks of each component, as the newest release computes them; None where they are not known."""
    directives, newest = job.directives, job.versions.last
    if not directives.certain:
        return [None] * directives.components
    if directives.components == 1:
        return [job.request.counts]
    return [job_counts(values_of(directives, index, newest), newest) for index in range(directives.components)]
