"""All combinations of the alternatives that the parts of a word have."""

from sbatchlint.bash.expansion.field_splitting import Segments
from sbatchlint.bash.expansion.protocol import Choice
from sbatchlint.bash.values import Expansion, Piece, flattened
from sbatchlint.bash.variables import NO_GUARDS, by_default, merge_guards

# A command has at most this many combinations. If there are more, each `${X:-d}` counts by its default; the word that
# would still exceed them becomes unknown, for itself alone.
MOST_COMBINATIONS = 12


def combine(choices: list[list[Choice]], limit: int = MOST_COMBINATIONS) -> list[Choice]:
    """All consistent combinations of the alternatives of consecutive parts."""
    results = _combined(choices, limit)
    if results is None:
        choices = [by_default(each) for each in choices]
        results = _combined(choices, limit) or _widest(choices, limit)
    return results


def _combined(choices: list[list[Choice]], limit: int) -> list[Choice] | None:
    """All consistent combinations; None where there are more than `limit`."""
    results: list[Choice] = [((), NO_GUARDS)]
    for alternatives in choices:
        extended = [
            (segments + more, merged)
            for segments, guards in results
            for more, other in alternatives
            if (merged := merge_guards(guards, other)) is not None
        ]
        if len(extended) > limit and len(alternatives) > 1:
            return None
        results = extended
    return results


def _widest(choices: list[list[Choice]], limit: int) -> list[Choice]:
    """The combinations, with an unknown in place of each part that would exceed the limit."""
    results: list[Choice] = [((), NO_GUARDS)]
    for alternatives in choices:
        extended: list[Choice] = []
        for segments, guards in results:
            for more, other in alternatives:
                merged = merge_guards(guards, other)
                if merged is not None:
                    extended.append((segments + more, merged))
        if len(extended) > limit and len(alternatives) > 1:
            widened = _widened(alternatives)
            extended = [(segments + widened, guards) for segments, guards in results]
        results = extended
    return results


def _widened(choices: list[Choice]) -> Segments:
    """One unknown in place of too many alternatives."""
    inputs: dict[Expansion, None] = {}
    model: Piece | None = None
    split = several = False
    for segments, _ in choices:
        for pieces, splitting in segments:
            split = split or splitting
            several = several or pieces is None
            for piece in pieces or ():
                model = model or piece
                if piece.expansion is not None:
                    inputs[piece.expansion] = None
    if model is None:
        return ()
    first = next(iter(inputs), None)
    expansion = None if first is None else first._replace(inputs=flattened((*first.inputs, *inputs)))
    return (((Piece(None, model.start, model.end, expansion, open=split or several),), split),)
