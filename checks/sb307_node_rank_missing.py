"""Every node assumes rank 0: a launcher for several nodes does not get the rank of its node.

With the static rendezvous (that of `--master_addr`) torchrun reads the rank of its node from `--node_rank`, and assumes
0 where that is missing: every node assumes that it is the first, and all wait for the others until the timeout. The
c10d backend numbers the nodes itself. With any backend, `accelerate launch` ends with a TypeError if `--num_machines`
is set without `--machine_rank`.

A warning where not every launch certainly joins other nodes, and for accelerate, which may have a configuration with a
rank.

## Fix

Adds `--node_rank=$SLURM_NODEID` where a shell in the task expands it, with the backslash that the place needs: safe.
Where srun starts the launcher directly, nothing in the task expands a variable, and the launcher is wrapped in `bash
-c`: unsafe.

## References

torch/distributed/run.py; accelerate utils/launch.py; runs of torch 2.6 on two hosts and of accelerate 1.15
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import add_launcher_options, is_proven, name_span
from sbatchlint.analysis.launch.duplicate_launchers import WORLD_LAUNCHERS
from sbatchlint.analysis.launch.rendezvous import joins_other_nodes, passes_node_id
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, replace
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB307", "node-rank-missing", severity="error", fix="sometimes", since="0.1.0", when=Launchers(*WORLD_LAUNCHERS)
)


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        joining = {joins_other_nodes(job, world) for world in place}
        if False in joining or not all(_lacks_rank(world) for world in place):
            continue
        world = place[0]
        accelerate = world.launcher.kind == "accelerate"
        option = "machine_rank" if accelerate else "node_rank"
        consequence = "all nodes assume rank 0 and hang"
        if accelerate:
            consequence = "it fails, unless its configuration has one"
        fix = _add_rank(job, world, f"--{option}=$SLURM_NODEID")
        where = "" if fix is not None and fix.safe else " in each task"
        yield Finding(
            world.span,
            f"{world.name} for {world.nodes_setting.number or 'several'} nodes gets no `--{option}`: {consequence}; "
            f"add `--{option}=$SLURM_NODEID`{where or ' before the program'}",
            "warning" if None in joining or accelerate else None,
            fix=fix,
        )


def _lacks_rank(world: LaunchWorld) -> bool:
    launcher, rendezvous = world.launcher, world.launcher.rendezvous
    if launcher.node_rank is not None or not world.certain or world.isolation in ("restricted", "loop"):
        return False
    if world.isolation == "part" and world.step is not None and world.step.invocation.context.background:
        return False
    return launcher.kind == "accelerate" or rendezvous is not None and rendezvous.backend == "static"


def _add_rank(job: Job, world: LaunchWorld, option: str) -> Fix | None:
    container = world.launch.container
    if world.step is None or container is not None and container.kind in ("docker", "podman"):
        return None  # such a container does not get the variables of the job
    fix = add_launcher_options(job, world.launch, option, "set the node rank", passes_node_id, safe=True)
    return fix or _wrap_in_shell(job, world.launch, option)


def _wrap_in_shell(job: Job, launch: Launch, option: str) -> Fix | None:
    """The fix with a shell in the task that expands the option: `bash -c 'exec torchrun OPTION "$@"' torchrun …`."""
    span = name_span(launch)
    name = job.source.slice(span)
    if any(letter in name for letter in "'\"\\$`\n") or name.split()[-1:] != launch.launcher.name.split()[-1:]:
        return None
    edit = replace(span, f"bash -c 'exec {name} {option} \"$@\"' {name.split()[0]}")
    inner = span.start + edit.content.index("exec ") + len("exec ")
    if not is_proven(job, launch, [edit], passes_node_id, inner):
        return None
    return Fix("set the node rank by a shell in each task", [edit])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "«torchrun» --nnodes=4 --nproc_per_node=8 --master_addr=$HEAD train.py"
        """,
        fixed={"--nproc_per_node=8": "--node_rank=\\$SLURM_NODEID --nproc_per_node=8"},
        title="in double quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c '
            «torchrun» --nnodes $SLURM_NNODES --master_addr $MASTER_ADDR --nproc_per_node 8 train.py
        '
        """,
        fixed={"--nnodes": "--node_rank=$SLURM_NODEID --nnodes"},
        title="in single quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun «torchrun» --nnodes=2 --nproc_per_node=8 --master_addr=$HEAD --master_port=29500 train.py
        """,
        unsafe_fixed={"torchrun": "bash -c 'exec torchrun --node_rank=$SLURM_NODEID \"$@\"' torchrun"},
        title="srun starts it itself",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        ARGS="--num_machines 2 --num_processes 16 --main_process_ip $HEAD --rdzv_backend c10d"
        LAUNCHER="«accelerate» launch $ARGS"
        srun docker run --network host image $LAUNCHER train.py
        """,
        severity="warning",
        title="accelerate needs it with any backend; such a container gets no variable of the task",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        srun bash -c 'PET_NODE_RANK=$SLURM_NODEID torchrun --nnodes=2 --master_addr=n1 train.py'
        """,
        title="c10d numbers the nodes itself; a variable says it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --master_addr=n1 $NODE_ARGS train.py
        srun accelerate launch --config_file multi.yaml --num_machines 2 train.py
        """,
        title="what is not known",
    ),
]
