"""Launchers whose name stands in a variable: `TORCHRUN=torchrun`, `$TORCHRUN train.py`."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_VARIABLE = Regex(r'("?)\$(?:\w+|\{\w+\})\1(?=[ \t])')
_PLAIN = Regex(r"[\w./-]+")


def write_names(draft: Draft) -> None:
    """Writes the name of a launcher where it is started, if a variable holds nothing else."""
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
        if _PLAIN.fullmatch(name) and word.end() < following < command.span.end:
            found.setdefault(Span(*word.span()), set()).add(name)
    edits = [Edit(span, names.pop()) for span, names in found.items() if len(names) == 1]
    if edits:
        draft.edit(edits)
