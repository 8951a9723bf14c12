"""The job ends COMPLETED although background work failed: `wait` discards its status.

`wait` without an operand returns 0, whether or not the commands in the background failed; `set -e` does not help, as no
command has failed. `wait $a $b` returns only the status of the last one, and that of `wait $a` is lost where another
command follows, or the shell that waits is piped into `tee`.

Reported once for a script. A warning where something takes the job for a success, as for [SB710](exit-status-lost.md),
and where a bare `wait` at the end awaits all work of the job, so that it is COMPLETED whatever becomes of it; otherwise
only advice, as for steps without `set -e`, of each of which `sacct` says how it ended.

Nothing is reported where work in the foreground runs beside it and decides how the job ends: what runs in the
background is then often a server or a monitor. Advice where that work follows the `wait`: it may work on what a failed
command has left. A script that ends with `exit 0` means to succeed, and in a job of one node a loop over its nodes
starts one process, whose status `wait` returns; a function that calls itself does so until it succeeds. A server in the
background never ends, and a `wait` that awaits it too does not either.

## Fix

None. Keep the ids, and wait for each: `pids+=($!)` after each start, and in place of `wait` the loop `for pid in
"${pids[@]}"; do wait "$pid" || status=1; done`; end with `exit ${status:-0}`, below all other work.

## References

bash(1), wait; live runs on Slurm 22.05 to 26.05; https://github.com/espnet/espnet/pull/627
"""

from collections.abc import Iterator

from sbatchlint.analysis.outcome.lost_statuses import exit_with_kept, has_pipefail, word_of
from sbatchlint.analysis.outcome.state_readers import state_reader, told_by_mail, without_kind
from sbatchlint.analysis.outcome.status_advice import in_full
from sbatchlint.analysis.script.appending import last_line
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.failure_counts import failure_counter
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.status_records import ExitStatuses, Loss
from sbatchlint.analysis.script.status_uses import last_that_runs
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import Pipeline
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import shown_program
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Commands

_NAMES = 16  # characters of two names that a message has room for
_MOST_PLACES = 12  # that a finding marks
_MAY_SERVE = Regex(r"(?i)serve|cluster|daemon|monitor|worker|start|notebook|ssh")  # it does not end by itself
_OVER_NODES = Regex(r"(?i)node|host")

CARD = Card(
    "SB711", "wait-discards-failure", severity="warning", fix="never", since="0.1.0", when=Commands("wait"),
    whole_script=True,
)  # fmt: skip

# A pipe after a group.
_AFTER_GROUP = Regex(r"[ \t]*\)?[ \t]*\|&?(?!\|)")
_VARIABLE = Regex(r"\"?\$\{?\w+\}?\"?")
# All elements of an array, and an assignment that empties one.
_ARRAY = Regex(r"\"?\$\{(\w+)\[[@*]\]\}\"?")
_EMPTIED = Regex(r"=\(\s*\)$")


def check(job: Job) -> Iterator[Finding]:
    if job.phase is not Phase.BATCH or job.program.errors:
        return
    found = exit_statuses(job)
    awaited = [each for each in found.awaited if server_name(each.command) is None and not _is_only_one(job, each)]
    retrying = {each.name for each in job.invocations if each.name in each.context.calls}
    awaited = [each for each in awaited if each.command.name not in retrying]
    replaced = [each for each in found.lost if each.command.context.background is not None and not each.errexit]
    replaced = [each for each in replaced if retrying.isdisjoint(each.command.context.calls)]
    server = next((each.command for each in found.awaited if server_name(each.command) is not None), None)
    if not awaited and not replaced:
        return
    if any(each.name == "trap" and len(each.argv) > 2 for each in job.invocations):
        return  # a trap may check the processes
    decisive = [each.index for each in found.decisive if each.context.parent is None]
    last = max(decisive, default=-1)
    # a process that is killed is a server or a monitor
    killed = max((each.index for each in job.invocations if each.name in ("kill", "pkill", "killall")), default=-1)
    waits = {each.span: each.index for each in job.invocations if each.name == "wait"}
    places: dict[int, list[Loss]] = {}
    for loss in awaited:
        begin, end = loss.command.index, waits.get(loss.by, -1)
        beside = end < 0 or any(begin < index < end for index in decisive)
        if loss.how == "waits" or begin > killed and (begin > last or not beside):
            places.setdefault(loss.by.start, []).append(loss)
    waits_lose = bool(places)
    for loss in replaced:
        if loss.command.index > last and (loss.how == "pipeline" or not waits_lose):
            places.setdefault(loss.by.start, []).append(loss)
    if not places:
        return
    losses = _still_awaited(job, places[min(places)])
    first = losses[0]
    place = first.by
    if not _name(job, first):
        return
    names = dict.fromkeys(f"`{name}`" for each in losses if (name := _name(job, each)))
    name = " or ".join(names) if len(names) == 2 and sum(map(len, names)) < _NAMES else next(iter(names))
    keep, empty, kept_ids = 'pids="$pids $!"', "pids=", "$pids"
    if has_pipefail(job):
        keep, empty, kept_ids = "pids+=($!)", "pids=()", "${pids[@]}"
    leave = exit_with_kept(job, first.command)
    # where a loop repeats the `wait`, the PIDs of an iteration must not be kept for the next
    again = empty if any(each.context.loops for each in commands_named(job, "wait") if each.span == place) else ""
    added = f"add `{keep}` after each `&`"
    ends = f"and end with `{leave}`"
    own_process = first.how not in ("wait", "waits", "pipeline") and not _is_after_wait(job, first)
    submits = next((each for each in commands_named(job, "sbatch") if each.span.start > place.start), None)
    if submits is not None and not again and not _in_subshell(first):
        kept = "${rc-}" if ":-" in leave else "$rc"  # under `set -u`
        ends = f'and add `[ -z "{kept}" ] || exit` above line {job.line(submits.span.start)}'
    loop = f"for p in {kept_ids}; do wait $p || rc=1; done{f'; {again}' if again else ''}"
    advice = f"{added}, write `{loop}` instead, {ends}"
    if first.how == "wait" and _is_started_last(job, losses):
        advice = f"write `wait $! || rc=1`, and end with `{leave}`"
        if _ends(job, first):
            advice = "write `wait $! || exit 1`"
    if _in_subshell(first):
        advice = _for_subshell(job, first)
    if first.how == "wait":
        happens = f"if {name} fails, `wait` hides it"
        if server is not None:
            happens = f"`wait` never returns while `{server.name}` runs, and hides a failure of {name}"
            advice = f'write `wait "$pid" || rc=1` for {name}, and then end `{server.name}`'
    elif first.how == "waits":
        happens = "this `wait` returns only the last process's status"
        written = job.source.slice(place)
        awaits = [each for each in job.invocations if each.span == place and not _in_subshell(first)]
        if awaits and written.startswith("wait ") and " -" not in written:
            advice = f"write `for p in {written[5:].strip()}; do wait $p || rc=1; done`, and end with `{leave}`"
            if awaits[0].context.loops and " " not in written[5:].strip() and "[" not in written:
                advice = f"write `{written} || rc=1`, and end with `{leave}`"
    elif first.how == "pipeline" and first.filter is not None:
        place = first.filter.name_span
        happens = f"if {name} fails, `{first.filter.name}` hides it"
        if _ends_script(job, first):
            advice = (
                'add `wait "$pid" || status=1` for each, `exit ${status:-0}` before the pipe, and `set -o pipefail`'
            )
    else:
        wait = _wait_before(job, place)
        row = "" if wait is None else f" on line {job.line(wait.span.start)}"
        happens = f"if {name} fails, the status that `wait`{row} returns is lost here"
        elsewhere = wait is not None and not place.contains(wait.span) and not own_process and first.how != "tested"
        if wait is not None and elsewhere and not _in_subshell(first):
            happens = f"if {name} fails, the status that `wait` returns is lost on line {job.line(place.start)}"
            place = wait.span
        if own_process:
            happens = f"in the background this line replaces the status of {name}, so `wait` never gets it"
            advice = f"append `|| exit` to line {last_line(job, first.command)}"
    if own_process and any(len(each.argv) == 1 for each in commands_named(job, "wait")):
        advice += ", and `wait` for each"
    counter = None
    if not own_process and first.how not in ("wait", "waits", "pipeline") and not _in_subshell(first):
        own = next((each for each in commands_named(job, "wait") if each.span == place), wait)
        own_place = place if own is None else own.span
        written = "" if own is None else job.source.slice(own.span)
        advice = f"write `{written} || rc=1` and end with `{leave}`"
        ids = _ids(job, wait)
        if ids is not None:
            there = "" if place == own_place else " there"
            advice = f"write `for p in {ids}; do wait $p || rc=1; done`{there}, and end with `{leave}`"
        elif first.how == "tested" or "\n" in written or not written.startswith("wait "):
            advice = f"set `rc=1` where `wait` fails, and end with `{leave}`"
        counter = failure_counter(job, place) if first.how == "tested" and not first.command.context.calls else None
        if counter is not None:
            happens = f"if {name} fails, `{counter}` counts it"
            advice = f"end the script with `exit $(({counter} > 0))`"
    # what the shell of a task runs in the background is often a server
    told = first.command.context.parent is None
    told = told and not (first.how == "wait" and last > waits.get(first.by, len(job.invocations)))
    reader = state_reader(job, first.command) if told else None
    if reader is None and told and first.weight is Weight.STEP:
        reader = told_by_mail(job)
    so = "" if reader is None else f", and {reader.outcome.replace('still ', '')}"
    if counter is not None:
        so = f", but {'the job still ends COMPLETED' if reader is None else reader.outcome}"
    if reader is None and found.last is not None and job.source.slice(found.last.span) == "exit 0":
        return
    started = dict.fromkeys(each.command.place for each in losses)
    plain = f"{happens}; {advice}"
    longest = f"{happens}{so}; {advice}"
    messages = (longest, without_kind(longest), plain, plain.replace(" instead, ", ", "))
    # of each step `sacct` says how it ended; under `set -e` the job was to end as well
    silent = first.weight is not Weight.STEP or bool(first.command.state.options.get("errexit"))
    silent = silent and told and server is None
    loud = reader is not None or silent and _is_all_work(job, found, losses, awaited)
    yield Finding(
        place,
        in_full(next((each for each in messages if len(each) <= MOST), messages[-1])),
        severity="warning" if loud else "info",
        related=[(each, "in the background") for each in started][:_MOST_PLACES],
    )


def _name(job: Job, loss: Loss) -> str:
    """The program that is awaited, `${TASK}` where a variable holds it; '' where no word of the script names one."""
    written = job.source.slice(word_of(job, loss)).partition(" ")[0]
    return shown_program(loss.command) or (written if _VARIABLE.fullmatch(written) else "")


def _is_all_work(job: Job, found: ExitStatuses, losses: list[Loss], awaited: list[Loss]) -> bool:
    """Whether the job does nothing but what a bare `wait` at its end awaits, and then at most prints something."""
    if losses[0].how != "wait" or _in_subshell(losses[0]) or not _ends(job, losses[0]):
        return False
    if any(_MAY_SERVE.search(_name(job, each)) for each in awaited):
        return False
    known = {id(each.command) for each in awaited}
    return all(id(each) in known or weight(job, each) <= Weight.STAGING for each in found.work)


def _wait_before(job: Job, place: Span) -> Invocation | None:
    """The last `wait` before a place."""
    before = [each for each in commands_named(job, "wait") if each.span.start < place.start]
    return max(before, key=lambda each: each.span.start, default=None)


def _is_after_wait(job: Job, loss: Loss) -> bool:
    """Whether what replaces a status comes after a `wait`, and not in the background process itself."""
    wait = _wait_before(job, loss.by)
    return any(loss.by.contains(each.span) for each in commands_named(job, "wait")) or (
        wait is not None and wait.index > loss.command.index
    )


def _ids(job: Job, wait: Invocation | None) -> str | None:
    """The array of process ids to which a `wait` is applied, as written; None for others."""
    written = "" if wait is None else job.source.slice(wait.span).removeprefix("wait").strip()
    return written if _ARRAY.fullmatch(written) else None


def _still_awaited(job: Job, losses: list[Loss]) -> list[Loss]:
    """Those of some losses whose ids the array still holds to which the `wait` is applied: `pids=()` empties it."""
    wait = next((each for each in commands_named(job, "wait") if each.span == losses[0].by), None)
    wait = wait or _wait_before(job, losses[0].by)
    array = _ARRAY.fullmatch(_ids(job, wait) or "")
    if array is None or wait is None:
        return losses
    emptied = [
        each.order
        for each in job.assignments
        if each.name == array[1] and _EMPTIED.search(job.source.slice(each.span)) and each.order <= wait.index
    ]
    return [each for each in losses if each.command.index >= max(emptied, default=0)] or losses


def _is_only_one(job: Job, loss: Loss) -> bool:
    """Whether a loop over the nodes of a job of one node starts the command, so that the last one is the only one."""
    if loss.how != "waits" or job_nodes(job.request) != 1:
        return False
    headers = (job.source.slice(each).partition("\n")[0] for each in loss.command.context.loops)
    return any(_OVER_NODES.search(header) for header in headers)


def _for_subshell(job: Job, loss: Loss) -> str:
    """The advice on a `( … )`, whose status has to leave it, a pipeline around it, and then the loop or the script."""
    background = loss.command.context.background
    group = None if background is None else background.parent
    end = None if group is None else _AFTER_GROUP.match(job.source.own.text, group.span.end)
    if group is not None and end is not None:
        top = "`set -o pipefail` above, " if has_pipefail(job) else ""
        append = f"{top}append `|| rc=1` to line {job.line(group.span.end)}"
        return f"write `wait $p || exit 1` for each, {append} and end with `exit $rc`"
    return "write `wait $p || exit 1` for each, `|| rc=1` after the `)`, and end with `exit $rc`"


def _is_started_last(job: Job, losses: list[Loss]) -> bool:
    """Whether a `wait` awaits one process alone, the last that was started, so that `$!` is its PID."""
    first, starts = losses[0].command, [each for each in job.invocations if each.context.background is not None]
    if len({each.command.context.background for each in losses}) > 1 or first.context.background is None:
        return False
    if first.context.may_repeat or first.calls_function or first.context.calls:
        return False
    between = job.source.slice(Span(first.span.end, losses[0].by.start)) if first.span.end < losses[0].by.start else ""
    if ">(" in between or "<(" in between:
        return False  # its process replaces `$!`
    before = [each for each in starts if each.span.start < losses[0].by.start and each.context.parent is None]
    return all(each.context.background is first.context.background for each in before)


def _ends(job: Job, loss: Loss) -> bool:
    """Whether nothing that matters follows a `wait`, so that the script may end there."""
    return all(
        has_trait(each.name, "prints", "looks") or each.name in ("exit", "wait")
        for each in job.invocations
        if each.span.start > loss.by.start
    )


def _in_subshell(loss: Loss) -> bool:
    """Whether `( … )`, or a part of a pipeline, starts the command and waits, so that no variable gets out of it."""
    background = loss.command.context.background
    shell = None if background is None else background.parent
    return shell is not None and shell.kind in ("subshell", "pipeline")


def _ends_script(job: Job, loss: Loss) -> bool:
    """Whether the script ends with the pipeline that loses a status, and not in a loop."""
    last = last_that_runs(job.program.statements)
    return isinstance(last, Pipeline) and job.text.span(last.start, last.end).contains(loss.by)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -e
        for seed in 1 2; do
            python train.py --seed $seed &
        done
        «wait»
        """,
        title="all of the work is in the background",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -e
        srun -N1 ./left &
        srun -N1 ./right &
        «wait»
        """,
        title="steps, a failure of which was to end the job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 ./left &
        srun -N1 ./right &
        «wait»
        """,
        severity="info",
        title="`sacct` says how each step ended",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 ./left &
        srun -N1 ./right &
        «wait»
        python join.py left.out right.out
        """,
        severity="info",
        title="later work may miss the results",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --mail-type=END,FAIL
        srun -N1 ./left &
        srun -N1 ./right &
        «wait»
        """,
        title="mail would tell of it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 ./left & left=$!
        srun -N1 ./right & right=$!
        «wait $left $right»
        """,
        title="several ids",
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        for seed in 1 2; do
            srun -N1 python train.py --seed $seed &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do
            wait "$pid" || status=1
        done
        exit ${status:-0}
        """
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver &\nwait $!\n", title="one id"),
    Good("#!/bin/bash\n#SBATCH -N2\n./server &\nsrun ./client\nkill %1\nwait\n", title="a server that is ended"),
]
