"""Nodes cannot find each other: each chooses its own port, or name, of the rendezvous.

The nodes meet where host, port and the name of the run are the same: with the static backend too, where the name is the
prefix of all that a node writes and reads in the store. `$RANDOM`, `$$`, a search for a free port or the rank of the
task differ in each task: the nodes wait for each other in different places, until the timeout. In the batch shell the
same words are expanded once, and are right.

A warning where not every launch certainly joins other nodes.

## Fix

Writes `$SLURM_JOB_ID` for the name, which is safe: it differs between jobs, but not between tasks. A port is computed
from it, which is unsafe: the port may be intended.

## References

torch/distributed/run.py; `PrefixStore` in torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py, and runs of
torch 2.13 with two names; https://github.com/pytorch/pytorch/issues/76069
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import replace_words
from sbatchlint.analysis.expansion.varying import variation
from sbatchlint.analysis.launch.duplicate_launchers import WORLD_LAUNCHERS
from sbatchlint.analysis.launch.rendezvous import PORT, joins_other_nodes, starts_alone, written_expansion
from sbatchlint.bash.values import Expansion, Phase, Pieces, expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB321", "rendezvous-differs-per-task", severity="error", fix="always", since="0.1.0",
    when=Launchers(*WORLD_LAUNCHERS), seen="pytorch/pytorch#76069; torch/distributed/run.py of torch 2.13",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        if any(joins_other_nodes(job, world) is False for world in place):
            continue
        differing = [_differing(world) for world in place]
        if differing[0] is None or None in differing:
            continue
        world, (kind, expansion) = place[0], differing[0]
        consequence = "all wait until the timeout"
        if starts_alone(world):
            consequence = "the others do not find the first"
            if kind == "id":
                consequence = "each trains a separate copy"
        part, instead = "port", "a port that the batch shell computes"
        if kind == "id":
            part, instead = "`--rdzv_id`", "`$SLURM_JOB_ID`"
        written = written_expansion(expansion)
        written = written if len(written) < 40 else f"{written[:30]} …"
        yield Finding(
            expansion.span,
            f"each task expands `{written}` itself, so the {part} of {world.name} "
            f"(line {job.line(world.span.start)}) differs on each node: {consequence}; write {instead}",
            None if all(joins_other_nodes(job, each) for each in place) else "warning",
            related=[(world.span, "the launcher that gets it")],
            fix=_same_for_all(job, world.launch, kind, expansion),
        )


def _differing(world: LaunchWorld) -> tuple[str, Expansion] | None:
    """The part of the rendezvous that differs on each node ("port" or "id"), and the expansion that causes it."""
    rendezvous = world.launcher.rendezvous
    if rendezvous is None or world.isolation == "restricted":
        return None
    port = None if rendezvous.port is None else _chosen_by_task(rendezvous.port.value)
    if port is not None:
        return "port", port
    name = world.launcher.setting("rdzv_id")
    if name is None or rendezvous.backend is None:
        return None
    chosen = _chosen_by_task(name.value)
    return None if chosen is None else ("id", chosen)


def _chosen_by_task(value: Pieces | None) -> Expansion | None:
    """The expansion that makes a value differ in each task."""
    for piece in value or ():
        expansion = piece.expansion
        if expansion is None or expansion.phase is not Phase.TASK or piece.text is not None:
            continue
        for source in expansion.all():
            found = variation(source)
            if source.phase is Phase.TASK and found is not None and not found.name:
                return expansion
        if _finds_free_port(expansion):
            return expansion
    return None


def _finds_free_port(expansion: Expansion) -> bool:
    """Whether it is from `$(python -c 'import socket; … bind(("", 0)) …')`, `$(comm … ss -tan … | shuf)` or such."""
    name = expansion.name
    return name.startswith("$(") and ("socket" in name and "bind" in name or "shuf" in name or "RANDOM" in name)


def _same_for_all(job: Job, launch: Launch, kind: str, expansion: Expansion) -> Fix | None:
    def is_same(changed: Launch) -> bool:
        rendezvous = changed.launcher.rendezvous
        setting = changed.launcher.setting("rdzv_id") if kind == "id" else rendezvous.port if rendezvous else None
        value = () if setting is None else setting.value or ()
        named = any(each.name == "SLURM_JOB_ID" for each in expansions(value))
        return named and not any(sign in shown_text(value) for sign in "\\( ")

    same = "$SLURM_JOB_ID" if kind == "id" else PORT
    fix = replace_words(job, launch, expansion.span, same, "derive it from the job ID", is_same)
    return fix and fix._replace(safe=kind == "id")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=\\«$RANDOM» --rdzv_endpoint=$HEAD:1 t.py"
        """,
        fixed={"--rdzv_id=\\$RANDOM": "--rdzv_id=\\$SLURM_JOB_ID"},
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
        unsafe_fixed={"PORT=$(shuf -i 20000-30000 -n 1)": "PORT=$((20000 + SLURM_JOB_ID % 20000))"},
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
