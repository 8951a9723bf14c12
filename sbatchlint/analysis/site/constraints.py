"""What --constraint asks of nodes: `rome&ib`, `(a|b)&c`, `[a*2&b*3]`, `[a|b]`.

`_valid_feature_list()` and `_get_req_features()` in src/slurmctld (node_scheduler.c, job_scheduler.c since 23.02). In
which order `&` and `|` beside each other count is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.regex import Regex

_TOKENS = Regex(r"[&|,()]|\*[ \t]*[0-9]*|[^&|,()*]+")
_ALL, _ANY = "&", "|"


class Expression(NamedTuple):
    """A feature by its `name`, or all (`&`) or any (`|`) of the `parts`; `number`: of nodes, 0 where none is said."""

    name: str
    operator: str = ""
    parts: tuple[Expression, ...] = ()
    number: int = 0

    def holds(self, features: set[str]) -> bool:
        """Whether a node with these features is what it asks for."""
        if not self.operator:
            return self.name in features
        return (all if self.operator == _ALL else any)(part.holds(features) for part in self.parts)

    def said(self, inside: bool = False) -> str:
        """In a message."""
        if not self.operator:
            return self.name
        text = (" and " if self.operator == _ALL else " or ").join(part.said(True) for part in self.parts)
        return f"({text})" if inside else text


class Constraint(NamedTuple):
    """`of_each`: what each node must be; `alike`: all nodes must be one of these; `of_some`: so many must be that."""

    of_each: Expression | None = None
    alike: tuple[Expression, ...] = ()
    of_some: tuple[Expression, ...] = ()


def constraint_of(text: str | None) -> Constraint:
    """What an expression asks for; nothing where that is not known."""
    text = (text or "").strip()
    bracketed = text.startswith("[") and text.endswith("]")
    inner = text[1:-1] if bracketed else text
    if not inner or "[" in inner or "]" in inner:
        return Constraint()
    tokens = [token.strip() for token in _TOKENS.findall(inner.replace(",", _ALL)) if token.strip()]
    found = _expression(iter([*tokens, ""]), "")
    if found is None:
        return Constraint()
    parts = found.parts if found.operator and not found.number else (found,)
    if any(inside.number for part in parts for inside in _within(part)):
        return Constraint()
    counted = any(part.number for part in parts)
    if found.operator == _ANY and counted:
        return Constraint()
    if counted or bracketed and found.operator == _ALL:
        return Constraint(of_some=tuple(part._replace(number=part.number or 1) for part in parts))
    return Constraint(found, parts if bracketed and found.operator else ())


def _within(expression: Expression) -> Iterator[Expression]:
    for part in expression.parts:
        yield part
        yield from _within(part)


def _expression(tokens: Iterator[str], end: str) -> Expression | None:
    """The expression up to its end, a parenthesis or ''; None for one that is not known, or none."""
    parts: list[Expression] = []
    operators = set()
    needed = True
    for token in tokens:
        if token == end:
            break
        if token in ("", ")"):
            return None
        if token in (_ALL, _ANY):
            if needed:
                return None
            operators.add(token)
            needed = True
        elif token.startswith("*"):
            if needed or parts[-1].number:
                return None
            parts[-1] = parts[-1]._replace(number=whole(token[1:].strip()) or 0)
        elif not needed:
            return None
        else:
            part = _expression(tokens, ")") if token == "(" else Expression(token)
            if part is None:
                return None
            parts.append(part)
            needed = False
    if needed or len(operators) > 1:
        return None
    return parts[0] if len(parts) == 1 else Expression("", operators.pop(), tuple(parts))
