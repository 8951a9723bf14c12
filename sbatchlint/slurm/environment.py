"""The environment that Slurm sets: which variables exist in which phase and release, and by which options.

Read from setup_env(), env_array_for_job() and env_array_for_step() of Slurm's src/common/env.c, from
src/slurmctld/job_scheduler.c and src/interfaces/gres.c (20.11 to 26.05), and compared with the environments of live
jobs on 22.05, 23.11, 24.11 and 26.05. The submit shell has none of them, unless it is itself part of a job.
"""

import json
import os.path
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.options import all_options
from sbatchlint.slurm.versions import expand

_DATA = os.path.join(os.path.dirname(__file__), "data", "environment.json")
# `SLURM_JOB_ID_HET_GROUP_0`, and its older spelling.
_GROUPS = ("_HET_GROUP_", "_PACK_GROUP_")
_PREFIXES = ("SLURM_", "SLURMD_")


# Older names that are kept for old scripts, and the current ones.
CURRENT_NAMES = {
    "SLURM_JOBID": "SLURM_JOB_ID",
    "SLURM_NODELIST": "SLURM_JOB_NODELIST",
    "SLURM_NNODES": "SLURM_JOB_NUM_NODES",
    "SLURM_NPROCS": "SLURM_NTASKS",
}


class Entry(NamedTuple):
    """A variable that Slurm sets.

    `batch`, `task`: the releases in which the batch shell or a task may have it. `when`, `task_when`: on which
    condition: `always`; `options` (one of `options` is set); `gpus` (the job or step has some); `array`; `het`;
    `requeue`; `maybe` (the site decides, or no rule is known). `varies`: `task` or `node` if it differs between these;
    "" if all tasks of a step have the same. `value`: the value in the batch shell, if that is known: `0`,
    `first node` (that of the first node), `nodes`, `tasks` (the numbers of the job), `option NAME` (the value as set).
    `twin`: the variable that the batch shell has instead.
    """

    name: str
    batch: frozenset[str]
    task: frozenset[str]
    when: str
    task_when: str
    options: tuple[str, ...]
    varies: str
    value: str
    twin: str | None

    @property
    def option(self) -> str | None:
        """The option whose value it holds; None for other variables."""
        return self.value.removeprefix("option ") if self.value.startswith("option ") else None


def _entry(row: Mapping[str, Any]) -> Entry:
    return Entry(
        row["name"],
        expand(row["batch"]) if row["batch"] else frozenset(),
        expand(row["task"]),
        row["when"],
        row.get("task_when", row["when"]),
        tuple(row.get("options", ())),
        row.get("varies", ""),
        row.get("value", ""),
        row.get("twin"),
    )


@cache
def _data() -> Any:
    with open(_DATA, encoding="utf-8") as file:
        return json.load(file)


@cache
def variables() -> Mapping[str, Entry]:
    """The variables of jobs, by name."""
    return {row["name"]: _entry(row) for row in _data()["variables"]}


@cache
def _inputs() -> frozenset[str]:
    return frozenset([name for each in all_options() for names in each.environment.values() for name in names])


def is_input(name: str) -> bool:
    """Whether a command of Slurm takes an option from this variable."""
    return name in _inputs()


def set_beside(name: str) -> str | None:
    """The variable of jobs beside one that only srun reads (`SLURM_PARTITION`: `SLURM_JOB_PARTITION`); else None."""
    meant = f"SLURM_JOB_{name.removeprefix('SLURM_')}"
    return meant if meant in variables() and name not in variables() and is_input(name) else None


def find(name: str) -> Entry | None:
    """The variable of this name, also that of one component of a heterogeneous job; None for an unknown name."""
    for group in _GROUPS:
        before, found, _ = name.partition(group)
        if found:
            whole = variables().get(before)
            if whole is None:
                return None
            return whole._replace(name=name, when="het", task_when="het", options=(), value="")
    return variables().get(name)


@lru_cache(maxsize=1024)  # several checks look up each unset name
def glued_to(name: str) -> str | None:
    """The variable whose name runs into following text, as in `SLURM_JOB_ID_` and `SLURM_JOB_ID_run`; else None."""
    if find(name) is not None:
        return None
    for end in range(len(name) - 1, 0, -1):
        rest = name[end:].strip("_0123456789")
        if rest and not rest.islower():
            return None
        if find(name[:end]) is not None:
            return name[:end]
    return None


@cache
def known_names() -> frozenset[str]:
    """All names that Slurm sets or reads anywhere, and those that sites commonly add."""
    read = {name for option in all_options() for names in option.environment.values() for name in names}
    return frozenset({*variables(), *_data()["others"], *read})


class Misspelling(NamedTuple):
    """The probable intention behind a name that Slurm does not set; `certain`: no other name is near."""

    meant: str
    certain: bool


@lru_cache(maxsize=1024)
def misspelling_of(name: str) -> Misspelling | None:
    """The variable probably meant by an unknown name; None for known names and for those that are near no variable."""
    if not name.startswith(_PREFIXES):
        prefix, _, rest = name.partition("_")
        meant = f"SLURM_{rest}"
        return Misspelling(meant, True) if find(meant) is not None and edit_distance(prefix, "SLURM") == 1 else None
    if name in known_names() or find(name) is not None:
        return None
    if any(group[:-1] in name for group in _GROUPS):
        return None
    known = _data()["mistaken"]
    if name in known:
        return Misspelling(known[name], True)
    plain = _plain(name)
    same = [each for each in variables() if _plain(each) == plain]
    if same:
        return Misspelling(same[0], len(same) == 1)
    limit = 2 if len(plain) > 9 else 1
    near = [each for each in variables() if each.startswith(_PREFIXES) and _may_be_near(plain, _plain(each), limit)]
    distances = {each: edit_distance(plain, _plain(each)) for each in near}
    least = min(distances.values(), default=limit + 1)
    if least > limit:
        return None
    near = [each for each, distance in distances.items() if distance == least]
    return Misspelling(near[0], least == 1 and len({_plain(each) for each in near}) == 1)


def is_plain_misspelling(name: str, misspelling: Misspelling) -> bool:
    """Whether the names differ only by underscores and one letter, so that it cannot be the user's own variable."""
    return misspelling.certain and edit_distance(_plain(name), _plain(misspelling.meant)) <= 1


def _plain(name: str) -> str:
    """A name without its prefix and its underscores, which people forget."""
    return name.partition("_")[2].replace("_", "")


def _may_be_near(first: str, second: str, limit: int) -> bool:
    """Whether two names may be within this distance, by their lengths and letters."""
    return abs(len(first) - len(second)) <= limit and len(set(first) ^ set(second)) <= 2 * limit
