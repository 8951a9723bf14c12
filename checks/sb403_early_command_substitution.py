'''A command in a step's text is run by the batch shell.

In double quotes and in an unquoted heredoc, `$(hostname)` is run once, by the batch shell on the first node, before
srun starts the tasks. All of them get the first node's name, address or interface: they claim the same place, compare
the wrong name, or write the same file. `$$`, `$RANDOM` and `$(mktemp)` in the name of a file are the same for all too.

A warning where a process is told its own node (`--local_addr`, `NODE_IP`), where the name is compared, and where a file
is named by it; advice where it is only printed. What is meant for the whole job is left alone: an address that all
tasks meet at, a date, a port, and what stands in a variable of its own.

## Fix

A backslash before the `$` (backquotes become `$(…)`), so that the shell in each task runs the command. Safe where just
one shell reads the text again, and the command needs no variable of the batch shell. `$HOSTNAME` becomes
`$SLURMD_NODENAME`, because tasks inherit the first node's HOSTNAME.

## References

Run on Slurm 22.05, 23.11, 24.11 and 26.05: in double quotes all tasks of two nodes print the first node's name.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.triggers import Steps

CARD = Card(
    "SB403", "early-command-substitution", severity="warning", fix="sometimes",
    since="0.1.0", when=Steps(),
)  # fmt: skip

CONSEQUENCE = {
    "rank": "every task is told that it is there",
    "test": "every task compares the same name",
    "file": "every task writes the same file",
    "label": "every task prints the same",
}


def check(job: Job) -> Iterator[Finding]:
    for use in job.variables.early_places():
        name = use.expansion.name
        shown = name if name.startswith("$(") else f"${name}"
        repair = job.early_repair(use)
        fix, advice = None, "let each task's own shell expand it"
        if repair is not None and repair.kind == "escape":
            fix = Fix("let the task expand it", [replace(use.expansion.span, repair.text)], safe=repair.safe)
            advice = f"write {repair.text}"
        yield Finding(
            use.expansion.span,
            f"{shown} is expanded by the batch shell, on the first node, before the srun on line "
            f"{job.line(use.step.span.start)} starts the tasks: {CONSEQUENCE[use.consumer]}; {advice}",
            "info" if use.consumer == "label" else "warning",
            related=[(use.step.invocation.name_span, "the tasks start here")],
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun bash -c "torchrun --nnodes=4 --local_addr=«$(hostname -s)» --rdzv_endpoint=$HEAD:29500 train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun bash -c "torchrun --nnodes=4 --local_addr=\\$(hostname -s) --rdzv_endpoint=$HEAD:29500 train.py"
        """,
        title="each node is told the first one's address",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash <<EOF
        ./monitor > usage.«`hostname`».log
        EOF
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash <<EOF
        ./monitor > usage.\\$(hostname).log
        EOF
        """,
        title="one file for all nodes; backquotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export VLLM_HOST_IP=«$(hostname -i)»
        srun vllm serve model
        """,
        title="a variable that the step inherits",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash -c "echo «$HOSTNAME» is ready"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash -c "echo \\$SLURMD_NODENAME is ready"
        """,
        severity="info",
        title="only printed",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        export MASTER_ADDR=$(hostname)
        srun bash -c "torchrun --nnodes=4 --node_rank=\\$SLURM_NODEID --master_addr=$MASTER_ADDR train.py"
        srun bash -c "torchrun --nnodes=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py"
        """,
        title="the address of the first node, for all",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun bash -c 'torchrun --local_addr=$(hostname -s) train.py > $(hostname).log'
        """,
        title="single quotes",
    ),
]
