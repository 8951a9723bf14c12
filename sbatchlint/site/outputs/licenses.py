"""`scontrol show licenses`, of 22.05 (seen live) to 26.05: those of slurm.conf, and those that the accounting adds."""

from sbatchlint.site.outputs.records import Damaged, needed, number, records

FIRST = "LicenseName"
NONE = "No licenses configured in Slurm."


def is_licenses(line: str) -> bool:
    return line.startswith((f"{FIRST}=", NONE))


def read_licenses(lines: list[str]) -> dict[str, int]:
    """How many there are of each. Raises `Damaged`."""
    found = {}
    for record in records(lines, FIRST):
        of = f"licence {record[FIRST]}"
        total = number(needed(record, "Total", of))
        needed(record, "Remote", of)  # of the last ones
        if total is None:
            raise Damaged(f"the record of {of} has {record['Total']!r} for its number")
        found[record[FIRST]] = total
    return found
