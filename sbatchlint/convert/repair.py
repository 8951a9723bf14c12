"""Repairs findings that are new with the new number of nodes.

A repair counts if the proof is not worse and the finding is gone. Some unsafe fixes are certain here: data that a
program read on its only node has to be on every node.
"""

from collections.abc import Callable, Iterable

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.proof import Proof
from sbatchlint.convert.words import cpus_of
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.job import Job
from sbatchlint.job.paths import NODE_LOCAL, classify, key, under
from sbatchlint.job.steps import enclosing_step
from sbatchlint.settings import Settings
from sbatchlint.source.edits import Edit, edited, insert
from sbatchlint.source.text import Source, Span

_STAGED = "SB817"
_OF_ALLOCATION = "SB331"
_MOST = 12
_ON_EACH_NODE = "srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1"
# Commands that prepare a folder, or work on files in it.
_PREPARING = frozenset({
    "cp", "curl", "chmod", "git", "gunzip", "gzip", "install", "ln", "mkdir", "mv", "pigz", "rm", "rsync", "tar",
    "touch", "unpigz", "unsquashfs", "unzip", "wget", "zstd",
})  # fmt: skip


def proven(
    source: Source, prove: Callable[[Source], Proof], before: list[str], settings: Settings
) -> tuple[Source, Proof, list[str]]:
    """The repaired script, its proof, and the repairs. Raises `NotConvertible`.

    `before`: the codes of the findings in the original script.
    """
    proof = prove(source)
    repairs: list[str] = []
    tried: set[tuple[str, str]] = set()
    while len(tried) < _MOST:
        new = [each for each in proof.new(before) if (each.code, each.message) not in tried]
        if not new:
            break
        tried.add((new[0].code, new[0].message))
        edits = _edits(source, new, settings)
        if not edits:
            continue
        changed = edited(source, edits)
        after = prove(changed)
        if _badness(after, before) < _badness(proof, before):
            source, proof = changed, after
            repairs.append(f"{new[0].code} repaired: {_title(new[0])}")
    if proof.faults:
        raise NotConvertible("; ".join(dict.fromkeys(proof.faults)))
    return source, proof, repairs


def _badness(proof: Proof, before: list[str]) -> tuple[int, int]:
    return len(proof.faults), sum(1 for _ in proof.new(before))


def _edits(source: Source, new: list[Diagnostic], settings: Settings) -> list[Edit]:
    first = new[0]
    if first.code == _OF_ALLOCATION:
        return []  # its fix drops what the job is to have
    if first.code == _STAGED:
        return _staged_on_each_node(
            Job.from_source(source, settings.site), [each.span for each in new if each.code == _STAGED]
        )
    own = first.fix is not None and first.fix.safe and first.source.path == source.path
    return list(first.fix.edits) if own and first.fix is not None else []


def _title(finding: Diagnostic) -> str:
    if finding.code == _STAGED:
        return "data is brought to the disk of each node, once"
    return "" if finding.fix is None else finding.fix.title


def _staged_on_each_node(job: Job, places: Iterable[Span]) -> list[Edit]:
    """The edits that run commands on each node, with those that prepare the same folders; none if that is impossible.

    `places`: those of the commands that stage data only on the first node.
    """
    wanted = set(places)
    start = min((step.invocation.index for step in job.steps), default=0)
    before = [each for each in job.invocations if each.index < start and each.phase is Phase.BATCH]
    folders = {path for each in before if each.span in wanted for path in _local(job, each)}
    chosen = [each for each in before if any(_together(path, other) for path in _local(job, each) for other in folders)]
    if not folders or any(each.name == "cd" or each.name in _PREPARING and not _alone(job, each) for each in chosen):
        return []
    # others only name a folder, such as `export DATA=$TMPDIR/data`
    starts = dict.fromkeys(each.span.start for each in chosen if each.name in _PREPARING)
    return [insert(at, f"{_ON_EACH_NODE}{cpus_of(job)} ") for at in starts]


def _local(job: Job, command: Invocation) -> list[str]:
    return [key(field) for field in command.argv[1:] if field and classify(field, job.site).kind == NODE_LOCAL]


def _together(path: str, other: str) -> bool:
    return under(path, other) or under(other, path)


def _alone(job: Job, command: Invocation) -> bool:
    """Whether a command is a whole statement, so that srun can start it unchanged."""
    context, start = command.context, command.span.start
    line = job.source.line_of(start)
    return (
        start < len(job.source.own.text)
        and not job.source.text[line.start : start].strip()
        and not (command.piped_from or command.piped_to or command.redirects or context.calls or context.captured)
        and context.parent is None
        and not (context.conditional or context.may_repeat)
        and enclosing_step(context) is None
    )
