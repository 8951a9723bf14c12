"""`$?` is always 0 after a command with `&`: it is the status of starting the command.

A command in the background has no exit status until it has ended: `launch & rets+=($?)`, or a test of `$?` on the next
line, gets the status of the start, which always succeeds. A failure is never seen, however carefully the script handles
the status that it kept. Advice where the status is only printed.

An error where the status is acted on, which is always 0; advice where it is only printed.

## Fix

None. `wait $!` waits for the command that was started last, and returns its status; where several run at once, keep the
ids and wait for each. Of a server that runs until it is ended, `kill -0 $!` tells whether it is still there.

## References

bash(1), Lists: "the shell does not wait for the command to finish, and the return status is 0".
"""

from bisect import bisect_right
from collections.abc import Iterator

from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.status_records import EmptyStatus
from sbatchlint.bash.syntax.walk import loops_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex

# How many loops may begin between a loop and a place in it.
_NESTED = 8
_NEVER_ENDS = Regex(r"\bsleep\s+inf(?:inity)?\b|\btail\s+-[fF]\b|\bdocker\s+run\b(?=.*\ssleep\s)")

CARD = Card(
    "SB712", "status-of-background-start", severity="warning", fix="never", since="0.1.0", batch=True,
    unseen="Nothing: the test of the status is true whatever happened.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for status in exit_statuses(job).empty:
        yield Finding(
            status.read,
            f"`$?` is 0 here: line {job.line(status.started.start)} only starts the command; {_advice(job, status)}",
            severity="warning" if status.acted_on else "info",
            related=[(status.started, "started in the background")],
        )


def _advice(job: Job, status: EmptyStatus) -> str:
    """How to get the status; in a loop a `wait` in place of the `$?` would start one after the other."""
    at = status.started.start
    endless = _NEVER_ENDS.search(job.source.slice(status.started)) is not None or any(
        server_name(each) is not None for each in job.invocations if status.started.contains(each.span)
    )
    start = bisect_right(_loops(job), at, key=lambda each: each.start)
    if any(each.contains(status.read) for each in _loops(job)[max(0, start - _NESTED) : start]):
        if endless:
            return "below the loop, check whether each still runs: `kill -0 PID`"
        return "get each status after the loop, with `wait PID`"
    if endless:
        return "use `kill -0 $!` later, which fails if it no longer runs"
    return "`wait $!` waits for it and returns its status"


@once
def _loops(job: Job) -> list[Span]:
    """The loops of the script, in order."""
    return sorted(job.span(loop.start, loop.end) for loop in loops_of(job.program))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        for host in $(scontrol show hostnames); do
            ssh "$host" docker run -d image &
            pids+=($!); rets+=(«$?»)
        done
        wait
        for each in "${rets[@]}"; do
            [ "$each" -eq 0 ] || exit 1
        done
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./server &
        if [ «$?» -ne 0 ]; then
            exit 1
        fi
        srun --overlap ./client
        """
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver &\nwait $!\nexit $?\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./monitor &\nsrun ./solver\nexit $?\n", title="another command between them"),
]
