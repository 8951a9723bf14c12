"""What is said of options that do not go together."""

from typing import NamedTuple

REFUSED, WARNING, IGNORED = "refused", "warning", "ignored"
VERIFY, JOB, CONTROLLER = "verify", "job", "controller"


class Clash(NamedTuple):
    """Options that do not go together.

    `kind`: which rule. `names`: the options, by long name. `message`: what Slurm says, without `sbatch: error: `; ''
    where it says nothing. `stage`: `verify` and `job` are sbatch's, `controller` is slurmctld's. `order`: sbatch meets
    those with lower numbers first. `effect`: `refused`; `warning`: taken, but not as asked for; `ignored`: one of the
    options is without effect.
    """

    kind: str
    names: tuple[str, ...]
    message: str
    order: int
    stage: str = VERIFY
    effect: str = REFUSED
