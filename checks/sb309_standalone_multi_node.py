"""Each node trains by itself, or waits for the others: `--standalone` on several nodes.

`--standalone` makes torchrun open a rendezvous of its own on a free port of localhost, and overrides the other options
of the rendezvous. Started on several nodes it runs that many separate trainings, which overwrite each other's
checkpoints, and the job exits with 0. With `--nnodes` above one it waits until its timeout for the others, which are
at their own localhost.

A warning where each node then trains by itself; an error where they wait for one another.

## Fix

Makes all nodes meet at the first of them, as one world. Unsafe: separate runs, or one node, may be intended.

## References

torch/distributed/run.py; runs of torch 2.6 on two hosts
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import replace_words
from sbatchlint.analysis.launch.duplicate_launchers import WORLD_LAUNCHERS, is_started_by_whole_step
from sbatchlint.analysis.launch.rendezvous import common_address
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB309", "standalone-multi-node", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers(*WORLD_LAUNCHERS), seen="runs of torch 2.6 and 2.13 on two hosts",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        if not all(_is_standalone(job, world) for world in place):
            continue
        world, expected = place[0], place[0].nodes_setting
        flag = world.launcher.setting("standalone")
        instead = "--rdzv_backend=c10d --rdzv_endpoint=FIRST_NODE:PORT"
        if expected.several or expected.of_job:
            severity = None
            message = (
                f"with `--standalone` each of {expected.number or 'several'} nodes waits at its own localhost until "
                f"the timeout; write `{instead}` instead"
            )
        else:
            severity = "warning"
            message = (
                f"with `--standalone` each of {world.nodes or 'several'} nodes trains a separate copy; write "
                f"`--nnodes=$SLURM_JOB_NUM_NODES {instead}`"
            )
        span = world.launcher.span if flag is None else flag.span
        yield Finding(span, message, severity, fix=_meet_at_first_node(job, world.launch))


def _is_standalone(job: Job, world: LaunchWorld) -> bool:
    """Whether a launcher on several nodes creates a separate world on each."""
    launcher, expected = world.launcher, world.nodes_setting
    if not launcher.standalone or not launcher.spawns or not launcher.is_a("joins"):
        return False
    if expected.several:
        return True
    if world.several_nodes is not True or world.isolation or not is_started_by_whole_step(job, world):
        return False
    return expected.number == 1 or expected.of_job


def _meet_at_first_node(job: Job, launch: Launch) -> Fix | None:
    launcher = launch.launcher
    flag = launcher.flags.get("standalone")
    rendezvous = launcher.setting("rdzv_backend", "rdzv_endpoint", "rdzv_id", "master_addr", "master_port")
    address = common_address(job, launch)
    if flag is None or rendezvous is not None or address is None or launch.step is None:
        return None
    nodes = "" if launcher.machines is not None else "--nnodes=$SLURM_JOB_NUM_NODES "
    options = f"{nodes}--rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint={address.endpoint}"

    def meets(changed: Launch) -> bool:
        return not changed.launcher.standalone and address.is_met(changed)

    return replace_words(job, launch, flag.span, options, "let all nodes meet at the first one", meets, address.before)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun «--standalone» --nnodes=2 --rdzv_id=7 --nproc_per_node=8 train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun «--standalone» --nproc_per_node=8 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID \
--rdzv_endpoint=$MASTER_ADDR:$((20000 + SLURM_JOB_ID % 20000)) --nproc_per_node=8 train.py
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --standalone --nnodes=1 --nproc_per_node=8 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun -N1 -n1 torchrun --standalone --nproc_per_node=8 convert.py
        srun bash -c 'torchrun --standalone --nproc_per_node=8 evaluate.py --shard $SLURM_NODEID'
        """,
        title="one node of the job; a shard for each node",
    ),
]
