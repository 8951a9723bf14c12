"""The new job fails or gets wrong resources: it inherits the counts of the job that submits it.

sbatch passes on the variables of its environment, and those of Slurm in every case, even with `--export=NONE`. What the
second job requests replaces them; what it does not request stays as in the first job, and srun takes it for its own
options: SLURM_NTASKS=16 requests a step of 16 tasks in a job with room for one ("More processors requested than
permitted"), SLURM_GPUS_PER_NODE requests GPUs that the job does not have ("Invalid generic resource (gres)
specification"), and SLURM_MEM_PER_NODE together with `--mem-per-cpu` stops srun ("mutually exclusive").

Reported where the second job can be read too: a heredoc, the command of `--wrap`, a file of the project.

## Fix

Writes `env -u NAME` before sbatch, which removes the variable. Unsafe: the second job may rely on it.

## References

sbatch(1), "--export": "SLURM_* variables are always propagated"; live runs of Slurm 22.05, and src/sbatch/sbatch.c of
22.05 to 25.11; https://github.com/snakemake/snakemake/issues/2912, https://github.com/CoBrALab/qbatch/pull/239
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job import Step
from sbatchlint.job.once import once
from sbatchlint.triggers import Submitted

CARD = Card(
    "SB615", "nested-sbatch-environment", severity="warning", fix="always", since="0.1.0",
    when=Submitted(), seen="live runs of Slurm 22.05", homogeneous=True,
)  # fmt: skip

TASK_OPTIONS = (
    "ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-socket", "ntasks-per-core",
    "gpus-per-task", "tres-per-task",
)  # fmt: skip
# Options that srun reads from the environment, and their variables. `--gres` is not one of them.
GPU_VARIABLES = {
    "gpus": ("SLURM_GPUS",),
    "gpus-per-node": ("SLURM_GPUS_PER_NODE",),
    "gpus-per-task": ("SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK"),
}
MEMORY_VARIABLES = {"mem": "SLURM_MEM_PER_NODE", "mem-per-cpu": "SLURM_MEM_PER_CPU", "mem-per-gpu": "SLURM_MEM_PER_GPU"}


class Inherited(NamedTuple):
    """What a job inherits but should not: the variables, the step that reads them, and what the step then does."""

    names: tuple[str, ...]
    step: Step
    fault: str


def check(job: Job) -> Iterator[Finding]:
    submission = job.submission
    if submission is None or submission.command is None or not submission.alone or job.outer is None:
        return
    outer, command = job.outer, submission.command
    if outer.phase is not Phase.BATCH or command.phase is not Phase.BATCH or not outer.directives.every_setting:
        return
    certain = outer.directives.certain and job.directives.certain and not job.directives.unread
    if not certain or outer.request.heterogeneous:
        return
    removed = _removed_variables(outer, command)
    if removed is None:
        return
    found = [each for each in (_tasks(job, outer), _gpus(job, outer), _memory(job, outer)) if each is not None]
    for names, step, fault in found:
        remaining = [name for name in names if name not in removed and name not in command.state.variables]
        if remaining and _reads(job, step):
            remedy = f"env {' '.join(f'-u {name}' for name in remaining)} "
            exact = job.source.slice(command.name_span) == "sbatch"
            fix = Fix("remove it from the environment", [insert(command.name_span.start, remedy)])
            yield Finding(
                command.name_span,
                f"the new job inherits {remaining[0]} from this one, so its srun on line {job.line(step.span.start)} "
                f"{fault}; write `{remedy}sbatch`",
                related=[(step.span, "reads it")],
                fix=fix if exact else None,
            )


def _removed_variables(outer: Job, command: Invocation) -> frozenset[str] | None:
    """The variables that are removed from the environment of a command; None where that is unknown."""
    found: set[str] = set()
    for ancestor in command.ancestors():
        if ancestor.spawn.cleared:
            return None
        found |= ancestor.spawn.dropped
    return None if _first_change(outer) < command.index else frozenset(found)


@once
def _first_change(job: Job) -> float:
    """The index of the first command that may change Slurm's variables; -1 for an assignment, infinity for none."""
    if any(each.name.startswith("SLURM_") for each in job.assignments):
        return -1
    for number, command in enumerate(job.invocations):
        if command.name in ("unset", "export", "declare", "eval"):
            words = command.words[1:]
            if command.name == "eval" or any("SLURM" in word or not word.isascii() for word in words):
                return number
    return math.inf


def _reads(job: Job, step: Step) -> bool:
    """Whether an srun of the new job sees the variables that the job inherits."""
    command = step.invocation
    if command.phase is not Phase.BATCH or command.variables or _first_change(job) < command.index:
        return False
    return not any(each.spawn.cleared or each.spawn.dropped for each in command.ancestors())


def _step_without(job: Job, *options: str) -> Step | None:
    """The first step of a job that sets none of these options itself."""
    return next((each for each in job.steps if not any(option in each.options for option in options)), None)


def _tasks(job: Job, outer: Job) -> Inherited | None:
    if job.request.has_any_option(TASK_OPTIONS):
        return None
    counts, own = outer.request.counts, job.request.effective_tasks()
    if counts is None or not counts.ntasks_given or counts.ntasks is None:
        return None
    own = 1 if own is None and not job.request.has_option("nodes") else own
    step = _step_without(job, *TASK_OPTIONS, "nodes")
    if own is None or counts.ntasks <= own or step is None or job.request.has_option("exclusive"):
        return None
    per_node = ("SLURM_NTASKS_PER_NODE",) if outer.request.has_option("ntasks-per-node") else ()
    room = "one" if own == 1 else str(own)
    return Inherited(
        ("SLURM_NTASKS", "SLURM_NPROCS", *per_node), step, f"wants {counts.ntasks} tasks in a job of {room}"
    )


def _gpus(job: Job, outer: Job) -> Inherited | None:
    options = [option for option in GPU_VARIABLES if outer.request.has_option(option)]
    names = tuple(name for option in options for name in GPU_VARIABLES[option])
    step = _step_without(job, *GPU_VARIABLES, "gres", "tres-per-task")
    if not names or step is None or job.request.asks_for_gpus is not False or outer.request.asks_for_gpus is not True:
        return None
    return Inherited(names, step, "requests GPUs that the job lacks")


def _memory(job: Job, outer: Job) -> Inherited | None:
    here = [option for option in MEMORY_VARIABLES if job.request.has_option(option)]
    there = [option for option in MEMORY_VARIABLES if outer.request.has_option(option)]
    step = _step_without(job, *MEMORY_VARIABLES)
    if len(here) != 1 or len(there) != 1 or here == there or step is None:
        return None
    return Inherited((MEMORY_VARIABLES[there[0]],), step, f"fails: it excludes --{here[0]}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        srun ./simulate
        «sbatch» --wrap "srun ./evaluate"
        """,
        unsafe_fixed={"sbatch": "env -u SLURM_NTASKS -u SLURM_NPROCS sbatch"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        srun python train.py
        «sbatch» <<'EOF'
        #!/bin/bash
        #SBATCH --ntasks=1 --mem=4G
        srun python plot.py
        EOF
        """,
        unsafe_fixed={"sbatch": "env -u SLURM_GPUS_PER_NODE sbatch"},
        title="GPUs that the second job does not have",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16 --mem-per-cpu=2G
        srun ./simulate
        sbatch --ntasks=4 --mem-per-cpu=4G --wrap "srun ./evaluate"
        sbatch --mem-per-cpu=4G --wrap "./report; srun -n1 ./evaluate"
        """,
        title="the second job says itself what it wants",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        srun ./simulate
        unset "${!SLURM_@}"
        sbatch --wrap "srun ./evaluate"
        """,
        title="nothing is left to inherit",
    ),
]
