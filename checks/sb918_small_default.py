"""The job gets a small default of time or memory, or the longest possible time: it requests none.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). Without `--time` a job
gets the partition's `DefaultTime`, and is ended after it (`DUE TO TIME LIMIT`); without any memory option it gets
`DefMemPerCPU` for each of its CPUs, or `DefMemPerNode`, and is killed beyond that. Reported where the time is at most
an hour and the partition allows four times as much, and where a job of GPUs or of a whole node gets a small part of the
node's memory; in a partition of whole nodes (`OverSubscribe=EXCLUSIVE`), where it gets less than half of it. Advice
where no partition is named, as the command line may name another.

In a partition without a `DefaultTime` (`NONE`) a job without `--time` gets its `MaxTime`, or no limit where that is
`UNLIMITED` (22.05: a year). Slurm plans with that time: such a job fits no gap that a shorter one would start in
(backfill), nor before a maintenance. That is advice, as the job runs all the same.

## Fix

None: how much the job needs is not known here.

## References

slurm.conf(5), DefaultTime, DefMemPerCPU, DefMemPerNode; sbatch(1), --time and --mem; live runs of 22.05.8 and 26.05.3:
without a DefaultTime, TimeLimit is the MaxTime of the partition, and an hour before a maintenance the job waits where
one with `--time=10` starts
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.defaults import default_memory, default_share
from sbatchlint.analysis.site.demand import demand_of
from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.policy import given_minutes
from sbatchlint.analysis.site.targets import Target, place, shown, targets
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.request import MEMORY_OPTIONS
from sbatchlint.site.profile import NO_DEFAULT, limit, nodes_of, whole_minutes
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB918", "small-default", severity="warning", fix="never", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", batch=True, certain=True, homogeneous=True, absent=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}
# A default of more minutes is one that jobs may rely on.
SHORT = 60
# A job that gets less than this part of a node's memory has a reason to ask.
SMALL = 16


def check(job: Job) -> Iterator[Finding]:
    if stops(job):
        return
    for target in targets(job):
        if len(target.partitions) == 1:
            yield from _time(job, target)
            yield from _memory(job, target)


def _time(job: Job, target: Target) -> Iterator[Finding]:
    (name,) = target.partitions
    partition = target.profile.partitions[name]
    default, most = limit(partition.default_time), limit(partition.max_time)
    if target.request.has_any_option(("time", "time-min")):
        return
    if partition.default_time == NO_DEFAULT and partition.max_time is not None:
        yield from _longest(job, target, name)
    if default is None or default > SHORT or most is not None and most < 4 * default:
        return
    ended = f"ends after {whole_minutes(default)}, the default of {shown(target, name)}"
    message = f"without --time the job {ended}"
    yield Finding(place(job, target.request), f"{message}; add --time", None if target.named else "info")


def _longest(job: Job, target: Target, name: str) -> Iterator[Finding]:
    """The finding on a job that gets all the time that the partition allows, or what its QOS and account do."""
    partition, enforced = target.profile.partitions[name], target.profile.accounting_enforce or ()
    most, given = limit(partition.max_time), given_minutes(target, name, demand_of(target, name))
    if given is not None:
        most = given.minutes if most is None else min(most, given.minutes)
    if most is not None and most <= SHORT:
        return
    bounded = "up to " if {"limits", "safe"} & set(enforced) else ""
    longest = f"{bounded}{whole_minutes(most)}, the most there is" if most is not None else "no limit of time"
    if most is not None or not bounded:
        message = f"without --time the job gets {longest} in {shown(target, name)}, and may start later for it"
        yield Finding(place(job, target.request), f"{message}; add --time", "info")


def _memory(job: Job, target: Target) -> Iterator[Finding]:
    (name,) = target.partitions
    request, partition, profile = target.request, target.profile.partitions[name], target.profile
    if request.has_any_option(MEMORY_OPTIONS):
        return
    if partition.whole_nodes and request.exclusive is None:
        share = default_share(target, name)
        if share is not None and 2 * share.part < share.whole:
            message = f"a job in {shown(target, name)} gets whole nodes, but by default {share.part}M of {share.whole}M"
            message += " memory; add --mem=0"
            yield Finding(place(job, request), message, None if target.named else "info")
        return
    if partition.whole_nodes or not request.asks_for_gpus:
        return
    if request.gpus.per_node is None and request.gpus.total is None or partition.default_memory_per_gpu:
        return
    demand = demand_of(target, name)
    memory = default_memory(profile, partition)
    if memory is None or profile.default_memory_per_gpu:
        return
    by_gpu = partition.default_cpus_per_gpu or 0
    cpus = max(demand.even.cpus, by_gpu * demand.even.gpus if not request.has_option("cpus-per-task") else 0)
    default = memory.megabytes * (1 if memory.per == "node" else cpus)
    least = min((each.memory or 0 for each in nodes_of(profile, name)), default=0)
    if default * SMALL >= least * max(demand.even.gpus, 1):
        return
    span = place(job, request, "gpus-per-node", "gres", "gpus")
    message = f"without --mem the job gets {default}M of a node's {least}M, the default of {shown(target, name)}"
    yield Finding(span, f"{message}; add --mem", None if target.named else "info")


CASES = [
    Bad("#!/bin/bash\n#SBATCH «-p batch»\n#SBATCH --ntasks=8\nsrun ./solver\n", settings=SETTINGS),
    Bad(
        "#!/bin/bash\n#SBATCH -p gpu -t 10:00:00 -c 2\n#SBATCH «--gres=gpu:1»\nsrun ./train\n",
        settings=SETTINGS, title="4 GB for a GPU",
    ),
    Bad("«#!/bin/bash»\n#SBATCH --ntasks=8\nsrun ./solver\n", settings=SETTINGS, severity="info"),
    Bad(
        "#!/bin/bash\n#SBATCH «-p whole» --ntasks=128\nsrun ./solver\n",
        settings=SETTINGS, severity="info", title="a partition without a default time",
    ),
    Good("#!/bin/bash\n#SBATCH -p batch -t 1:00:00\nsrun ./solver\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu --gres=gpu:1 -t 60\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p batch\nsrun ./solver\n", title="no profile"),
]  # fmt: skip
