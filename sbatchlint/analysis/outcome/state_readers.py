"""What reads the state in which a job ends: mail, jobs that depend on it, the next job of a chain, a marker of success.

Where nothing does, a job that ends COMPLETED although its work failed deceives only those who look at its state.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.outcome.after_work import is_after_all_work
from sbatchlint.analysis.outcome.markers import marks_success
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.submit_lines import names_dependent
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.grammar import mail
from sbatchlint.source.text import Span

_DEPENDENCY = re.compile(r"\bafter(?:ok|notok|corr)\b")
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
    """The mail that tells how the job ended: at least that of END, FAIL or ALL, with no placeholder for an address."""
    events = mail.events(_mail_type(job)).events
    if _ENDINGS.isdisjoint(events) or find_placeholder("mail-user", job.request.value("mail-user") or "") is not None:
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
    # Who names FAIL waits for that mail. END and ALL are habits (one script in ten), and bring mail in any case.
    if "FAIL" in _mail_type(job).upper().split(","):
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


def _starting(job: Job, command: Invocation) -> Reader:
    """A job that starts where this one ends COMPLETED."""
    name = f"the job on line {job.line(command.span.start)}"
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
        if not depends_on_test(command, work) and not _ends_before(work, command):
            submits = command.name == "sbatch"
            does = "submits a job" if submits else "marks the work as done"
            outcome = f"line {job.line(command.span.start)} still {does}"
            return Reader(outcome, outcome, command.span, f"{does} all the same")
    return None


def _ends_before(work: Invocation, command: Invocation) -> bool:
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
