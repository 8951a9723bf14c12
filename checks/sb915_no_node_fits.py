"""The job never starts: too few nodes of the partition, or none, have what it requests.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). What no node has is
refused at once (`Requested node configuration is not available`): CPUs, sockets, memory, temporary disk (`--tmp`;
TmpDisk, 0 by default), GPUs, features, each or together; more licences than the cluster has as `Invalid license
specification`. More nodes, CPUs or memory of a node than the whole partition has or allows, the upper end of
`--nodes=1-8` too, are refused with `EnforcePartLimits` ALL or ANY (`Node count specification invalid`), and otherwise
taken: the job waits for good (`PartitionNodeLimit`), which is a warning. Of several partitions, one that takes the job
is enough.

CPUs are hardware threads; with `--hint=nomultithread` only one of each core counts. Memory is compared with what a
node has for jobs.

## Fix

None: the job may ask for less, or belong in another partition.

## References

`select_nodes()` in src/slurmctld/node_scheduler.c; `job_limits_check()` in src/slurmctld/job_mgr.c; live runs of Slurm
22.05 and 26.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.fit import Stop, stops
from sbatchlint.analysis.site.names import licences_of, unknown_features, unknown_resources
from sbatchlint.analysis.site.targets import place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.request import MEMORY_OPTIONS
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB915", "no-node-fits", severity="error", fix="never", since="0.1.0", when=KnownCluster(),
    seen="live controllers of Slurm 22.05 and 26.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}
_GPUS = ("gpus-per-node", "gres", "gpus", "gpus-per-task", "gpus-per-socket", "tres-per-task")
# Where each kind of obstacle is written.
PLACES = {
    "features": ("prefer", "constraint"),
    "gpus": _GPUS,
    "gres": ("gres",),
    "nodelist": ("nodelist",),
    "exclude": ("exclude",),
    "nodes": ("nodes", "ntasks"),
    "shape": ("threads-per-core", "sockets-per-node", "cores-per-socket", "extra-node-info", "hint"),
    "cpus": ("cpus-per-task", "ntasks-per-node", "ntasks", "cpus-per-gpu", "mincpus"),
    "tasks": ("ntasks-per-socket", "ntasks-per-core"),
    "memory": MEMORY_OPTIONS,
    "tmp": ("tmp",),
    "together": ("mem", "mem-per-cpu", "cpus-per-task", "tmp", *_GPUS),
}


def check(job: Job) -> Iterator[Finding]:
    for stop in stops(job):
        found = stop.of(*_told(stop))
        if found is None:
            continue
        name, obstacle = found
        yield Finding(
            place(job, stop.target.request, *PLACES[obstacle.kind]),
            f"{stop.effect}: {stop.sentence(name, obstacle)}",
            severity(job, stop.target, stop.waits),
        )
    known = job.site.profile.licenses or {} if job.site.profile is not None else {}
    for request in requests(job) if known else ():
        for name, number in licences_of(request).items():
            if number > (most := known.get(name, number)):
                message = f"sbatch refuses the job: it requests {number} licenses `{name}`, and the cluster has {most}"
                yield Finding(place(job, request, "licenses", "tres-per-task"), message, severity(job))


def _told(stop: Stop) -> list[str]:
    """The kinds of obstacles that no other check reports."""
    profile, request = stop.target.profile, stop.target.request
    unknown = any(each.kind != "licence" for each in unknown_resources(profile, request))
    without = {"gpus", "gres"} if unknown else set()
    without |= {"features"} if unknown_features(profile, request) else set()
    return [kind for kind in PLACES if kind not in without]


CASES = [
    Bad("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gpus-per-node=8»\nsrun ./train\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p gpu --gres=gpu:4\n#SBATCH «--cpus-per-task=96»\nsrun ./train\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--mem=1T»\nsrun ./a.out\n", settings=SETTINGS),
    Bad(
        "#!/bin/bash\n#SBATCH -p batch -N 50\n#SBATCH «--mem=400G»\nsrun ./a.out\n",
        settings=SETTINGS, title="so many nodes with so much",
    ),
    Bad("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--nodes=16» --gpus-per-node=4\nsrun ./train\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH «--gres=gpu:1»\nsrun ./train\n", settings=SETTINGS, severity="warning",
        title="in the default partition, which has none"),
    Bad("#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--tmp=900G»\nsrun ./a.out\n", settings=SETTINGS),
    Bad(
        "#!/bin/bash\n#SBATCH -p batch -N 50\n#SBATCH «--tmp=400G»\nsrun ./a.out\n",
        settings=SETTINGS, title="so many nodes with such a disk",
    ),
    Bad("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--tmp=1G»\nsrun ./train\n", settings=SETTINGS,
        title="nodes whose disk is not told to Slurm"),
    Bad("#!/bin/bash\n#SBATCH -n 8\n#SBATCH «--licenses=matlab:3,matlab:3»\nsrun ./a.out\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -n 8\n#SBATCH «--tres-per-task=license/matlab=1»\nsrun ./a.out\n", settings=SETTINGS,
        title="a licence for each task"),
    Good("#!/bin/bash\n#SBATCH -p batch -N 2 --tmp=400G -L matlab:4\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p standard --tmp=1G -N 2\nsrun ./a.out\n",
         settings={"site": {"profile": "lumi"}}, title="disks not known"),
    Bad("#!/bin/bash\n#SBATCH -p batch --hold\n#SBATCH «--mem=1T»\nsrun ./a.out\n", settings=SETTINGS,
        severity="warning", title="a held job is not compared with the nodes before it is released"),
    Good("#!/bin/bash\n#SBATCH -p gpu,batch --gpus-per-node=4 -N 2\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu --gpus-per-node=8\nsrun ./train\n", title="no profile"),
]  # fmt: skip
