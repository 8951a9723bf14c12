"""The numbers of tasks disagree: `--ntasks` is not the nodes times the tasks per node.

`--ntasks` wins, and `--ntasks-per-node` becomes the maximum for a node. More tasks than that need more nodes than the
job has: slurmctld refuses it with "Requested node configuration is not available". With fewer, some nodes run fewer
than `--ntasks-per-node` says, which may well be intended and is advice; a warning where `--ntasks` is that of one node
of several.

## Fix

None: one of the three numbers is wrong, and only you know which.

## References

sbatch(1), `--ntasks-per-node`; src/plugins/select/cons_tres/job_test.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11,
24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.conflicts import task_counts
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.directives import Setting
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB203", "task-count-mismatch", severity="error", fix="never", since="0.1.0",
    when=Options("ntasks"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

# A comment at `--ntasks` that mentions nodes.
_NODES = Regex(r"(?i)\b(?:nodes?|computers?|machines?|hosts?)\b")


def check(job: Job) -> Iterator[Finding]:
    for component, counts in enumerate(task_counts(job)):
        last_settings = [job.directives.last(name, component) for name in ("nodes", "ntasks", "ntasks-per-node")]
        settings = [each for each in last_settings if each is not None]
        if counts is not None and len(settings) == 2 and settings[-1].name == "ntasks-per-node":
            yield from _without_nodes(job, counts.ntasks, counts.ntasks_per_node, *settings)
        # Fewer tasks than nodes reduce the nodes, which fewer-tasks-than-nodes reports.
        if counts is None or len(settings) < 3 or counts.requested_nodes is None or counts.shrunk_from is not None:
            continue
        least, most = counts.requested_nodes
        tasks, per_node = counts.ntasks, counts.ntasks_per_node
        if not per_node or not most or counts.sizes is not None:
            continue
        first, second, last = sorted(settings, key=lambda each: each.option_span.start)
        related = [(each.span, "conflicts with this") for each in (first, second)]
        if tasks > most * per_node:
            message = (
                f"slurmctld refuses the job: {tasks} tasks do not fit on {counted(most, 'node')} with {per_node} each; "
                f"write --ntasks={most * per_node}, or remove --ntasks or --ntasks-per-node"
            )
            yield Finding(last.span, message, related=related)
        elif least == most and tasks < most * per_node:
            message = (
                f"the job has {counted(tasks, 'task')} in total, not {per_node} per node: with --ntasks, "
                "--ntasks-per-node is only a maximum; remove one of the two options"
            )
            # the total of one node, written for several
            yield Finding(last.span, message, "warning" if tasks == per_node and most > 1 else "info", related)


def _without_nodes(job: Job, tasks: int, per_node: int | None, first: Setting, second: Setting) -> Iterator[Finding]:
    """The finding on a job that has fewer tasks than one node may run; a comment may say that nodes were meant."""
    if first.name != "ntasks" or per_node is None or not 0 < tasks < per_node:
        return
    comment = job.source.slice(job.source.line_of(first.span.end)).partition(" #")[2]
    yield Finding(
        second.span,
        f"the job has {counted(tasks, 'task')} in total (`{first.as_written}`, line {job.line(first.span.start)}), not "
        f"{per_node} per node; write --nodes={tasks} in place of `{first.as_written}`, or remove this option",
        "warning" if _NODES.search(comment) else "info",
        related=[(first.span, "conflicts with this")],
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        #SBATCH «--ntasks=16»
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH -N 1 -n 8 «--ntasks-per-node=4»\nsrun ./a.out\n"),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1-2 --ntasks=9 «--ntasks-per-node=4»\nsrun ./a.out\n", title="even on the maximum"
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks=6 «--ntasks-per-node=4»\nsrun ./a.out\n",
        severity="info",
        title="a node with two tasks",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --ntasks=8 --ntasks-per-node=4\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --ntasks=16 --ntasks-per-node=4\nsrun ./a.out\n", title="the nodes are left to Slurm"),
    Good("#!/bin/bash\n#SBATCH --nodes=2-4 --ntasks=8 --ntasks-per-node=4\nsrun ./a.out\n", title="a range"),
]
