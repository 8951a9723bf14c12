"""sbatch refuses the job: an index of its array is larger than the cluster allows.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). The largest index is one
less than `MaxArraySize`, which is 1001 unless the site says otherwise: `sbatch: error: Batch job submission failed:
Invalid job array specification`. It is the index that counts, and not how many tasks there are: `--array=5000-5010` is
refused, too.

## Fix

None: work with an offset (`$((SLURM_ARRAY_TASK_ID + OFFSET))`), or several units of work in a task.

## References

`_valid_array_inx()` in src/slurmctld/job_mgr.c; live runs of Slurm 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.targets import place, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.grammar.arrays import indexes
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB916", "array-beyond-limit", severity="error", fix="never", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    size = job.site.profile.max_array_size if job.site.profile is not None else None
    found = indexes(job.request.array)
    if not size or found is None or found.maximum < size or job.request.has_option("clusters"):
        return
    several = (
        "use smaller indexes and add an offset" if found.tasks <= size else ("do several pieces of work in each task")
    )
    yield Finding(
        place(job, job.request, "array"),
        f"sbatch refuses the job: the largest index of an array is {size - 1} here, not {found.maximum}; {several}",
        severity(job),
    )


CASES = [
    Bad("#!/bin/bash\n#SBATCH «--array=1-5000»\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH «-a 5000-5010%4»\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH --array=0-1000\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH --array=1-5000\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n", title="no profile"),
]
