"""What is told of exit statuses: see `sbatchlint.analysis.script.exit_status`."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.syntax.tree import Assignment, Parameter, Simple, Word
from sbatchlint.bash.trace import Invocation
from sbatchlint.source.text import Span


class Loss(NamedTuple):
    """A command whose failure the job does not show.

    `how`: "pipeline" (another element's status counts), "later" (another command follows), "told" (it is tested, and
    nothing is done about a failure), "zero" (`exit 0`), "ignored" (`|| true`), "wait" (a `wait` that returns 0),
    "waits" (one that returns the status of the last of several), "turns" (the next turn of a loop replaces it), "kept"
    (the next turn replaces the variable that holds it). `by`: where that is written. `errexit`: whether the shell would
    end by a command that fails. `filter`: the command at the end of the pipeline.
    """

    command: Invocation
    weight: Weight
    how: str
    by: Span
    errexit: bool
    filter: Invocation | None = None


class EmptyStatus(NamedTuple):
    """A `$?` that is 0 whatever becomes of a command in the background, as it is that of its start.

    `earnest`: something is done about it, or it is kept; False where it is only printed.
    """

    read: Span
    started: Span
    earnest: bool


class LateRead(NamedTuple):
    """A `$?` that is 0 whatever became of `work`, as a command in between, `by`, cannot fail."""

    read: Span
    work: Invocation
    by: Span


class Arm(NamedTuple):
    """A branch of an `if`, a `case` or a `[ … ] && …`.

    `test`: what is tested for it, as written ("" for else). `first`, `last`: which of the commands in order run in it.
    `told`: its statements with their text where it only tells something. `goes_on`: whether the shell goes on.
    """

    test: str
    first: int
    last: int
    told: list[tuple[Span, str]]
    goes_on: bool


class Choice(NamedTuple):
    """A statement of which one arm runs. `kind`: If, Case, AndOr. `first`, `last`: as those of its arms."""

    kind: str
    span: Span
    arms: tuple[Arm, ...]
    first: int
    last: int


class Fates(NamedTuple):
    """What becomes of the exit statuses of a job.

    `lost`: in order of running; `awaited`: the same of what a `wait` loses. `decisive`: the work whose failure is that
    of the job, or of a shell that it starts. `work`: all of it. `last`: the last command of the script itself. `empty`,
    `late`: see `EmptyStatus` and `LateRead`. `risky`: whether errexit could end the job where nothing is wrong. `met`:
    every command in order, with its weight. `choices`: the branches, inner ones first, behind which nothing looks at
    results.
    """

    lost: list[Loss]
    awaited: list[Loss]
    decisive: list[Invocation]
    work: list[Invocation]
    last: Invocation | None
    empty: list[EmptyStatus]
    late: list[LateRead]
    risky: bool
    met: list[tuple[Invocation, Weight]]
    choices: list[Choice]


class Status:
    """What `$?` is: `carried`: the commands of whose failure it tells. `piped`: those of which PIPESTATUS tells
    as well. `started`: the statement in the background whose start gave it. `hidden`: the commands whose status was
    replaced by that of a command that cannot fail, `by`."""

    __slots__ = ("by", "carried", "hidden", "piped", "started")

    def __init__(
        self, carried: tuple[Invocation, ...] = (), piped: tuple[Invocation, ...] = (), started: Span | None = None,
        hidden: tuple[Invocation, ...] = (), by: Span | None = None,
    ) -> None:  # fmt: skip
        self.carried = carried
        self.piped = piped
        self.started = started
        self.hidden = hidden
        self.by = by


# That of what does no work. There is just one, so that it is known by its identity.
GOOD = Status()


def carrying(commands: Iterable[Invocation]) -> Status:
    """The status that tells of the failure of these commands."""
    carried = tuple(commands)
    return Status(carried) if carried else GOOD


class Process:
    """A shell process: the statuses that it ends with, and what it has in the background.

    `started`: the commands of the statement that was put there last. `ids`: those of which a variable holds the `$!`.
    """

    def __init__(self) -> None:
        self.exits: list[Invocation] = []
        self.background: list[Invocation] = []
        self.inner: list[Invocation] = []  # what decides the statuses of programs that it starts
        self.started: tuple[Invocation, ...] | None = None
        self.ids: dict[str, tuple[Invocation, ...] | None] = {}

    def start(self, commands: Sequence[Invocation]) -> None:
        """Puts commands in the background."""
        self.started = tuple(commands)
        self.background.extend(commands)

    def note_id(self, node: Assignment) -> None:
        """Notes what a variable holds from now on."""
        if self.started is None:
            return
        name = _parameter(node.value) if isinstance(node.value, Word) else None
        plain = not node.append and node.index is None
        self.ids[node.name] = None if not plain or name is None else self.awaited(name)

    def awaited(self, name: str) -> tuple[Invocation, ...] | None:
        """The commands of whose failure `wait "$name"` tells; None where that is not known."""
        return self.started if name == "!" else self.ids.get(name)


def _parameter(word: Word) -> str | None:
    """The parameter that a word consists of: `$pid`, `"$pid"`, `${pid}`."""
    part = word.parts[0] if len(word.parts) == 1 else None
    return part.name if isinstance(part, Parameter) and not part.operator and part.index is None else None


def awaited(node: Simple, process: Process) -> tuple[Invocation, ...] | None:
    """The commands whose status a `wait` with one word returns; None where that is not known."""
    word = node.words[1] if len(node.words) == 2 else None
    name = _parameter(word) if isinstance(word, Word) else None
    return None if name is None else process.awaited(name)


def joined(ends: Sequence[Status | None]) -> Status | None:
    """The status after branches of which one runs; None where none goes on."""
    live = [each for each in ends if each is not None]
    if not live:
        return None
    return carrying(dict.fromkeys([each for end in live for each in end.carried]))
