'''A variable of the task is expanded by the batch shell.

In the batch script SLURM_PROCID, SLURM_LOCALID and SLURM_NODEID are not empty but 0: the batch shell is itself task 0
on the first node. Expanded there, in a double-quoted command string, an unquoted heredoc or an argument of srun, they
give every task the same rank. Nothing fails loudly: all nodes claim rank 0 and wait for each other until a time-out,
or all tasks write the same file.

The severity follows what uses the value: an error where it tells a process who it is, is tested or names a file that
every task writes; a warning elsewhere in a command; only advice where the launcher ignores it (a node rank under c10d)
or where it merely labels a log line.

## Fix

One backslash before the `$`, so that the shell in each task expands it. Safe where just one shell reads the text again
in the task and nothing in the batch script itself uses it. An argument that srun hands over directly is never read
again, so the command has to be started by a shell in the task; that rewrites the command, and is unsafe.

## References

setup_env() in src/common/env.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert
from sbatchlint.triggers import Steps

CARD = Card("SB401", "early-task-variable", severity="error", fix="sometimes", since="0.1.0", when=Steps())

CONSEQUENCE = {
    "rank": "every task gets the same rank",
    "test": "every task decides alike",
    "file": "every task writes the same file",
    "text": "every task gets the same value",
    "label": "every task prints the same",
    "ignored": "every task gets the same value, which this rendezvous does not look at",
}


def check(job: Job) -> Iterator[Finding]:
    for use in job.early_uses():
        step = use.step
        name = use.expansion.name
        value = "the first node" if name == "SLURMD_NODENAME" else "0" if name not in ("SLURM_TASK_PID",) else "its own"
        repair = job.early_repair(use)
        fix, advice = None, "let each task's own shell expand it"
        if repair is not None and repair.kind == "escape":
            fix = Fix("let the task expand it", [insert(repair.start, "\\")], safe=repair.safe)
            advice = f"write \\${name}"
        elif not use.word:
            advice = "let each task write a file of its own"
        elif not use.shells:
            advice = f"start the command by bash -c '…' and write ${name} there"
            if repair is not None:
                edits = [Edit(Span(repair.start, repair.start), "bash -c 'exec "), insert(repair.end, " \"$@\"' _")]
                fix = Fix("start the command by a shell in the task", edits, safe=False)
        yield Finding(
            job.early_span(use),
            f"${name} is expanded by the batch shell, where it is {value}, before the srun on line "
            f"{job.line(step.span.start)} starts the tasks: {CONSEQUENCE[use.consumer]}; {advice}",
            use.severity,
            related=[(step.invocation.name_span, "the tasks start here")],
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        CMD="torchrun --nnodes=4 --nproc_per_node=8"
        CMD="$CMD --node_rank=«$SLURM_NODEID» --master_addr=$MASTER_ADDR"
        srun bash -c "$CMD train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        CMD="torchrun --nnodes=4 --nproc_per_node=8"
        CMD="$CMD --node_rank=\\$SLURM_NODEID --master_addr=$MASTER_ADDR"
        srun bash -c "$CMD train.py"
        """,
        title="in a string that a shell in the task runs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        srun bash <<EOF
        export RANK=«${SLURM_PROCID}» LOCAL_RANK=«$SLURM_LOCALID»
        python train.py
        EOF
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        srun bash <<EOF
        export RANK=\\${SLURM_PROCID} LOCAL_RANK=\\$SLURM_LOCALID
        python train.py
        EOF
        """,
        title="in an unquoted heredoc",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun torchrun --nnodes=2 --node_rank=«$SLURM_NODEID» --master_addr="$MASTER_ADDR" train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash -c 'exec torchrun --nnodes=2 --node_rank=$SLURM_NODEID "$@"' _ --master_addr="$MASTER_ADDR" train.py
        """,
        title="as an argument of srun, where a backslash would not help",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        #SBATCH --nodes=2
        srun bash -c "./solve input > out.«$SLURM_PROCID»"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=16
        #SBATCH --nodes=2
        srun bash -c "./solve input > out.\\$SLURM_PROCID"
        """,
        title="in the name of a file",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun bash -c 'torchrun --nnodes=4 --node_rank=$SLURM_NODEID train.py'
        """,
        title="single quotes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        echo "batch script on node $SLURM_NODEID"
        export MASTER_ADDR=$SLURMD_NODENAME
        srun bash -c "torchrun --nnodes=$SLURM_JOB_NUM_NODES --node_rank=\\$SLURM_NODEID train.py"
        """,
        title="used in the batch shell alone; the same in all tasks",
    ),
]
