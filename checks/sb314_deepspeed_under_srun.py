"""Workers start several times: srun starts several runners of deepspeed, and one starts all workers.

`deepspeed` launches whole jobs: one runner reads a hostfile and starts the workers of all nodes. Where every task of a
step starts a runner, the result varies. With a hostfile, every runner starts all workers. Without one, each knows only
its own node: a runner on each node trains a separate copy, and the job ends with exit status 0; several runners on one
node compete for its GPUs and for port 29500. With `--num_nodes=4` and no hostfile, each stops with an error.

## Fix

Starts one runner, where it has a hostfile or the step has one node. Unsafe: the runner must be able to reach the other
nodes by ssh, which many sites forbid. On several nodes without a hostfile a person has to choose: a hostfile and one
runner, or torchrun, or `--no_ssh --node_rank=$SLURM_NODEID` with a hostfile in each task.

## References

deepspeed/launcher/runner.py (0.19); https://github.com/deepspeedai/DeepSpeed/issues/2025,
https://github.com/deepspeedai/DeepSpeed/issues/3419
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import add_step_option
from sbatchlint.analysis.launch.launcher_refusals import deepspeed_runners, has_hostfile, is_refused
from sbatchlint.analysis.launch.literal_counts import task_edits
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job
from sbatchlint.job.launchers import DeepSpeed
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import World
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB314", "deepspeed-under-srun", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers("deepspeed"), seen="deepspeed/launcher/runner.py of 0.19; deepspeedai/DeepSpeed#2025 and #3419",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for world, runner in deepspeed_runners(job):
        step = world.step
        if step is None or world.mpi is not None or step.geometry.ignored is not False:
            continue
        several_on_a_node = step.geometry.several
        if several_on_a_node is not True and world.several_nodes is not True and (step.tasks or 0) < 2:
            continue
        name = f"`{runner.name}`"
        fix = None
        instead = "start one runner outside `srun`, with `--hostfile`"
        if has_hostfile(job, runner):
            count = "several" if step.tasks is None else step.tasks
            effect = f"each of {count} {name} runners starts the workers of all nodes in the hostfile"
            fix = _one_runner(job, step)
            instead = "start one: `srun --nodes=1 --ntasks=1`"
        elif is_refused(job, world.launch, "hostfile"):
            effect = f"{name} stops with an error in every task: `--num_nodes` above 1 needs a hostfile"
        elif several_on_a_node:
            if _has_own_gpus(world, runner):
                continue
            effect = f"several {name} runners compete for GPUs and a port"
            if step.nodes == 1:
                fix = _one_runner(job, step)
                instead = "start one: `srun --ntasks=1`"
        elif several_on_a_node is None or world.isolation:
            continue
        else:
            nodes = "each node" if step.nodes is None else f"each of {step.nodes} nodes"
            effect = f"{name} has no hostfile, so {nodes} trains a separate copy"
        yield Finding(
            runner.span,
            f"{effect}; {instead}",
            related=[(step.invocation.name_span, "starts a runner in every task")],
            fix=fix,
        )


def _has_own_gpus(world: World, runner: DeepSpeed) -> bool:
    """Whether each task has its own GPUs and port, so that several runners on a node may be intended."""
    step = world.step
    assert step is not None
    bound = any(name in step.options or world.job.request.has_option(name) for name in ("gpus-per-task", "gpu-bind"))
    return bound and runner.setting("master_port") is not None


def _one_runner(job: Job, step: Step) -> Fix | None:
    """The fix that runs one task, on the first node."""
    edits: list[Edit] | None = None
    if {"ntasks", "ntasks-per-node"} & step.options.keys():
        edits = task_edits(job, step, 1) if step.nodes == 1 else None
    elif step.nodes == 1 or "nodes" not in step.options:
        edits = add_step_option(job, [step], "--ntasks=1")
        if edits is not None and step.nodes != 1:
            edits = [edit._replace(content=edit.content.replace("--ntasks", "--nodes=1 --ntasks")) for edit in edits]
    return None if edits is None else Fix("start one runner", edits)


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
        unsafe_fixed={"srun deepspeed": "srun --nodes=1 --ntasks=1 deepspeed"},
        title="every runner starts everything",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        srun bash -c 'cd /work && «deepspeed» --num_gpus=8 train.py'
        """,
        unsafe_fixed={"srun bash": "srun --ntasks=1 bash"},
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
