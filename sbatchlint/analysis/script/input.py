"""Which commands of a script inherit the standard input of the enclosing statements."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticFor,
    Background,
    Case,
    CommandSubstitution,
    For,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    Redirect,
    Simple,
    While,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.source.regex import Regex

# How deep calls of functions are followed.
DEPTH = 4
# `-u 3`, `-ru3`; what follows `-d`, `-p` and the like is their value.
_OTHER_DESCRIPTOR = Regex(r"-[ers]*u(?!0$)")


class Reader(NamedTuple):
    """A command that inherits the standard input of certain statements.

    `background`: whether it runs in the background of these. `called`: whether it runs in a function.
    """

    command: Simple
    background: bool
    called: bool


def readers(
    body: Iterable[Node], functions: dict[str, Function], background: bool = False, called: int = 0
) -> Iterator[Reader]:
    """The commands that inherit the standard input of these statements, in order."""
    for node in body:
        redirects: tuple[Redirect, ...] = getattr(node, "redirects", ())
        if any(each.operator.startswith("<") and each.fd in (None, "0") for each in redirects):
            continue
        inner: tuple[Node, ...] = ()
        if isinstance(node, Simple):
            yield Reader(node, background, bool(called))
            name = name_of(node)
            if name in functions and called < DEPTH:
                yield from readers([functions[name].body], functions, background, called + 1)
            if any(isinstance(part, CommandSubstitution) for word in node.words for part in getattr(word, "parts", ())):
                inner = tuple(nodes_of(node, CommandSubstitution))
        elif isinstance(node, CommandSubstitution):
            inner = node.body
        elif isinstance(node, Pipeline):
            inner = node.commands[:1]
        elif isinstance(node, AndOr):
            inner = (node.left, node.right)
        elif isinstance(node, Background):
            yield from readers([node.statement], functions, True, called)
        elif isinstance(node, If):
            for condition, statements in node.branches:
                yield from readers((*condition, *statements), functions, background, called)
            inner = node.otherwise or ()
        elif isinstance(node, While):
            inner = (*node.condition, *node.body)
        elif isinstance(node, (For, ArithmeticFor, Group)):
            inner = node.body
        elif isinstance(node, Case):
            inner = tuple(each for _, statements, _ in node.items for each in statements)
        yield from readers(inner, functions, background, called)


def name_of(node: Simple) -> str:
    """The name of a command; '' if it is not one literal word."""
    parts: tuple[object, ...] = getattr(node.words[0], "parts", ()) if node.words else ()
    return str(getattr(parts[0], "text", "")) if len(parts) == 1 else ""


def is_read(string: str, node: Simple) -> bool:
    """Whether a command is a `read` from standard input."""
    if name_of(node) != "read":
        return False
    words = [string[word.start : word.end] for word in node.words[1:]]
    return not any(_OTHER_DESCRIPTOR.match(word) for word in words)
