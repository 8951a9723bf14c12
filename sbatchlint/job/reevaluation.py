"""Reevaluation of a job: after edits, to prove a repair before it is offered, or in another environment.

After edits, only what they can affect is evaluated if that is possible: from the statement with the first edit on,
with the shell's state there. All repairs of a script together may evaluate `MOST_CHARACTERS`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sbatchlint.bash.interpreter.interpreter import ScriptInterpreter
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Program
from sbatchlint.bash.values import Text, literal
from sbatchlint.job import Job
from sbatchlint.job.hooks import JobHooks
from sbatchlint.job.launches import Launch
from sbatchlint.job.once import once
from sbatchlint.job.request import Request
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.source.edits import Edit, apply, edited
from sbatchlint.source.text import Span

# How many characters all proofs of a script together may evaluate, and how many each proof counts in addition. The
# first proof may evaluate four times as many.
MOST_CHARACTERS = 1 << 16
_A_PROOF = 50

Environment = Callable[[Request, frozenset[str]], JobEnvironment]


class Part(NamedTuple):
    """Whole lines of a script: its top-level statements from index `first` to before `end`, and their place."""

    first: int
    end: int
    span: Span


class Evaluation(NamedTuple):
    """The result of evaluating a script. `end`: the shell's state after it, None if the shell has exited.

    `errors`: the number of syntax errors. `interpreter.states`: the state before each statement.
    """

    interpreter: ScriptInterpreter
    hooks: JobHooks
    end: State | None
    errors: int

    @property
    def launches(self) -> list[Launch]:
        return self.hooks.launches(self.interpreter.trace.invocations)


def evaluate(job: Job, environment: Environment = JobEnvironment) -> Evaluation:
    """The evaluation of the unchanged script in an environment."""
    return _evaluated(job, environment, job.text, job.program, job.first_state())


def reevaluate(
    job: Job, edits: Sequence[Edit], environment: Environment = JobEnvironment, part: Part | None = None
) -> Evaluation | None:
    """The evaluation of the script after the edits, or of a part of it.

    None where that is too much, or where the edits remove the job. `part`: the part that holds the edits; it is
    evaluated with the shell's state before it.
    """
    if part is None:
        number = _outermost(job).with_submitted().index(job)
        jobs = changed_jobs(job, edits)
        return evaluate(jobs[number], environment) if number < len(jobs) else None
    start, end = part.span
    if not _is_affordable(job, end - start):
        return None
    moved = [Edit(Span(span.start - start, span.end - start), content) for span, content in edits]
    text = Text((literal(apply(job.source.own.text[start:end], moved), start),))
    before = before_edits(job, environment).interpreter
    state = (before.states or [])[part.first].copy()
    return _evaluated(job, environment, text, parse(text.string), state, before.keys)


before_edits = once(evaluate)


def changed_jobs(job: Job, edits: Sequence[Edit]) -> list[Job]:
    """The jobs of the whole file after the edits, in the order of `with_submitted`; empty where that is too much."""
    if not _is_affordable(job, len(job.source.own.text)):
        return []
    return changed_job(job, edits).with_submitted()


def changed_job(job: Job, edits: Iterable[Edit]) -> Job:
    """The job of the whole file after the edits, whatever its size."""
    return Job.from_source(edited(job.source.own, edits), job.site, proceed=job.proceed)


def _evaluated(
    job: Job, environment: Environment, text: Text, program: Program, state: State, keys: int = 0
) -> Evaluation:
    hooks = JobHooks(job.request, job.versions, job.site, job.hooks.files)
    hooks.environment = environment(job.request, job.site.unset)
    interpreter = ScriptInterpreter(hooks, job.programs)
    interpreter.proceed = job.proceed
    interpreter.keys = keys
    interpreter.states = []
    end = interpreter.run(text, program, job.phase, state) if job.is_shell else state
    return Evaluation(interpreter, hooks, end, len(program.errors))


def _is_affordable(job: Job, size: int) -> bool:
    """Whether `size` characters may be evaluated for a proof; if so, counts them for the whole script."""
    outermost = _outermost(job)
    if outermost.proved > MOST_CHARACTERS or size > 4 * MOST_CHARACTERS:
        return False
    outermost.proved += size + _A_PROOF
    return True


def _outermost(job: Job) -> Job:
    while job.outer is not None:
        job = job.outer
    return job


# --- the part that edits affect ------------------------------------------------------------------------


def enclosing_part(job: Job, place: Span, least: int = 1) -> Part | None:
    """The statements around a place, and all up to before the one with index `least`; None if they are not known."""
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
    end = max(least, first + 1)
    while end < len(starts) and (starts[end] < place.end or not begins_line(end)):
        end += 1
    return Part(first, end, Span(starts[first], starts[end] if end < len(starts) else len(text)))


@once
def _starts(job: Job) -> list[int]:
    """The starts of the top-level statements that were reached."""
    return [job.text.offset(each.start) for each in job.program.statements[: len(job.reached)]]


# --- launchers after edits -----------------------------------------------------------------------------


def launches_after(job: Job, edits: Sequence[Edit], launch: Launch) -> list[Launch] | None:
    """The launchers that run after the edits, in all of the script or in the part that holds this launch.

    None where the script then has more syntax errors than before, or where reevaluating it is too much.
    """
    if any(edit.span.end > len(job.source.own.text) for edit in edits):
        return None
    errors = job.program.errors
    if not job.submits:
        whole = Span(min(edit.span.start for edit in edits), max(edit.span.end for edit in edits))
        part = enclosing_part(job, whole, bisect_right(job.reached, _last(job)[launch.launcher.span.start]))
        if part is not None:
            after = reevaluate(job, edits, part=part)
            known = sum(part.span.start <= job.text.offset(start) < part.span.end for start, _ in errors)
            return None if after is None or after.errors > known else after.launches
    jobs = changed_jobs(job, edits)
    if not jobs or len(jobs[0].program.errors) > len(errors):
        return None
    return [launch for other in jobs for launch in other.launches]


@once
def _last(job: Job) -> dict[int, int]:
    """The index of the last command of each launcher, by the launcher's offset."""
    return {launch.launcher.span.start: launch.invocation.index for launch in job.launches}
