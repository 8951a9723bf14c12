"""What differs between the tasks of a job array, and what is the same for all of them."""

from bisect import bisect_left

from sbatchlint.analysis.expansion.reads import assigned_names
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.shell_history import commands_before
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, expansions, shown_text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.paths import LOCAL_VARIABLES, SHARED_VARIABLES
from sbatchlint.slurm.grammar.arrays import Indexes, indexes
from sbatchlint.source.text import Span

INDEX = "SLURM_ARRAY_TASK_ID"
# Variables of Slurm that all tasks of an array have alike.
_ALIKE = frozenset(
    {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_MIN", "SLURM_JOB_NAME"}
    | {"SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_CPUS_PER_TASK"}
    | {"SLURM_CLUSTER_NAME", "SLURM_NTASKS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}
)
# Others that are not.
_OWN = LOCAL_VARIABLES | {"HOSTNAME", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID"}
# Those that begin a whole path.
_ROOTS = SHARED_VARIABLES | {"HOME"}
_MOST_STEPS = 8


def several_elements(job: Job) -> Indexes | None:
    """The array that a job certainly is; None for one that is none, or has a single task."""
    asked = indexes(job.request.array) if job.directives.certain else None
    return asked if asked is not None and asked.tasks > 1 else None


@once
def index_names(job: Job) -> frozenset[str]:
    """The variables that hold the index of a task, or something that was made of it."""
    names = {INDEX}
    for _ in range(_MOST_STEPS):
        places = sorted(read.span.start for read in job.trace.reads if read.name in names)
        new = {each.name for each in job.assignments if each.name not in names and _holds(places, each.span)}
        if not new:
            break
        names |= new
    return frozenset(names)


@once
def _index_reads(job: Job) -> list[int]:
    return sorted(read.span.start for read in job.trace.reads if read.name in index_names(job))


def _holds(places: list[int], span: Span) -> bool:
    at = bisect_left(places, span.start)
    return at < len(places) and places[at] < span.end


def differs(job: Job, field: Pieces) -> bool:
    """Whether a word is certainly made of the index of the task."""
    found = expansions(field)
    if not found:
        return False
    names, reads = index_names(job), _index_reads(job)
    return any(each.name in names or _holds(reads, each.span) for each in found)


def works_by_index(job: Job, command: Invocation) -> bool:
    """Whether a command is told which task of the array it is for, by its words or variables set for it."""
    if any(differs(job, field) for field in command.argv[1:]):
        return True
    if any(name != INDEX and differs(job, value) for name, value in command.variables):
        return True
    return command.stdin is not None and differs(job, command.stdin.pieces(0, len(command.stdin.string)))


def is_alike(job: Job, field: Pieces) -> bool:
    """Whether a word is certainly the same for all tasks of the array."""
    if differs(job, field):
        return False
    for expansion in expansions(field):
        name = expansion.name
        if name in _OWN:
            return False
        if name in _ALIKE or name.isdigit() and not job.invocations[0].context.calls:
            continue
        if name.startswith(("SLURM", "SBATCH", "PBS_", "LSB_")) or not name.isidentifier():
            return False
        if name in assigned_names(job) or unclear_sources(job):
            return False
    return bool(field)


def is_at_one_place(job: Job, command: Invocation, path: Pieces) -> bool:
    """Whether a path that a command uses is certainly the same file for all tasks of the array."""
    if not is_alike(job, path):
        return False
    text = shown_text(path)
    if text.startswith("/") or path[0].expansion is not None and path[0].expansion.name in _ROOTS:
        return True
    left = 0  # folders that a popd has left again
    for invocation in commands_before(job, command):
        if invocation.name == "pushd" and left:
            left -= 1
            continue
        if invocation.name == "popd" and len(invocation.argv) == 1 and not invocation.context.conditional:
            left += 1
            continue
        if (
            invocation.name in ("popd", "dirs")
            or invocation.name in ("cd", "pushd")
            and (left or len(invocation.argv) != 2)
        ):
            return False
        if invocation.name in ("cd", "pushd"):
            if not is_alike(job, invocation.argv[1]):
                return False
            if shown_text(invocation.argv[1]).startswith("/"):
                break
    return True
