"""The shell that submits a job expands what only the job can know.

`sbatch <<EOF` without quotes around EOF, and `sbatch --wrap="…"`, are expanded before sbatch sees them, on the login
node. `$SLURM_JOB_ID` and all other variables of the job are empty there; a variable that the job's script assigns
itself is still what it was outside, mostly nothing; `$(hostname)` is the login node; `$?` and awk's `$1` belong to the
wrapper. The job runs without an error, in a folder called `run-`, or on 0 steps.

Variables that the wrapper sets are meant to be expanded there, and are not reported. Where the wrapper is a job itself,
`$SLURM_JOB_ID` is that job's number: a warning.

## Fix

A backslash before the `$`, so that the job's shell expands it; in the name of a log `%j`, `%A` or `%a`. Safe: on a
login node the variable has no value. Unsafe where the wrapper is a job itself.

## References

sbatch(1), "--wrap" and the example with a heredoc; seen with Slurm 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Submitted

CARD = Card("SB415", "submit-time-expansion", severity="error", fix="sometimes", since="0.1.0", when=Submitted())


def check(job: Job) -> Iterator[Finding]:
    for each in job.submit_time():
        shown = each.name if each.name.startswith("$(") else f"${each.name}"
        value = {
            "slurm": "is expanded by the shell that submits the job, where Slurm has not set it",
            "own": "is expanded by the shell that submits the job, before the script has assigned it",
            "local": "runs when the job is submitted, on the login node",
            "status": "is expanded by the shell that submits the job, and tells nothing of its commands",
            "field": "is expanded by the shell that submits the job, and never reaches awk",
            "once": "is expanded when the array is submitted, and is the same in all of its jobs",
        }[each.kind]
        if each.inside and each.kind == "slurm":
            value = "is that of the job that submits this one, as its shell expands it"
        advice = f"write {each.pattern}" if each.pattern else f"write \\{shown}"
        if len(each.edits) > 1 or not each.edits and not each.pattern:
            advice = "escape each $ with a backslash, or quote the text"
        fix = Fix("let the job expand it", each.edits, each.safe) if each.edits else None
        severity = "warning" if each.inside or each.kind == "once" else "error"
        yield Finding(each.span, f"{shown} {value}; {advice}", severity, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        for seed in 1 2 3; do
        sbatch <<EOF
        #!/bin/bash
        #SBATCH --job-name=seed-$seed
        #SBATCH --output=log-«$SLURM_JOB_ID».txt
        OUT=/data/run-$seed-«$SLURM_JOB_ID»
        mkdir -p «$OUT»
        srun python train.py --seed $seed --out \\$OUT
        EOF
        done
        """,
        fixed="""\
        #!/bin/bash
        for seed in 1 2 3; do
        sbatch <<EOF
        #!/bin/bash
        #SBATCH --job-name=seed-$seed
        #SBATCH --output=log-%j.txt
        OUT=/data/run-$seed-\\$SLURM_JOB_ID
        mkdir -p \\$OUT
        srun python train.py --seed $seed --out \\$OUT
        EOF
        done
        """,
        title="a heredoc without quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        sbatch --array=0-9 --wrap="srun python train.py --part «$SLURM_ARRAY_TASK_ID» --data $1"
        """,
        fixed="""\
        #!/bin/bash
        sbatch --array=0-9 --wrap="srun python train.py --part \\$SLURM_ARRAY_TASK_ID --data $1"
        """,
        title="--wrap in double quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        cat > job.sh <<EOF
        #!/bin/bash
        #SBATCH --nodes=2
        export MASTER_ADDR=«$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)»
        srun python train.py
        if [ «$?» -ne 0 ]; then exit 1; fi
        EOF
        sbatch job.sh
        """,
        fixed="""\
        #!/bin/bash
        cat > job.sh <<EOF
        #!/bin/bash
        #SBATCH --nodes=2
        export MASTER_ADDR=\\$(scontrol show hostnames \\$SLURM_JOB_NODELIST | head -n1)
        srun python train.py
        if [ \\$? -ne 0 ]; then exit 1; fi
        EOF
        sbatch job.sh
        """,
        title="in a file that is submitted",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        sbatch --dependency=afterok:$SLURM_JOB_ID --wrap="python collect.py --job «$SLURM_JOB_ID»"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        sbatch --dependency=afterok:$SLURM_JOB_ID --wrap="python collect.py --job \\$SLURM_JOB_ID"
        """,
        severity="warning",
        title="from within another job",
    ),
    Good(
        """\
        #!/bin/bash
        NAME=first
        sbatch <<'EOF'
        #!/bin/bash
        #SBATCH --nodes=2
        echo "job $SLURM_JOB_ID on $(hostname)"
        EOF
        sbatch <<EOF
        #!/bin/bash
        #SBATCH --job-name=$NAME
        # $SLURM_JOB_ID is not known here
        srun python train.py --name $NAME --data $PWD/data --job \\$SLURM_JOB_ID --date $(date +%F)
        EOF
        sbatch --wrap='srun python train.py --part $SLURM_ARRAY_TASK_ID'
        """,
        title="a quoted delimiter, the wrapper's own variables, single quotes",
    ),
]
