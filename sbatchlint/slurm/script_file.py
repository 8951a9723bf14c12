"""The checks that sbatch makes of a batch script as a whole, before it reads any option.

Follows `_get_script_buffer()` of src/sbatch/sbatch.c, which is the same in 20.11 to 26.05 except for the size limit;
run on 22.05 and 26.05, from a file and from standard input.
"""

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source

EMPTY = "Batch script is empty!"
ONLY_BLANK = "Batch script contains only whitespace!"
NO_INTERPRETER = (
    "This does not look like a batch script.  The first\n"
    "line must start with #! followed by the path to an interpreter.\n"
    "For instance: #!/bin/sh"
)
NULL_CHARACTER = "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'."
DOS_LINE_BREAK = "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks (\\n)."
TOO_LARGE = "Script file {} is too large"

# MAX_BATCH_SCRIPT_SIZE, src/common/read_config.h; the limit of slurmctld is set by the site (max_script_size, 4 MiB by
# default), and applies only after all options are read.
MOST_BYTES = 512 << 20
MOST_BYTES_SINCE = "23.02"

# isspace() of the C locale.
BLANK = " \t\n\v\f\r"
# The beginning of a template whose first line is filled in later: `{{ header }}`, `<%`, `${HEADER}`, `@SHEBANG@`.
_TEMPLATE = Regex(r"\s*(?:\{[{%#]|\{\w+\}[ \t]*(?:\n|$)|<%|\$\{?\w+\}?[ \t]*(?:\n|$)|@\w+@|%\(\w+\)s|!TBG_)")


def refusals(text: str, version: str, name: str = "job.sh") -> tuple[str, ...]:
    """The messages with which sbatch of this release refuses a file, of which it prints the first.

    `text`: the whole file, with bytes that are not UTF-8 as lone surrogates. `name`: the file name, for the message
    with it. Lines of one message are joined by newlines. Empty if the file is accepted or its beginning is unknown.
    """
    found: list[str] = []
    if len(text) > MOST_BYTES // 4 and not is_before(version, MOST_BYTES_SINCE):
        if len(Source.encode(text)) > MOST_BYTES:
            found.append(TOO_LARGE.format(name))
    if not text:
        return (*found, EMPTY)
    # sbatch reads it as a C string, so a NUL byte ends it.
    if not text.partition("\0")[0].strip(BLANK):
        found.append(ONLY_BLANK)
    if lacks_interpreter(text):
        found.append(NO_INTERPRETER)
    if "\0" in text:
        found.append(NULL_CHARACTER)
    if "\r\n" in text:
        found.append(DOS_LINE_BREAK)
    return tuple(found)


def lacks_interpreter(text: str) -> bool:
    """Whether a script does not begin with `#!`; False if its beginning is unknown."""
    head = text[:2]
    return head != "#!" and UNKNOWN not in head and _TEMPLATE.match(text) is None
