"""The job gets more tasks than intended: sbatch makes one for each socket, core or thread it requests.

With `--nodes` (or `-B`) and no number of tasks, it multiplies the nodes by `--sockets-per-node`, `--cores-per-socket`
and `--threads-per-core`: `--nodes=1 --threads-per-core=2` is a job of two tasks, and a plain `srun ./a.out` starts the
program twice. sbatch reports this only with `-v`. Only advice where nothing uses this number: every srun of a program
has its own, and no mpirun and no `$SLURM_NTASKS` depends on it; and where `--ntasks-per-core` has the same number as
`--threads-per-core`, so that a task for each thread is what the author counts on.

## Fix

None: set the intended number of tasks with `--ntasks` or `--ntasks-per-node`.

## References

`_opt_verify()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.conflicts import task_counts
from sbatchlint.analysis.script.work import only_prepares
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.environment import TASK_FACTORS
from sbatchlint.triggers import Options

CARD = Card(
    "SB210", "threads-inflate-tasks", severity="warning", fix="never", since="0.1.0",
    when=Options(*TASK_FACTORS), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for component, counts in enumerate(task_counts(job)):
        if counts is None or not counts.multiplied or counts.ntasks <= counts.min_nodes:
            continue
        factors = [job.directives.last(name, component) for name in TASK_FACTORS]
        settings = sorted((each for each in factors if each is not None), key=lambda each: each.option_span.start)
        if not settings:
            continue
        nodes = "1 node" if counts.min_nodes == 1 else f"{counts.min_nodes} nodes"
        *others, last = (setting.written for setting in settings)
        names = f"{', '.join(others)} and {last}" if others else last
        makes = "make" if others else "makes"
        message = f"{names} {makes} sbatch assume {counts.ntasks} tasks on {nodes}; set --ntasks or --ntasks-per-node"
        related = [(each.span, "also counts") for each in settings[:-1]]
        yield Finding(settings[-1].span, message, None if _are_used(job) and not _is_meant(job) else "info", related)


def _is_meant(job: Job) -> bool:
    """Whether an option says that a core is to have as many tasks as threads."""
    per_core = job.request.value("ntasks-per-core")
    return per_core is not None and per_core == job.request.value("threads-per-core")


def _are_used(job: Job) -> bool:
    """Whether something depends on the number of tasks: a step without one of its own, mpirun, or a variable."""
    return (
        any(not step.certain or step.option("ntasks") is None and not only_prepares(step) for step in job.steps)
        or any(launch.launcher.kind == "mpi" and launch.container is None for launch in job.launches)
        or any(each.name in ("SLURM_NTASKS", "SLURM_NPROCS") for each in job.trace.reads)
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH «--threads-per-core=2»
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH -N 2 --sockets-per-node=2 «--cores-per-socket=8»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH «-B 2:4»\nsrun ./a.out\n", title="without a number of nodes"),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --threads-per-core=2 --ntasks=1\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --threads-per-core=2\nsrun ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2 --threads-per-core=1\nsrun ./a.out\n", title="one thread: nothing to multiply"
    ),
    Good("#!/bin/bash\n#SBATCH --threads-per-core=2\nsrun ./a.out\n", title="no number of nodes"),
]
