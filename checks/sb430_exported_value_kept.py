"""Tasks keep the old value: `srun --export=ALL,NAME=value` does not change an exported variable.

srun first takes the values of its --export, and then, for the word ALL, puts its whole environment over them. So `srun
--export=ALL,OMP_NUM_THREADS=8` after `export OMP_NUM_THREADS=1` starts tasks with 1, without a warning, and a PATH
passed this way stays as it was. Only a variable that srun does not have itself gets the value.

An error where both values are known, and for PATH and other variables that every job has; otherwise a warning. The same
value twice is not reported. sbatch and salloc treat --export differently, and are not checked.

## Fix

None. `NAME=value srun …` does what was meant: srun then has the value in its own environment.

## References

`_build_user_env()` of src/srun/launch.c, 23.02 to 26.05 (of src/plugins/launch/slurm/launch_slurm.c, 22.05), and
`env_array_merge()` of src/common/env.c; a live run of Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.exports import exports_of
from sbatchlint.job.steps import Step
from sbatchlint.triggers import StepOptions

CARD = Card(
    "SB430", "exported-value-kept", severity="error", fix="never", since="0.1.0",
    when=StepOptions("export"), seen="a live run of Slurm 22.05, and src/srun/launch.c of 22.05 to 26.05", batch=True,
)  # fmt: skip

# Variables in the environment of every job.
ALWAYS = frozenset({"PATH", "HOME", "USER", "SHELL", "LOGNAME", "PWD"})


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    option, exports = step.option("export"), exports_of(step)
    if option is None or not exports.whole_environment or not step.certain:
        return
    yield from filter(None, (_kept(job, step, name, value) for name, value in exports.values))


def _kept(job: Job, step: Step, name: str, value: Pieces) -> Finding | None:
    variable, shown = step.invocation.state.variables.get(name), text_of(value)
    if variable is None:
        is_itself = len(value) == 1 and value[0].expansion is not None and value[0].expansion.name == name
        if name not in ALWAYS or is_itself:
            return None
        has, related, certain = f"the {name} that the job has", [], True
    else:
        before = exported(step.invocation, name)
        if before is None or not variable.alternatives or not _differ(before, value):
            return None
        old, place = text_of(before), span_of(before)
        has = f"`{name}={old}`" if old is not None and len(old) < 40 else f"their {name}"
        if place.end > place.start:
            has += f" (line {job.line(place.start)})"
        related = [(place, "what is exported")] if place.end > place.start else []
        certain = None not in (old, shown)
    instead = f"`{name}={shown} srun`" if shown is not None and len(shown) < 40 else f"`{name}=… srun`"
    span = span_of(value)
    return Finding(
        span if span.end > span.start else step.place,
        f"the tasks keep {has} because ALL overrides what --export adds; write {instead}",
        None if certain else "warning",
        related=related,
    )


def _differ(first: Pieces, second: Pieces) -> bool:
    """Whether two values are written differently, unknown parts included."""
    if shown_text(first) != shown_text(second):
        return True
    unknown = [[each.expansion for each in value if each.text is None] for value in (first, second)]
    return unknown[0] != unknown[1]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4 --cpus-per-task=8
        export OMP_NUM_THREADS=1
        ./prepare
        srun --export=ALL,OMP_NUM_THREADS=«8» ./solver
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --export=ALL,PATH=«/opt/solver/bin:$PATH» solver
        """,
        title="every job has a PATH",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export SCRATCH=/scratch/$USER
        srun --export=ALL,SCRATCH=«/tmp» ./solver
        """,
        severity="warning",
        title="a value that is not known",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4 --cpus-per-task=8
        export OMP_NUM_THREADS=1
        ./prepare
        OMP_NUM_THREADS=8 srun --export=ALL ./solver
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --export=ALL,OMP_NUM_THREADS=8 ./solver
        """,
        title="a variable that srun does not have itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        THREADS=4
        export DATA=$HOME/data
        srun --export=ALL,THREADS=8,DATA=$DATA,PATH=$PATH ./solver
        """,
        title="not exported, or the same value",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export MODE=fast
        srun --export=MODE=slow,PATH ./solver
        """,
        title="a list without ALL",
    ),
]
