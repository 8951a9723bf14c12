"""A task reads HOSTNAME, which is the first node's everywhere.

Slurm puts HOSTNAME, the name of the first node, into the environment of the batch script, srun hands the environment
on, and bash keeps a HOSTNAME that it inherits. So `$HOSTNAME` in the tasks of a step names the first node on all nodes:
log lines, temporary folders and comparisons that should tell the nodes apart do not.

## Fix

SLURMD_NODENAME, which srun sets on each node, in its place. It is safe: each task sees the name that Slurm has for its
node. That is mostly the short name; `$(hostname -f)` gives the full one.

## References

env_array_for_batch_job() in src/common/env.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05. Variables in
the bash manual.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.triggers import Steps

CARD = Card("SB404", "hostname-is-first-node", severity="info", fix="always", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for read, step in job.variables.inherited_hostnames():
        start = job.source.text.index("HOSTNAME", read.span.start)
        edit = Edit(Span(start, start + len("HOSTNAME")), "SLURMD_NODENAME")
        yield Finding(
            read.span,
            f"HOSTNAME is inherited from the batch shell, so that all {step.tasks or step.nodes} tasks see the name of "
            f"the first of {step.nodes} nodes; write $SLURMD_NODENAME",
            related=[(step.invocation.name_span, "the tasks start here")],
            fix=Fix("write SLURMD_NODENAME", [edit], safe=True),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c './train > train.«$HOSTNAME».log'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c './train > train.$SLURMD_NODENAME.log'
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "echo \\«${HOSTNAME%%.*}» is ready"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "echo \\${SLURMD_NODENAME%%.*} is ready"
        """,
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
