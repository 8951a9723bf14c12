"""The files that the batch shell and srun open for the output of commands, and the commands that make their folders."""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.analysis.storage.made_folders import makers, resolved
from sbatchlint.analysis.storage.written_paths import WRITING
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text
from sbatchlint.bash.variables import merge_guards
from sbatchlint.job import Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import key
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_PARENTS = Regex(r"-[a-zA-Z]*p|--parents\Z")


class Opening(NamedTuple):
    """A file that is opened for the output of a command.

    `start`: the index of the first command of its pipeline. `by`: what opens it: `bash`, `tee`, or the srun option that
    names it.
    """

    command: Invocation
    folder: str
    span: Span
    start: int
    by: str

    @property
    def is_option(self) -> bool:
        return self.by not in ("bash", "tee")


def openings(job: Job) -> Iterator[Opening]:
    """The files in folders that a script opens, in the order in which the commands run."""
    starts = _starts(job)
    steps = {id(step.invocation): step for step in job.steps}
    for command in job.invocations:
        step = steps.get(id(command))
        if command.phase is not Phase.BATCH or command.alternatives > 1 or command.context.handler:
            continue
        if enclosing_step(command.context) is not None or container_of(command) is not None and step is None:
            continue
        for target, span, by in _targets(command, step, not job.versions.all_since("23.02")):
            folder, slash, _ = key(target).rpartition("/")
            found = resolved(job, command, folder) if slash else None
            if found is not None and found not in (".", "/") and "%" not in found and not found.startswith("/dev/"):
                yield Opening(command, found, span, starts.get(command.index, command.index), by)


def _starts(job: Job) -> dict[int, int]:
    """The index of the first command of a pipeline, by the index of each of its commands."""
    starts: dict[int, int] = {}
    for run in job.pipelines:
        first = min((command.index for element in run.elements for command in element), default=0)
        for element in run.elements:
            if len([command for command in element if not command.kind]) == 1:  # of several, others may run earlier
                starts.update((command.index, first) for command in element)
    return starts


def _targets(command: Invocation, step: Step | None, of_steps: bool) -> Iterator[tuple[Pieces, Span, str]]:
    """The paths that are opened for a command, each with its place and with what opens it.

    `of_steps`: whether the options of steps count too: from 23.02 on both srun and slurmstepd, which opens the files
    of single tasks and nodes, make the folders.
    """
    for redirect in command.redirects:
        if redirect.operator in WRITING and redirect.target:
            yield redirect.target, redirect.span, "bash"
    if command.name == "tee":
        yield from ((field, command.span, "tee") for field in command.argv[1:] if not shown_text(field).startswith("-"))
    if of_steps and step is not None and step.option("chdir") is None:
        for name in ("output", "error"):
            option = step.option(name)
            if option is not None and option.value:
                yield option.value, option.span or step.span, name


def makers_by_folder(job: Job) -> dict[str, list[Invocation]]:
    """The commands that make each folder, alone or with one in it, in order, without those in traps."""
    found: dict[str, list[Invocation]] = {}
    for maker, made in makers(job):
        if not maker.context.handler:
            parents = maker.name == "install" or any(_PARENTS.match(word) for word in maker.words[1:])
            paths = {folder for path in made for folder in accumulate(path.split("/"), "{}/{}".format)}
            for folder in paths if parents else {*made}:  # without -p the folders above have to exist
                found.setdefault(folder, []).append(maker)
    return found


def is_too_late(maker: Invocation, opening: Opening) -> bool:
    """Whether a command makes the folder of an opening only after the file is opened."""
    if maker.index < opening.start or merge_guards(maker.guards, opening.command.guards) is None:
        return False
    return container_of(maker) is None or opening.folder.startswith(("/", "${"))  # else it is another folder
