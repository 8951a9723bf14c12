"""The job gets fewer nodes than it requests: it has fewer tasks than nodes.

sbatch says "can't run 1 processes on 4 nodes, setting nnodes to 1" and submits the smaller job. This also affects a
single launcher that would start the rest over ssh or pdsh: the job does not have the nodes for it. Advice where the
script starts nothing on other nodes: then it has all that it uses.

## Fix

None: to keep the nodes remove `--ntasks`, or set `--ntasks-per-node`; to keep the tasks ask for fewer nodes.

## References

`_opt_verify()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.conflicts import conflicts
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import counted, parse_integer
from sbatchlint.triggers import Options

CARD = Card(
    "SB204", "fewer-tasks-than-nodes", severity="error", fix="never", since="0.1.0",
    when=Options("ntasks"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

SHRUNK = re.compile(r"can't run (\d+) processes on (\d+) nodes")


def check(job: Job) -> Iterator[Finding]:
    for conflict in conflicts(job):
        ntasks = conflict.setting("ntasks")
        shrunk = SHRUNK.search(conflict.message)
        if conflict.kind != "fewer-tasks" or ntasks is None or shrunk is None:
            continue
        tasks, nodes = (parse_integer(number) for number in shrunk.groups())
        told = conflict.setting("nodes")
        number = None if told is None else whole(told.text)
        if number is not None and number <= tasks:
            continue  # more nodes in `--nodelist` than it asks for: it gets as many as `--nodes` says
        others = [each for each in conflict.settings if each is not ntasks]
        line = job.line(others[0].span.start) if others else 0
        where = f" (line {line})" if line not in (0, job.line(ntasks.span.start)) else ""
        by_node = job.request.setting("ntasks-per-node")
        remove = f"`{job.source.slice(ntasks.span)}`"
        if by_node is not None:
            remove += f" (`{job.source.slice(by_node.span)}` then applies)"
        message = f"the job gets {counted(tasks, 'node')}, not {nodes}{where}, because it has {counted(tasks, 'task')};"
        if _may_use_nodes(job):
            severity, message = None, f"{message} for {nodes} nodes remove {remove}, or request {nodes} tasks or more"
        else:
            severity, message = "info", f"{message} the script uses no other nodes, so request {tasks}"
        yield Finding(ntasks.span, message, severity, [(each.span, "the nodes") for each in others])


def _may_use_nodes(job: Job) -> bool:
    """Whether the script has a step, a launcher, or a command that reaches other nodes than the first one."""
    others = any(has_trait(each.name, "spreads", "mpi", "remote") for each in job.invocations)
    return bool(job.steps) or bool(job.launches) or others


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH «--ntasks=1»
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH «-n 2» -N 4 --ntasks-per-node=1\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH -N 4-8 «-n 3»\nsrun ./a.out\n", title="a range"),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=3 «--ntasks=1» --cpus-per-task=32\nbwa mem -t 32 genome.fa reads.fq\n",
        severity="info",
        title="the program needs one node",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=4 --ntasks=4\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2-4 --ntasks=3\nsrun ./a.out\n", title="only the maximum is lowered"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        pdsh -w "$SLURM_JOB_NODELIST" ./start.sh
        """,
        title="one launcher that starts the rest over ssh",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do ssh "$host" hostname; done
        """,
    ),
]
