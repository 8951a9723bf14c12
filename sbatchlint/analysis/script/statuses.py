"""What `$?` shows at a point of a script, and what a shell process has in its background."""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, Parameter, Word
from sbatchlint.bash.trace import Invocation
from sbatchlint.source.text import Span


class Status(NamedTuple):
    """The commands whose failure `$?` shows, at one point of the script.

    `carried`: those commands. `piped`: those whose failure PIPESTATUS shows as well. `started`: the background
    statement whose start set `$?`. `hidden`: the commands whose status was replaced by that of `by`, which cannot fail.
    `fatal`: the commands whose failure has ended the shell (errexit), so that `$?` cannot show it.
    """

    carried: tuple[Invocation, ...] = ()
    piped: tuple[Invocation, ...] = ()
    started: Span | None = None
    hidden: tuple[Invocation, ...] = ()
    by: Span | None = None
    fatal: tuple[Invocation, ...] = ()


GOOD = Status()  # after a command that does no work


def joined(ends: Sequence[Status | None]) -> Status | None:
    """The status after branches of which one runs; None where the shell goes on after none of them."""
    live = [end for end in ends if end is not None]
    if not live:
        return None
    fatal = [each for end in live for each in end.fatal] if all(end.fatal for end in live) else []
    return Status(tuple(dict.fromkeys(each for end in live for each in end.carried)), fatal=tuple(fatal))


class Process:
    """A shell process: the commands whose failure ends it, and those in its background.

    `started`: the commands of the last background statement. `ids`: variables that hold a `$!`, with its commands.
    `emptied`: arrays that were emptied since the last `wait` for all, with the number of background commands then.
    """

    def __init__(self) -> None:
        self.exits: list[Invocation] = []
        self.background: list[Invocation] = []
        self.started: tuple[Invocation, ...] | None = None
        self.ids: dict[str, tuple[Invocation, ...] | None] = {}
        self.emptied: dict[str, int] = {}

    def note_id(self, node: Assignment) -> None:
        """Records which background commands a variable's process ID belongs to from now on."""
        if isinstance(node.value, ArrayLiteral) and not node.append:
            self.emptied.pop(node.name, None)
            if not node.value.elements:
                self.emptied[node.name] = len(self.background)
        if self.started is not None:
            self.ids[node.name] = None if node.append or node.index is not None else self.awaited(node.value)

    def wait_for_all(self) -> list[Invocation]:
        """The background commands, of which none is awaited any more."""
        waiting, self.background = self.background, []
        self.emptied.clear()
        return waiting

    def wait_for_list(self, word: object) -> list[Invocation]:
        """The background commands that a `wait` for `"${pids[@]}"` awaits: those since the array was empty."""
        part = word.parts[0] if isinstance(word, Word) and len(word.parts) == 1 else None
        before = self.emptied.get(part.name, 0) if isinstance(part, Parameter) and part.index is not None else 0
        earlier = self.background[:before]
        waiting = self.wait_for_all()[before:]
        self.background = earlier
        return waiting

    def awaited(self, word: object) -> tuple[Invocation, ...] | None:
        """The commands whose failure a `wait` for `$pid`, `"$pid"` or `$!` returns; None where that is not known."""
        part = word.parts[0] if isinstance(word, Word) and len(word.parts) == 1 else None
        if not isinstance(part, Parameter) or part.operator or part.index is not None:
            return None
        return self.started if part.name == "!" else self.ids.get(part.name)
