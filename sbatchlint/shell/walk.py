"""Walking a syntax tree without evaluating it."""

from __future__ import annotations

from collections.abc import Iterator

from .syntax import Heredoc, Literal, Node, Program


def nodes(tree: object) -> Iterator[Node]:
    """Every node of a tree, in no particular order."""
    pending = [tree]
    while pending:
        each = pending.pop()
        if isinstance(each, Node):
            yield each
            pending.extend(each)
        elif isinstance(each, tuple):
            pending.extend(each)


def quoted_ranges(program: Program) -> list[tuple[int, int]]:
    """The ranges of the text that are quoted, or the body of a heredoc."""
    found: list[tuple[int, int]] = []
    for node in nodes(program):
        if isinstance(node, Literal) and node.quoted:
            found.append((node.start, node.end))
        elif isinstance(node, Heredoc):
            found.append((node.body.start, node.body.end))
    return found
