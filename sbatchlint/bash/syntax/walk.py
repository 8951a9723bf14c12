"""Walking a syntax tree without evaluating it."""

from collections import defaultdict
from itertools import chain
from typing import Any, TypeVar

from sbatchlint.bash.syntax.tree import ArithmeticFor, Assignment, For, Heredoc, Literal, Node, Program, While, Word

Kind = TypeVar("Kind", bound=Node)

# What the fields of nodes hold besides nodes and tuples.
_SCALARS = frozenset((str, int, bool, type(None)))

# The nodes by class of the trees that were walked last, by the identity of the tree: several functions walk the same.
_recent: dict[int, tuple[object, dict[type[Node], list[Any]]]] = {}
# At most this many, small ones among them: a script with dozens of programs in strings has more than a hundred.
_MOST_RECENT = 1024


def nodes(tree: object) -> list[Node]:
    """Every node of a tree, in no particular order."""
    return list(chain.from_iterable(_by_class(tree).values()))


def nodes_of(tree: object, kind: type[Kind]) -> list[Kind]:
    """Every node of one class, in no particular order. The list is shared: it is not to be changed."""
    return _by_class(tree).get(kind, [])


def loops_of(tree: object) -> list[For | ArithmeticFor | While]:
    """Every loop of a tree, in no particular order."""
    return [*nodes_of(tree, For), *nodes_of(tree, ArithmeticFor), *nodes_of(tree, While)]


def _by_class(tree: object) -> dict[type[Node], list[Any]]:
    known = _recent.get(id(tree))
    if known is not None:
        return known[1]
    if len(_recent) == _MOST_RECENT:
        _recent.clear()
    found = _collected(tree)
    _recent[id(tree)] = tree, found  # with the tree itself, so that its identity stays its own
    return found


def release() -> None:
    """Releases the trees that were walked."""
    _recent.clear()


def _collected(tree: object) -> dict[type[Node], list[Any]]:
    found: defaultdict[type[Node], list[Any]] = defaultdict(list)
    pending: list[Any] = [tree]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is tuple:
            pending += item
        elif kind is Literal:
            found[Literal].append(item)  # it holds no other node
        elif kind is Word:
            found[Word].append(item)
            pending += item.parts
        elif kind not in _SCALARS:
            found[kind].append(item)
            pending += item.__dict__.values()
    return found


def literal_text(word: Word | Assignment) -> str | None:
    """The text of a word that is one literal, quoted or not; None for other words."""
    part = word.parts[0] if isinstance(word, Word) and len(word.parts) == 1 else None
    return part.text if isinstance(part, Literal) else None


def unquoted_text(word: Word | Assignment) -> str | None:
    """The text of a word that is one unquoted literal; None for other words."""
    part = word.parts[0] if isinstance(word, Word) and len(word.parts) == 1 else None
    return part.text if isinstance(part, Literal) and not part.quoted else None


def quoted_ranges(program: Program) -> list[tuple[int, int]]:
    """The ranges of the text that are quoted, or the body of a heredoc."""
    found = [(node.start, node.end) for node in nodes_of(program, Literal) if node.quoted]
    found.extend((node.body.start, node.body.end) for node in nodes_of(program, Heredoc))
    return found
