"""What the parts of the interpreter ask of each other, and what the interpreter asks of the job layer."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from sbatchlint.bash.expansion.protocol import Environment, Expander, Scope, Substituter
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.tree import Redirect, Statement
from sbatchlint.bash.trace import Invocation, Redirection, Spawn
from sbatchlint.bash.values import Phase, Pieces, Text
from sbatchlint.source.text import Span

T = TypeVar("T")


class Hooks(Protocol):
    """What the interpreter asks the job layer."""

    @property
    def environment(self) -> Environment: ...

    def spawn(self, invocation: Invocation) -> Spawn | None:
        """What a command starts, if it starts another one. Not asked of shells, which the interpreter follows."""

    def file(self, name: str, included_from: Span) -> Text | None:
        """A file beside the script by its `programs.file_name`. `included_from`: the command that uses it."""

    def host_paths(self, path: Pieces, command: Invocation) -> list[Pieces]:
        """The paths on the host of a file that the command sees through a mount of its container."""


class LoopFrame:
    """The states in which an iteration is left by `break` and by `continue`."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


class Interpreter(Substituter, Protocol):
    """Walks statements and records what they would run.

    `failed_exits`: how many `exit` with a non-zero status were met. `exit_states`: the states in which this shell
    exited; `return_states`: those in which a function was left, a list for each call, innermost last. `loops`: the
    loops around, innermost last. `silent`: how many statements may still be walked without being recorded, 0 while
    everything is recorded.
    `substituted`: the status of the last substitution. `redirected`: the redirects of the last compound command.
    `written`: a group around has redirects, so that what its commands print may be the content of a file.
    """

    hooks: Hooks
    expander: Expander
    failed_exits: int
    return_states: list[list[State]]
    exit_states: list[State]
    loops: list[LoopFrame]
    silent: int
    substituted: int | None
    redirected: Sequence[Redirection]
    written: bool

    def charge(self, cost: int, span: Span) -> None:
        """Charges work that a statement does besides itself. Raises WorkBudgetExceeded where the budget is spent."""

    def statement(self, statement: Statement, scope: Scope) -> State | None:
        """Walks a statement. Returns the state after it, None where the flow does not continue."""

    def statements(self, body: Sequence[Statement], scope: Scope) -> State | None:
        """Walks statements in order."""

    def program(self, text: Text, scope: Scope) -> State | None:
        """Walks a program that stands in a value."""

    def command(self, invocation: Invocation, scope: Scope) -> State | None:
        """Runs a command whose words are expanded."""

    def new_key(self, kind: str) -> Hashable:
        """A unique key for guards."""

    def merge(self, states: Sequence[State | None], phase: Phase) -> State | None:
        """The joined state of branches of which exactly one runs."""

    def marks(self) -> list[tuple[list[State], int]]:
        """The lists of states that left by `exit`, `return`, `break` or `continue`, with their present lengths."""

    def reset(self, marks: list[tuple[list[State], int]], escaped: Sequence[list[State]] = ()) -> list[list[State]]:
        """Replaces the states that left since `marks` by `escaped`. Returns those that it takes out."""

    def silently(self, walk: Callable[[], T]) -> tuple[T, list[list[State]]] | None:
        """Walks without recording. Returns the result and the states that left; None where that would take too long."""

    def subshell(self, walk: Callable[[], State | None], scope: Scope) -> State | None:
        """Walks commands in a subshell, which `exit` and `return` leave, and returns the state at its end."""

    def emit(self, pieces: Pieces | None, scope: Scope) -> None:
        """Appends to the standard output that a substitution collects; None: unknown output."""

    def redirecting(
        self, redirects: Sequence[Redirect], scope: Scope, walk: Callable[[], State | None]
    ) -> State | None:
        """Walks a compound command with redirects: its standard input, and where its output goes."""
