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

from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.launchers import is_python
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB223", "ranks-not-started", severity="warning", fix="always", since="0.1.0",
    when=Options("ntasks", "ntasks-per-node"), batch=True, certain=True, homogeneous=True, whole_script=True,
    seen="a review of public scripts",
    unseen="Nothing: one process does all of the work, as slowly as without the other tasks.",
)  # fmt: skip

# Programs that a job starts as ranks of MPI wherever it has several tasks.
_PROGRAMS = Regex(
    r"lmp(?:_(?!serial)\w+)?|(?:pw|ph|cp|neb|pp|bands|projwfc)\.x|vasp(?:_(?:std|gam|ncl))?|nwchem|siesta|abinit|xhpl|xhpcg"
    r"|(?:sander|pmemd|cpptraj)\.MPI|mdrun_mpi|cp2k\.popt|(?:wrf|real|metgrid|geogrid)\.exe|raxmlHPC-MPI(?:-\w+)?"
    r"|ior|mdtest|osu_\w+|IMB-MPI1|castep\.mpi|raxml-ng-mpi|mb-mpi|hoomd|qmcpack|PeleC\w*|octopus|elk|fleur_MPI"
)
_LAMMPS = Regex(r"lmp(?:_\w+)?")
_HOROVOD = Regex(r"--?(?:use[-_])?(?:horovod|hvd)")
_LAMMPS_THREADS = Regex(r"-(?:sf|suffix) (?:omp|intel|hybrid|kk|kokkos)|-(?:k|kokkos) on|-(?:pk|package) (?:omp|intel)")
# A launcher that was commented out.
_LAUNCHER = Regex(r"[ \t]*#+[ \t]*(?:srun|mpirun|mpiexec)\b")
# Options with which a program only tells of itself.
_TELLING = frozenset({"-h", "--help", "-help", "--version", "-v"})


def check(job: Job) -> Iterator[Finding]:
    tasks = job.request.effective_tasks()
    setting = job.request.setting("ntasks") or job.request.setting("ntasks-per-node")
    if tasks is None or tasks < 2 or setting is None or job.steps or job.launches or job.phase is not Phase.BATCH:
        return
    if job.program.errors or _may_be_started(job):
        return
    found = [each for each in job.invocations if _is_rank(each)]
    if not found or any(each.context.background is not None or each.context.captured for each in found):
        return
    first = found[0]
    name = first.words[0].rpartition("/")[2]
    outer = [each for each in (first, *first.ancestors()) if each.phase is Phase.BATCH][-1]
    fix = Fix("start it with srun", [insert(outer.name_span.start, "srun ")])
    idle = tasks - 1
    above = job.source.text[: job.source.line_of(first.span.start).start].rstrip().rpartition("\n")[2]
    plain = job.request.asks_for_gpus is False or _LAUNCHER.match(above) is not None
    yield Finding(
        first.name_span,
        f"`{name}` runs as a single MPI rank, so {idle} of the {tasks} tasks {'stays' if idle == 1 else 'stay'} "
        "idle; start it with srun or mpirun",
        None if plain else "info",
        related=[(setting.span, f"requests {tasks}"), *((each.name_span, "one rank, too") for each in found[1:3])],
        fix=fix,
    )


def _may_be_started(job: Job) -> bool:
    """Whether some command of the script starts ranks, or has a name that is not known: it may be a launcher."""
    commands = [each for each in job.invocations if each.argv and not each.kind]
    return any(each.name is None or has_trait(each.name, "spreads", "mpi", "remote") for each in commands)


def _is_rank(command: Invocation) -> bool:
    """Whether a command is a program that would be one of several ranks."""
    if command.phase is not Phase.BATCH or not _TELLING.isdisjoint(command.words) or command.children:
        return False
    if is_python(command.argv[0]):
        return any(map(_HOROVOD.fullmatch, command.words[1:]))
    if command.name is None or not _PROGRAMS.fullmatch(command.name):
        return False
    words = " ".join(command.words)
    if _LAMMPS.fullmatch(command.name):
        return _LAMMPS_THREADS.search(words) is None
    threads = text_of(exported(command, "OMP_NUM_THREADS") or ())
    return threads in ("", "1")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=36
        module load lammps
        #srun --ntasks=36
        «lmp» -in run.lmp >> run.log
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=36
        module load lammps
        #srun --ntasks=36
        srun lmp -in run.lmp >> run.log
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 4
        #SBATCH --ntasks-per-node=2
        «python» -u train.py --horovod --lr 0.001
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH -N 4
        #SBATCH --ntasks-per-node=2
        srun python -u train.py --horovod --lr 0.001
        """,
        title="Horovod",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=36\nmpirun lmp -in run.lmp\n"),
    Good("#!/bin/bash\n#SBATCH --ntasks=36\n$MPIRUN lmp -in run.lmp\n", title="perhaps with mpirun"),
    Good("#!/bin/bash\n#SBATCH --ntasks=8 --nodes=1\nlmp -sf omp -pk omp 8 -in run.lmp\n", title="with threads"),
    Good("#!/bin/bash\n#SBATCH --ntasks=1\nlmp -in run.lmp\n", title="one task"),
]
