"""GPUs or CPUs stay idle: the job requests only a part of the nodes that the partition gives it, or no GPUs.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). All nodes of the
partition have GPUs, and other nodes have none: what the job holds of their CPUs and memory keeps others from the GPUs,
and it waits longer than in a partition without. In a partition of whole nodes (`OverSubscribe=EXCLUSIVE`) the GPUs that
are not asked for stay idle and are paid for. Where the script uses GPUs without asking, gpus-not-requested says so.

In such a partition a job of `--ntasks=4` also has, and pays for, all CPUs of its nodes. That it requests at most a
quarter of those of a node is advice, as its programs may have threads that use the others; nothing is said where the
script counts them (`nproc`, `SLURM_CPUS_ON_NODE`), starts several programs at once, or where the job needs much memory,
spreads its tasks over nodes, or is `--exclusive`. It is a warning where the job only runs programs that have one
thread, and the cluster has partitions whose nodes are shared.

## Fix

None: another partition, or more work for the node.

## References

slurm.conf(5), OverSubscribe: such a job has NumCPUs=64 on a node of 64 CPUs, with `-n 4` (22.05.8, 26.05.3);
`scontrol show node`, Gres
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.analysis.gpus.gpu_use import gpu_need
from sbatchlint.analysis.launch.serial_programs import has_one_thread
from sbatchlint.analysis.script.threads import STARTERS, THREAD_VARIABLE, one_thread, thread_options
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.site.demand import demand_of
from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.targets import Target, place, shown, targets
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import basename
from sbatchlint.job.python.program import python_program
from sbatchlint.programs import has_trait
from sbatchlint.site.profile import gpus_of, nodes_of
from sbatchlint.triggers import KnownCluster

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes, Profile

CARD = Card(
    "SB917", "partition-not-used", severity="warning", fix="never", since="0.1.0", when=KnownCluster(),
    seen="slurm.conf(5), OverSubscribe", batch=True, certain=True, homogeneous=True, absent=True,
    unseen="Nothing: the GPUs of the node stay idle, and the job waits longer than it need.",
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}
LUMI = {"site": {"profile": "lumi"}}
# A request for one of so many parts of a node's CPUs is small: MPI programs are often given half of them on purpose.
PART = 4
_CPUS = ("ntasks", "ntasks-per-node", "cpus-per-task")
# Options that say how the work lies on a node, which is then one's own on purpose.
_PLACED = (
    "exclusive", "ntasks-per-socket", "ntasks-per-core", "hint", "distribution", "mincpus", "cores-per-socket",
    "sockets-per-node", "extra-node-info", "threads-per-core", "core-spec", "thread-spec", "overcommit", "tmp",
    "cpu-freq", "network",
)  # fmt: skip
# How a script learns what its node has.
_COUNTS = frozenset({"SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE"})
_COUNTERS = frozenset({"nproc", "lscpu", "getconf", "taskset", "numactl", "hwloc-bind", "hwloc-calc"})


def check(job: Job) -> Iterator[Finding]:
    if stops(job):
        return
    for target in targets(job):
        request = target.request
        kinds = [each for name in target.partitions for each in nodes_of(target.profile, name)]
        gpus = [gpus_of(each) or 0 for each in kinds]
        if not kinds or not target.named:
            continue
        whole = all(target.profile.partitions[each].whole_nodes for each in target.partitions)
        if whole and len(target.partitions) == 1 and not any(gpus) and request.asks_for_gpus is False:
            yield from _cpus(job, target, kinds)
        if not all(gpus):
            continue
        name = shown(target, target.partitions[0])
        most = f"{min(gpus)} GPUs" if min(gpus) > 1 else "a GPU"
        asked = request.gpus_per_node()
        elsewhere = any(gpus_of(each) == 0 for each in target.profile.nodes)
        none = request.asks_for_gpus is False and not request.declines_gpus and job.site.gpus == "gres"
        if none and elsewhere and not whole and gpu_need(job) is None:
            message = f"each node of {name} has {most}, but the job requests none; choose a partition without GPUs"
            yield Finding(place(job, request), message)
        elif whole and asked is not None and 0 < asked < min(gpus):
            message = f"a job in {name} gets whole nodes, but requests {asked} of {min(gpus)} GPUs"
            message += ": the others stay idle; request all"
            yield Finding(place(job, request, "gpus-per-node", "gres", "gpus"), message)


def _cpus(job: Job, target: Target, kinds: "list[Nodes]") -> Iterator[Finding]:
    """The finding on the CPUs of whole nodes of which the job requests a small part."""
    request, (name,) = target.request, target.partitions
    demand = demand_of(target, name)
    sizes, memory = [each.cpus for each in kinds], [each.memory or 0 for each in kinds]
    if request.counts is None or None in sizes or request.has_any_option(_PLACED) or request.foreign_settings():
        return
    least, asked = min(each for each in sizes if each is not None), -(-demand.total_cpus // max(demand.nodes, 1))
    spread = demand.nodes > 1 and request.has_any_option(("ntasks-per-node", "cpus-per-task"))
    large = request.has_option("mem") and (request.memory is None or request.memory.megabytes == 0)
    large = large or max(demand.even.memory, demand.memory_per_cpu * asked) * PART > min(memory)
    if asked * PART > least or spread or large or job.program.errors or job.limits.exhausted:
        return
    if _may_use_all(job, asked):
        return
    other = _sharing(target.profile)
    gets = f"a job in {shown(target, name)} gets whole nodes"
    serial = _only_with_one_thread(job) if asked == 1 and demand.nodes == 1 and other else None
    if serial is not None:
        uses = f"`{basename(serial.argv[0])}` uses one of {least} CPUs"
        message = f"{gets}, and {uses}; choose partition `{other}`, which shares nodes"
        yield Finding(place(job, request, *_CPUS), message, related=[(serial.name_span, "has one thread")])
    elif request.has_any_option(_CPUS) and (request.effective_tasks() == 1 or job.steps or job.launches):
        instead = f", or choose partition `{other}`, which shares nodes" if other else ""
        message = f"{gets}, of {least} CPUs, but requests {asked}; use all{instead}"
        yield Finding(place(job, request, *_CPUS), message, "info")


def _may_use_all(job: Job, asked: int) -> bool:
    """Whether the script counts the CPUs of its node, is told of more than it requests, or starts several programs."""
    if not _COUNTS.isdisjoint(read_names(job)):
        return True
    for command in job.invocations:
        if command.name in _COUNTERS or command.name in STARTERS or has_trait(command.name, "repeats"):
            return True
        if command.context.background is not None and weight(job, command) >= Weight.PROGRAM:
            return True
        if any(option.number is None or option.number > asked for option in thread_options(command)):
            return True
        if one_thread(command) is not None and asked >= PART:
            return True  # cpus-not-used reports it
    for assignment in job.assignments:
        if THREAD_VARIABLE.fullmatch(assignment.name) and job.source.slice(assignment.span).rpartition("=")[2] != "1":
            return True
    return any(step.tasks is None or step.tasks > asked * (step.nodes or 1) for step in job.steps)


def _only_with_one_thread(job: Job) -> Invocation | None:
    """The first program of a job whose programs all have one thread, and run one after the other; None for others."""
    works = [each for each in job.invocations if not each.children and not each.calls_function]
    works = [each for each in works if weight(job, each) >= Weight.PROGRAM]
    for command in works:
        program = python_program(job, command)
        if one_thread(command) is None and (program is None or not has_one_thread(program)):
            return None
        if command.piped_from or command.piped_to:
            return None
    return works[0] if works and not job.launches and all(step.tasks == 1 for step in job.steps) else None


def _sharing(profile: "Profile") -> str | None:
    """A partition that takes jobs, and has nodes without GPUs that jobs share; None if there is none."""
    for name, each in profile.partitions.items():
        kinds = nodes_of(profile, name)
        closed = each.root_only or each.reservation_required or each.whole_nodes or each.state != "UP"
        if kinds and not closed and not any(gpus_of(one) for one in kinds):
            return name
    return None


CASES = [
    Bad("#!/bin/bash\n#SBATCH «-p gpu»\n#SBATCH --ntasks=8\nsrun ./solver\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p standard-g\n#SBATCH «--gpus-per-node=2»\nsrun ./train\n", settings=LUMI),
    Bad("#!/bin/bash\n#SBATCH -p standard-g -N 4\n#SBATCH «--gres=gpu:4»\nsrun ./train\n", settings=LUMI),
    Good("#!/bin/bash\n#SBATCH -p standard-g -N 4\n#SBATCH --gpus-per-node=8\nsrun ./train\n", settings=LUMI),
    Good("#!/bin/bash\n#SBATCH -p small-g\n#SBATCH --gpus-per-node=2\nsrun ./train\n", settings=LUMI),
    Good(
        "#!/bin/bash\n#SBATCH -p batch -N 4\nsrun ./solver\n",
        settings={"site": {"profile": "frontier"}}, title="all nodes have GPUs",
    ),
    Good("#!/bin/bash\n#SBATCH -p gpu --gpus-per-node=1\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu,batch --ntasks=8\nsrun ./solver\n", settings=SETTINGS, title="wherever it fits"),
    Good("#!/bin/bash\n#SBATCH -p gpu --gres=gpu:0\nsrun ./prepare\n", settings=SETTINGS, title="on purpose"),
    Bad("#!/bin/bash\n#SBATCH -p whole\n#SBATCH «--ntasks=4»\nsrun ./solver\n", settings=SETTINGS, severity="info"),
    Bad(
        "#!/bin/bash\n#SBATCH -p whole\n#SBATCH «--ntasks=1»\nsamtools index reads.bam\n",
        settings=SETTINGS, title="a program that has one thread",
    ),
    Good("#!/bin/bash\n#SBATCH -p whole --ntasks=64\nsrun ./solver\n", settings=SETTINGS, title="half of the CPUs"),
    Good("#!/bin/bash\n#SBATCH -p gpu --ntasks=8\nsrun ./solver\n", title="no profile"),
]  # fmt: skip
