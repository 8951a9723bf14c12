"""`sacctmgr --parsable2 show qos` and `show assoc`: a header, and a line for each, with `|` between the columns.

The columns that are read have the same names from 20.11 to 26.05 (src/sacctmgr/common.c), of which 22.05 was seen live.
"""

from collections.abc import Iterator

from sbatchlint.site.model import Qos
from sbatchlint.site.outputs.records import Damaged, number
from sbatchlint.slurm.grammar.resources import count
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.source.regex import Regex

_TRES = {
    "max_tres": "MaxTRES", "max_tres_per_node": "MaxTRESPerNode", "max_tres_per_user": "MaxTRESPU",
    "max_tres_per_account": "MaxTRESPA", "group_tres": "GrpTRES", "min_tres": "MinTRES",
}  # fmt: skip
_JOBS = {
    "max_submitted_jobs_per_user": "MaxSubmitPU",
    "max_submitted_jobs_per_account": "MaxSubmitPA",
    "max_submitted_jobs": "GrpSubmit",
}
_FRACTION = Regex(r"\.[0-9]+")


def is_qos(line: str) -> bool:
    return line.startswith("Name|") and "|Flags|" in line


def is_association(line: str) -> bool:
    return line.startswith("Cluster|Account|User|")


def read_qos(lines: list[str]) -> dict[str, Qos]:
    """The QOS by name. Raises `Damaged`."""
    found = {}
    for row in _rows(lines):
        time = row.get("MaxWall", "")
        if time and minutes(time) is None:
            raise Damaged(f"the QOS {row['Name']} has {time!r} for a time")
        amounts = {field: _tres(row.get(column, ""), row["Name"]) for field, column in _TRES.items()}
        jobs = {field: number(row.get(column)) for field, column in _JOBS.items()}
        flags = tuple(each for each in row.get("Flags", "").split(",") if each)
        found[row["Name"]] = Qos(max_time=time or None, flags=flags, **amounts, **jobs)  # type: ignore[arg-type]
    return found


def read_accounts(lines: list[str]) -> tuple[str, ...]:
    """The names of the accounts, sorted. Raises `Damaged`."""
    return tuple(sorted({row["Account"] for row in _rows(lines) if row["Account"]}))


def _rows(lines: list[str]) -> Iterator[dict[str, str]]:
    columns = lines[0].rstrip().split("|")
    for line in lines[1:]:
        if not line.strip():
            continue
        values = line.rstrip("\r\n").split("|")
        if len(values) != len(columns):
            raise Damaged(
                f"sacctmgr's line {line.strip()[:60]!r} has {len(values)} columns, and its header {len(columns)}"
            )
        yield dict(zip(columns, values, strict=True))


def _tres(value: str, qos: str) -> dict[str, int]:
    """`cpu=64,gres/gpu=4,mem=100G` in numbers, memory in MB."""
    found = {}
    for item in value.split(",") if value else ():
        name, _, amount = item.partition("=")
        amount_read = megabytes(_FRACTION.sub("", amount)) if name == "mem" else count(amount)
        if amount_read is None:
            raise Damaged(f"the QOS {qos} has {item!r} for a limit")
        found[name] = amount_read
    return found
