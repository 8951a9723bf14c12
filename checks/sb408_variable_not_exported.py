'''A program reads a variable that the script does not export.

`NNODES=4` makes a variable of the batch shell alone. The tasks that srun starts, and any other program, get exported
variables only: in `srun bash -c 'echo $NNODES'`, in a quoted heredoc or in a script that a step runs, it is empty. A
comparison with it fails on every rank, an option loses its value, or `rm -r $DIR/*` means another folder. The same goes
for variables that only a program looks for, such as NCCL_DEBUG: without `export` it never sees them.

An error where a shell in the program reads the variable; a warning for a name that only a program would look for. A
variable of the submit environment is exported already, and setting it keeps that; names that Slurm or every login sets
are left alone, and so are reads with a default.

## Fix

`export` before the assignment, or, where its value is a command whose exit status must not get lost, on a line before.
It is safe: nothing but the environment of programs changes. An array cannot be exported.

## References

prime-rl pull request 3225; `export` in the bash manual.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB408", "variable-not-exported", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.variables.unexported():
        line = job.line(each.starter.span.start)
        reader, verbs = f"the program started on line {line}", ("reads", "finds")
        if each.step is not None:
            reader, verbs = f"the tasks of the srun on line {line}", ("read", "find")
        if not each.reads:
            message = f"{each.name} is not exported, so that programs such as that on line {line} do not see it"
        else:
            place = job.line(each.reads[0].start)
            where = reader if place == line else f"{reader}, which {verbs[0]} it on line {place},"
            message = f"{each.name} is not exported, so that {where} {verbs[1]} it empty"
        advice = f"write export {each.name}=…"
        if each.array:
            advice = "an array cannot be exported, so set it there"
        elif not each.edits:
            advice = f"write export {each.name} first"
        fix = Fix(f"export {each.name}", each.edits, safe=True) if each.edits else None
        yield Finding(
            each.span,
            f"{message}; {advice}",
            "error" if each.reads else "warning",
            related=[(span, "read here") for span in each.reads[:3] if span != each.span],
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        «LEADER»=3
        srun bash <<'STEP'
        if [ "$SLURM_PROCID" -eq "$LEADER" ]; then
            ./orchestrate &
        fi
        ./train
        STEP
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        export LEADER=3
        srun bash <<'STEP'
        if [ "$SLURM_PROCID" -eq "$LEADER" ]; then
            ./orchestrate &
        fi
        ./train
        STEP
        """,
        title="in a quoted heredoc",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «MASTER»=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        export MASTER
        MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER train.py'
        """,
        title="a command gives the value, and its exit status stays",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «NCCL_SOCKET_IFNAME»=ib0
        srun python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_SOCKET_IFNAME=ib0
        srun python train.py
        """,
        severity="warning",
        title="only a program would look for it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        PORT=29500
        export MASTER=$SLURMD_NODENAME
        srun bash -c 'torchrun --master_addr=$MASTER --master_port='"$PORT"' train.py'
        """,
        title="spliced in by the batch shell",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        PORT=29500
        PORT=$PORT srun bash -c './serve --port=$PORT'
        srun --export=ALL,PORT=$PORT bash -c './serve --port=$PORT'
        srun bash -c 'PORT=1; ./serve --port=$PORT; ./serve --port=${OTHER:-2}'
        """,
        title="handed over, or set in the task",
    ),
]
