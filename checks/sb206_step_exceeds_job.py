"""A step asks for GPUs that the job does not have, or waits for nodes on which it does not run.

srun takes its resources from the job. `srun --gpus-per-node=8` in a job with four GPUs a node starts nothing: `Unable
to create step: Invalid generic resource (gres) specification`; without `set -e` the script goes on as if it had run.
The same befalls a step on one node of a job that asked for its GPUs in total: it inherits `--gpus=16`, and wants all
sixteen on its one node. And torchrun with `--nnodes=2` in an `srun -N1` waits for a second node that nothing starts,
until its rendezvous times out.

A job that asks for no GPU at all gets all of them at sites that hand out whole nodes: then it is a warning, and nothing
is said of a job with `--exclusive`, nor of one that asks for nodes alone and starts more on them than one CPU can run.

## Fix

None: whether the step or the job is wrong is not written in the script.

## References

`_copy_job_tres_to_step()` in src/stepmgr/stepmgr.c and `gres_step_state_validate()` in src/interfaces/gres.c; runs on
Slurm 22.05, 23.11, 24.11 and 26.05; torch/distributed/run.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB206", "step-exceeds-job", severity="error", fix="never", since="0.1.0", when=Steps())

REFUSAL = "srun starts nothing (Invalid generic resource (gres) specification)"


def check(job: Job) -> Iterator[Finding]:
    for each in job.steps_with_too_many_gpus():
        line = None if each.setting is None else job.line(each.setting.span.start)
        if each.nodes is not None and each.setting is not None:
            here, all_of_them = each.nodes
            yield Finding(
                each.place,
                f"this srun runs on {here} of the job's {all_of_them} nodes and inherits --gpus={each.asked} "
                f"(line {line}): it wants all {each.asked} GPUs there, and starts nothing (Invalid generic resource "
                "(gres) specification); ask for them with --gpus-per-node in the job, or write --gpus in the srun",
                related=[(each.setting.span, "the total of all nodes")],
            )
        elif each.setting is None:
            yield Finding(
                each.place,
                f"`{each.words}` asks for GPUs, and the job has none unless the site hands out whole nodes: {REFUSAL}; "
                f"ask for them in the job: #SBATCH {_option(each.by, each.asked)}",
                "warning",
            )
        else:
            unit = " a node" if each.by == "node" else ""
            wants = f"`{each.words}` asks for {each.asked} GPUs{unit}"
            yield Finding(
                each.place,
                f"{wants}, and the job has {each.held} (line {line}): {REFUSAL}; ask for at most {each.held} here, or "
                f"for {each.asked} in the job",
                related=[(each.setting.span, "what the job has")],
            )
    for small in job.launchers_with_too_many_nodes():
        launcher, step = small.world.launcher, small.world.step
        assert launcher is not None and step is not None
        nodes = "one node" if small.nodes == 1 else f"{small.nodes} nodes"
        others = small.asked - small.nodes
        missing = "another one" if others == 1 else f"{others} others"
        yield Finding(
            small.place,
            f"{launcher.name} is told of {small.asked} nodes, but the srun of line {job.line(step.span.start)} runs on "
            f"{nodes}: it waits for {missing} that nothing starts, until its rendezvous times out; run the step on "
            f"{small.asked} nodes, or tell {launcher.name} of {small.nodes}",
            related=[] if small.option is None else [(small.option.span, f"makes it {nodes}")],
        )


def _option(by: str, number: int) -> str:
    return {"job": f"--gpus={number}", "task": f"--gpus-per-task={number}"}.get(by, f"--gpus-per-node={number}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        #SBATCH --gpus-per-node=4
        srun «--gpus-per-node=8» torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \\
            --rdzv_endpoint=$HEAD:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4
        srun «--gres=gpu:4» python train.py
        """,
        severity="warning",
        title="the job asks for no GPU",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus=16 --ntasks-per-node=8
        «srun» -N1 -n1 python prepare.py
        """,
        title="one node cannot have the GPUs of both",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun -N1 -n1 torchrun «--nnodes=2» --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        title="a launcher in a step that is too small",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun --gpus-per-node=2 python train.py
        srun --gpus-per-task=1 -n4 python evaluate.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --exclusive
        srun --gpus-per-node=8 --ntasks-per-node=8 python train.py
        """,
        title="an exclusive job has all GPUs of its nodes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=16
        srun -N $SLURM_NNODES -n $((SLURM_NNODES * 8)) -c 7 --gpus-per-task=1 --gpu-bind=closest ./simulate
        """,
        title="the site hands out whole nodes: a job of one CPU a node could not run this",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        for i in 0 1; do
            srun -N1 -n1 -w "${nodes[$i]}" torchrun --nnodes=2 --node_rank=$i --nproc_per_node=8 \\
                --master_addr="${nodes[0]}" train.py &
        done
        wait
        """,
        title="a step for each node, all at the same time",
    ),
]
