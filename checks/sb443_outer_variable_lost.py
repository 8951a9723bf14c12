"""A variable is empty in the job: the script that submits it sets it, but does not export it.

In `sbatch <<'EOF'`, in `--wrap='python train.py --lr $lr'` and in a file written by `cat <<'EOF'` the quotes keep `$lr`
for the job's own shell. That shell is a new one: sbatch passes on what is exported, and `for lr in 0.1 0.01` or
`DATA=/scratch/data` of the script around it is not. Every job runs with an empty value, or `--lr` takes the next option
for it.

Nothing is reported where the job sets the variable itself or has a default for it, where sbatch gets it by `--export`
or before its name, and for names that login shells or Slurm set.

## Fix

None: `export lr` before sbatch, `sbatch --export=ALL,lr=$lr`, or a text without quotes, in which each `$` that is meant
for the job then needs a backslash.

## References

sbatch(1), `--export`; bash(1), "Here Documents" and "QUOTING"
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import DEFAULTS, use_of
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.bash.variables import ENVIRONMENT_NAMES
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.environment import find
from sbatchlint.triggers import Submitted

CARD = Card(
    "SB443", "outer-variable-lost", severity="error", fix="never", since="0.1.0", when=Submitted(), seen="sbatch(1)",
    unseen="An option without its value, or a wrong path: the variable is empty in each job.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    submission = job.submission
    if submission is None or not submission.quoted or submission.command is None:
        return
    command, seen = submission.command, set[str]()
    own = {each.name for each in job.assignments}
    for read in job.trace.reads:
        name = read.name
        if read.variable is not None or name in seen or name in own or read.operator in DEFAULTS:
            continue
        if not _is_unexported(command, name) or use_of(job, read).kind == "guard":
            continue
        if any(each.index < read.order for each in unclear_sources(job)):
            continue
        seen.add(name)
        yield Finding(
            read.span,
            f"`{name}` is empty in the job, as the script that submits it does not export it; write `export {name}` "
            "before sbatch",
            related=[(command.name_span, "submits the job")],
        )


def _is_unexported(command: Invocation, name: str) -> bool:
    """Whether the submitting shell has a variable that sbatch does not pass on."""
    known, entry = command.state.variables.get(name), find(name)
    if known is None or not known.alternatives or known.exported or name in ENVIRONMENT_NAMES or entry is not None:
        return False
    if any(each == name for each, _ in command.variables):
        return False
    return not any(shown_text(each).startswith("--export") for each in command.argv[1:])


CASES = [
    Bad(
        """\
        #!/bin/bash
        for lr in 0.1 0.01; do
            sbatch <<'EOF'
        #!/bin/bash
        #SBATCH --gpus=1
        python train.py --lr «$lr» --out "run_$lr"
        EOF
        done
        """
    ),
    Bad(
        """\
        #!/bin/bash
        for lr in 0.1 0.01; do
            sbatch --gpus=1 --wrap='python train.py --lr «$lr»'
        done
        """,
        title="by --wrap",
    ),
    Bad(
        """\
        #!/bin/bash
        DATA=/scratch/data
        cat > job.sh <<'EOF'
        #!/bin/bash
        #SBATCH --gpus=1
        python train.py --data «${DATA}»/part1
        EOF
        sbatch job.sh
        """,
        title="in a file",
    ),
    Good(
        """\
        #!/bin/bash
        for lr in 0.1 0.01; do
            export lr
            sbatch --gpus=1 --wrap='python train.py --lr $lr'
        done
        """
    ),
    Good(
        """\
        #!/bin/bash
        for lr in 0.1 0.01; do
            sbatch --gpus=1 --export=ALL,lr=$lr --wrap='python train.py --lr $lr'
            sbatch --gpus=1 --wrap="python train.py --lr $lr"
        done
        """,
        title="passed, or expanded before",
    ),
]
