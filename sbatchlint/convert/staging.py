"""Data that the script brings to the disk of one node, brought to that of each: by a step of one task a node."""

from collections.abc import Iterable

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.convert.words import cpus_of
from sbatchlint.job import Job
from sbatchlint.job.paths import NODE_LOCAL, classify, key, under
from sbatchlint.job.steps import step_around
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

_ON_EACH_NODE = "srun --ntasks=$SLURM_NNODES --ntasks-per-node=1"
# What prepares a folder, or works on what lies there.
_PREPARING = frozenset({
    "cp", "curl", "chmod", "git", "gunzip", "gzip", "install", "ln", "mkdir", "mv", "pigz", "rm", "rsync", "tar",
    "touch", "unpigz", "unsquashfs", "unzip", "wget", "zstd",
})  # fmt: skip


def staged_on_each_node(job: Job, places: Iterable[Span]) -> list[Edit]:
    """The edits that run what stands there on each node, with what prepares the same folders; none where one cannot.

    `places`: of the commands that bring data to the first node alone.
    """
    wanted = set(places)
    start = min((step.invocation.index for step in job.steps), default=0)
    before = [each for each in job.invocations if each.index < start and each.phase is Phase.BATCH]
    folders = {path for each in before if each.span in wanted for path in _local(job, each)}
    chosen = [each for each in before if any(_together(path, other) for path in _local(job, each) for other in folders)]
    if not folders or any(each.name == "cd" or each.name in _PREPARING and not _alone(job, each) for each in chosen):
        return []
    # others only name it, as `export DATA=$TMPDIR/data` does
    starts = dict.fromkeys(each.span.start for each in chosen if each.name in _PREPARING)
    return [insert(at, f"{_ON_EACH_NODE}{cpus_of(job)} ") for at in starts]


def _local(job: Job, command: Invocation) -> list[str]:
    return [key(field) for field in command.argv[1:] if field and classify(field, job.site).kind == NODE_LOCAL]


def _together(path: str, other: str) -> bool:
    return under(path, other) or under(other, path)


def _alone(job: Job, command: Invocation) -> bool:
    """Whether a command is all of its statement, so that srun can start it as it stands."""
    context, start = command.context, command.span.start
    line = job.source.line_of(start)
    return (
        start < len(job.source.own.text)
        and not job.source.text[line.start : start].strip()
        and not (command.piped_from or command.piped_to or command.redirects or context.calls or context.captured)
        and context.parent is None
        and not (context.conditional or context.looped)
        and step_around(context) is None
    )
