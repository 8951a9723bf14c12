"""Launchers whose name stands in a variable: `TORCHRUN=torchrun`, `$TORCHRUN train.py`."""

from sbatchlint.analysis.editing.options import name_span
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.convert.launcher import NAMES
from sbatchlint.convert.user_values import ends_at, may_differ
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_VARIABLE = Regex(r'("?)\$(?:\w+|\{\w+\})\1(?=[ \t])')
_PLAIN = Regex(r"[\w./-]+")
# Launchers that are told their node by variables.
_BY_VARIABLES = ("swift", "llamafactory")


def write_names(draft: Draft, target: str | None) -> None:
    """Writes the name of a launcher where it is started, if a variable holds nothing else.

    One that the user may set (`${PYTHON:-python}`) stays, unless another launcher is wanted: then that is to do.
    """
    text = draft.source.text
    found: dict[Span, set[str]] = {}
    for launch in draft.job.launches:
        command: Invocation = launch.invocation
        word = _VARIABLE.match(text, command.span.start)
        name = text_of(command.argv[0]) if command.argv else None
        if word is None or name is None or command.context.parent is not None or len(command.argv) < 2:
            continue
        held, following = span_of(command.argv[0]).start, span_of(command.argv[1]).start
        if command.span.start <= held < command.span.end:
            continue
        named = name_span(launch).end
        outside = not command.span.start <= named <= command.span.end
        if outside and not ends_at(text, named) and may_differ(draft.job, word.group(), held):
            line = draft.job.line(command.span.start)
            todo = f"line {line}: {word.group()} is read as it is set here: see that it is not set to another command"
            draft.todos += [todo] if todo not in draft.todos else []
        if _PLAIN.fullmatch(name) and word.end() < following < command.span.end:
            if may_differ(draft.job, word.group(), held):
                kind = launch.launcher.kind
                if kind in NAMES and kind not in _BY_VARIABLES and target in (None, kind):
                    continue
                line = draft.job.line(command.span.start)
                todo = f"line {line}: {word.group()} is written as {name}: see that it is not set to another command"
                draft.todos += [todo] if todo not in draft.todos else []
            found.setdefault(Span(*word.span()), set()).add(name)
    edits = [Edit(span, names.pop()) for span, names in found.items() if len(names) == 1]
    if edits:
        draft.edit(edits)
