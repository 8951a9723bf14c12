"""Every task of a step installs packages, at the same time and into the same environment.

`uv sync`, `pip install` and `uv pip install` in the text of a step run once in each of its tasks, and so does the sync
with which a plain `uv run` begins. Eight tasks of a node then write one environment: a rank imports a package that
another is just replacing (ModuleNotFoundError, a truncated file), and where the environment lies on storage that the
nodes share, all nodes join in. A sleep in the other tasks is a guess at how long the one takes.

One task does it once, in a step before: `srun --nodes=1 --ntasks=1 uv sync`; the others start with
`uv run --no-sync`. Where each node has an environment of its own, in a container or on a local disk, an install by one
task per node is right, and merely takes its time.

## Fix

Adds `--no-sync` to `uv run` where the script has run `uv sync` before. Safe: nothing is left to be synced. A `uv sync`
is not moved: which step is to do it, and in which container, is for you to say.

## References

https://github.com/astral-sh/uv/issues/12751, https://github.com/astral-sh/uv/issues/13870;
https://docs.astral.sh/uv/concepts/projects/sync/
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card(
    "SB606",
    "uv-sync-in-every-task",
    severity="warning",
    fix="sometimes",
    since="0.1.0",
    when=Steps(),
)


def check(job: Job) -> Iterator[Finding]:
    for each in job.repeated_installs():
        step, name = each.step, each.install.kind
        line = job.line(step.span.start)
        tasks = f"each of the {step.tasks} tasks" if step.tasks else "every task"
        severity: str | None = "info"
        if each.kind == "host":
            message = (
                f"`{name}` makes its environment for the host, and the step on line {line} runs in a container, whose "
                "Python and libraries are others; sync in a step with the same container"
            )
        elif each.kind == "sleep":
            message = (
                f"while one task runs `{name}`, the others sleep for a fixed time, and start without their packages "
                "where it takes longer; run it before, in a step of one task"
            )
        elif each.kind == "run":
            severity = None
            message = (
                f"`uv run` first syncs the project's environment, in {tasks} of the step on line {line} at the same "
                "time; write `uv run --no-sync`"
            ) + ("" if each.edits or each.warm else ", and run `uv sync` before, in a step of one task")
        elif each.kind == "cost":
            message = (
                f"`{name}` runs on each node of the step on line {line} again, into a container that is gone "
                "afterwards; put the packages into the image, or into an environment that is mounted"
            )
        else:
            severity = None if each.warm is None else "info"
            instead = (
                f"run it before, in a step of one task: srun --nodes=1 --ntasks=1 … {name} …"
                if each.warm is None
                else f"line {job.line(each.warm.span.start)} has done it already: leave it out here"
            )
            message = (
                f"`{name}` runs in {tasks} of the step on line {line} at the same time, all writing one environment: "
                f"tasks import packages that others are just replacing; {instead}"
            )
        yield Finding(
            each.span,
            message,
            severity,
            related=[(step.invocation.name_span, "the step")],
            fix=Fix("keep uv run from syncing", each.edits, safe=True) if each.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun bash -c "cd /lustre/project && «uv sync» && uv run --no-sync python train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --nodes=1 --ntasks=1 uv sync
        srun «uv run» python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --nodes=1 --ntasks=1 uv sync
        srun uv run --no-sync python train.py
        """,
        title="uv run syncs as well",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        srun bash -c 'if [ $SLURM_LOCALID -eq 0 ]; then «uv sync»; else sleep 10; fi; uv run --no-sync ./train.py'
        """,
        severity="info",
        title="a sleep is no barrier",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun --container-image=train.sqsh bash -c '«pip install» einops; torchrun --nnodes=4 train.py'
        """,
        severity="info",
        title="in each container again",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --nodes=1 --ntasks=1 uv sync
        srun uv run --no-sync python train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export UV_PROJECT_ENVIRONMENT=/tmp/venv-$SLURM_JOB_ID
        srun bash -c 'uv sync && uv run --no-sync torchrun --nnodes=2 train.py'
        """,
        title="an environment on each node's own disk",
    ),
]
