"""The rendezvous hangs: a launcher gets a wrong rank for its node.

`--node_rank` counts nodes. SLURM_PROCID counts tasks: with several on a node it exceeds the number of nodes, and two
launchers of one node count as two nodes, while other nodes are left out. SLURM_LOCALID counts the tasks of one node,
and is 0 on every node with one task; a literal number is the same on all nodes, too. With the static rendezvous all
nodes then claim the same rank, and hang.

## Fix

Writes SLURM_NODEID instead, which is safe; unsafe in place of a literal number, as the script might be started by hand,
node by node.

## References

torch/distributed/run.py; runs of torch 2.6 with several agents on two hosts
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import replace_words
from sbatchlint.analysis.launch.duplicate_launchers import WORLD_LAUNCHERS, counts_tasks, is_duplicated
from sbatchlint.analysis.launch.rendezvous import joins_other_nodes, passes_node_id
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB308", "node-rank-not-node", severity="error", fix="sometimes", since="0.1.0", when=Launchers(*WORLD_LAUNCHERS)
)


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        if any(joins_other_nodes(job, world) is False for world in place):
            continue
        sources = [_wrong_source(job, world) for world in place]
        if sources[0] is None or None in sources:
            continue
        kind, span = sources[0]
        yield Finding(
            span,
            f"{_fault(place[0], kind)}; write `$SLURM_NODEID` in each task",
            fix=_write_node_id(job, place[0], kind),
        )


def _wrong_source(job: Job, world: LaunchWorld) -> tuple[str, Span] | None:
    """The wrong source of a node rank (a variable, or "constant") and its place; None where it is right or unknown."""
    rank, step, rendezvous = world.launcher.node_rank, world.step, world.launcher.rendezvous
    if rank is None or rank.value is None or step is None or rendezvous is None or rendezvous.backend != "static":
        return None
    if world.isolation in ("restricted", "loop") or world.isolation == "part" and step.invocation.context.background:
        return None
    found = expansions(rank.value)
    if not found:
        return ("constant", rank.span) if rank.number is not None and world.several_nodes is True else None
    if len(found) != 1 or found[0].phase is not Phase.TASK or len(rank.value) != 1:
        return None
    name, span = found[0].name, found[0].span
    if name == "SLURM_LOCALID" and world.several_nodes is True:
        return name, span
    if name == "SLURM_PROCID" and step.geometry.several is True and is_duplicated(job, world.launch):
        return None if counts_tasks(world.launch, step) else (name, span)  # then each task counts as a node
    return None


def _fault(world: LaunchWorld, kind: str) -> str:
    rank, step = world.launcher.node_rank, world.step
    assert rank is not None
    option = rank.name if rank.from_environment else f"--{rank.name}"
    if kind == "constant":
        return f"`{option}={rank.text}` is the same on every node: all claim the same rank, and the rendezvous hangs"
    if kind == "SLURM_LOCALID":
        return f"`{option}=$SLURM_LOCALID` is 0 on every node: all claim the same rank, and the rendezvous hangs"
    tasks = step.tasks_per_node if step is not None and step.tasks_per_node else "several"
    return f"`{option}=$SLURM_PROCID` counts tasks, {tasks} on each node, so the first nodes claim ranks of others"


def _write_node_id(job: Job, world: LaunchWorld, kind: str) -> Fix | None:
    rank = world.launcher.node_rank
    assert rank is not None and rank.value is not None
    if kind == "constant":
        if len(rank.value) != 1 or rank.from_environment:
            return None
        span, title = rank.value[0].span, "set the node rank"
        return replace_words(job, world.launch, span, "$SLURM_NODEID", title, passes_node_id)
    # the name of the variable within the expansion
    (expansion,) = expansions(rank.value)
    text = job.source.slice(expansion.span)
    if text.count(kind) != 1:
        return None
    start = expansion.span.start + text.find(kind)
    span, title = Span(start, start + len(kind)), "write $SLURM_NODEID"
    fix = replace_words(job, world.launch, span, "SLURM_NODEID", title, passes_node_id)
    return fix and fix._replace(safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 --node_rank=«$SLURM_PROCID» --master_addr=n1 train.py'
        """,
        fixed={"--node_rank=$SLURM_PROCID": "--node_rank=$SLURM_NODEID"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        RUN="torchrun --nnodes=2 --nproc_per_node=8 --node_rank=\\«$SLURM_LOCALID» --master_addr=$HEAD"
        srun bash -c "$RUN train.py"
        """,
        fixed={"--node_rank=\\$SLURM_LOCALID": "--node_rank=\\$SLURM_NODEID"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 «--node_rank=0» --master_addr=$HEAD train.py
        """,
        title="the same number everywhere: no fix where no shell in the task could expand another",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 --node_rank=$SLURM_PROCID --master_addr=n1 train.py'
        """,
        title="one task on each node: the task's number is the node's",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
        srun bash -c 'torchrun --nnodes=$SLURM_NTASKS --nproc_per_node=1 --node_rank=$SLURM_PROCID \
--master_addr=n1 train.py'
        """,
        title="each task is meant to be a node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        for i in 0 1; do
            srun -N1 -n1 -w "${nodes[$i]}" torchrun --nnodes=2 --node_rank=$i --master_addr=${nodes[0]} train.py &
        done
        wait
        """,
        title="started by hand, node by node",
    ),
]
