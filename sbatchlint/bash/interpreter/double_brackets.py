"""Whether `[[ … ]]` holds, from its words and operators."""

from collections.abc import Sequence

from sbatchlint.bash.expansion.assignment import set_array
from sbatchlint.bash.expansion.lookup import elements
from sbatchlint.bash.expansion.patterns import text_matches
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.interpreter.conditions import (
    BINARY,
    NUMERIC,
    UNARY,
    UNKNOWN_UNARY,
    Condition,
    compare_numbers,
    in_order,
    is_empty,
    negate,
    regex_matches,
)
from sbatchlint.bash.syntax.tree import Literal, Word
from sbatchlint.bash.values import Pieces, flattened, least_size, text_of
from sbatchlint.bash.values import expansions as expansions_of
from sbatchlint.bash.variables import Alternative, Fields, Guards

Values = list[tuple[Pieces, Guards]]


class BracketCondition(Condition):
    """A `[[ … ]]`: its words, and the values of each."""

    OR = "||"
    AND = "&&"

    def __init__(self, interpreter: Interpreter, words: Sequence[Word], values: Sequence[Values], scope: Scope) -> None:
        super().__init__(lambda operator, name: holds(interpreter, operator, name, scope))
        self.interpreter = interpreter
        self.words = words
        self.values = values
        self.scope = scope

    def status(self) -> int | None:
        truth = self.disjunction()
        if self.at < len(self.words):
            return None
        return None if truth is None else 1 - truth

    def word(self, ahead: int = 0) -> str:
        """The word as written, where nothing in it is quoted or expanded; "" for an operand."""
        index = self.at + ahead
        if index >= len(self.words):
            return ""
        parts = self.words[index].parts
        return parts[0].text if len(parts) == 1 and isinstance(parts[0], Literal) and not parts[0].quoted else ""

    def field(self, ahead: int = 0) -> Pieces | None:
        """The value of an operand; None where it has several, or there is no such word."""
        index = self.at + ahead
        values = self.values[index] if index < len(self.values) else []
        return values[0][0] if len(values) == 1 else None

    def term(self) -> bool | None:
        word = self.word()
        left = len(self.words) - self.at
        if word == "!" and left > 1:
            self.at += 1
            return negate(self.term())
        if word == "(" and left > 2:
            self.at += 1
            value = self.disjunction()
            self.at += 1
            return value
        second = self.word(1)
        if left >= 3 and second in BINARY:
            value = self.binary(second)
            self.at += 3
            return value
        if left >= 2 and (word in UNARY or word in UNKNOWN_UNARY) and second not in ("&&", "||", ")"):
            operand = self.field(1)
            self.at += 2
            return None if operand is None else self.unary(word, operand)
        field = self.field()
        self.at += 1
        return None if field is None else negate(is_empty(field))

    def binary(self, operator: str) -> bool | None:
        left, right = self.field(), self.field(2)
        word = self.words[self.at + 2]
        if operator in NUMERIC:
            return compare_numbers(self.number(left), operator, self.number(right))
        if operator == "=~":
            return self.regex(word)
        if left is None:
            return None
        if operator in ("=", "==", "!="):
            same = self.matching(left, right, word)
            return negate(same) if operator == "!=" else same
        if operator in ("<", ">"):
            return None if right is None else in_order(text_of(left), operator, text_of(right))
        return None

    def matching(self, left: Pieces, right: Pieces | None, word: Word) -> bool | None:
        pattern: str | None = None
        if all(isinstance(part, Literal) for part in word.parts):
            pattern = self.interpreter.expander.pattern(word, self.scope)
        elif right is not None and text_of(right) is not None:
            found = self.interpreter.silently(lambda: self.interpreter.expander.pattern(word, self.scope))
            pattern = None if found is None else found[0]
        return text_matches(pattern, left, True, self.scope.state.option("nocasematch"))

    def regex(self, word: Word) -> bool | None:
        """Whether the value at the cursor matches a regular expression, which sets BASH_REMATCH for each value."""
        found = self.interpreter.silently(lambda: self.interpreter.expander.pattern(word, self.scope))
        source = None if found is None else found[0]
        is_exact = self.scope.state.option("nocasematch") is False
        name, span = "BASH_REMATCH", self.scope.span(word)
        truths: set[bool | None] = set()
        alternatives: list[Alternative] = []
        for value, guards in self.values[self.at]:
            text = text_of(value)
            truth, groups = None, None
            if is_exact and source is not None and text is not None:
                truth, groups = regex_matches(text, source)
            truths.add(truth)
            inputs = flattened(expansions_of(value))
            fields: Fields = (self.scope.unknown(name, span, inputs, is_open=True),)
            if groups is not None:
                fields = tuple([(self.scope.expanded(group, name, span, inputs),) if group else () for group in groups])
            alternatives.append(Alternative(fields, guards))
        if not alternatives:
            alternatives.append(Alternative((self.scope.unknown(name, span, is_open=True),)))
        set_array(self.scope, name, tuple(alternatives), span)
        return truths.pop() if len(truths) == 1 else None

    def number(self, field: Pieces | None) -> int | None:
        """The value of an operand of `-eq` and the like, which is an arithmetic expression; None where unknown."""
        text = None if field is None else text_of(field)
        if text is None:
            return None
        value, wrong = self.interpreter.expander.number_of(text, self.scope, {})
        return value if wrong is False else None


def holds(interpreter: Interpreter, operator: str, name: str, scope: Scope) -> bool | None:
    """Whether `-v NAME` or `-t NUMBER` holds; None where unknown."""
    if operator == "-t":
        return interpreter.environment.is_terminal(name, scope.context)
    return is_set(interpreter, name, scope)


def is_set(interpreter: Interpreter, name: str, scope: Scope) -> bool | None:
    """Whether `-v NAME` or `-v NAME[i]` holds; None where unknown."""
    variable, bracket, rest = name.partition("[")
    if not variable.isidentifier() or bracket and not rest.endswith("]"):
        return None
    index: int | str | None = None
    variable = scope.state.target(variable)
    found = scope.state.variables.get(variable)
    if bracket:
        subscript = rest[:-1]
        if found is not None and "A" in found.flags:
            if any(each in subscript for each in "$`'\"\\"):  # which bash expands
                return None
            index = subscript
        else:
            number = interpreter.expander.integer_of(subscript, scope)
            index = "" if number is None else number
    known: set[bool | None] = set()
    # whatever its value is; what only the environment may set may be not set
    is_certain = found is not None and not found.array and all(each.fields is not None for each in found.alternatives)
    for fields, _ in elements(interpreter.environment, variable, index, scope, scope.text.span(0, 0)):
        if not fields:
            known.add(False)
        elif text_of(fields[0]) is not None or least_size(fields[0]) or is_certain:
            known.add(True)
        else:
            known.add(None)
    return known.pop() if len(known) == 1 else None
