"""Walking a syntax tree without evaluating it."""

from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from sbatchlint.bash.syntax.tree import Heredoc, Literal, Node, Parameter, Program, Simple, Word

Kind = TypeVar("Kind", bound=Node)

# What gives the fields that may hold nodes, by class: all that are not annotated as text, number or flag.
_PLAIN = frozenset((str, int, bool, str | None, int | None, bool | None))
_inside: dict[type[object], Callable[[object], tuple[object, ...]] | None] = {}
# Seven of ten nodes, which few ask for: they are not gathered with the others.
_TEXTS = frozenset((Word, Literal))
# The nodes by class of the trees that were walked last, by the identity of the tree, and whether these are among them:
# several functions walk the same.
_recent: dict[tuple[int, bool], tuple[object, dict[type[Node], list[Any]]]] = {}
# At most so many, small ones among them: a script with dozens of programs in strings has more than a hundred.
_MOST_RECENT = 1024


def nodes(tree: object) -> list[Node]:
    """Every node of a tree, in no particular order."""
    return list(chain.from_iterable(_by_class(tree, True).values()))


def nodes_of(tree: object, kind: type[Kind]) -> list[Kind]:
    """Every node of one class, in no particular order. The list is shared: it is not to be changed."""
    return _by_class(tree, kind in _TEXTS).get(kind, [])


def _by_class(tree: object, with_texts: bool) -> dict[type[Node], list[Any]]:
    known = _recent.get((id(tree), with_texts))
    if known is not None:
        return known[1]
    if len(_recent) == _MOST_RECENT:
        _recent.clear()
    found = _collected(tree, with_texts)
    _recent[id(tree), with_texts] = tree, found  # with the tree itself, so that its identity stays its own
    return found


def forget() -> None:
    """Lets go of the trees that were walked."""
    _recent.clear()


def _collected(tree: object, with_texts: bool) -> dict[type[Node], list[Any]]:
    commands: list[Any] = []
    parameters: list[Any] = []
    found: defaultdict[Any, list[Any]] = defaultdict(list, {Simple: commands, Parameter: parameters})
    pending: list[Any] = [tree]
    while pending:
        each = pending.pop()
        kind = type(each)
        if kind is Word:
            if with_texts:
                found[Word].append(each)
                pending += each.parts
                continue
            for part in each.parts:
                kind = type(part)
                if kind is Parameter and not part.arguments and part.index is None:
                    parameters.append(part)
                elif kind is not Literal:
                    pending.append(part)
        elif kind is Simple:
            commands.append(each)
            pending += each.words
            pending += each.assignments
            pending += each.redirects
        elif kind is tuple:
            pending += each
        elif isinstance(each, Node):
            found[kind].append(each)
            if kind not in _inside:
                _inside[kind] = _reader(kind)
            inside = _inside[kind]
            if inside is not None:
                pending += filter(None, inside(each))
    return found


def _reader(kind: type[Any]) -> Callable[[object], tuple[object, ...]] | None:
    """What gives, of a class of nodes, what may hold nodes: the fields, or the elements of the only one."""
    annotations: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        annotations.update(vars(base).get("__annotations__", {}))
    fields = [name for name in kind._fields if annotations.get(name) not in _PLAIN]
    if not fields:
        return None
    get = attrgetter(*fields)
    if len(fields) > 1 or str(annotations[fields[0]]).startswith("tuple["):
        return get
    return lambda node: (get(node),)


def quoted_ranges(program: Program) -> list[tuple[int, int]]:
    """The ranges of the text that are quoted, or the body of a heredoc."""
    found = [(node.start, node.end) for node in nodes_of(program, Literal) if node.quoted]
    found.extend((node.body.start, node.body.end) for node in nodes_of(program, Heredoc))
    return found
