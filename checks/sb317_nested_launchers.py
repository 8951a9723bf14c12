"""One launcher starts another, and each of them starts processes for the whole job.

`srun mpirun -np 8 ./a.out` with eight tasks starts eight MPI jobs of eight processes. `mpirun -np 8 torchrun
--nproc_per_node=8` and `torchrun --no_python torchrun` start eight workers for each of eight, on the same GPUs and
ports. An srun in the tasks of another waits for the resources that the outer one holds, while that waits for it: the
job hangs until its time is over.

## Fix

Leaves mpirun without its srun, or gives the outer one of two sruns `--overlap`. Unsafe: which of the two launchers is
meant is a guess. There is no fix where a person has to choose.

## References

srun(1), --overlap; live runs on 22.05 and 26.05; https://github.com/rcgsheffield/sheffield_hpc/pull/1306
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB317", "nested-launchers", severity="error", fix="sometimes", since="0.1.0")

TITLES = {"mpi in step": "leave {inner} without srun", "step in step": "let the outer step share, --overlap"}


def check(job: Job) -> Iterator[Finding]:
    for each in job.nested_launchers():
        inner, outer = each.inner, each.outer
        times = "several times" if each.times is None else f"{each.times} times"
        size = "" if each.each is None else f" of {each.each} processes"
        if each.kind == "mpi in step":
            where = "once on each node" if each.per_node else times
            what = f"srun starts {inner} {where}, and each starts an MPI job{size} of its own"
            what += f"; start {inner} without srun, or the program with srun alone"
        elif each.kind == "step in step":
            what = "this srun waits for the CPUs and memory that the srun around it holds, and that one waits for it"
            what += f" (line {job.line(each.outer_span.start)}): the job hangs until its time is over; "
            what += "give the outer one --overlap, or start this one in the batch script"
        elif each.kind == "step in mpi":
            what = f"{outer} starts srun {times}, and each starts a step with tasks of its own; use one of the two"
        elif each.kind == "in mpi":
            size = "workers for all GPUs of a node" if each.each is None else f"{each.each} workers"
            what = f"{outer} starts {inner} {times}, and each starts {size}: they share the GPUs, and fixed ports clash"
            what += f"; start one {inner} on each node, {outer} --map-by ppr:1:node"
        else:
            what = f"{outer} starts {inner} in each of its workers, {times}, and each starts workers for the whole node"
            what += "; use one of the two"
        title = TITLES.get(each.kind, "").format(inner=inner)
        yield Finding(
            each.span,
            what,
            severity="warning" if each.kind == "in mpi" or each.per_node else None,
            related=[(each.outer_span, f"{outer} starts it")],
            fix=None if each.edits is None else Fix(title, each.edits),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=8
        srun «mpirun» -np 8 ./solver
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=8
        mpirun -np 8 ./solver
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8
        srun bash -c '
        module load solver
        «srun» ./solver'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8
        srun --overlap bash -c '
        module load solver
        srun ./solver'
        """,
        title="a step in the tasks of a step",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        mpirun -np 16 «torchrun» --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        severity="warning",
        title="sixteen torchruns on two nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        torchrun --nproc_per_node=4 --no_python «accelerate» launch --num_processes 4 train.py
        """,
        title="sixteen workers on four GPUs",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun -N1 -n1 mpirun -np 16 ./solver
        srun --overlap bash -c 'srun --overlap -n1 hostname'
        """,
        title="one mpirun; steps that share",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        mpirun -np 2 --map-by ppr:1:node torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=n1:29500 train.py
        """,
        title="one torchrun a node",
    ),
]
