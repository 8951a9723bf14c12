"""Each node trains by itself: a launcher that runs on several nodes expects only one.

srun starts `torchrun` once on each node, but torchrun expects one node unless `--nnodes` says otherwise. Without a
common address each node then trains a copy of its own, in a world as large as its own GPUs; the copies overwrite each
other's checkpoints, and the job exits with 0. With `--rdzv_backend=c10d` and a common endpoint the first node trains
alone, and the others wait for it, and fail; with `--master_addr` all claim the same ranks at one store, where they may
or may not clash. `accelerate launch` without `--num_machines` trains a copy on each node.

A warning for accelerate without a number, whose configuration may set one, and where only some starts are on several
nodes.

## Fix

Gives torchrun the job's number of nodes, and the first of them as the meeting point. Unsafe: the copies may be
intended.

## References

torch/distributed/run.py; https://github.com/meta-llama/llama-cookbook/issues/491; runs of torch 2.6
and 2.13 on two hosts
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import add_launcher_options, replace_words
from sbatchlint.analysis.launch.duplicate_launchers import (
    WORLD_LAUNCHERS,
    fills_node,
    has_job_node_count,
    is_started_by_whole_step,
)
from sbatchlint.analysis.launch.literal_counts import literal_digits
from sbatchlint.analysis.launch.rendezvous import common_address, lacks_address
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds, from_submission
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB303", "launcher-nnodes-missing", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers(*WORLD_LAUNCHERS),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        lonely = [world for world in place if _is_lonely(job, world)]
        if not lonely or not all(world in lonely or _may_be_set(world) for world in place):
            continue
        always, world = len(lonely) == len(place), lonely[0]
        launcher, setting, step = world.launcher, world.nodes_setting.setting, world.step
        unclear = launcher.kind == "accelerate" and setting is None  # its configuration file may set the number
        assert step is not None
        setting_part = f"without `{_option(world)}`" if setting is None else "but set up for one"
        happens = f"srun starts {launcher.name} on {world.nodes or 'several'} nodes, {setting_part}: "
        happens += _consequence(world)
        setting_part = setting_part.replace("but set up for one", "set up for one node")
        if happens.endswith("copy"):
            happens = f"{setting_part}, each of the {f'{world.nodes} ' if world.nodes else ''}nodes trains its own copy"
        if not _consequence(world):  # the first node has all it waits for, and the others find no place
            first, others = "the first node", "others"
            if world.nodes:
                first, others = f"the first of {world.nodes} nodes", "other" if world.nodes == 2 else "others"
            happens = f"{setting_part}, {launcher.name} trains alone on {first} and fails to join on the {others}"
        yield Finding(
            launcher.span if setting is None else setting.span,
            f"{happens}; {_advice(world)}",
            "warning" if unclear or not always else None,
            related=[(step.invocation.name_span, "started on each node here")],
            fix=_set_node_count(job, world.launch) if always else None,
        )


def _is_lonely(job: Job, world: LaunchWorld) -> bool:
    """Whether a launcher runs on several nodes, once for each, and expects only one."""
    launcher = world.launcher
    if not launcher.is_a("joins") or not launcher.spawns or launcher.standalone:
        return False
    if launcher.cpu or launcher.hostfile is not None or not world.certain or world.nodes_setting.number != 1:
        return False
    if world.several_nodes is not True or world.isolation:
        return False
    return is_started_by_whole_step(job, world) and fills_node(job, world)


def _may_be_set(world: LaunchWorld) -> bool:
    """Whether the environment of the submission may set the number, as in `${NNODES:-1}`."""
    return world.nodes_setting.setting is not None and from_submission(world.nodes_setting.setting.value)


def _option(world: LaunchWorld) -> str:
    return "--num_machines" if world.launcher.kind == "accelerate" else "--nnodes"


def _consequence(world: LaunchWorld) -> str:
    rendezvous = world.launcher.rendezvous
    if world.launcher.kind == "accelerate" or lacks_address(world.launch):
        return "each trains a separate copy"
    if rendezvous is not None and rendezvous.backend == "static":
        return "all claim the same ranks, and clash or train separate copies"
    return ""


def _advice(world: LaunchWorld) -> str:
    launcher, rendezvous = world.launcher, world.launcher.rendezvous
    add = f"{'add' if world.nodes_setting.setting is None else 'write'} `{_option(world)}=$SLURM_JOB_NUM_NODES"
    if launcher.kind == "accelerate":
        add = add.partition("=")[0]
        return f"{add}`, `--machine_rank`, `--main_process_ip` and the total `--num_processes`"
    if lacks_address(world.launch):
        return f"{add} --rdzv_backend=c10d --rdzv_endpoint=FIRST_NODE:PORT`"
    if rendezvous is not None and rendezvous.backend == "static" and launcher.node_rank is None:
        return f"{add}`, and `--node_rank=$SLURM_NODEID` in each task"
    return f"{add}`"


def _set_node_count(job: Job, launch: Launch) -> Fix | None:
    launcher, machines = launch.launcher, launch.launcher.machines
    if launcher.kind == "accelerate" or launcher.rendezvous is None:
        return None  # the total, rank and address have to change too
    title, options, address = "set the number of nodes", "--nnodes=$SLURM_JOB_NUM_NODES", None
    if lacks_address(launch):
        address = common_address(job, launch)
        if address is None or machines is not None or launcher.setting("rdzv_backend", "master_port") is not None:
            return None
        options += f" --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint={address.endpoint}"

    def meets_all_nodes(changed: Launch) -> bool:
        return has_job_node_count(changed) and (address is None or address.is_met(changed))

    if machines is None:
        before = () if address is None else address.before
        return add_launcher_options(job, launch, options, title, meets_all_nodes, before)
    number = literal_digits(machines.value)
    if number is None:
        return None
    return replace_words(job, launch, number, "$SLURM_JOB_NUM_NODES", title, meets_all_nodes)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun «torchrun» --nproc_per_node=8 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID \
--rdzv_endpoint=$MASTER_ADDR:$((20000 + SLURM_JOB_ID % 20000)) --nproc_per_node=8 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "«python -m torch.distributed.run» --nproc_per_node=4 \
--rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py"
        """,
        unsafe_fixed={"--nproc_per_node=4": "--nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=4"},
        title="the nodes would meet, if they knew of each other",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun «accelerate» launch --multi_gpu --num_processes 8 train.py
        """,
        severity="warning",
        title="a configuration file in the home folder may say more",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'torchrun --nproc_per_node=8 evaluate.py --shard $SLURM_NODEID'
        for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
            srun -N1 -n1 -w "$node" torchrun --nproc_per_node=8 evaluate.py &
        done
        wait
        """,
        title="each node has work of its own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun "$@"
        srun torchrun $DISTRIBUTED_ARGS train.py
        srun accelerate launch --config_file fsdp.yaml train.py
        """,
        title="unknown values",
    ),
]
