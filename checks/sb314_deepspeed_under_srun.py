"""srun starts the runner of deepspeed several times, though one runner starts all workers.

`deepspeed` is a launcher of whole jobs: one runner reads a hostfile and starts the workers of all nodes. Started by
every task of a step, several things happen. With a hostfile every runner starts everything. Without one, each knows its
own node only: a copy on each node is a training of its own, and the job ends with exit status 0; several copies on one
node fight for its GPUs and for port 29500. With `--num_nodes=4` and no hostfile each stops with an error.

## Fix

Starts one runner, where it has a hostfile or the step has one node. Unsafe: the runner must be able to reach the other
nodes by ssh. Where nodes and no hostfile are there, a person has to choose: a hostfile and one runner, or torchrun, or
`--no_ssh --node_rank=$SLURM_NODEID` with a hostfile in each task.

## References

deepspeed/launcher/runner.py (0.19); https://github.com/deepspeedai/DeepSpeed/issues/2025,
https://github.com/deepspeedai/DeepSpeed/issues/3419
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB314", "deepspeed-under-srun", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers("deepspeed"),
)  # fmt: skip

FATES = {
    "refused": "each stops with an error, as --num_nodes is more than one and no hostfile names the nodes; "
    "start one runner outside of srun, with --hostfile",
    "repeated": "each reads the hostfile and starts the workers of all nodes; "
    "start one runner, srun --nodes=1 --ntasks=1",
    "clashing": "the runners of a node start a worker for each GPU every time and clash on the port (EADDRINUSE); "
    "start one runner, srun --ntasks=1",
    "apart": "without a hostfile each trains a copy of its own on its node, and the job still ends with exit status 0; "
    "start one runner outside of srun with --hostfile, or give each --no_ssh, --hostfile and --node_rank",
}


def check(job: Job) -> Iterator[Finding]:
    for runner in job.deepspeed_runners():
        step = runner.launch.step
        if step is None:
            continue
        name, span = runner.launch.launcher.name, runner.launch.launcher.span
        times = "once on each node" if runner.fate == "apart" else "several times"
        if runner.runners:
            times = f"{runner.runners} times" if runner.fate != "apart" else f"on each of {runner.runners} nodes"
        fix = None if runner.edits is None else Fix("start one runner", runner.edits)
        related = [(step.invocation.name_span, "starts it in every task")]
        yield Finding(span, f"srun starts {name} {times}: {FATES[runner.fate]}", related=related, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun «deepspeed» train.py --deepspeed ds.json
        """,
        title="four trainings, each alone on its node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=8/' > hosts
        srun «deepspeed» --hostfile=hosts train.py --deepspeed ds.json
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=8/' > hosts
        srun --nodes=1 --ntasks=1 deepspeed --hostfile=hosts train.py --deepspeed ds.json
        """,
        title="every runner starts everything",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        srun bash -c 'cd /work && «deepspeed» --num_gpus=8 train.py'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        srun --ntasks=1 bash -c 'cd /work && deepspeed --num_gpus=8 train.py'
        """,
        title="eight runners on one node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        srun --nodes=1 --ntasks=1 deepspeed --num_gpus=8 train.py
        """,
        title="one runner",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'deepspeed --hostfile=hosts --no_ssh --node_rank=$SLURM_NODEID --master_addr=n1 train.py'
        """,
        title="a runner on each node, by design",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=8 --gpus-per-node=8
        srun python train.py --deepspeed ds.json
        """,
        title="the tasks are the workers themselves",
    ),
]
