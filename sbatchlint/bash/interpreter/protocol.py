"""What the parts of the interpreter ask of each other, and what the interpreter asks of the job layer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from sbatchlint.bash.expansion.protocol import Environment, Expander, Scope, Substituter
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.tree import Redirect, Statement
from sbatchlint.bash.trace import Invocation, Redirection
from sbatchlint.bash.values import Phase, Pieces, Text
from sbatchlint.source.text import Span

T = TypeVar("T")


class Spawn:
    """What the job layer says of a command that starts another.

    `command`: where in argv the started command begins (None: there is none). `kind`: `srun`, `env`, `apptainer` …
    `phase`: in which phase the started command runs, None for that of the command itself. `variables`, `dropped`,
    `cleared` (all but `kept`): what happens to the environment on the way. `prefix`: words put before the started
    command's own. `info`: the job layer's own record.
    """

    __slots__ = ("cleared", "command", "dropped", "info", "kept", "kind", "phase", "prefix", "variables")

    def __init__(
        self, kind: str, command: int | None, phase: Phase | None = None,
        variables: tuple[tuple[str, Pieces], ...] = (), dropped: frozenset[str] = frozenset(), cleared: bool = False,
        info: object = None, prefix: tuple[Pieces, ...] = (), kept: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.kind = kind
        self.command = command
        self.phase = phase
        self.variables = variables
        self.dropped = dropped
        self.cleared = cleared
        self.info = info
        self.prefix = prefix
        self.kept = kept


class Hooks(Protocol):
    """What the evaluator asks the job layer."""

    @property
    def environment(self) -> Environment: ...

    def spawn(self, invocation: Invocation) -> Spawn | None:
        """What the command starts, if it is one that starts others (shells are the evaluator's own)."""

    def file(self, name: str, included_from: Span) -> Text | None:
        """A file beside the script, by its `programs.file_name`; `way`: the command that reads or starts it."""

    def host_paths(self, path: Pieces, command: Invocation) -> list[Pieces]:
        """Other names that a file of this path has for the shells outside, where the command sees it by a mount."""


class Frame:
    """Where `break` and `continue` lead."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


class Interpreter(Substituter, Protocol):
    """Walks statements and records what they would run.

    `exits`: how many `exit` with an error were met. `leaves`: the states in which this shell ended; `returns`: those in
    which a function was left, a list for each call, innermost last. `loops`: the loops around, innermost last.
    `silent`: how many statements may still be walked without being recorded, 0 while everything is recorded.
    `substituted`: the status of the last substitution. `redirected`: the redirects of the last compound command.
    """

    hooks: Hooks
    expander: Expander
    exits: int
    returns: list[list[State]]
    leaves: list[State]
    loops: list[Frame]
    silent: int
    substituted: int | None
    redirected: Sequence[Redirection]

    def statement(self, statement: Statement, scope: Scope) -> State | None:
        """Walks a statement; gives the state after it, None where the flow does not go on behind it."""

    def statements(self, body: Sequence[Statement], scope: Scope) -> State | None:
        """Walks statements in order."""

    def program(self, text: Text, scope: Scope) -> State | None:
        """Walks a program that stands in a value."""

    def command(self, invocation: Invocation, scope: Scope) -> State | None:
        """Runs a command whose words are expanded."""

    def new_key(self, kind: str) -> Hashable:
        """A key for guards that is like no other."""

    def merge(self, states: Sequence[State | None], phase: Phase) -> State | None:
        """The state after ways of which just one was taken."""

    def marks(self) -> list[tuple[list[State], int]]:
        """The lists of states that left the flow, and how long they are now."""

    def reset(self, marks: list[tuple[list[State], int]], escaped: Sequence[list[State]] = ()) -> list[list[State]]:
        """Takes back what left the flow since `marks`, in favour of `escaped`, and gives it."""

    def silently(self, walk: Callable[[], T]) -> tuple[T, list[list[State]]] | None:
        """Walks without recording; None where that would take too long. Gives also the states that left the flow."""

    def subshell(self, walk: Callable[[], State | None], scope: Scope) -> State | None:
        """Walks what runs in a shell of its own, and gives how that ends: `exit` and `return` do not leave it."""

    def emit(self, pieces: Pieces | None, scope: Scope) -> None:
        """Something is written to standard output; None: what is not known."""

    def redirecting(
        self, redirects: Sequence[Redirect], scope: Scope, walk: Callable[[], State | None]
    ) -> State | None:
        """Walks a compound command with redirects: its standard input, and where its output goes."""
