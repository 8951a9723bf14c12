"""Whether `[ … ]` and `[[ … ]]` hold, as far as the script alone decides that; None stands for unknown."""

import re
from collections.abc import Callable, Sequence

from sbatchlint.bash.expansion.arithmetic import combine
from sbatchlint.bash.expansion.patterns import depends_on_locale, extended_regex, is_affordable
from sbatchlint.bash.values import Pieces, least_size, text_of
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

NUMERIC = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
UNARY = {"-z", "-n"}
UNKNOWN_UNARY = {
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-g", "-k", "-p", "-t", "-u", "-O", "-G", "-S",
    "-N", "-v", "-o", "-a", "-R",
}  # fmt: skip
BINARY = frozenset({*NUMERIC, "=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef"})
# What the shell answers to `-v NAME` and `-t NUMBER`.
Asked = Callable[[str, str], bool | None]
# Every locale sorts such strings the same way.
PLAIN = Regex(r"[a-z]*|[0-9]*")


def negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    return negate(both(negate(left), negate(right)))


def is_empty(field: Pieces) -> bool | None:
    """Whether the text of a field is empty."""
    if least_size(field):
        return False
    return True if text_of(field) == "" else None


def compare_numbers(left: int | None, operator: str, right: int | None) -> bool | None:
    """`left -eq right` and the like."""
    value = combine(NUMERIC[operator], left, right)
    return None if value is None else bool(value)


def in_order(left: str | None, operator: str, right: str | None) -> bool | None:
    """`left < right`, where every locale agrees."""
    if left is None or right is None:
        return None
    if left == right:
        return False
    if not left or not right or PLAIN.fullmatch(left + right):
        return left < right if operator == "<" else left > right
    return None


def is_same(left: Pieces, right: Pieces) -> bool | None:
    first, second = text_of(left), text_of(right)
    if first is not None and second is not None:
        return first == second
    if second is not None and least_size(left) > len(second) or first is not None and least_size(right) > len(first):
        return False
    return None


class WrongTest(Exception):
    """bash rejects the words of a `[`: its status is 2."""


class Condition:
    """The words of a condition, read from left to right. `ask` answers `-v NAME` and `-t NUMBER`."""

    OR: str
    AND: str

    def __init__(self, ask: Asked) -> None:
        self.at = 0
        self.ask = ask

    def word(self, ahead: int = 0) -> str | None:
        """The word at the cursor, or after it; "" where there is none."""
        raise NotImplementedError

    def term(self) -> bool | None:
        raise NotImplementedError

    def disjunction(self) -> bool | None:
        value = self.conjunction()
        while self.word() == self.OR:
            self.at += 1
            value = either(value, self.conjunction())
        return value

    def conjunction(self) -> bool | None:
        value = self.term()
        while self.word() == self.AND:
            self.at += 1
            value = both(value, self.term())
        return value

    def unary(self, operator: str, field: Pieces) -> bool | None:
        """Whether `-z FIELD` and the like hold."""
        if operator in UNARY:
            empty = is_empty(field)
            return empty if operator == "-z" else negate(empty)
        name = text_of(field)
        return self.ask(operator, name) if operator in ("-v", "-t") and name is not None else None


class TestParser(Condition):
    """The words of `[ … ]`: by the rules of `test`, their number decides what they mean."""

    OR = "-o"
    AND = "-a"

    def __init__(self, fields: Sequence[Pieces], ask: Asked = lambda operator, name: None) -> None:
        super().__init__(ask)
        self.fields = list(fields)

    def word(self, ahead: int = 0) -> str | None:
        index = self.at + ahead
        return text_of(self.fields[index]) if index < len(self.fields) else ""

    def evaluate(self) -> bool | None:
        """Whether the test holds. Raises `WrongTest`."""
        count = len(self.fields)
        if any(piece.open for field in self.fields for piece in field):
            return None
        if not count:
            return False
        return self.short(count)

    def short(self, count: int) -> bool | None:
        """Whether the next `count` words hold."""
        first, second = self.word(), self.word(1) if count > 1 else ""
        if count == 1:
            return self.text()
        if count == 2:
            if first is None:
                return None
            if first == "!":
                self.at += 1
                return negate(self.text())
            return self.operation(first)
        if count == 3:
            if second is None:
                return None
            if second in BINARY or second in ("-a", "-o"):
                return self.binary(second)
            if first is None:
                return None
            if first == "!":
                self.at += 1
                return negate(self.short(2))
            if first == "(":
                self.at += 1
                value = self.text()
                return value if self.word() == ")" else self.wrong(self.word())
            raise WrongTest
        if count == 4:
            if first == "!":
                self.at += 1
                return negate(self.short(3))
            if first == "(" and self.word(3) == ")":
                self.at += 1
                return self.short(2)
        if first is None and count > 4 and not any(self.word(number) in ("-a", "-o") for number in range(count)):
            return None
        value = self.disjunction()
        if self.at < len(self.fields):
            return self.wrong(self.word())
        return value

    def wrong(self, word: str | None) -> bool | None:
        if word is None or any(text_of(field) is None for field in self.fields):
            return None
        raise WrongTest

    def text(self) -> bool | None:
        if self.at >= len(self.fields):
            raise WrongTest
        self.at += 1
        return negate(is_empty(self.fields[self.at - 1]))

    def operation(self, operator: str) -> bool | None:
        """Whether a unary operator holds for the next word."""
        if self.at + 1 >= len(self.fields) or operator not in UNARY and operator not in UNKNOWN_UNARY:
            raise WrongTest
        self.at += 2
        return self.unary(operator, self.fields[self.at - 1])

    def binary(self, operator: str) -> bool | None:
        left, right = self.fields[self.at], self.fields[self.at + 2]
        self.at += 3
        if operator in ("-a", "-o"):
            first, second = negate(is_empty(left)), negate(is_empty(right))
            return both(first, second) if operator == "-a" else either(first, second)
        if operator in NUMERIC:
            return compare_numbers(self.number(left), operator, self.number(right))
        if operator in ("=", "=="):
            return is_same(left, right)
        if operator == "!=":
            return negate(is_same(left, right))
        if operator in ("<", ">"):
            return in_order(text_of(left), operator, text_of(right))
        if operator == "=~":
            raise WrongTest
        return None

    @staticmethod
    def number(field: Pieces) -> int | None:
        """An operand of `-eq` and the like: a decimal number, maybe with whitespace around it."""
        text = text_of(field)
        if text is None:
            return None
        if not re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", text):
            raise WrongTest
        return parse_integer(text)

    def term(self) -> bool | None:
        left = len(self.fields) - self.at
        word = self.word()
        if not left:
            raise WrongTest
        if word == "!":
            self.at += 1
            return negate(self.term())
        if word == "(":
            self.at += 1
            value = self.disjunction()
            if self.word() != ")":
                return self.wrong(self.word())
            self.at += 1
            return value
        operator = self.word(1)
        if left >= 3 and operator in BINARY and operator is not None:
            return self.binary(operator)
        if left >= 2 and word is not None and (word in UNARY or word in UNKNOWN_UNARY):
            return self.operation(word)
        return self.text()


def test_status(fields: Sequence[Pieces], ask: Asked = lambda operator, name: None) -> int | None:
    """The exit status of `[ fields ]`; None where it is not known."""
    try:
        truth = TestParser(fields, ask).evaluate()
    except WrongTest:
        return 2 if all(text_of(field) is not None for field in fields) else None
    return None if truth is None else 1 - truth


def regex_matches(subject: str, source: str) -> tuple[bool | None, tuple[str, ...] | None]:
    """Whether a string matches a regular expression, and what BASH_REMATCH is then (None: not known)."""
    regex = None if depends_on_locale(source, subject) else extended_regex(source)
    if regex is None or not is_affordable(regex, len(subject), 1):
        return None, None
    found = regex.search(subject)
    if found is None:
        return False, ()
    # with alternatives or repeated groups, POSIX takes the longest match; Python does not
    certain = "|" not in source and not re.search(r"\)[*+?{]", source) and "?" not in source
    return True, (found[0], *(each or "" for each in found.groups())) if certain else None
