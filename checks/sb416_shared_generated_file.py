"""The job writes a file of a fixed name, and runs or reads it.

`cat > run.sh <<EOF` writes into the folder from which the job was submitted. A second job of the same script, or
another element of its array, writes the same file while the first still uses it; bash reads a script as it goes, so
that a job may even continue in the text of the other. With `>>` each run adds the whole text once more.

Only advice: one job at a time has no trouble with `>`. Not reported for names that hold a variable, after a `cd` to an
unknown folder, and for files on a node's own disk.

## Fix

Puts `$SLURM_JOB_ID` into the name, at all places in the script. Unsafe: somebody else may look for the file.

## References

bash(1); sbatch(1), "filename pattern".
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB416", "shared-generated-file", severity="info", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.generated_files():
        happens = "two jobs of this script at a time overwrite each other's"
        if each.array:
            happens = "the jobs of the array overwrite each other's"
        if each.appended:
            happens = "every run of this script adds the same text once more"
        fix = Fix("put the job's number into the name", each.edits, safe=False) if each.edits else None
        yield Finding(
            each.span,
            f"{each.name} has the same name in every job: {happens}; put $SLURM_JOB_ID into the name",
            related=[(each.user.span, "it is used here")],
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > «run.sh» <<'EOF'
        #!/bin/bash
        python train.py --rank $SLURM_PROCID
        EOF
        chmod +x run.sh
        srun ./run.sh
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > run-$SLURM_JOB_ID.sh <<'EOF'
        #!/bin/bash
        python train.py --rank $SLURM_PROCID
        EOF
        chmod +x run-$SLURM_JOB_ID.sh
        srun ./run-$SLURM_JOB_ID.sh
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-3
        SCRIPT=«test_nccl.py»
        cat << EOT >> $SCRIPT
        import torch
        print(torch.cuda.is_available())
        EOT
        srun python $SCRIPT
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --array=0-3
        SCRIPT=test_nccl-$SLURM_JOB_ID.py
        cat << EOT >> $SCRIPT
        import torch
        print(torch.cuda.is_available())
        EOT
        srun python $SCRIPT
        """,
        title="appended at every run",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > run-$SLURM_JOB_ID.sh <<'EOF'
        python train.py
        EOF
        srun bash run-$SLURM_JOB_ID.sh
        cat > /tmp/run.sh <<'EOF'
        python train.py
        EOF
        srun --nodes=1 bash /tmp/run.sh
        """,
        title="a name of its own; a node's own disk",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        mkdir -p runs/$SLURM_JOB_ID && cd runs/$SLURM_JOB_ID
        cat > run.sh <<'EOF'
        python train.py
        EOF
        srun bash run.sh
        """,
        title="in a folder of its own",
    ),
]
