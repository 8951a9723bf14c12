"""The MPI job has another number of processes than the job has tasks.

mpirun takes its slots from the tasks of the job, not from its CPUs. With `--cpus-per-task=32` and no tasks there is
one slot: `mpirun -np 32` of Open MPI says that there are not enough slots and starts nothing, MPICH and Intel MPI put
all processes on the CPUs of one task. With fewer processes than tasks the rest of the CPUs is paid for and idle. Under
srun, Open MPI 5 knows its other tasks by PMIx only: with `--mpi=pmi2` each task is alone in a world of one.

## Fix

Takes the number from `$SLURM_NTASKS`, or `--mpi=pmix`. Unsafe: the other number may be the one that is meant.

## References

https://github.com/open-mpi/ompi/issues/6020, https://github.com/open-mpi/ompi/issues/13523,
https://github.com/hpcflow/matflow/issues/387
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB318", "mpi-task-mismatch", severity="warning", fix="sometimes", since="0.1.0",
    when=Launchers("mpi") | Steps(),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for each in job.mpi_mismatches():
        number, tasks = each.processes, each.tasks
        slots = f"{tasks} task{'' if tasks == 1 else 's'}"
        if each.asked is not None:
            slots += f" (`{each.asked[1]}`, line {job.line(each.asked[0].start)})"
        title = "take the number of tasks from Slurm"
        if each.fault == "single":
            title = "write --mpi=pmix"
            what = f"{each.name} is not what Open MPI 5 speaks: each of {tasks} tasks is an MPI job of one process"
            what += "; write --mpi=pmix"
        elif each.fault == "one":
            assert each.asked is not None
            what = f"{each.name} starts one process, as `{each.asked[1]}` (line {job.line(each.asked[0].start)}) "
            what += f"asks for the CPUs of one task; write --ntasks={tasks}, or -np and OMP_NUM_THREADS"
        elif each.per_node:
            what = f"{each.name} is to start {number} processes on each node, where the job has {slots}: "
            what += f"Open MPI refuses, others share the CPUs; write --ntasks-per-node={number}"
        elif each.fault == "many":
            what = f"{each.name} is to start {number} processes in a job of {slots}: "
            what += f"Open MPI refuses for lack of slots, others share the CPUs; write --ntasks={number}"
            what += ", or -np $SLURM_NTASKS" if each.asked is not None else ", CPUs alone are no slots"
        else:
            what = f"{each.name} starts {number} processes in a job of {slots}, and the other CPUs stay idle; "
            what += "write -np $SLURM_NTASKS, or ask for fewer tasks"
        yield Finding(
            each.span,
            what,
            related=[] if each.asked is None else [(each.asked[0], "what the job asks for")],
            fix=None if each.edits is None else Fix(title, each.edits),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --cpus-per-task=32
        mpirun «-np» 32 ./solver
        """,
        title="CPUs are no slots",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=18
        mpirun «-np» 12 ./solver
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=18
        mpirun -np "$SLURM_NTASKS" ./solver
        """,
        title="a third of the job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load GCC/13.3.0 OpenMPI/5.0.3
        srun «--mpi=pmi2» ./hello
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load GCC/13.3.0 OpenMPI/5.0.3
        srun --mpi=pmix ./hello
        """,
        title="four worlds of one process",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=16\nmpirun -np 16 ./solver\nmpirun ./solver\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=32
        export OMP_NUM_THREADS=4
        mpirun -np 8 ./solver
        """,
        title="processes and threads",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        for n in 1 2 4 8 16; do
            mpirun -np $n ./solver
        done
        """,
        title="measured with several numbers",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 -c 40\nmpirun --oversubscribe -n 3 ./solver\n", title="told to share"),
]
