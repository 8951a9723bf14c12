"""Proof of a repair that moves an expansion into the tasks: they then run the same commands with the same words.

A variable of tasks is 0 in the batch shell, and in the first task of a step. So the script and the changed script are
both evaluated as the first task sees them: every command must get the words that it got before, in the batch script and
in the tasks, and what stands at the places of the repair must be expanded by the tasks alone. Where the statements that
are changed leave the shell as they did before, nothing else is evaluated again.
"""

from collections.abc import Iterable, Sequence

from sbatchlint.bash.state import State
from sbatchlint.bash.trace import Context, Invocation, Trace, exported
from sbatchlint.bash.values import Phase, Pieces, expansions
from sbatchlint.bash.variables import Alternative, Variable
from sbatchlint.job import Job
from sbatchlint.job.environment import ZERO_IN_BATCH
from sbatchlint.job.reevaluation import before_edits, enclosing_part, reevaluate
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

# What these print in the batch shell is a message; a string in which a variable is left alone may be shown as it is.
_MESSAGES = frozenset({"echo", "printf", "logger", "cat", "tee"})

Words = tuple[object, ...]


class _FirstTask(JobEnvironment):
    """The environment of a job's shells as the first task of each step has it."""

    def lookup(self, name: str, context: Context) -> str | bool | None:
        return "0" if context.phase is Phase.TASK and name in ZERO_IN_BATCH else super().lookup(name, context)


def keeps_words(job: Job, edits: Sequence[Edit], places: Iterable[Span], names: frozenset[str] = frozenset()) -> bool:
    """Whether the script runs the same commands after the edits, and the tasks alone expand what stands at the places.

    `places`: in the script as it is now, each outside of the edits, or what an edit replaces or stands right before.
    `names`: variables that commands must find in their environment as before. False also where it cannot be told.
    """
    if any(edit.span.end > len(job.source.own.text) for edit in edits) or job.limits.exhausted:
        return False
    now = tuple(places)
    found = _in_part(job, edits, now, names)
    if found is not None:
        return found
    before, after = before_edits(job, _FirstTask), reevaluate(job, edits, _FirstTask)
    if after is None or after.errors > before.errors:
        return False
    return _is_same(before.interpreter.trace.invocations, after.interpreter.trace, edits, now, names)


def _is_same(
    before: Sequence[Invocation], after: Trace, edits: Sequence[Edit], now: Sequence[Span], names: frozenset[str]
) -> bool:
    """Whether commands get the words that they got before, and what stands at the places is expanded in tasks alone."""
    then = [_moved(place, edits) for place in now]
    if _commands(after.invocations, then, names) != _commands(before, now, names):
        return False
    return all(_phases(after, place) == {Phase.TASK} for place in then)


def _in_part(job: Job, edits: Sequence[Edit], now: Sequence[Span], names: frozenset[str]) -> bool | None:
    """The answer where only the statements around the edits need be evaluated: they leave the shell as they did before.

    None where that is not so.
    """
    spans = [*now, *(edit.span for edit in edits)]
    part = enclosing_part(job, Span(min(each.start for each in spans), max(each.end for each in spans)))
    if part is None or job.program.errors:
        return None
    before = before_edits(job, _FirstTask).interpreter
    reached, states = before.reached, before.states or []
    if len(reached) != len(job.reached):
        return None
    after = reevaluate(job, edits, _FirstTask, part)
    if after is None or after.errors:
        return False
    last = len(before.trace.invocations)
    if part.end < len(reached):
        last = reached[part.end]
        if after.end is None or not _leaves_alike(states[part.end], after.end):
            return None
    return _is_same(before.trace.invocations[reached[part.first] : last], after.interpreter.trace, edits, now, names)


def _leaves_alike(before: State, after: State) -> bool:
    """Whether what runs next finds the same shell, but for where in the file values come from."""
    names = before.variables.changes(after.variables)
    return (
        all(_value(before.variables.get(name)) == _value(after.variables.get(name)) for name in names)
        and not list(before.functions.changes(after.functions))
        and before.files.keys() == after.files.keys()
        and all(_alternatives(each) == _alternatives(after.files[name]) for name, each in before.files.items())
        and (before.positional, before.zero, before.stdin) == (after.positional, after.zero, after.stdin)
        and (before.options, before.status, before.sourced) == (after.options, after.status, after.sourced)
        and (before.doubtful, before.escaped) == (after.doubtful, after.escaped)
    )


def _value(variable: Variable | None) -> object:
    return variable and (_alternatives(variable.alternatives), variable.array, variable.exported, variable.flags)


def _alternatives(alternatives: Iterable[Alternative]) -> object:
    """What values are: their text; an expansion in them equals itself alone, wherever it may be looked at again."""
    return [
        (
            alternative.fields
            and [[piece.text if piece.expansion is None else piece for piece in field] for field in alternative.fields],
            alternative.guards,
            alternative.keys,
        )
        for alternative in alternatives
    ]


def _commands(recorded: Sequence[Invocation], places: Sequence[Span], names: frozenset[str]) -> list[Words]:
    """All that runs, but for what runs in the very places."""
    commands = [each for each in recorded if not any(place.contains(each.span) for place in places)]
    return [words for each in commands if (words := _words(each, places, names)) is not None]


def _words(command: Invocation, places: Sequence[Span], names: frozenset[str]) -> Words | None:
    """All that a command gets; None for shells and others that only start what they are given, and for messages."""
    in_task = command.phase is Phase.TASK
    argv: Sequence[Pieces] = command.argv
    if isinstance(command.spawn.info, Step):
        argv = argv[: command.spawn.info.command]
    elif (
        command.children
        or command.text is not None
        or command.calls_function
        or not in_task
        and command.name in _MESSAGES
    ):
        return None
    context = command.context

    def shown(field: Pieces) -> str:
        return _shown(field, places)

    # what stands on standard input is a program, or nothing that the batch shell would run
    files = [each for each in command.redirects if not each.operator.startswith("<<")]
    redirects = [(each.operator, each.fd, shown(each.target or ())) for each in files]
    given = [(name, shown(field)) for name, field in command.variables if name not in names]
    inherited = [(name, shown(exported(command, name) or ())) for name in sorted(names)] if in_task else []
    stdin = shown(command.stdin.field) if in_task and command.stdin is not None else ""
    return (
        tuple(map(shown, argv)),
        *redirects,
        *given,
        *inherited,
        stdin,
        in_task,
        context.conditional,
        bool(context.loops),
    )


def _shown(field: Pieces, places: Sequence[Span]) -> str:
    """A word: its text, with the names of what is unknown."""
    parts: list[str] = []
    for piece in field:
        if piece.text is not None:
            parts.append(piece.text)
        elif piece.expansion is None:
            parts.append("\0")
        elif any(place.contains(piece.expansion.span) for place in places):
            parts.append("\0\0")  # whatever it is called, and however it is quoted
        else:
            parts.append(f"\0{piece.expansion.name}\0{'*' if piece.open else ''}")
    return "".join(parts)


def _moved(place: Span, edits: Iterable[Edit]) -> Span:
    """Where a place stands after the edits; all of what replaces it where one does."""
    start, end = place
    for edit in edits:
        growth = len(edit.content) - (edit.span.end - edit.span.start)
        if edit.span.end <= place.start and edit.span != place:
            start += growth
        if edit.span.end <= place.end and (edit.span.start < place.end or edit.span == place):
            end += growth
    return Span(start, end)


def _phases(trace: Trace, place: Span) -> set[Phase]:
    """The phases in which what stands at a place is expanded."""
    inside = place.contains
    found = {each.context.phase for each in trace.reads if inside(each.span)}
    for command in trace.invocations:
        if inside(command.span):
            found.add(command.phase)
        fields = (*command.argv, *(field for _, field in command.variables))
        found.update(each.phase for field in fields for each in expansions(field) if inside(each.span))
    return found
