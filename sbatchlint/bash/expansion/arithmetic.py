"""Shell arithmetic: `$((…))`, `((…))`, `let`, subscripts. Values are integers or None (unknown)."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor
from typing import Protocol

from sbatchlint.bash.syntax.parser import parse_word_text
from sbatchlint.bash.syntax.tree import Word
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

TOKEN = Regex(
    r"\s*(?:(?P<number>\d+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]*|\d+)(?![\w#@])|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:,()\[\]]))"
)
PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
# Whether an expression assigns something.
CHANGING = Regex(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--")
LARGEST = 1 << 63
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"
# Values of variables are expressions too, which are followed to this depth.
DEEPEST = 8
# Longer expressions are unknown.
LONGEST = 2000

# Whether a part of an expression is evaluated: no, maybe (beside an unknown operand), yes.
OFF, MAYBE, ON = 0, 1, 2


class NotUnderstood(Exception):
    """The expression is not arithmetic, or the shell would stop at it."""


class AlwaysWrong(NotUnderstood):
    """The expression is wrong whatever the values of the variables are that are not known."""


class BadSubscript(NotUnderstood):
    """A subscript is not arithmetic, at which the shell abandons the command, even where it is `((…))` or `[[…]]`."""


class Refused(NotUnderstood):
    """What is assigned to is read-only."""


class ArithmeticVariables(Protocol):
    """How arithmetic reads and sets the variables of the shell."""

    def text(self, name: str, index: int | str | None) -> str | None:
        """The text of a variable ("" if it is not set); None where that is unknown. `index`: "" if not known."""

    def assign(self, name: str, index: int | str | None, value: int | None) -> None:
        """Sets a variable. Raises `Refused`."""

    def may_fail(self) -> None:
        """Notes that the shell may stop here, as at a division by 0."""

    def key(self, name: str, subscript: str) -> str | None:
        """The key of an associative array; None for other variables, whose subscripts are numbers."""


def parse_number(string: str, wrapping: bool = True) -> int | None:
    """A number as the shell reads it: `0x1f`, `010` (octal), `10#08`; None for anything else.

    One that is too large wraps in arithmetic, and becomes the largest where `printf` reads it.
    """
    fit = _wrapped if wrapping else _limited
    sign = -1 if string[:1] == "-" else 1
    digits = string[1:] if string[:1] in ("-", "+") else string
    if not digits.isascii() or not is_number(digits[:1]):
        return None
    if "#" in digits:
        base, _, rest = digits.partition("#")
        if not is_number(base) or not 2 <= parse_integer(base[:6]) <= 64 or not rest:
            return None
        value = _in_base(rest, parse_integer(base))
        return None if value is None else fit(sign * value)
    if digits in ("0x", "0X"):
        return 0 if wrapping else None
    if digits[:2] in ("0x", "0X"):
        return fit(sign * parse_integer(digits[2:], 16)) if re.fullmatch(r"[0-9a-fA-F]+", digits[2:]) else None
    if not is_number(digits):
        return None
    if digits[0] == "0":
        return fit(sign * parse_integer(digits, 8)) if digits.strip("01234567") == "" else None
    return fit(sign * parse_integer(digits)) if len(digits) < 200 else None


def is_plain_number(string: str | None) -> bool:
    """Whether a text is known, and a number or empty, so that evaluating it changes nothing and never fails."""
    return string is not None and (not string.strip() or parse_number(string.strip()) is not None)


def _value(digit: str, base: int) -> int:
    found = DIGITS.find(digit)
    return found - 26 if base <= 36 and 36 <= found < 62 else found


def _in_base(digits: str, base: int) -> int | None:
    value = 0
    for digit in digits:
        number = _value(digit, base)
        if not 0 <= number < base:
            return None
        value = value * base + number
    return value


def _limited(value: int) -> int:
    return max(-LARGEST, min(value, LARGEST - 1))


def _wrapped(value: int) -> int:
    return (value + LARGEST) % (2 * LARGEST) - LARGEST


# Operators that Python computes in the same way.
_RESULTS: dict[str, Callable[[int, int], int]] = {
    "+": add, "-": sub, "*": mul, "&": and_, "^": xor, "|": or_,
    "==": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge,
}  # fmt: skip


def combine(operator: str, left: int | None, right: int | None) -> int | None:
    """The result of an operator other than an assignment."""
    if left is None or right is None:
        if operator == "&&" and (left == 0 or right == 0):
            return 0
        if operator == "||" and (left not in (None, 0) or right not in (None, 0)):
            return 1
        return 0 if operator == "*" and 0 in (left, right) else None
    if operator in _RESULTS:
        return _wrapped(_RESULTS[operator](left, right))
    match operator:
        case "/" | "%":
            if right == 0:
                raise NotUnderstood("division by 0")
            quotient = abs(left) // abs(right)
            quotient = quotient if (left < 0) == (right < 0) else -quotient
            value = quotient if operator == "/" else left - right * quotient
        case "**":
            if right < 0:
                raise NotUnderstood("negative exponent")
            value = pow(left, right, 2 * LARGEST)
        case "<<" | ">>":
            if not 0 <= right < 64:
                return None
            value = left << right if operator == "<<" else left >> right
        case "&&":
            value = int(bool(left and right))
        case _:
            value = int(bool(left or right))
    return _wrapped(value)


Target = tuple[str, int | str | None]


@lru_cache(maxsize=256)  # all iterations of a loop, and many scripts, compute the same
def _tokens(string: str) -> tuple[tuple[str, str, int], ...]:
    """The kind, the text and the end of each token."""
    found: list[tuple[str, str, int]] = []
    at = 0
    while at < len(string):
        match = TOKEN.match(string, at)
        if not match or match.lastgroup is None:
            raise NotUnderstood(string)
        found.append((match.lastgroup, match[match.lastgroup], match.end()))
        at = match.end()
    return tuple(found)


class _Evaluator:
    """Parses and evaluates in one pass; operands that must not be evaluated are only parsed."""

    def __init__(self, string: str, names: ArithmeticVariables, depth: int, mode: int) -> None:
        self.text = string
        self.at = 0
        self.names = names
        self.depth = depth
        self.mode = mode
        try:
            self.tokens = _tokens(string.rstrip())
        except NotUnderstood as error:
            raise self.wrong(string) from error

    def wrong(self, text: str) -> NotUnderstood:
        """The error where bash would stop, if it comes there."""
        return AlwaysWrong(text) if self.mode == ON else NotUnderstood(text)

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> tuple[str, str]:
        if self.at >= len(self.tokens) or expected and self.tokens[self.at][1] != expected:
            raise self.wrong(expected)
        self.at += 1
        return self.tokens[self.at - 1][:2]

    def value_of(self, target: Target) -> int | None:
        if self.mode == OFF:
            return 0
        text = self.names.text(*target)
        if text is None or not text.strip():
            return None if text is None else 0
        number = parse_number(text.strip())
        if number is not None:
            return number
        if self.depth >= DEEPEST:
            raise NotUnderstood("recursion")
        value = evaluate(text, self.names, self.depth + 1, self.mode)
        return None if self.mode == MAYBE else value

    def assign(self, target: Target, value: int | None) -> None:
        if self.mode != OFF:
            try:
                self.names.assign(*target, value if self.mode == ON else None)
            except Refused as error:
                raise self.wrong(target[0]) from error

    def comma(self) -> int | None:
        value = self.assignment()
        while self.peek() == ",":
            self.take()
            value = self.assignment()
        return value

    def assignment(self) -> int | None:
        begin = self.at
        self.skip_target()
        operator = self.peek()
        if self.at == begin or operator not in ASSIGNING:
            self.at = begin
            return self.ternary()
        if operator == "=":  # the subscript is evaluated at last
            self.take()
            value = self.assignment()
            end, self.at = self.at, begin
            target = self.target()
            self.at = end
        else:
            self.at = begin
            target = self.target()
            self.take()
            before = self.value_of(target)
            value = self.combine(operator[:-1], before, self.assignment())
        self.assign(target, value)
        return value

    def skip_target(self) -> None:
        """Goes past a name and its subscript, if there is a name."""
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "name":
            return
        self.at += 1
        if self.peek() == "[":
            depth = 1
            while depth:
                self.at += 1
                token = self.peek()
                if not token:
                    raise NotUnderstood("[")
                depth += (token == "[") - (token == "]")
            self.at += 1

    def combine(self, operator: str, left: int | None, right: int | None) -> int | None:
        if right is None and operator in ("/", "%", "**"):
            self.names.may_fail()
        if self.mode == OFF:
            return 0
        if right is not None and (right == 0 and operator in ("/", "%") or right < 0 and operator == "**"):
            raise self.wrong(operator)
        return combine(operator, left, right)

    def target(self) -> Target:
        """Reads a name and its subscript, None if there is none."""
        name = self.take()[1]
        if self.peek() != "[":
            return name, None
        begin = self.at
        self.at -= 1
        self.skip_target()
        stop = self.at
        key = self.names.key(name, self.text[self.tokens[begin][2] : self.tokens[stop - 1][2] - 1])
        if key is not None:
            return name, key
        self.at = begin + 1
        try:
            index = self.comma()
        except NotUnderstood as error:
            raise BadSubscript(name) from error
        if self.at != stop - 1:
            raise BadSubscript(name)
        self.at = stop
        return name, "" if index is None else index

    def ternary(self) -> int | None:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take()
        before = self.mode
        self.mode = min(before, MAYBE if condition is None else ON if condition else OFF)
        first = self.comma()
        self.mode = before
        self.take(":")
        self.mode = min(before, MAYBE if condition is None else OFF if condition else ON)
        second = self.ternary()
        self.mode = before
        if condition is None:
            return first if first == second else None
        return first if condition else second

    def binary(self, least: int) -> int | None:
        left = self.unary()
        while (power := PRECEDENCE.get(self.peek(), -1)) > least:
            operator = self.take()[1]
            before = self.mode
            if operator in ("&&", "||"):
                self.mode = min(before, MAYBE if left is None else ON if bool(left) == (operator == "&&") else OFF)
            right = self.binary(power - 1 if operator == "**" else power)
            self.mode = before
            if operator in ("&&", "||") and left is not None:
                decided = bool(left) != (operator == "&&")
                left = int(bool(left)) if decided else None if right is None else int(bool(right))
            else:
                left = self.combine(operator, left, right)
        return left

    def unary(self) -> int | None:
        begin = self.at
        kind, text = self.take()
        if kind == "number":
            number = parse_number(text)
            if number is None:
                raise self.wrong(text)
            return number
        if kind == "name":
            self.at = begin
            target = self.target()
            value = self.value_of(target)
            if self.peek() in ("++", "--"):
                operator = self.take()[1][0]
                self.assign(target, self.combine(operator, value, 1))
            return value
        if text == "(":
            value = self.comma()
            self.take(")")
            return value
        if text in ("++", "--"):
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "name":
                target = self.target()
                value = self.combine(text[0], self.value_of(target), 1)
                self.assign(target, value)
                return value
            return self.unary()  # `--5` is `-(-5)`
        if text in "-+!~":
            value = self.unary()
            if value is None:
                return None
            return _wrapped({"-": -value, "+": value, "!": int(not value), "~": ~value}[text])
        raise self.wrong(text)


def status_of(value: int | None, wrong: bool | None) -> int | None:
    """The exit status of `((…))`: 1 for 0 and for an invalid expression. `wrong`: None where that is not known."""
    if wrong or value == 0:
        return 1
    return None if value is None or wrong is None else 0


@lru_cache(maxsize=128)
def _parsed(string: str) -> Word:
    return parse_word_text(string, 0, len(string))


def parsed(string: str) -> Word:
    """An expression as a word, whose `$…` are not yet replaced."""
    return _parsed(string) if len(string) <= LONGEST else parse_word_text(string, 0, len(string))


def evaluate(string: str, names: ArithmeticVariables, depth: int = 0, mode: int = ON) -> int | None:
    """The value of an expression in which every `$…` is already replaced. Raises `NotUnderstood`."""
    if not string.strip():
        return 0
    if len(string) > LONGEST:
        raise NotUnderstood("length")
    evaluator = _Evaluator(string, names, depth, mode)
    value = evaluator.comma()
    if evaluator.at < len(evaluator.tokens):
        raise evaluator.wrong(string)
    return value


class _Nothing:
    """Variables none of which is known."""

    def text(self, name: str, index: int | str | None) -> None:
        return None

    def assign(self, name: str, index: int | str | None, value: int | None) -> None:
        pass

    def may_fail(self) -> None:
        pass

    def key(self, name: str, subscript: str) -> None:
        return None


def is_invalid(expression: str) -> bool:
    """Whether an expression is none, whatever its variables are."""
    try:
        evaluate(expression, _Nothing())
    except NotUnderstood:
        return True
    return False


def may_be_invalid(texts: Iterable[str | None]) -> bool:
    """Whether a text of these parts is no expression even where what is not known of it (None) is a number."""
    return is_invalid("".join(["1" if each is None else each for each in texts]))


def is_zero(string: str | None) -> bool:
    """Whether a text is known, and 0 or empty."""
    return string is not None and (not string.strip() or parse_number(string.strip()) == 0)
