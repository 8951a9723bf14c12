"""How a script is submitted, as its comments and the files beside it show."""

import os.path
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

_ARRAY = r"\bsbatch\b(?:[^\n]|\\\n)*?(?:--array\b|\s-a[ =\d])"
_IN_COMMENT = Regex(rf"(?m)^[ \t]*#(?:(?!SBATCH)[^\n])*{_ARRAY}")
# What speaks of the job's elements: the variables of arrays, in any language.
_ELEMENT = Regex(r"SLURM_ARRAY_")
# So many files of its folder, and so much of each, are searched for the command that submits a script.
_MOST_FILES, _MOST_BYTES = 20, 1 << 16
_TELLING = (".sh", ".bash", ".slurm", ".sbatch", ".py", ".md", ".rst", ".txt", "Makefile")


def may_be_array(job: Job) -> bool:
    """Whether a job that asks for no array may be one: it knows elements, or something shows it submitted as one."""
    return _ELEMENT.search(job.source.own.text) is not None or shows_array(job)


@once
def shows_array(job: Job) -> bool:
    """Whether a comment, or a file beside the script, shows it submitted as an array."""
    own = job.source.own.text
    if "sbatch" in own and _IN_COMMENT.search(own) is not None:
        return True
    if not lookups.exists(job.source.path):
        return False
    folder, name = os.path.split(os.path.abspath(job.source.path))
    sought = name.encode()
    own = os.path.join(folder, name)
    paths = (path for path in _telling(folder, lookups.names_in(folder)) if path != own)
    for path in islice(paths, _MOST_FILES):
        data = lookups.read(path, _MOST_BYTES)
        if data is None or sought not in data or b"sbatch" not in data:
            continue
        if re.search(rf"{_ARRAY}(?:[^\n]|\\\n)*{re.escape(name)}", data.decode("utf-8", "replace")):
            return True
    return False


@lru_cache(maxsize=16)  # the scripts of a folder look at the same files
def _telling(folder: str, names: Sequence[str]) -> list[str]:
    """The files of a folder that may show a submission: one more than are searched, for the script itself."""
    return [os.path.join(folder, each) for each in islice(filter(_tells, names), _MOST_FILES + 1)]


def _tells(name: str) -> bool:
    return name.endswith(_TELLING)
