"""Answers that fit: what a model reads takes up room, so each answer has a size that it never exceeds."""

import json
from collections.abc import Sequence
from typing import Any

# The size of an answer by its level of detail, in tokens; a token is about four characters.
TOKENS = {"brief": 2_000, "full": 10_000}
PER_TOKEN = 4
# Texts are cut to ever fewer characters, until an answer fits.
_CUTS = (2_000, 1_000, 500, 250, 120, 60, 30)


def characters(detail: str) -> int:
    """How many characters an answer may have."""
    return TOKENS[detail] * PER_TOKEN


def written(value: object) -> str:
    """The value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: object) -> int:
    """How many characters a value has in an answer, with the comma after it."""
    return len(written(value)) + 1


def page(items: Sequence[Any], start: int, room: int) -> tuple[list[Any], int]:
    """The items from `start` on that fit, the first one shortened if it has to be; and where the next page begins."""
    taken = list[Any]()
    for item in items[start:]:
        needed = size(item)
        if needed > room and not taken:
            item = shortened(item, room)
            needed = size(item)
        if needed > room and taken:
            break
        taken.append(item)
        room -= needed
    return taken, start + len(taken)


def shortened(value: Any, room: int) -> Any:
    """A value whose texts are cut so far that it fits; its lists, too, if that is not enough."""
    if size(value) <= room:
        return value
    for most in _CUTS:
        cut = _cut(value, most, len(str(value)))
        if size(cut) <= room:
            return cut
    for most in (20, 10, 5, 2, 1, 0):
        cut = _cut(value, _CUTS[-1], most)
        if size(cut) <= room:
            return cut
    return "left out: it is too large"


def _cut(value: Any, most: int, items: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}… ({len(value) - most} characters more)"
    if isinstance(value, dict):
        return {key: _cut(each, most, items) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        left = len(value) - items
        kept = [_cut(each, most, items) for each in value[:items]]
        return [*kept, f"… ({left} more)"] if left > 0 else kept
    return value
