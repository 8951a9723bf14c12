"""Comments that show how a script is submitted."""

import re

from sbatchlint.job import Job
from sbatchlint.source.regex import Regex

_WITH_GPUS = Regex(r"^\s*#.*\bsbatch\b.*(?:--gpus|--gres|-G\s*\d|--partition|-p\s)", re.MULTILINE)


def is_submitted_with_gpus(job: Job) -> bool:
    """Whether a comment shows an sbatch whose own options ask for GPUs, or name a partition that may have them."""
    return _WITH_GPUS.search(job.source.own.text) is not None
