"""The results of `sbatchlint.analysis.script.exit_status`."""

from typing import NamedTuple

from sbatchlint.analysis.script.work import Weight
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
