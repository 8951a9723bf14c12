"""Launches: every launcher that the job starts, with the step in whose tasks it runs."""

from __future__ import annotations

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces
from sbatchlint.bash.variables import merge_guards
from sbatchlint.job.containers import Container
from sbatchlint.job.environment import step_around
from sbatchlint.job.launchers import Launcher, recognise
from sbatchlint.job.steps import Step
from sbatchlint.source.records import NamedTuple


class Launch(NamedTuple):
    """A launcher, the command that it is, and the step around it (None: the batch shell starts it itself).

    `restricted`: variables that differ between tasks and decide whether it runs; where there are any, not every task
    starts it.
    """

    launcher: Launcher
    invocation: Invocation
    step: Step | None

    @property
    def restricted(self) -> frozenset[str]:
        return self.invocation.context.restricted

    @property
    def container(self) -> Container | None:
        return container_of(self.invocation)


def exported(invocation: Invocation, name: str) -> Pieces | None:
    """The value of a variable in a command's environment, where the script sets it to just one there."""
    variable = invocation.state.variables.get(name)
    if variable is None or not variable.exported:
        return None
    values = [each.fields for each in variable.alternatives if merge_guards(invocation.guards, each.guards) is not None]
    if len(values) != 1 or not values[0]:
        return None
    return values[0][0]


def is_set(invocation: Invocation, name: str) -> bool:
    """Whether the script sets a variable before a command, exported or not, to whatever."""
    variable = invocation.state.variables.get(name)
    return variable is not None and bool(variable.alternatives)


def container_of(invocation: Invocation) -> Container | None:
    """The innermost container that a command runs in."""
    each: Invocation | None = invocation.context.parent
    while each is not None:
        info = getattr(each.spawn, "info", None)
        if isinstance(info, Step):
            return info.container
        if isinstance(info, Container):
            return info
        each = each.context.parent
    return None


def find_launches(invocations: list[Invocation]) -> list[Launch]:
    """The launchers among the commands."""
    found = []
    for invocation in invocations:
        if invocation.phase is Phase.SUBMIT:
            continue

        def environment(name: str, here: Invocation = invocation) -> Pieces | None:
            return exported(here, name)

        launcher = recognise(invocation.argv, environment)
        if launcher is not None:
            found.append(Launch(launcher, invocation, step_around(invocation.context)))
    return found
