"""--num_processes of accelerate counts the workers of all machines, and this number does not fit them.

torchrun's `--nproc_per_node` counts the workers of one node, accelerate's `--num_processes` those of all: each machine
starts the total divided by `--num_machines`. Eight on four nodes of eight GPUs are two workers a node: the job runs,
with a quarter of its GPUs and a quarter of its batch, and says nothing. What the division leaves over is dropped as
silently.

## Fix

Writes the number of all machines where the number of one stands behind the option. Unsafe: the program may be meant to
leave GPUs to something else.

## References

`prepare_multi_gpu_env()` in accelerate/utils/launch.py (1.15); https://github.com/huggingface/accelerate/issues/1239
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB313", "accelerate-total-processes", severity="warning", fix="sometimes", since="0.1.0",
    when=Launchers("accelerate"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for total in job.misplaced_totals():
        setting, machines, number, each = total.setting, total.machines, total.number, total.each
        all_gpus = f"the number of all GPUs, {machines * total.gpus}" if total.gpus else "the number of all GPUs"
        if number is None:
            what = (
                f"--num_processes is the total over {machines} machines, and this is the number of one; "
                f"write {all_gpus}"
            )
        elif total.fault == "rest":
            what = (
                f"{number} processes do not divide among {machines} machines: each starts {each}, "
                f"and {number % machines} {'is' if number % machines == 1 else 'are'} left out without a word; "
                f"write {all_gpus}"
            )
        elif total.fault == "none" or each == 0:
            what = (
                f"--num_processes={number} is the total over {machines} machines, less than one for each: "
                f"the start fails; write {all_gpus}"
            )
        elif total.fault == "many":
            what = (
                f"--num_processes={number} over {machines} machines are {each} workers on {total.gpus} GPUs: "
                f"invalid device ordinal; write {machines * (total.gpus or 0)}"
            )
        else:
            on = f" of {total.gpus} GPUs" if total.gpus else ""
            what = (
                f"--num_processes={number} is the total over {machines} machines: "
                f"each starts {each} worker{'' if each == 1 else 's'} on its node{on}; write {all_gpus}"
            )
        fix = None if total.edits is None else Fix("write the number of all machines", total.edits)
        yield Finding(setting.span, what, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'accelerate launch --num_machines=$SLURM_NNODES «--num_processes» 8 \\
            --machine_rank=$SLURM_NODEID --main_process_ip=n1 train.py'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'accelerate launch --num_machines=$SLURM_NNODES --num_processes $((SLURM_NNODES * 8)) \\
            --machine_rank=$SLURM_NODEID --main_process_ip=n1 train.py'
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun bash -c "accelerate launch --num_machines 2 «--num_processes=7» --machine_rank \\$SLURM_NODEID train.py"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun bash -c "accelerate launch --num_machines 2 --num_processes=8 --machine_rank \\$SLURM_NODEID train.py"
        """,
        title="a rest that nobody starts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --exclusive
        GPUS_PER_NODE=8
        LAUNCHER="accelerate launch --num_machines 2 «--num_processes» $GPUS_PER_NODE --main_process_ip n1"
        srun bash -c "$LAUNCHER --machine_rank \\$SLURM_NODEID train.py"
        """,
        title="by its name the number of one node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        GPUS_PER_NODE=8
        NP=$((SLURM_NNODES * GPUS_PER_NODE))
        srun bash -c "accelerate launch --num_machines 4 --num_processes $NP --machine_rank \\$SLURM_NODEID train.py"
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        accelerate launch --num_machines 1 --num_processes 8 train.py
        """,
        title="one machine",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c "accelerate launch --num_machines 4 --num_processes 28 --machine_rank \\$SLURM_NODEID train.py"
        """,
        title="a GPU on each node is left to something else",
    ),
]
