"""What reads the state in which a job ends: mail, jobs that depend on it, the next job of a chain, a marker of success.

Where nothing does, a job that ends COMPLETED although its work failed deceives only those who look at its state.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.outcome.endings import is_unrelated
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.submit_lines import names_dependent
from sbatchlint.analysis.script.work import Weight, is_after_all_work
from sbatchlint.analysis.storage.written_paths import created_paths, redirected_paths, words
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.slurm.grammar import mail
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_STATE = r"(?:completed?|done|finished|ok|passed|success(?:ful(?:ly)?)?|succeeded)"
_MARKER = Regex(rf"(?i)(?:.*[^a-z])?{_STATE}(?:[^a-z].{{0,20}})?")
# Text that is only such a state, or says that something has it; "job done" only says that the job ended.
_CLAIM = Regex(
    rf"(?i)(?:-\w+ )*\W*{_STATE}\W*\Z|.*\b(?:state|status|result)\W{{1,4}}{_STATE}\b"
    r"|(?:.*[\s=:'\"])?(?:success|succeeded\b)"
)
NOT_YET = Regex(r"(?i)\b(?:not|un|in|if)[ _-]?(?:success|complete|done|ok)|\bfail|\berror")
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
        return not NOT_YET.search(" ".join(path.rpartition("/")[2] for path in files))
    if command.name in _PRINTING and not files or command.name in _MOVING:
        return False
    if any(map(_SCRIPT.fullmatch, files)):
        return False  # `echo "done" >> job.sh` ends a loop there
    written = " ".join(command.words[1:])
    return _CLAIM.match(written) is not None and not NOT_YET.search(written)


@once
def _awaited(job: Job) -> frozenset[str]:
    """The words of commands in loops: a file for which the script itself waits only tells a helper process to end."""
    loops = (each for each in job.invocations if each.context.loops and not each.context.handler)
    return frozenset(word for each in loops for word in words(each))


_DEPENDENCY = re.compile(r"\bafter(?:ok|notok|corr)\b")
_KIND = re.compile(r" \(after\w+\)")
_ENDINGS = frozenset({"END", "FAIL"})
_FAR = 20  # how many commands that continue after the work are looked at
_OWN_IDS = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"})


class Reader(NamedTuple):
    """Something that takes a job that ends COMPLETED for a success.

    `outcome`: what it makes of that, as a clause after "if … fails,", and `possible` where the job may end otherwise.
    `place`: where it is written, None for another file; `label`: what it does, for that place.
    """

    outcome: str
    possible: str
    place: Span | None
    label: str = ""


def state_reader(job: Job, work: Invocation) -> Reader | None:
    """What takes the job for a success though this work failed; None if nothing does that the script shows."""
    found = _of_whole_job(job) or _after(job, work)
    if found is None and names_dependent(job):
        dependents = "jobs that depend on this one"
        return Reader(f"{dependents} still start", f"{dependents} may still start", None)
    return found


def costs_work(job: Job, command: Invocation) -> bool:
    """Whether a failure costs some of the work, or something reads the state in which the job ends."""
    return not is_after_all_work(job, command) or state_reader(job, command) is not None


@once
def told_by_mail(job: Job) -> Reader | None:
    """The mail that tells how the job ended: FAIL's, or that of END or ALL to an address; not to a placeholder."""
    events, address = mail.events(_mail_type(job)).events, job.request.value("mail-user")
    if _ENDINGS.isdisjoint(events) or find_placeholder("mail-user", address or "") is not None:
        return None
    if not address and "FAIL" not in _mail_type(job).upper():
        return None
    setting = job.request.setting("mail-type")
    place = setting.span if setting is not None else None
    if "END" in events:
        return Reader("the mail still says COMPLETED", "the mail may still say COMPLETED", place, "asks for this mail")
    return Reader("no FAIL mail is sent", "there may be no FAIL mail", place, "asks for this mail")


def _mail_type(job: Job) -> str:
    return (job.request.value("mail-type") or "").strip("\"'")


@once
def _of_whole_job(job: Job) -> Reader | None:
    """What reads the state of the job, whichever of its work failed."""
    # Who names FAIL waits for that mail. END and ALL are habits (one script in ten), and bring mail in any case; so
    # does ALL written out.
    named = _mail_type(job).upper().split(",")
    if "FAIL" in named and not {"BEGIN", "END"} <= {*named}:
        told = told_by_mail(job)
        if told is not None:
            return told
    for command in job.invocations:
        if command.name == "sbatch" and _depends_on(command, _OWN_IDS):
            return _starting(job, command)
    outer, submission = job.outer, job.submission
    if outer is not None and submission is not None and submission.command is not None:
        dependents = _dependents(outer)
        later = bisect_right(dependents, submission.command.index, key=lambda each: each.index)
        for command in dependents[later : later + 1]:
            return _starting(job, command)
    return None


def without_kind(message: str) -> str:
    """The message without the kind of dependency, which the command shows that submits the job."""
    return _KIND.sub("", message)


def _starting(job: Job, command: Invocation) -> Reader:
    """A job that starts where this one ends COMPLETED."""
    name = f"the job submitted on line {job.line(command.span.start)}"
    dependency = _DEPENDENCY.search(" ".join(command.words))
    if dependency is not None:
        name = f"{name} ({dependency[0]})"
    return Reader(f"{name} still starts", f"{name} may still start", command.span, "this job starts all the same")


@once
def _dependents(job: Job) -> list[Invocation]:
    """The commands that submit a job which depends on the success of some other."""
    return [each for each in job.invocations if each.name == "sbatch" and _DEPENDENCY.search(" ".join(each.words))]


def _depends_on(command: Invocation, names: frozenset[str]) -> bool:
    """Whether a command names a dependency on the success of a job whose ID one of these variables holds."""
    return any(
        _DEPENDENCY.search(word) and any(each.name in names for each in expansions(field))
        for field, word in zip(command.argv, command.words, strict=True)
    )


def _after(job: Job, work: Invocation) -> Reader | None:
    """A command after the work that goes on as if it had succeeded: it submits the next job, or marks it as done."""
    continuing = _continuing(job)
    first = bisect_right(continuing, work.index, key=lambda each: each.index)
    for command in continuing[first : first + _FAR]:
        if not depends_on_test(command, work) and not ends_before(work, command):
            submits = command.name == "sbatch"
            does = "submits a job" if submits else "marks the work as done"
            outcome = f"line {job.line(command.span.start)} still {does}"
            return Reader(outcome, outcome, command.span, f"{does} all the same")
    return None


def ends_before(work: Invocation, command: Invocation) -> bool:
    """Whether `set -e` ends the shell of both when the work fails."""
    ends = work.state.option("errexit") is True and not work.context.tested and not work.piped_to
    return ends and any(each is work.context.shell for each in command.context.shell.enclosing_shells())


@once
def _continuing(job: Job) -> list[Invocation]:
    """The commands of the batch script that submit jobs, or mark work as done."""
    return [
        command
        for command in job.invocations
        if command.phase is Phase.BATCH
        and (command.name == "sbatch" and not command.context.handler or marks_success(job, command))
    ]


def told_of_main_work(job: Job, work: Invocation, weight: Weight, end: Invocation | None) -> Reader | None:
    """The mail for END or ALL, where this work is the job's main program, and the script ends the same way whatever
    becomes of it, with `end`; None elsewhere. Main programs are steps, and a program in Python that is the only one.

    Not in a loop: of several runs the mail tells nothing that its owner could believe of each.
    """
    found = exit_statuses(job)
    if found.decisive or work.context.conditional or work.context.loops or end is None or not is_unrelated(job, end):
        return None
    if weight is Weight.STEP:
        return told_by_mail(job)
    alone = len({each.command.span for each in found.lost if each.weight >= Weight.PROGRAM}) == 1
    is_main = alone and any(bool(each.argv) and is_python(each.argv[0]) for each in work.leaves())
    return told_by_mail(job) if is_main else None
