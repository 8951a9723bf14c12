"""What the foreign directives of a script (`#PBS`, `#BSUB`) do to the job that its `#SBATCH` lines ask for."""

from __future__ import annotations

from typing import NamedTuple

from sbatchlint.analysis.directives.conflicts import conflicts
from sbatchlint.job import Job
from sbatchlint.slurm.directives import Directives, Setting
from sbatchlint.slurm.foreign import Foreign
from sbatchlint.slurm.grammar.numbers import node_count, whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.slurm.model import ForeignSetting
from sbatchlint.slurm.versions import Range, is_before
from sbatchlint.source.text import Span

REFUSED, REPLACES, ADDS = "refused", "replaces", "adds"


class ForeignEffect(NamedTuple):
    """What one part of a foreign directive does.

    `kind`: REFUSED (sbatch or slurmctld refuses the script for it, with `message`), REPLACES (it overrides `block`, a
    setting of the option block, with another value), or ADDS (it sets an option that the block leaves alone).
    `unknown`: the foreign option that sbatch does not know, '' for other effects. `option`: sbatch's option as it comes
    out, with its value; '' where none does. `unit`: what the number in it counts, where the other scheduler's counts
    something else. `versions`: the releases in which this holds, None for all.
    """

    kind: str
    span: Span
    option: str
    message: str
    unknown: str
    unit: str
    block: Setting | None
    versions: tuple[str, ...] | None


def foreign_effects(job: Job) -> list[ForeignEffect]:
    """The effects in the order in which sbatch meets them.

    Where it refuses one of the lines in all releases, it never comes to do anything with the others. What agrees with
    the block, or sbatch leaves out, has no effect.
    """
    directives, foreign = job.directives, job.directives.foreign
    if foreign is None:
        return []
    refused = [*_problems(foreign), *_refused(foreign), *_conflicts(job, foreign)]
    if any(each.versions is None for each in refused):
        return refused
    gone = {(each.span.start, each.option) for each in refused}
    found = [*refused]
    for setting in foreign.settings:
        effect = _effect(directives, setting)
        if effect is not None and (effect.span.start, effect.option) not in gone:
            found.append(effect)
    return found


def _problems(foreign: Foreign) -> list[ForeignEffect]:
    return [
        ForeignEffect(
            REFUSED,
            problem.span,
            "",
            problem.message,
            problem.written if problem.kind == "unknown-option" else "",
            "",
            None,
            problem.versions,
        )
        for problem in foreign.problems
    ]


def _refused(foreign: Foreign) -> list[ForeignEffect]:
    return [
        ForeignEffect(REFUSED, setting.span, written(setting), refusal.message, "", "", None, refusal.versions)
        for setting, refusal in foreign.refused
    ]


def _conflicts(job: Job, foreign: Foreign) -> list[ForeignEffect]:
    """Foreign settings that do not go with others of the job."""
    if not foreign.settings:
        return []
    found: list[ForeignEffect] = []
    for conflict in conflicts(job):
        own = [each for each in conflict.settings if isinstance(each, Setting)]
        others = [each for each in conflict.settings if isinstance(each, ForeignSetting)]
        if not others or not conflict.refused:
            continue
        versions = None if conflict.refused == job.versions.majors else conflict.refused
        block, option = (own[-1] if own else None), written(others[-1])
        found.append(ForeignEffect(REFUSED, others[-1].span, option, conflict.message, "", "", block, versions))
    return list(dict.fromkeys(found))


def _since(within: Range, version: str) -> tuple[str, ...] | None:
    """The releases of the range from this one on; None for all of them."""
    found = tuple(each for each in within.majors if not is_before(each, version))
    return None if len(found) == len(within.majors) else found


def _effect(directives: Directives, setting: ForeignSetting) -> ForeignEffect | None:
    if setting.value is not None and setting.text is None:
        return None
    block: Setting | None = None
    for component in range(directives.components):
        found = directives.last(setting.name, component)
        if found is None:
            continue
        if not found.known:
            return None
        block = block or found
        versions = setting.versions
        if setting.name == "mail-type" and _covers(found.value, setting.value):
            # Until 24.11 the types of several directives came together.
            versions = _since(directives.versions, "25.05")
        if versions != () and not _agree(setting, setting.over(found.value), found.value):
            option = written(setting, setting.over(found.value))
            return ForeignEffect(REPLACES, setting.span, option, "", "", unit(setting), found, versions)
    if block is not None or not directives.certain or _follows(directives, setting):
        return None
    return ForeignEffect(ADDS, setting.span, written(setting), "", "", unit(setting), None, setting.versions)


def _agree(setting: ForeignSetting, new: str | None, old: str | None) -> bool:
    """Whether two values of an option mean the same."""
    if new == old:
        return True
    if new is None or old is None or setting.option is None:
        return False
    kind = setting.option.kind
    if kind == "time":
        return minutes(new) is not None and minutes(new) == minutes(old)
    if kind == "mem":
        return megabytes(new) is not None and megabytes(new) == megabytes(old)
    if kind == "node-count":
        return node_count(new) is not None and node_count(new) == node_count(old)
    if kind == "mail-type":
        return set(new.upper().split(",")) == set(old.upper().split(","))
    return whole(new) is not None and whole(new) == whole(old)


def _covers(old: str | None, new: str | None) -> bool:
    """Whether these mail types have all of those that `-m abe` can add."""
    types = set((old or "").upper().split(","))
    return "ALL" in types or types >= set((new or "").split(","))


def _follows(directives: Directives, setting: ForeignSetting) -> bool:
    """Whether it is the number of tasks that the block asks for in other words."""
    nodes, each = directives.last("nodes"), directives.last("ntasks-per-node")
    if setting.name != "ntasks" or nodes is None or each is None:
        return False
    count, tasks = whole(nodes.text), whole(each.text)
    return count is not None and tasks is not None and setting.text == str(count * tasks)


def written(setting: ForeignSetting, value: str | None = None) -> str:
    """An option of sbatch as it would be written; `value`: instead of the setting's own."""
    if setting.option is None:
        return f"umask {setting.value}"
    shown = setting.value if value is None else value
    return f"--{setting.name}" if shown is None else f"--{setting.name}={shown}"


def unit(setting: ForeignSetting) -> str:
    """What sbatch counts in, where PBS and LSF mean seconds, hours and minutes, or bytes."""
    value = setting.text or ""
    if setting.name == "time" and value.isdigit():
        return "minutes"
    if setting.name == "time" and value.count(":") == 1 and "-" not in value:
        return "minutes and seconds"
    return "megabytes" if setting.name in ("mem", "tmp") and value.isdigit() else ""
