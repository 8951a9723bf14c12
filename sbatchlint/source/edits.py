"""Edits of a text, and applying several of them at once."""

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.source.text import Source, Span, lines_of


class Edit(NamedTuple):
    """Replaces the characters of `span` by `content`; an empty span inserts."""

    span: Span
    content: str


def insert(offset: int, content: str) -> Edit:
    return Edit(Span(offset, offset), content)


def remove(span: Span) -> Edit:
    return Edit(span, "")


def replace(span: Span, content: str) -> Edit:
    return Edit(span, content)


def overlap(first: Iterable[Edit], second: Iterable[Edit]) -> bool:
    """Whether two sets of edits touch the same characters, or insert at the same place."""
    other = list(second)
    return any(
        a.span.start < b.span.end and b.span.start < a.span.end or a.span.start == b.span.start or a.span == b.span
        for a in first
        for b in other
    )


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """The edits by their places; insertions at one place keep their order.

    Raises `ValueError` where they overlap, which only those may that remove.
    """
    ordered = sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))
    at, removing = 0, False
    for (start, end), content in ordered:
        if start < at and (content or not removing):
            raise ValueError("overlapping edits")
        at, removing = max(at, end), not content
    return ordered


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; see `in_order`."""
    parts: list[str] = []
    at = 0
    for (start, end), content in in_order(edits):
        parts.append(text[at:start])
        parts.append(content)
        at = max(at, end)
    parts.append(text[at:])
    return "".join(parts)


def edited(source: Source, edits: Iterable[Edit]) -> Source:
    """The source with all edits made; see `in_order`."""
    return source.with_text(apply(source.text, edits))


def edits_between(before: str, after: str) -> list[Edit]:
    """The edits that make one text of another, in order; each replaces, adds or removes whole lines."""
    from sbatchlint.source.differences import changes  # needed where somebody asks for edits only

    old, new = lines_of(before), lines_of(after)
    starts = [0, *accumulate(map(len, old))]
    return [
        Edit(Span(starts[low], starts[high]), "".join(new[new_low:new_high]))
        for low, high, new_low, new_high in changes(old, new)
    ]
