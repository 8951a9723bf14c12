"""What a test tells of the variables in it: whether they are set, and not empty, where it succeeds, and where it fails.

A test of which the script does not know how it ends is evaluated again for each thing that a variable in it may be.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import cast

from sbatchlint.bash.expansion.arithmetic import CHANGING
from sbatchlint.bash.expansion.lookup import may_be_told
from sbatchlint.bash.expansion.patterns import text_matches
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.interpreter.conditions import test_status
from sbatchlint.bash.interpreter.double_brackets import BracketCondition, holds
from sbatchlint.bash.syntax.tree import (
    AndOr,
    Arithmetic,
    ArithmeticCommand,
    Broken,
    CommandSubstitution,
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Simple,
    Statement,
    TestCommand,
    Word,
)
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.bash.variables import ANYTHING, EMPTY, FILLED, UNSET
from sbatchlint.source.regex import Regex

# What each variable may be, as `State.learn` takes it.
Facts = dict[str, int]
# Of so many variables a test may tell something; longer tests tell nothing.
MOST_NAMES = 4
MOST_TOLD = 400  # characters
# Operators with which an expansion changes something, or ends the shell, or reads another variable.
_OTHER = frozenset({"=", ":=", "?", ":?", "indirect", "prefix"})
# Commands that change no variable.
_HARMLESS = frozenset({"[", "test", "true", "false", ":", "echo", "type", "hash"})
_NAME = Regex(r"[A-Za-z_]\w*", re.ASCII)
_KINDS = (UNSET, EMPTY, FILLED)


def told_by(interpreter: Interpreter, statement: Statement, scope: Scope) -> tuple[Facts, Facts]:
    """What is known of variables where a statement that was just run succeeded, and where it failed."""
    if statement.end - statement.start > MOST_TOLD or not _is_harmless(statement, scope):
        return {}, {}
    return _told(interpreter, statement, scope)


def _is_harmless(statement: Statement, scope: Scope) -> bool:
    """Whether a statement changes no variable, so that what it tells holds after it."""
    if isinstance(statement, AndOr):
        return _is_harmless(statement.left, scope) and _is_harmless(statement.right, scope)
    if isinstance(statement, Pipeline):
        return len(statement.commands) == 1 and _is_harmless(statement.commands[0], scope)
    if isinstance(statement, ArithmeticCommand):
        written = scope.text.string[statement.expression_start : statement.expression_end]
        return not CHANGING.search(written) and not any(each in written for each in "[`({'\"")
    if not isinstance(statement, (Simple, TestCommand)) or not statement.words:
        return False
    if isinstance(statement, Simple):
        name = literal_text(statement.words[0]) if isinstance(statement.words[0], Word) else None
        if name is None or statement.assignments or name in scope.state.functions:
            return False
        if name in BUILTINS and name not in _HARMLESS:
            return False
    if any(nodes_of(statement, kind) for kind in (CommandSubstitution, ProcessSubstitution, Arithmetic, Broken)):
        return False
    return not any(each.operator in _OTHER for each in nodes_of(statement, Parameter))


def _told(interpreter: Interpreter, statement: Statement, scope: Scope) -> tuple[Facts, Facts]:
    if isinstance(statement, Pipeline):
        succeeded, failed = _told(interpreter, statement.commands[0], scope)
        return (failed, succeeded) if statement.negated else (succeeded, failed)
    if isinstance(statement, AndOr):
        left, right = _told(interpreter, statement.left, scope), _told(interpreter, statement.right, scope)
        if statement.operator == "&&":
            return _both(left[0], right[0]), _either(left[1], _both(left[0], right[1]))
        return _either(left[0], _both(left[1], right[0])), _both(left[1], right[1])
    names = [name for name in _names(statement, scope) if may_be_told(name, scope.state)]
    if not names or len(names) > MOST_NAMES or not _is_test(statement, scope):
        return {}, {}
    found = interpreter.silently(lambda: [_kinds(interpreter, statement, name, scope) for name in names])
    told: tuple[Facts, Facts] = {}, {}
    for name, kinds in zip(names, found[0] if found is not None else [], strict=False):
        for facts, own in zip(told, kinds, strict=True):
            if own and own != ANYTHING:
                facts[name] = own
    return told


def _both(first: Facts, second: Facts) -> Facts:
    return {name: first.get(name, ANYTHING) & second.get(name, ANYTHING) for name in {**first, **second}}


def _either(first: Facts, second: Facts) -> Facts:
    return {name: first[name] | second[name] for name in first if name in second}


def _is_test(statement: Statement, scope: Scope) -> bool:
    is_command = isinstance(statement, Simple)
    return not is_command or scope.written(cast(Simple, statement).words[0]) in ("[", "test")


def _names(statement: Statement, scope: Scope) -> Iterable[str]:
    """The variables and arguments that a test reads."""
    if isinstance(statement, ArithmeticCommand):
        written = scope.text.string[statement.expression_start : statement.expression_end]
        return dict.fromkeys(_NAME.findall(written))
    names = [each.name for each in nodes_of(statement, Parameter) if each.index is None]
    words: Sequence[object] = statement.words if isinstance(statement, (Simple, TestCommand)) else ()
    texts = [literal_text(word) if isinstance(word, Word) else None for word in words]
    names += [text or "" for before, text in pairwise(texts) if before == "-v"]
    return dict.fromkeys([scope.state.target(name) for name in names])


def _kinds(interpreter: Interpreter, statement: Statement, name: str, scope: Scope) -> tuple[int, int]:
    """What a variable may be where a test succeeds, and where it fails."""
    succeeded = failed = 0
    for kind in _KINDS:
        state = scope.state.copy()
        if not state.may_be(name) & kind:
            continue
        state.learn({name: kind})
        status = _status(interpreter, statement, Scope(state, scope.text, scope.context))
        succeeded |= kind if status in (None, 0) else 0
        failed |= kind if status != 0 else 0
    return succeeded, failed


def _status(interpreter: Interpreter, statement: Statement, scope: Scope) -> int | None:
    if isinstance(statement, ArithmeticCommand):
        return interpreter.expander.truth(statement.expression_start, statement.expression_end, scope)[0]
    if isinstance(statement, TestCommand):
        values = [interpreter.expander.value(word, scope) for word in statement.words]
        return BracketCondition(interpreter, statement.words, values, scope).status()
    words = cast(Sequence[Word], cast(Simple, statement).words)
    choices = interpreter.expander.argv(words, scope)
    statuses = {_test(interpreter, argv, scope) for argv, _ in choices}
    return statuses.pop() if len(statuses) == 1 else None


def _test(interpreter: Interpreter, argv: Sequence[Pieces], scope: Scope) -> int | None:
    operands = argv[1:]
    if text_of(argv[0]) == "[":
        if not operands or text_of(operands[-1]) != "]":
            return None
        operands = operands[:-1]
    return test_status(operands, lambda operator, name: holds(interpreter, operator, name, scope))


def case_name(word: Word, scope: Scope) -> str | None:
    """The variable of a `case` that looks at nothing else."""
    part = word.parts[0] if len(word.parts) == 1 else None
    if not isinstance(part, Parameter) or part.index is not None or part.operator not in ("", ":-", "-"):
        return None
    if any(each.parts for each in part.arguments):
        return None
    name = scope.state.target(part.name)
    return name if may_be_told(name, scope.state) else None


def told_by_patterns(texts: Sequence[str | None], scope: Scope) -> tuple[int, int]:
    """What the variable of a `case` may be where one of the patterns matches, and where none does."""
    extended, folded = scope.state.options.get("extglob", False), scope.state.option("nocasematch")
    empty = [text_matches(text, (), extended, folded) for text in texts]
    matching = FILLED if all(each is False for each in empty) else ANYTHING
    if all(text == "" for text in texts):
        matching = UNSET | EMPTY
    return matching, FILLED if any(empty) else ANYTHING


def known_of(name: str | None, kinds: int) -> Mapping[str, int]:
    """The facts of one variable, if there is any."""
    return {name: kinds} if name is not None and kinds != ANYTHING else {}
