"""The launchers that a job starts, each with the step in whose tasks it runs."""

from functools import partial

from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase
from sbatchlint.job.argv import program_name
from sbatchlint.job.beside import FilesBeside
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import Launcher, may_launch, recognise
from sbatchlint.job.launchers.configuration import configure
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.source.records import Record


class Launch(Record):
    """A launcher, its command, and the step in whose tasks it runs (None: the batch shell starts it).

    `restricted`: variables that differ between tasks and decide whether it runs, so that only some tasks start it.
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


def by_step(launches: list[Launch]) -> dict[int, list[Launch]]:
    """The launchers that run in the tasks of each step, by its identity."""
    found: dict[int, list[Launch]] = {}
    for launch in launches:
        if launch.step is not None:
            found.setdefault(id(launch.step), []).append(launch)
    return found


def entered(invocation: Invocation) -> Container | None:
    """The container that a command starts or enters, for an srun that of its step; None if there is none."""
    info = invocation.spawn.info
    if info is None:
        return None
    container = info.container if isinstance(info, Step) else info
    return container if isinstance(container, Container) else None


def runs_own_program(starter: Invocation) -> bool:
    """Whether `apptainer run IMAGE …` gives the words after it to the program of the image."""
    return starter.name in ("apptainer", "singularity") and "run" in starter.words[1:4]


def container_of(invocation: Invocation) -> Container | None:
    """The innermost container that a command runs in; None on the host."""
    parent: Invocation | None = invocation.context.parent
    while parent is not None:
        info = parent.spawn.info
        if isinstance(info, Step):
            return info.container
        if isinstance(info, Container):
            return info
        parent = parent.context.parent
    return None


def find_launches(invocations: list[Invocation], beside: FilesBeside) -> list[Launch]:
    """The launchers among the commands, with the settings of their configuration files."""
    found = []
    for invocation in invocations:
        name = program_name(invocation)
        if name is None or not may_launch(name) or invocation.phase is Phase.SUBMIT:
            continue
        launcher = recognise(invocation.argv, partial(exported, invocation))
        if launcher is not None and not invocation.calls_function:
            launcher.joined = invocation.before is not None or invocation.spawn.component is not None
            if launcher.kind == "accelerate" and launcher.config_file is not None:
                configure(launcher, launcher.config_file, invocation, beside)
            found.append(Launch(launcher, invocation, enclosing_step(invocation.context)))
    return found
