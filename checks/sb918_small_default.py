"""The job gets little time or memory: it requests none, and the cluster's default is small.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). Without `--time` a job
gets the partition's `DefaultTime`, and is ended after it (`DUE TO TIME LIMIT`); without any memory option it gets
`DefMemPerCPU` for each of its CPUs, or `DefMemPerNode`, and is killed beyond that. Reported where the time is at most
an hour and the partition allows four times as much, and where a job of GPUs or of a whole node gets a small part of the
node's memory. Advice where no partition is named, as the command line may name another.

## Fix

None: how much the job needs is not known here.

## References

slurm.conf(5), DefaultTime, DefMemPerCPU, DefMemPerNode; sbatch(1), --time and --mem
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.defaults import default_memory
from sbatchlint.analysis.site.demand import demand_of
from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.targets import Target, place, shown, targets
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.request import MEMORY_OPTIONS
from sbatchlint.site.profile import limit, nodes_of, whole_minutes
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
    if default is None or default > SHORT or most is not None and most < 4 * default:
        return
    if not target.request.has_any_option(("time", "time-min")):
        ended = f"ends after {whole_minutes(default)}, the default of {shown(target, name)}"
        message = f"without --time the job {ended}"
        yield Finding(place(job, target.request), f"{message}; add --time", None if target.named else "info")


def _memory(job: Job, target: Target) -> Iterator[Finding]:
    (name,) = target.partitions
    request, partition, profile = target.request, target.profile.partitions[name], target.profile
    if request.has_any_option(MEMORY_OPTIONS) or partition.whole_nodes or not request.asks_for_gpus:
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
    Good("#!/bin/bash\n#SBATCH -p batch -t 1:00:00\nsrun ./solver\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu --gres=gpu:1 -t 60\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p batch\nsrun ./solver\n", title="no profile"),
]  # fmt: skip
