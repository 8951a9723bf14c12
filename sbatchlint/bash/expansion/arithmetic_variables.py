"""How arithmetic reads and sets the shell's variables."""

import re

from sbatchlint.bash.expansion.arithmetic import NotUnderstood, Refused, is_plain_number, is_zero, may_be_invalid
from sbatchlint.bash.expansion.assignment import set_variable
from sbatchlint.bash.expansion.lookup import elements
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.expansion.words import Expander
from sbatchlint.bash.values import Expansion, Piece, expansions, flattened, text_of, texts_of
from sbatchlint.bash.variables import PARTLY_READONLY, assumed_defaults
from sbatchlint.source.text import Span


class ShellVariables:
    """Variables for one expression. `unknown`: whether one of those that were read is unknown.

    `fallible`: whether the shell may stop at a division. `changing`: whether something is assigned. `risky`: whether
    one of the values that a variable is known to have may be invalid, or the variable read-only; `may_be_zero`: whether
    one of several values is 0.
    """

    def __init__(self, expander: Expander, scope: Scope, inputs: dict[Expansion, None]) -> None:
        self.expander = expander
        self.scope = scope
        self.inputs = inputs
        self.unknown = False
        self.fallible = False
        self.changing = False
        self.risky = self.may_be_zero = False
        start = scope.text.offset(0)
        self.span = Span(start, start)

    def text(self, name: str, index: int | str | None) -> str | None:
        found: set[str | None] = set()
        if name == "sbatchlint_unknown" or name == "RANDOM" and name not in self.scope.state.variables:
            found.add(None)
        else:
            values = elements(self.expander.substituter.environment, name, index, self.scope, self.span)
            if len(values) == 1 and assumed_defaults(values[0][1], self.scope.context.guards, ()):
                found.add(None)
            for fields, _ in values:
                if fields is None:
                    if self.scope.state.option("nounset") is not False:
                        self.scope.state.doubtful = True
                    found.add("")
                    continue
                field = fields[0] if fields else ()
                self.inputs.update(dict.fromkeys(expansions(field)))
                text = text_of(field)
                found.add(text)
                if text is None or len(values) > 1:
                    self.risky = self.risky or may_be_invalid(texts_of(field))
        if len(found) > 1 and not all(is_plain_number(each) for each in found if each is not None):
            # one of its values may be invalid, or assign
            self.scope.state.doubtful = True
        self.may_be_zero = self.may_be_zero or any(is_zero(each) for each in found)
        text = found.pop() if len(found) == 1 else None
        self.unknown = self.unknown or text is None
        return text

    def assign(self, name: str, index: int | str | None, value: int | None) -> None:
        scope = self.scope
        self.changing = True
        if name == "sbatchlint_unknown":
            raise NotUnderstood(name)
        old = scope.state.variables.get(scope.state.target(name))
        if old is not None and "r" in old.flags:
            raise Refused(name)
        self.risky = self.risky or old is not None and PARTLY_READONLY in old.flags
        span = old.span if old else self.span
        expansion = Expansion(f"$(({name}))", span, scope.context.phase, flattened(self.inputs))
        piece = Piece(None if value is None else str(value), *span, expansion, filled=True)
        set_variable(self.expander, name, (piece,), scope, span, index)

    def may_fail(self) -> None:
        self.fallible = True

    def key(self, name: str, subscript: str) -> str | None:
        variable = self.scope.state.variables.get(self.scope.state.target(name))
        if variable is None or "A" not in variable.flags:
            return None
        if not re.fullmatch(r"\w+", subscript):
            raise NotUnderstood(subscript)
        return subscript
