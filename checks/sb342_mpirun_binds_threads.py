"""All threads of a program share one core: Open MPI's mpirun binds one or two processes to a core each.

`mpirun -np 1 ./solver` with `OMP_NUM_THREADS=16` and `--cpus-per-task=16` starts sixteen threads on one core, while the
other fifteen CPUs of the task are idle. Since version 1.8, mpirun binds each process to a core where it starts at most
two, and to a socket or NUMA domain where it starts more. Nothing tells: the job is as slow as without threads, or
slower. In a measurement of how a program scales with threads it looks as if it did not.

Reported is an mpirun that is certainly Open MPI's, starts one or two processes, has no option and no variable that
binds or maps them, and whose program has more than two threads by OMP_NUM_THREADS.

## Fix

None: `--bind-to none` lets the threads use all CPUs of the job on the node, `--map-by slot:PE=16` gives each process
sixteen cores of its own, and srun binds by `--cpus-per-task`.

## References

mpirun(1) of Open MPI 1.8, 4.1 and 5.0: `--bind-to`, "bind to core: when the number of processes is <= 2"
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.mpi_slots import is_open_mpi, mpi_modules, takes_slots, tasks_of_job
from sbatchlint.bash.trace import Invocation, values_of
from sbatchlint.bash.values import Phase, expansions, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job import Launch
from sbatchlint.job.launchers import Mpi
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB342", "mpirun-binds-threads", severity="warning", fix="never", since="0.1.0", when=Launchers("mpi"), batch=True,
    homogeneous=True, seen="the manual page of Open MPI's mpirun",
    unseen="Nothing: the threads share one core, and the job is slow.",
)  # fmt: skip

_FEW = 2  # processes that are bound to a core each
_OF_CORE = 2  # threads that the hardware of a core may run
_THREADS = "OMP_NUM_THREADS"
# Words of an mpirun that say where its processes run, and variables that may.
_PLACING = Regex(
    r"(?i)-+(?:bind|map|rank|by|pe\b|cpus?[-_]|mca|omca|prtemca|pmca|gmca|rf\b|host|machine|use-hw|report)"
)
_VARIABLE = Regex(r"(?:OMPI|PRTE|PMIX|ORTE)_\w+")
_OLD = Regex(r"(?i)(?:openmpi|ompi)[/@_-]?1[._-][0-7](?![0-9])")  # these bind nothing


def check(job: Job) -> Iterator[Finding]:
    if job.request.has_option("hint"):
        return
    for launch in job.launches:
        launcher = launch.launcher
        if not isinstance(launcher, Mpi) or launch.invocation.phase is not Phase.BATCH:
            continue
        number = _processes(job, launch)
        if number is None or not 0 < number <= _FEW or not is_open_mpi(job, launch) or not takes_slots(job, launch):
            continue
        if any(_OLD.search(word) for _, word in mpi_modules(job)):
            continue
        words = [shown_text(field) for field in launcher.argv[: launcher.program]]
        if any(map(_PLACING.match, words)) or any(map(_VARIABLE.fullmatch, launch.invocation.state.variables)):
            continue
        threads, cpus = _threads(job, launch.invocation), _cpus(job)
        if threads is None or threads <= _OF_CORE or cpus is None or cpus <= _OF_CORE:
            continue
        processes = "the process" if number == 1 else "each of two processes"
        yield Finding(
            launcher.span,
            f"mpirun of Open MPI binds {processes} to one core, which its {threads} threads share; add "
            f"`--bind-to none`, or `--map-by slot:PE={threads}`",
        )


def _processes(job: Job, launch: Launch) -> int | None:
    """How many processes an mpirun starts; None where that is not known."""
    assert isinstance(launch.launcher, Mpi)
    total = launch.launcher.total_processes
    if total is not None:
        return total.number
    if launch.launcher.processes_per_node is not None or launch.launcher.joined:
        return None
    return tasks_of_job(job)[0]


def _threads(job: Job, command: Invocation) -> int | None:
    """The most threads that the program is told to have; None where that is not known."""
    variable = command.state.variables.get(_THREADS)
    if variable is None or not variable.exported:
        return None
    most = 0
    for fields in values_of(command, variable):
        text = text_of(fields[0]) if fields else None
        if text is not None and is_number(text):
            most = max(most, parse_integer(text) or 0)
        elif fields and {each.name for each in expansions(fields[0])} == {"SLURM_CPUS_PER_TASK"}:
            most = max(most, whole(job.request.value("cpus-per-task")) or 0)
        else:
            return None
    return most


def _cpus(job: Job) -> int | None:
    """The CPUs that the job requests on a node; None where that is not known."""
    request = job.request
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    tasks = request.tasks_on_each_node() if request.has_any_option(("ntasks", "ntasks-per-node")) else 1
    return None if per_task is None else per_task * (tasks or 1)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=16
        module load openmpi/4.1
        export OMP_NUM_THREADS=16
        «mpirun» -np 1 ./solver
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=2 --cpus-per-task=8
        module load openmpi
        export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
        «mpirun» ./solver
        """,
        title="two tasks",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=16
        module load openmpi/4.1
        export OMP_NUM_THREADS=16
        mpirun -np 1 --bind-to none ./solver
        mpirun -np 1 --map-by slot:PE=16 ./solver
        """,
        title="told otherwise",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4 --cpus-per-task=4
        module load openmpi/4.1
        export OMP_NUM_THREADS=4
        mpirun ./solver
        """,
        title="more than two are bound to a socket",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=16
        module load intel-mpi
        export OMP_NUM_THREADS=16
        mpirun -np 1 ./solver
        """,
        title="Intel MPI gives a process all CPUs",
    ),
]
