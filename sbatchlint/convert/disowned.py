"""Commands in the background that their shell gives up by `disown`: no `wait` waits for them, and the job ends.

Those that a conversion starts are kept; others, such as a monitor, may be meant.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.background import disowned
from sbatchlint.analysis.script.work import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.convert.draft import Draft
from sbatchlint.job import Job
from sbatchlint.source.edits import Edit, remove
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# What may follow on its line, and where a block begins, which cannot be empty.
_END, _BLOCK = Regex(r"[ \t]*;?[ \t]*(?:#.*)?"), Regex(r"(?:.*[\s;)])?(?:then|do|else|\{|\()[ \t]*(?:#.*)?|.*\)")


def keep_disowned(draft: Draft) -> None:
    """Takes out each `disown` of what a conversion starts."""
    job, length = draft.job, len(draft.source.text)
    edits = {
        command.span: _removal(job, command)
        for command, background in _disowned(job)
        if all(background) and command.span.end <= length
    }
    if edits:
        draft.edit(edits.values())
        draft.decisions.append("disown is left out: no wait waits for what it gives up, and the job would end")


def still_disowned(job: Job) -> Iterator[str]:
    """To-dos for each `disown` by which no `wait` waits for what is started in tasks."""
    for command, background in _disowned(job):
        if any(background):
            yield f"line {job.line(command.span.start)}: disown lets no wait wait for what is started: leave it out"


def _disowned(job: Job) -> Iterator[tuple[Invocation, list[bool]]]:
    """Each `disown`, and whether what it may give up is started in tasks, one for each command in the background."""
    starting = {id(shell) for each in _starts(job) for shell in each.context.shell.enclosing_shells()}
    for command, shells in disowned(job):
        yield command, [id(each) in starting for each in shells]


def _starts(job: Job) -> list[Invocation]:
    started = [each.invocation for each in job.launches] + [each.invocation for each in job.steps]
    return started + batch_programs(job)


def _removal(job: Job, command: Invocation) -> Edit:
    """The edit that takes out the command, with its line if it stands alone there."""
    text, (start, end) = job.source.own.text, command.span
    line = job.source.line_of(start)
    before, after = text[line.start : start], text[end : job.source.line_of(end).end]
    if not _END.fullmatch(after):
        return Edit(command.span, ":")
    if before.rstrip().endswith("&"):
        return remove(Span(line.start + len(before.rstrip()), end))
    previous = text[: line.start].rstrip().rpartition("\n")[2]
    if before.strip() or _BLOCK.fullmatch(previous):
        return Edit(command.span, ":")
    return remove(Span(line.start, min(job.source.line_of(end).end + 1, len(text))))
