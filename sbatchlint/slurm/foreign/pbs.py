"""PBS's options as sbatch translates them (`_set_pbs_options()`, src/sbatch/xlate.c, 20.11 to 26.05).

The `mpp…` resources are left out, which builds for Cray Linux translated until 23.11.
"""

import re

from sbatchlint.slurm.foreign.option_words import Dialect, ForeignOption, Translation
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

_NAMES = {
    "start_time": "a", "account": "A", "checkpoint": "c", "working_dir": "C", "error": "e", "hold": "h",
    "interactive": "I", "join": "j", "job_array": "J", "keep": "k", "resource_list": "l", "mail_options": "m",
    "mail_user_list": "M", "job_name": "N", "out": "o", "priority": "p", "destination": "q", "rerunable": "r",
    "script_path": "S", "array": "t", "running_user": "u", "variable_list": "v", "all_env": "V", "attributes": "W",
    "no_std": "z",
}  # fmt: skip
# -d and -w are new in 23.02.
OLD_DIALECT = Dialect("aAcCejJklmMNopqrStuvW", "hIVz", _NAMES, frozenset(("join",)))
DIALECT = OLD_DIALECT._replace(letters=OLD_DIALECT.letters + "dw")

_DIRECT = {
    "a": "begin", "A": "account", "d": "chdir", "e": "error", "J": "array", "M": "mail-user", "N": "job-name",
    "o": "output", "p": "nice", "q": "partition", "t": "array", "w": "chdir",
}  # fmt: skip


def set_option(translation: Translation, option: ForeignOption) -> None:
    """Translates an option; sbatch accepts and ignores the letters that are not named here."""
    letter, value = option.letter, option.value
    if letter == "h":
        translation.add(option, "hold", None)
    elif value is None:
        return
    elif letter == "l":
        _Resources(translation, option, value).read()
    elif letter == "m":
        _mail(translation, option, value)
    elif letter == "v":
        translation.add(option, "export", value, joins="before")
    elif letter == "W":
        _attribute(translation, option, value)
    elif letter in _DIRECT:
        # sbatch ignores an empty priority
        translation.add(option, _DIRECT[letter], value if value or letter != "p" else None)


def _mail(translation: Translation, option: ForeignOption, value: str) -> None:
    lowered = value.lower()
    words = [word for letter, word in (("b", "BEGIN"), ("e", "END"), ("a", "FAIL")) if letter in lowered]
    if "n" in lowered:
        words = ["NONE"]
    if UNKNOWN in value:
        translation.add(option, "mail-type", value)
    elif words:
        translation.add(option, "mail-type", ",".join(words))
    else:
        translation.refuse(option, "Invalid --mail-type specification")


_OCTAL = Regex(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]*)")


def _attribute(translation: Translation, option: ForeignOption, value: str) -> None:
    lowered = value.lower()
    if lowered.startswith("umask="):
        mask = value[6:]
        if UNKNOWN not in mask and not 0 <= _whole(mask) <= 0o777:
            translation.refuse(option, "Invalid -W umask= specification")
        else:
            translation.add(option, "umask", mask)
    elif lowered.startswith("depend="):
        translation.add(option, "dependency", value[7:], (0, len(value)))


def _whole(text: str) -> int:
    """The number at the beginning of a string, as read by strtol() with base 0."""
    found = _OCTAL.match(text)
    sign, digits = found.groups() if found is not None else ("", "")
    if digits[:2].lower() == "0x":
        number = parse_integer(digits, 16)
    elif digits[:1] == "0":
        octal = re.match("[0-7]*", digits)
        number = parse_integer(octal.group() or "0", 8) if octal is not None else 0
    else:
        number = parse_integer(digits[:18] or "0")
    return -number if sign == "-" else number


# sbatch finds the name of a resource anywhere: `min_walltime=` counts as `walltime=`, too.
_RESOURCE = Regex(
    r"((?i:naccelerators|accelerator|mpiprocs|ncpus|select)"
    r"|arch|cput|file|host|mem|nice|nodes|opsys|other|pcput|pmem|proc|pvmem|software|vmem|walltime)="
)
_TIMES = frozenset(("cput", "pcput", "walltime"))
_NUMBER = Regex(r"\s*[+-]?[0-9]+", re.ASCII)
_COUNT = Regex(r"\s*\+?[0-9]+", re.ASCII)


class _Resources:
    """The list of a `-l`. `pro`: resources of each node, from a `select` of PBS Pro."""

    def __init__(self, translation: Translation, option: ForeignOption, string: str) -> None:
        self.translation = translation
        self.option = option
        self.string = string
        self.gpus: str | int = 0
        self.pro: dict[str, str] = {}

    def read(self) -> None:
        if UNKNOWN in self.string:
            self.translation.certain = False
        at = 0
        while (found := _RESOURCE.search(self.string, at)) is not None:
            at = self.resource(found.group(1), found.start(), found.end())
        self.cpus_per_task()
        if self.gpus:
            self.translation.add(self.option, "gres", f"gpu:{self.gpus}", joins="before")

    def resource(self, name: str, start: int, at: int) -> int:
        """Translates one resource, whose value begins at `at`; returns the offset after it."""
        folded = name.lower()
        value = self.value(at, ":" if folded in ("mpiprocs", "ncpus", "select") else ",")
        part = (start, at + len(value))
        after = part[1] + 1
        add = self.translation.add
        if folded == "accelerator":
            if value[:4].lower() == "true" and not self.gpus:
                self.gpus = 1
            return at
        if folded == "naccelerators":
            self.accelerators(value, part)
        elif name in _TIMES:
            add(self.option, "time", value, part)
        elif name in ("mem", "file"):
            size = value[:-1] if value[-1:] in ("b", "B") else value
            add(self.option, "mem" if name == "mem" else "tmp", size, part)
        elif name == "nice":
            add(self.option, "nice", value or None, part)
        elif name == "nodes":
            self.nodes(value, at, part)
        elif name == "proc":
            add(self.option, "constraint", value, part, joins="behind")
            after += len(self.value(after, ",")) + 1
        elif folded in _PRO:
            self.pro[folded] = value
            add(self.option, _PRO[folded], value, part)
        return after

    def value(self, at: int, separator: str) -> str:
        return self.string[at:].partition(separator)[0]

    def accelerators(self, value: str, part: tuple[int, int]) -> None:
        if UNKNOWN in value:
            self.gpus = UNKNOWN
        elif _COUNT.fullmatch(value) is None or parse_integer(value) <= 0:
            message = f'Invalid numeric value "{value}" for naccelerators.'
            self.translation.refuse(self.option, message, part=part)
        else:
            self.gpus = parse_integer(value)

    def nodes(self, string: str, offset: int, whole: tuple[int, int]) -> None:
        """Translates `2:ppn=8`, `node1:ppn=4+node2:ppn=4`, `1:ppn=2:gpus=1`; sbatch reads properties as node names."""
        nodes = per_node = 0
        hosts: list[str] = []
        at = 0
        while at < len(string):
            part = re.split("[+:]", string[at:], maxsplit=1)[0]
            after = at + len(part) + 1
            number = _NUMBER.match(part[4:] if part.startswith("ppn=") else part)
            if part.startswith("gpus="):
                span = (offset + at, offset + at + len(part))
                self.translation.add(self.option, "gpus-per-node", part[5:], span)
            elif part.startswith("ppn="):
                per_node += parse_integer(number.group()) if number is not None else 0
            elif is_number(part[:1]) and number is not None:
                nodes += parse_integer(number.group())
            elif part[:1].isascii() and part[:1].isalpha():
                hosts.append(part)
            else:
                after = at + 1
            at = after
        unknown = UNKNOWN in string
        if nodes or unknown:
            self.translation.add(self.option, "nodes", UNKNOWN if unknown else str(nodes), whole)
        if per_node or unknown and "ppn=" in string:
            self.translation.add(self.option, "ntasks", UNKNOWN if unknown else str(per_node * (nodes or 1)), whole)
        if hosts:
            self.translation.add(self.option, "nodelist", ",".join(hosts), whole)

    def cpus_per_task(self) -> None:
        """The CPUs per task: 4 for `select=2:ncpus=8:mpiprocs=2`."""
        if len(self.pro) < len(_PRO):
            return
        cpus, tasks = self.pro["ncpus"], self.pro["mpiprocs"]
        if UNKNOWN in cpus + tasks:
            self.translation.add(self.option, "cpus-per-task", UNKNOWN)
        elif _COUNT.fullmatch(cpus) and _COUNT.fullmatch(tasks) and parse_integer(cpus) > parse_integer(tasks) > 0:
            self.translation.add(self.option, "cpus-per-task", str(parse_integer(cpus) // parse_integer(tasks)))


_PRO = {"select": "nodes", "ncpus": "mincpus", "mpiprocs": "ntasks-per-node"}
