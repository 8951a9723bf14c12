"""Nodes cannot find each other: a launcher for several nodes has no address where they meet.

torchrun does not read MASTER_ADDR and MASTER_PORT, although many guides export them: it sets them for its workers.
`--master_addr`, or `--rdzv_endpoint` for the c10d backend, says where its launchers meet (or PET_MASTER_ADDR,
PET_RDZV_ENDPOINT). Without it they meet at 127.0.0.1, each node at its own, and wait there until the timeout; with
c10d and `--nnodes=1:2`, for which one node is enough, each trains a copy by itself, and the job exits with 0.

A warning where not every launch certainly joins other nodes, and for accelerate, which may have a configuration with an
address.

## Fix

Adds the option. Safe where the script exports MASTER_ADDR, computed with `scontrol show hostnames`; otherwise a line
that computes it is added too, which is unsafe.

## References

torch/distributed/run.py; https://github.com/pytorch/pytorch/issues/76069; runs of torch 2.6 on two hosts
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import add_launcher_options
from sbatchlint.analysis.launch.duplicate_launchers import WORLD_LAUNCHERS
from sbatchlint.analysis.launch.rendezvous import common_address, joins_other_nodes, lacks_address, starts_alone
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB305", "rendezvous-missing", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers(*WORLD_LAUNCHERS), seen="runs of torch 2.6 on two hosts; pytorch/pytorch#76069",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        joining = {joins_other_nodes(job, world) for world in place}
        if False in joining or not all(_has_no_address(world) for world in place):
            continue
        world = place[0]
        certain = None not in joining and world.launcher.kind != "accelerate"
        message = _message(world, certain)
        yield Finding(world.span, message, None if certain else "warning", fix=_add_address(job, world.launch))


def _has_no_address(world: LaunchWorld) -> bool:
    rendezvous = world.launcher.rendezvous
    if not world.certain or rendezvous is None or rendezvous.backend not in ("static", "c10d"):
        return False
    return lacks_address(world.launch)


def _message(world: LaunchWorld, certain: bool) -> str:
    launcher, rendezvous, number = world.launcher, world.launcher.rendezvous, world.nodes_setting.number
    if launcher.kind == "accelerate":
        return (
            f"{launcher.name} for {number or 'several'} nodes gets no `--main_process_ip`: nodes cannot find each "
            "other, unless its configuration has one; add `--main_process_ip=FIRST_NODE`"
        )
    nodes = f"each of the {number} nodes" if number else "each node"
    unread = ", and ignores MASTER_ADDR" if launcher.environment("MASTER_ADDR") is not None else ""
    if rendezvous is not None and rendezvous.backend == "c10d":
        lacks, option, local = "no `--rdzv_endpoint`", "--rdzv_endpoint=FIRST_NODE:PORT", "localhost"
        if "master_addr" in launcher.options:
            unread = ", and ignores `--master_addr` with c10d"
    else:
        lacks, option, local = "no `--master_addr`", "--master_addr=FIRST_NODE --master_port=PORT", "127.0.0.1"
    waits = f"{nodes} waits at its own {local} until the timeout"
    if starts_alone(world):
        waits = f"{nodes} trains a separate copy at its own {local}"
    when = "" if certain else "with more than one node "
    message = f"{launcher.name} gets {lacks}{unread}: {when}{waits}; add `{option}`"
    longer = f"{message} before the program"
    return longer if len(longer) <= MOST else message


def _add_address(job: Job, launch: Launch) -> Fix | None:
    launcher, container = launch.launcher, launch.container
    if not launcher.is_a("torch") or container is not None and container.kind in ("docker", "podman"):
        return None
    address, rendezvous = common_address(job, launch), launcher.rendezvous
    if address is None or rendezvous is None:
        return None
    if rendezvous.backend == "c10d":
        options = f"--rdzv_endpoint={address.endpoint}"
    elif launcher.node_rank is None and address.before:
        options = f"--rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint={address.endpoint}"
    else:
        options = f"--master_addr={address.host}"
        if launcher.setting("master_port") is None and address.port:
            options += f" --master_port={address.port}"
    title = "set the first node's address"
    return add_launcher_options(job, launch, options, title, address.is_met, address.before, address.safe)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export MASTER_PORT=29500
        srun bash -c '«torchrun» --nnodes=4 --node_rank=$SLURM_NODEID --nproc_per_node=8 train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export MASTER_PORT=29500
        srun bash -c 'torchrun --nnodes=4 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
--node_rank=$SLURM_NODEID --nproc_per_node=8 train.py'
        """,
        title="MASTER_ADDR is exported, and nothing reads it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun «torchrun» --nnodes=$SLURM_NNODES --nproc_per_node=8 --rdzv_backend=c10d train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --rdzv_endpoint=$MASTER_ADDR:$((20000 + SLURM_JOB_ID % 20000)) --nnodes=$SLURM_NNODES \
--nproc_per_node=8 --rdzv_backend=c10d train.py
        """,
        title="c10d without an endpoint",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2-4 --ntasks-per-node=1 --gpus-per-node=8
        CMD="«torchrun» --nnodes=$SLURM_NNODES --node_rank=\\$SLURM_NODEID --nproc_per_node=8"
        srun bash -c "$CMD train.py"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2-4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        CMD="torchrun --master_addr=$MASTER_ADDR --nnodes=$SLURM_NNODES --node_rank=\\$SLURM_NODEID --nproc_per_node=8"
        srun bash -c "$CMD train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c '«accelerate» launch --num_machines 2 --num_processes 16 --machine_rank $SLURM_NODEID train.py'
        """,
        severity="warning",
        title="accelerate, whose own configuration may say more",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun «torchrun» --nnodes=1:2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=1:2 --rdzv_endpoint=$MASTER_ADDR:$((20000 + SLURM_JOB_ID % 20000)) --nproc_per_node=8 \
--rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID train.py
        """,
        title="elastic: each node is content with itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export PET_RDZV_ENDPOINT=$(hostname):29500 PET_RDZV_BACKEND=c10d
        srun torchrun --nnodes=2 --nproc_per_node=8 train.py
        """,
        title="from the environment",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 train.py
        srun torchrun --nnodes=2 $RDZV_ARGS train.py
        """,
        title="one node; options that are not known",
    ),
]
