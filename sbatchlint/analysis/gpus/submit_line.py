"""What shows how a script is submitted: its comments, and the files beside it."""

import os.path
import re
from functools import lru_cache
from itertools import islice

from sbatchlint.job import Job
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

_WITH_GPUS = Regex(r"^\s*#.*\bsbatch\b.*(?:--gpus|--gres|-G\s*\d|--partition|-p\s)", re.MULTILINE)
_CALL = r"\bsbatch\b(?:[^\n]|\\\n)*?(?:--gpus|--gres|-G\s*\d)(?:[^\n]|\\\n)*"
# So many files of its folder, and so much of each, are searched for the command that submits a script.
_MOST_FILES = 20
_MOST_BYTES = 1 << 16
_TELLING = (".sh", ".bash", ".py", ".md", ".rst", ".txt", "Makefile")


def is_submitted_with_gpus(job: Job) -> bool:
    """Whether a comment shows an sbatch whose own options ask for GPUs, or name a partition that may have them."""
    return _shows_gpus(job.source.own.text)


@lru_cache(maxsize=1)  # for all jobs in a file
def _shows_gpus(text: str) -> bool:
    return "sbatch" in text and _WITH_GPUS.search(text) is not None


def is_submitted_with_gpus_elsewhere(job: Job) -> bool:
    """Whether a file in the script's folder shows an sbatch of this script that asks for GPUs."""
    folder, name = os.path.split(os.path.abspath(job.source.path))
    if not lookups.exists(job.source.path):
        return False
    names = (each for each in lookups.names_in(folder) if each.endswith(_TELLING) and each != name)
    for each in islice(names, _MOST_FILES):
        data = lookups.read(os.path.join(folder, each), _MOST_BYTES)
        if data is not None and b"sbatch" in data and name.encode("utf-8", "surrogateescape") in data:
            if re.search(rf"{_CALL}{re.escape(name)}", data.decode("utf-8", "replace")):
                return True
    return False
