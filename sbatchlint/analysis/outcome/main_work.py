"""Whether mail that many ask for out of habit tells something untrue of a job's main program."""

from sbatchlint.analysis.outcome.last_commands import CANNOT_FAIL
from sbatchlint.analysis.outcome.state_readers import Reader, told_by_mail
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python

# What ends the work in the background is another check's matter.
_AWAITING = frozenset({"wait"})


def told_of_main_work(job: Job, work: Invocation, weight: Weight) -> Reader | None:
    """The mail for END or ALL, where this work is the job's main program, and the script ends the same way whatever
    becomes of it; None elsewhere. Main programs are steps, and a program in Python that is the only one."""
    found = exit_statuses(job)
    last = found.last
    if found.decisive or work.context.conditional or last is None or last.name not in CANNOT_FAIL - _AWAITING:
        return None
    if weight is Weight.STEP:
        return told_by_mail(job)
    alone = len({each.command.span for each in found.lost if each.weight >= Weight.PROGRAM}) == 1
    is_main = alone and any(bool(each.argv) and is_python(each.argv[0]) for each in work.leaves())
    return told_by_mail(job) if is_main else None
