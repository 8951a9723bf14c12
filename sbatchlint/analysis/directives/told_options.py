"""Options that decide only what is told of a job, and where: mail, its name, the names of its logs."""

from collections.abc import Iterable

from sbatchlint.job import Job
from sbatchlint.slurm.model import Setting

_TOLD = frozenset({
    "admin-comment", "comment", "error", "job-name", "mail-type", "mail-user", "open-mode", "output", "wckey",
})  # fmt: skip


def are_only_told(job: Job, settings: Iterable[Setting]) -> bool:
    """Whether a job computes the same without these options; False for none at all."""
    names = {each.name for each in settings}
    if "job-name" in names and any(each.name == "SLURM_JOB_NAME" for each in job.trace.reads):
        return False
    return bool(names) and names <= _TOLD
