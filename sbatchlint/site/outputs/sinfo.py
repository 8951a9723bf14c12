"""`sinfo`, in any format that prints a header with the partition: what scontrol does not tell a user may stand there.

The columns are told by their headings, cut off as narrow formats have them (`AVAIL_FE`).
"""

from typing import NamedTuple

from sbatchlint.site.model import Nodes
from sbatchlint.site.outputs.nodes import resources
from sbatchlint.site.outputs.records import Damaged, leading_number
from sbatchlint.site.profile import NO_LIMIT
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.times import minutes

_COLUMNS = (
    "PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST", "CPUS", "MEMORY", "TMP_DISK", "GRES",
    "AVAIL_FEATURES",
)  # fmt: skip
_WITHOUT_LIMIT = ("infinite", "n/a")
_UP = {"up": "UP", "down": "DOWN", "drain": "DRAIN", "inact": "INACTIVE"}


class Row(NamedTuple):
    """A line: a partition (`default`: it is that of jobs that name none), and nodes of it that are alike.

    `sized`: whether it has a column for their CPUs.
    """

    partition: str
    default: bool
    state: str | None
    max_time: str | None
    names: tuple[str, ...]
    nodes: Nodes
    sized: bool


def is_header(line: str) -> bool:
    words = line.replace("|", " ").split()
    return "PARTITION" in words and len([word for word in words if _column(word)]) > 2


def _column(word: str) -> str:
    """The full heading of a column; "" for one that is not read."""
    if word == "FEATURES":
        return "AVAIL_FEATURES"
    return next((each for each in _COLUMNS if each == word or len(word) > 6 and each.startswith(word)), "")


def read_sinfo(lines: list[str]) -> list[Row]:
    """The rows. Raises `Damaged`."""
    divider = "|" if "|" in lines[0] else None
    columns = [_column(word.strip()) for word in lines[0].split(divider)]
    if "PARTITION" not in columns:
        raise Damaged(f"sinfo's header {lines[0].strip()[:60]!r} has no column PARTITION")
    found = []
    for line in lines[1:]:
        if line.strip() and not is_header(line):
            words = [word.strip() for word in line.split(divider)]
            if len(words) < len(columns):
                raise Damaged(f"sinfo's line {line.strip()[:60]!r} has fewer columns than its header")
            found.append(_row(dict(zip(columns, words, strict=False))))
    return found


def _row(values: dict[str, str]) -> Row:
    name = values["PARTITION"]
    time = values.get("TIMELIMIT")
    if time is not None:
        time = NO_LIMIT if time in _WITHOUT_LIMIT else time
        if time != NO_LIMIT and minutes(time) is None:
            raise Damaged(f"sinfo has {time!r} for the time limit of {name}")
    nodes = Nodes(
        count=leading_number(values.get("NODES")) or 0,
        cpus=_of_all(values.get("CPUS")),
        memory=_of_all(values.get("MEMORY")),
        tmp_disk=_of_all(values.get("TMP_DISK")),
        gres=resources(values["GRES"]) if "GRES" in values else None,
        features=_features(values.get("AVAIL_FEATURES")),
        partitions=(name.rstrip("*"),),
    )
    listed = hosts(values.get("NODELIST")) or ()
    state = _UP.get(values.get("AVAIL", ""))
    return Row(name.rstrip("*"), name.endswith("*"), state, time, listed, nodes, "CPUS" in values)


def _features(value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(sorted(each for each in value.split(",") if each not in ("", "(null)")))


def _of_all(value: str | None) -> int | None:
    """The number that all nodes of a line have; None of `64+`, which some exceed."""
    return None if value is None or value.endswith("+") else leading_number(value)
