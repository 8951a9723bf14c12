"""An MPI program runs as one process: nothing starts its other ranks.

`#SBATCH --ntasks=36` only asks for room for 36 processes. It is srun or mpirun that starts them: `lmp -in run.lmp` or
`python train.py --horovod` alone is one rank, which does all of the work, while the CPUs of the others are idle and
charged. Often the launcher was commented out for a test.

A warning, and advice where the job has GPUs, as the CPUs may be for the threads of a process that uses them, unless the
line before is a launcher that was commented out.

Programs are known by their names, or by an option for Horovod. Nothing is reported where the script starts a step or
mpirun anywhere, where a command is not known that may start it, and where its ranks may have threads: OMP_NUM_THREADS
is more than 1, or LAMMPS has `-sf omp`, `-sf intel` or `-k on t 8`.

## Fix

Puts srun before the program. Unsafe: some builds of MPI need mpirun.

## References

srun(1), mpirun(1); docs.lammps.org, "Run_options"; a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.first_node import is_lone_mpi_rank
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB223", "ranks-not-started", severity="warning", fix="sometimes", since="0.1.0", sized=True,
    when=Options("ntasks", "ntasks-per-node"), batch=True, certain=True, homogeneous=True, whole_script=True,
    seen="a review of public scripts",
    unseen="Nothing: one process does all of the work, as slowly as without the other tasks.",
)  # fmt: skip

# A launcher that was commented out.
_MPI_MODULE = Regex(r"(?i)mpi|mvapich|hpcx|foss|intel|oneapi|PrgEnv|cray|iimpi|toolchain")
_LAUNCHER = Regex(r"[ \t]*#+[ \t]*(?:srun|mpirun|mpiexec)\b")


def check(job: Job) -> Iterator[Finding]:
    tasks = job.request.effective_tasks()
    setting = job.request.setting("ntasks") or job.request.setting("ntasks-per-node")
    if tasks is None or tasks < 2 or setting is None or job.steps or job.launches or job.phase is not Phase.BATCH:
        return
    if job.program.errors or _may_be_started(job):
        return
    found = [each for each in job.invocations if is_lone_mpi_rank(each)]
    if not found or any(each.context.background is not None or each.context.captured for each in found):
        return
    first = found[0]
    name = first.words[0].rpartition("/")[2]
    outer = [each for each in (first, *first.ancestors()) if each.phase is Phase.BATCH][-1]
    idle = tasks - 1
    above = job.source.text[: job.source.line_of(first.span.start).start].rstrip().rpartition("\n")[2]
    # a program of one's own may be built without MPI, and srun would then start copies of it
    own = first.words[0].startswith(("./", "../")) and _LAUNCHER.match(above) is None
    own = own and not any(map(_loads_mpi, job.invocations))
    fix = None if own else Fix("start it with srun", [insert(outer.name_span.start, "srun ")])
    plain = job.request.asks_for_gpus is False or _LAUNCHER.match(above) is not None
    yield Finding(
        first.name_span,
        f"`{name}` runs as a single MPI rank, so {idle} of the {tasks} tasks {'stays' if idle == 1 else 'stay'} "
        "idle; start it with srun or mpirun",
        None if plain else "info",
        related=[(setting.span, f"requests {tasks}"), *((each.name_span, "also one rank") for each in found[1:3])],
        fix=fix,
    )


def _loads_mpi(command: Invocation) -> bool:
    """Whether a command loads a module of MPI, or of compilers that bring it."""
    return has_trait(command.name, "module") and any(map(_MPI_MODULE.search, command.words[1:]))


def _may_be_started(job: Job) -> bool:
    """Whether some command of the script starts ranks, or has a name that is not known: it may be a launcher."""
    commands = [each for each in job.invocations if each.argv and not each.kind]
    return any(each.name is None or has_trait(each.name, "spreads", "mpi", "remote") for each in commands)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=36
        module load lammps
        #srun --ntasks=36
        «lmp» -in run.lmp >> run.log
        """,
        unsafe_fixed={"lmp -in": "srun lmp -in"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 4
        #SBATCH --ntasks-per-node=2
        «python» -u train.py --horovod --lr 0.001
        """,
        unsafe_fixed={"python": "srun python"},
        title="Horovod",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=36\nmpirun lmp -in run.lmp\n"),
    Good("#!/bin/bash\n#SBATCH --ntasks=36\n$MPIRUN lmp -in run.lmp\n", title="perhaps with mpirun"),
    Good("#!/bin/bash\n#SBATCH --ntasks=8 --nodes=1\nlmp -sf omp -pk omp 8 -in run.lmp\n", title="with threads"),
    Good("#!/bin/bash\n#SBATCH --ntasks=1\nlmp -in run.lmp\n", title="one task"),
]
