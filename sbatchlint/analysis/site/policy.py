"""What the QOS of a job, the one of its partition, and its account allow it.

`_acct_policy_validate()`, `_qos_policy_validate()` and `acct_policy_set_qos_order()` in src/slurmctld/acct_policy.c,
the same from 22.05 to 26.05; tests/slurm/test_site_live.py asks a live controller with slurmdbd. The limits of the
partition's QOS count before those of the job's own, unless that has OverPartQOS; what the first leaves open, the second
decides, and what both leave open, the account. Where one of the two QOS has DenyOnLimit, a job beyond a limit is
refused, else it waits; too many jobs are refused in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.defaults import default_memory
from sbatchlint.analysis.site.names import licences_of
from sbatchlint.analysis.site.targets import Target, account_of, qos_name, qos_of, whose_account
from sbatchlint.job.request import GPU_OPTIONS, MEMORY_OPTIONS, Memory
from sbatchlint.site.profile import limit, lists, nodes_of, whole_minutes
from sbatchlint.slurm.grammar.arrays import indexes
from sbatchlint.slurm.grammar.times import UNLIMITED, minutes

if TYPE_CHECKING:
    from sbatchlint.analysis.site.demand import Demand
    from sbatchlint.site.model import Accounts, Partition, Qos

# The limits of a QOS by the name of their field, as Slurm looks at them, and whom they are for.
_PER_NODE = "max_tres_per_node"
_LIMITS = {
    "max_tres_per_account": "an account",
    "max_tres_per_user": "a user",
    "group_tres": "all its jobs together",
    "max_tres": "a job",
    _PER_NODE: "a node",
}
_JOBS = {
    "max_submitted_jobs_per_user": "a user",
    "max_submitted_jobs_per_account": "an account",
    "max_submitted_jobs": "all users together",
}


# The same of an account, and what of a QOS counts in place of it.
_JOBS_OF_ACCOUNT = (
    ("max_submitted_jobs_of_all", ("max_submitted_jobs",), "all its users together"),
    ("max_submitted_jobs", ("max_submitted_jobs_per_user", "max_submitted_jobs_per_account"), "a user"),
)
_MINUTES = ("max_tres_minutes", "group_tres_minutes", "group_tres_run_minutes")


class Beyond(NamedTuple):
    """A limit that a job does not keep. `kind`: "tres", "time" or "jobs"; `options`: those that ask for it."""

    kind: str
    asks: str
    says: str
    waits: bool
    options: tuple[str, ...]


def beyond_qos(target: Target, name: str, demand: Demand) -> list[Beyond]:
    """The limits of QOS that a job in a partition does not keep; none where they are not enforced, or not known."""
    enforced = target.profile.accounting_enforce or ()
    every = _in_order(target, target.profile.partitions[name])
    if not every or not {"limits", "safe"} & set(enforced):
        return []
    waits = not any(each.denies for _, each in every)
    asked = _asked_minutes(target, name)
    found = [*_of_jobs(target, every), *_of_time(asked, every, waits)]
    counts = _counted(target, name, demand)
    for field in _MINUTES:
        found += _products(asked, _limits(field, every), counts, waits)
    for field in _LIMITS:
        found += _of_tres(field, _limits(field, every), counts, waits)
    exact = not waits and target.request.counts is not None
    for tres, (whose, least) in _limits("min_tres", every).items() if exact else ():
        if counts.get(tres, least) < least:
            says = f"{whose} takes no job below {_amount(least, tres)}"
            found.append(Beyond("tres", _amount(counts[tres], tres), says, False, _OPTIONS.get(tres, GPU_OPTIONS)))
    account = account_of(target.profile, target.request)
    if account is not None and (lists(target.profile, "qos") and qos_name(target) in target.profile.qos):
        found += _of_account(target, account, every, asked, counts, waits)
    return found


def _of_account(
    target: Target, account: Accounts, every: list[tuple[str, Qos]], asked: int | None, counts: dict[str, int],
    waits: bool,
) -> Iterator[Beyond]:  # fmt: skip
    """The limits of the account that a job does not keep, and that no QOS replaces: `_acct_policy_validate()`."""
    whose, factor = whose_account(target.request), _factor(every)
    array = indexes(target.request.array)
    for field, replaced, whom in _JOBS_OF_ACCOUNT:
        most = getattr(account, field)
        open_ = all(getattr(qos, each) is None for _, qos in every for each in replaced)
        if most is not None and array is not None and array.tasks > most and open_:
            yield Beyond("jobs", f"{array.tasks} jobs", f"{whose} allows {whom} {most}", False, ("array",))
    for field in ("group_time", "max_time"):
        most = limit(getattr(account, field))
        if most is not None and not any(limit(getattr(qos, field)) for _, qos in every) and _is_longer(asked, most):
            yield Beyond("time", _said(asked), f"{whose} allows {whole_minutes(most)}", waits, ("time",))

    def left_open(field: str, times: float = 1) -> dict[str, tuple[str, int]]:
        taken = _limits(field, every)
        own = getattr(account, field).items()
        return {tres: (whose, floor(most * times)) for tres, most in own if tres not in taken}

    for field in _MINUTES:
        yield from _products(asked, left_open(field), counts, waits)
    for field, times in (("group_tres", factor), ("max_tres", factor), (_PER_NODE, 1)):
        yield from _of_tres(field, left_open(field, times), counts, waits)


def most_nodes(target: Target, name: str) -> int | None:
    """The nodes that a job in a partition may have by QOS (`acct_policy_get_max_nodes()`); None for no limit."""
    if not {"limits", "safe"} & set(target.profile.accounting_enforce or ()):
        return None
    every = _in_order(target, target.profile.partitions[name])
    fields = ("max_tres_per_account", "max_tres_per_user", "group_tres", "max_tres")
    found = {field: limits["node"][1] for field in fields if "node" in (limits := _limits(field, every))}
    account = account_of(target.profile, target.request)
    if account is not None and qos_name(target) in target.profile.qos:
        factor = _factor(every)
        of_job = {"max_tres"} if not found.keys() - {"group_tres"} else set()
        for field in {"group_tres", *of_job} - found.keys():
            if "node" in getattr(account, field):
                found[f"{field} of the account"] = floor(getattr(account, field)["node"] * factor)
    return min(found.values(), default=None)


def _factor(every: list[tuple[str, Qos]]) -> float:
    """How many times the limits of an account count with these QOS."""
    return next((qos.limit_factor for _, qos in every if qos.limit_factor is not None), None) or 1


class Given(NamedTuple):
    """The minutes that a job without --time has by a limit, and whose limit that is."""

    minutes: int
    whose: str


def given_minutes(target: Target, name: str, demand: Demand) -> Given | None:
    """What a job without --time has in a partition without DefaultTime; None where that is not a limit, or not known.

    `_set_time_limit()`: the limits of time, and those of resources times minutes, become the time of the job, also
    where the partition allows less and then refuses it. Of an account alone: the first, if no QOS has DenyOnLimit.
    """
    account, enforced = account_of(target.profile, target.request), target.profile.accounting_enforce or ()
    known = limit(target.profile.partitions[name].default_time) is None and not target.request.has_option("time")
    if not known or account is None or account.differs or not {"limits", "safe"} & set(enforced):
        return None
    every = _in_order(target, target.profile.partitions[name])
    if qos_name(target) not in target.profile.qos or not every:
        return None
    strict, whose = any(each.denies for _, each in every), whose_account(target.request)
    counts = _counted(target, name, demand)
    found: list[Given] = []
    for field in _MINUTES if strict else ():
        limits = {tres: (whose, most) for tres, most in getattr(account, field).items()} | _limits(field, every)
        found += [Given(most // counts[tres], own) for tres, (own, most) in limits.items() if counts.get(tres)]
    of_account = []
    for field in ("max_time", "group_time"):
        own = next(((qos, limit(getattr(each, field))) for qos, each in every if limit(getattr(each, field))), None)
        if own is not None:
            found.append(Given(own[1] or 0, f"the QOS `{own[0]}`"))
        elif most := limit(getattr(account, field)):
            of_account.append(Given(most, whose))
    found += of_account if strict else of_account[:1] if not found else []
    return min((each for each in found if each.minutes), default=None)


_OPTIONS = {
    "cpu": ("cpus-per-task", "ntasks", "ntasks-per-node", "nodes"),
    "node": ("nodes", "nodelist"),
    "mem": MEMORY_OPTIONS,
}


def _in_order(target: Target, partition: Partition) -> list[tuple[str, Qos]]:
    """The QOS by name in the order in which their limits count; empty where one that counts first is not known."""
    profile, own = target.profile, qos_of(target)
    of_partition = profile.qos.get(partition.qos or "")
    if partition.qos is not None and of_partition is None:
        return []
    pair = [] if of_partition is None else [(partition.qos or "", of_partition)]
    if own is not None:
        first = (qos_name(target) or "", own)
        if first in pair:
            return pair
        return [first, *pair] if "OverPartQOS" in own.flags else [*pair, first]
    # The QOS that a user has by default is not known.
    over = not lists(profile, "qos") or any("OverPartQOS" in each.flags for each in profile.qos.values())
    return [] if over or target.request.has_option("qos") else pair


def _limits(field: str, every: list[tuple[str, Qos]]) -> dict[str, tuple[str, int]]:
    """The limits of a field that count, by what they are of: whose each is, and the number."""
    found: dict[str, tuple[str, int]] = {}
    for name, qos in every:
        for tres, number in getattr(qos, field).items():
            found.setdefault(tres, (f"the QOS `{name}`", number))
    return found


def _of_jobs(target: Target, every: list[tuple[str, Qos]]) -> list[Beyond]:
    array = indexes(target.request.array)
    found = []
    for field, whom in _JOBS.items() if array is not None else ():
        own = next(((name, getattr(qos, field)) for name, qos in every if getattr(qos, field) is not None), None)
        if own is not None and array is not None and array.tasks > own[1]:
            says = f"the QOS `{own[0]}` allows {whom} {own[1]}"
            found.append(Beyond("jobs", f"{array.tasks} jobs", says, False, ("array",)))
    return found


def _asked_minutes(target: Target, name: str) -> int | None:
    """The minutes that a job asks for, or has by the partition; None where there is no number."""
    if not target.request.has_option("time"):
        return limit(target.profile.partitions[name].default_time)
    return minutes(target.request.value("time"))


def _is_longer(asked: int | None, most: int) -> bool:
    return asked is not None and (asked == UNLIMITED or asked > most)


def _said(asked: int | None) -> str:
    return "an unlimited time" if not asked else whole_minutes(asked)


def _of_time(asked: int | None, every: list[tuple[str, Qos]], waits: bool) -> Iterator[Beyond]:
    for field in ("max_time", "group_time"):
        known = [(own, most) for own, most in ((own, limit(getattr(qos, field))) for own, qos in every) if most]
        if known and _is_longer(asked, known[0][1]):
            own, most = known[0]
            says = f"the QOS `{own}` allows {whole_minutes(most)}"
            yield Beyond("time", _said(asked), says, waits, ("time",))


def _of_tres(field: str, limits: dict[str, tuple[str, int]], counts: dict[str, int], waits: bool) -> Iterator[Beyond]:
    for tres, (whose, most) in limits.items():
        number = counts.get(tres, 0) // (counts["node"] if field == _PER_NODE else 1)
        if number > most:
            says = f"{whose} allows {_LIMITS[field]} {_amount(most, tres)}"
            yield Beyond("tres", _amount(number, tres), says, waits, _OPTIONS.get(tres, GPU_OPTIONS))


def _products(
    asked: int | None, limits: dict[str, tuple[str, int]], counts: dict[str, int], waits: bool
) -> Iterator[Beyond]:
    """Limits of resources times minutes: what they leave of the time, `_validate_time_limit()`."""
    for tres, (whose, most) in limits.items():
        number = counts.get(tres, 0)
        if number and _is_longer(asked, most // number):
            says = f"{whose} allows {most} minutes of all its {_plural(tres)}"
            asks = f"{_amount(number, tres)} for {_said(asked)}"
            yield Beyond("time", asks, says, waits, ("time",))


def _counted(target: Target, name: str, demand: Demand) -> dict[str, int]:
    """What Slurm counts of a job when it is submitted, in its words, memory in MB; without what is not known.

    `_job_create()` and `job_get_tres_mem()` in src/slurmctld/job_mgr.c: CPUs by the number of tasks, even where the job
    gets more for its GPUs, and the nodes that are the least.
    """
    request, found = target.request, {"node": demand.nodes}
    if request.counts is not None:
        tasks = max(request.counts.ntasks, 1)
        cpus = 1 if request.has_option("overcommit") else tasks * (request.counts.cpus_per_task or 1)
        found["cpu"] = max(cpus, demand.nodes)
        memory = _memory(target, name)
        if memory is not None:
            found["mem"] = memory.megabytes * {"cpu": found["cpu"], "gpu": demand.total_gpus}.get(
                memory.per, demand.nodes
            )
    if demand.total_gpus or request.asks_for_gpus is False or request.declines_gpus:
        found["gres/gpu"] = demand.total_gpus
        if demand.kind:
            found[f"gres/gpu:{demand.kind}"] = demand.total_gpus
    return found | {f"license/{each}": number for each, number in licences_of(request).items()}


def _memory(target: Target, name: str) -> Memory | None:
    """The memory that a job asks for, or gets without asking; all of a node is that of the smallest."""
    request, profile = target.request, target.profile
    if not request.has_any_option(MEMORY_OPTIONS):
        return default_memory(profile, profile.partitions[name])
    memory = request.memory
    if memory is None or memory.megabytes:
        return memory
    # of several partitions, which one it is that the controller looks at is not known
    sizes = [each.memory for other in target.partitions for each in nodes_of(profile, other)]
    return Memory(min(size or 0 for size in sizes), "node") if sizes and all(sizes) else None


def _amount(number: int, tres: str) -> str:
    """`4 GPUs`, `64 CPUs`, `102400M of memory`."""
    if tres == "mem":
        return f"{number}M of memory"
    kind, _, name = tres.partition("/")
    words = {"cpu": "CPU", "node": "node", "gres": "GPU" if name.partition(":")[0] == "gpu" else name, "license": name}
    word = words.get(kind, tres)
    of = f" of type {name[4:]}" if name.startswith("gpu:") else ""
    return f"{number} {word}{'s' if number != 1 and kind in ('cpu', 'node', 'gres') else ''}{of}"


def _plural(tres: str) -> str:
    """`CPUs`, `GPUs`, `MB`: what is counted."""
    return "MB" if tres == "mem" else _amount(2, tres).removeprefix("2 ")
