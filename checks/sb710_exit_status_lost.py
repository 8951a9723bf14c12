"""The job ends COMPLETED although its work failed: the script returns another command's exit status.

The state of a job follows from the exit status of its script, which is that of the last command. `srun … | tee log`
ends with the status of `tee`, and `srun …` followed by `echo done` with that of `echo`: Slurm shows COMPLETED 0:0,
`--dependency=afterok` starts the next job, and nobody notices. `set -e` alone does not help in a pipeline.

Reports the first important command whose failure does not change the script's exit status: another command follows, a
pipeline ends with a filter, or a test of the status does nothing about a failure. Commands that only print, inspect,
prepare or clean up do not count as work. If there is none, reports where the script stops before its work with a
message and status 0 (`echo "no input"; exit`), and a branch after which nothing runs: one that only prints an error
(`else echo "unknown machine"; fi`), or an `else` that is missing.

A warning where the failure is hidden: a filter at the end of a pipeline replaces the status, so that the script itself
cannot see the failure, and no later command replaces the status anyway; a loop or trap keeps the status of something
else; a loop of such pipelines ends the script; or something takes the job for a success: the mail that
`--mail-type=FAIL` names, a job that depends on it or that it submits after the work, a file that marks the work as
done, or a message that still says that it succeeded or is complete (`echo "Training completed successfully"`; `done`
and `finished at 12:00` are true after a failure, too); or later work reads the file into which the pipeline wrote a
part of the result (`vcftools … | bgzip > out.vcf.gz`). So does the mail for END and ALL to an address, where the job's
main program (a step, or its only one, in Python) is lost and the script ends with a command that cannot fail (`date`,
`conda deactivate`). An `exit 0` after a message that says ERROR is one, too. Otherwise only advice, and likewise where
later work decides how the job ends or reads the output of this one (`align | sort`), where the last command needs a
file that the work should have written (`./solver -o result.h5; ls result.h5`), or where the status is ignored on
purpose (`|| true`), or the script sources a file that cannot be read here and that may set `-e`.

Nothing is reported where a failure ends the script (`set -e`, `|| exit`, a trap for ERR), where the script keeps the
status and uses it, or where it checks the results and ends with a status of its own. What runs in the background is the
matter of [SB711](wait-discards-failure.md). Nor is `|| true` reported where the messages are thrown away, too
(`2>/dev/null || true`), or a comment beside it says so ("best effort"). A script that sleeps up to its time limit, or
loops without an end, has no exit status.

## Fix

For a pipeline: `set -o pipefail` before the first command. Safe where no other pipeline's status matters and the filter
reads to its end (a `grep` that finds nothing, or a `head` that stops early, would fail it too), unsafe otherwise. None
where that alone changes nothing. For the end of the script: saves the status and exits with it. Unsafe, as a failed job
may trigger other things. None where the next command removes data (`rm -r`): write `work && rm …`, which keeps the data
of a failed run.

## References

bash(1), pipefail and PIPESTATUS; live runs on Slurm 22.05 to 26.05.
https://github.com/NVIDIA/JAX-Toolbox/pull/554, https://github.com/nextflow-io/nextflow/issues/3522
"""

from collections.abc import Callable, Iterator
from itertools import islice

from sbatchlint.analysis.expansion.sourced import may_set_errexit
from sbatchlint.analysis.outcome.endings import (
    cancels_itself,
    cleans_up_after,
    follows,
    is_idle_wait,
    may_fail_with,
    needed_producers,
    removes_data_after,
    server_before,
)
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
    MAY_FAIL,
    STRANGE,
    and_others,
    exit_with_kept,
    has_pipefail,
    is_lost_with_pipefail,
    is_meant,
    is_pipefail_safe,
    keeping,
    lost_work,
    name_of_status,
    place_for_options,
    returning,
    without_line,
    word_of,
)
from sbatchlint.analysis.outcome.partial_results import read_partial
from sbatchlint.analysis.outcome.state_readers import (
    Reader,
    state_reader,
)
from sbatchlint.analysis.script.appending import append, last_line, where_to_append, where_to_set
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.failure_counts import failure_counter
from sbatchlint.analysis.script.giving_up import contradicts_itself, dead_ends, giving_up
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.status_records import ExitStatuses, Loss
from sbatchlint.analysis.script.traps import exiting_trap, status_before
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, replace, shortened
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
_BRINGING = frozenset({"cp", "mv", "rsync", "scp"})
_MOST_PLACES = 12  # that a finding marks
_FEW = 9  # commands to which something can be added by hand
_PROGRAM_WORDS = 3  # of a command, that tell which program it is: `python -m train`
# A line that is a syntax error only because of a placeholder.
_PLACEHOLDER = Regex(r"=\s*<[^<>]+>")


def check(job: Job) -> Iterator[Finding]:
    broken = (job.source.slice(job.source.line_of(job.span(start, start).start)) for start, _ in job.program.errors)
    if job.phase is not Phase.BATCH or not all(map(_PLACEHOLDER.search, broken)):
        return
    found, lost = exit_statuses(job), [each for each in lost_work(job) if not is_meant(job, each)]
    lost = [each for each in lost if each.how != "ignored"] or lost  # what is done about others does not fit these
    last = found.last
    if last is not None and last.name == "wait" and len(last.argv) == 2 and is_number(text_of(last.argv[1]) or ""):
        return  # this fails in any case (SB820)
    if lost:
        yield _worst(job, found, lost)
    giving_up = list(_giving_up(job, found))
    if exiting_trap(job) is not None:  # what comes before it is set ends as it says
        first = min(each.span for each in by_program(job)["trap"])
        yield from (each for each in giving_up if each.span < first)
    else:
        yield from islice(giving_up, 1)
        yield from islice(_doing_nothing(job, found), 1)


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
    message, fix = _advice(job, found, main, [*others.values()], reader, source)
    by = main.filter.name_span if main.filter is not None else main.by
    label = _LABELS[main.how]
    if main.how == "replaced" and found.last is not None and cancels_itself(found.last):
        place, by, label = found.last.name_span, place, "this status is lost"
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
    if end is not None and (replaced or main.how == "tested") and end != by:
        one_line = job.line(end.start) == job.line(by.start)  # two labels would say the same
        # which is among the others: their label says enough
        again = any(job.line(each.start) == job.line(by.start) for each in others)
        related[:1] = [*([] if one_line or again else related[:1]), (end, "the script ends with this status")]
    if reader.place is not None:
        related.insert(1, (reader.place, reader.label))
    if source is not None:
        related.insert(1, (source.span, "it may set options of this shell"))
    severity = "warning" if best[0] and source is None else "info"
    return Finding(place, message, severity=severity, related=related[:_MOST_PLACES], fix=fix)


_LABELS = {
    "pipeline": "this exit status counts",
    "replaced": "this exit status replaces it",
    "tested": "a failure has no consequence here",
    "zero": "the script ends with 0",
    "ignored": "a failure is ignored here",
    "iterations": "only the last iteration's status counts",
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
    told = (_told(job, found, loss, same, reader, brief) for brief in range(4))
    shortest = None
    for message, fix in told:
        if source is not None:
            message = _unless_set(job, source, message)
        if len(message) <= MOST:
            return message, fix
        if shortest is None or len(message) < len(shortest[0]):
            shortest = message, fix
    assert shortest is not None
    return shortest


def _unless_set(job: Job, source: Invocation, message: str) -> str:
    """The message with the condition that the sourced file does not set the option which ends the script."""
    line = job.line(source.span.start)
    for end, condition in (
        (" fails,", f" and line {line} does not set `-e`,"),
        (" is ignored", f" unless line {line} sets `-e`"),
    ):
        before, found, after = message.partition(end)
        if found:
            return f"{before}{end.rstrip(',')}{condition}{after}"
    return message


def _told(
    job: Job, found: ExitStatuses, loss: Loss, same: list[Loss], reader: Reader, brief: int
) -> tuple[str, Fix | None]:
    """The message and the fix; `brief`: how much is left out, from 0 to 3."""
    others = len(same)
    outcome = reader.possible if may_fail_at_end(job, found, loss) else reader.outcome
    word = shortened(job.source.slice(word_of(job, loss)), 20)
    strange = STRANGE.search(word) is not None
    name = f"the command on line {job.line(loss.command.span.start)}" if strange else f"`{word}`"
    many = and_others(job, loss, same)
    reason = min(brief, 2)
    if brief > 2 and others:
        many = " or another command"
    many_places = "to each that matters" if others > _FEW else "to each" if others > 1 else "to both" if others else ""

    def after(written: str) -> str:
        return f"append `{written}` {many_places}" if others else where_to_append(job, written, loss.command)

    fails = f"if {name}{many} fails, {outcome}"
    top = where_to_set(job, [each.command for each in (loss, *same)])
    leave = [after("|| exit") if found.risky or _expects_failures(job) else f"add `set -e` {top}"]
    run = next(iter(runs_of(job, loss.command)), None)
    in_shell = not (loss.command if run is None else run).context.shell.depth  # where `rc=1` counts
    # an iteration needs no other, but what follows may take each for done
    goes_on = bool(loss.command.context.loops) and in_shell and "line " not in outcome
    # what a failed run has written is still put where its owner looks for it
    after_it = job.invocations[loss.command.index + 1 :] if not others and loss.how == "replaced" else []
    brings_back = "line " not in outcome and any(each.name in _BRINGING for each in after_it)
    sweep = bool(loss.command.context.loops) or others and _are_independent(found)
    if sweep and reader.place is not None and "line " in outcome and in_shell:
        leave = _after_sweep(job, loss, reader.place, after)
    elif others and _are_independent(found) or cleans_up_after(job, loss.command) or goes_on or brings_back:
        leave = [after("|| rc=1"), _exit_kept(job, found, loss)]
        if others > _FEW and has_pipefail(job) and not loss.command.context.depth:
            leave[0] = f"add `trap 'rc=1' ERR` {top}"
    if loss.how != "pipeline" and any(each.how == "pipeline" for each in same) and has_pipefail(job):
        # in a pipeline what is appended would see the status of its last command
        only = leave[0].startswith("add `set -e`")
        leave = [f"add `set -eo pipefail` {top}"] if only else _with_pipefail(leave, top)
    if loss.how == "pipeline":
        return _of_pipeline(job, found, loss, same, f"{name}{many}", leave, top, reader, brief)
    advice = _joined(leave)
    if loss.how == "ignored":
        ignoring = f"`|| {job.source.slice(loss.by).strip()}`"
        so = "" if brief or outcome.startswith("line ") else f", and {outcome}"
        instead = "in place of each" if others else "in its place"
        kept = (
            f"write `|| rc=1` {instead} and {_exit_kept(job, found, loss)}"
            if in_shell
            else f"write `|| exit` {instead}"
        )
        return f"{ignoring} hides a failure of {name}{many}{so}; {kept}", None
    if loss.how == "overwritten":
        text = job.source.slice(loss.by).strip()
        happens = f"`{text}` in the loop keeps only the last iteration's status"
        return f"{happens}; write `{word} … || {text.partition('=')[0]}=$?`", None
    if loss.how == "again":
        text = f"`{job.source.slice(loss.by).strip()}`"
        happens = f"{text} on line {job.line(loss.by.start)} overwrites the status of {name} before anything reads it"
        return f"{happens}; write `|| {text[1:]} after both", None
    if loss.how == "iterations":
        return f"a failure of {name}{many} in any but the last iteration is ignored; {advice}", None
    if loss.how == "trap":
        exits = exiting_trap(job)
        before = None if exits is None else status_before(job, exits)
        ends = "the trap ends with 0"
        if before is not None:
            ends = f"the trap ends with the status of `{before.name}`"
        setting = exits if exits is None or exits.name == "trap" else exits.parent
        in_double_quotes = setting is not None and '"' in job.source.slice(setting.span)[: len('trap "')]
        dollar = "\\$" if in_double_quotes else "$"  # else expanded when the trap is set
        advice = f"begin the trap with `status={dollar}?`, and end it with `exit {dollar}status`"
        return f"{fails}: {ends}; {advice}", None
    if loss.how == "tested":
        counter = failure_counter(job, loss.by) if in_shell and not loss.command.context.calls else None
        if counter is not None and not others:
            leaving = f"end the script with `exit $(({counter} > 0))`"
            return f"a failure of {name} is counted in `{counter}`, but {outcome}; {leaving}", None
        kept, equals, _ = job.source.slice(loss.by).strip().partition("=$?")
        if equals:
            local, _, kept = kept.rpartition(" ")  # of a function
            if local not in ("", "export") and not others:
                advice = f"write `{kept}=$?` without `{local}`, and end with `exit ${kept}`"
                return f"{fails}, although `{kept}` holds its status; {advice}", None  # it is unset at the end
            advice = advice if others else f"end with `exit ${kept}`"
            return f"{fails}, although `{kept}` holds its status; {advice}", returning(job, found, kept)
        if job.source.text[: loss.by.start].rstrip().endswith("||"):  # a message alone: `work || echo "it failed"`
            said = f"{job.source.slice(loss.by).split()[0]} …"
            fails_so = fails if brief else f"{fails}, as `{said}` after `||` succeeds"
            if loss.command.context.loops:
                return (
                    f"{fails_so}; write `|| {{ {said}; rc=1; }}` and end with `{exit_with_kept(job, loss.command)}`",
                    None,
                )
            return f"{fails_so}; write `|| {{ {said}; exit 1; }}`", None
        return f"{fails}, although the script tests the status; put `exit 1` in the failure branch", None
    if loss.command.context.parent is not None:
        why = "" if brief else ": a later command in the same shell sets the exit status"
        return f"{fails}{why}; {after('|| exit')}", None
    if cancels_itself(found.last):
        return f"if {name}{many} fails, the job still cancels itself, so it does not end as FAILED; {advice}", None
    later = decides_later(job, loss)
    if later is not None:
        line = job.line(later.span.start)
        if any(each.command.context.loops and job.line(each.command.span.start) == line for each in same):
            why = (f": only the last iteration of line {line} counts", ": only the last iteration counts", "")[reason]
            return f"a failure of {name}{many} is ignored{why}; {advice}", None
        begin = f"a failure of {name}{many} is ignored: only line {line}"
        # a pipeline there may have lost a status, too
        if later.name is not None and any(job.line(each.command.span.start) == line for each in same):
            return f"{begin.removesuffix(f'line {line}')}the status of `{later.name}` counts; {advice}", None
        inner = list(later.descendants())
        if any(each.command in inner for each in same) and inner[-1].name:  # lost in the text that this one runs
            where = f"`{shortened(inner[-1].name)}` on line {job.line(inner[-1].span.start)}"
            begin = begin.replace(f"line {line}", where)
        if reason > 1:
            begin = begin.partition(":")[0]
        decides = ("sets the job's exit status", "counts", "")[reason]
        return f"{begin} {decides}".rstrip() + f"; {advice}", None
    last = found.last if not others and not found.decisive else None
    if last is not None and removes_data_after(loss.command, last):
        rest, so = " …" if len(loss.command.argv) > 1 else "", outcome.replace("still ", "")
        begin = f"if {name} fails, `rm` on line {job.line(last.span.start)} still runs, and {so}"
        return f"{begin}; write `{word}{rest} && rm …`", None
    if last is not None and loss.how == "replaced" and is_idle_wait(job, last, loss.command):
        sets = f"`wait` on line {job.line(last.span.start)} sets the exit status"
        return f"{fails}: {sets}; remove it (nothing runs in the background)", without_line(job, last)
    server = server_before(job, last, loss.command) if last is not None and loss.how == "replaced" else None
    if server is not None and last is not None:
        waits = f"`wait` on line {job.line(last.span.start)} waits for `{server}`, maybe up to the time limit"
        return f"if {name}{many} fails, {waits}; {after('|| exit')}", append(job, "|| exit", loss.command)
    goes_on = outcome.startswith("line ")  # as if the work had succeeded, before the script ends
    fix = None if last is None else keeping(job, loss.command, last)
    if fix is not None and last is not None:
        end, ends_with_zero = job.line(last.span.start), job.source.slice(last.span) == "exit 0"
        without = without_line(job, last) if ends_with_zero and follows(loss.command, last) and not goes_on else None
        if without is not None:
            return f"{fails} because of `exit 0` on line {end}; remove that line", without
        if goes_on or _may_fail_too(job, found, loss, last):
            fix, advice = append(job, "|| exit", loss.command), after("|| exit")
        else:
            kept = name_of_status(job)
            where = f"on line {end} write" if ends_with_zero else "end with"
            advice = f"add `{kept}=$?` below line {last_line(job, loss.command)} and {where} `exit ${kept}`"
    begins = [fails]
    if found.last is not None and id(loss.command) in needed_producers(job):
        begins.insert(0, f"if {name}{many} fails after writing what `{found.last.name}` needs, {reader.outcome}")
    reasons = [""] if goes_on or brief else [f": {reason}" for reason in _last_line(job, found, loss)]
    messages = [f"{begin}{reason}; {advice}" for begin in begins for reason in reasons]
    return next((each for each in messages if len(each) <= MOST), messages[-1]), fix


def _exit_kept(job: Job, found: ExitStatuses, loss: Loss) -> str:
    """How the script ends with the status that is kept: in the place of an `exit 0` at its end, else below all."""
    kept, last = exit_with_kept(job, loss.command), found.last
    if last is None or last.span.end > len(job.source.own.text) or job.source.slice(last.span) != "exit 0":
        return f"end with `{kept}`"
    return f"on line {job.line(last.span.start)} write `{kept}`"


def _joined(actions: list[str]) -> str:
    """What to do, one thing after the other: `add …, append … and end with …`."""
    *before, last = actions
    return f"{', '.join(before)} and {last}" if before else last


def _after_sweep(job: Job, loss: Loss, place: Span, after: Callable[[str], str]) -> list[str]:
    """The advice for runs that need no other, where a line after them takes all of them for done."""
    if any(each.contains(place) for each in loss.command.context.loops):
        return [after("|| { rc=1; continue; }"), f"end with `{exit_with_kept(job, loss.command)}`"]
    kept = "${rc-}" if ":-" in exit_with_kept(job, loss.command) else "$rc"  # under `set -u`
    check = f'[ -z "{kept}" ] || exit'
    return [after("|| rc=1"), f"add `{check}` above line {job.line(place.start)}"]


def _may_fail_too(job: Job, found: ExitStatuses, loss: Loss, last: Invocation) -> bool:
    """Whether the last command may fail, and the job with it, which an `exit $status` of the work would hide: it moves
    the results, or is work itself."""
    if has_trait(last.name, "places") and id(loss.command) in needed_producers(job):
        return True
    brings = last.name in _BRINGING or may_fail_with(last)
    return found.end is None and not brings and weight(job, last) > Weight.NONE


def _expects_failures(job: Job) -> bool:
    """Whether a comment says that a command may fail, which `set -e` would not let it."""
    return MAY_FAIL.search(job.source.own.text) is not None


def _are_independent(found: ExitStatuses) -> bool:
    """Whether the script runs the same program again and again, so that one failure should not end the others."""
    # what is fetched from somewhere is one thing after the other, too
    fetched = [has_trait(each.command.name, "connects") for each in found.lost]
    programs = [
        tuple(each.command.words[: 1 if connects else 2 if "." in "".join(each.command.words[1:2]) else _PROGRAM_WORDS])
        for each, connects in zip(found.lost, fetched, strict=True)
    ]
    return len(programs) > 2 * len(set(programs))


def _last_line(job: Job, found: ExitStatuses, loss: Loss) -> list[str]:
    """Clauses that say which command gives the script's status instead, the most telling one first."""
    last = found.last
    if last is None or found.end is not None or last.index <= loss.command.index:
        end = found.end or loss.by
        by = ending_command(job, found)
        if end == found.end:
            text = job.source.slice(end)
            begin = "the `if` on " if text.startswith("if") else ""
            begin = f"`{text}` on " if len(text) <= _SHORT and "`" not in text and "\n" not in text else begin
            if by is not None and by.name is not None:
                tests = by.name in ("[", "[[", "test")
                begin = "the test on " if tests else f"`{shortened(by.name)}` on " if by.name not in LEAVING else ""
            row = job.line(end.start)
            if row == job.line(loss.command.span.start) and begin and end.start >= loss.command.span.end:
                setter = begin.removesuffix(" on ").removeprefix("the ")
                return [f"the {setter} after it sets the exit status", f"only the {setter} after it counts"]
            return [f"{each}line {row} sets the exit status" for each in dict.fromkeys((begin, ""))]
        return [f"line {job.line(max(end.start, loss.by.start))} sets the exit status"]
    line = job.line(last.span.start)
    if last.context.background is not None and last.context.parent is None:
        return [f"line {line} starts a background command, whose status is 0", f"the `&` of line {line} gives 0"]
    name = last.name and shortened(job.source.slice(last.span) if last.name == "exit" else last.name)
    if has_trait(last.name, "container"):
        name = " ".join(last.words[:2])
    what = [] if name is None else ["the test on "] if name in ("[", "[[") else [f"`{name}` on "]
    return [f"{each}line {line} sets the exit status" for each in (*what, "")]


def _of_pipeline(
    job: Job,
    found: ExitStatuses,
    loss: Loss,
    same: list[Loss],
    work: str,
    leave: list[str],
    top: str,
    reader: Reader,
    brief: int,
) -> tuple[str, Fix | None]:
    """The message and fix for a status lost in a pipeline; pipefail alone helps only where the status is used."""
    filter_name = loss.filter.name if loss.filter is not None else "its last command"
    lost_anyway = is_lost_with_pipefail(job, loss)
    begin = f"a failure of {work} is ignored: only the status of `{filter_name}` counts"
    if not has_pipefail(job):
        return f"{begin}; run the script with bash and `set -{'e' * lost_anyway}o pipefail`", None
    first = job.line(loss.by.start)
    above = "above" if first == job.line(_place(job, loss).start) else f"above line {first}"
    if loss.command.context.parent is not None:  # another shell has its own options
        above = "in the shell of the pipeline"
    if not lost_anyway:
        return f"{begin}; add `set -o pipefail` {above}", _pipefail(job, found)
    reasons = [f": the pipeline returns the status of `{filter_name}`", f": only `{filter_name}` counts", ""]
    if any(each.how == "replaced" for each in same):  # which no pipeline loses
        sets = _last_line(job, found, same[-1])[-1]
        short = f"only {sets}" if sets.startswith("line ") and "&" not in sets else sets
        reasons[:2] = [f": {sets}", f": {short.replace(' sets the exit status', ' counts')}"]
    begin = f"a failure of {work} is ignored{reasons[min(brief, 2)]}"
    if reader.outcome.startswith("line "):
        begin = f"if {work} fails, {reader.outcome}"
    if not found.risky and not _expects_failures(job) and len(leave) == 1:
        return f"{begin}; add `set -eo pipefail` {top}", None
    return f"{begin}; {_joined(_with_pipefail(leave, top))}", None


def _with_pipefail(leave: list[str], top: str) -> list[str]:
    """What to do, and `set -o pipefail` before it."""
    if leave[0].startswith("add `trap"):  # on the same line
        return [leave[0].replace("add `", "add `set -o pipefail; ", 1), *leave[1:]]
    return [f"add `set -o pipefail` {top}", *leave]


def _pipefail(job: Job, found: ExitStatuses) -> Fix | None:
    """The fix that puts `set -o pipefail` before the first command, or the comment above it."""
    hidden = [each for each in found.lost if each.how == "pipeline"]
    if any(each.command.context.parent is not None for each in hidden):
        return None  # another shell has its own options
    at = place_for_options(job)
    if at is None:
        return None
    return Fix("set -o pipefail", [insert(at, "set -o pipefail\n")], safe=is_pipefail_safe(job, hidden))


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
        unsafe_fixed={
            "tar -czf out.tgz out": "status=$?\ntar -czf out.tgz out",
            "echo done": 'echo done\nexit "$status"',
        },
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
        srun ./solver
        status=$?
        echo "finished at $(date)"
        exit "$status"
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
