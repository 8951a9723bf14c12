"""The options that plugins add, as `sbatch --help` lists them.

`spank_print_options()` of Slurm's src/common/spank.c (22.05 to 26.05; plugstack.c before) prints them in the middle of
the help, behind a heading of their own: an option's name, `=` and what its argument is called, and an explanation that
may go on for several lines or begin on the next one.
"""

import re

from sbatchlint.source.regex import Regex

HEADING = "Options provided by plugins:"

_OPTION = Regex(r"\s{0,12}(?:-\w,\s+)?--(?P<name>[A-Za-z0-9][\w.+-]*)(?P<argument>\[=[^\]]*\]|=\S*)?")
_ANY_HELP = Regex(r"^\s+(?:-\w,\s+)?--(?:partition|job-name|nodes)\b", re.MULTILINE)


class NoHelp(ValueError):
    """A text is not what `sbatch --help` prints."""


def options_of_help(text: str) -> tuple[str, ...]:
    """The options of the plugins' part, as `getopt.site_option` reads them; empty where no plugin adds one.

    The help does not tell whether `--name=ARG` or `--name=[ARG]` may do without a value: a bare `name`, as for
    `--name`; `--name[=ARG]` does (`name[=]`). Raises `NoHelp` for a text that is no help of sbatch.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines, 1) if line.strip() == HEADING), None)
    if start is None:
        if not _ANY_HELP.search(text):
            raise NoHelp("is not what `sbatch --help` prints")
        return ()
    found: dict[str, None] = {}
    for number in range(start, len(lines)):
        line = lines[number]
        option = _OPTION.match(line)
        if option is not None:
            optional = (option["argument"] or "").startswith("[=")
            found[option["name"] + ("[=]" if optional else "")] = None
        elif line.strip() == "":
            # A blank line ends the part, or stands before an option whose name is too long for its column.
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if _OPTION.match(following) is None:
                break
        elif line[:1] not in (" ", "\t"):
            break
    return tuple(found)


__all__ = ["HEADING", "NoHelp", "options_of_help"]
