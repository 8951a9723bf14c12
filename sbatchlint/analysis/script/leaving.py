"""Where a job surely fails: by an `exit` or a `return` at which everything that happened before it matters no more."""

from collections.abc import Collection

from sbatchlint.bash.syntax.tree import Parameter, Simple
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.source.numbers import is_number


class Leaving:
    """What a walk knows of the commands that leave a script, a function or a loop."""

    def __init__(self) -> None:
        self.count = 0  # of those that were met, and of those that keep a status
        self.fails = False  # whether the last of them makes the job fail
        self.at_end = True  # whether the status of a statement is that of the script

    def met(self, fails: bool = False) -> None:
        self.count, self.fails = self.count + 1, fails


def is_failure(node: Simple, command: Invocation, kept: Collection[str]) -> bool:
    """Whether an `exit` or a `return` gives another status than 0, or one of the variables that keep a status."""
    if len(command.argv) != 2:
        return False
    value = text_of(command.argv[1])
    if value is None:
        names = {parameter.name for parameter in nodes_of(node, Parameter)}
        return bool(names) and all(name in kept for name in names)
    return is_number(value) and value.strip("0") not in ("", "256")
