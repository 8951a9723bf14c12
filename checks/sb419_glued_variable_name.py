"""A variable is empty: its name runs on into the text after it.

Letters, digits and underscores belong to the name: `$SLURM_ARRAY_TASK_ID_restart` is not the task's id followed by a
word, but a variable with this long name, which is empty. All tasks of an array then write the same file, a resume finds
nothing, a run has no name. `$SEED_$LR` reads SEED_.

An error where that is certain: the shorter name is Slurm's, an underscore is at the end, or the case of the letters
changes where the names meet. A warning where the longer name could exist, where only the name of a log lacks the value,
and where the folder that the script makes, a place to which a program is told to write, or a name that holds the ID of
the job, only lacks a word; advice where it is only printed, or reaches only variables that nothing reads.

## Fix

Braces: `${SLURM_ARRAY_TASK_ID}_restart`. Safe where it is certain: a variable with that name cannot have had a value. A
slash (`$OUT/its`) where the script has one after the variable elsewhere, and no underscore is between; unsafe.

## References

bash(1), "Parameter Expansion": braces are required before a character that is not to be part of the name.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import glued_name, unset_reads
from sbatchlint.analysis.expansion.reach import Reach, reach_of, word_around
from sbatchlint.analysis.expansion.reads import nounset_at
from sbatchlint.analysis.storage.written_paths import names_output
from sbatchlint.bash.trace import VariableRead
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, joined, replace
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB419", "glued-variable-name", severity="error", fix="always", since="0.1.0", when=Variables("*"),
    seen="bash(1)",
)  # fmt: skip

_JOB_ID = Regex(r"\$\{?SLURM_JOB_?ID\b")
# An option, and what is written of its value before a place: a part of a name at least.
_OPTION = Regex(r"(?:^|[ \t\"'])(--?[A-Za-z][\w.-]*)(?:=|[ \t]+)[\"']?[^\s\"']*[A-Za-z0-9][^\s\"'/]*\Z")
_MOST = 300
# Variables of Slurm that are the same in all tasks and all runs of a script.
_FIXED = frozenset(
    {"SLURM_JOB_NAME", "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_ACCOUNT", "SLURM_JOB_USER"}
)


def check(job: Job) -> Iterator[Finding]:
    same: dict[tuple[str, str], list[Span]] = {}  # a name that is written in one place is read in another
    for read in unset_reads(job):
        same.setdefault((read.name, job.source.slice(read.span)), []).append(read.span)
    found: dict[tuple[str, str], list[Finding]] = {}
    for read in unset_reads(job):
        written, glued = job.source.slice(read.span), glued_name(job, read)
        if glued is None:
            continue
        severity, reach = "error" if glued.certain else "warning", reach_of(job, read)
        varies = glued.prefix.startswith("SLURM_") and glued.prefix not in _FIXED or read.context.loops
        if reach is Reach.MESSAGE:
            severity = "info"
        elif reach is Reach.WORK and nounset_at(job, read):
            severity = "error"  # bash stops before the command
        elif reach is Reach.LOG or not varies and (reach is Reach.FOLDER or _is_part_of_name(job, read)):
            severity = "warning"
        rest = read.name[len(glued.prefix) :]
        in_folder = rest[0] != "_" and _is_folder(job, glued.prefix)
        instead = f"${glued.prefix}/{rest}" if in_folder else f"${{{glued.prefix}}}{rest}"
        edits = [replace(each, instead) for each in sorted(same[read.name, written])]
        finding = Finding(
            read.span,
            f"bash reads the name as `{read.name}`, which nothing sets; write `{instead}`",
            severity,
            fix=Fix(f"write {instead}", edits, safe=glued.certain and not in_folder),
        )
        found.setdefault((read.name, written), []).append(finding)
    for one in found.values():
        # the fix of each is for all places
        yield joined(one, "the same name")._replace(fix=one[0].fix)


def _is_part_of_name(job: Job, read: VariableRead) -> bool:
    """Whether the word that lacks the value is the name of what the job writes, and still one that will do: it holds
    the ID of the job, which no other has, or a program writes to it: `--out_dir run_$X_a`."""
    before, word = word_around(job, read.span)
    option = _OPTION.search(before[-_MOST:])
    written = option is not None and (names_output(option[1]) or option[1].endswith("dirpath"))
    return written or _JOB_ID.search(word) is not None


def _is_folder(job: Job, name: str) -> bool:
    """Whether the script has a slash after a variable elsewhere, and never a word right after its braces."""
    text = job.source.text
    return (f"${name}/" in text or f"${{{name}}}/" in text) and re.search(rf"\$\{{{name}\}}\w", text) is None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-9
        srun python train.py --out runs/«$SLURM_ARRAY_TASK_ID_restart»
        """,
        fixed={"runs/$SLURM_ARRAY_TASK_ID_restart": "runs/${SLURM_ARRAY_TASK_ID}_restart"},
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
        fixed={"run_$SEED_$LR": "run_${SEED}_$LR"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        model=gpt
        srun python train.py --out «$model_small»/run
        """,
        unsafe_fixed={"$model_small/run": "${model}_small/run"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        MODEL=gpt
        RUN=a1
        NAME=«$MODEL_»$RUN
        RESULT=out/$NAME.txt
        srun python train.py --model $MODEL --run $RUN
        """,
        fixed={"$MODEL_$RUN": "${MODEL}_$RUN"},
        severity="info",
        title="nothing reads what lacks the value",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        MODEL=gpt
        RUN=a1
        NAME=«$MODEL_»$RUN
        export RESULT=out/$NAME.txt
        srun python train.py --model $MODEL --run $RUN
        """,
        fixed={"$MODEL_$RUN": "${MODEL}_$RUN"},
        title="a program may read it",
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
