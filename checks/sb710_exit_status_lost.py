"""The job ends COMPLETED although its work failed: the script returns another command's exit status.

The state of a job follows from the exit status of its script, which is that of the last command. `srun … | tee log`
ends with the status of `tee`, and `srun …` followed by `echo done` with that of `echo`: Slurm shows COMPLETED 0:0,
`--dependency=afterok` starts the next job, and nobody notices. `set -e` alone does not help in a pipeline.

Reports the first important command whose failure does not change the script's exit status: another command follows, a
pipeline ends with a filter, or a test of the status does nothing about a failure. Commands that only print, inspect,
prepare or clean up do not count as work. If there is none, reports where the script stops before its work with a
message and status 0 (`echo "no input"; exit`), and a branch after which nothing runs: one that only prints an error
(`else echo "unknown machine"; fi`), or an `else` that is missing.

A warning where the failure is hidden: a filter at the end of a pipeline replaces the status, so that the script
itself cannot see the failure, and no later command replaces the status anyway; a loop or trap keeps the status of
something else; a loop of such pipelines ends the script; or something takes the job for a success: the mail that
`--mail-type=FAIL` names, a job that depends on it or that it submits after the work, a file that marks the work as
done, or a message that still says that it succeeded or is complete (`echo "Training completed successfully"`; `done`
and `finished at 12:00` are true after a failure, too); or later work reads the file into which the pipeline wrote a
part of the result (`vcftools … | bgzip > out.vcf.gz`). So does the mail for END and ALL to an address, where the
job's main program (a step, or its only one, in Python) is lost and the script ends with a command that does not
depend on it (`date`, `conda deactivate`, `squeue`, `mv` of the job's log, `rm` of a file that the script made), and
runs once: of each run of a loop the mail tells nothing. `BEGIN,END,FAIL` is read as ALL. No mail counts where the
last command may fail for want of what the work should have written. An `exit 0` after a message that says ERROR is a
warning, too. Otherwise only advice, and likewise where later work decides how the job ends or reads the output of
this one (`align | sort`), where the last command needs a file that the work should have written
(`./solver -o result.h5; ls result.h5`), or where the status is ignored on purpose (`|| true`), or the script
sources a file that cannot be read here and that may set `-e`.

Nothing is reported where a failure ends the script (`set -e`, `|| exit`, a trap for ERR), where the script keeps the
status and uses it, or where it checks the results and ends with a status of its own. What runs in the background is the
matter of [SB711](wait-discards-failure.md). Nor is `|| true` reported where the messages are thrown away, too
(`2>/dev/null || true`), or a comment beside it says so ("best effort"). A script that sleeps up to its time limit,
loops without an end or waits for a server does not end COMPLETED.

A script that always cancels its own job at the end (`scancel $SLURM_JOB_ID`) ends CANCELLED after success and failure
alike, so that neither mail nor sacct tells them apart, and no `--dependency=afterok` is ever met: a warning.

## Fix

The message names one of these, after how the script is built. Each leaves what runs today as it is, and makes the job
end FAILED:

- `work || rc=$?` on the line on which the command, its pipeline or its `&&` list ends, and `exit $rc` as the last line
  (or in the place of an `exit` that is there). `exit` without a status, where nothing failed, keeps that of the last
  command; under `set -u`, or where a sourced file may set it, `exit ${rc:-$?}` says the same.
- `[ … ] && { work || rc=$?; }` where something stands before it in a list, which may fail by right.
- `rc=$?` on a line below, where the next command prints `$?`.
- `work || rc=$?` for `work || true`, and `work || { rc=$?; echo …; }` for a message alone.
- `set -o pipefail` above a pipeline. Alone where its status is that of the script, or ends it (`set -e`).
- `|| exit` in a subshell or in the text of another shell, whose end the script goes on after, and `|| rc=$?` after it,
  as what is set in it is unset outside; for `run() ( … )`, after the calls.
- `|| exit` where nothing but messages and `sbatch` follow; else, where a later line submits a job or marks the work as
  done, `[ -z "$rc" ] || exit` above that line, `[ -z "$rc" ] &&` at its beginning, or `continue` in a loop.
- `exit $failed` or `exit $((failed > 0))` where the script keeps or counts the failure already; `rc=1` in the branch
  of a test that sees it; `|| status=$?` for `status=$?` in a loop; a trap that begins with `status=$?`.
- `scancel $SLURM_ARRAY_JOB_ID -t PENDING` where a task cancels its own array after its work: the others do not start,
  and the task itself ends COMPLETED; `exit $rc` in the place of a `scancel $SLURM_JOB_ID`.
- `work && rm -r data` where data is removed next, and no `exit 0` right after the work.

`--fix` writes `pipefail`: safe where no other pipeline's status matters and the filter reads to its end (a `grep` that
finds nothing, or a `head` that stops early, would fail it too), unsafe otherwise. The first form, for a single command,
is unsafe, as a failed job may trigger other things.

## References

bash(1), pipefail and PIPESTATUS; live runs on Slurm 22.05 to 26.05.
https://github.com/NVIDIA/JAX-Toolbox/pull/554, https://github.com/nextflow-io/nextflow/issues/3522
"""

from collections.abc import Iterator
from itertools import islice

from sbatchlint.analysis.expansion.sourced import may_set_errexit
from sbatchlint.analysis.outcome.endings import cancelled_after, is_unrelated, removes_data_after, server_before
from sbatchlint.analysis.outcome.loss_ranks import (
    DECEIVING,
    decides_later,
    ending_command,
    may_fail_at_end,
    rank,
    reader_of,
)
from sbatchlint.analysis.outcome.lost_statuses import (
    LEAVING,
    is_lost_with_pipefail,
    is_meant,
    lost_work,
    names_of,
    word_of,
)
from sbatchlint.analysis.outcome.partial_results import read_partial
from sbatchlint.analysis.outcome.state_readers import Reader, state_reader, without_kind
from sbatchlint.analysis.outcome.status_advice import counter_of, in_full, kept_by, lines_for_all, what_to_write
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.giving_up import contradicts_itself, dead_ends, giving_up
from sbatchlint.analysis.script.status_records import ExitStatuses, Loss
from sbatchlint.analysis.script.traps import exiting_trap, status_before
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace, shortened
from sbatchlint.job.programs import by_program
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST

CARD = Card(
    "SB710", "exit-status-lost", severity="warning", fix="sometimes", since="0.1.0", whole_script=True,
    unseen="COMPLETED with exit code 0, although a command failed; what it printed stands in the middle of the log.",
)  # fmt: skip

# The ways to lose a status in a script that goes on after a failure.
_ENDED_BY_ERREXIT = frozenset({"again", "iterations", "overwritten", "replaced", "zero"})
_SHORT = 20  # code that a message quotes whole
_MOST_PLACES = 12  # that a finding marks
# A line that is a syntax error only because of a placeholder.
_PLACEHOLDER = Regex(r"=\s*<[^<>]+>")
_BROKEN_ASSIGNMENT = Regex(r"\$\w+=")  # no command has such a name


def check(job: Job) -> Iterator[Finding]:
    broken = (job.source.slice(job.source.line_of(job.span(start, start).start)) for start, _ in job.program.errors)
    if job.phase is not Phase.BATCH or not all(map(_PLACEHOLDER.search, broken)):
        return
    found, lost = exit_statuses(job), [each for each in lost_work(job) if not is_meant(job, each)]
    lost = [each for each in lost if each.how != "replaced" or not _ends_otherwise(job, found.last, each.command)]
    lost = [each for each in lost if each.how != "ignored"] or lost  # what is done about others does not fit these
    last = found.last
    if last is not None and last.name == "wait" and len(last.argv) == 2 and is_number(text_of(last.argv[1]) or ""):
        return  # this fails in any case (SB820)
    if last is not None and _BROKEN_ASSIGNMENT.match(job.source.slice(last.span)):
        return  # and so does this
    if lost:
        yield _worst(job, found, lost)
    giving_up = list(_giving_up(job, found))
    if exiting_trap(job) is not None:  # what comes before it is set ends as it says
        first = min(each.span for each in by_program(job)["trap"])
        yield from (each for each in giving_up if each.span < first)
    else:
        yield from islice(giving_up, 1)
        yield from islice(_doing_nothing(job, found), 1)


def _ends_otherwise(job: Job, last: Invocation | None, work: Invocation) -> bool:
    """Whether the job ends neither COMPLETED nor FAILED: it waits for a server (SB821)."""
    return last is not None and server_before(job, last, work) is not None


def _worst(job: Job, found: ExitStatuses, lost: list[Loss]) -> Finding:
    """The finding on the first of the losses that matter most."""
    ranked = [(rank(job, found, each), each) for each in lost]
    best = max(level for level, _ in ranked)
    main = next(each for level, each in ranked if level == best)
    place = _place(job, main)
    others = {_place(job, each): each for level, each in reversed(ranked) if level[0] == best[0] and each is not main}
    others.pop(place, None)
    others = dict(reversed(others.items()))
    source = may_set_errexit(job, main.command) if main.how in _ENDED_BY_ERREXIT else None
    deceives = main.how in DECEIVING and not (main.how == "pipeline" and is_lost_with_pipefail(job, main))
    reader = read_partial(job, main) or (reader_of(job, found, main) if not deceives else None) if best[0] else None
    reader = reader or Reader("the job still ends COMPLETED", "the job may still end COMPLETED", None)
    cancel = cancelled_after(job, main.command)
    if cancel is not None:
        outcome = f"line {job.line(cancel.span.start)} cancels the job, so it ends CANCELLED"
        reader = Reader(outcome, outcome, cancel.span, "cancels the job itself")
    message, fix = _advice(job, found, main, [*others.values()], reader, source)
    by = main.filter.name_span if main.filter is not None else main.by
    label = _LABELS[main.how]
    replaced = main.how == "replaced" or main.how == "pipeline" and is_lost_with_pipefail(job, main)
    if replaced and main.how == "pipeline":
        label = "the pipeline returns this status"
    if by == place:  # the filter after a group
        by, label = word_of(job, main), "this status is lost"
    related = [(by, label), *((each, "this status is also lost") for each in others)]
    end, last = found.end, found.last
    if end is None and last is not None:
        end = last.place
    # where a test looks at the status, what runs after it sets another
    if cancel is not None:
        related.pop(0)  # no status matters
    elif end is not None and (replaced or main.how == "tested") and end != by:
        one_line = job.line(end.start) == job.line(by.start)  # two labels would say the same
        # what is among the others, or on the line of a reader: their label says enough
        known = {job.line(each.start) for each in others} | ({job.line(reader.place.start)} if reader.place else set())
        again = job.line(by.start) in known
        is_known = job.line(end.start) in known or end.start == place.start
        ends = [] if is_known else [(end, "the script ends with this status")]
        related[:1] = [*([] if one_line or again else related[:1]), *ends]
    if related[:1] == [(by, label)] and any(each.start == by.start for each in others):
        related.pop(0)  # named among the others
    if reader.place is not None:
        related.insert(cancel is None, (reader.place, reader.label))
    if source is not None:
        related.insert(1, (source.span, "it may set `-e`, which ends the script there"))
    severity = "warning" if best[0] and source is None else "info"
    return Finding(place, message, severity=severity, related=related[:_MOST_PLACES], fix=fix)


_LABELS = {
    "pipeline": "the pipeline returns this status",
    "replaced": "this exit status replaces it",
    "tested": "a failure has no consequence here",
    "zero": "the script ends with 0",
    "ignored": "a failure is ignored here",
    "iterations": "only the last iteration's status is kept",
    "overwritten": "the next iteration overwrites this",
    "again": "another status replaces it before anything reads it",
    "trap": "the script always ends with this status",
}


def _place(job: Job, loss: Loss) -> Span:
    """The word that names the work; for a group in a pipeline, the filter after it."""
    if loss.filter is not None and not _is_element(job, loss):
        return loss.filter.name_span  # the work is in a group
    return word_of(job, loss)


def _is_element(job: Job, loss: Loss) -> bool:
    """Whether the work is a command of the pipeline itself, and not of a group in it."""
    string = job.source.text[loss.by.start : loss.command.span.start]
    return loss.command.span.start < loss.by.start or "(" not in string and "\n" not in string.strip()


# --- giving up -----------------------------------------------------------------------------------------


def _giving_up(job: Job, found: ExitStatuses) -> Iterator[Finding]:
    """The finding on calls of `exit` with 0 after an error message."""
    if not found.work:
        return
    places: dict[Span, tuple[Invocation, Invocation]] = {}  # a function may be called more than once
    for message, command in giving_up(job):
        places.setdefault(command.span, (message, command))
    if not places:
        return
    message, first = next(iter(places.values()))
    before = job.invocations[first.index - 1]
    status = "status 0" if len(first.argv) > 1 else f"the status of `{before.name}`, which is 0"
    plain = [each for each in places if job.source.slice(each) in ("exit", "exit 0")]
    # who calls the script without its arguments reads that it wants some
    usage = any("usage" in word.lower() for word in message.words[1:])
    read = state_reader(job, first) is not None or contradicts_itself(message, first)
    yield Finding(
        first.span,
        f"the script stops here with {status}, so the job ends COMPLETED; write `exit 1`",
        "warning" if read and not usage else "info",
        related=[(message.span, "the message"), *((each, "also here") for each in [*places][1:])][:4],
        fix=Fix("exit 1", [replace(each, "exit 1") for each in plain], safe=False) if plain else None,
    )


def _doing_nothing(job: Job, found: ExitStatuses) -> Iterator[Finding]:
    """Findings on branches without any work."""
    read = bool(found.work) and state_reader(job, found.work[0]) is not None
    for end in dead_ends(found):
        if end.message:
            message = "nothing runs after this message, but the job ends COMPLETED; add `exit 1` after the message"
            severity = "warning" if read and not end.chosen else "info"
            yield Finding(end.span, message, severity, related=[(end.test, "the work runs only in other branches")])
        else:
            branch = "`*)` with `exit 1`" if end.kind == "Case" else "`else` with `exit 1`"
            message = f"if no branch matches, nothing runs and the job ends COMPLETED; add {branch}"
            yield Finding(end.span, message, "info" if end.chosen and not read else "warning")


# --- advice --------------------------------------------------------------------------------------------


def _advice(
    job: Job, found: ExitStatuses, loss: Loss, same: list[Loss], reader: Reader, source: Invocation | None
) -> tuple[str, Fix | None]:
    """The message on a loss, and its fix. `same`: others of its kind; `reader`: what happens though the work fails;
    `source`: a file that may set the options which prevent it.

    A message that is too long leaves out what its labels say: the reason, at last also where the others are.
    """
    outcome = reader.possible if may_fail_at_end(job, found, loss) else reader.outcome
    advice, fix = what_to_write(job, found, loss, same, reader)
    by_line = lines_for_all(job, advice, [each.command for each in (loss, *same)])
    works = names_of(job, loss, same)
    messages = [
        f"{happens if source is None else _unless_set(job, source, happens)}; {advice if 'line' in work else by_line}"
        for work in works
        for happens in _happens(job, found, loss, same, work, outcome)
    ]
    messages = [shown for each in messages for shown in (each, without_kind(each))]
    if all(len(each) > MOST for each in messages):
        works += ["either command" if len(same) == 1 else f"one of {len(same) + 1} commands"] if same else []
        outcome = without_kind(outcome if source is None else reader.possible).replace(" still ", " ")
        messages += [
            f"{happens if source is None else _perhaps(job, source, happens)}; {_brief(advice)}"
            for work in works
            for happens in _happens(job, found, loss, same, work, outcome)
        ]
    return in_full(next((each for each in messages if len(each) <= MOST), min(messages, key=len))), fix


_SAME_VERB = Regex(r"(add `[^`]+`(?: (?:above|after|below) [^,`]+)?,) append ")
_SEVERAL_LINES = Regex(r"(append )?(`\|\|[^`]+`) to lines [\d, and-]*\d")


def _brief(advice: str) -> str:
    """The advice with each verb once, and without the lines that the labels of the finding show."""
    advice = _SAME_VERB.sub(r"\1 ", advice).replace("run the script with bash,", "run it with bash,")
    return _SEVERAL_LINES.sub(r"\1\2 to each", advice)


def _perhaps(job: Job, source: Invocation, message: str) -> str:
    """What may happen, where the label of the sourced file says on what it depends."""
    if " may " in message:
        return message
    possible = message.replace(" is ignored", " may be ignored", 1)
    return possible if possible != message else _unless_set(job, source, message)


def _unless_set(job: Job, source: Invocation, message: str) -> str:
    """The message with the condition that the sourced file does not set the option which ends the script."""
    line = job.line(source.span.start)
    for end, condition in (
        (" fails,", f" and line {line} does not set `-e`,"),
        (" is ignored", f" unless line {line} sets `-e`"),
        (" CANCELLED", f" CANCELLED unless line {line} sets `-e`"),
    ):
        before, found, after = message.partition(end)
        if found:
            return f"{before}{end.rstrip(',')}{condition}{after}"
    return message


def _happens(job: Job, found: ExitStatuses, loss: Loss, same: list[Loss], work: str, outcome: str) -> Iterator[str]:
    """What happens though the work fails, and which command's status the script returns instead: the longest first."""
    fails, ignored = f"if {work} fails, {outcome}", f"if {work} fails, the failure is ignored"
    by = job.source.slice(loss.by).strip()
    if cancelled_after(job, loss.command) is not None:
        yield from (f"whether or not {work} fails, {outcome}", f"whether or not {work} fails, the job ends CANCELLED")
    elif loss.how == "ignored":
        hides = f"if {work} fails, `|| {by}` hides it"
        yield from (f"{hides}, and {outcome}", hides)
    elif loss.how == "overwritten":
        yield f"`{by}` in the loop keeps only the last iteration's status"
    elif loss.how == "again":
        yield f"`{by}` on line {job.line(loss.by.start)} overwrites the status of {work} before anything reads it"
    elif loss.how == "iterations":
        yield f"if {work} fails in any iteration but the last, the failure is ignored"
    elif loss.how == "trap":
        exits = exiting_trap(job)
        before = None if exits is None else status_before(job, exits)
        yield f"{fails}: the trap ends with {'0' if before is None else f'the status of `{before.name}`'}"
    elif outcome.startswith("line "):  # as if the work had succeeded, before the script ends
        yield fails
    elif loss.how == "tested":
        counter, kept = counter_of(job, loss, same), kept_by(job, loss)[1]
        if counter is not None:
            yield f"if {work} fails, `{counter}` counts it, but {outcome}"
        else:
            yield f"{fails}, although {f'`{kept}` holds its status' if kept else 'the script tests the status'}"
            yield fails
    elif loss.how == "pipeline" and not is_lost_with_pipefail(job, loss):
        name = f"`{loss.filter.name}`" if loss.filter is not None else "its last command"
        name = f"the last {name}" if name == work else name
        if loss.filter is not None and loss.filter.name_span.end <= len(job.source.own.text):
            row = job.line(loss.filter.name_span.start)
            if row != job.line(_place(job, loss).start):
                yield f"{ignored}: the pipeline returns only the status of {name} on line {row}"
        yield f"{ignored}: the pipeline returns only the status of {name}"
        yield f"if {work} fails, the pipeline still returns the status of {name}"
    else:
        last = _deciding(job, found, loss, same)
        if last is not None:
            yield f"{ignored}: only {last} sets the job's exit status"
            yield f"if {work} fails, the job still ends with the status of {last}"
            yield f"if {work} fails, {last} still sets the exit status"
            yield ignored
            return
        if found.last is not None and not same and removes_data_after(job, loss.command, found.last):
            happens = f"`rm` on line {job.line(found.last.span.start)} still runs, and {outcome.replace('still ', '')}"
            yield f"if {work} fails, {happens}"
            return
        for sets in _last_line(job, found, loss):
            yield f"{fails}: {sets}"
        yield fails


def _deciding(job: Job, found: ExitStatuses, loss: Loss, same: list[Loss]) -> str | None:
    """The later work whose failure the job reports, unlike that of the lost one."""
    later = decides_later(job, loss)
    if later is None:
        return None
    line = job.line(later.span.start)
    there = [each for each in same if job.line(each.command.span.start) == line]
    if any(each.command.context.loops for each in there):
        return f"the last iteration of line {line}"
    inner = list(later.descendants())
    if any(each.command in inner for each in same) and inner[-1].name:  # lost in the text that this one runs
        return f"`{shortened(inner[-1].name)}` on line {job.line(inner[-1].span.start)}"
    return f"`{shortened(later.name)}` on line {line}" if there and later.name else f"line {line}"


def _last_line(job: Job, found: ExitStatuses, loss: Loss) -> Iterator[str]:
    """Clauses that say which command gives the script's status instead, the most telling one first."""
    last, ending = found.last, ending_command(job, found)
    if ending is not None and ending.name == "wait" and ending.context.loops and is_unrelated(job, ending):
        row = job.line(ending.context.loops[-1].start)  # it loops over `jobs -p`, which is empty
        yield from (f"the loop on line {row} sets the exit status", f"the loop on line {row} sets the status")
        return
    if last is None or found.end is not None or last.index <= loss.command.index:
        end = found.end or loss.by
        row, what, by = job.line(end.start), "", ending_command(job, found)
        if end == found.end:
            text = job.source.slice(end)
            what = "the `if`" if text.startswith("if") else ""
            what = f"`{text}`" if len(text) <= _SHORT and "`" not in text and "\n" not in text else what
            if by is not None and by.name is not None:
                tests = by.name in ("[", "[[", "test")
                what = "the test" if tests else f"`{shortened(by.name)}`" if by.name not in LEAVING else ""
            if row == job.line(loss.command.span.start) and what and end.start >= loss.command.span.end:
                what = what.removeprefix("the ")
                yield from (f"the {what} after it sets the exit status", f"the {what} after it sets the status")
                return
        else:
            row = job.line(max(end.start, loss.by.start))
    else:
        row = job.line(last.span.start)
        if last.context.background is not None and last.context.parent is None:
            yield from (f"line {row} starts a background command, whose status is 0", f"the `&` on line {row} gives 0")
            return
        name = last.name and shortened(job.source.slice(last.span) if last.name == "exit" else last.name)
        if has_trait(last.name, "container"):
            name = " ".join(last.words[:2])
        what = "" if name is None else "the test" if name in ("[", "[[") else f"`{name}`"
    if what:
        yield from (f"{what} on line {row} sets the exit status", f"{what} on line {row} sets the status")
    yield f"line {row} sets the exit status"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2

        «srun» python train.py 2>&1 | tee train.log
        """,
        fixed={
            "srun python train.py 2>&1 | tee train.log": "set -o pipefail\nsrun python train.py 2>&1 | tee train.log",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -e
        «torchrun» --nproc_per_node=8 train.py | grep -v Warning
        tar -czf out.tgz out
        """,
        unsafe_fixed={"set -e": "set -o pipefail\nset -e"},
        title="errexit does not see into a pipeline",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «srun» --label \\
            python train.py
        tar -czf out.tgz out
        echo done
        """,
        unsafe_fixed={"python train.py": "python train.py || rc=$?", "echo done": "echo done\nexit $rc"},
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --mail-type=END,FAIL
        «srun» ./solver
        echo "finished at $(date)"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --mail-type=END,FAIL
        srun ./solver || rc=$?
        echo "finished at $(date)"
        exit $rc
        """,
        title="mail would tell of it",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nset -o pipefail\nsrun ./solver | tee log\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver | tee log\nexit ${PIPESTATUS[0]}\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./solver\ntar -czf out.tgz out\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver || exit 1\ncp result /data\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nsrun hostname | sort | tee hosts\nN=$(python count.py | tail -n1)\nsrun ./solver\n"
    ),
]
