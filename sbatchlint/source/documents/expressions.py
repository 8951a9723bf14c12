"""What the strings of a Python program come to: constants, f-strings, what is joined, formatted, dedented.

Nothing of the program is run. What is not known is a slot; where something may be there or not, the string is partial.
"""

import ast
from collections.abc import Callable
from typing import NamedTuple, Union

from sbatchlint.source.documents.literals import (
    Characters,
    at_place,
    characters_of,
    dedented,
    formatted,
    interpolated,
    lines_of,
    replaced,
    shell_words,
    slot,
    span_of,
    string_of,
    stripped,
    substituted,
    words_of,
)
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT, Source, Span

MOST_DEPTH = 40
MOST_VALUE = 100_000  # characters

_SAFE_WORD = Regex(rf"[\w@%+=:,./~{SLOT}-]+")


class String(NamedTuple):
    """A string of the program. `is_partial`: something may be missing, or be there or not."""

    characters: Characters
    is_partial: bool = False

    @property
    def text(self) -> str:
        return string_of(self.characters)


class Strings(NamedTuple):
    """A list of strings."""

    items: list[String]
    is_partial: bool = False


class Either(NamedTuple):
    """One of several values."""

    values: tuple["Value", ...]


Value = Union[String, Strings, Either, None]


class Scope:
    """What names stand for at a place in the program; those in `bound` are the scope's own."""

    def __init__(self, outer: "Scope | None", bound: frozenset[str] = frozenset()) -> None:
        self.outer = outer
        self.bound = bound
        self.values: dict[str, Value] = {}

    def find(self, name: str) -> Value:
        if name in self.values:
            return self.values[name]
        if name in self.bound or self.outer is None:
            return None
        return self.outer.find(name)


_STRIPS = frozenset(("strip", "lstrip", "rstrip"))
_SAME = frozenset(
    ("encode", "render", "str", "Template", "from_string", "expandvars", "list", "tuple", "which", "fspath")
)
_FORMATS = frozenset(("format", "format_map"))
_SUBSTITUTES = frozenset(("substitute", "safe_substitute"))
# Functions whose result stands for what they are given.
TRANSPARENT = _SAME | _FORMATS | _SUBSTITUTES | _STRIPS | {"dedent", "cleandoc", "join", "replace", "splitlines"}


def name_of(function: ast.expr) -> str:
    """The last part of what a call calls."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class Reader:
    """Evaluates expressions. `called`: what a function of the program returns; `attribute`: what an attribute is."""

    def __init__(self, source: Source, called: Callable[[ast.Call], Value], attribute: Callable[[str], Value]) -> None:
        self.source = source
        self._called = called
        self._attribute = attribute
        self._depth = 0

    def value(self, node: ast.expr, scope: Scope, at: Span | None = None) -> Value:
        """What an expression comes to; None where that is not known. `at`: where it is, inside an f-string."""
        if self._depth > MOST_DEPTH:
            return None
        self._depth += 1
        try:
            return self._value(node, scope, at)
        finally:
            self._depth -= 1

    def string(self, node: ast.expr, scope: Scope, at: Span | None = None) -> String:
        """The string that an expression comes to; a slot where that is not known."""
        value = self.value(node, scope, at)
        return value if isinstance(value, String) else String([slot(at or span_of(self.source, node))])

    def _value(self, node: ast.expr, scope: Scope, at: Span | None) -> Value:
        if isinstance(node, ast.Constant):
            return self._constant(node, at)
        if isinstance(node, ast.JoinedStr):
            return None if at is not None else self._joined(node, scope)
        if isinstance(node, ast.Name):
            return scope.find(node.id)
        if isinstance(node, ast.BinOp):
            return self._operation(node, scope, at)
        if isinstance(node, ast.List | ast.Tuple):
            return self._list(node.elts, scope, at)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._comprehension(node, scope, at)
        if isinstance(node, ast.IfExp):
            return self._first(self.value(node.body, scope, at), self.value(node.orelse, scope, at))
        if isinstance(node, ast.Attribute):
            if node.attr == "linesep":
                return String(at_place("\n", at or span_of(self.source, node)))
            return self._attribute(node.attr)
        if isinstance(node, ast.Call):
            return self._call(node, scope, at)
        if isinstance(node, ast.Await | ast.NamedExpr):
            return self.value(node.value, scope, at)
        return None

    def _constant(self, node: ast.Constant, at: Span | None) -> Value:
        if isinstance(node.value, bool) or not isinstance(node.value, str | int) or len(str(node.value)) > MOST_VALUE:
            return None
        if at is None and isinstance(node.value, str):
            return String(characters_of(self.source, node))
        return String(at_place(str(node.value), at or span_of(self.source, node)))

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> Value:
        """An f-string; of its expressions, those that come to a string are put in."""
        expressions = [each for each in node.values if isinstance(each, ast.FormattedValue)]
        found: Characters = []
        partial = False
        number = 0
        for character in characters_of(self.source, node):
            if character.string != SLOT or number >= len(expressions):
                found.append(character)
                continue
            expression = expressions[number]
            number += 1
            value = None
            if expression.conversion in (-1, 115) and expression.format_spec is None:
                value = self.value(expression.value, scope, character.span)
            if isinstance(value, String):
                found += _put_in(value.characters, character.span)
                partial |= value.is_partial
            else:
                found.append(character)
        return String(found, partial) if len(found) <= MOST_VALUE else None

    def _operation(self, node: ast.BinOp, scope: Scope, at: Span | None) -> Value:
        left = self.value(node.left, scope, at)
        if isinstance(node.op, ast.Mod):
            return left._replace(characters=interpolated(left.characters)) if isinstance(left, String) else None
        if not isinstance(node.op, ast.Add):
            return None
        right = self.value(node.right, scope, at)
        if isinstance(left, Strings) or isinstance(right, Strings):
            first = left if isinstance(left, Strings) else self._unknown_list(node.left, at)
            second = right if isinstance(right, Strings) else self._unknown_list(node.right, at)
            return Strings(first.items + second.items, first.is_partial or second.is_partial)
        if not isinstance(left, String) and not isinstance(right, String):
            return None
        first_string = left if isinstance(left, String) else self.string(node.left, scope, at)
        return joined(first_string, right if isinstance(right, String) else self.string(node.right, scope, at))

    def _unknown_list(self, node: ast.expr, at: Span | None) -> Strings:
        return Strings([String([slot(at or span_of(self.source, node))])], True)

    def _list(self, nodes: list[ast.expr], scope: Scope, at: Span | None) -> Strings:
        items: list[String] = []
        partial = False
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.value(node.value, scope, at)
                more = value if isinstance(value, Strings) else self._unknown_list(node.value, at)
                items += more.items
                partial |= more.is_partial
            else:
                items.append(self.string(node, scope, at))
        return Strings(items, partial)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope, at: Span | None) -> Strings:
        """The strings that a comprehension makes of others, as long as those are known."""
        (generator, *others) = node.generators
        value = None if others or generator.is_async else self.value(generator.iter, scope, at)
        if not isinstance(value, Strings) or not isinstance(generator.target, ast.Name):
            return self._unknown_list(node, at)
        inner = Scope(scope)
        found = []
        for item in value.items:
            inner.values[generator.target.id] = item
            found.append(self.string(node.elt, inner, at))
        return Strings(found, value.is_partial or bool(generator.ifs))

    @staticmethod
    def _first(first: Value, second: Value) -> Value:
        """Of two alternatives, the first that is not empty."""
        if isinstance(first, String) and isinstance(second, String | None):
            chosen = first if first.characters or second is None else second
            return chosen._replace(is_partial=True)
        if isinstance(first, Strings) and isinstance(second, Strings):
            return (first if first.items else second)._replace(is_partial=True)
        return None

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope, at: Span | None) -> Value:
        name = name_of(node.func)
        if isinstance(node.func, ast.Attribute):
            if getattr(node.func.value, "id", "") == "shlex" and len(node.args) == 1:
                return self._of_shlex(name, self.value(node.args[0], scope, at))
            receiver = self.value(node.func.value, scope, at)
            if name == "join" and len(node.args) == 1:
                return self._join(receiver, node.args[0], scope, at)
            if isinstance(receiver, String):
                return self._of_string(receiver, name, node, scope)
            if isinstance(receiver, Strings) and name == "copy":
                return receiver
        if name in ("dedent", "cleandoc") and node.args:
            value = self.value(node.args[0], scope, at)
            if not isinstance(value, String):
                return None
            characters = dedented(value.characters)
            return value._replace(characters=stripped(characters, "strip") if name == "cleandoc" else characters)
        if name == "split" and isinstance(node.func, ast.Name) and len(node.args) == 1:
            return self._of_shlex(name, self.value(node.args[0], scope, at))
        if name in _SAME and len(node.args) == 1:
            return self.value(node.args[0], scope, at)
        return self._called(node)

    def _join(self, separator: Value, node: ast.expr, scope: Scope, at: Span | None) -> Value:
        value = self.value(node, scope, at)
        if not isinstance(separator, String) or not isinstance(value, Strings):
            return None
        found: Characters = []
        for number, item in enumerate(value.items):
            if number:
                end = item.characters[0].span if item.characters else separator.characters[:1] and found[-1].span
                found += [each._replace(span=end or each.span, is_written=False) for each in separator.characters]
            found += item.characters
        return String(found, value.is_partial or any(each.is_partial for each in value.items))

    @staticmethod
    def _of_shlex(name: str, value: Value) -> Value:
        """What `shlex.split`, `shlex.join` and `shlex.quote` make of a value."""
        if name == "split" and isinstance(value, String):
            words = shell_words(value.characters)
            return None if words is None else Strings([String(word) for word in words], value.is_partial)
        if name == "join" and isinstance(value, Strings):
            return command_line(value)
        if name == "quote" and isinstance(value, String) and value.characters:
            start = value.characters[0].span.start
            return value._replace(characters=quoted(value.characters, Span(start, start)))
        return None

    def _of_string(self, string: String, name: str, node: ast.Call, scope: Scope) -> Value:
        """What a method of a string gives."""
        characters = string.characters
        if name in _STRIPS and len(node.args) < 2:
            what = self.value(node.args[0], scope) if node.args else None
            if node.args and not isinstance(what, String):
                return None
            return string._replace(
                characters=stripped(characters, name, what.text if isinstance(what, String) else None)
            )
        if name in _FORMATS:
            return string._replace(characters=formatted(characters))
        if name in _SUBSTITUTES:
            names = frozenset(each.arg for each in node.keywords if each.arg is not None)
            known = name == "safe_substitute" and not node.args and all(each.arg for each in node.keywords)
            return string._replace(characters=substituted(characters, names if known else None))
        if name == "replace" and len(node.args) == 2:
            old = self.value(node.args[0], scope)
            if not isinstance(old, String) or SLOT in old.text:
                return None
            return string._replace(
                characters=replaced(characters, old.text, self.string(node.args[1], scope).characters)
            )
        if name == "splitlines" and not node.args and not node.keywords:
            lines = lines_of(characters)
            ended = [line[:-1] if line and line[-1].string == "\n" else line for line in lines]
            return Strings([String(line) for line in (ended if lines[-1] else ended[:-1])], string.is_partial)
        if name == "split" and (not node.args or getattr(node.args[0], "value", None) == " "):
            return Strings([String(word) for word in words_of(characters)], string.is_partial)
        return string if name in _SAME else None


def joined(first: String, second: String) -> String:
    return String(first.characters + second.characters, first.is_partial or second.is_partial)


def _put_in(characters: Characters, span: Span) -> Characters:
    """The characters of a value where an f-string names it; a line or more keeps its own places."""
    if any(each.string == "\n" for each in characters):
        return [each._replace(is_written=False) for each in characters]
    return [each._replace(span=span, is_written=False) for each in characters]


def command_line(words: Strings) -> String:
    """The command line that starts a program with these words."""
    found: Characters = []
    for word in words.items:
        span = word.characters[0].span if word.characters else found[-1].span if found else Span(0, 0)
        first = Span(span.start, span.start)
        if found:
            found += at_place(" ", first)
        found += quoted(word.characters, first)
    return String(found, words.is_partial)


def quoted(characters: Characters, first: Span) -> Characters:
    """A word as it is written for a shell, as by shlex.quote. `first`: the place of its first quote."""
    if _SAFE_WORD.fullmatch(string_of(characters)):
        return characters
    found = at_place("'", first)
    for character in characters:
        found += at_place("'\\''", character.span) if character.string == "'" else [character]
    return [*found, *at_place("'", Span(found[-1].span.end, found[-1].span.end))]
