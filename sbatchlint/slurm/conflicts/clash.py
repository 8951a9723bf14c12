"""A clash between options."""

from typing import NamedTuple

REFUSED, WARNING, IGNORED = "refused", "warning", "ignored"
VERIFY, JOB, CONTROLLER = "verify", "job", "controller"


class Clash(NamedTuple):
    """Options that clash.

    `kind`: which rule. `names`: the options, by long name. `message`: that of Slurm, without `sbatch: error: `; '' if
    there is none. `stage`: `verify` and `job` are those of sbatch, `controller` that of slurmctld. `order`: sbatch
    finds those with lower numbers first. `effect`: `refused`; `warning`: accepted, but not as requested; `ignored`:
    one of the options has no effect.
    """

    kind: str
    names: tuple[str, ...]
    message: str
    order: int
    stage: str = VERIFY
    effect: str = REFUSED
