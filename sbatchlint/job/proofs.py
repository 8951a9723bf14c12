"""Proof of a repair that moves an expansion into the tasks: they then run the same commands with the same words.

A task variable is 0 in the batch shell, and in the first task of a step. So the script and the changed script are both
evaluated as the first task sees them: every command must get the same words as before, in the batch script and in the
tasks, and what is at the places of the repair must be expanded by the tasks alone. If the changed statements leave the
shell in the same state as before, nothing else is reevaluated.
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

# In the batch shell, these print messages, which may show a variable that is no longer expanded.
_MESSAGES = frozenset({"echo", "printf", "logger", "cat", "tee"})

Words = tuple[object, ...]


class _FirstTask(JobEnvironment):
    """The environment of a job's shells, as the first task of each step sees it."""

    def lookup(self, name: str, context: Context) -> str | bool | None:
        return "0" if context.phase is Phase.TASK and name in ZERO_IN_BATCH else super().lookup(name, context)


def keeps_words(job: Job, edits: Sequence[Edit], places: Iterable[Span], names: frozenset[str] = frozenset()) -> bool:
    """Whether the script runs the same commands after the edits, and the tasks alone expand what is at the places.

    `places`: in the unchanged script, each outside the edits, replaced by one, or right after one. `names`: variables
    that must stay as they are in the environment of commands. False even where this cannot be determined.
    """
    if any(edit.span.end > len(job.source.own.text) for edit in edits) or job.limits.exhausted:
        return False
    now = tuple(places)
    answer = _in_part(job, edits, now, names)
    if answer is not None:
        return answer
    before, after = before_edits(job, _FirstTask), reevaluate(job, edits, _FirstTask)
    if after is None or after.errors > before.errors:
        return False
    return _is_same(before.interpreter.trace.invocations, after.interpreter.trace, edits, now, names)


def _is_same(
    before: Sequence[Invocation], after: Trace, edits: Sequence[Edit], now: Sequence[Span], names: frozenset[str]
) -> bool:
    """Whether commands get the same words as before, and tasks alone expand what is at the places."""
    then = [_moved(place, edits) for place in now]
    if _commands(after.invocations, then, names) != _commands(before, now, names):
        return False
    return all(_phases(after, place) == {Phase.TASK} for place in then)


def _in_part(job: Job, edits: Sequence[Edit], now: Sequence[Span], names: frozenset[str]) -> bool | None:
    """The answer of `keeps_words` from the statements around the edits alone.

    None where these do not leave the shell in the same state as before.
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
    """Whether two states of the shell are the same, except for the places in the file that values come from."""
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
    """Values in a form that can be compared: their strings, and expansions, which equal only themselves."""
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
    """What runs, except for commands within the places."""
    commands = [each for each in recorded if not any(place.contains(each.span) for place in places)]
    return [words for each in commands if (words := _words(each, places, names)) is not None]


def _words(command: Invocation, places: Sequence[Span], names: frozenset[str]) -> Words | None:
    """Everything that a command gets; None for shells and others that only start commands, and for messages."""
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

    # a heredoc is a program that is evaluated too, or plain input
    files = [each for each in command.redirects if not each.operator.startswith("<<")]
    redirects = [(each.operator, each.fd, shown(each.target or ())) for each in files]
    variables = [(name, shown(field)) for name, field in command.variables if name not in names]
    inherited = [(name, shown(exported(command, name) or ())) for name in sorted(names)] if in_task else []
    stdin = shown(command.stdin.field) if in_task and command.stdin is not None else ""
    return (
        tuple(map(shown, argv)),
        *redirects,
        *variables,
        *inherited,
        stdin,
        in_task,
        context.conditional,
        bool(context.loops),
    )


def _shown(field: Pieces, places: Sequence[Span]) -> str:
    """A word as a string, with the names of its unknown pieces."""
    parts: list[str] = []
    for piece in field:
        if piece.text is not None:
            parts.append(piece.text)
        elif piece.expansion is None:
            parts.append("\0")
        elif any(place.contains(piece.expansion.span) for place in places):
            parts.append("\0\0")  # whatever its name and its quotes
        else:
            parts.append(f"\0{piece.expansion.name}\0{'*' if piece.open else ''}")
    return "".join(parts)


def _moved(place: Span, edits: Iterable[Edit]) -> Span:
    """A place after the edits; the whole replacement for a place that one of them replaces."""
    start, end = place
    for edit in edits:
        growth = len(edit.content) - (edit.span.end - edit.span.start)
        if edit.span.end <= place.start and edit.span != place:
            start += growth
        if edit.span.end <= place.end and (edit.span.start < place.end or edit.span == place):
            end += growth
    return Span(start, end)


def _phases(trace: Trace, place: Span) -> set[Phase]:
    """The phases in which what is at a place is expanded."""
    inside = place.contains
    found = {each.context.phase for each in trace.reads if inside(each.span)}
    for command in trace.invocations:
        if inside(command.span):
            found.add(command.phase)
        fields = (*command.argv, *(field for _, field in command.variables))
        found.update(each.phase for field in fields for each in expansions(field) if inside(each.span))
    return found
