"""Every task gets the same value: the batch shell expands a variable that differs from task to task.

In the batch script SLURM_PROCID, SLURM_LOCALID and SLURM_NODEID are not empty but 0: the batch shell is itself task 0
on the first node. Expanded there, in a double-quoted command string, an unquoted heredoc or an argument of srun, they
give every task the same rank. Nothing fails loudly: all nodes claim rank 0 and wait for each other until a timeout,
or all tasks write the same file.

The severity follows what uses the value: an error where it gives a process its rank, is tested, or names a file that
every task writes; a warning elsewhere in a command, and for a test on which only a wait depends; only advice where the
launcher does not read it, where the step has one task, for which 0 is right, or where it only labels a log line. A node
rank that torchrun ignores under c10d is for [SB320](dead-rendezvous-option.md), which removes it. The first node's name
is not reported where all tasks may be meant to meet there (`--rdzv-endpoint=$SLURMD_NODENAME:29500`).

## Fix

As many backslashes before the `$` as it takes for the shell in each task to expand it: usually one. Where no shell in
the task reads the words again, as with `srun $CMD`, the command also has to be started by a shell (`srun bash -c
"$CMD"`), which is unsafe. A fix is offered only where no word of any command changes, except for that variable in the
tasks.

## References

setup_env() in src/common/env.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.expansion.early import (
    RANKS,
    EarlyUse,
    early_uses,
    is_of_rank_variable,
    place_of,
    value_in_batch,
    worst_by_place,
)
from sbatchlint.analysis.expansion.escapes import deferred_to_tasks, is_plain, started_by_shell
from sbatchlint.analysis.launch.rendezvous import dead_options
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import If, Simple, While
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.programs import programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB401", "early-task-variable", severity="error", fix="sometimes",
    since="0.1.0", when=Steps(),
)  # fmt: skip

# The pattern that srun replaces in a log name as the variable would be expanded in a task.
_PATTERNS = {"SLURM_PROCID": "%t", "SLURM_LOCALID": "%t", "SLURM_NODEID": "%n", "SLURMD_NODENAME": "%N"}

_NAME = Regex(r"\$\{?([A-Za-z_]\w*)")
# How advice goes on where the command also needs a shell in each task.
_SHELL_TOO = ", and `srun "
CONSEQUENCE = {
    "rank": "gets the same rank",
    "test": "makes the same choice",
    "file": "writes the same file",
    "text": "gets the same value",
    "label": "gets the same label",
    "ignored": "gets the same rank, which is harmless only because {reason}",
}


def check(job: Job) -> Iterator[Finding]:
    # what is assigned to a variable such as RANK is for early-rank-export (SB402)
    uses = [use for use in early_uses(job, RANKS) if not is_of_rank_variable(job, use.expansion)]
    uses = [use for use in uses if use.is_harmful and use.consumer != "meeting" and not _is_dead(job, use)]
    yield from _right_by_luck(job)
    yield from _in_log_names(job)
    for use in worst_by_place(uses):
        name = use.expansion.name
        advice, fix = _repair(job, use)
        severity, where = use.severity, f" on line {job.line(use.step.span.start)}"
        if _SHELL_TOO in advice:  # the second place to change is that line
            advice, where = advice.replace(_SHELL_TOO, f", and{where} `srun ", 1), ""
        if use.consumer == "test" and _only_waits(job, use):
            severity, fix = "warning", None  # a wait that begins may last forever
        yield Finding(
            place_of(job, use.expansion),
            f"the batch shell expands ${name} to {value_in_batch(name)}, so every task{where} "
            f"{_consequence(job, use)}; {advice}",
            severity,
            related=[(use.step.invocation.name_span, "the tasks start here")],
            fix=fix,
        )


def _consequence(job: Job, use: EarlyUse) -> str:
    """What the tasks do with the value; of one that the launcher ignores, why it does."""
    launcher = job.launcher_of(use.command)
    rendezvous = None if launcher is None else launcher.rendezvous
    reason = "the launcher sets its own"
    if rendezvous is not None and rendezvous.backend not in (None, "static"):
        reason = f"{rendezvous.backend} assigns ranks"
    return CONSEQUENCE[use.consumer].format(reason=reason)


def _only_waits(job: Job, use: EarlyUse) -> bool:
    """Whether the test decides about commands that only print, test and wait."""
    place = place_of(job, use.expansion)
    for text, program in programs(job):
        for branch in nodes_of(program, If):
            conditions = [condition for condition, _ in branch.branches if condition]
            if any(text.span(each[0].start, each[-1].end).contains(place) for each in conditions):
                bodies = [statement for _, body in branch.branches for statement in body]
                commands = [command for statement in bodies for command in nodes_of(statement, Simple) if command.words]
                names = {text.string[each.words[0].start : each.words[0].end] for each in commands}
                return any(nodes_of(statement, While) for statement in bodies) and names <= programs_with("looks")
    return False


def _is_dead(job: Job, use: EarlyUse) -> bool:
    """Whether the value is a node rank that the launcher ignores, so that the option can go."""
    launcher = job.launcher_of(use.command) if use.consumer == "ignored" else None
    return launcher is not None and "node_rank" in dead_options(launcher)


def _right_by_luck(job: Job) -> Iterator[Finding]:
    """Ranks of a multi-node launcher that are right only while the step has one task, as far as the script shows."""
    uses = [use for use in early_uses(job, RANKS) if use.consumer in ("rank", "ignored") and not use.is_harmful]
    for use in worst_by_place(use for use in uses if use.step.tasks in (None, 1) and not _is_dead(job, use)):
        launcher = job.launcher_of(use.command)
        rank = None if launcher is None or not launcher.spawns else launcher.node_rank
        if rank is None or use.expansion not in expansions(rank.value or ()):
            continue
        step = f"the srun on line {job.line(use.step.span.start)}"
        luck = f"which is right only {'while' if use.step.tasks == 1 else 'if'} {step} has one task"
        if use.consumer == "ignored":
            luck = f"so every task of {step} {_consequence(job, use)}"
        yield Finding(
            place_of(job, use.expansion),
            f"the batch shell expands ${use.expansion.name} to {value_in_batch(use.expansion.name)}, {luck}",
            "info",
            related=[(use.step.invocation.name_span, "the tasks start here")],
            advice=partial(_advice, job, use),
        )


def _in_log_names(job: Job) -> Iterator[Finding]:
    """Log names in srun's own options, which no shell in the task can expand: srun has patterns for them."""
    for step, option in [(step, step.option(name)) for step in job.steps for name in ("output", "error")]:
        if option is None or not (step.several_nodes or step.geometry.several):
            continue
        for expansion in expansions(option.value or ()):
            if expansion.phase is not Phase.BATCH or expansion.name not in _PATTERNS:
                continue
            pattern = _PATTERNS[expansion.name]
            place = place_of(job, expansion)
            inside = step.invocation.span.contains(place) and is_plain(expansion, job.source.text)
            yield Finding(
                place,
                f"the batch shell expands ${expansion.name} to {value_in_batch(expansion.name)}, so the output of "
                f"all tasks goes to one file; write `{pattern}`, which srun replaces",
                "warning",
                fix=Fix(f"write {pattern}", [replace(place, pattern)]) if inside else None,
            )


def _advice(job: Job, use: EarlyUse) -> str:
    return _repair(job, use)[0]


def _repair(job: Job, use: EarlyUse) -> tuple[str, Fix | None]:
    name = use.expansion.name
    if not use.shells and not use.word:
        return "let each task write its own file", None
    repair = None if use.shells else started_by_shell(job, use)
    repair = repair or deferred_to_tasks(job, use, frozenset())
    if repair is not None:
        title = "let the task expand it" if use.shells else "start the command with a shell in the task"
        return repair.text, Fix(title, repair.edits, repair.safe)
    if use.shells:
        return "expand it in each task's own shell", None
    if _reads_others(job, use.step):  # single quotes would keep them from the batch shell, which alone knows them
        return f'let each task expand it: `bash -c "… \\${name} …"`', None
    return f"let each task expand it: `bash -c '… ${name} …'`", None


@once
def _reads_others(job: Job, step: Step) -> bool:
    """Whether the words of a step also have variables that the batch shell sets and does not export."""
    return not _own_names(job).isdisjoint(_NAME.findall(job.source.slice(step.span)))


@once
def _own_names(job: Job) -> frozenset[str]:
    return frozenset(each.name for each in job.assignments if not each.exported)


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
        fixed={"--node_rank=$SLURM_NODEID": "--node_rank=\\$SLURM_NODEID"},
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
        fixed={"RANK=${SLURM_PROCID} LOCAL_RANK=$SLURM_LOCALID": "RANK=\\${SLURM_PROCID} LOCAL_RANK=\\$SLURM_LOCALID"},
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
        fixed={'out.$SLURM_PROCID"': 'out.\\$SLURM_PROCID"'},
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
