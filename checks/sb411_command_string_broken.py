"""A command is cut in the middle: what follows is run as a command of its own, or lost.

A backslash at the end of a line continues it only if it is the very last character. Without it, with a blank or a
comment behind it, or with a comment line or an empty line in the middle, the command ends there. The next line, which
begins with an option, is run by itself (`--nnodes: command not found`), and the job goes on: with the defaults of all
the options that were lost. The same holds for a string that `bash -c` or `eval` runs: a newline in it ends the command.
In double quotes a backslash at the end of the line joins the lines before anybody sees a comment, and the comment takes
in all that follows.

## Fix

Adds the backslash, takes away the blanks behind it, or moves the comment above the command. Safe: no command's name
begins with a dash, so the lines were meant to be one command. A comment inside a double-quoted string has to be moved
by hand.

## References

bash(1), "QUOTING"; seen with bash 5.2: exit status 127, which only the last line of a script passes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB411", "command-string-broken", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.broken_commands():
        lost = f"and {each.option} on the next lines is run as a command of its own"
        if each.option_span is not None:
            lost = f"and {each.option} on line {job.line(each.option_span.start)} is run as a command of its own"
        message = {
            "newline": f"the command ends with this line, {lost}; end the line with a backslash",
            "blank": "a blank behind the backslash keeps it from continuing the line: the command gets a blank as an "
            f"argument, {lost if each.option else 'and ends here'}; remove the blank",
            "comment": "a comment behind the backslash keeps it from continuing the line: the command ends here, "
            f"{lost}; put the comment above the command",
            "between": f"the command ends here, {lost}; put no comment and no empty line inside a command",
            "swallowed": "the backslashes join the lines of this string, so the comment goes on to its end, and "
            f"{each.option} is lost; put the comment outside of the string",
            "argument": "the backslash continues no line: with the blank behind it, it is an argument more; "
            "remove the backslash",
            "element": "the blank behind the backslash becomes an element of the array, and the command gets it as an "
            "argument; leave the backslash out, as lines in parentheses need none",
        }[each.kind]
        related = [] if each.option_span is None else [(each.option_span, "this was meant to be a part of it")]
        related.extend((span, "the same here") for span in each.others)
        fix = Fix(each.title, each.edits, safe=True) if each.edits else None
        yield Finding(each.span, message, related=related, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun torchrun \\
            --nnodes=4 «--nproc_per_node=8»
            --rdzv_backend=c10d \\
            train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        srun torchrun \\
            --nnodes=4 --nproc_per_node=8 \\
            --rdzv_backend=c10d \\
            train.py
        """,
        title="no backslash",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        LAUNCHER="python -u -m torch.distributed.run \\
            --nnodes 4 \\
            --node_rank \\«$SLURM_PROCID»
            --rdzv_endpoint $MASTER_ADDR:29500 \\
            "
        srun bash -c "$LAUNCHER train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        LAUNCHER="python -u -m torch.distributed.run \\
            --nnodes 4 \\
            --node_rank \\$SLURM_PROCID \\
            --rdzv_endpoint $MASTER_ADDR:29500 \\
            "
        srun bash -c "$LAUNCHER train.py"
        """,
        title="in a string that a shell in the task runs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python train.py \\
            --lr 0.1 «\\ »
            --epochs 3
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        python train.py \\
            --lr 0.1 \\
            --epochs 3
        """,
        title="a blank behind the backslash",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python train.py \\
            --lr 0.1 «\\  # found by search»
            --epochs 3
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        # found by search
        python train.py \\
            --lr 0.1 \\
            --epochs 3
        """,
        title="a comment behind the backslash",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="python train.py \\
            --lr 0.1 \\
            «# --dropout 0.2 »\\
            --epochs 3"
        srun bash -c "$CMD"
        """,
        title="a comment in a string of joined lines",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        CMD="
        export NCCL_DEBUG=INFO && \\
        cd $WORKDIR &&
        torchrun --nnodes=4 \\
            --nproc_per_node=8 train.py
        "
        srun bash -c "$CMD"
        """,
        title="newlines between commands",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        LAUNCHER="torchrun --nnodes=4
            --nproc_per_node=8"
        srun $LAUNCHER train.py
        """,
        title="without quotes a newline is just a blank",
    ),
]
