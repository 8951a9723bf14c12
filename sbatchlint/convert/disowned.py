"""Commands in the background that their shell gives up by `disown`: no `wait` waits for them, and the job ends.

`disown` takes them from the table of jobs, of which `wait` waits for each; with `-h` they stay there (bash,
builtins/jobs.def and wait.def, 5.2). Those that a conversion starts are kept; others, such as a monitor, may be meant.
"""

from collections.abc import Iterator

from sbatchlint.analysis.planning.programs import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.convert.draft import Draft
from sbatchlint.job import Job
from sbatchlint.source.edits import Edit, remove
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# What may follow on its line, and where a block begins, which cannot be empty.
_END, _BLOCK = Regex(r"[ \t]*;?[ \t]*(?:#.*)?"), Regex(r"(?:.*[\s;)])?(?:then|do|else|\{|\()[ \t]*(?:#.*)?|.*\)")
_LAST = ("%%", "%+", "%", "$!", "${!}")


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
    if "disown" not in job.source.text:
        return
    by_home = dict[int, dict[int, bool]]()
    starting = {id(shell) for each in _starts(job) for shell in each.context.shell.enclosing_shells()}
    for command in job.invocations:
        if command.name == "disown":
            before = [*by_home.get(id(command.context.shell), {}).values()]
            options, others = _words(job, command)
            if "h" not in options:
                yield command, before if options or others else before[-1:]
        for shell in command.context.shell.enclosing_shells():
            if shell.kind == "background":
                by_home.setdefault(id(shell.parent), {})[id(shell)] = id(shell) in starting


def _words(job: Job, command: Invocation) -> tuple[str, bool]:
    """The options of a `disown`, and whether it names others than the last command in the background."""
    written = job.source.slice(command.span).split()[1:]
    options = "".join(each for each in written if each.startswith("-"))
    return options, any(each.strip("\"'") not in _LAST for each in written if not each.startswith("-"))


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
