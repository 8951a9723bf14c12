"""The pyxis options of one step's container, from the directives and from the srun.

sbatch passes a directive's plugin options on to each srun of the job, and srun reads these before its own command line
(spank.c, Slurm 20.11 to 26.05). A PYXIS_CONTAINER_* variable counts only where no option sets the same (pyxis 0.21).
"""

from typing import NamedTuple

from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.job import Step
from sbatchlint.job.containers import PYXIS_OPTIONS
from sbatchlint.job.steps import directive_value
from sbatchlint.source.text import Span

# The two options that start a container.
STARTING = frozenset({"container-image", "container-name"})


class PyxisOption(NamedTuple):
    """One pyxis option of a step. `inherited`: whether it is from a directive."""

    name: str
    value: Pieces | None
    span: Span
    inherited: bool

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)


def pyxis_options(step: Step) -> list[PyxisOption]:
    """The pyxis options of a step, in the order in which pyxis reads them."""
    found = [
        PyxisOption(setting.name, directive_value(setting), setting.span, True)
        for setting in step.request.directives.every_setting
        if setting.name in PYXIS_OPTIONS
    ]
    found += [
        PyxisOption(option.name, option.value, option.span, False)
        for option in step.all_options
        if option.name in PYXIS_OPTIONS
    ]
    return found


def is_heterogeneous(step: Step) -> bool:
    """Whether the srun has several components (`srun A : B`), each with options of its own."""
    return len(step.parts) > 1
