"""srun knows how many CPUs a task has and not how many tasks there are, so it fills the node with them.

Without a number of tasks one task per node is what most scripts expect. With `--cpus-per-task` srun starts as many as
the job's CPUs hold instead: eight copies of one experiment on an exclusive node of 64 CPUs with `--cpus-per-task=8`,
which write the same files and share the GPUs. srun's own option does so in all releases; the job's directive since
23.11, where srun inherits it again, so that the same script changes with an update of Slurm.

## Fix

Gives the srun `--ntasks=1`, or `--ntasks-per-node=1` on several nodes. Safe for a launcher of the whole node and for
Python; a compiled program may be meant to fill the node: unsafe.

## References

srun(1), --cpus-per-task; live runs on 22.05, 23.11 and 26.05; https://github.com/TUM-DAML/seml/issues/177
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB329", "srun-task-count-unset", severity="warning", fix="sometimes", since="0.1.0", when=Steps()
)


def check(job: Job) -> Iterator[Finding]:
    for each in job.uncounted_steps():
        span, option = each.reason
        one = "--ntasks=1" if each.step.nodes == 1 else "--ntasks-per-node=1"
        edits = add_step_option(job, [each.step], one, ("nodes", "nodelist"))
        where = f" (line {job.line(span.start)})" if each.inherited else ""
        if each.copies is not None:
            count = f"{each.copies} times on each node, as the job has {each.held} CPUs there"
        else:
            count = f"once for every {each.cpus} CPUs of the node, which --exclusive gives to the job"
        yield Finding(
            each.step.invocation.name_span,
            f"without a number of tasks, `{option}`{where} makes srun start {each.program} {count}"
            f"{job.versions.in_brackets(each.versions)}; write {one}",
            severity=None if each.likely else "info",
            related=[(span, "the CPUs of one task")],
            fix=None if edits is None else Fix(f"give the step {one}", edits, each.single),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive
        #SBATCH --cpus-per-task=8
        «srun» python run_experiment.py --seed 1
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive
        #SBATCH --cpus-per-task=8
        srun --ntasks=1 python run_experiment.py --seed 1
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --cpus-per-task=16
        «srun» -N 2 --cpus-per-task=4 python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --cpus-per-task=16
        srun -N 2 --ntasks-per-node=1 --cpus-per-task=4 python train.py
        """,
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
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --cpus-per-task=8
        for threads in 1 2 4; do
            OMP_NUM_THREADS=$threads srun --ntasks=1 -c "$threads" ./matmul
        done
        """,
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
