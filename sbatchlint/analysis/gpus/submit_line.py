"""What shows how a script is submitted: its comments, and the files beside it."""

import os.path
import re
from functools import lru_cache
from itertools import islice

from sbatchlint.job import Job
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

# The word comes first, so that the rest of a text is passed by quickly.
_WITH_GPUS = Regex(r"sbatch\b(?<=\bsbatch).*(?:--gpus|--gres|-G\s*\d|--partition|-p\s)")
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
    return any(_is_comment(text, match.start()) for match in _WITH_GPUS.finditer(text))


def _is_comment(text: str, at: int) -> bool:
    """Whether a place stands in a line that is a comment."""
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip()[:1] == "#"


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
