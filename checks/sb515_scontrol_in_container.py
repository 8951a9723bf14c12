"""A command of Slurm is called inside a container, where it hardly is.

Images seldom bring `scontrol`, `srun` or `squeue`, nor the configuration and the key that they need: the command is not
found. In `MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)` nothing is left for the address, and
with `|| echo localhost` behind it each node takes itself for the master. The batch shell runs on the host and has them.

Silent where a mount or the image's name speaks of Slurm, or the script looks whether the command is there.

## Fix

Asks for the first node before the step, and exports it. Safe where the container is pyxis' or Apptainer's, which hand
the environment on, and the list is the job's. Unsafe where it is the step's, or a default is given.

## References

https://github.com/mlc-ai/pith-train/pull/91; README of pyxis
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB515", "scontrol-in-container", severity="warning", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for tool in job.tools_in_containers():
        moved = job.moved_out(tool)
        name = tool.command.name
        if tool.fallback:
            result = f"each node falls back to {tool.fallback}"
        elif tool.command.context.captured:
            result = "its result is empty"
        else:
            result = "the command is not found"
        yield Finding(
            tool.span,
            f"{name} runs inside the container of line {job.line(tool.container.span.start)}, whose image seldom has "
            f"Slurm: {result}; call it in the batch script and hand the result in",
            fix=None if moved is None else Fix(f"export {moved.name} before the step", moved.edits, moved.safe),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun --container-image=/images/train.sqsh bash -c '
            export MASTER_ADDR=$(«scontrol show hostnames "$SLURM_JOB_NODELIST"» | head -n1)
            torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
        '
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun --container-image=/images/train.sqsh bash -c '
            torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
        '
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun docker run --rm trainer bash -c "HOSTS=\\$(«scontrol show hostnames») ./train.sh"
        """,
        title="docker hands no environment on either",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun --container-image=/images/train.sqsh torchrun --rdzv-endpoint=$HEAD:29500 train.py
        """,
        title="the batch script runs on the host",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        MOUNTS=/usr/bin/scontrol:/usr/bin/scontrol,/etc/slurm:/etc/slurm,/run/munge:/run/munge
        srun --container-image=/images/train.sqsh --container-mounts=$MOUNTS bash -c 'scontrol show hostnames'
        """,
        title="Slurm is mounted",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/train.sqsh --container-mounts=$MOUNTS bash -c 'scontrol show hostnames'
        """,
        title="nobody knows what is mounted",
    ),
]
