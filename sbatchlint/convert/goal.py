"""The goal of a conversion, and the reason why one is impossible."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from sbatchlint.slurm.options import find
from sbatchlint.source.files import InputError

LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "srun")
RENDEZVOUS = ("static", "c10d")


class NotConvertible(Exception):
    """Why a script cannot be converted, as a sentence without its full stop."""


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """Prefixes the reasons raised in its block with a line of the original script."""
    try:
        yield
    except NotConvertible as error:
        raise NotConvertible(f"line {line}: {error}") from None


class Goal(NamedTuple):
    """The job to convert to.

    `gpus`, `cpus`: per node; None for those of the script. `launcher`: `torchrun`, `accelerate` or `srun` (a task per
    GPU, which gets its rank from Slurm); None for that of the script. `rendezvous`: `static` or `c10d`; None for c10d
    with an elastic launcher, else static. `options`: other options of sbatch, by long name; an empty value for a flag.
    `container`: `pyxis` or `apptainer`, instead of docker or of no container; None for no change. `image`: its image,
    `mounts`: SOURCE:TARGET,… for a script without a container.
    """

    nodes: int
    gpus: int | None = None
    cpus: int | None = None
    launcher: str | None = None
    rendezvous: str | None = None
    options: Mapping[str, str] = {}
    container: str | None = None
    image: str | None = None
    mounts: str | None = None


def options_of(pairs: Mapping[str, str]) -> dict[str, str]:
    """The other options of a goal, by long name. Raises `InputError` for one that sbatch does not have."""
    found = {}
    for key, value in pairs.items():
        name = key.strip().removeprefix("--")
        if find(name) is None:
            raise InputError(f"sbatch has no option --{name}")
        found[name] = value
    return found
