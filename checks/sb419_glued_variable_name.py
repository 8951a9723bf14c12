"""A variable is empty: its name runs on into the text after it.

Letters, digits and underscores belong to the name: `$SLURM_ARRAY_TASK_ID_restart` is not the task's id followed by a
word, but a variable with this long name, which is empty. All tasks of an array then write the same file, a resume finds
nothing, a run has no name. `$SEED_$LR` reads SEED_.

An error where that is certain: the shorter name is Slurm's, an underscore is at the end, or the case of the letters
changes where the names meet. A warning where the longer name could exist, or where a name that holds the ID of the job
only lacks a word; advice where it is only printed.

## Fix

Braces: `${SLURM_ARRAY_TASK_ID}_restart`. Safe where it is an error: a variable with that name cannot have had a value.

## References

bash(1), "Parameter Expansion": braces are required before a character that is not to be part of the name.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import glued_name, unset_reads
from sbatchlint.analysis.expansion.reads import use_of
from sbatchlint.bash.trace import VariableRead
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB419", "glued-variable-name", severity="error", fix="always", since="0.1.0", when=Variables("*"),
    seen="bash(1)",
)  # fmt: skip

_JOB_ID = Regex(r"\$\{?SLURM_JOB_?ID\b")

# What stands before a word that names a file for output.
_TO_FILE = Regex(r"(?:>>?|\btee(?:[ \t]+-a)?[ \t])[ \t]*[^\s;&|]*$")
_LOG = Regex(r"(?i)log\b|\.err\b")


def check(job: Job) -> Iterator[Finding]:
    for read in unset_reads(job):
        glued = glued_name(job, read)
        if glued is None:
            continue
        severity = "error" if glued.certain else "warning"
        varies = glued.prefix.startswith("SLURM_") or read.context.loops
        if severity == "error" and not varies and _is_in_own_name(job, read):
            severity = "warning"
        line = job.source.line_of(read.span.start)
        before, after = job.source.text[line.start : read.span.start], job.source.text[read.span.end : line.end]
        word = "".join([*before.split()[-1:], after.split(" ")[0]])
        is_log = _TO_FILE.search(before) is not None and _LOG.search(word) is not None
        if severity == "error" and is_log:
            severity = "warning"
        if use_of(job, read).kind == "print":
            severity = "info"
        instead = f"${{{glued.prefix}}}{read.name[len(glued.prefix) :]}"
        yield Finding(
            read.span,
            f"bash reads the name as {read.name}, which nothing sets; write `{instead}`",
            severity,
            fix=Fix(f"write {instead}", [replace(read.span, instead)], safe=glued.certain),
        )


def _is_in_own_name(job: Job, read: VariableRead) -> bool:
    """Whether the word that lacks the value holds the ID of the job, and so is a name that no other job has."""
    text = job.source.text
    start, end = read.span.start, read.span.end
    line = text[job.source.line_of(start).start : start].split() or [""]
    before = "" if text[start - 1].isspace() else line[-1]
    after = text[end : job.source.line_of(start).end].split() or [""]
    return _JOB_ID.search(before + ("" if text[end : end + 1].isspace() else after[0])) is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-9
        srun python train.py --out runs/«$SLURM_ARRAY_TASK_ID_restart»
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --array=0-9
        srun python train.py --out runs/${SLURM_ARRAY_TASK_ID}_restart
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for SEED in 1 2 3; do
            for LR in 1e-3 1e-4; do
                srun python train.py --seed $SEED --lr $LR --out run_«$SEED_»$LR
            done
        done
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        for SEED in 1 2 3; do
            for LR in 1e-3 1e-4; do
                srun python train.py --seed $SEED --lr $LR --out run_${SEED}_$LR
            done
        done
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        model=gpt
        srun python train.py --out «$model_small»/run
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        model=gpt
        srun python train.py --out ${model}_small/run
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-9
        DATA=/data
        srun python train.py --out ${SLURM_ARRAY_TASK_ID}_restart --data $DATA_DIR
        """
    ),
]
