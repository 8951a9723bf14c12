"""Whether a command runs only if a test succeeds: in an `if`, a loop, or behind `[ … ] &&`."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.source.regex import Regex

# `cd x && command` is no test.
_TEST = Regex(r"!?\s*(?:\[|test\b|\(\(|grep\b|command\s+-v\b|which\b|type\b|hash\b|cmp\b|diff\b|pgrep\b)")


def depends_on_test(command: Invocation, within: Invocation | None = None) -> bool:
    """Whether a test in the script decides if a command runs; with `within`, once that command runs."""
    context = command.context
    if context.conditional and (within is None or not within.context.conditional):
        return True
    guards = context.guards if within is None else context.guards - within.context.guards
    branches = (branch for branch, _ in guards)
    return any(
        isinstance(each, tuple) and (each[:1] == ("case",) or each[:1] == ("if",) and _TEST.match(str(each[1])))
        for each in branches
    )
