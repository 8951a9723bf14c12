"""The advice for a lost exit status: what to write, and where, so that the job ends as its work does.

Each form keeps all that runs today, but for what starts or marks success after the work.
"""

from collections.abc import Sequence

from sbatchlint.analysis.outcome.endings import CANNOT_FAIL, cancelled_after, follows, removes_data_after
from sbatchlint.analysis.outcome.lost_statuses import (
    exit_with_kept,
    has_pipefail,
    is_lost_with_pipefail,
    is_pipefail_safe,
    keeping,
    kept_name,
    place_for_options,
    printed_statuses,
    returning,
    without_line,
    word_of,
)
from sbatchlint.analysis.outcome.state_readers import Reader
from sbatchlint.analysis.script.appending import (
    append,
    end_of,
    is_whole_substitution,
    last_line,
    where_to_append,
    where_to_append_all,
    where_to_set,
)
from sbatchlint.analysis.script.failure_counts import failure_counter
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.status_records import ExitStatuses, Loss
from sbatchlint.analysis.script.traps import exiting_trap
from sbatchlint.bash.syntax.tree import AndOr, Function, Group, Pipeline, Simple
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.job.argv import variable_name
from sbatchlint.source.edits import insert
from sbatchlint.source.numbers import at_lines, listed
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST, shortened
from sbatchlint.source.text import Span

_SHORT = 20  # code that a message quotes whole
_FEW_LINES = 3  # that a message names
_ASSIGNED = Regex(r"\s*\w+=")


def what_to_write(
    job: Job, found: ExitStatuses, loss: Loss, same: list[Loss], reader: Reader
) -> tuple[str, Fix | None]:
    """The advice, and a fix. `same`: other work of its kind; `reader`: what happens though the work fails."""
    cancel = cancelled_after(job, loss.command)
    if cancel is not None:
        return _of_cancel(job, [loss, *same], cancel)
    if loss.how == "trap":
        exits = exiting_trap(job)
        setting = exits if exits is None or exits.name == "trap" else exits.parent
        in_double_quotes = setting is not None and '"' in job.source.slice(setting.span)[: len('trap "')]
        dollar = "\\$" if in_double_quotes else "$"  # else expanded when the trap is set
        return f"begin the trap with `status={dollar}?`, and end it with `exit {dollar}status`", None
    by, word = job.source.slice(loss.by).strip(), shortened(job.source.slice(word_of(job, loss)), _SHORT)
    if loss.how == "overwritten":
        return f"write `{word} … || {by.partition('=')[0]}=$?`", None
    if loss.how == "again":
        return f"write `|| {by}` after both", None
    losses, rc = [loss, *same], kept_name(job)
    run = next(iter(runs_of(job, loss.command)), None)
    context = loss.command.context if run is None else run.context
    in_shell = context.shell.depth <= is_whole_substitution(job, loss.command) and loss.command.context.parent is None
    leaving = f"end with `{exit_with_kept(job, loss.command, rc)}`"
    last, keep = found.last, f"|| {rc}=$?"
    if last is not None and last.name == "exit" and last.span.end <= len(job.source.own.text):
        leaving = f"on line {job.line(last.span.start)} write{leaving.removeprefix('end with')}"
        value = job.source.slice(last.span).removeprefix("exit").strip().strip('"')
        if value.startswith("$"):  # a status that the script keeps itself
            leaving = f"{leaving.partition('`')[0]}`exit ${{{rc}:-{value}}}`"
    if loss.how == "ignored":
        place = "in place of each" if same else "in its place"
        shell = context.shell
        # after the `)` it is the script's own shell that ignores the failure
        if in_shell or shell.depth == 1 and shell.kind == "subshell" and loss.by.start >= shell.span.end:
            return f"write `{keep}` {place} and {leaving}", None
        inside = f"write `|| exit` {place}"
        return listed(_of_subshell(job, [each.command for each in losses], keep, leaving, inside) or [inside]), None
    if loss.how == "tested" and (told := _of_test(job, found, loss, same, leaving)) is not None:
        return told
    options = []
    if any(each.how == "pipeline" for each in losses):
        if not has_pipefail(job):
            options = ["run the script with bash", "add `set -o pipefail`"]
        else:
            in_other = loss.command.context.parent is not None  # another shell has its own options
            top = where_to_set(job, [each.command for each in losses])
            top = "at the start of the shell that runs it" if in_other else top
            options = [f"add `set -o pipefail` {top}"]
        if loss.how == "pipeline" and not is_lost_with_pipefail(job, loss):
            return listed(options), _pipefail(job, found) if has_pipefail(job) else None
    commands = [each.command for each in losses]
    if not in_shell:
        steps = _of_subshell(job, commands, keep, leaving) or _of_program(job, commands, keep, leaving)
        return listed([*options, *steps]), None
    if reader.place is not None and reader.outcome.startswith("line "):
        condition: list[str] = []
        if any(each.contains(reader.place) for each in loss.command.context.loops):
            keep = f"|| {{ {rc}=$?; continue; }}"
        elif not same and not loss.command.context.loops and _only_prints_after(job, loss.command):
            fix = append(job, "|| exit", loss.command) if not options else None
            return listed([*options, where_to_append_all(job, "|| exit", commands)]), fix
        elif _begins_line(job, reader.place):
            row, value = job.line(reader.place.start), f"${{{rc}-}}" if ":-" in leaving else f"${rc}"
            test = f'[ -z "{value}" ]'
            if all(map(_only_prints, (each for each in job.invocations if each.span > reader.place))):
                leaving = f"add `{test} || exit` above line {row}"
            else:
                condition = [f"begin line {row} with `{test} &&`"]
        printing = _printing(job, commands, rc)
        return listed([*options, where_to_append_all(job, keep, commands), *printing, *condition, leaving]), None
    plain = None if same or options else last  # what a fix may go by
    if plain is not None:
        if removes_data_after(job, loss.command, plain):
            return f"write `{word}{' …' if len(loss.command.argv) > 1 else ''} && rm …`", None
        ends_with_zero = job.source.slice(plain.span) == "exit 0" and follows(loss.command, plain)
        if ends_with_zero and (fix := without_line(job, plain)) is not None:
            return "remove that line", fix
    fixed = None if plain is None else keeping(job, loss.command, plain)
    if fixed is not None and fixed[0]:  # a `$?` that `|| rc=$?` would change
        below, read = last_line(job, loss.command), job.line(fixed[0][0].start)
        return f"add `{rc}=$?` below line {below}, write `${rc}` for `$?` on line {read} and {leaving}", fixed[1]
    actions = [*options, where_to_append_all(job, keep, commands), *_printing(job, commands, rc), leaving]
    return listed(actions), None if fixed is None else fixed[1]


def _printing(job: Job, commands: list[Invocation], rc: str) -> list[str]:
    """The advice for a `$?` that is printed after work, which `|| rc=$?` makes 0."""
    rows = printed_statuses(job, commands)
    return [f"write `${{{rc}:-$?}}` for `$?` on {at_lines(rows, 'and')}"] if rows else []


def lines_for_all(job: Job, advice: str, commands: list[Invocation]) -> str:
    """The advice with the lines of all commands to which something is appended, for a message that names them not."""
    rows = sorted({last_line(job, each) for each in commands})
    plain = all(where_to_append(job, "", each).startswith("append ") for each in commands)
    if not plain or len(rows) != len(commands) or len(rows) > _FEW_LINES:
        return advice
    for every in ("to both", "to each"):
        advice = advice.replace(f"` {every}", f"` to {at_lines(list(map(str, rows)), 'and')}", 1)
    return advice


def in_full(message: str) -> str:
    """The message with what it is that ends, where that leaves it short enough."""
    full = message.replace(" end with `exit", " end the script with `exit")
    return full if len(full) <= MOST else message


def _of_cancel(job: Job, losses: list[Loss], cancel: Invocation) -> tuple[str, Fix | None]:
    """The advice for work after which the script cancels its own job.

    The array of a chain is still cancelled after success, but for the task that does it, which then ends COMPLETED.
    """
    loss, work, commands = losses[0], losses[0].command, [each.command for each in losses]
    rc, row, array = kept_name(job), job.line(cancel.span.start), (job.request.value("array") or "").strip("\"'")
    names_array = variable_name(cancel.argv[-1]) == "SLURM_ARRAY_JOB_ID"
    alone = len(losses) == 1 and loss.how == "replaced" and not work.context.loops and not work.context.depth
    if not array and not names_array:
        if alone and follows(work, cancel) and cancel is job.invocations[-1]:
            return f"remove line {row}", without_line(job, cancel)
        kept, leaving = _keeping_all(job, losses, rc), exit_with_kept(job, work, rc)
        if loss.how == "tested" and kept_by(job, loss)[1]:
            kept, leaving = [], f"exit ${kept_by(job, loss)[1]}"
        return listed([*kept, f"on line {row} write `{leaving}`"]), None
    value = f"${{{rc}-}}" if ":-" in exit_with_kept(job, work, rc) else f"${rc}"
    test = f'[ -z "{value}" ] || exit'
    if alone and all(each is cancel or _only_prints(each) for each in _commands_after(job, work)):
        steps = [where_to_append_all(job, "|| exit", commands)]
    elif loss.how == "tested" and (kept_by_script := kept_by(job, loss)[1]):
        steps = [f"add `[ ${kept_by_script} = 0 ] || exit` above line {row}"]
    else:
        steps = [*_keeping_all(job, losses, rc), f"add `{test}` above line {row}"]
    if array.endswith("%1") and names_array:  # elsewhere it is meant to end others that run
        pending = where_to_append_all(job, "-t PENDING", [cancel])
        steps.append(pending.removeprefix("append ") if steps[-1].startswith("append ") else pending)
    return listed(steps), None


def _keeping_all(job: Job, losses: list[Loss], rc: str) -> list[str]:
    """The advice that keeps a failure of any of some work in a variable."""
    commands, keep = [each.command for each in losses], f"|| {rc}=$?"
    if losses[0].how == "ignored":
        return [f"write `{keep}` in {'place of each' if len(losses) > 1 else 'its place'}"]
    if losses[0].how == "tested":
        return [f"set `{rc}=1` in the failure branch"]
    piped = any(each.how == "pipeline" for each in losses)
    options = [f"add `set -o pipefail` {where_to_set(job, commands)}"] if piped else []
    return [*options, where_to_append_all(job, keep, commands)]


def _of_program(job: Job, commands: list[Invocation], keep: str, leaving: str) -> list[str]:
    """The advice for work in the text of one other shell, `bash -c '…'`, or in one `x=$(…)`, and for what follows."""
    steps = [where_to_append_all(job, "|| exit", commands)]
    text = job.source.own.text
    shells = {run.context.shell for each in commands for run in runs_of(job, each)[:1]}
    for shell in shells if len(shells) == 1 else ():
        start, end = shell.span.start, shell.span.end
        if shell.kind == "substitution" and shell.depth == 1 and end <= len(text):
            opening, closing = text.rfind("$(", 0, start), text.find(")", end)
            if opening >= 0 and not text[opening + 2 : start].strip() and not text[end : max(closing, end)].strip():
                start, end = opening, max(closing, end) + 1
            named = _ASSIGNED.fullmatch(text[job.source.line_of(start).start : start]) is not None
            rest = text[end : job.source.line_of(end).end].strip()
            return [*steps, _after(job, keep, end), leaving] if named and rest[:1] in ("", "#") else steps
    outer = commands[0].context.parent
    while outer is not None and outer.context.parent is not None:
        outer = outer.context.parent
    if outer is None or outer.context.shell.depth or any(each not in outer.descendants() for each in commands):
        return steps
    statement, ending = job.program.statements[-1], end_of(job, outer)
    if ending is None or job.span(statement.start, statement.end).end == ending:
        return steps
    return [*steps, where_to_append_all(job, keep, [outer]).removeprefix(steps[0].partition("`")[0]), leaving]


def _of_subshell(job: Job, commands: list[Invocation], keep: str, leaving: str, inside: str | None = None) -> list[str]:
    """The advice for work in one `( … )` or group before a pipe: what ends that shell, and what keeps its status.

    Nothing for other shells. `inside`: what ends the shell, where that is not appended to the work.
    """
    runs = [run for each in commands for run in runs_of(job, each)[:1]]
    shells = {run.context.shell for run in runs}
    shell = shells.pop() if len(shells) == 1 else None
    text = job.source.own.text
    if shell is None or shell.kind not in ("subshell", "pipeline") or shell.span.end > len(text):
        return []
    outer, within = shell.parent, []
    if shell.depth == 2 and outer is not None and outer.kind == shell.kind == "subshell":
        within, shell = [_after(job, "|| exit", shell.span.end)], outer
    elif shell.depth > 1 and not (shell.depth == 2 and outer is not None and outer.kind == "pipeline"):
        return []
    inner, end = commands, shell.span.end
    functions = {job.span(each.body.start, each.body.end): each.name for each in nodes_of(job.program, Function)}
    for group in nodes_of(job.program, Group):
        span, last = job.span(group.start, group.end), group.body[-1] if group.body else None
        of_function = span in functions and span != shell.span
        if last is not None and not of_function and span.start <= shell.span.start and shell.span.end <= span.end:
            end = max(end, span.end)
            if isinstance(last, Simple | Pipeline | AndOr) and not within:
                inner = [each for each in inner if end_of(job, each) != job.span(last.start, last.end).end]
    before = []
    for run in job.pipelines:
        if len(run.elements) > 1 and run.span.contains(shell.span):
            end = max(end, run.span.end)
            if run.pipefail is not True and commands[0] not in run.elements[-1]:
                before = [f"add `set -o pipefail` {where_to_set(job, commands)}"]
    statement, after = job.program.statements[-1], []
    if shell.span in functions:  # `run() ( … )`
        calls = [each for each in job.invocations if each.calls_function and each.name == functions[shell.span]]
        after = [where_to_append_all(job, keep, calls), leaving]
    elif job.span(statement.start, statement.end).end != end or isinstance(statement, AndOr):
        after = [_after(job, keep, end), leaving]
    if inside is not None:
        steps = [inside]
    else:
        steps = [where_to_append_all(job, "|| exit", inner)] if inner else []
    steps += [*within, *after]
    for at in range(len(steps) - 1, 0, -1):  # no verb twice
        for verb in ("append ", "add "):
            if steps[at - 1].startswith(verb):
                steps[at] = steps[at].removeprefix(verb)
    return [*before, *steps]


def _after(job: Job, written: str, end: int) -> str:
    """The advice to append something to the `)` or `}` that ends there."""
    rest, row = job.source.own.text[end : job.source.line_of(end - 1).end].strip(), job.line(end - 1)
    if rest[:1] == "#":
        return f"add `{written}` before the comment on line {row}"
    return f"add `{written}` after the `)`" if rest else f"append `{written}` to line {row}"


def _only_prints_after(job: Job, work: Invocation) -> bool:
    """Whether nothing but submitting a job and what cannot fail follows work, so that the script may end before it."""
    return all(map(_only_prints, _commands_after(job, work)))


def _commands_after(job: Job, work: Invocation) -> Sequence[Invocation]:
    """The commands after work, and what that starts and is piped to."""
    piped = {each.index for run in runs_of(job, work) for element in run.elements for each in element}
    last = max({work.index + len(list(work.descendants()))} | piped)
    return job.invocations[last + 1 :]


def _only_prints(command: Invocation) -> bool:
    return command.calls_function or command.name == "sbatch" or command.name in CANNOT_FAIL


def _begins_line(job: Job, place: Span) -> bool:
    """Whether something can be written before a command at the beginning of its line."""
    source = job.source.own
    if place.end > len(source.text):
        return False
    start = source.line_of(place.start).start
    return not source.text[start : place.start].strip() and not source.text[:start].endswith(("\\\n", "&&\n", "|\n"))


def counter_of(job: Job, loss: Loss, same: list[Loss]) -> str | None:
    """The variable of the script that counts the failures."""
    alone = not loss.command.context.shell.depth and not loss.command.context.calls and not same
    return failure_counter(job, loss.by) if alone else None


def kept_by(job: Job, loss: Loss) -> tuple[str, str]:
    """The word before the assignment of a status to a variable, as `local`, and its name; empty without one."""
    kept, equals, _ = job.source.slice(loss.by).strip().partition("=$?")
    before, _, name = kept.rpartition(" ")
    return (before, name) if equals else ("", "")


def _of_test(
    job: Job, found: ExitStatuses, loss: Loss, same: list[Loss], leaving: str
) -> tuple[str, Fix | None] | None:
    """The advice for a status that the script looks at; None where it is like that for others."""
    counter, (before, kept) = counter_of(job, loss, same), kept_by(job, loss)
    if counter is not None:
        return f"end the script with `exit $(({counter} > 0))`", None
    if kept:
        if same:
            return None
        if before not in ("", "export"):  # it is unset at the end of the function
            return f"write `{kept}=$?` without `{before}`, and end with `exit ${kept}`", None
        return f"end with `exit ${kept}`", returning(job, found, kept)
    rc = kept_name(job)
    if job.source.text[: loss.by.start].rstrip().endswith("||"):  # a message alone: `work || echo "it failed"`
        return f"write `|| {{ {rc}=$?; {job.source.slice(loss.by).split()[0]} …; }}` and {leaving}", None
    return f"set `{rc}=1` in the failure branch and {leaving}", None


def _pipefail(job: Job, found: ExitStatuses) -> Fix | None:
    """The fix that puts `set -o pipefail` before the first command, or the comment above it."""
    hidden = [each for each in found.lost if each.how == "pipeline"]
    if any(each.command.context.parent is not None for each in hidden):
        return None  # another shell has its own options
    at = place_for_options(job)
    if at is None:
        return None
    return Fix("set -o pipefail", [insert(at, "set -o pipefail\n")], safe=is_pipefail_safe(job, hidden))
