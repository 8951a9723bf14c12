"""Nodes cannot find each other: their launchers get different addresses.

`localhost` is a different machine on every node, and so is the result of `$(hostname)` in a task: each node waits for
the others at its own address, until the timeout. The same code in the batch shell is right, as that runs on the first
node. Inside a container `scontrol` is usually missing, and a fallback to localhost makes each node its own master.

A warning where the addresses may be the same after all; advice for a loopback address, which a single node can use.

## Fix

Sets the first node of the job as the address. Unsafe: the script may also be used for one node, and host names are not
the right address everywhere.

## References

torch/distributed/run.py; https://github.com/pytorch/pytorch/issues/76069; hostname(1); runs of torch 2.6 on two hosts
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import replace_words
from sbatchlint.analysis.launch.duplicate_launchers import WORLD_LAUNCHERS
from sbatchlint.analysis.launch.rendezvous import HEAD_NODE, UnsharedAddress, starts_alone, unshared_addresses
from sbatchlint.bash.values import expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, Variables

CARD = Card(
    "SB306", "rendezvous-not-shared", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers(*WORLD_LAUNCHERS) | Variables("MASTER_ADDR"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for found in unshared_addresses(job):
        span, launch = found.world.span, found.world.launch
        severity = "info" if found.kind == "loopback" else None if found.certain else "warning"
        fix = _meet_at_first_node(job, launch) if launch is not None and found.kind in ("local", "task") else None
        yield Finding(found.place, _message(job, found), severity, related=[(span, "gets the address")], fix=fix)


_HOSTNAME = Regex(r"hostname[^|);]*")
_HEAD = "write the first node's name"


def _message(job: Job, found: UnsharedAddress) -> str:
    address = f"`{found.words}`" if len(found.words) < 30 else "this address"
    name = f"{found.world.name} (line {job.line(found.world.span.start)})"
    if found.kind == "fallback":
        return (
            f"most containers have no scontrol, so {name} finds no other node; compute the address in the batch "
            "shell, and export it"
        )
    if found.kind == "loopback":
        happens = f"and line {job.line(found.world.span.start)} then cannot reach the first node"
        asked = _HOSTNAME.search(found.words)
        address = address if asked is None else f"`{asked[0].strip()}`"
        return f"{address} may return 127.0.1.1 (from /etc/hosts), {happens}; use the node's name"
    waits = "waits for itself"
    if starts_alone(found.world):
        waits = "trains a separate copy"
    if found.kind == "local":
        return f"`{found.words}` is a different machine on each node, so every {name} {waits}; {_HEAD}"
    return (
        f"each task expands `{found.words}` to its own node's name, so every {name} {waits}; "
        "compute it in the batch shell"
    )


def _meet_at_first_node(job: Job, launch: Launch) -> Fix | None:
    """The fix that replaces the address with the name of the first node."""
    rendezvous = launch.launcher.rendezvous
    address = None if rendezvous is None else rendezvous.address
    if address is None or not address.value or len(address.value) != 1 or launch.container is not None:
        return None
    piece = address.value[0]
    span = piece.span if piece.expansion is None else piece.expansion.span
    first = HEAD_NODE
    if job.source.text[span.start - 1] == "\\":
        # inside double quotes, which the quotes of the command would end
        first = first.replace('"', "").replace("$S", "\\$S")

    def meets_at_first_node(changed: Launch) -> bool:
        other = changed.launcher.rendezvous
        value = () if other is None or other.address is None else other.address.value or ()
        return len(value) == 1 and any("scontrol show host" in each.name for each in expansions(value))

    return replace_words(job, launch, span, first, "use the first node's address", meets_at_first_node)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        MASTER_ADDR=«localhost»
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 train.py
        """,
        unsafe_fixed={
            "MASTER_ADDR=localhost": 'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c '
            torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=«$(hostname)» train.py
        '
        """,
        unsafe_fixed={
            "--master_addr=$(hostname)": '--master_addr=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        },
        title="expanded in each task",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun --container-image=train.sqsh bash -c '
            set -o pipefail
            HEAD=«$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1 || echo localhost)»
            torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        '
        """,
        title="scontrol in a container",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        ip=«$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address)»
        srun torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$ip:29500 train.py
        """,
        severity="info",
        title="a host's own address for itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        srun bash -c "torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID --master_addr=$(hostname -I | cut -d' ' -f1) t.py"
        """,
        title="the batch shell is on the first node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun -N1 -n1 torchrun --nnodes=1 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 convert.py
        """,
        title="one node",
    ),
]
