"""What the parts of word expansion ask of each other and of the interpreter."""

from collections.abc import Sequence
from typing import Protocol

from sbatchlint.bash.expansion.field_splitting import Segments
from sbatchlint.bash.limits import Limits
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.tree import Assignment, Part, Statement, Word
from sbatchlint.bash.trace import Context, Trace
from sbatchlint.bash.values import Expansion, Piece, Pieces, Text
from sbatchlint.bash.variables import Fields, Guards


class Environment(Protocol):
    """The environment before the script sets anything."""

    def lookup(self, name: str, context: Context) -> str | bool | None:
        """The value where it is known; False: certainly not set; True or None: unknown."""

    def differs(self, name: str) -> bool:
        """Whether the variable differs between the tasks of a step."""

    def surely_prints(self, expansion: Expansion) -> bool:
        """Whether a command substitution gives a text that is not empty, though it is not known which."""


class Scope:
    """Where a word is expanded: the state of the shell, the text, and the place in the control flow."""

    __slots__ = ("context", "state", "text")

    def __init__(self, state: State, text: Text, context: Context) -> None:
        self.state = state
        self.text = text
        self.context = context


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

    def spend(self, pieces: int, scope: Scope, node: Assignment) -> None:
        """Charges a long value like statements. Raises WorkBudgetExceeded where the budget is spent."""

    def read_status(self, name: str) -> None:
        """Records that `$?` or PIPESTATUS is read."""


class Expander(Protocol):
    """Expands words; every expansion returns alternatives, each with its guards."""

    substituter: Substituter

    def fields(self, word: Word, scope: Scope) -> list[FieldChoice]:
        """The fields of a word of a command."""

    def argv(self, words: Sequence[Word], scope: Scope) -> list[FieldChoice]:
        """The words of a command: every consistent combination of their alternatives."""

    def array(self, elements: Sequence[Word], scope: Scope) -> list[FieldChoice]:
        """The elements of `(…)`."""

    def value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word that is not split: of a redirect, a `case`, a condition."""

    def assignment_value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word on the right side of an assignment."""

    def single_value(self, word: Word | None, scope: Scope) -> Pieces:
        """The only value of a word; unknown where there are several."""

    def only_value(self, values: list[tuple[Pieces, Guards]], word: Word | None, scope: Scope) -> Pieces:
        """The only one of these values of a word; unknown where there are several."""

    def pattern(self, word: Word | None, scope: Scope) -> str | None:
        """The text of a pattern, in which quoted characters are escaped by a backslash; None where unknown."""

    def segments(
        self, parts: Sequence[Part | Piece], scope: Scope, split: bool = True, tilde: str = "word",
        loose: bool = False,
    ) -> list[Choice]:  # fmt: skip
        """The segments of a word's parts. `split`: into fields; `loose`: literal text is split, too."""

    def part(self, part: Part, scope: Scope, split: bool = True) -> list[Choice]:
        """The alternatives of a part other than literal text."""

    def number(self, start: int, end: int, scope: Scope) -> tuple[int | None, tuple[Expansion, ...]]:
        """The value of the arithmetic expression in a range of the text, and its inputs."""

    def number_of(self, expression: str, scope: Scope, inputs: dict[Expansion, None]) -> tuple[int | None, bool]:
        """The value of an expression without `$`, and whether it is certainly invalid."""

    def truth(self, start: int, end: int, scope: Scope) -> int | None:
        """The exit status of `((…))`."""

    def note_names(self, start: int, end: int, scope: Scope) -> None:
        """Records the variables that an expression names without `$`."""
