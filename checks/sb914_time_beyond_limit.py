"""The job never starts: it requests more time than its partition or its QOS allows.

By the profile of the cluster (`[site] profile` in the settings, docs/site.md). With `EnforcePartLimits` ALL or ANY
sbatch refuses it (`Requested time limit is invalid (missing or exceeds some limit)`); otherwise it takes it, and the
job waits for good (`PartitionTimeLimit` in squeue), which is a warning. The limit of a QOS refuses a job if the QOS has
`DenyOnLimit`.

## Fix

Writes the limit. Unsafe: the job may need more time, and so another partition.

## References

`_part_access_check()` and `job_limits_check()` in src/slurmctld/job_mgr.c; acct_policy.c; live runs of Slurm 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.targets import Target, place, qos_of, severity, shown, targets
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.site.profile import limit, whole_minutes
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB914", "time-beyond-limit", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    for stop in stops(job):
        found = stop.of("time")
        if found is None:
            continue
        name, obstacle = found
        request, waits = stop.target.request, stop.waits
        effect = "the job waits forever" if waits else "sbatch refuses the job"
        most = limit(stop.target.profile.partitions[name].max_time) or 0
        setting = request.setting("time")
        fix = None
        if setting is not None and len(stop.target.partitions) == 1:
            value = whole_minutes(most)
            fix = Fix(f"write {value}", [replacement(job.directives, setting, value)])
        message = f"{effect}: it asks for {obstacle.asks}, and {shown(stop.target, name)} {obstacle.says}"
        span = place(job, request, "time")
        yield Finding(span, f"{message}; ask for less, or name another one", severity(job, stop.target, waits), fix=fix)
    for target in targets(job):
        yield from _of_qos(job, target)


def _of_qos(job: Job, target: Target) -> Iterator[Finding]:
    qos, asked = qos_of(target), target.request.time
    most = limit(qos.max_time) if qos is not None else None
    enforced = {"limits", "safe"} & set(target.profile.accounting_enforce or ())
    if qos is None or most is None or asked is None or asked <= most or not enforced:
        return
    effect = "sbatch refuses the job" if qos.denies else "the job waits forever"
    own = target.request.value("qos")
    message = f"{effect}: it asks for {whole_minutes(asked)}, and the QOS `{own}` allows {whole_minutes(most)}"
    yield Finding(place(job, target.request, "time"), message, severity(job, target, not qos.denies))


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p gpu --gpus-per-node=1\n#SBATCH «--time=3-00:00:00»\nsrun ./train\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p gpu --gpus-per-node=1\n#SBATCH --time=1-00:00:00\nsrun ./train\n",
        settings=SETTINGS,
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «-t 100:00:00»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -t 2-00:00:00\nsrun ./a.out\n",
        settings=SETTINGS, severity="warning", title="in the default partition",
    ),
    Bad("#!/bin/bash\n#SBATCH -p batch --qos=debug «-t 60»\nsrun ./a.out\n", settings=SETTINGS, title="of a QOS"),
    Good("#!/bin/bash\n#SBATCH -p gpu --gpus-per-node=1 -t 24:00:00\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu,fat --gpus-per-node=1 -t 9-0\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu -t 9-0 --time-min=1:00:00\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu -t 9-0\nsrun ./train\n", title="no profile"),
]  # fmt: skip
