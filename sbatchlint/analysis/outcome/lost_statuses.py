"""The work whose exit status is lost, how a message names it, and the fixes: `pipefail`, or a status that is kept.

With `pipefail`, the status of a pipeline is that of the last of its commands that failed (bash(1), "Pipelines").
"""

import re
from collections.abc import Sequence

from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.outcome.endings import endless_command
from sbatchlint.analysis.script.exit_status import exit_statuses, exit_statuses_with_pipefail
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.status_records import ExitStatuses, Loss
from sbatchlint.analysis.script.status_uses import STATUS
from sbatchlint.analysis.script.traps import exit_of_error_trap, exiting_trap, status_before
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import Heredoc, Parameter, Pipeline, Simple, While, Word
from sbatchlint.bash.syntax.walk import loops_of, nodes_of
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.job.commands.wrappers import WRAPPERS
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.edits import Edit, insert, remove, replace
from sbatchlint.source.numbers import at_lines, has_between
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import shortened
from sbatchlint.source.text import Span

# Wrappers that start many commands, and return a status of their own.
_REPEATERS = programs_with("repeats")
_SHELLS = frozenset({"bash", "sh"})
LEAVING = ("break", "continue", "exit", "return")
_VARIABLE = Regex(r"\$\{?(\w+)")
_FEW_LINES = 3  # that a message names
_SHORT = 16  # a second name that it has room for
_END_OF_WORD = Regex(r"[\s;&|)]|\Z")
STRANGE = Regex(r"\A\$\Z|\A\$\(…\)\Z|\A[^\"]*\"[^\"]*\Z|[^!-~… ]")  # a word that names no program to a reader
# Comments that say so of failures.
MAY_FAIL = Regex(
    r"(?i)#[^\n]{0,80}\b(?:(?:may|might|can|could|is allowed to|expected to) fail\b"
    r"|ignor\w{1,3} (?:\w+ )?(?:errors?|failures?)|even if [^\n]{0,40}\bfail"
    r"|(?:continue|keep going|go on|carry on|proceed)\b[^\n]{0,40}\b(?:fail|error))"
)
_OPTIONAL = Regex(
    r"(?i)#[^\n]{0,80}\b(?:best[- ]effort|optional|non-?(?:fatal|critical)|not (?:fatal|critical|required))"
)
_OR_TRUE = Regex(r"\s*\|\|\s*(?:true|:)(?=[\s;)]|\Z)")
_DISCARDED = Regex(r"(?:2|&)>>?\s*(?:/dev/null|&-)")


def word_of(job: Job, loss: Loss) -> Span:
    """The word that names the work: srun, or the program that wrappers such as `nice` finally start."""
    command = loss.command
    inner = () if command.name in _REPEATERS else command.descendants()
    named = [each for each in inner if each.name == "srun"] or [_unwrapped(command)]
    for invocation in (named[0], command):
        span = invocation.name_span
        written = job.source.slice(span) if span.end <= len(job.source.own.text) else ""
        inside = command.span.start <= span.start < command.span.end
        if written[-1:] == "/" or job.source.text[span.end : span.end + 1] == "$":  # `bin/$NAME`, `bin/run_$KIND`
            end = _END_OF_WORD.search(job.source.text, span.end)
            span = Span(span.start, end.start() if end is not None else span.end)
        if written and (inside or command.context.calls and written == text_of(invocation.argv[0])):
            return span
    line = job.source.line_of(command.span.start)
    if command.span.end <= line.end:
        return command.span
    shown = job.source.text[command.span.start : line.end].rstrip(" \t\\")
    return Span(command.span.start, command.span.start + len(shown))


def _unwrapped(command: Invocation) -> Invocation:
    while command.name in WRAPPERS - _REPEATERS and len(command.children) == 1 and command.children[0].argv:
        if (command.children[0].name or "").startswith("-"):
            break  # an option of what an image runs by itself
        if command.children[0].name in _SHELLS and "-c" in command.children[0].words[1:2]:
            break  # the message would seem to speak of the script's own shell
        command = command.children[0]
    return command


def names_of(job: Job, loss: Loss, same: list[Loss]) -> list[str]:
    """How a message names the work, the longest first: one by its word, few by their lines, many by their number."""
    words = [shortened(_shown(job, each), 20) for each in (loss, *same)]
    rows = [job.line(word_of(job, each).start) for each in (loss, *same)]
    word = f"the command on line {rows[0]}" if STRANGE.search(words[0]) else f"`{words[0]}`"
    if not same:
        return [word]
    shown, one_line = _ranges(sorted({*rows[1:]})), len({*rows}) < len(rows)
    if {*words} == {words[0]} and word[0] == "`":
        told = _ranges(sorted({*rows}))
        if len(rows) <= _FEW_LINES and not one_line:
            named = f"{word} on {at_lines(told, 'or')}"
        elif len({*rows}) == 1:
            named = f"one of the {len(rows)} runs of {word}"
        else:
            runs = f"one of the {len(rows)} runs of {word}"
            return [f"{runs} (lines {min(rows)}-{max(rows)})", runs]
    elif len(shown) > _FEW_LINES or one_line:
        first, last = min(rows[1:]), max(rows[1:])
        where = f"lines {first}-{last}" if last > first else f"line {first}"
        named = f"{word} or {_one_of(len(same))} ({where})"
    elif len(words) == 2 and len(words[1]) <= _SHORT and STRANGE.search(words[1]) is None:
        named = f"{word} or `{words[1]}` (line {rows[1]})"
    else:
        named = f"{word} or {'the' if len(same) == 1 else 'a'} command on {at_lines(shown, 'or')}"
    return [named, f"{word} or {_one_of(len(same))}", f"{word} or another command"]


def _shown(job: Job, loss: Loss) -> str:
    """The word that names the work in a message; the script for a shell that runs one: `bash train.sh`."""
    word, command = job.source.slice(word_of(job, loss)), loss.command
    script = shown_text(command.argv[1]) if word in _SHELLS and word == command.name and len(command.argv) > 1 else ""
    return script if script.isascii() and script[:1] not in ("", "-") else word


def _one_of(number: int) -> str:
    return "another command" if number == 1 else f"one of {number} other commands"


def _ranges(rows: Sequence[int]) -> list[str]:
    """Sorted lines, three or more in a row as a range: `3`, `7-9`."""
    found: list[list[int]] = []
    for row in rows:
        if found and found[-1][-1] == row - 1:
            found[-1].append(row)
        else:
            found.append([row])
    return [
        shown
        for each in found
        for shown in ([f"{each[0]}-{each[-1]}"] if len(each) > 2 else [str(row) for row in each])
    ]  # fmt: skip


@once
def lost_work(job: Job) -> list[Loss]:
    """The work whose failure does not make the job fail, as far as the script gets; not what runs in the background."""
    found, trap, endless = exit_statuses(job), exiting_trap(job), endless_command(job)
    return [
        each
        for each in (found.lost if trap is None else _lost_by_trap(job, found, trap))
        if each.command.context.background is None
        and not _is_secondary(job, found, each)
        and not _is_repeated(job, found, each)
        and not (each.filter is not None and each.filter.name in LEAVING)  # `||` was meant (SB736)
        and not any(shown_text(value).startswith("[") for _, value in each.command.variables)  # `x=[path to data]`
        and (endless is None or each.command.index > endless.index)
    ]


def _lost_by_trap(job: Job, found: ExitStatuses, trap: Invocation) -> list[Loss]:
    """The work whose failure a trap hides: one for ERR that ends with 0, or one for EXIT, by its own `exit`."""
    decisive = [each for each in found.decisive if not each.context.depth]
    if trap.name == "trap":
        exits = exit_of_error_trap(job, trap)
        after = [each for each in decisive if each.index > trap.index]
        return [] if exits is None else [Loss(each, Weight.PROGRAM, "trap", exits.span, False) for each in after]
    if job.source.slice(trap.span) != "exit 0" and status_before(job, trap) is None:
        return []
    return [*found.lost, *(Loss(each, Weight.PROGRAM, "trap", trap.span, False) for each in decisive)]


def _is_repeated(job: Job, found: ExitStatuses, loss: Loss) -> bool:
    """Whether a `while` loop repeats work that the script does once more after it: the last time decides."""
    text = job.source.slice(loss.command.span)
    loops = (
        [job.span(each.start, each.end) for each in nodes_of(job.program, While)] if loss.command.context.loops else []
    )
    around = [each for each in loops if each.contains(loss.command.span)]
    return any(
        not each.context.depth and each.span.start >= loop.end and job.source.slice(each.span) == text
        for loop in around
        for each in found.decisive
    )


def _is_secondary(job: Job, found: ExitStatuses, loss: Loss) -> bool:
    """Whether the script ends with the kept status of weightier or equal work, beside or after which this runs."""
    if found.last is None or found.last.name != "exit":
        return False
    names = _VARIABLE.findall(job.source.slice(found.last.span))
    kept = [each for name in names for each in found.kept.get(name, ())]
    return any(each.index < loss.command.index and weight(job, each) >= loss.weight for each in kept)


def name_of_status(job: Job) -> str:
    """The name for a variable that keeps a status; zsh has a `status` that nobody can set."""
    return "rc" if job.interpreter_line[0] == "zsh" else "status"


@once
def kept_name(job: Job) -> str:
    """A name for a variable that keeps a failure up to the end of the script, which does not use it otherwise."""
    text = job.source.text
    return next((each for each in ("rc", "failed", "work_rc") if not re.search(rf"\b{each}\b", text)), "job_rc")


def keeping(job: Job, work: Invocation, last: Invocation) -> tuple[list[Span], Fix] | None:
    """The fix that keeps the status of work which has lines of its own, and ends the script with it.

    Also each `$?` of the next command: for those the status is kept on a line after the work.
    """
    source, name = job.source.own, kept_name(job)
    run = next(iter(runs_of(job, work)), None)
    if run is None or run.span.end > len(source.text) or not _is_alone(job, run, work, last):
        return None
    reads = _read_next(job, run)
    if reads is None:
        return None
    if reads:
        start, line = source.line_of(run.span.start).start, source.line_of(run.span.end)
        edits: list[Edit] = [insert(line.end, f"\n{source.text[start : run.span.start]}{name}=$?")]
        edits += [replace(each, f"${name}") for each in reads]
    else:
        edits = [insert(run.span.end, f" || {name}=$?")]
    leaving = exit_with_kept(job, work, name)
    if last.name == "exit":
        if source.slice(last.span) != "exit 0":
            return None
        edits.append(replace(last.span, leaving))
    else:
        edits.append(_at_end(job, leaving))
    return reads, Fix("keep the status and exit with it", edits)


def returning(job: Job, found: ExitStatuses, name: str) -> Fix | None:
    """The fix that ends the script with the status that a variable keeps of one command, where nothing else ends it."""
    last = found.last
    one = len({each.index for each in found.kept.get(name, ())}) == 1
    if not one or last is None or last.name == "exit" or last.context.depth or last.span.end > len(job.source.own.text):
        return None
    return Fix("exit with the kept status", [_at_end(job, f'exit "${name}"')])


def without_line(job: Job, command: Invocation) -> Fix | None:
    """The fix that removes the line of a command, if that is all the line has."""
    source = job.source.own
    row, written = source.line_of(command.span.start), source.slice(command.span)
    if source.slice(row).strip() != written:
        return None
    return Fix(f"remove `{written}`", [remove(Span(row.start, min(row.end + 1, len(source.text))))], safe=False)


def _at_end(job: Job, line: str) -> Edit:
    newline = "" if job.source.own.text.endswith("\n") else "\n"
    return insert(len(job.source.own.text), f"{newline}{line}\n")


def _read_next(job: Job, run: PipelineRun) -> list[Span] | None:
    """Each `$?` of the next command, which a line between them would change; None where it is not a plain one."""
    below = (each for each in job.program.statements if job.span(each.start, each.end).start >= run.span.end)
    following = next(below, None)
    reads = [] if following is None else [each for each in nodes_of(following, Parameter) if each.name in STATUS]
    if not reads:
        return []
    words = [each for each in following.words if isinstance(each, Word)] if isinstance(following, Simple) else []
    plain = [each for word in words for each in word.parts if isinstance(each, Parameter) and each.name == "?"]
    return [job.span(each.start, each.end) for each in plain] if len(plain) == len(reads) else None


_PRINTING = frozenset({"echo", "printf"})


def printed_statuses(job: Job, commands: list[Invocation]) -> list[int]:
    """The lines on which the command after some work, or after the loop that it ends, prints its `$?`."""
    works = {id(each) for command in commands for each in (command, *command.descendants())}
    for command in commands:
        works |= {id(each) for run in runs_of(job, command) for element in run.elements for each in element}
    rows = set()
    for printing in commands_named(job, *_PRINTING):
        if printing.context.loops or not has_between(_statuses_in(job), *printing.span):
            continue
        before = printing.index - 1  # beside a `$(date)` in the same line
        while before >= 0 and printing.span.contains(job.invocations[before].span):
            before -= 1
        if before >= 0 and id(job.invocations[before]) in works:
            rows.add(job.line(printing.span.start))
    return sorted(rows)


@once
def _statuses_in(job: Job) -> list[int]:
    """The offsets of each `$?` of the script itself."""
    starts = (job.span(each.start, each.end).start for each in nodes_of(job.program, Parameter) if each.name == "?")
    return sorted(each for each in starts if each < len(job.source.own.text))


def _is_alone(job: Job, run: PipelineRun, work: Invocation, last: Invocation) -> bool:
    """Whether the work has its own lines and runs exactly once, so that its status can be kept after it."""
    context, source = run.context, job.source
    if context.conditional or context.may_repeat or context.calls or context.shell.depth:
        return False
    if job.is_embedded or run.tested or context.guards or any(each.stdin is not None for each in run.elements[0]):
        return False  # the body of a heredoc follows the line
    if any(job.span(loop.start, loop.end).contains(run.span) for loop in loops_of(job.program)):
        return False  # also one of a single turn, which nobody sees to be one
    exits = [each for each in job.invocations if each.name == "exit" and each.index > work.index]
    if any(each is not last for each in exits):
        return False
    if any(not node.closed for node in nodes_of(job.program, Heredoc)):
        return False
    if any(each.context.background is not None for each in job.invocations[work.index :]):
        return False  # of what runs there no status would be kept
    before = source.text[source.line_of(run.span.start).start : run.span.start]
    after = source.text[run.span.end : source.line_of(run.span.end).end].strip()
    return not before.strip() and (not after or after.startswith("#"))


def has_pipefail(job: Job) -> bool:
    """Whether the shell of the script has `pipefail`, arrays, and a trap for ERR."""
    return job.interpreter_line[0] in ("bash", "ksh", "zsh")


def is_lost_with_pipefail(job: Job, loss: Loss) -> bool:
    """Whether a status that a pipeline hides would be lost with `pipefail` as well: another command follows."""
    if loss.how != "pipeline" or _ends_script(job, loss):
        return False
    return any(each.command is loss.command for each in exit_statuses_with_pipefail(job).lost)


def _ends_script(job: Job, loss: Loss) -> bool:
    """Whether the script ends if the pipeline of a loss fails: by errexit, in its own shell, untested."""
    runs = [each for each in job.pipelines if each.span == loss.by] if loss.errexit else []
    return bool(runs) and not any(each.tested or each.context.shell.depth for each in runs)


def is_pipefail_safe(job: Job, hidden: list[Loss]) -> bool:
    """Whether `set -o pipefail` at the top changes no status that is used, except for these pipelines."""
    if any(each.filter is None or not has_trait(each.filter.name, "patient") for each in hidden):
        return False
    starts = {each.by.start for each in hidden}
    reads = set(job.trace.status_reads)
    end = max((run.order for run in job.pipelines), default=0)
    pipelines = [run for run in job.pipelines if len(run.elements) > 1]
    for run in pipelines:
        used = run.tested or run.errexit is not False or run.order + 1 in reads or run.order == end
        if run.span.start not in starts and (used or run.context.calls):
            return False
    written = {
        job.span(node.start, node.end).start for node in nodes_of(job.program, Pipeline) if len(node.commands) > 1
    }
    return written <= {run.span.start for run in pipelines}


def place_for_options(job: Job) -> int | None:
    """The offset for a line of `set` before the first command, or the comment above it; None where there is none."""
    source = job.source.own
    if not job.program.statements or job.is_embedded:
        return None
    start = job.span(job.program.statements[0].start, job.program.statements[0].end).start
    at = source.line_of(start).start
    if source.text[at:start].strip():
        return None
    above = at
    while above > 0:
        line = source.line_of(above - 1)
        text = source.slice(line).strip()
        if not text.startswith("#"):
            return above if not text else at
        if text.startswith(("#SBATCH", "#!")):
            break
        above = line.start
    return at


def exit_with_kept(job: Job, command: Invocation, name: str = "rc") -> str:
    """The `exit` to write at the end for a status kept in a variable.

    Where that is not set, `exit` keeps the last status; `set -u`, which a sourced file may set, would refuse it.
    """
    plain = command.state.option("nounset") is False and not unclear_sources(job)
    return f"exit ${name}" if plain else f"exit ${{{name}:-$?}}"


def is_meant(job: Job, loss: Loss) -> bool:
    """Whether a status is ignored on purpose: its messages are thrown away, too, or a comment beside it says so."""
    source = job.source.own
    if loss.how == "pipeline":  # `pipefail` would change nothing
        return _OR_TRUE.match(source.text, loss.by.end) is not None
    if loss.how != "ignored":
        return False
    if loss.by.end > len(source.text):
        return False
    line = source.line_of(loss.by.start)
    above = source.line_of(max(line.start - 1, 0))
    comment = source.slice(above) if source.slice(above).lstrip().startswith("#") else ""
    return _DISCARDED.search(source.text[line.start : loss.by.start]) is not None or any(
        each.search(f"{comment}\n{source.slice(line)}") for each in (MAY_FAIL, _OPTIONAL)
    )
