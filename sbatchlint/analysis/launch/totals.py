"""Totals: the workers of all machines that accelerate is told, and what they make on each.

accelerate 1.15 (utils/launch.py): each machine starts num_processes // num_machines workers, and the rest is left out
without a word (run: 3 of 2 machines make a world of 2). With less than one for a machine nothing is started.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.literal_counts import literal_number
from sbatchlint.bash.values import expansions
from sbatchlint.job.launchers import Setting
from sbatchlint.job.worlds import World, find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# What a total is that cannot be meant: the number of one node, one that leaves a rest, less than one for a machine,
# more than the GPUs of a machine, half of them or less.
OF_ONE_NODE, REST, NONE, MANY, FEW = "of one node", "rest", "none", "many", "few"

_OF_NODE = Regex(r"(?:GPU|PROC|PROCESSE|DEVICE|WORKER)S?_?(?:PER|ON)_?NODE|LOCAL_WORLD_SIZE", re.IGNORECASE)


class Total(NamedTuple):
    """A total that does not go with the machines.

    `setting`: --num_processes; `number` its value, None where only its name tells that it is of one node. `machines`:
    how many there are. `gpus`: that each start sees, None where that is not known. `edits`: as a guess.
    """

    world: World
    setting: Setting
    number: int | None
    machines: int
    gpus: int | None
    fault: str
    edits: tuple[Edit, ...] | None

    @property
    def each(self) -> int | None:
        """Workers of a machine."""
        return None if self.number is None else self.number // self.machines


def find_totals(job: Job) -> list[Total]:
    """The totals of a job that do not go with the machines, each once."""
    found: dict[Span, Total] = {}
    for world in find_worlds(job):
        launcher = world.launcher
        if launcher is None or launcher.kind != "accelerate" or launcher.cpu or launcher.hostfile is not None:
            continue
        setting, machines = launcher.total_processes, world.asked.number
        if setting is None or machines is None or machines < 2 or launcher.machines is None:
            continue
        if world.starts_per_node not in (None, 1):
            continue
        number, gpus = setting.number, world.gpus or None
        fault = _fault(setting, number, machines, gpus, _names_node(job, setting))
        if fault is not None:
            edits = _edits(job, setting, launcher.machines, machines, gpus or number)
            found.setdefault(setting.span, Total(world, setting, number, machines, gpus, fault, edits))
    return list(found.values())


def _fault(setting: Setting, number: int | None, machines: int, gpus: int | None, named: bool) -> str | None:
    if named and number != 1 and (gpus is None or number is None or gpus == number):
        return OF_ONE_NODE
    if number is None or number < 1:
        return None
    if number == gpus and gpus > 1:
        return OF_ONE_NODE
    if number < machines:
        return NONE
    if number % machines:
        return REST
    if gpus is None:
        return None
    each = number // machines
    return MANY if each > gpus else FEW if each * 2 <= gpus else None


def _names_node(job: Job, setting: Setting) -> bool:
    """Whether the value is by its name the number of one node's GPUs, and nothing was multiplied."""
    value = setting.value
    if not value or len(value) != 1:
        return False
    if value[0].expansion is None:
        at = value[0].start
        names = [each.name for each in job.assigned if each.span.start <= at < each.span.end]
    else:
        names = [each.name for each in expansions(value)]
    return len(set(names)) == 1 and _OF_NODE.search(names[0]) is not None and not names[0].startswith("$")


def _edits(job: Job, setting: Setting, told: Setting, machines: int, each: int | None) -> tuple[Edit, ...] | None:
    """The number of all machines, where the one of a node stands behind the option itself."""
    value = setting.value
    if each is None or value is None or len(value) != 1 or value[0].expansion is not None:
        return None
    span = value[0].span
    between = job.source.slice(Span(min(setting.span.end, span.start), span.start)).strip()
    if literal_number(job, span) is None or between not in ("", "="):
        return None
    names = [each.name for each in expansions(told.value or ())]
    if not names:
        return (Edit(span, str(machines * each)),)
    if len(names) != 1 or not names[0].startswith("SLURM_"):
        return None
    return (Edit(span, f"$(({names[0]} * {each}))"),)
