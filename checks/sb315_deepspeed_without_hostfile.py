"""deepspeed uses only the first of several nodes: it has no hostfile.

The runner of deepspeed learns of other nodes from a hostfile. It does not ask Slurm: without `--hostfile` (and without
/job/hostfile) it prints one warning, sets the master to 127.0.0.1 and trains on its own node, even with `--launcher
slurm`. The other nodes stay allocated and idle, so this is a warning. With `--num_nodes=4` deepspeed stops with an
error, so this is an error too.

## Fix

Writes a hostfile of the job's nodes, and passes it to the runner. Unsafe: deepspeed must be able to reach the nodes by
ssh, which many sites forbid, or with the launcher that is set. Where neither works, `srun torchrun` starts the same
workers, with one task on each node.

## References

`fetch_hostfile()` and `main()` in deepspeed/launcher/runner.py (0.19);
https://github.com/deepspeedai/DeepSpeed/issues/2958, https://github.com/deepspeedai/DeepSpeed/issues/5221
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.launcher_refusals import deepspeed_runners, has_hostfile, is_refused
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.launchers import DeepSpeed
from sbatchlint.job.worlds import World, find_worlds
from sbatchlint.programs import has_trait
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB315", "deepspeed-without-hostfile", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers("deepspeed"), seen="deepspeed/launcher/runner.py of 0.19; deepspeedai/DeepSpeed#2958 and #5221",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    if job.request.nodes is None or job.request.nodes.minimum < 2:
        return
    multi_node_worlds = [each for each in find_worlds(job) if each.several_nodes]
    for world, runner in deepspeed_runners(job):
        if not world.in_batch_shell or world.isolation or has_hostfile(job, runner):
            continue
        if runner.options.keys() & {"include", "exclude"}:
            continue
        if any(has_trait(each.name, "remote", "mpi", "repeats") for each in world.invocation.ancestors()):
            continue
        context = world.invocation.context
        if context.background and context.may_repeat:
            continue
        if multi_node_worlds not in ([], [world]):
            continue  # a one-node stage before or after the others
        effect, severity = f"it trains on the first of {job.request.exact_nodes() or 'several'} nodes only", "warning"
        if is_refused(job, world.launch, "hostfile"):
            effect, severity = "it fails with `--num_nodes` above 1", "error"
        yield Finding(
            runner.span,
            f"`{runner.name}` has no hostfile, so {effect}; run `srun torchrun` on each node, or write a hostfile",
            severity,
            fix=_with_hostfile(world, runner),
        )


def _with_hostfile(world: World, runner: DeepSpeed) -> Fix | None:
    """The fix that writes a hostfile of the job's nodes on the line before, and passes it to the runner.

    None where no line can be inserted before the command.
    """
    job, start = world.job, world.invocation.span.start
    if job.is_embedded or job.in_quoted_text(start) or world.invocation.parent is not None:
        return None
    line = job.source.line_of(start)
    indent = job.source.text[line.start : start]
    text_before = job.source.text[: line.start].rstrip("\n")
    if indent.strip() or text_before.endswith(("\\", "|", "&&", "||")) or runner.span.start != start:
        return None
    slots = job.request.gpus_per_node() or "$SLURM_GPUS_ON_NODE"
    hostfile = '"hostfile.$SLURM_JOB_ID"'
    command = f'scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/\\$/ slots={slots}/" > {hostfile}\n'
    edits = [insert(line.start, indent + command), insert(runner.span.end, f" --hostfile={hostfile}")]
    return Fix("write a hostfile of the job's nodes", edits)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        «deepspeed» train.py --deepspeed ds.json
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/\\$/ slots=8/" > "hostfile.$SLURM_JOB_ID"
        deepspeed --hostfile="hostfile.$SLURM_JOB_ID" train.py --deepspeed ds.json
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=4
        ARGS="--num_nodes=2 --num_gpus=4 --launcher slurm"
        conda run -n train «deepspeed» $ARGS train.py
        """,
        title="--launcher does not find the nodes by itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=8/' > hosts
        deepspeed --hostfile hosts train.py --deepspeed ds.json
        """,
        title="with a hostfile",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --gpus-per-node=8
        deepspeed "$@" train.py
        """,
        title="options that are not visible here",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=8\ndeepspeed train.py\n", title="one node"),
]
