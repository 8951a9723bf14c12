"""The options that plugins add, as listed by `sbatch --help`.

`spank_print_options()` of Slurm's src/common/spank.c (22.05 to 26.05; plugstack.c before) prints them in the middle of
the help, below a heading of their own: the name of an option, `=` and the name of its argument, and an explanation that
may continue for several lines or begin on the next one.
"""

import re

from sbatchlint.source.regex import Regex

HEADING = "Options provided by plugins:"

_OPTION = Regex(r"\s{0,12}(?:-\w,\s+)?--(?P<name>[A-Za-z0-9][\w.+-]*)(?P<argument>\[=[^\]]*\]|=\S*)?")
_ANY_HELP = Regex(r"^\s+(?:-\w,\s+)?--(?:partition|job-name|nodes)\b", re.MULTILINE)


class NoHelp(ValueError):
    """The text is not the output of `sbatch --help`."""


def options_of_help(text: str) -> tuple[str, ...]:
    """The options in the section of plugins, in the form that `getopt.site_option` reads; empty without any.

    The help does not tell whether the value of `--name=ARG` or `--name=[ARG]` is required: they become a bare `name`,
    as does `--name`; `--name[=ARG]` becomes `name[=]`. Raises `NoHelp` for a text that is not a help of sbatch.
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
            # A blank line ends the section, or precedes an option whose name is too long for its column.
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if _OPTION.match(following) is None:
                break
        elif line[:1] not in (" ", "\t"):
            break
    return tuple(found)
