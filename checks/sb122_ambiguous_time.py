"""A limit of time that reads as hours and is minutes.

`--time=24:00` is 24 minutes: two fields are minutes and seconds, one field is minutes. The job is killed long before
its end. Limits are rounded up to whole minutes; a limit of 0 is none, and a job without one never starts in a partition
that has one.

A warning where something says that hours were meant: a comment, or whole days for a job with GPUs or several nodes. A
note where the form alone is doubtful.

## Fix

Writes hours where hours were meant (`24:00` becomes `24:00:00`): a guess, and so unsafe. Minutes alone are written out
(`48` becomes `0:48:00`), which is the same.

## References

sbatch(1); `time_str2secs()` in src/common/parse_time.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Options

CARD = Card(
    "SB122", "ambiguous-time", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("time", "time-min"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for doubt in job.doubtful_times():
        setting = doubt.setting
        if setting.value_span is None:
            continue
        gets = "1 minute" if doubt.minutes == 1 else f"{doubt.minutes} minutes"
        if doubt.kind == "zero":
            message = "a limit of 0 is no limit at all; write UNLIMITED if that is meant"
        elif doubt.kind == "overflow":
            message = "the limit is longer than Slurm can count, and becomes another one; write UNLIMITED"
        elif doubt.kind == "short":
            message = f"limits are rounded up to whole minutes, so this is {gets}; write 0:01:00"
        elif doubt.evidence:
            message = f"`{setting.text}` is {gets}, but {doubt.evidence}; write {doubt.instead}"
        elif doubt.kind == "bare":
            message = f"`{setting.text}` is {gets}; write {doubt.instead} to be clear"
        else:
            message = f"`{setting.text}` is minutes and seconds; write H:MM:SS to be clear"
        severity = "warning" if doubt.evidence or doubt.kind == "overflow" else "info"
        fix = None
        if doubt.instead is not None:
            safe = doubt.kind == "bare" and not doubt.evidence
            fix = Fix(f"write {doubt.instead}", [job.directives.replacement(setting, doubt.instead)], safe=safe)
        yield Finding(setting.value_span, message, severity, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=«24:00»  # one day = 24 hours
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=24:00:00  # one day = 24 hours
        srun ./a.out
        """,
        title="the comment says so",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --time=«48:00»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --time=48:00:00
        srun ./a.out
        """,
        title="two days",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -t «0:30»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH -t 0:30:00
        srun ./a.out
        """,
        title="half a minute",
    ),
    Bad("#!/bin/bash\n#SBATCH --time=«10:00»\nsrun ./a.out\n", severity="info", title="a test, perhaps"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=«48»
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --time=0:48:00
        srun ./a.out
        """,
        severity="info",
        title="minutes alone",
    ),
    Bad("#!/bin/bash\n#SBATCH --time=«00:00:00»\nsrun ./a.out\n", severity="info", title="no limit"),
    Good("#!/bin/bash\n#SBATCH --time=24:00:00 --time-min=1-12\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --time=UNLIMITED\nsrun ./a.out\n"),
]
