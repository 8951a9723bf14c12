"""GPUs stay idle: each node of the partition has them, and the job requests none or only some.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). All nodes of the
partition have GPUs, and other nodes have none: what the job holds of their CPUs and memory keeps others from the GPUs,
and it waits longer than in a partition without. In a partition of whole nodes (`OverSubscribe=EXCLUSIVE`) the GPUs that
are not asked for stay idle and are paid for. Where the script uses GPUs without asking, gpus-not-requested says so.

## Fix

None: another partition, or more work for the node.

## References

slurm.conf(5), OverSubscribe; `scontrol show node`, Gres
"""

from collections.abc import Iterator

from sbatchlint.analysis.gpus.gpu_use import gpu_need
from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.targets import place, shown, targets
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.site.profile import gpus_of, nodes_of
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB917", "partition-not-used", severity="warning", fix="never", since="0.1.0", when=KnownCluster(),
    seen="slurm.conf(5), OverSubscribe", batch=True, certain=True, homogeneous=True, absent=True,
    unseen="Nothing: the GPUs of the node stay idle, and the job waits longer than it need.",
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}
LUMI = {"site": {"profile": "lumi"}}


def check(job: Job) -> Iterator[Finding]:
    if stops(job):
        return
    for target in targets(job):
        request = target.request
        kinds = [each for name in target.partitions for each in nodes_of(target.profile, name)]
        gpus = [gpus_of(each) or 0 for each in kinds]
        if not kinds or not all(gpus) or not target.named:
            continue
        name = shown(target, target.partitions[0])
        most = f"{min(gpus)} GPUs" if min(gpus) > 1 else "a GPU"
        asked = request.gpus_per_node()
        elsewhere = any(gpus_of(each) == 0 for each in target.profile.nodes)
        whole = all(target.profile.partitions[each].whole_nodes for each in target.partitions)
        none = request.asks_for_gpus is False and not request.declines_gpus and job.site.gpus == "gres"
        if none and elsewhere and not whole and gpu_need(job) is None:
            message = f"each node of {name} has {most}, but the job requests none; choose a partition without GPUs"
            yield Finding(place(job, request), message)
        elif whole and asked is not None and 0 < asked < min(gpus):
            message = f"a job in {name} gets whole nodes, but requests {asked} of {min(gpus)} GPUs"
            message += ": the others stay idle; request all"
            yield Finding(place(job, request, "gpus-per-node", "gres", "gpus"), message)


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
    Good("#!/bin/bash\n#SBATCH -p gpu --ntasks=8\nsrun ./solver\n", title="no profile"),
]  # fmt: skip
