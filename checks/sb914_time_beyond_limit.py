"""The job never starts: it requests more time than its partition or its QOS allows.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). With `EnforcePartLimits`
ALL or ANY sbatch refuses it (`Requested time limit is invalid (missing or exceeds some limit)`); otherwise it takes it,
and the job waits for good (`PartitionTimeLimit` in squeue), which is a warning; with a `--time-min` that the partition
allows, it may start. A `--time-min` beyond the limit is refused in any case. The limit of a QOS, that of the job or
that of the partition, refuses a job if the QOS has `DenyOnLimit`.

## Fix

Writes the limit. Unsafe: the job may need more time, and so another partition.

## References

`_part_access_check()` and `job_limits_check()` in src/slurmctld/job_mgr.c; acct_policy.c; live runs of Slurm 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.targets import place, severity
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
        beyond_qos = stop.of("qos-time")
        if beyond_qos is not None:
            span = place(job, stop.target.request, "time")
            message = f"{stop.effect}: {stop.sentence(*beyond_qos)}"
            yield Finding(span, message, severity(job, stop.target, stop.waits))
        found = stop.of("time")
        if found is None:
            continue
        name, obstacle = found
        request = stop.target.request
        most = limit(stop.target.profile.partitions[name].max_time) or 0
        setting = request.setting("time") if not obstacle.options else None
        fix = None
        if setting is not None and len(stop.target.partitions) == 1:
            value = whole_minutes(most)
            fix = Fix(f"write {value}", [replacement(job.directives, setting, value)])
        message = f"{stop.effect}: {stop.sentence(name, obstacle)}; request less, or choose another one"
        span = place(job, request, *obstacle.options, "time")
        yield Finding(span, message, severity(job, stop.target, stop.waits), fix=fix)


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
    Bad(
        "#!/bin/bash\n#SBATCH -p batch --time-min=1:00:00\n#SBATCH «-t 9-0»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p batch --time-min=1:00:00\n#SBATCH -t 2-00:00:00\nsrun ./a.out\n",
        settings=SETTINGS, title="--time-min does not help where limits are enforced",
    ),
    Bad("#!/bin/bash\n#SBATCH -p batch -t 9-0\n#SBATCH «--time-min=3-0»\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu -t 9-0\nsrun ./train\n", title="no profile"),
]  # fmt: skip
