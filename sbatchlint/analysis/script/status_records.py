"""What the walk of `sbatchlint.analysis.script.exit_status` knows at a point of a script, and what it finds."""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, Parameter, Word
from sbatchlint.bash.trace import Invocation
from sbatchlint.source.text import Span


class Loss(NamedTuple):
    """A command whose failure does not make the job fail.

    `how`: "pipeline" (another element's status counts), "replaced" (another command follows), "tested" (and nothing is
    done about a failure), "zero" (`exit 0`), "ignored" (`|| true`), "wait" (a `wait` that returns 0), "waits" (one that
    returns the status of the last of several), "iterations" (the next iteration of a loop replaces it), "overwritten"
    (the next iteration overwrites the variable that holds it), "again" (another status is put into the variable before
    anything reads it). `by`: where that is written. `errexit`: whether errexit
    is on there. `filter`: the command at the end of the pipeline.
    """

    command: Invocation
    weight: Weight
    how: str
    by: Span
    errexit: bool
    filter: Invocation | None = None


class EmptyStatus(NamedTuple):
    """A `$?` that is the status of starting a background command, and so always 0.

    `acted_on`: whether something is done about it, or it is stored; False where it is only printed.
    """

    read: Span
    started: Span
    acted_on: bool


class LateRead(NamedTuple):
    """A `$?` that is 0 even if `work` failed, as the command in between, `by`, cannot fail; None for a filter after it.

    `use`: `decides` (which commands run), `verdict` (which message is printed), or `printed`.
    """

    read: Span
    work: Invocation
    by: Span | None
    use: str


class DeadRead(NamedTuple):
    """A `$?` that is always 0, as errexit ends the shell where `work` fails.

    `name`: the variable that keeps it, None where it is tested at once. `never`: what is written for a failure and so
    never runs, None without a test. `gives_up`: whether that only prints, and ends the script.
    """

    read: Span
    work: Invocation
    name: str | None
    never: Span | None
    gives_up: bool


class Arm(NamedTuple):
    """A branch of an `if`, a `case` or a `[ … ] && …`.

    `test`: its test as written ("" for else). `first`, `last`: the range of `ExitStatuses.met` that runs in it.
    `messages`: its statements with their text, if it only prints. `goes_on`: whether the shell goes on after it.
    """

    test: str
    first: int
    last: int
    messages: list[tuple[Span, str]]
    goes_on: bool


class Choice(NamedTuple):
    """A statement of which one arm runs. `kind`: If, Case, AndOr. `first`, `last`: the range of all its arms."""

    kind: str
    span: Span
    arms: tuple[Arm, ...]
    first: int
    last: int


class ExitStatuses(NamedTuple):
    """What becomes of the exit statuses of a job.

    `lost`: in the order in which the commands run; `awaited`: those that a `wait` loses. `decisive`: the work whose
    failure makes the job fail, or a shell that it starts. `work`: all of the work. `last`: the last command of the
    script itself that always runs. `end`: the place whose status the script returns, where that is not this command (a
    loop or a test follows). `empty`, `late`, `dead`: see `EmptyStatus`, `LateRead` and `DeadRead`. `risky`: whether
    errexit could end the job though nothing is wrong. `kept`: by variable, the work whose status it holds. `met`: every
    command in order, with its weight. `choices`: the statements with arms, inner ones first, after which nothing looks
    at results. `arithmetic`: every `((…))` that ends its shell, by errexit, if it is 0.
    """

    lost: list[Loss]
    awaited: list[Loss]
    decisive: list[Invocation]
    work: list[Invocation]
    last: Invocation | None
    end: Span | None
    empty: list[EmptyStatus]
    late: list[LateRead]
    dead: list[DeadRead]
    risky: bool
    kept: dict[str, list[Invocation]]
    met: list[tuple[Invocation, Weight]]
    choices: list[Choice]
    arithmetic: list[Span]


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


def after_sure(status: Status, place: Span) -> Status:
    """The status after a command at a place that cannot fail."""
    carried = status.carried
    if not carried and not status.piped:
        return status
    by = place if carried else status.by
    return Status((), (), status.started, carried or status.hidden, by, status.fatal)


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
