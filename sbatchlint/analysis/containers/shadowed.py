"""Variables that a script exports for a container whose image may define them too, and then wins.

pyxis hands the whole environment in, but a variable that the image defines keeps the image's value, unless
--container-env names it (pyxis 0.15). LANG, LANGUAGE and LC_ALL are taken away (pyxis_slurmstepd.c, 0.24).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.containers.pyxis import is_heterogeneous
from sbatchlint.analysis.storage.caches import programs_of
from sbatchlint.bash.values import Pieces
from sbatchlint.bash.variables import Variable
from sbatchlint.job.commands.argv import partition
from sbatchlint.job.containers import Container
from sbatchlint.job.paths import mount_of
from sbatchlint.job.steps import Step
from sbatchlint.source.records import NamedTuple
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.job import Job

# What images for training define, by their Dockerfiles: NGC's of PyTorch and NeMo, CUDA's and ROCm's.
_DEFINED = Regex(
    r"NCCL_\w+|CUDA_(?!VISIBLE_DEVICES|LAUNCH_BLOCKING)\w+|NVIDIA_\w+|TORCH_\w+|TRITON_\w+|OMP_\w+|MKL_\w+|UV_\w+|UCX_\w+"
    r"|HF_HOME|NEMO_HOME|PYTHONPATH|PIP_CONSTRAINT|XLA_FLAGS|TF_\w+|OPAL_PREFIX"
)
_REMOVED = frozenset({"LANG", "LANGUAGE", "LC_ALL"})
# Lists of folders that every image has: only a folder of the container can be meant for it.
_FOLDERS = frozenset({"PATH", "LD_LIBRARY_PATH"})


class Shadowed(NamedTuple):
    """The variables of one step. `variables`: by name, as the batch shell holds them. `removed`: of them those that
    never arrive. `passable`: those that --container-env should name."""

    step: Step
    variables: dict[str, Variable]
    removed: tuple[str, ...]
    passable: tuple[str, ...]


def shadowed(job: Job) -> Iterator[Shadowed]:
    """For each step in a container of pyxis what its programs have from the batch shell, and nowhere else."""
    for step in job.steps:
        container = step.container
        if container is None or container.kind != "pyxis" or not step.certain or is_heterogeneous(step):
            continue
        exported = {
            name: each
            for name, each in step.invocation.state.variables.items()
            if each.exported and each.alternatives and _may_be_shadowed(name, each, container)
        }
        names = [name for name in exported if name not in container.passed]
        if not names:
            continue
        programs = programs_of(step)
        seen = [
            name
            for name in names
            if any((own := each.state.variables.get(name)) and own.span == exported[name].span for each in programs)
        ]
        if seen:
            removed = tuple(name for name in seen if name in _REMOVED)
            passable = tuple(name for name in seen if name not in _FOLDERS)
            yield Shadowed(step, {name: exported[name] for name in seen}, removed, passable)


def _may_be_shadowed(name: str, variable: Variable, container: Container) -> bool:
    if name in _FOLDERS:
        return any(_inside(each.fields[0], container) for each in variable.alternatives if each.fields)
    return name in _REMOVED or _DEFINED.fullmatch(name) is not None


def _inside(value: Pieces, container: Container) -> bool:
    """Whether the first folder of a list lies in a mount of the container."""
    first = partition(value, ":")[0]
    return bool(first) and mount_of(first, container) is not None
