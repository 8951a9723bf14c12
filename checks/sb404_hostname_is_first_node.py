"""Every task sees the name of the first node: HOSTNAME comes from the batch shell.

Slurm puts HOSTNAME, the name of the first node, into the environment of the batch script, srun passes the environment
on, and bash keeps a HOSTNAME that it inherits. So `$HOSTNAME` in the tasks of a step names the first node on all nodes:
log lines, temporary folders and comparisons that should tell the nodes apart fail to do so.

## Fix

Replaces it with SLURMD_NODENAME, which srun sets on each node. Safe: each task sees Slurm's name for its node. That is
usually the short name; `$(hostname -f)` gives the full one.

## References

env_array_for_batch_job() in src/common/env.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05. Variables in
the bash manual.
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Context
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.steps import enclosing_step
from sbatchlint.triggers import Variables

CARD = Card(
    "SB404", "hostname-is-first-node", severity="info", fix="always", since="0.1.0", when=Variables("HOSTNAME"),
    seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

# Commands that start a program in a fresh environment.
_FRESH = frozenset({"ssh", "pdsh", "docker", "podman", "sudo", "su"})


def check(job: Job) -> Iterator[Finding]:
    for read in job.trace.reads:
        if read.name != "HOSTNAME" or read.variable is not None:
            continue
        step = enclosing_step(read.context) if read.context.phase is Phase.TASK else None
        if step is None or not step.several_nodes or read.context.restricted or _is_reset(read.context):
            continue
        start = job.source.text.find("HOSTNAME", *read.span)
        if start < 0:
            continue
        edit = replace(Span(start, start + len("HOSTNAME")), "SLURMD_NODENAME")
        yield Finding(
            read.span,
            "srun passes on the batch shell's HOSTNAME, so every task sees the first node's name; write "
            "`$SLURMD_NODENAME`",
            related=[(step.invocation.name_span, "the tasks start here")],
            fix=Fix("write SLURMD_NODENAME", [edit], safe=True),
        )


def _is_reset(context: Context) -> bool:
    """Whether the shell sets HOSTNAME itself, as bash does when it inherits none."""
    enclosing = [] if context.parent is None else [context.parent, *context.parent.ancestors()]
    return any(each.spawn.cleared or each.name in _FRESH for each in enclosing)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c './train > train.«$HOSTNAME».log'
        """,
        fixed={"train.$HOSTNAME.log'": "train.$SLURMD_NODENAME.log'"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "echo \\«${HOSTNAME%%.*}» is ready"
        """,
        fixed={"\\${HOSTNAME%%.*}": "\\${SLURMD_NODENAME%%.*}"},
        title="a backslash does not help",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "first node: $HOSTNAME"
        srun bash -c './train > train.$SLURMD_NODENAME.log; HOSTNAME=$(hostname); echo "$HOSTNAME"'
        """,
        title="in the batch shell, or set in the task",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun bash -c 'echo "$HOSTNAME"'
        """,
        title="one node",
    ),
]
