"""The job never starts: it requests more than its QOS, that of its partition or its account allows, or too little.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md), which has the limits that
`sacctmgr show qos` and `show assoc` list, where Slurm enforces them (`AccountingStorageEnforce`). A QOS with
`DenyOnLimit` refuses the job (`Job violates accounting/QOS policy`, after `QOSMaxGRESPerJob` and the like); else it
waits for good, which is a warning. More jobs than a user may submit are refused in any case, and an array counts as
many as it has tasks. The QOS of a partition counts before the one of the job, unless that has `OverPartQOS`; without
`--qos` the job's own is that of the account, if all accounts that it may have share one; else those of partitions are
looked at alone. A limit of the account counts where no QOS has one. It is that of the user who may have most, as a
profile has no names of users; without `--account` and with names of accounts left out, that of the account which may
have most.

What counts is what Slurm knows at the submission: the CPUs of the tasks, and the least number of nodes. How much of a
limit other jobs have taken is not known.

## Fix

None: the job may ask for less, or belong with another QOS.

## References

`_acct_policy_validate()`, `_qos_policy_validate()` and `acct_policy_set_qos_order()` in src/slurmctld/acct_policy.c;
live runs of Slurm 22.05 and 26.05 with slurmdbd
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.targets import place, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB920", "beyond-qos", severity="error", fix="never", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05 with accounting", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    for stop in stops(job):
        found = stop.of("policy")
        if found is not None:
            span = place(job, stop.target.request, *found[1].options, "qos")
            message = f"{stop.effect}: {stop.sentence(*found)}"
            yield Finding(span, message, severity(job, stop.target, stop.waits))


CASES = [
    Bad("#!/bin/bash\n#SBATCH -p batch --qos=debug\n#SBATCH «--nodes=4»\nsrun ./a.out\n", settings=SETTINGS),
    Bad(
        "#!/bin/bash\n#SBATCH -p batch --qos=course --reservation=monday\n#SBATCH «--ntasks=80»\nsrun ./a.out\n",
        settings=SETTINGS, title="CPUs of all jobs of a user",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -p batch --qos=course --reservation=monday\n#SBATCH «--array=1-20»\nsrun ./a.out\n",
        settings=SETTINGS, title="jobs of a user",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -p batch --account=geology\n#SBATCH «--nodes=60»\nsrun ./a.out\n",
        settings=SETTINGS, severity="warning", title="more than the account may have",
    ),
    Good("#!/bin/bash\n#SBATCH -p batch --qos=debug -N 2 -t 10\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p batch --qos=normal -N 4\nsrun ./a.out\n", settings=SETTINGS, title="no limits"),
    Good("#!/bin/bash\n#SBATCH -p batch -N 4\nsrun ./a.out\n", settings=SETTINGS, title="the default QOS"),
    Good("#!/bin/bash\n#SBATCH -p batch --qos=debug -N 4\nsrun ./a.out\n", title="no profile"),
]  # fmt: skip
