"""Every task gets the same rank: the batch shell computes it once for all.

`export RANK=$SLURM_PROCID` in the batch script sets RANK to 0 for every task: the batch shell is itself task 0 on the
first node, and what it exports is the same everywhere. All processes claim to be rank 0, and the job hangs until a
timeout, or every process trains alone. The same holds for `NODE_RANK=$SLURM_NODEID` when its value ends up in an
argument of srun.

An error where the value gives a process its rank; a warning where it numbers a GPU, and a script that cannot be read
starts the program and may choose another; advice where that script is named after it (`select_gpu.sh`), where the
launcher sets the variable itself, as torchrun does with RANK, where another argument or variable gives the program the
right rank, and where the step has one task on one node, for which 0 is right.

## Fix

The assignment moves into the tasks: `srun bash -c 'RANK=$SLURM_PROCID exec "$@"' _ python train.py`. Unsafe, because it
rewrites the command, and the program may read SLURM_PROCID itself. Where the rank is an argument of srun, a shell in
the task has to expand it: a backslash before the `$`, and `bash -c "…"` around the command. What the launcher sets
itself is removed, which is unsafe too. A fix is offered only where all other words of all commands stay as they are.

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
from sbatchlint.analysis.expansion.escapes import commands_of, deferred_to_tasks
from sbatchlint.analysis.expansion.reads import enclosing_assignment
from sbatchlint.analysis.expansion.varying import names_rank, of_task
from sbatchlint.bash.trace import VariableAssignment, exported
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, remove
from sbatchlint.job import Step
from sbatchlint.job.environment import LOCAL_RANKS
from sbatchlint.job.gpus import DEVICE_VARIABLES
from sbatchlint.job.once import once
from sbatchlint.job.proofs import keeps_words
from sbatchlint.source.numbers import listed
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Nested
from sbatchlint.triggers import Steps

CARD = Card(
    "SB402", "early-rank-export", severity="error", fix="sometimes",
    since="0.1.0", when=Steps(),
)  # fmt: skip

# A copy of the variable, with or without quotes.
_COPY = Regex(r"(\w+)=(\"?)(\$(?:SLURM_(?:PROCID|LOCALID|NODEID)|\{SLURM_(?:PROCID|LOCALID|NODEID)(?::?-\w*)?\}))\2")
# `main.py fit --config run.yaml`: LightningCLI takes ranks from SLURM_PROCID, whatever RANK says.
_LIGHTNING = Regex(r"\.py (?:fit|validate|test|predict) (?:.* )?--config\b")
# The name of a script that chooses the GPU of the program which it starts: `srun ../select_gpu.sh …`.
_CHOOSING = Regex(r"(?i)select|bind|affinity|wrap|gpu|device")
# Variables of the tasks that number the same: all processes, those of a node, the nodes.
_SAME_RANK = (
    frozenset({"SLURM_PROCID", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}),
    LOCAL_RANKS,
    frozenset({"SLURM_NODEID", "OMPI_COMM_WORLD_NODE_RANK"}),
)


def check(job: Job) -> Iterator[Finding]:
    exports = early_exports(job, RANKS)
    in_words = [use for use in early_uses(job, RANKS) if is_of_rank_variable(job, use.expansion)]
    # Several variables that one step reads are one mistake, with one fix.
    groups: dict[tuple[Span, str, str | None, Span | None], list[EarlyUse]] = {}
    for use in worst_by_place(use for use in (*exports, *in_words) if use.is_harmful):
        in_words_at = use.expansion.span if any(each.expansion == use.expansion for each in in_words) else None
        severity = "info" if _has_own_rank(use) else use.severity
        if severity != "info" and _may_be_chosen(use):
            severity = "info" if _CHOOSING.search(use.command.words[0].rpartition("/")[2]) else "warning"
        key = (use.step.span, use.consumer, severity, in_words_at)
        groups.setdefault(key, []).append(use)
    for (_, _, level, in_words_at), found in groups.items():
        uses = sorted(found, key=lambda use: use.expansion.span)
        names = list(dict.fromkeys(use.expansion.name for use in uses))
        ranks = list(dict.fromkeys(_rank(job, use) for use in uses))
        advice, fix = _repair(job, uses, ranks, in_words_at is not None)
        first, same = uses[0], ranks[0] if len(ranks) == 1 else "ranks"
        what = f"the batch shell expands {listed([f'${name}' for name in names])} only once"
        if len(names) == 1:  # the batch shell has no ranks
            what = f"${names[0]} is {value_in_batch(names[0])} in the batch shell"
        yield Finding(
            place_of(job, first.expansion),
            f"{what}, so all tasks of line {job.line(first.step.span.start)} get the same {same}; {advice}",
            level,
            related=[
                *((place_of(job, use.expansion), "also expanded here") for use in uses[1:]),
                (first.step.invocation.name_span, "the tasks start here"),
            ],
            fix=fix,
        )
    for use in worst_by_place(use for use in exports if use.step.tasks == use.step.nodes == 1):
        of_node = use.expansion.name in _SAME_RANK[2]  # which all tasks of a node share
        condition = "uses one node" if of_node else "has one task"
        name = use.expansion.name
        yield Finding(
            place_of(job, use.expansion),
            f"${name} is {value_in_batch(name)} in the batch shell, right only while line "
            f"{job.line(use.step.span.start)} {condition}; for more, write "
            f"`srun bash -c '{_rank(job, use)}=${name} exec …'`",
            "info",
            related=[(use.step.invocation.name_span, "the task starts here")],
        )


def _may_be_chosen(use: EarlyUse) -> bool:
    """Whether a script that cannot be read starts the program, and may choose its GPU: `srun ../select.sh ./solver`."""
    words = use.command.words
    wraps = "/" in words[0] and words[0].endswith(".sh") and len(words) > 1 and words[1][:1] not in ("-", "")
    return use.variable in DEVICE_VARIABLES and wraps and not use.command.children


def _has_own_rank(use: EarlyUse) -> bool:
    """Whether the program also gets this rank elsewhere: as a program of Lightning's command line, which asks Slurm, or
    from an argument or a variable that its own shell expands."""
    if _LIGHTNING.search(" ".join(use.command.words)):
        return True
    fields = [*use.command.argv, *(field for _, field in use.command.variables)]
    fields.extend(exported(use.command, name) or () for name in RANK_VARIABLES)
    wanted = next((names for names in _SAME_RANK if use.expansion.name in names), None)
    for field in fields:
        names = {each.name for each in expansions(field) if each.phase is Phase.TASK and of_task(each)}
        others = frozenset().union(*(same for same in _SAME_RANK if same is not wanted))
        if names and (wanted is None or len(names) > 1 or not names <= others):
            return True
    return False


def _rank(job: Job, use: EarlyUse) -> str:
    """The variable that carries the value into the tasks."""
    assigned = enclosing_assignment(job, use.expansion.span)
    return use.variable or ("the rank" if assigned is None else assigned.name)


def _repair(job: Job, uses: list[EarlyUse], ranks: list[str], in_words: bool) -> tuple[str, Fix | None]:
    use, rank = uses[0], listed(ranks)
    settings = f"{_rank(job, use)}=${use.expansion.name}" + (" …" if len(uses) > 1 else "")
    advice = f"write `srun bash -c '{settings} exec …'`"
    copies = _copies_at(job, *(each.expansion.span for each in uses))
    if use.consumer == "ignored":
        launcher = job.launcher_of(use.command)
        if launcher is None or any(each.word is word for each in uses for word in use.command.argv):
            return "remove it and its option (the launcher numbers the nodes)", None
        edits = _removals(job, copies)
        fix = Fix(f"remove {rank}", edits) if edits else None
        these = "this assignment" if len(ranks) == 1 else "these assignments"
        return f"{launcher.name} sets {rank} itself, so remove {these}", fix
    if in_words:  # a shell in each task has to pass it on
        repair = deferred_to_tasks(job, use, RANK_VARIABLES)
        if repair is not None:
            return repair.text, Fix("let the task expand it", repair.edits, safe=False)
        return f"set it in the task, whose shell must expand it: `bash -c '{rank}=${use.expansion.name}; …'`", None
    steps = _steps_with_ranks(job) if copies and use.command.phase is Phase.TASK else []
    for moved in _moves(job, copies[0] if copies else None, steps):
        if keeps_words(job, moved, (), RANK_VARIABLES | set(ranks)):
            return advice, Fix(f"set {'it' if len(ranks) == 1 else 'them'} in the tasks", moved)
    return advice, None


def _copies_at(job: Job, *places: Span) -> list[VariableAssignment]:
    """The assignments around these places that only copy a variable of the tasks, in order."""
    found = dict(each for place in places for each in _copies(job).around(place))
    return [found[number] for number in sorted(found)]


@once
def _copies(job: Job) -> Nested[tuple[int, VariableAssignment]]:
    """Ranks that the batch shell copies from a variable of the tasks, numbered in order of execution."""
    ranks = [each for each in job.assignments if each.name in RANK_VARIABLES or names_rank(each.name)]
    copies = [each for each in ranks if each.context.phase is Phase.BATCH and _written(job, each) is not None]
    return Nested((each.span, (number, each)) for number, each in enumerate(copies))


def _written(job: Job, assigned: VariableAssignment) -> str | None:
    """`RANK=$SLURM_PROCID` as written, without quotes; None where the value is more than a copy."""
    match = _COPY.fullmatch(job.source.slice(assigned.span))
    return f"{match[1]}={match[3]}" if match else None


@once
def _steps_with_ranks(job: Job) -> list[tuple[Step, list[VariableAssignment]]]:
    """The steps that get ranks from the batch shell, each with those assignments."""
    copies_by_place: dict[Span, list[VariableAssignment]] = {}
    ranks: dict[int, set[VariableAssignment]] = {}
    for use in early_exports(job, RANKS):
        place = use.expansion.span
        if place not in copies_by_place:
            copies_by_place[place] = _copies_at(job, place)
        ranks.setdefault(id(use.step), set()).update(copies_by_place[place])
    found = [(step, sorted(ranks.get(id(step), ()), key=lambda each: each.span)) for step in job.steps]
    return [(step, copies) for step, copies in found if copies]


def _moves(
    job: Job, wanted: VariableAssignment | None, steps: list[tuple[Step, list[VariableAssignment]]]
) -> Iterator[list[Edit]]:
    """The candidate edits that move all ranks of these steps into their tasks."""
    if wanted is None or len(steps) > 1 and any(wanted not in ranks for _, ranks in steps):
        return
    removals = _removals(job, [each for _, ranks in steps for each in ranks])
    candidates = [[job.span(words[0].start, words[0].start) for words in commands_of(job, step)] for step, _ in steps]
    for index in range(min(map(len, candidates), default=0)):
        edits = {edit.span: edit for edit in removals}
        for places, (_, ranks) in zip(candidates, steps, strict=True):
            settings = " ".join(_written(job, each) or "" for each in ranks)
            edits[places[index]] = Edit(places[index], f"bash -c '{settings} exec \"$@\"' _ ")
        yield sorted(edits.values(), key=lambda edit: edit.span)


def _removals(job: Job, moved: list[VariableAssignment]) -> list[Edit]:
    """Removes `export RANK=…` where the batch shell does not read it, and the line if nothing else is on it."""
    text = remaining = job.source.text
    read = {each.name for each in job.trace.reads if each.context.phase is not Phase.TASK}
    removed = {each.span for each in moved if each.name not in read}
    for start, end in removed:
        remaining = remaining[:start] + " " * (end - start) + remaining[end:]
    edits = {}
    for start, end in sorted(removed):
        line, stop = job.source.line_of(start).start, job.source.line_of(end).end
        before, after = text[line:start], text[end:stop]
        space_before = re.match(r"[ \t]+(?=[\w./$\"'])", after)
        if re.fullmatch(r"\s*(?:export\s+)?", remaining[line:stop]):
            span = Span(line, min(stop + 1, len(text)))
        elif re.fullmatch(r"\s*export\s+(?:\w+=\S*\s+)*", before) and re.fullmatch(r"(?:\s+\w+=[^\s;&|#]*)*\s*", after):
            span = Span(start - 1, end)
        elif space_before and re.fullmatch(r"(?:.*[;&|({]|.*\b(?:then|do|else)\b)?\s*(?:\w+=[^\s;&|]*\s+)*", before):
            span = Span(start, end + space_before.end())  # `RANK=… srun …`
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
        export LOCAL_RANK=$SLURM_LOCALID
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
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        NODE_RANK=\\$SLURM_NODEID
        srun bash -c "torchrun --nnodes=2 --node_rank=$NODE_RANK --master_addr=$HOST train.py"
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
        """,
        unsafe_fixed={
            "NODE_RANK=${SLURM_NODEID}": "NODE_RANK=\\${SLURM_NODEID}",
            'torchrun "${ARGS[@]}" train.py': 'bash -c "torchrun ${ARGS[*]} train.py"',
        },
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
        unsafe_fixed={"'python": "'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID exec \"$@\"' _ bash -c 'python"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NODE_RANK=«$SLURM_NODEID» NNODES=2 NPROC_PER_NODE=8
        srun swift sft --model Qwen/Qwen2.5-7B
        """,
        unsafe_fixed={
            "NODE_RANK=$SLURM_NODEID NNODES=2": "NNODES=2",
            "swift": "bash -c 'NODE_RANK=$SLURM_NODEID exec \"$@\"' _ swift",
        },
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
