"""What is asked of a conversion, and why one cannot be made."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple


class NotConvertible(Exception):
    """Why a script cannot be converted, as a sentence without its full stop."""


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """Reasons that are found meanwhile begin with a line of the script as it was written."""
    try:
        yield
    except NotConvertible as error:
        raise NotConvertible(f"line {line}: {error}") from None


class Goal(NamedTuple):
    """The job that is wanted.

    `gpus`, `cpus`: on each node; None: as the script has them. `launcher`: `torchrun`, `accelerate` or `srun` (a task
    for each GPU, which gets its rank from Slurm); None: the script's own. `rendezvous`: `static` or `c10d`; None: c10d
    where the launcher is elastic. `options`: further options of sbatch, by long name; an empty value for a flag.
    `container`: `pyxis` or `apptainer`, in the place of docker; or of none; `image`: its image,
    `mounts`: SOURCE:TARGET,… for what ran in none.
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
