"""Fixes that keep the exit status of work, and end the script with it."""

from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.status_records import ExitStatuses
from sbatchlint.analysis.script.status_uses import STATUS
from sbatchlint.bash.syntax.tree import Heredoc, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import loops_of, nodes_of
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.source.edits import Edit, insert, remove, replace
from sbatchlint.source.text import Span


def name_of_status(job: Job) -> str:
    """The name for a variable that keeps a status; zsh has a `status` that nobody can set."""
    return "rc" if job.interpreter_line[0] == "zsh" else "status"


def keeping(job: Job, work: Invocation, last: Invocation) -> Fix | None:
    """The fix that keeps the status on a line after the work, and ends the script with it."""
    source = job.source.own
    run = next(iter(runs_of(job, work)), None)
    if run is None or run.span.end > len(source.text):
        return None  # in a sourced file
    name = next((each for each in (name_of_status(job), "rc", "srun_status") if each not in source.text), None)
    if name is None or not _is_alone(job, run, work, last):
        return None
    start = source.line_of(run.span.start).start
    indent = source.text[start : run.span.start]
    line = source.line_of(run.span.end)
    reads = _read_next(job, run)
    if reads is None:
        return None
    edits: list[Edit] = [insert(line.end, f"\n{indent}{name}=$?"), *(replace(each, f"${name}") for each in reads)]
    if last.name == "exit":
        if source.slice(last.span) != "exit 0":
            return None
        edits.append(replace(last.span, f'exit "${name}"'))
    else:
        edits.append(_exit_at_end(job, name))
    return Fix("keep the status and exit with it", edits)


def returning(job: Job, found: ExitStatuses, name: str) -> Fix | None:
    """The fix that ends the script with the status that a variable keeps of one command, where nothing else ends it."""
    last = found.last
    one = len({each.index for each in found.kept.get(name, ())}) == 1
    if not one or last is None or last.name == "exit" or last.context.depth or last.span.end > len(job.source.own.text):
        return None
    return Fix("exit with the kept status", [_exit_at_end(job, name)])


def without_line(job: Job, command: Invocation) -> Fix | None:
    """The fix that removes the line of a command, if that is all the line has."""
    source = job.source.own
    row, written = source.line_of(command.span.start), source.slice(command.span)
    if source.slice(row).strip() != written:
        return None
    return Fix(f"remove `{written}`", [remove(Span(row.start, min(row.end + 1, len(source.text))))], safe=False)


def _exit_at_end(job: Job, name: str) -> Edit:
    newline = "" if job.source.own.text.endswith("\n") else "\n"
    return insert(len(job.source.own.text), f'{newline}exit "${name}"\n')


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
