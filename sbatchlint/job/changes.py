"""Which launchers a script starts once it is changed, to prove a repair before it is offered.

Only what the change can reach is evaluated again: from the statement in which the first edit stands, with the shell's
state as it was there, to the one that starts the launcher. Where that is not possible, as in a script inside another
one, the whole changed script is evaluated. All repairs of a script together get `MOST_CHARACTERS` of evaluation.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.bash.interpreter.interpreter import ScriptInterpreter
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.values import Text, literal
from sbatchlint.job import Job
from sbatchlint.job.hooks import JobHooks
from sbatchlint.job.launches import Launch
from sbatchlint.job.once import once
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.text import Source, Span

# What all proofs of a script together may evaluate, each counting as so many characters more. At least one is made, of
# four times as much.
MOST_CHARACTERS = 1 << 16
_A_PROOF = 50


def is_affordable(job: Job, size: int) -> bool:
    """Whether so many characters may be evaluated for a proof; charges them to the whole script."""
    outermost = job
    while outermost.outer is not None:
        outermost = outermost.outer
    if outermost.proved > MOST_CHARACTERS or size > 4 * MOST_CHARACTERS:
        return False
    outermost.proved += size + _A_PROOF
    return True


def launches_after(job: Job, edits: Sequence[Edit], launch: Launch) -> list[Launch] | None:
    """The launchers that run after the edits, as far as the one of this launch may be among them.

    None where the script then has more errors of syntax than before, or where that is too much to find out.
    """
    text = job.source.own.text
    if any(edit.span.end > len(text) for edit in edits):
        return None
    part = _part(job, edits, launch)
    return _whole(job, edits) if part is None else _evaluated(job, edits, part)


def _whole(job: Job, edits: Sequence[Edit]) -> list[Launch] | None:
    if not is_affordable(job, len(job.source.own.text)):
        return None
    changed = Job.from_source(Source(apply(job.source.own.text, edits), job.source.own.path), job.site)
    if len(changed.program.errors) > len(job.program.errors):
        return None
    return [each for other in changed.with_submitted() for each in other.launches]


def _part(job: Job, edits: Sequence[Edit], launch: Launch) -> "Part | None":
    """The statements that matter; None where that is not certain."""
    if job.submits:
        return None
    whole = Span(min(edit.span.start for edit in edits), max(edit.span.end for edit in edits))
    return part_around(job, whole, bisect_right(job.reached, _last(job)[launch.launcher.span.start]))


class Part(NamedTuple):
    """Whole lines of a script: its top-level statements from `first` to before `behind`, and where they stand."""

    first: int
    behind: int
    span: Span


def part_around(job: Job, place: Span, least: int = 1) -> Part | None:
    """The statements around a place, and all up to before that with the number `least`; None: they cannot be told."""
    if job.is_embedded or not job.text.is_plain or job.limits.exhausted:
        return None
    text = job.source.own.text
    starts = _starts(job)

    def begins_line(number: int) -> bool:
        return not text[text.rfind("\n", 0, starts[number]) + 1 : starts[number]].strip()

    first = bisect_right(starts, place.start) - 1
    while first > 0 and not begins_line(first):
        first -= 1
    if first < 0:
        return None
    behind = max(least, first + 1)
    while behind < len(starts) and (starts[behind] < place.end or not begins_line(behind)):
        behind += 1
    return Part(first, behind, Span(starts[first], starts[behind] if behind < len(starts) else len(text)))


@once
def _starts(job: Job) -> list[int]:
    """Where the top-level statements begin that were reached."""
    return [job.text.offset(each.start) for each in job.program.statements[: len(job.reached)]]


@once
def _last(job: Job) -> dict[int, int]:
    """The last command of each launch."""
    return {each.launcher.span.start: each.invocation.index for each in job.launches}


@once
def _again(job: Job) -> ScriptInterpreter:
    """A second evaluation of the script, with the shell's state before each statement."""
    interpreter = ScriptInterpreter(JobHooks(job.request, job.versions, job.site, job.hooks.files), job.programs)
    interpreter.states = []
    job.evaluate(interpreter)
    return interpreter


def _evaluated(job: Job, edits: Sequence[Edit], part: Part) -> list[Launch] | None:
    span = part.span
    if not is_affordable(job, span.end - span.start):
        return None
    moved = [Edit(Span(start - span.start, end - span.start), content) for (start, end), content in edits]
    string = apply(job.source.own.text[span.start : span.end], moved)
    program = parse(string)
    errors = sum(span.start <= job.text.offset(start) < span.end for start, _ in job.program.errors)
    if len(program.errors) > errors:
        return None
    states = _again(job).states or []
    hooks = JobHooks(job.request, job.versions, job.site, job.hooks.files)
    interpreter = ScriptInterpreter(hooks)
    interpreter.run(Text((literal(string, span.start),)), program, job.phase, states[part.first].copy())
    return hooks.launches(interpreter.trace.invocations)
