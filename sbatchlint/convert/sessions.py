"""Commands that return while their program still runs: `setsid`, by which the task of a step would end at once.

The first task of each node is the leader of its process group (slurmstepd/mgr.c, `_fork_all_tasks()`), and there
`setsid` forks, and does not wait without `--wait` (util-linux, sys-utils/setsid.c). In a batch script it becomes its
program.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.work import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.job import Job
from sbatchlint.job.steps import enclosing_commands, enclosing_step
from sbatchlint.source.edits import remove
from sbatchlint.source.text import Span

_LETTERS = frozenset("cfw")


def leave_out_sessions(draft: Draft) -> None:
    """Takes `setsid` from before the commands that a conversion starts in tasks, where it is written plainly."""
    job, text = draft.job, draft.source.text
    removed = dict[Span, None]()
    for command in [*_starts(job), *batch_programs(job)]:
        for each in enclosing_commands(command):
            if each.name != "setsid" or len(each.argv) < 2 or _options(each):
                continue
            name, following = span_of(each.argv[0]), span_of(each.argv[1])
            gap = text[name.end : following.start]
            if following.end <= len(text) and text[name.start : name.end] == "setsid" and gap.strip(" \t\\\n") == "":
                removed[Span(name.start, following.start)] = None
    if removed:
        draft.edit(map(remove, removed))
        draft.decisions.append("setsid is left out: in a task it returns at once, and the task would end")


def returning(job: Job) -> Iterator[str]:
    """To-dos for starts that such a command hides from their task, or from the batch script."""
    for command in _starts(job):
        for each in enclosing_commands(command):
            options = _options(each) if each.name == "setsid" else None
            in_task = enclosing_step(each.context) is not None
            if options is not None and "w" not in options and (in_task or "f" in options):
                where = "the task ends" if in_task else "the script goes on"
                yield f"line {job.line(each.span.start)}: setsid returns at once, and {where} before it: leave it out"


def _starts(job: Job) -> list[Invocation]:
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
