"""Whether mail that many ask for out of habit tells something untrue of a job's main program."""

from sbatchlint.analysis.outcome.last_commands import CANNOT_FAIL
from sbatchlint.analysis.outcome.state_readers import Reader, told_by_mail
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python

_LANGUAGES = frozenset({"Rscript", "R", "julia", "matlab", "octave", "perl"})


def told_of_main_work(job: Job, work: Invocation, weight: Weight) -> Reader | None:
    """The mail for END or ALL, where this work is the job's main program, and the script ends the same way whatever
    becomes of it; None elsewhere."""
    found = exit_statuses(job)
    last = found.last
    if found.decisive or work.context.conditional or last is None or last.name not in CANNOT_FAIL:
        return None
    languages = (each.name in _LANGUAGES or bool(each.argv) and is_python(each.argv[0]) for each in work.leaves())
    return told_by_mail(job) if weight is Weight.STEP or any(languages) else None
