"""Commands that part from the shell or the task that starts them, so that this one ends while their program runs.

`setsid`: the first task of each node is the leader of its process group (slurmstepd/mgr.c, `_fork_all_tasks()`), and
there `setsid` forks, and does not wait without `--wait` (util-linux, sys-utils/setsid.c). In a batch script it becomes
its program. `disown`: no `wait` waits for the commands in the background that it gives up, and the job ends. Those that
a conversion starts are kept; others, such as a monitor, may be meant.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.background import disowned
from sbatchlint.analysis.script.work import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.job import Job
from sbatchlint.job.steps import enclosing_commands, enclosing_step
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
    starting = {id(shell) for each in _started(job) for shell in each.context.shell.enclosing_shells()}
    for command, shells in disowned(job):
        yield command, [id(each) in starting for each in shells]


def _started(job: Job) -> list[Invocation]:
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


_LETTERS = frozenset("cfw")


def leave_out_sessions(draft: Draft) -> None:
    """Takes `setsid` from before the commands that a conversion starts in tasks, where it is written plainly."""
    job, text = draft.job, draft.source.text
    removed = dict[Span, None]()
    for command in [*_in_tasks(job), *batch_programs(job)]:
        for outer in enclosing_commands(command):
            if outer.name != "setsid" or len(outer.argv) < 2 or _options(outer):
                continue
            name, following = span_of(outer.argv[0]), span_of(outer.argv[1])
            gap = text[name.end : following.start]
            if following.end <= len(text) and text[name.start : name.end] == "setsid" and gap.strip(" \t\\\n") == "":
                removed[Span(name.start, following.start)] = None
    if removed:
        draft.edit(map(remove, removed))
        draft.decisions.append("setsid is left out: in a task it returns at once, and the task would end")


def returning(job: Job) -> Iterator[str]:
    """To-dos for starts that such a command hides from their task, or from the batch script."""
    for command in _in_tasks(job):
        for outer in enclosing_commands(command):
            options = _options(outer) if outer.name == "setsid" else None
            in_task = enclosing_step(outer.context) is not None
            if options is not None and "w" not in options and (in_task or "f" in options):
                where = "the task ends" if in_task else "the script goes on"
                yield f"line {job.line(outer.span.start)}: setsid returns at once, and {where} before it: leave it out"


def _in_tasks(job: Job) -> list[Invocation]:
    return [each.invocation for each in job.launches] + [each for step in job.steps for each in step.program]


def _options(command: Invocation) -> set[str]:
    """The letters of the options of a `setsid`: c, f, w."""
    found = set[str]()
    for field in command.argv[1:]:
        word = text_of(field) or ""
        if not word.startswith("-"):
            break
        found |= {word[2:3]} if word.startswith("--") else {*word[1:]}
    return found & _LETTERS
