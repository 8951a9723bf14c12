"""sbatch refuses the script: `--signal` is not valid.

`Invalid --signal specification`: nothing is submitted. The form is `[R|B:]SIGNAL[@SECONDS]`: the name of a signal, with
SIG or without, or its number; then, after an `@`, how many seconds before the end of the job it is sent, 0 to 65535,
without a unit. Signals whose names Slurm does not know (SEGV; before 23.11 also CHLD and PIPE) are written as numbers.
`R:` depends on the site, and is not reported: from 24.11 on the job is refused where PreemptMode is OFF.

## Fix

Writes the signal that was probably meant: `USR1:60` becomes `USR1@60`, `@5m` becomes `@300`. A guess, and so unsafe.

## References

sbatch(1); `get_signal_opts()` in src/common/proc_args.c, Slurm 20.11 to 26.05; `_validate_job_desc()` in
src/slurmctld/job_mgr.c, 24.11 and 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.wrong_values import wrong_values
from sbatchlint.check import Bad, Card, Finding, Good, Job, corrected
from sbatchlint.triggers import Refused

CARD = Card(
    "SB128", "invalid-signal", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Refused("signal"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "signal"):
        yield corrected(wrong.span, wrong.fault, wrong.instead, wrong.edits, wrong.versions)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --signal=«USR1:60» --time=1:00:00
        srun ./a.out
        """,
        unsafe_fixed={"--signal=USR1:60": "--signal=USR1@60"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --signal=«B:USR1@5m»
        srun ./a.out
        """,
        unsafe_fixed={"--signal=B:USR1@5m": "--signal=B:USR1@300"},
        title="seconds have no unit",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --signal=«SIGPIPE@30»
        srun ./a.out
        """,
        unsafe_fixed={"--signal=SIGPIPE@30": "--signal=13@30"},
        title="a name of newer releases",
        severity="info",
    ),
    Bad("#!/bin/bash\n#SBATCH --signal=«USR3@60»\nsrun ./a.out\n", title="no such signal"),
    Bad("#!/bin/bash\n#SBATCH --signal=«USR1@99999»\nsrun ./a.out\n", title="too long before the end"),
    Good("#!/bin/bash\n#SBATCH --signal=B:USR1@120\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --signal=sigterm\nsrun ./a.out\n", title="a minute before the end"),
    Good("#!/bin/bash\n#SBATCH --signal=RB:10@600\nsrun ./a.out\n"),
]
