"""A second job on the node fails: every job uses the same port for its rendezvous.

Two jobs that open the same port on one node clash: the second fails with EADDRINUSE, or, worse, joins the first. This
happens where a job has part of a node, and where the same script is started twice. The check only runs when selected.

## Fix

Computes the port from the job id, below the range from which systems choose ports themselves. Unsafe: something outside
may rely on the number.

## References

torch/distributed/run.py; https://github.com/NVIDIA/enroot/issues/243; ip(7), ip_local_port_range
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import is_proven
from sbatchlint.analysis.launch.literal_counts import literal_digits
from sbatchlint.analysis.launch.rendezvous import PORT
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, replace
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.worlds import find_worlds
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.triggers import Launchers, Variables

CARD = Card(
    "SB322", "fixed-master-port", severity="info", fix="sometimes", since="0.1.0", stage="optional",
    when=Launchers() | Variables("MASTER_PORT"),
)  # fmt: skip

# GPUs of a node that is usually allocated whole.
WHOLE_NODE = 8


def check(job: Job) -> Iterator[Finding]:
    if not _may_share_node(job):
        return
    found: dict[Span, Fix | None] = {}
    for world in find_worlds(job):
        rendezvous = world.launcher.rendezvous
        port = None if rendezvous is None or rendezvous.port is None else literal_digits(rendezvous.port.value)
        if port is not None and port not in found and world.nodes in (None, 1):
            found[port] = _launcher_fix(job, world.launch, port)
    for assigned in job.assignments:
        if assigned.name != "MASTER_PORT" or assigned.context.phase is Phase.SUBMIT or len(assigned.alternatives) != 1:
            continue
        fields = assigned.alternatives[0].fields or ()
        port = literal_digits(fields[0]) if len(fields) == 1 else None
        if port is not None and port not in found:
            found[port] = None if job.is_embedded or job.in_quoted_text(port.start) else _fix(port)
    for port, fix in found.items():
        number = job.source.slice(port)
        if whole(number):  # 0 chooses a free port
            yield Finding(
                port,
                f"port {number} is the same in every job: a second job on this node fails with EADDRINUSE; "
                f"write `{PORT}`",
                fix=fix,
            )


def _may_share_node(job: Job) -> bool:
    """Whether the job has part of one node, as far as its script shows."""
    request = job.request
    if request.exclusive is not None or request.has_option("exclusive") or request.heterogeneous:
        return False
    gpus = request.gpus_per_node()
    return job_nodes(request) == 1 and (request.asks_for_gpus is False or gpus is not None and gpus < WHOLE_NODE)


def _fix(port: Span) -> Fix:
    return Fix("derive the port from the job ID", [replace(port, PORT)])


def _launcher_fix(job: Job, launch: Launch, port: Span) -> Fix | None:
    def changes(changed: Launch) -> bool:
        rendezvous = changed.launcher.rendezvous
        value = () if rendezvous is None or rendezvous.port is None else rendezvous.port.value or ()
        return len(value) == 1 and value[0].expansion is not None

    fix = _fix(port)
    return fix if is_proven(job, launch, fix.edits, changes) else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=2
        export MASTER_ADDR=localhost MASTER_PORT=«29500»
        torchrun --nproc_per_node=2 --master_port=$MASTER_PORT train.py
        """,
        unsafe_fixed={"MASTER_PORT=29500": "MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:4
        srun torchrun --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=localhost:«29400» train.py
        """,
        unsafe_fixed={
            "--rdzv_endpoint=localhost:29400": "--rdzv_endpoint=localhost:$((20000 + SLURM_JOB_ID % 20000))",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun bash -c 'export MASTER_PORT=«12355»; python train.py'
        """,
        title="inside quotes: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8 --exclusive
        torchrun --nproc_per_node=8 --master_port=29500 train.py
        """,
        title="the node is the job's own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=2
        MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
        torchrun --nproc_per_node=2 --master_port=$MASTER_PORT train.py
        torchrun --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py
        """
    ),
]
