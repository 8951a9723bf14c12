"""What pyxis is told of one step's container: the options of the directives and of the srun, which meet in it.

sbatch hands on a directive's plugin options to each srun of the job, and srun reads these before its own command line
(spank.c, Slurm 20.11 to 26.05). A PYXIS_CONTAINER_* variable only counts where no option says the same (pyxis 0.21).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.launch.step_options import remove_step_option
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.job.containers import PYXIS_OPTIONS, opposite
from sbatchlint.job.steps import PYXIS_STARTS, Step, directive_value, written
from sbatchlint.source.records import NamedTuple
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.source.edits import Edit

# The two options that start a container.
STARTING = frozenset({"container-image", "container-name"})
# Another value for one of these is an error (args.c, 0.1 to 0.24); mounts, env and unshare add up.
_ONCE = frozenset({"container-image", "container-name", "container-workdir", "container-save"})


class Asked(NamedTuple):
    """One option of pyxis that a step gets. `written`: as in the file. `inherited`: it stands in a directive."""

    name: str
    value: Pieces | None
    span: Span
    written: str
    inherited: bool

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)


class Conflict(NamedTuple):
    """Two options that do not go together: what pyxis says of them, and the edits that leave the later one.

    `step`: the srun that fails; None where sbatch does.
    """

    step: Step | None
    first: Asked
    second: Asked
    refusal: str
    edits: tuple[Edit, ...]


class Ignored(NamedTuple):
    """Options of an srun that start no container, in order."""

    step: Step
    options: tuple[Asked, ...]


def asked(step: Step) -> list[Asked]:
    """What reaches pyxis for a step, in the order in which it is told."""
    found = [
        Asked(each.name, directive_value(each), each.span, f"#SBATCH {each.written}", True)
        for each in step.request.directives.settings
        if each.name in PYXIS_OPTIONS
    ]
    found += [
        Asked(each.name, each.value, each.span, written(each) if each.value is not None else each.written, False)
        for each in step.given
        if each.name in PYXIS_OPTIONS
    ]
    return found


def is_heterogeneous(step: Step) -> bool:
    """Whether the srun has several components (`srun A : B`), of which only the first one's options are read."""
    return any(text_of(field) == ":" for field in step.invocation.argv)


def ignored(step: Step) -> Ignored | None:
    """The options of an srun for a container that nothing starts; None where one may be started."""
    options = asked(step)
    own = tuple(each for each in options if not each.inherited)
    if not own or not step.certain or any(each.name in STARTING for each in options) or is_heterogeneous(step):
        return None
    if any(is_given(step, name) for name in PYXIS_STARTS):
        return None
    return Ignored(step, own)


def is_given(step: Step, variable: str) -> bool:
    """Whether an srun may find a variable that the script sets."""
    if any(name == variable for name, _ in step.invocation.variables) or exported(step.invocation, variable):
        return True
    found = step.invocation.state.variables.get(variable)
    return found is not None and bool(found.alternatives)


def conflicts(job: Job) -> Iterator[Conflict]:
    """The options that pyxis refuses together, each pair of places once."""
    seen: set[tuple[Span, Span]] = set()
    for step in job.steps:
        if is_heterogeneous(step):
            continue
        options = asked(step)
        for index, second in enumerate(options):
            for first in options[:index]:
                refusal = _refusal(first, second)
                if refusal and (first.span, second.span) not in seen:
                    seen.add((first.span, second.span))
                    at = None if second.inherited else step
                    yield Conflict(at, first, second, refusal, tuple(_without(job, step, first, second)))


def _refusal(first: Asked, second: Asked) -> str:
    if first.name == opposite(second.name):
        on = next(name for name in ("container-writable", first.name, second.name)
                  if name in (first.name, second.name) and not name.startswith("no-"))  # fmt: skip
        return f"both --{on} and --{opposite(on)} were specified"
    if first.name == second.name and first.name in _ONCE and _differ(first, second):
        return (
            "" if second.inherited else f"--{first.name} specified multiple times"
        )  # sbatch refuses it itself, before
    return ""


def _without(job: Job, step: Step, first: Asked, second: Asked) -> list[Edit]:
    """Takes the earlier option out, where no other step would lose it."""
    if not first.inherited:
        option = next(each for each in step.given if each.span == first.span)
        edit = remove_step_option(job, step, option)
        return [] if edit is None else [edit]
    for other in job.steps:
        if not second.inherited and other.container is not None:
            if not any(each.name == second.name and not each.inherited for each in asked(other)):
                return []
    setting = next((each for each in job.directives.settings if each.span == first.span), None)
    return [] if setting is None or job.is_embedded else job.directives.removal([setting])


def _differ(first: Asked, second: Asked) -> bool:
    one, other = first.text, second.text
    if one is None or other is None:
        return False
    # The name is kept without its flag, and compared with the whole of the next one.
    return (one.partition(":")[0] if first.name == "container-name" else one) != other


class LeftHome(NamedTuple):
    """A step that leaves it to the site whether the home folder is mounted, where another one says it."""

    step: Step
    other: Asked
    other_step: Step


def left_homes(job: Job) -> Iterator[LeftHome]:
    """Those of the steps that run a program of their own."""
    from sbatchlint.analysis.storage.caches import programs_of

    said: list[tuple[Step, Asked]] = []
    for step in job.steps:
        if step.container is not None and step.container.home_mounted is not None:
            said += [(step, each) for each in asked(step) if each.name.endswith("container-mount-home")]
    if not said or any(each.inherited for _, each in said):
        return
    seen: set[Span] = set()
    for step in job.steps:
        container = step.container
        if container is None or container.kind != "pyxis" or container.home_mounted is not None:
            continue
        if not step.certain or any(each.name.endswith("container-mount-home") for each in asked(step)):
            continue
        if step.span not in seen and not is_heterogeneous(step) and programs_of(step):
            seen.add(step.span)
            yield LeftHome(step, said[0][1], said[0][0])
