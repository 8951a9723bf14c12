"""Shell arithmetic: `$((…))`, `((…))`, `let`, subscripts. Values are integers or None (unknown)."""

from __future__ import annotations

from collections.abc import Callable

from ..source.records import NamedTuple
from ..source.regex import Regex

TOKEN = Regex(
    r"\s*(?:(?P<number>\d+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]+|\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:,()\[\]]))"
)
PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
ASSIGNING = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
LARGEST = 1 << 63


class NotUnderstood(Exception):
    """The expression is not arithmetic, or holds something unknown in a place that decides its shape."""


class Result(NamedTuple):
    """The value (None: unknown), and the variables that the expression sets."""

    value: int | None
    assigned: tuple[tuple[str, int | None], ...]


def parse_number(text: str) -> int | None:
    """A number as the shell reads it: `0x1f`, `010` (octal), `10#08`; None for anything else."""
    try:
        if "#" in text:
            base, _, digits = text.partition("#")
            return int(digits, int(base))
        if text[:2].lower() == "0x":
            return int(text, 16)
        if len(text) > 1 and text[0] == "0":
            return int(text, 8)
        return int(text)
    except ValueError:
        return None


def _combine(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        if operator == "&&" and (left == 0 or right == 0):
            return 0
        if operator == "||" and (left not in (None, 0) or right not in (None, 0)):
            return 1
        return 0 if operator == "*" and 0 in (left, right) else None
    match operator:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/" | "%":
            if right == 0:
                return None
            quotient = abs(left) // abs(right)
            quotient = quotient if (left < 0) == (right < 0) else -quotient
            value = quotient if operator == "/" else left - right * quotient
        case "**":
            if right < 0 or right > 64:
                return None
            value = left**right
        case "<<" | ">>":
            if not 0 <= right < 64:
                return None
            value = left << right if operator == "<<" else left >> right
        case "&":
            value = left & right
        case "|":
            value = left | right
        case "^":
            value = left ^ right
        case "==":
            value = int(left == right)
        case "!=":
            value = int(left != right)
        case "<":
            value = int(left < right)
        case ">":
            value = int(left > right)
        case "<=":
            value = int(left <= right)
        case ">=":
            value = int(left >= right)
        case "&&":
            value = int(bool(left and right))
        case _:
            value = int(bool(left or right))
    return (value + LARGEST) % (2 * LARGEST) - LARGEST


class _Parser:
    def __init__(self, text: str, lookup: Callable[[str], int | None]) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match or match.lastgroup is None:
                raise NotUnderstood(text)
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.at = 0
        self.lookup = lookup
        self.assigned: dict[str, int | None] = {}

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> tuple[str, str]:
        if self.at >= len(self.tokens) or expected and self.tokens[self.at][1] != expected:
            raise NotUnderstood(expected)
        self.at += 1
        return self.tokens[self.at - 1]

    def value_of(self, name: str) -> int | None:
        return self.assigned[name] if name in self.assigned else self.lookup(name)

    def comma(self) -> int | None:
        value = self.assignment()
        while self.peek() == ",":
            self.take()
            value = self.assignment()
        return value

    def assignment(self) -> int | None:
        if self.at + 1 < len(self.tokens) and self.tokens[self.at][0] == "name":
            name, operator = self.tokens[self.at][1], self.tokens[self.at + 1][1]
            if operator in ASSIGNING:
                self.at += 2
                value = self.assignment()
                if operator != "=":
                    value = _combine(operator[:-1], self.value_of(name), value)
                self.assigned[name] = value
                return value
        return self.ternary()

    def ternary(self) -> int | None:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take()
        first = self.assignment()
        self.take(":")
        second = self.assignment()
        return None if condition is None else first if condition else second

    def binary(self, least: int) -> int | None:
        left = self.unary()
        while (power := PRECEDENCE.get(self.peek(), -1)) > least:
            operator = self.take()[1]
            right = self.binary(power - 1 if operator == "**" else power)
            left = _combine(operator, left, right)
        return left

    def unary(self) -> int | None:
        kind, text = self.take()
        if kind == "number":
            return parse_number(text)
        if kind == "name":
            return self.name(text)
        if text == "(":
            value = self.comma()
            self.take(")")
            return value
        if text in ("++", "--"):
            name = self.take()[1]
            self.assigned[name] = _combine(text[0], self.value_of(name), 1)
            return self.assigned[name]
        if text in "-+!~":
            value = self.unary()
            if value is None:
                return None
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[text]
        raise NotUnderstood(text)

    def name(self, name: str) -> int | None:
        if self.peek() == "[":
            self.take()
            self.comma()
            self.take("]")
            if self.peek() in ASSIGNING:
                self.take()
                self.assignment()
            return None
        value = self.value_of(name)
        if self.peek() in ("++", "--"):
            operator = self.take()[1][0]
            self.assigned[name] = _combine(operator, value, 1)
        return value


def evaluate(text: str, lookup: Callable[[str], int | None]) -> Result:
    """The value of an expression in which every `$…` is already replaced. Raises `NotUnderstood`."""
    if not text.strip():
        return Result(0, ())
    parser = _Parser(text, lookup)
    value = parser.comma()
    if parser.at < len(parser.tokens):
        raise NotUnderstood(text)
    return Result(value, tuple(parser.assigned.items()))
