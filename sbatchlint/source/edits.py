"""Edits of a text, and applying several of them at once."""

from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.source.text import Span


class Edit(NamedTuple):
    """Replaces the characters of `span` by `content`; an empty span inserts."""

    span: Span
    content: str


def overlap(first: Iterable[Edit], second: Iterable[Edit]) -> bool:
    """Whether two sets of edits touch the same characters, or insert at the same place."""
    other = list(second)
    return any(
        a.span.start < b.span.end and b.span.start < a.span.end or a.span.start == b.span.start or a.span == b.span
        for a in first
        for b in other
    )


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Only those may overlap that remove; insertions at one place keep their order."""
    parts: list[str] = []
    at, removing = 0, False
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        if edit.span.start < at and (edit.content or not removing):
            raise ValueError("overlapping edits")
        parts.append(text[at : edit.span.start])
        parts.append(edit.content)
        at, removing = max(at, edit.span.end), not edit.content
    parts.append(text[at:])
    return "".join(parts)
