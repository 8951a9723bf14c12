"""Options that sbatch accepts and slurmctld refuses at any site, by release.

`validate_job_create_req()`, `_valid_job_part()`, `_validate_job_desc()` and `_job_create()` of src/slurmctld/job_mgr.c,
`_valid_batch_features()` of job_scheduler.c and the het job handlers of proc_req.c, read in 22.05 to 26.05. Limits,
defaults and names of the site are left out, except for the nodes of `--nodelist`: if these do not exist, the job is
refused with the same message.
"""

import re
from collections.abc import Callable, Iterator

from sbatchlint.slurm.conflicts.by_task import UnknownValue, task_text
from sbatchlint.slurm.conflicts.clash import CONTROLLER, Clash
from sbatchlint.slurm.conflicts.counts import client_counts
from sbatchlint.slurm.conflicts.gpu_arithmetic import Values, gpus_of, resources_of
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.times import UNLIMITED, minutes
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

# In the order in which slurmctld checks them; the grammars of single options come in between (`ORDERS`).
HET_ARRAY, WCKEY, NO_NODES, TIME_MIN, DEADLINE, EXTERNAL = 300, 308, 320, 322, 324, 330
LICENCES, GRES, TRES, EXCLUDED, TASKS, BATCH = 309, 340, 342, 350, 360, 380
# By option, the place in that order of a value that slurmctld cannot parse.
ORDERS = {
    "constraint": 302,
    "prefer": 304,
    "array": 306,
    "nodelist": 310,
    "nodes": NO_NODES,
    "licenses": 332,
    "exclude": 348,
    "dependency": 370,
}
_FAILED = "Batch job submission failed: "


def refused_late(values: Values, version: str, component: int, components: int) -> Iterator[Clash]:
    """The clashes that slurmctld finds in the options of one component, except for sums of GPUs and tasks.

    Rules about unknown values are skipped.
    """
    if components > 1:
        if values.get("array"):
            yield Clash(
                "array-in-het-job", ("array",), f"{_FAILED}Invalid job array specification", HET_ARRAY, CONTROLLER
            )
        if component and (values.get("licenses") or values.get("resources")):
            names = tuple(name for name in ("licenses", "resources") if values.get(name))
            yield Clash("licenses-in-het-job", names, f"{_FAILED}Invalid license specification", LICENCES, CONTROLLER)
    if "external" in values and component == 0:
        yield Clash("external", ("external",), f"{_FAILED}Invalid configuration for external job", EXTERNAL, CONTROLLER)
    for rule in _RULES:
        try:
            yield from rule(values, version)
        except UnknownValue:
            continue


def _known(values: Values, name: str) -> str:
    text = values[name]
    if text is None or UNKNOWN in text:
        raise UnknownValue
    return text


def _wckey(values: Values, version: str) -> Iterator[Clash]:
    if "wckey" in values and not is_before(version, "25.05") and _known(values, "wckey").startswith("*"):
        yield Clash("wckey", ("wckey",), f"{_FAILED}Invalid wckey specification", WCKEY, CONTROLLER)


# As slurmctld compares minutes: no limit is more than any number, and than an option that is not set.
_ENDLESS = 2**32 - 1
_NOT_SET = 2**32 - 2


def _limit(values: Values, name: str) -> int:
    """The time limit in minutes. Raises UnknownValue."""
    if name not in values:
        return _NOT_SET
    found = minutes(_known(values, name))
    if found is None:
        raise UnknownValue
    return _ENDLESS if found == UNLIMITED else found


def _time_min(values: Values, _: str) -> Iterator[Clash]:
    if "time-min" not in values:
        return
    least, most = _limit(values, "time-min"), _limit(values, "time")
    if least > most:
        names = tuple(name for name in ("time", "time-min") if name in values)
        message = f"{_FAILED}Invalid time-min specification (exceeds job's time or other limits)"
        yield Clash("time-min", names, message, TIME_MIN, CONTROLLER)


def _deadline(values: Values, version: str) -> Iterator[Clash]:
    """A time limit that is longer than the time from the begin to the deadline, if both are known.

    Before 23.02 only `--time-min` counts, and it is compared with the time from now to the deadline.
    """
    if "deadline" not in values:
        return
    old = is_before(version, "23.02")
    end = moment(_known(values, "deadline"))
    start = moment(_known(values, "begin")) if "begin" in values and not old else (0, 0)
    least, most = _limit(values, "time-min"), _NOT_SET if old else _limit(values, "time")
    name, needed = ("time-min", least) if least != _NOT_SET else ("time", most)
    if needed == _NOT_SET or end[0] != start[0]:
        return
    left = _seconds(end) - _seconds(start)
    # Daylight saving time may begin or end in between.
    slack = 3600 if end[0] else 0
    if left >= 0 and (needed * 60) % 2**32 > left + slack:
        what = "Requested time limit is invalid (missing or exceeds some limit)"
        if name == "time-min":
            what = "Invalid time-min specification (exceeds job's time or other limits)"
        names = tuple(each for each in ("begin", "deadline", name) if each in values)
        yield Clash("deadline", names, f"{_FAILED}{what}", DEADLINE, CONTROLLER)


_NOW = Regex(r"now(?:\+([0-9]{1,9})(second|minute|hour|day|week)?s?)?", re.ASCII)
_SECONDS = {None: 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_DATE = Regex(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:T([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?)?", re.ASCII)


def moment(string: str | None) -> tuple[int, ...]:
    """A point in time: 0 and seconds from now, or 1 and year, month, day, hour, minute, second. Raises UnknownValue."""
    found = _NOW.fullmatch((string or "").lower())
    if found is not None:
        count, unit = found.groups()
        return 0, parse_integer(count or "0") * _SECONDS[unit]
    date = _DATE.fullmatch((string or "").upper())
    if date is None:
        raise UnknownValue
    return (1, *(parse_integer(part or "0") for part in date.groups()))


def _seconds(point: tuple[int, ...]) -> int:
    if not point[0]:
        return point[1]
    from calendar import timegm  # few jobs have a date

    return timegm((*point[1:], 0, 1, 0))


def _excluded(values: Values, version: str) -> Iterator[Clash]:
    """A node both in `--exclude` and in `--nodelist`; since 23.02 the list may have more nodes than are needed."""
    if "nodelist" not in values or "exclude" not in values or "contiguous" in values:
        return
    included, excluded = (hosts(_known(values, name), version) for name in ("nodelist", "exclude"))
    if not included or not excluded or set(included).isdisjoint(excluded):
        return
    if "nodes" in values or "ntasks" in values:
        # Before 23.02 sbatch cuts a list with more nodes than tasks.
        if len(set(included)) > client_counts(values, version).min_nodes:
            return
    yield Clash(
        "excluded-nodes", ("nodelist", "exclude"), f"{_FAILED}Invalid node name specified", EXCLUDED, CONTROLLER
    )


def _zeros(values: Values, version: str) -> Iterator[Clash]:
    """A count of 0 before others, `gpu:a100:0,gpu:h100:1`, which slurmctld misreads from 23.11 to 24.05."""
    if is_before(version, "23.11") or not is_before(version, "24.11"):
        return
    for names in (("gpus",), ("gpus-per-node", "gres"), ("gpus-per-socket",)):
        present = tuple(name for name in names if name in values)
        counts: list[int] = []
        for name in present:
            items = resources_of(values[name], version) if name == "gres" else gpus_of(values[name], version)
            counts += [item.count for item in items]
        if 0 in counts and any(counts[counts.index(0) :]):
            message = f"{_FAILED}Invalid Trackable RESource (TRES) specification"
            yield Clash("zero-before-others", present, message, TRES, CONTROLLER)


def _gpu_types(values: Values, version: str) -> Iterator[Clash]:
    """`--gpus-per-task=2,a100:1`, in which sbatch reads `2,a100` as a type."""
    if "gpus-per-task" not in values or is_before(version, "24.05"):
        return
    for item in task_text({"gpus-per-task": values["gpus-per-task"]}, version).split(","):
        if item and not item.startswith("gres/"):
            message = f"{_FAILED}Invalid Trackable RESource (TRES) specification"
            yield Clash("gpu-types", ("gpus-per-task",), message, TRES, CONTROLLER)
            return


# The operators between the names in an expression of features.
_SIGNS = Regex(r"\*[ \t]*[0-9]*|[&|,()\[\]]")


def _batch(values: Values, version: str) -> Iterator[Clash]:
    """`--batch` with features that are not in `--constraint` and in `--prefer`, if that is set."""
    if "batch" not in values:
        return
    batch = _known(values, "batch")
    options = tuple(name for name in ("constraint", "prefer") if values.get(name))
    names = [name for name in re.split("[&|]", batch) if name]
    for option in options:
        listed = _SIGNS.split(_known(values, option))
        missing = [name not in listed for name in names]
        # Of alternatives one listed name is enough, if it comes before the others.
        if any(missing) and ("|" not in batch or missing[0]):
            break
    else:
        if options:
            return
    # The message of 24.11.7, the last of its release; 24.11.0 still has the old one.
    noun = "constraints" if is_before(version, "24.11") else "constraint"
    message = f"{_FAILED}Job --batch option is invalid or not a subset of --{noun}"
    yield Clash("batch", ("batch", *options), message, BATCH, CONTROLLER)


_RULES: tuple[Callable[[Values, str], Iterator[Clash]], ...] = (
    _wckey,
    _time_min,
    _deadline,
    _zeros,
    _gpu_types,
    _excluded,
    _batch,
)
