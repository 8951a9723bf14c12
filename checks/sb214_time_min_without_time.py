"""The job may be killed after `--time-min`: without `--time` it may get no more.

`--time-min` is the shortest limit that Slurm may set to start the job earlier than with its full `--time`. Without
`--time` the full limit is the partition's default. A job that starts at once gets it; one that waits is started by the
backfill scheduler with as little as `--time-min`, and ended then.

## Fix

Writes `--time` in its place. Unsafe: perhaps a longer limit is wanted, in addition to the shortest one.

## References

sbatch(1), --time-min; `_valid_job_part()` and `job_limits_check()` in src/slurmctld/job_mgr.c, Slurm 22.05 to 26.05;
`_attempt_backfill()` in src/plugins/sched/backfill/backfill.c of 24.11; live runs
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.triggers import Options

CARD = Card(
    "SB214", "time-min-without-time", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("time-min"), seen="sbatch(1) and src/slurmctld/job_mgr.c of Slurm 22.05 to 26.05",
    certain=True, homogeneous=True, absent=True,
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    setting = job.request.setting("time-min")
    if setting is None or job.request.has_option("time"):
        return
    fix = None
    if setting.written == "--time-min" and job.source.slice(setting.option_span) == setting.written:
        fix = Fix("write --time", [replace(setting.option_span, "--time")])
    message = "without --time, Slurm may kill the job after --time-min"
    yield Finding(setting.span, f"{message}; add --time, and keep --time-min as the minimum", fix=fix)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH «--time-min=4:00:00»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=4:00:00\nsrun ./a.out\n",
    ),
    Good("#!/bin/bash\n#SBATCH --time=24:00:00 --time-min=4:00:00\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --time-min=4:00:00\n#PBS -l walltime=24:00:00\nsrun ./a.out\n", title="by a PBS line"),
    Good("#!/bin/bash\n#SBATCH -t 600\n#SBATCH --time-min=60\nsrun ./a.out\n", title="by the letter"),
]
