"""Walking a syntax tree without evaluating it."""

from sbatchlint.bash.syntax.tree import Heredoc, Literal, Node, Program

# The fields that may hold nodes, by class: all that are not annotated as text, number or flag.
_PLAIN = frozenset(("str", "int", "bool", "str | None", "int | None", "bool | None"))
_holding: dict[type[object], tuple[str, ...]] = {}
# The nodes of the trees walked last, as several functions walk the same ones.
_recent: list[tuple[object, list[Node]]] = []
_MOST_RECENT = 8


def nodes(tree: object) -> list[Node]:
    """Every node of a tree, in no particular order. The list is shared: it is not to be changed."""
    for root, known in _recent:
        if root is tree:
            return known
    found = _collected(tree)
    _recent.insert(0, (tree, found))
    del _recent[_MOST_RECENT:]
    return found


def _collected(tree: object) -> list[Node]:
    found: list[Node] = []
    pending: list[object] = [tree]
    while pending:
        each = pending.pop()
        kind = type(each)
        if kind is tuple:
            pending.extend(each)  # type: ignore[arg-type]
            continue
        fields = _holding.get(kind)
        if fields is None:
            if not isinstance(each, Node):
                continue
            fields = _holding[kind] = _fields(type(each))
        found.append(each)  # type: ignore[arg-type]
        if fields:
            values = each.__dict__
            for name in fields:
                value = values[name]
                if value:
                    pending.append(value)
    return found


def _fields(kind: type[Node]) -> tuple[str, ...]:
    annotations: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        annotations.update(vars(base).get("__annotations__", {}))  # annotations as text
    return tuple(name for name in kind._fields if annotations.get(name) not in _PLAIN)


def quoted_ranges(program: Program) -> list[tuple[int, int]]:
    """The ranges of the text that are quoted, or the body of a heredoc."""
    found: list[tuple[int, int]] = []
    for node in nodes(program):
        if isinstance(node, Literal) and node.quoted:
            found.append((node.start, node.end))
        elif isinstance(node, Heredoc):
            found.append((node.body.start, node.body.end))
    return found
