"""Saved outputs, told apart by what they look like: one a file, or several one after the other."""

import re
from collections.abc import Callable
from typing import NamedTuple

from sbatchlint.site.outputs import associations, config, groups, licenses, nodes, partitions, sacctmgr, sinfo
from sbatchlint.source.regex import Regex

_USAGE = Regex(r"Usage: sbatch\b")
_SLURM_CONF = Regex(r"^\s*(?:SlurmctldHost|ControlMachine|ClusterName|SlurmUser)=\w", re.MULTILINE)
_APART = Regex(r"^(PartitionName|NodeName|LicenseName)[ \t]+=", re.MULTILINE)
_NO_HEADER = Regex(r"^[^|\n]+(?:\|[^|\n]*){3,}$", re.MULTILINE)
_COLOURS = Regex(r"\x1b\[[0-9;]*[A-Za-z]")
_PAGE = Regex(r"(?i)\s*<(?:!doctype|html|\?xml)\b")
# Within a record, or within the configuration.
_MIDDLE = Regex(r"^(?:\s+[A-Z]\w*=\S|[A-Z]\w+\s+= )", re.MULTILINE)
# What is printed between outputs: by a shell that shows its commands, and on standard error.
_ASIDE = Regex(
    r"(?:\+ |.*[$#%>] )(?:scontrol|sinfo|sacctmgr|sbatch|id)\b|(?:scontrol|sinfo|sacctmgr|sbatch|id|slurm_\w+): "
    r"|You are not running a supported accounting_storage plugin|Only 'accounting_storage/slurmdbd' is supported"
)
_KINDS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("scontrol show config", lambda line: line.startswith(config.BEGINS)),
    ("scontrol show partition", lambda line: line.startswith(f"{partitions.FIRST}=")),
    ("scontrol show node", lambda line: line.startswith(f"{nodes.FIRST}=")),
    ("scontrol show licenses", licenses.is_licenses),
    ("sinfo", sinfo.is_header),
    ("sacctmgr show qos", sacctmgr.is_qos),
    ("sacctmgr show assoc", associations.is_association),
    ("sacctmgr show user", associations.is_user),
    ("id", groups.is_id),
    ("sbatch --help", _USAGE.match),
)
_WITHOUT_HEADER = "has no header; save what sacctmgr --parsable2 and sinfo print without --noheader"
READ = ", ".join(name for name, _ in _KINDS)
# What each of these lines begins may hold blank lines and lines of its own kind.
_REPEATED = frozenset({"scontrol show partition", "scontrol show node", "scontrol show licenses", "sinfo"})


class Section(NamedTuple):
    """An output: the command that printed it, and its lines."""

    command: str
    lines: list[str]


class Foreign(ValueError):
    """Why a text is not the output of one of these commands."""


def sections(text: str) -> list[Section]:
    """The outputs in a text. Raises `Foreign`."""
    text = _COLOURS.sub("", text)
    if "\0" in text:
        raise Foreign("is not text")
    if apart := _APART.search(text):
        raise Foreign(f"has a blank before the `=` of {apart[1]}, as Slurm does not print; was it edited?")
    if _SLURM_CONF.search(text):  # scontrol writes its names with blanks before the `=`
        raise Foreign("looks like a slurm.conf; save what `scontrol show config`, `partition` and `node` print")
    found: list[Section] = []
    before: list[str] = []
    for line in text.splitlines():
        if _ASIDE.match(line):
            continue
        command = next((name for name, begins in _KINDS if begins(line)), None)
        if command is not None and not (found and found[-1].command == command and command in _REPEATED):
            found.append(Section(command, []))
        (found[-1].lines if found else before).append(line)
    if not found:
        raise Foreign(_said_of(text))
    skipped = "\n".join(before)
    if _NO_HEADER.search(skipped):
        raise Foreign(_WITHOUT_HEADER)
    if _MIDDLE.search(skipped):
        raise Foreign("begins in the middle of an output; is its beginning cut off?")
    return found


def _said_of(text: str) -> str:
    if not text.strip():
        return "is empty"
    if _PAGE.match(text):
        return "looks like a web page; save what the commands print"
    if text.lstrip().startswith(("{", "[")):
        return "looks like JSON; save the output without --json"
    if _NO_HEADER.search(text):
        return _WITHOUT_HEADER
    return f"is not what one of these commands prints: {READ}"
