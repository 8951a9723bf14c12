"""Which way a condition goes, where the script alone decides it: `[ … ]`, `[[ … ]]`, `(( … ))`, true, false."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .arithmetic import parse_number
from .patterns import matches
from .values import Pieces, text_of

NUMERIC = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
UNARY = {"-z", "-n"}
UNKNOWN_UNARY = {
    "-e",
    "-f",
    "-d",
    "-r",
    "-w",
    "-x",
    "-s",
    "-L",
    "-h",
    "-b",
    "-c",
    "-g",
    "-k",
    "-p",
    "-t",
    "-u",
    "-O",
    "-G",
    "-S",
    "-N",
    "-v",
    "-o",
    "-a",
    "-R",
}


def negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    return negate(both(negate(left), negate(right)))


def _is_empty(field: Pieces) -> bool | None:
    if any(piece.text for piece in field):
        return False
    return True if text_of(field) == "" else None


def compare(left: Pieces, operator: str, right: Pieces, patterns: bool) -> bool | None:
    """`left operator right`; in `[[ ]]` (`patterns`) the right side of `==` is a pattern."""
    first, second = text_of(left), text_of(right)
    if operator in NUMERIC:
        a = None if first is None else parse_number(first.strip())
        b = None if second is None else parse_number(second.strip())
        if a is None or b is None:
            return None
        return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[NUMERIC[operator]]
    if operator in ("=", "==", "!="):
        same: bool | None
        if first is None or second is None:
            same = None
            if second == "" and _is_empty(left) is False or first == "" and _is_empty(right) is False:
                same = False
        else:
            same = matches(second, first) if patterns else first == second
        return same if operator != "!=" else negate(same)
    if operator == "=~" and first is not None and second is not None:
        try:
            return re.search(second, first) is not None
        except re.error:
            return None
    return None


class TestParser:
    """The words of `[ … ]` or `[[ … ]]`, with `!`, `-a`/`-o` or `&&`/`||`, and parentheses."""

    def __init__(self, fields: Sequence[Pieces], double: bool) -> None:
        self.fields = list(fields)
        self.at = 0
        self.double = double

    def word(self, ahead: int = 0) -> str | None:
        index = self.at + ahead
        return text_of(self.fields[index]) if index < len(self.fields) else ""

    def evaluate(self) -> bool | None:
        if not self.fields:
            return False
        if not self.double and any(piece.open for field in self.fields for piece in field):
            return None
        value = self.disjunction()
        return value if self.at >= len(self.fields) else None

    def disjunction(self) -> bool | None:
        value = self.conjunction()
        while self.at < len(self.fields) and self.word() == ("||" if self.double else "-o"):
            self.at += 1
            value = either(value, self.conjunction())
        return value

    def conjunction(self) -> bool | None:
        value = self.term()
        while self.at < len(self.fields) and self.word() == ("&&" if self.double else "-a"):
            self.at += 1
            value = both(value, self.term())
        return value

    def term(self) -> bool | None:
        left = len(self.fields) - self.at
        word = self.word()
        if word == "!" and left > 1:
            self.at += 1
            return negate(self.term())
        if word == "(" and left > 2:
            self.at += 1
            value = self.disjunction()
            self.at += 1
            return value
        operator = self.word(1)
        binary = operator in NUMERIC or operator in ("=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef")
        if left >= 3 and operator is not None and binary:
            first, second = self.fields[self.at], self.fields[self.at + 2]
            self.at += 3
            return compare(first, operator, second, self.double)
        if left >= 2 and word in UNARY:
            field = self.fields[self.at + 1]
            self.at += 2
            empty = _is_empty(field)
            return empty if word == "-z" else negate(empty)
        if left >= 2 and word in UNKNOWN_UNARY:
            self.at += 2
            return None
        field = self.fields[self.at] if left else ()
        self.at += 1
        return negate(_is_empty(field))


def test_truth(fields: Sequence[Pieces], double: bool) -> bool | None:
    """Whether `[ fields ]` (or `[[ fields ]]`) holds; None where that is not known."""
    return TestParser(fields, double).evaluate()
