"""Where the software of a job comes from, as far as its script says so: modules and environments."""

import re
from typing import NamedTuple

from sbatchlint.bash.values import shown_text
from sbatchlint.diagnose.evidence import asks_for_gpus, own_commands
from sbatchlint.diagnose.symptom import RULED_OUT, Event, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_LOADS = frozenset(["load", "add", "try-load", "switch", "swap"])
_NOT_LOADING = frozenset(
    ["purge", "list", "avail", "spider", "use", "unload", "rm", "save", "restore", "show", "whatis", "unuse", "del"]
)
# What a module's name says of a build for GPUs.
_FOR_GPU = Regex(r"(?i)cuda|gpu|rocm|hip\b|nvhpc|cu\d\d")
# Programs and packages that are built with and without GPUs, and that a script loads for their own sake.
_EITHER = Regex(
    r"(?i)^(?:py)?torch|^tensorflow|^jax|^keras|^mxnet|^horovod|^gromacs|^lammps|^namd|^amber|^openmm|^cp2k|^quantum-?espresso"
    r"|^vasp|^relion|^alphafold|^colabfold|^theano|^lightgbm|^xgboost|^cupy|^numba|^magma|^ompi|^openmpi|^ucx|^kokkos|^petsc|^hoomd"
)
# Libraries that stand beside a program.
_BESIDE = Regex(r"(?i)^(?:cuda|cudnn|nccl|ompi|openmpi|ucx|magma|kokkos|rocm|nvhpc)")
_ACTIVATES = Regex(r"(?:^|/)activate$")


# Of more commands that load something it is unknown which matters.
MOST_BRINGING = 3


class Module(NamedTuple):
    """A module that a script loads: its name as it is written, and its place."""

    name: str
    span: Span


@once
def modules(job: Job) -> tuple[Module, ...]:
    """The modules that the script itself loads, in order."""
    found = []
    for command in own_commands(job):
        if command.name not in ("module", "ml"):
            continue
        words = [shown_text(each) for each in command.argv[1:]]
        if words and words[0] in _NOT_LOADING:
            continue
        names = [each for each in words if each not in _LOADS and not each.startswith("-")]
        found += [Module(each, command.span) for each in names]
    return tuple(found)


def environments(job: Job) -> tuple[Span, ...]:
    """The commands of the script that activate an environment of conda or Python."""
    found = []
    for command in own_commands(job):
        first = next((shown_text(each) for each in command.argv[1:]), "")
        by_conda = command.name in ("conda", "mamba", "micromamba", "pyenv", "pixi") and first in ("activate", "run")
        if by_conda or (command.name in ("source", ".") and _ACTIVATES.search(first)):
            found.append(command.span)
    return tuple(dict.fromkeys(found))


def bringing(job: Job) -> tuple[Span, ...]:
    """The commands that activate an environment or load modules, in a script that has few of them."""
    found = tuple(dict.fromkeys((*environments(job), *(each.span for each in modules(job)))))
    return found if len(found) <= MOST_BRINGING else environments(job)


def _activated_after(job: Job, module: Module) -> bool:
    """Whether an environment is activated after a module is loaded, and so comes first in PATH."""
    return any(each.start > module.span.start for each in environments(job))


def module_without_gpu(job: Job, event: Event) -> Verdict:
    """The module of a program that is, by its name, a build without GPUs, in a job that has some."""
    if not asks_for_gpus(job):
        return None
    programs = [each for each in modules(job) if _EITHER.search(each.name) and not _BESIDE.search(each.name)]
    plain = [each for each in programs if not _FOR_GPU.search(each.name) and re.search(r"/\d", each.name)]
    beside = [each for each in modules(job) if _BESIDE.search(each.name) and _FOR_GPU.search(each.name)]
    if not plain or len(plain) < len(programs) or _activated_after(job, plain[-1]):
        return None
    names = plain[-1].name
    says = f"the module {names} is, by its name, a build without GPUs"
    if beside:
        says += f", and {beside[-1].name} beside it changes nothing in it"
    return Shown((plain[-1].span,), says, "likely" if beside else "possible")


def module_for_gpu(job: Job, event: Event) -> Verdict:
    """The module of a program that was built for GPUs, and does not see those that the job has."""
    if not asks_for_gpus(job):
        return RULED_OUT
    built = [each for each in modules(job) if _FOR_GPU.search(each.name) and not _BESIDE.search(each.name)]
    if not built or _activated_after(job, built[-1]):
        return RULED_OUT
    says = (
        f"the build of the module {built[-1].name} finds no GPU that it can use, where the job has some: it has no code"
        " for this kind of card, or does not fit the node's driver"
    )
    return Shown((built[-1].span,), says, "likely")
