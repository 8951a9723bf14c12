"""What is told of exit statuses: see `sbatchlint.analysis.script.exit_status`."""

from typing import NamedTuple

from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.source.text import Span


class Loss(NamedTuple):
    """A command whose failure the job does not show.

    `how`: "pipeline" (another element's status counts), "replaced" (another command follows), "tested" (and nothing is
    done about a failure), "zero" (`exit 0`), "ignored" (`|| true`), "wait" (a `wait` that returns 0), "waits" (one that
    returns the status of the last of several), "iterations" (the next iteration of a loop replaces it), "overwritten"
    (the next iteration overwrites the variable that holds it). `by`: where that is written. `errexit`: whether the
    shell would end by a command that fails. `filter`: the command at the end of the pipeline.
    """

    command: Invocation
    weight: Weight
    how: str
    by: Span
    errexit: bool
    filter: Invocation | None = None


class EmptyStatus(NamedTuple):
    """A `$?` that is 0 whatever becomes of a command in the background, as it is that of its start.

    `acted_on`: something is done about it, or it is kept; False where it is only printed.
    """

    read: Span
    started: Span
    acted_on: bool


class LateRead(NamedTuple):
    """A `$?` that is 0 whatever became of `work`, as a command in between, `by`, cannot fail."""

    read: Span
    work: Invocation
    by: Span


class Arm(NamedTuple):
    """A branch of an `if`, a `case` or a `[ … ] && …`.

    `test`: what is tested for it, as written ("" for else). `first`, `last`: which of the commands in order run in it.
    `messages`: its statements with their text where it only prints something. `goes_on`: whether the shell goes on.
    """

    test: str
    first: int
    last: int
    messages: list[tuple[Span, str]]
    goes_on: bool


class Choice(NamedTuple):
    """A statement of which one arm runs. `kind`: If, Case, AndOr. `first`, `last`: as those of its arms."""

    kind: str
    span: Span
    arms: tuple[Arm, ...]
    first: int
    last: int


class ExitStatuses(NamedTuple):
    """What becomes of the exit statuses of a job.

    `lost`: in order of running; `awaited`: the same of what a `wait` loses. `decisive`: the work whose failure is that
    of the job, or of a shell that it starts. `work`: all of it. `last`: the last command of the script itself. `empty`,
    `late`: see `EmptyStatus` and `LateRead`. `risky`: whether errexit could end the job where nothing is wrong. `met`:
    every command in order, with its weight. `choices`: the branches, inner ones first, after which nothing looks at
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
