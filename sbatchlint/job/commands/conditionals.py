"""Whether a command runs only if something is asked: in an `if`, a loop, or behind `[ … ] &&`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation

# What asks; `cd x && command` does not.
_QUESTION = Regex(r"!?\s*(?:\[|test\b|\(\(|grep\b|command\s+-v\b|which\b|type\b|hash\b|cmp\b|diff\b|pgrep\b)")


def is_asked_for(command: Invocation, within: Invocation | None = None) -> bool:
    """Whether a command may not run, by what a test in the script says; with `within`, once that command runs."""
    context = command.context
    if context.conditional and (within is None or not within.context.conditional):
        return True
    guards = context.guards if within is None else context.guards - within.context.guards
    branches = (branch for branch, _ in guards)
    return any(
        isinstance(each, tuple) and (each[:1] == ("case",) or each[:1] == ("if",) and _QUESTION.match(str(each[1])))
        for each in branches
    )
