"""Each node makes up its own port, or name, of the rendezvous.

The nodes meet where host, port and (but for the static backend) the run's name are the same. `$RANDOM`, `$$`, a search
for a free port or the number of the task give another answer in each task: the nodes wait for each other in different
places, until the time-out. In the batch shell the same text is expanded once, and is right.

## Fix

Writes `$SLURM_JOB_ID` for the name, which is safe: it differs between jobs, and not between tasks. A port is made of
it, which is unsafe: the port might be meant.

## References

torch/distributed/run.py; https://github.com/pytorch/pytorch/issues/76069
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card("SB321", "rendezvous-differs-per-task", severity="error", fix="always", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    for found in job.differing_rendezvous():
        launcher = found.world.launcher
        assert launcher is not None
        what = "rendezvous port" if found.kind == "port" else "--rdzv_id"
        instead = "$SLURM_JOB_ID" if found.kind == "id" else "a port computed once, in the batch shell"
        consequence = "they wait for each other in different places, until the time-out"
        if found.alone and found.kind == "id":
            consequence = "each trains a copy by itself, and the job still ends with exit status 0"
        elif found.alone:
            consequence = "the first node trains alone, and the others do not find it"
        yield Finding(
            found.place,
            f"each task expands {found.words} itself, and the {what} of {launcher.name} (line "
            f"{job.line(launcher.span.start)}) is another one on each node: {consequence}; "
            f"write {instead}",
            None if found.certain else "warning",
            related=[(launcher.span, "the launcher that gets it")],
            fix=None if found.repair is None else Fix(*found.repair),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=\\«$RANDOM» --rdzv_endpoint=$HEAD:1 t.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=\\$SLURM_JOB_ID --rdzv_endpoint=$HEAD:1 t.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c '
            PORT=«$(shuf -i 20000-30000 -n 1)»
            torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR --master_port=$PORT train.py
        '
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c '
            PORT=$((20000 + SLURM_JOB_ID % 20000))
            torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR --master_port=$PORT train.py
        '
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$RANDOM --rdzv_endpoint=$(hostname):29500 train.py
        """,
        title="the batch shell expands it, once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun bash -c 'torchrun --nnodes=1 --nproc_per_node=1 --master_port=$((29500 + SLURM_LOCALID)) one.py'
        """,
        title="worlds of one node",
    ),
]
