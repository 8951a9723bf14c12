r"""A backslash too many: the shell that should expand a variable takes only the backslash away.

Each backslash before a `$` stands for one shell that reads the text and leaves the variable alone. In `srun bash -c
'echo \$SLURM_JOB_ID'` the batch shell does so already because of the single quotes, and the task's shell, which should
expand the variable, hands `$SLURM_JOB_ID` on as text: all nodes write to a folder of that very name. The same happens
in the body of a heredoc with a quoted delimiter, and to text of the batch script that was copied from inside a string.

## Fix

Takes the backslash away. Safe where just one shell reads the text and the program uses it as an argument; a line of
`echo` that was copied with all its quotes is left alone.

## References

bash(1), "QUOTING"; LUMI-AI-Guide, pull request 115; seen with bash 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB407", "over-escaped", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.literal_dollars():
        if each.kind != "escape":
            continue
        where = "the batch shell" if each.step is None else "the shell in the task"
        advice = "leave out one level of backslashes"
        if each.edits:
            advice = f"write {job.source.text[each.edits[0].span.end : each.span.end]}"
        fix = Fix("take the backslash away", each.edits, each.safe) if each.edits else None
        yield Finding(
            each.span,
            f"{where} takes the backslash away and does not expand ${each.name}: {each.command.name} gets it as text; "
            f"{advice}",
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c 'mkdir -p /tmp/job-«\\$SLURM_JOB_ID»; python train.py --rank «\\${SLURM_PROCID}»'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c 'mkdir -p /tmp/job-$SLURM_JOB_ID; python train.py --rank ${SLURM_PROCID}'
        """,
        title="in single quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > run.sh <<'EOF'
        torchrun --nnodes=2 --node_rank=«\\$SLURM_NODEID» train.py
        EOF
        srun bash run.sh
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > run.sh <<'EOF'
        torchrun --nnodes=2 --node_rank=$SLURM_NODEID train.py
        EOF
        srun bash run.sh
        """,
        title="in a heredoc with a quoted delimiter",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        echo \\"job «\\$SLURM_JOB_ID» starts\\"
        torchrun --nproc_per_node=8 train.py --run-name run-«\\$SLURM_JOB_ID»
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        echo \\"job \\$SLURM_JOB_ID starts\\"
        torchrun --nproc_per_node=8 train.py --run-name run-$SLURM_JOB_ID
        """,
        title="in the batch script itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "python train.py --rank \\$SLURM_PROCID"
        ssh node1 "bash -c \\"echo \\\\\\$SLURM_JOB_ID\\""
        eval "srun bash -c \\"python train.py --rank \\\\\\$SLURM_PROCID\\""
        """,
        title="as many backslashes as there are shells",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "set \\$SLURM_JOB_ID before you start" > README
        echo "use \\$SLURM_JOB_ID"
        srun bash -c "awk '{print \\$SLURM}' data"
        """,
        title="a message; another program's own dollar",
    ),
]
