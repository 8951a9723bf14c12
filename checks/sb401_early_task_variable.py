"""A variable of the task is expanded by the batch shell.

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
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.early import (
    RANKS,
    EarlyUse,
    early_uses,
    is_of_rank_variable,
    place_of,
    value_in_batch,
    worst_by_place,
)
from sbatchlint.analysis.expansion.escapes import escape, is_plain
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.triggers import Steps

CARD = Card(
    "SB401", "early-task-variable", severity="error", fix="sometimes",
    since="0.1.0", when=Steps(),
)  # fmt: skip

CONSEQUENCE = {
    "rank": "gets the same rank",
    "test": "decides alike",
    "file": "writes the same file",
    "text": "gets the same value",
    "label": "prints the same",
    "ignored": "gets the same rank (this rendezvous ignores it)",
}


def check(job: Job) -> Iterator[Finding]:
    # what stands in a variable such as RANK is early-rank-export
    uses = [use for use in early_uses(job, RANKS) if use.harms and not is_of_rank_variable(job, use.expansion)]
    for use in worst_by_place(uses):
        name = use.expansion.name
        advice, fix = _repair(job, use)
        yield Finding(
            place_of(job, use.expansion),
            f"the batch shell expands ${name} to {value_in_batch(name)} before the srun on line "
            f"{job.line(use.step.span.start)} starts, so every task {CONSEQUENCE[use.consumer]}; {advice}",
            use.severity,
            related=[(use.step.invocation.name_span, "the tasks start here")],
            fix=fix,
        )


def _repair(job: Job, use: EarlyUse) -> tuple[str, Fix | None]:
    name = use.expansion.name
    if use.shells:
        escaped = escape(job, use)
        if escaped is None:
            return "let each task's own shell expand it", None
        fix = Fix("let the task expand it", [insert(use.expansion.span.start, "\\")], safe=escaped.safe)
        return f"write `{escaped.text}`", fix
    if not use.word:
        return "let each task write a file of its own", None
    words = _words_to_wrap(job, use)
    advice = f"run it by `bash -c '… ${name} …'`"
    if words is None:
        return advice, None
    edits = [insert(words.start, "bash -c 'exec "), insert(words.end, ' "$@"\' _')]
    return advice, Fix("start the command by a shell in the task", edits)


def _words_to_wrap(job: Job, use: EarlyUse) -> Span | None:
    """The words of srun's command up to the one with the variable, where they can become a program of bash.

    All of them have to stand literally in one place, or be variables that the tasks have too.
    """
    command, file = use.command, job.source.text
    if command.kind != "srun" or job.is_wrapped or not is_plain(use.expansion, file):
        return None
    number = next((number for number, field in enumerate(command.argv) if field is use.word), None)
    if number is None:
        return None
    end = 0
    for field in command.argv[: number + 1]:
        span = span_of(field)
        if span.start < end or not shown_text(field):
            return None
        end = span.end
        for name in [piece.expansion.name for piece in field if piece.expansion is not None]:
            if not name.startswith("SLURM_") and name not in TASK_VARIABLES and exported(command, name) is None:
                return None
    start = span_of(command.argv[0]).start
    escaped = job.is_embedded and file[start - 1 : start] == "\\"
    if escaped or "'" in file[start:end] or not start <= use.expansion.span.start < end:
        return None
    return Span(start, end)


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
