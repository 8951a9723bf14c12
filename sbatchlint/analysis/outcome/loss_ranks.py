"""How much a lost exit status matters: whether it deserves a warning, what it deceives, and what decides instead."""

from itertools import chain

from sbatchlint.analysis.outcome.endings import cancelled_after, last_shown, needed_producers, needs_results
from sbatchlint.analysis.outcome.lost_statuses import is_lost_with_pipefail
from sbatchlint.analysis.outcome.partial_results import read_partial
from sbatchlint.analysis.outcome.state_readers import Reader, state_reader, told_by_mail, told_of_main_work
from sbatchlint.analysis.outcome.success_claims import claimed_success
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.status_records import ExitStatuses, Loss
from sbatchlint.analysis.script.work import Weight, is_demonstration, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.bash.variables import branches_in
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex

# Ways to lose a status that may be intended, or after which the job may still fail.
_MINOR = frozenset({"ignored", "iterations"})
# Ways in which the script itself looks at the status of something else.
DECEIVING = frozenset({"pipeline", "overwritten", "again", "trap"})
_OUTPUTS = frozenset({">", ">>", "&>", "&>>", ">&"})
_SELECTING = frozenset({"grep", "egrep", "fgrep", "zgrep"})
_TESTED = Regex(r"\[|if\b[^\n]*\[")  # a test of files, mostly


def may_fail_at_end(job: Job, found: ExitStatuses, loss: Loss) -> bool:
    """Whether the command that sets the exit status needs files that the work may not have written."""
    if not _is_replaced(job, loss):
        return False
    end = ending_command(job, found)
    if end is not None and end.context.background is not None:
        return False  # it is only started, which succeeds
    if end is not None:
        return any(needs_results(job, each) for each in end.leaves()) or weight(job, end) > Weight.NONE
    return found.end is not None and _TESTED.match(job.source.slice(found.end)) is not None


def _is_replaced(job: Job, loss: Loss) -> bool:
    """Whether the status of a later command takes the place of this one, with `pipefail` as without."""
    return loss.how in ("replaced", "tested") or loss.how == "pipeline" and is_lost_with_pipefail(job, loss)


def ending_command(job: Job, found: ExitStatuses) -> Invocation | None:
    """The command whose status the script returns; None where that is not a plain command."""
    if found.end is None:
        return found.last
    return next((each for each in reversed(job.invocations) if each.span == found.end), None)


def rank(job: Job, found: ExitStatuses, loss: Loss) -> tuple[bool, Weight]:
    """How much a loss matters: whether it deserves a warning, and the weight of the lost work."""
    if read_partial(job, loss) is not None and not is_demonstration(loss.command):
        return True, loss.weight
    if cancelled_after(job, loss.command) is not None:
        return not is_demonstration(loss.command), loss.weight  # the state tells nothing of any work
    later = decides_later(job, loss)
    decided = later is not None and not loss.errexit and loss.how not in ("overwritten", "again")
    minor = loss.how in _MINOR or decided or _is_shown(job, loss) or is_demonstration(loss.command)
    minor = minor or id(loss.command) in needed_producers(job) or _is_consumed(job, loss)
    hidden = loss.how in DECEIVING and (_ends_in_loop(found, loss) or not is_lost_with_pipefail(job, loss))
    minor = minor or not hidden and reader_of(job, found, loss) is None
    return not minor, loss.weight


def reader_of(job: Job, found: ExitStatuses, loss: Loss) -> Reader | None:
    """What takes the job for a success though this work failed."""
    command = loss.command
    reader = read_partial(job, loss) or state_reader(job, command)
    # a script that tests the status has told of the failure
    reader = reader or (claimed_success(job, command) if loss.how != "tested" else None)
    ending = ending_command(job, found)
    reader = reader or told_of_main_work(job, command, loss.weight, ending)
    if reader is None or reader != told_by_mail(job):
        return reader
    # where the last command needs what the work writes, or is work or a test itself, the mail may tell of the failure
    end = ending if _is_replaced(job, loss) else None
    removes = end is not None and end.name == "rm"
    may_fail = not removes and (end is not None and needs_results(job, end) or may_fail_at_end(job, found, loss))
    return None if may_fail else reader


def _ends_in_loop(found: ExitStatuses, loss: Loss) -> bool:
    """Whether the script ends with the loop that contains a pipeline, so that not even its last failure is seen."""
    return bool(loss.command.context.loops) and found.end is not None and found.end.contains(loss.by)


def _is_consumed(job: Job, loss: Loss) -> bool:
    """Whether the work's output is the input of other work, which mostly fails without it: `align | sort -o x.bam`; or
    of a grep that keeps it, which fails where nothing comes: `align | grep -v '^@' >> x.sam`."""
    if loss.filter is None:
        return False
    selects = loss.filter.name in _SELECTING and any(each.operator in _OUTPUTS for each in loss.filter.redirects)
    errors = any(each.fd == "2" or each.operator.startswith("&") for each in loss.command.redirects)
    errors = errors or "|&" in job.source.text[loss.command.span.end : loss.filter.span.start]
    return selects and not errors or weight(job, loss.filter) >= Weight.PROGRAM


def _is_shown(job: Job, loss: Loss) -> bool:
    """Whether the work's log is printed after it, or the shell of a task waits for more than this work."""
    command = loss.command
    if command.context.parent is not None and job.source.slice(loss.by) == "wait":
        return True
    logs = {shown_text(each.target) for each in command.redirects if each.target and each.operator in _OUTPUTS}
    if not logs:
        return False
    last = last_shown(job)
    return any(last.get(log, -1) >= command.index for log in logs)


def decides_later(job: Job, loss: Loss) -> Invocation | None:
    """Later work, in the same shell or the script's, that always runs after this and decides how the job ends."""
    command = loss.command
    decisive, own = _decisive(job), branches_in(command.guards)
    for work, branches in chain(decisive.get(command.context.parent, []), decisive.get(None, [])):
        if work.index > command.index and (branches <= own or weight(job, work) > loss.weight):
            return work
    return None


@once
def _decisive(job: Job) -> dict[Invocation | None, list[tuple[Invocation, frozenset[object]]]]:
    """The decisive work by the command whose program contains it (None for the script itself), the last one first, and
    the branches in which it runs."""
    found: dict[Invocation | None, list[tuple[Invocation, frozenset[object]]]] = {}
    for command in reversed(exit_statuses(job).decisive):
        branches = branches_in(command.guards) if command.context.conditional else frozenset()
        found.setdefault(command.context.parent, []).append((command, branches))
    return found
