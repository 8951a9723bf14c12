"""sbatch refuses the script: the time is not valid.

`Invalid --time specification`: nothing is submitted. A limit (`--time`, `--time-min`, `--delay-boot`) is minutes,
`MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM` or `D-HH:MM:SS` with any number of digits, or `UNLIMITED`; it has no units, and
days come before a `-`. A moment (`--begin`, `--deadline`) is a word such as `tomorrow`, a date, a time of day, or
`now+2hours`.

## Fix

Writes the time that was probably meant: `2h` becomes `2:00:00`, `1:00:00:00` becomes `1-00:00:00`, `now+1h` becomes
`now+1hour`. A guess, and so unsafe.

## References

sbatch(1); `time_str2secs()` and `parse_time()` in src/common/parse_time.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11,
24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.wrong_values import wrong_values
from sbatchlint.analysis.script.samples import is_sample
from sbatchlint.check import Bad, Card, Finding, Good, Job, corrected
from sbatchlint.triggers import Refused

CARD = Card(
    "SB121", "invalid-time", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Refused("time"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "time"):
        if is_sample(job) and not any(map(str.isdigit, job.source.slice(wrong.span))):
            continue  # to be filled in
        yield corrected(wrong.span, wrong.fault, wrong.instead, wrong.edits, wrong.versions)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=«2h» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"--time=2h": "--time=2:00:00"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -t «1:00:00:00»  # one day
        srun ./a.out
        """,
        unsafe_fixed={"1:00:00:00": "1-00:00:00"},
        title="days and hours",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --begin=«now+30min»
        srun ./a.out
        """,
        unsafe_fixed={"--begin=now+30min": "--begin=now+30minutes"},
    ),
    Bad("#!/bin/bash\n#SBATCH --time=«10.5»\nsrun ./a.out\n", title="minutes or hours"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --begin=«Tomorrow»
        srun ./a.out
        """,
        unsafe_fixed={"--begin=Tomorrow": "--begin=tomorrow"},
        title="a T is skipped, like the one before a time",
    ),
    Good("#!/bin/bash\n#SBATCH -t 90 --time-min=1-0 --begin=16:00\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --time=0:75:00 --begin=now+1hour --deadline=2030-12-31T12:00\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --time=infinite\nsrun ./a.out\n", title="without a limit"),
]
