"""Failed work is marked as successful: a trap for EXIT does so however the script ends.

`trap 'touch DONE' EXIT` runs whenever the script ends: even when the work fails and `set -e` ends the script, and when
Slurm ends the job at its time limit. Whatever checks the file (the next job, a workflow manager, the script itself when
it is submitted again) takes the work for done.

Reported is a handler, set before the work, that creates such a file or writes such a word without checking `$?` or
anything else. Only advice where it checks `$?`, but no trap for TERM ends the script with another status.

## Fix

None: keep the status first (`status=$?`), and mark success only where it is 0. Where SIGTERM ends bash itself, `$?` is
that of the last command before, usually 0, so `trap 'exit 143' TERM` is needed as well. Or mark success in the last
line of the script instead, with `set -e` above.

## References

bash(1), "trap"; a live run of Slurm 22.05. https://github.com/BSC-ES/autosubmit/issues/2806
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.outcome.lost_statuses import name_of_status
from sbatchlint.analysis.outcome.state_readers import marks_success
from sbatchlint.analysis.script.traps import resets, traps_of
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import Function
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB719", "success-marked-anyway", severity="warning", fix="never", since="0.1.0", when=Commands("trap"),
    seen="BSC-ES/autosubmit#2806 and a live run of Slurm 22.05",
    unseen="The mark of success is there, although the job failed.",
)  # fmt: skip

_READS_STATUS = Regex(r"\$\{?(?:\?|PIPESTATUS)")
_TESTS_SUCCESS = Regex(r"(?:-eq|==?)\s*[\"']?0\b|\(\(\s*!")
_NAME = Regex(r"\$\{?(\w+)")
_LEAVING = frozenset({"exit", "return"})


def check(job: Job) -> Iterator[Finding]:
    if job.phase is not Phase.BATCH:
        return
    traps = [each for each in traps_of(job) if each.signal in ("EXIT", "0")]
    if len(traps) != 1 or any(each.signal == "ERR" for each in traps_of(job)) or any(map(resets, job.invocations)):
        return
    command = traps[0].command
    handler = [each for each in job.invocations if each.parent is command]
    if not handler or not _is_followed_by_work(job, command):
        return
    functions = {node.name: node for node in nodes_of(job.program, Function)}
    called = {name for each in handler for name in (each.name, *each.context.calls)} & functions.keys()
    bodies = [job.text.string[functions[name].start : functions[name].end] for name in called if name]
    program = "\n".join((shown_text(command.argv[1]), *bodies))
    if _READS_STATUS.search(program):
        yield from _at_time_limit(job, command, handler, program)
        return
    for invocation in handler:
        if invocation.name in _LEAVING and invocation.guards != command.guards:
            return  # it tests something after all
        if invocation.guards != command.guards or invocation.name in functions or not marks_success(job, invocation):
            continue
        if not _changes_later(job, command, invocation):
            row = job.line(invocation.span.start)
            yield Finding(
                command.span,
                f"line {row} runs however the script ends, so failed work is also marked as done; start the handler "
                f"with `{name_of_status(job)}=$?`, and do this only if it is 0",
                related=[(invocation.span, "marks the work as done")],
            )
            return


def _at_time_limit(job: Job, trap: Invocation, handler: list[Invocation], program: str) -> Iterator[Finding]:
    """The finding on a handler that checks `$?`, which SIGTERM does not change: srun ends first, other work does not.

    `program`: its text and that of its functions, for tests that the trace has already decided.
    """
    if any(each.signal == "TERM" for each in traps_of(job)):
        return
    if not any(_is_foreground(job, trap, each) for each in job.invocations):
        return
    for command in handler:
        tests = [str(guard) for guard, branch in command.guards - trap.guards if branch == 0]
        if all(map(_TESTS_SUCCESS.search, tests or [program])) and marks_success(job, command):
            row = job.line(command.span.start)
            yield Finding(
                trap.span,
                f"at the time limit SIGTERM ends bash with the last `$?`, usually 0, so line {row} marks the work as "
                "done; add `trap 'exit 143' TERM`",
                "info",
                related=[(command.span, "marks the work as done")],
            )
            return


def _is_foreground(job: Job, trap: Invocation, command: Invocation) -> bool:
    """Whether a command is work for which the batch shell waits, and not a step."""
    context = command.context
    if command.index <= trap.index or command.parent is not None or context.handler or context.background is not None:
        return False
    return command.name != "srun" and context.shell.kind == "script" and weight(job, command) >= Weight.PROGRAM


def _is_followed_by_work(job: Job, trap: Invocation) -> bool:
    later = [each for each in job.invocations[trap.index + 1 :] if not each.context.handler]
    weigh = partial(weight, job)
    heaviest = max(map(weigh, later), default=Weight.NONE)
    return heaviest > Weight.NONE and heaviest >= max(map(weigh, job.invocations[: trap.index]), default=Weight.NONE)


def _changes_later(job: Job, trap: Invocation, command: Invocation) -> bool:
    """Whether a variable of the command is set again after the trap: then it may hold the outcome of the work."""
    names = set(_NAME.findall(job.source.slice(command.span)))
    return any(each.name in names and each.span.start > trap.span.end for each in job.assignments)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=64
        set -e
        rm -f "$LOGS/sim_COMPLETED"
        finish() {
            date +%s >> "$LOGS/sim_STAT"
            touch "$LOGS/sim_COMPLETED"
        }
        «trap finish EXIT»
        srun ./model.x
        """
    ),
    Bad("#!/bin/bash\n#SBATCH -N1\n«trap 'echo COMPLETED > state; rm -rf tmp' EXIT»\n./solver\n", title="its text"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=64
        finish() {
            local status=$?
            [ $status -eq 0 ] && touch "$LOGS/sim_COMPLETED"
        }
        trap 'exit 143' TERM
        trap finish EXIT
        srun ./model.x
        """
    ),
    Good("#!/bin/bash\n#SBATCH -N1\ntrap 'rm -rf \"$SCRATCH/tmp\"; echo done' EXIT\n./solver\n", title="tidies up"),
]
