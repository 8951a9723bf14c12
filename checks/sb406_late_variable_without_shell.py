r"""A variable is kept for a later shell, and there is none: the program gets its name as text.

`\$SLURM_NODEID`, or the same in single quotes, is text until a shell reads it again. srun starts no shell: with `srun
$CMD` torchrun gets the five words of CMD as they are, and `$SLURM_NODEID` for its node rank. A shell in the task does
not help where the text comes out of a variable (`srun bash -c '$LAUNCHER'`), as the value of a variable is never read
again, or where it stands in single quotes there.

Reported for launchers, Python and simple commands; others (awk, make, scripts) may expand the text themselves.

## Fix

`srun $CMD` becomes `srun bash -c "$CMD"`. Safe where CMD is the whole command and holds nothing else that a shell would
look at; unsafe otherwise. Other forms have to be written anew.

## References

srun(1); bash(1), "EXPANSION"; seen with Slurm 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB406", "late-variable-without-shell", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.literal_dollars():
        program = each.command.name
        if each.kind == "escape":
            continue
        if each.kind == "quotes":
            message = f"single quotes keep ${each.name} as it is, and {program} gets it as text; use double quotes"
        else:
            line = 0 if each.step is None else job.line(each.step.span.start)
            message = f"{program} gets the text ${each.name}, as the srun on line {line} starts it without a shell"
            advice = 'start it by bash -c "…"'
            if each.kind == "value":
                message = f"{program} gets the text ${each.name}, as the value of a variable is not expanded again"
                advice = "write it in the program of the task's shell itself, or use eval there"
            message = f"{message}; {advice}"
        related = [] if each.step is None else [(each.step.invocation.name_span, "the tasks start here")]
        fix = Fix("start the command by a shell in the task", each.edits, each.safe) if each.edits else None
        yield Finding(each.span, message, related=related, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="torchrun --nnodes=2 --node_rank=«\\$SLURM_NODEID» --master_addr=$MASTER_ADDR train.py"
        srun --kill-on-bad-exit=1 $CMD
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID --master_addr=$MASTER_ADDR train.py"
        srun --kill-on-bad-exit=1 bash -c "$CMD"
        """,
        title="the whole command in a variable",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        ARGS=(--nnodes=2 --node_rank '«$SLURM_NODEID»')
        srun torchrun "${ARGS[@]}" train.py
        """,
        title="an array",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export LAUNCHER="torchrun --nnodes 2 --node_rank «\\$SLURM_NODEID»"
        srun bash -c '$LAUNCHER train.py'
        """,
        title="in the value of a variable that the task's shell expands",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID train.py"
        srun bash -c "$CMD"
        export LAUNCHER="torchrun --nnodes 2"
        srun bash -c '$LAUNCHER --node_rank $SLURM_NODEID train.py'
        """,
        title="a shell in the task reads it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./run.sh 'torchrun --node_rank=$SLURM_NODEID train.py'
        srun awk -v n=2 '{print $SLURM_NODEID}' data
        """,
        title="a program that may expand it",
    ),
]
