"""What the last commands of a script do after its work: clean up, remove its input, wait for nothing, or scancel."""

from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, shown_text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

# Commands at the end of a script that tell nothing of its work, and do not fail.
CANNOT_FAIL = frozenset(
    (
        *(":", ".", "cd", "conda", "date", "deactivate", "echo", "exit", "export", "hostname", "make", "ml", "module"),
        *("my-job-stats", "popd", "printf", "sacct", "scontrol", "seff", "sleep", "source", "sstat", "times", "true"),
        *("unset", "uptime", "wait"),
    )
)
# Commands that fail without the files that they name, which the work may have written.
_NEEDS_FILES = frozenset(
    (
        *("[", "[[", "awk", "cat", "chgrp", "chmod", "cmp", "cp", "diff", "du", "egrep", "find", "grep", "gunzip"),
        *("gzip", "head", "ln", "ls", "md5sum", "mv", "pigz", "rm", "rmdir", "rsync", "scp", "sed", "sha256sum"),
        *("sort", "stat", "tail", "tar", "test", "unzip", "wc", "zcat", "zip"),
    )
)
_CLEANING = Regex(r"(?i)(?:^|[-_.])clean-?up|tear-?down|post-?run|finali[sz]e|^(?:kill|stop)[-_]")
_ENDING_CONTAINERS = frozenset({"kill", "rm", "stop"})  # `docker stop NAME`
_TEMPORARY = Regex(r"(?i)te?mp|core|cache|lock|\.(?:o|err|out|log|pid)$")
_RECURSIVE = Regex(r"-\w*[rR]\w*|--recursive")
_FORCED = Regex(r"-\w*f\w*|--force")
_STARTS_UNSEEN = Regex(r"[<>]\(|\bcoproc\b")  # what runs beside the script without an `&`


def cleans_up_after(job: Job, work: Invocation) -> bool:
    """Whether a program that cleans up follows the work, and would not run if the script ended before it."""
    return any(map(_cleans_up, job.invocations[work.index + 1 :]))


def _cleans_up(command: Invocation) -> bool:
    ends = has_trait(command.name, "container") and not _ENDING_CONTAINERS.isdisjoint(command.words[1:2])
    return ends or _CLEANING.search(command.name or "") is not None


def may_fail_with(last: Invocation) -> bool:
    """Whether a last command fails, and the job with it, where work has not written the files that it names."""
    words = [shown_text(each) for each in last.argv[1:]]
    if last.name == "rm" and any(_FORCED.fullmatch(each) is not None for each in words):
        return False
    return last.name in _NEEDS_FILES and any(not each.startswith("-") for each in words)


def removes_data_after(work: Invocation, last: Invocation) -> bool:
    """Whether the script ends by removing folders, or files by a pattern, right after work that may have read them."""
    words = [shown_text(each) for each in last.argv[1:]]
    many = any("*" in each or _RECURSIVE.fullmatch(each) is not None for each in words)
    return last.name == "rm" and follows(work, last) and many and not any(map(_TEMPORARY.search, words))


def is_idle_wait(job: Job, last: Invocation, work: Invocation) -> bool:
    """Whether `last` is a bare `wait` on a line of its own, right after the work, with nothing to wait for."""
    if last.words != ["wait"] or last.redirects or last.context.depth or last.context.conditional:
        return False
    if not follows(work, last) or work.context.depth or work.context.loops or last.span.end > len(job.source.own.text):
        return False
    return job.source.slice(job.source.line_of(last.span.start)).strip() == "wait" and not _runs_in_background(job)


def cancels_itself(last: Invocation | None) -> bool:
    """Whether the last command cancels its own job, or the array that the job belongs to."""
    if last is None or last.name != "scancel":
        return False
    names = {each.name for field in last.argv[1:] for each in expansions(field)}
    return bool(names & {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"})


@once
def _runs_in_background(job: Job) -> bool:
    """Whether anything may run beside the script, as far as that can be seen."""
    if _STARTS_UNSEEN.search(job.source.text):
        return True
    return any(each.context.background is not None or is_unclear_source(each) for each in job.invocations)


def server_before(job: Job, last: Invocation, work: Invocation) -> str | None:
    """The server that runs in the background before the work, and for which a bare `wait` at the end waits."""
    if last.words != ["wait"] or last.context.depth or work.context.depth:
        return None
    if any(each.name in ("kill", "pkill", "killall", "scancel") for each in job.invocations[work.index :]):
        return None
    before = (each for each in job.invocations[: work.index] if each.context.background is not None)
    return next((name for each in before if (name := server_name(each)) is not None), None)


def follows(work: Invocation, last: Invocation) -> bool:
    """Whether a command runs right after work, and what that starts."""
    return last.index - work.index - len(list(work.descendants())) == 1
