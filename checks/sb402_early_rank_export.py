"""A rank is computed by the batch shell, once for all tasks.

`export RANK=$SLURM_PROCID` in the batch script sets RANK to 0 for every task: the batch shell is itself task 0 on the
first node, and what it exports is the same everywhere. All processes claim to be rank 0, and the job hangs until a
time-out, or every process trains alone. The same holds for `NODE_RANK=$SLURM_NODEID` whose value ends up in an argument
of srun.

An error where the value tells a process who it is; advice where the launcher sets the variable itself, as torchrun does
with RANK, and where the step has one task on one node, for which 0 is right.

## Fix

The assignment moves into the tasks: `srun bash -c 'RANK=$SLURM_PROCID exec "$@"' _ python train.py`. Unsafe, because
it rewrites the command, and the program may read SLURM_PROCID itself. There is none where the rank is an argument of
srun, or more is computed than a copy of the variable. What the launcher sets itself is removed, which is unsafe too.

## References

setup_env() in src/common/env.c, Slurm 20.11 to 26.05; Megatron-LM issue 1371.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.early import (
    RANK_VARIABLES,
    RANKS,
    EarlyUse,
    early_exports,
    early_uses,
    is_of_rank_variable,
    place_of,
    value_in_batch,
    worst_by_place,
)
from sbatchlint.analysis.expansion.reads import assignment_around
from sbatchlint.bash.trace import VariableAssignment
from sbatchlint.bash.values import Phase, is_open, span_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, remove
from sbatchlint.job import Step
from sbatchlint.job.launchers import recognise
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB402", "early-rank-export", severity="error", fix="sometimes",
    since="0.1.0", when=Steps(),
)  # fmt: skip

# A copy of the variable, with or without quotes.
_COPY = Regex(r"(\w+)=(\"?)(\$(?:SLURM_(?:PROCID|LOCALID|NODEID)|\{SLURM_(?:PROCID|LOCALID|NODEID)\}))\2")


def check(job: Job) -> Iterator[Finding]:
    exports = early_exports(job, RANKS)
    in_words = [use for use in early_uses(job, RANKS) if is_of_rank_variable(job, use.expansion)]
    for use in worst_by_place(use for use in (*exports, *in_words) if use.harms):
        name = use.expansion.name
        assigned = assignment_around(job, use.expansion.span)
        rank = "the rank" if assigned is None else assigned.name
        advice, fix = _repair(job, use, rank)
        yield Finding(
            place_of(job, use.expansion),
            f"${name} is {value_in_batch(name)} in the batch shell, and every task of the srun on line "
            f"{job.line(use.step.span.start)} gets the same {rank}; {advice}",
            use.severity,
            related=[(use.step.invocation.name_span, "the tasks start here")],
            fix=fix,
        )
    for use in worst_by_place(use for use in exports if use.step.tasks == use.step.nodes == 1):
        yield Finding(
            place_of(job, use.expansion),
            f"${use.expansion.name} is {value_in_batch(use.expansion.name)} in the batch shell, which is right only "
            f"while the srun on line {job.line(use.step.span.start)} has one task; set the rank in the task",
            "info",
            related=[(use.step.invocation.name_span, "the task starts here")],
        )


def _repair(job: Job, use: EarlyUse, rank: str) -> tuple[str, Fix | None]:
    advice = f"set it in the task: `bash -c '{rank}=${use.expansion.name} exec …'`"
    copies = _copies(job)
    assigned = next((each for each in copies if _holds(each, use)), None)
    if use.consumer == "ignored":
        launcher = recognise(use.command.argv)
        if launcher is None or any(use.word is word for word in use.command.argv):
            return f"the rendezvous numbers the nodes itself, so leave {rank} out", None
        edits = [] if assigned is None else _removals(job, [assigned])
        fix = Fix(f"remove {rank}", edits) if edits else None
        return f"{launcher.name} sets {rank} itself, so remove this assignment", fix
    steps = _steps_with(job, copies) if use.command.kind == "srun" else []
    moved = _moved(job, assigned, steps) if assigned is not None else None
    return advice, Fix("set it in the tasks", moved) if moved else None


def _copies(job: Job) -> list[VariableAssignment]:
    """The assignments of ranks in the batch shell that are mere copies of a variable of the tasks."""
    return [
        each
        for each in job.assignments
        if each.name in RANK_VARIABLES and each.context.phase is Phase.BATCH and _written(job, each) is not None
    ]


def _written(job: Job, assigned: VariableAssignment) -> str | None:
    """`RANK=$SLURM_PROCID` as it is written, without quotes; None where more is computed."""
    match = _COPY.fullmatch(job.source.slice(assigned.span))
    return f"{match[1]}={match[3]}" if match else None


def _holds(assigned: VariableAssignment, use: EarlyUse) -> bool:
    return assigned.span.start <= use.expansion.span.start < assigned.span.end


def _steps_with(job: Job, copies: list[VariableAssignment]) -> list[tuple[Step, list[VariableAssignment]]]:
    """The steps that get some of these ranks, and which."""
    found = []
    for step in job.steps:
        uses = [use for use in early_exports(job, RANKS) if use.step is step]
        ranks = {each for use in uses for each in copies if _holds(each, use)}
        if ranks:
            found.append((step, sorted(ranks, key=lambda each: each.span)))
    return found


def _program(job: Job, ranks: list[VariableAssignment]) -> str:
    """What a shell in each task runs in place of the command."""
    return " ".join(_written(job, each) or "" for each in ranks) + ' exec "$@"'


def _moved(
    job: Job, wanted: VariableAssignment, steps: list[tuple[Step, list[VariableAssignment]]]
) -> list[Edit] | None:
    """Moves all ranks of these steps into their tasks; None where a step is not plain enough."""
    edits: dict[Span, Edit] = {}
    for step, ranks in steps:
        at = _start_of_program(job, step)
        if at is None or wanted not in ranks and len(steps) > 1:
            return None
        edits[Span(at, at)] = insert(at, f"bash -c '{_program(job, ranks)}' _ ")
    for edit in _removals(job, [each for _, ranks in steps for each in ranks]):
        edits[edit.span] = edit
    return sorted(edits.values(), key=lambda edit: edit.span)


def _read_by_batch_shell(job: Job) -> set[str]:
    return {each.name for each in job.trace.reads if each.context.phase is not Phase.TASK}


def _start_of_program(job: Job, step: Step) -> int | None:
    """Where the command of an srun begins in the file, where it is written behind the srun itself."""
    if step.command is None or not step.certain:
        return None
    field = step.invocation.argv[step.command]
    start, end = span_of(field)
    outside = not step.invocation.span.start <= start < end <= step.invocation.span.end
    quoted = job.in_quoted_text(start) and job.source.text[start] not in "\"'"
    return None if is_open(field) or outside or quoted else start


def _removals(job: Job, moved: list[VariableAssignment]) -> list[Edit]:
    """Takes away `export RANK=…` where the batch shell does not read it, with the line where nothing else is on it."""
    text = left = job.source.text
    read = _read_by_batch_shell(job)
    gone = {each.span for each in moved if each.name not in read}
    for start, end in gone:
        left = left[:start] + " " * (end - start) + left[end:]
    edits = {}
    for start, end in sorted(gone):
        line = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        before, after = text[line:start], text[end:stop]
        behind = re.match(r"[ \t]+(?=[\w./$\"'])", after)
        if re.fullmatch(r"\s*(?:export\s+)?", left[line:stop]):
            span = Span(line, min(stop + 1, len(text)))
        elif re.fullmatch(r"\s*export\s+(?:\S+=\S*\s+)*", before) and re.fullmatch(r"(?:\s+\w+=[^\s;&|#]*)*\s*", after):
            span = Span(start - 1, end)
        elif behind and re.fullmatch(r"(?:.*[;&|({]|.*\b(?:then|do|else)\b)?\s*(?:\w+=[^\s;&|]*\s+)*", before):
            span = Span(start, end + behind.end())  # `RANK=… srun …`
        else:
            continue
        edits[span] = remove(span)
    return list(edits.values())


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        export RANK=«$SLURM_PROCID»
        export LOCAL_RANK=«$SLURM_LOCALID»
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec "$@"' _ python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        NODE_RANK=«$SLURM_NODEID»
        srun torchrun --nnodes=2 --node_rank=$NODE_RANK --master_addr=$HOST train.py
        """,
        title="by way of an argument",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        NODE_RANK=«${SLURM_NODEID}»
        ARGS=(--nnodes=2 --master_addr=$HOST)
        ARGS+=(--node_rank "$NODE_RANK")
        srun torchrun "${ARGS[@]}" train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        setup() { export CUDA_VISIBLE_DEVICES=«$SLURM_LOCALID»; }
        setup
        srun bash -c 'python train.py'
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NODE_RANK=«$SLURM_NODEID» NNODES=2 NPROC_PER_NODE=8
        srun swift sft --model Qwen/Qwen2.5-7B
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NNODES=2 NPROC_PER_NODE=8
        srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$@"' _ swift sft --model Qwen/Qwen2.5-7B
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec python train.py'
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        cat > run.sh <<'EOF'
        export RANK=$SLURM_PROCID
        python train.py
        EOF
        export RANK=$SLURM_PROCID
        srun bash run.sh
        """,
        title="set again in the task",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export RANK=«$SLURM_PROCID»
        srun python train.py
        """,
        severity="info",
        title="one task, for which 0 is right",
    ),
]
