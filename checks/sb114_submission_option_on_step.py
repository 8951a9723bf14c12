"""srun does not take this option of sbatch, and starts nothing.

Both share most of their options, but what shapes the submission (`--array`, `--wrap`, `--requeue`, `--batch`,
`--wait-all-nodes`) is sbatch's alone: `srun: unrecognized option '--array=1-4'`, and the step fails. `--wait` exists
twice: sbatch's is a flag, srun's wants seconds, and takes the next word for them.

Options that srun has in other releases (`--uid`, `--parsable`) are reported by removed-option and option-too-new.

## Fix

None: a directive at the head of the script says it for the whole job, which may not be what was meant.

## References

srun(1), sbatch(1); `common_options[]` in src/common/slurm_opt.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB114", "submission-option-on-step", severity="error", fix="never", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for each in job.submission_options():
        when = job.versions.in_brackets(each.versions)
        if each.swallowed:
            what = f"{each.written} of srun wants seconds and takes `{each.swallowed}` for them{when}"
            sign = "=" if each.written[:2] == "--" else " "
            advice = f"write {each.written}{sign}SECONDS, or give the flag to sbatch"
        else:
            what = f"{each.written} is an option of sbatch that srun does not know{when}: the step does not start"
            advice = f"write it as a directive, #SBATCH --{each.name}" if each.useful else "remove it"
        yield Finding(each.span, f"{what}; {advice}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun «--array=1-4» ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun -N 2 «--wait-all-nodes=1» ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun «--wrap» './a.out'\n", title="srun takes the command itself"),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun «--wait» ./a.out\n", title="a flag of sbatch, seconds of srun"),
    Good("#!/bin/bash\n#SBATCH --array=1-4\nsrun --wait=60 --dependency=singleton ./a.out\n", title="srun has these"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out --array=1-4 --requeue\n", title="the program's own options"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsbatch --wrap='./a.out' --requeue\n", title="an sbatch in the job"),
]
