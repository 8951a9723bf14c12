"""srun starts a program several times: it gets the CPUs of a task, but no number of tasks.

Without a number of tasks, most scripts expect one task per node. With `--cpus-per-task` srun starts as many as the CPUs
of the job allow instead: eight copies of one experiment on an exclusive node of 64 CPUs with `--cpus-per-task=8`, which
write the same files and share the GPUs. srun's own option does so in all releases; the job's directive since 23.11,
where srun inherits it again, so an update of Slurm changes the same script. A job has only the CPUs that it requests,
or with `--exclusive` those of the whole node; `--mem=0` and GPUs change nothing.

Advice where the CPUs of a node are not known and a task has many.

## Fix

Adds `--ntasks=1` to the srun, or `--ntasks-per-node=1` on several nodes. Safe for a launcher for the whole node and for
Python; unsafe for a compiled program, which may be intended to fill the node.

## References

srun(1), --cpus-per-task; live runs on 22.05, 23.11 and 26.05; https://github.com/TUM-DAML/seml/issues/177
"""

import re
from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.launch.rank_signs import rank_sign
from sbatchlint.analysis.script.work import is_repeatable_step
from sbatchlint.bash.trace import Invocation, exported, is_set
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job, shortened
from sbatchlint.job.environment import COUNTING_OPTIONS, TASK_COUNTS
from sbatchlint.job.geometry import available_cpus
from sbatchlint.job.launchers import python_of
from sbatchlint.job.step_cpus import NOT_INHERITING
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options, StepOptions

CARD = Card(
    "SB329", "srun-task-count-unset", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("cpus-per-task") | StepOptions("cpus-per-task"), certain=True, homogeneous=True, absent=True,
)  # fmt: skip

# Options and variables that count the tasks of a step, or of the job.
COUNTING = (*COUNTING_OPTIONS, "ntasks-per-socket", "ntasks-per-core", "multi-prog")
COUNTING_VARIABLES = (*TASK_COUNTS, "SLURM_NTASKS_PER_NODE", "SLURM_TRES_PER_TASK")
# CPUs per task of which an exclusive node is likely, or unlikely, to have twice as many.
LIKELY, UNLIKELY = 32, 128
MPI = Regex(r"(?:^|[^a-z])i?mpi|mpich|mvapich|pmix?\b", re.IGNORECASE)


def check(job: Job) -> Iterator[Finding]:
    if job.request.has_any_option(COUNTING):
        return
    yield from filter(None, (_finding(job, step) for step in job.steps))


def _finding(job: Job, step: Step) -> Finding | None:
    if not step.certain or any(name in step.options for name in COUNTING):
        return None
    if any(is_set(step.invocation, name) for name in COUNTING_VARIABLES):
        return None
    releases: tuple[str, ...] | None = None
    reason = step.option("cpus-per-task") or job.request.setting("cpus-per-task")
    if reason is None:
        return None
    if "cpus-per-task" not in step.options and exported(step.invocation, "SRUN_CPUS_PER_TASK") is None:
        releases = tuple(each for each in job.versions.majors if each not in NOT_INHERITING)
        if not releases:
            return None
    cpus, available = whole(reason.text), available_cpus(step, job.request)
    if not cpus or available == 0 or (cpus >= UNLIKELY if available is None else available // cpus < 2):
        return None
    program = _program(job, step)
    if program is None:
        return None
    name, once_a_node = program
    one = "--ntasks=1" if step.nodes == 1 else "--ntasks-per-node=1"
    times = f"once per {cpus} CPUs of the node" if available is None else f"{available // cpus} times on each node"
    return Finding(
        step.invocation.name_span,
        f"without `--ntasks`, `{reason.as_written}` makes srun start `{shortened(name, 25)}` {times}"
        f"{job.versions.in_brackets(releases)}; write `{one}`",
        severity="info" if available is None and cpus > LIKELY else None,
        related=[(reason.span, "the CPUs of one task")],
        fix=partial(
            with_step_option, job, [step], one, f"give the step {one}", ("nodes", "nodelist"), safe=once_a_node
        ),
        versions=releases,
    )


def _program(job: Job, step: Step) -> tuple[str, bool] | None:
    """The program of a step, and whether it is clearly one for a node; None where several copies may be intended."""
    if is_repeatable_step(step) or step.command is None or "mpi" in step.options:
        return None
    launchers = [each.launcher for each in job.launches_of(step)]
    if any(each.kind == "mpi" for each in launchers):
        return None
    if launchers:
        return launchers[0].name, launchers[0].spawns
    if any(_knows_tasks(each) for each in step.program) or _may_use_mpi(job, step):
        return None
    python_commands = [(each, python) for each in step.program if (python := python_of(each)) is not None]
    if any(rank_sign(job, each) for each, _ in python_commands):
        return None
    if python_commands:
        command, python = python_commands[0]
        name = shown_text(command.argv[python.at]) if python.kind == "script" else ""
        return f"python {name}" if name and "\ue000" not in name else "python", True
    last = step.program[-1].name if step.program else None
    return None if last is None else (last, False)


def _knows_tasks(invocation: Invocation) -> bool:
    """Whether the words or variables of a command distinguish the tasks of a node."""
    own = [each.expansion for field in invocation.argv for each in field if each.expansion is not None]
    values = [each for variable in invocation.state.variables.values() for each in variable.alternatives]
    pieces = [piece for value in values for field in value.fields or () for piece in field]
    set_by_task = [each.expansion for each in pieces if each.expansion and each.expansion.phase is Phase.TASK]
    return any("SLURM_LOCALID" in each.name or "SLURM_PROCID" in each.name for each in (*own, *set_by_task))


def _may_use_mpi(job: Job, step: Step) -> bool:
    """Whether the program of the step may use MPI, so that several copies are intended."""
    loaded = [word for each in job.invocations if each.name in ("module", "ml") for word in each.words[1:]]
    words = [word for each in step.program for word in each.words]
    return any(MPI.search(word) for word in (*loaded, *words))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive
        #SBATCH --cpus-per-task=8
        «srun» python run_experiment.py --seed 1
        """,
        fixed={"python": "--ntasks=1 python"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --cpus-per-task=16
        «srun» -N 2 --cpus-per-task=4 python train.py
        """,
        fixed={"--cpus-per-task=4": "--ntasks-per-node=1 --cpus-per-task=4"},
        title="fewer CPUs than the job has",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --cpus-per-task=8
        for threads in 1 2 4; do
            OMP_NUM_THREADS=$threads «srun» -c "$threads" ./matmul
        done
        """,
        unsafe_fixed={"srun -c": "srun --ntasks=1 -c"},
        title="meant to measure threads, and starts eight programs of one thread",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --cpus-per-task=8\nsrun python run.py\n", title="the job has eight CPUs"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1 --exclusive --cpus-per-task=8\nsrun python run.py\n",
        title="one task",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2 --exclusive\nmodule load openmpi/4.1\nsrun -c 8 ./solver_mpi\n",
        title="MPI, meant to fill the nodes",
    ),
]
