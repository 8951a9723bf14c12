"""Commands that mark work as done: they create a file of such a name, or write such a word."""

from sbatchlint.analysis.storage.written_paths import created_paths, redirected_paths, words
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex

_STATE = r"(?:completed?|done|finished|ok|passed|success(?:ful(?:ly)?)?|succeeded)"
_MARKER = Regex(rf"(?i)(?:.*[^a-z])?{_STATE}(?:[^a-z].{{0,20}})?")
# Text that is only such a state, or says that something has it; "job done" only says that the job ended.
_CLAIM = Regex(
    rf"(?i)(?:-\w+ )*\W*{_STATE}\W*\Z|.*\b(?:state|status|result)\W{{1,4}}{_STATE}\b"
    r"|(?:.*[\s=:'\"])?(?:success|succeeded\b)"
)
_NOT_YET = Regex(r"(?i)\b(?:not|un|in|if)[ _-]?(?:success|complete|done|ok)|\bfail|\berror")
_SCRIPT = Regex(r".*\.(?:sh|bash|csh|sl|slurm|sbatch|batch|cmd|job|pbs)")
_PRINTING = frozenset({"echo", "printf", "cat", "log", "date"})
# Commands whose output is only a word or a date, not a result.
_WRITING = frozenset({"echo", "printf", "date", "touch", ":", "true"})
_MOVING = frozenset({"rm", "cp", "rsync", "tar", "grep", "touch", "mv", "ln"})


def marks_success(job: Job, command: Invocation) -> bool:
    """Whether a command creates a file with such a name, or reports success other than by printing it."""
    if command.calls_function:
        return False  # the commands in it are looked at themselves
    made = redirected_paths(command) if command.name is None or command.name in _WRITING else []
    if command.name in ("touch", "mv", "ln"):
        made += created_paths(command)
    files = [path for path in made if not path.startswith("/dev/")]
    if any(_MARKER.fullmatch(path.rpartition("/")[2]) and path not in _awaited(job) for path in files):
        return not _NOT_YET.search(" ".join(path.rpartition("/")[2] for path in files))
    if command.name in _PRINTING and not files or command.name in _MOVING:
        return False
    if any(map(_SCRIPT.fullmatch, files)):
        return False  # `echo "done" >> job.sh` ends a loop there
    written = " ".join(command.words[1:])
    return _CLAIM.match(written) is not None and not _NOT_YET.search(written)


@once
def _awaited(job: Job) -> frozenset[str]:
    """The words of commands in loops: a file for which the script itself waits only tells a helper process to end."""
    loops = (each for each in job.invocations if each.context.loops and not each.context.handler)
    return frozenset(word for each in loops for word in words(each))
