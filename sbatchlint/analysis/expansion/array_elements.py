"""What differs between the tasks of a job array, and what is the same in all of them."""

from sbatchlint.analysis.expansion.reads import assigned_names, guarded_names, read_names
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.shell_history import last_of_shells
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, expansions, shown_text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.paths import LOCAL_VARIABLES, SHARED_VARIABLES
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.grammar.arrays import Indexes, indexes
from sbatchlint.source.numbers import has_between

INDEX = "SLURM_ARRAY_TASK_ID"
# Slurm's variables that are the same in all tasks of an array.
_ALIKE = frozenset(
    {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_MIN", "SLURM_JOB_NAME"}
    | {"SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_CPUS_PER_TASK"}
    | {"SLURM_CLUSTER_NAME", "SLURM_NTASKS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}
)
# Other variables that differ between tasks.
_OWN = LOCAL_VARIABLES | {"HOSTNAME", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID"}
# Variables that begin an absolute path.
_ROOTS = SHARED_VARIABLES | {"HOME"}
_MOST_STEPS = 8


def several_elements(job: Job) -> Indexes | None:
    """The indexes of a job that is certainly an array; None for other jobs, and for an array of one task."""
    found = indexes(job.request.array) if job.directives.certain else None
    return found if found is not None and found.tasks > 1 else None


@once
def index_names(job: Job) -> frozenset[str]:
    """The variables that hold the index of a task, or a value made from it."""
    names = {INDEX}
    for _ in range(_MOST_STEPS):
        places = sorted(read.span.start for read in job.trace.reads if read.name in names)
        new = {each.name for each in job.assignments if each.name not in names and has_between(places, *each.span)}
        if not new:
            break
        names |= new
    return frozenset(names)


@once
def _index_reads(job: Job) -> list[int]:
    return sorted(read.span.start for read in job.trace.reads if read.name in index_names(job))


def differs(job: Job, field: Pieces) -> bool:
    """Whether a word is certainly made from the index of the task."""
    found = expansions(field)
    if not found:
        return False
    names, reads = index_names(job), _index_reads(job)
    return any(each.name in names or has_between(reads, *each.span) for each in found)


def works_by_index(job: Job, command: Invocation) -> bool:
    """Whether a command depends on the index of the task: by its words, its own variables or its input."""
    if any(differs(job, field) for field in command.argv[1:]):
        return True
    if any(name != INDEX and differs(job, value) for name, value in command.variables):
        return True
    return command.stdin is not None and differs(job, command.stdin.pieces(0, len(command.stdin.string)))


def is_alike(job: Job, field: Pieces) -> bool:
    """Whether a word is certainly the same in all tasks of the array."""
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
    """Whether a path that a command uses is certainly the same file in all tasks of the array."""
    if not is_alike(job, path):
        return False
    text = shown_text(path)
    if text.startswith("/") or path[0].expansion is not None and path[0].expansion.name in _ROOTS:
        return True
    last = last_of_shells(_folders(job), command)
    return last is None or last.is_one


class _Folder:
    """The working folder after a command: whether it is the same in all tasks, and the one that `popd` goes back to."""

    def __init__(self, is_one: bool, below: "_Folder | None") -> None:
        self.is_one = is_one
        self.below = below


@once
def _folders(job: Job) -> dict[int, list[tuple[int, _Folder]]]:
    """The folders after each command that changes it, by the command that starts its shell, in order."""
    found: dict[int, list[tuple[int, _Folder]]] = {}
    for move in commands_named(job, "cd", "pushd", "popd", "dirs"):
        after = _folder_after(job, move, last_of_shells(found, move) or _Folder(True, None))
        found.setdefault(id(move.context.parent), []).append((move.index, after))
    return found


def _folder_after(job: Job, move: Invocation, before: _Folder) -> _Folder:
    if move.name == "popd" and len(move.argv) == 1 and not move.context.conditional:
        return before.below or before
    if move.name in ("popd", "dirs") or len(move.argv) != 2:
        return _Folder(False, None)
    is_absolute = shown_text(move.argv[1]).startswith("/")
    is_one = is_alike(job, move.argv[1]) and (is_absolute or before.is_one)
    return _Folder(is_one, before if move.name == "pushd" else before.below)


@once
def rests_on_array(job: Job) -> bool:
    """Whether the script reads what only `--array` on the command line of sbatch can have set, which is not known."""
    if job.request.has_option("array") or job.is_embedded or job.submission is not None:
        return False
    return any(name.startswith("SLURM_ARRAY_") for name in read_names(job) - guarded_names(job))
