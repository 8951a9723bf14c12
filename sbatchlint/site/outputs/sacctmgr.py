"""`sacctmgr --parsable2 show qos`: a header, and a line for each, with `|` between the columns.

The columns that are read have the same names from 20.11 to 26.05 (src/sacctmgr/common.c), of which 22.05 was seen live.
`LimitFactor` is there only if it is asked for.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from sbatchlint.site.model import Qos
from sbatchlint.site.outputs.records import Damaged, number
from sbatchlint.slurm.grammar.resources import count
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.source.regex import Regex

_TRES = {
    "max_tres": "MaxTRES", "max_tres_per_node": "MaxTRESPerNode", "max_tres_per_user": "MaxTRESPU",
    "max_tres_per_account": "MaxTRESPA", "group_tres": "GrpTRES", "min_tres": "MinTRES",
    "max_tres_minutes": "MaxTRESMins", "group_tres_minutes": "GrpTRESMins", "group_tres_run_minutes": "GrpTRESRunMins",
}  # fmt: skip
_JOBS = {
    "max_submitted_jobs_per_user": "MaxSubmitPU",
    "max_submitted_jobs_per_account": "MaxSubmitPA",
    "max_submitted_jobs": "GrpSubmit",
}
_FRACTION = Regex(r"\.[0-9]+")
_FACTOR = Regex(r"[0-9]+(?:\.[0-9]+)?")

Row = dict[str, str]


def is_qos(line: str) -> bool:
    return line.startswith("Name|") and "|Flags|" in line


def read_qos(rows: Iterable[Row]) -> dict[str, Qos]:
    """The QOS by name, of rows that may each tell a part. Raises `Damaged`."""
    joined: dict[str, Row] = {}
    for row in rows:
        joined[row["Name"]] = {**joined.get(row["Name"], {}), **row}
    return {name: _qos(row, f"the QOS {name}") for name, row in joined.items()}


def _qos(row: Row, of: str) -> Qos:
    fields: dict[str, Any] = {field: tres(row.get(column, ""), of) for field, column in _TRES.items()}
    fields |= {field: number(row.get(column)) for field, column in _JOBS.items()}
    flags = tuple(each for each in row.get("Flags", "").split(",") if each)
    factor = row.get("LimitFactor", "")
    if factor and not _FACTOR.fullmatch(factor):
        raise Damaged(f"{of} has {factor!r} for a factor")
    return Qos(
        max_time=time(row.get("MaxWall"), of), group_time=time(row.get("GrpWall"), of), flags=flags,
        limit_factor=float(factor) if factor else None, **fields,
    )  # fmt: skip


def rows_of(lines: list[str]) -> Iterator[Row]:
    """The lines below a header, by its columns. Raises `Damaged`."""
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


def time(value: str | None, of: str) -> str | None:
    """A limit of time; None for none. Raises `Damaged`."""
    if value and minutes(value) is None:
        raise Damaged(f"{of} has {value!r} for a time")
    return value or None


def tres(value: str, of: str) -> dict[str, int]:
    """`cpu=64,gres/gpu=4,mem=100G` in numbers, memory in MB. Raises `Damaged`."""
    found = {}
    for item in value.split(",") if value else ():
        name, _, amount = item.partition("=")
        amount_read = megabytes(_FRACTION.sub("", amount)) if name == "mem" else count(amount)
        if amount_read is None:
            raise Damaged(f"{of} has {item!r} for a limit")
        found[name] = amount_read
    return found
