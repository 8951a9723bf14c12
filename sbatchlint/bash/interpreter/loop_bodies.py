"""What the text and the tree of a loop tell, before it is walked."""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.state import STDOUT, State
from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticFor,
    Assignment,
    Case,
    CommandSubstitution,
    For,
    Function,
    If,
    Literal,
    Parameter,
    Simple,
    Statement,
    While,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.source.regex import Regex

# Code that may change what another iteration sees, or leave the loop.
CHANGING = Regex(
    r"(?:^|[\s;&|({`])\w+(?:\[[^]\n]*\])?\+?=|\(\(|=~|\$\{\w+(?:\[[^]\n]*\])?:?=|\$\[|(?:^|[\s;&|({`])(?:\.|alias|break|continue|declare|enable|eval|exec|exit|export|"
    r"for|getopts|let|local|mapfile|printf|read|readarray|readonly|return|select|set|shift|shopt|source|trap|typeset|"
    r"unset|function)(?=\s|;|$)",
    re.MULTILINE,
)
BRANCHES = Regex(r"&&|\|\||\b(?:if|case|while|until)\b")
TESTS = Regex(r"(?<![^\s;&|({])(?:\[|test(?=\s)|\(\()")
# What walks other statements from one iteration to the next; and the commands that leave, or run a program in a value.
BRANCHING = (AndOr, ArithmeticFor, Case, For, Function, If, While)
LEADING = frozenset({
    ".", "break", "builtin", "command", "continue", "eval", "exec", "exit", "return", "source", "trap",
})  # fmt: skip

LOOP = Regex(r"\b(?:for|select|until|while)\b")
# In a loop around so many levels of loops, too many statements run to walk each of them.
DEEP = 5


def is_deep(body: Sequence[Statement], scope: Scope) -> bool:
    """Whether loops are nested at least `DEEP` levels deep in the body."""
    start, end = body[0].start, body[-1].end
    if len(LOOP.findall(scope.text.string, start, end)) < DEEP:
        return False
    loops: list[For | ArithmeticFor | While] = [*nodes_of(body, For), *nodes_of(body, While)]
    loops += nodes_of(body, ArithmeticFor)
    ends: list[int] = []  # of the loops around
    for loop in sorted(loops, key=lambda each: each.start):
        while ends and ends[-1] <= loop.start:
            ends.pop()
        ends.append(loop.end)
        if len(ends) == DEEP:
            return True
    return False


def is_plain(body: Sequence[Statement], scope: Scope) -> bool:
    """Whether the body plainly changes nothing, and nothing it prints is captured: most loops only start commands."""
    if STDOUT in scope.state.variables:
        return False
    source = scope.text.string[body[0].start : body[-1].end]
    return not CHANGING.search(source) and not any(name in source for name in scope.state.functions)


def is_branching(body: Sequence[Statement], scope: Scope) -> bool:
    """Whether a condition may decide what an iteration runs, under errexit also one that nothing tests."""
    start, end = body[0].start, body[-1].end
    if scope.state.option("errexit") is not False and TESTS.search(scope.text.string, start, end):
        return True
    return bool(BRANCHES.search(scope.text.string, start, end))


def is_straight(body: Sequence[Statement], state: State) -> bool:
    """Whether all iterations walk the same statements: there are no branches, and no programs from elsewhere."""
    if any(nodes_of(body, kind) for kind in BRANCHING):
        return False
    if any(each.arguments and nodes_of(each.arguments, CommandSubstitution) for each in nodes_of(body, Parameter)):
        return False
    return all(_is_itself(command.words[0], state) for command in nodes_of(body, Simple) if command.words)


def _is_itself(word: Word | Assignment, state: State) -> bool:
    """Whether the first word of a command is the name of a program that is none of the script's own."""
    part = word.parts[0] if isinstance(word, Word) and len(word.parts) == 1 else None
    return isinstance(part, Literal) and part.text not in LEADING and part.text not in state.functions
