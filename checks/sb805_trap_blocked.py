"""The trap for a signal runs too late: bash waits for the work in the foreground.

Bash runs a trap only after the command for which it waits has ended. With `srun ./a.out` in the foreground the handler
of `--signal=B:USR1@300` runs only when the work is over: a handler meant to save the state, or to requeue the job,
comes too late, and the time limit ends everything. With `./work &` and `wait` bash runs it at once. A job that has
work in the background is not reported, unless that is a loop with pauses, which only watches.

A warning, as only runs that reach their time limit get the signal; advice where the script's `--signal` is switched
off, and without one where the handler is for TERM as well: at the time limit that ends the command in the foreground
too, and the handler runs.

## Fix

None: `srun ./a.out &`, then `pid=$!` and `wait $pid`. As the signal ends that wait, a second one is needed where the
work should go on: `while kill -0 $pid 2>/dev/null; do wait $pid; done`.

## References

bash(1), "SIGNALS"; live runs of Slurm 22.05 and 26.05: a trap for a signal sent 45 seconds before the end ran when the
foreground command had ended, 40 seconds later.
"""

from bisect import bisect_right
from collections.abc import Iterator

from sbatchlint.analysis.directives.near_misses import is_turned_off
from sbatchlint.analysis.script.appending import where_to_append
from sbatchlint.analysis.script.traps import resets, traps_of
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.grammar.signals import early_signal
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB805", "trap-blocked", severity="warning", fix="never", since="0.1.0",
    when=Commands("trap"), seen="live runs of Slurm 22.05 and 26.05", batch=True,
)  # fmt: skip

# Signals that are only sent on purpose.
_SENT_ON_PURPOSE = frozenset({"USR1", "USR2"})

# A handler that needs no time: none, or a line for the log, so that the signal does not end the shell.
_ONLY_TELLS = Regex(r"[ :]*|\s*(?:echo|printf|logger)\b[^;&|<>\n]*")

def check(job: Job) -> Iterator[Finding]:
    if not job.directives.every_setting:
        return
    sent = early_signal(job.request.value("signal"))
    has_signal = job.request.has_option("signal")
    for trap in traps_of(job):
        handler = text_of(trap.command.argv[1])
        if handler is not None and _ONLY_TELLS.fullmatch(handler):
            continue  # the signal is ignored
        if sent is not None and (not sent.batch or sent.name != trap.signal):
            continue
        if sent is None and (has_signal or trap.signal not in _SENT_ON_PURPOSE):
            continue
        work = _foreground_work(job, trap.command)
        if work is not None:
            first = "" if sent is not None else ", if sent,"
            row = job.line(trap.command.span.start)
            ends_too = sent is None and trap.signal != "TERM" and _also_for_end(job, trap.command, handler)
            severity = "info" if sent is None and (ends_too or is_turned_off(job, "signal")) else None
            yield Finding(
                work.span,
                f"bash runs the trap on line {row} only after this command, so {trap.signal}{first} is not handled "
                f"in time; {where_to_append(job, '&', work)}, then `wait $!` below",
                severity,
                related=[(trap.command.span, "runs too late")],
            )
            return


def _also_for_end(job: Job, trap: Invocation, handler: str | None) -> bool:
    """Whether a handler is also for TERM: at the time limit that ends the command in the foreground as well."""
    others = [each for each in traps_of(job) if each.signal == "TERM"]
    return any(each.command is trap or text_of(each.command.argv[1]) == handler is not None for each in others)


def _foreground_work(job: Job, trap: Invocation) -> Invocation | None:
    """The work for which the shell waits after a trap; None where some of it is in the background."""
    found: Invocation | None = None
    heaviest = Weight.STAGING
    later = _decisive(job)
    for command in later[bisect_right(later, trap.index, key=lambda each: each.index) :]:
        if resets(command):
            break
        if command.name == "exec" and len(command.argv) > 1:
            return None
        if command.context.background is not None and _is_watching(job, command):
            continue
        if command.context.background is not None or command.context.shell.awaiting.kind != "script":
            return None
        if weight(job, command) > heaviest:
            found, heaviest = command, weight(job, command)
    return found


@once
def _decisive(job: Job) -> list[Invocation]:
    """The commands that decide whether a trap before them runs in time: work, `exec`, and traps that are reset."""
    own = (
        each for each in job.invocations
        if not each.context.handler and each.phase is Phase.BATCH and each.parent is None
    )  # fmt: skip
    return [
        each for each in own
        if resets(each) or each.name == "exec" and len(each.argv) > 1
        or not each.context.captured and each.alternatives == 1 and weight(job, each) > Weight.STAGING
    ]  # fmt: skip


def _is_watching(job: Job, command: Invocation) -> bool:
    """Whether a background command is part of a loop that looks at the work again and again, with pauses."""
    background = command.context.background
    if command.calls_function:
        return True  # what it calls is judged on its own
    return not _pausing(job).get(id(background), set()).isdisjoint(command.context.loops)


@once
def _pausing(job: Job) -> dict[int, set[Span]]:
    """The loops that pause, by the identity of the command in the background that they are part of."""
    found: dict[int, set[Span]] = {}
    for command in commands_named(job, "sleep"):
        found.setdefault(id(command.context.background), set()).update(command.context.loops)
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00 --signal=B:USR1@300
        trap 'scontrol requeue $SLURM_JOB_ID' USR1
        «srun python train.py»
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00
        save() { touch stop; }
        trap save SIGUSR1
        «./server --port 8000»
        """,
        severity="warning",
        title="the signal comes from the command line",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00 --signal=B:USR1@300
        trap 'scontrol requeue $SLURM_JOB_ID' USR1
        srun python train.py &
        wait
        """
    ),
    Good("#!/bin/bash\n#SBATCH --time=4:00:00\ntrap 'rm -rf $TMPDIR/x' EXIT TERM\nsrun ./a.out\n", title="tidying up"),
    Good("#!/bin/bash\n#SBATCH --time=4:00:00 --signal=B:USR1@300\ntrap '' USR1\nsrun ./a.out\n", title="ignored"),
    Good(
        "#!/bin/bash\n#SBATCH --time=4:00:00 --signal=USR1@300\ntrap 'touch stop' USR1\nsrun ./a.out\n",
        title="for the steps",
    ),
]
