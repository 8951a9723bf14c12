"""What word expansion needs to know: its scope, the environment, and the interpreter as far as expansion uses it."""

from collections.abc import Sequence
from typing import Protocol

from sbatchlint.bash.expansion.field_splitting import Segments
from sbatchlint.bash.limits import Limits
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.tree import Assignment, Part, Program, Redirect, Statement, Word
from sbatchlint.bash.trace import Context, Trace
from sbatchlint.bash.values import Expansion, Piece, Pieces, Text
from sbatchlint.bash.variables import Fields, Guards
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span


class Environment(Protocol):
    """The environment before the script sets anything.

    `answers_of_jobs`: how often it answered what holds in jobs only, and is open, or otherwise, for other shells.
    `is_outside`: whether a branch is walked that only these take.
    """

    answers_of_jobs: int
    is_outside: bool

    def lookup(self, name: str, context: Context) -> str | bool | None:
        """The value where it is known; False: certainly not set; True: set, and not empty; None: unknown."""

    def has_program(self, name: str, context: Context) -> bool | None:
        """Whether a program is in PATH; None: unknown."""

    def is_terminal(self, fd: str, context: Context) -> bool | None:
        """Whether a file descriptor is a terminal; None: unknown."""

    def differs(self, name: str) -> bool:
        """Whether the variable differs between the tasks of a step."""

    def certainly_prints(self, expansion: Expansion) -> bool:
        """Whether a command substitution gives a text that is not empty, though it is not known which."""


class Scope(Record):
    """Where a word is expanded: the state of the shell, the text, and the place in the control flow."""

    state: State
    text: Text
    context: Context

    def span(self, node: Part | Statement | Word | Assignment | Redirect) -> Span:
        """Where a node of the text is in the file."""
        return self.text.span(node.start, node.end)

    def written(self, node: Part | Statement | Word | Assignment) -> str:
        """A node of the text as it is written."""
        return self.text.string[node.start : node.end]

    def expanded(
        self, string: str | None, name: str, span: Span, inputs: tuple[Expansion, ...] = (), is_open: bool = False
    ) -> Piece:
        """A piece that an expansion gives here; `string` None: an unknown one."""
        return Piece(string, span.start, span.end, Expansion(name, span, self.context.phase, inputs), is_open)

    def unknown(self, name: str, span: Span, inputs: tuple[Expansion, ...] = (), is_open: bool = False) -> Pieces:
        """The pieces of an unknown value that an expansion gives here."""
        return (self.expanded(None, name, span, inputs, is_open),)


Choice = tuple[Segments, Guards]
FieldChoice = tuple[Fields, Guards]


class Substituter(Protocol):
    """The interpreter, as far as expansion needs it. `kept_alive`: objects whose identity is part of a guard's key."""

    environment: Environment
    limits: Limits
    trace: Trace
    kept_alive: list[object]

    def output(
        self, body: Sequence[Statement], scope: Scope, inputs: list[Expansion], commands: list[tuple[str, ...]]
    ) -> list[tuple[Pieces, Guards]] | None:
        """What a substitution prints, None where unknown; adds its inputs and the commands that run in it."""

    def parsed(self, string: str) -> Program:
        """The program that a string is."""

    def charge(self, cost: int, span: Span) -> None:
        """Charges work like so many statements. Raises WorkBudgetExceeded where the budget is spent."""

    def abandon(self, scope: Scope) -> None:
        """Notes that the shell may give up the whole command here that it read, all of the loop, list or function
        around this place, and go on with the next line."""

    def spend(self, pieces: int, scope: Scope, node: Assignment) -> None:
        """Charges a long value like statements. Raises WorkBudgetExceeded where the budget is spent."""

    def spend_words(self, words: int, scope: Scope, node: Assignment) -> None:
        """Charges the words of an array like those of a command. Raises WorkBudgetExceeded."""

    def read_status(self, name: str) -> None:
        """Records that `$?` or PIPESTATUS is read."""
