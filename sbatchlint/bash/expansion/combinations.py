"""All combinations of the alternatives that the parts of a word have."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from sbatchlint.bash.expansion.field_splitting import Segments
from sbatchlint.bash.expansion.protocol import Choice
from sbatchlint.bash.values import Expansion, Piece, flattened
from sbatchlint.bash.variables import NO_GUARDS, Guards, by_default, merge_guards

Item = TypeVar("Item")
# Items, such as the fields of a word, with the guards under which they are what it stands for.
Guarded = tuple[tuple[Item, ...], Guards]

# A command has at most this many combinations. If there are more, each `${X:-d}` counts by its default; the word that
# would still exceed them becomes unknown, for itself alone.
MOST_COMBINATIONS = 12


def combine(choices: list[list[Choice]], limit: int = MOST_COMBINATIONS) -> list[Choice]:
    """All consistent combinations of the alternatives of consecutive parts of a word."""
    return combinations(choices, NO_GUARDS, limit, lambda _, alternatives: _widened(alternatives))


def combinations(
    choices: Sequence[list[Guarded[Item]]], guards: Guards, limit: int,
    widened: Callable[[int, list[Guarded[Item]]], tuple[Item, ...]],
) -> list[Guarded[Item]]:  # fmt: skip
    """All consistent combinations of consecutive alternatives that hold under `guards`.

    If there are more than `limit`, each `${X:-d}` counts by its default; then `widened` gives what stands for those
    alternatives, by their number, that would still exceed it.
    """
    results: list[Guarded[Item]] = [((), guards)]
    for alternatives in choices:
        results = extended(results, alternatives)
        if len(results) > limit:
            break
    else:
        return results
    results = [((), guards)]
    for number, alternatives in enumerate(map(by_default, choices)):
        longer = extended(results, alternatives)
        if len(longer) > limit:
            unknown = widened(number, alternatives)
            longer = [(items + unknown, guards) for items, guards in results]
        results = longer
    return results


def extended(results: list[Guarded[Item]], alternatives: list[Guarded[Item]]) -> list[Guarded[Item]]:
    """Each result followed by each of the alternatives that is consistent with it."""
    return [
        (items + more, merged)
        for items, guards in results
        for more, other in alternatives
        if (merged := merge_guards(guards, other)) is not None
    ]


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
