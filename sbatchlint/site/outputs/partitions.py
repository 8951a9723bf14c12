"""`scontrol show partition`, of 22.05 (seen live) to 26.05.

`slurm_sprint_partition_info()`: 23.02 adds `MaxCPUsPerSocket`; `TotalNodes` and `QoS` are written so in all of them.
Whole nodes are `OverSubscribe=EXCLUSIVE`, and in 26.05 (seen live) `Exclusive=NODE`, or TOPO, which implies it.
"""

from sbatchlint.site.model import Partition
from sbatchlint.site.outputs.records import Damaged, Record, listed, needed, number, records
from sbatchlint.site.profile import NO_DEFAULT, NO_LIMIT
from sbatchlint.slurm.grammar.times import minutes

FIRST = "PartitionName"


def read_partitions(lines: list[str], private: bool) -> dict[str, Partition]:
    """The partitions by name. `private`: with the names of accounts and groups. Raises `Damaged`."""
    found: dict[str, Partition] = {}
    for record in records(lines, FIRST):
        found[record[FIRST]] = _partition(record, record[FIRST], private)
    return found


def _partition(record: Record, name: str, private: bool) -> Partition:
    of = f"partition {name}"
    state = needed(record, "State", of)
    shared = needed(record, "OverSubscribe", of)
    needed(record, "TRES", of)  # the last line
    defaults = dict(each.partition("=")[::2] for each in _job_defaults(record))
    qos = record.get("QoS")
    return Partition(
        nodes=number(needed(record, "TotalNodes", of)),
        cpus=number(record.get("TotalCPUs")),
        default=record.get("Default") == "YES",
        state=state,
        max_time=_time(needed(record, "MaxTime", of), of),
        default_time=_time(needed(record, "DefaultTime", of), of),
        min_nodes=number(record.get("MinNodes")) or None,
        max_nodes=number(record.get("MaxNodes")),
        max_cpus_per_node=number(record.get("MaxCPUsPerNode")),
        max_cpus_per_socket=number(record.get("MaxCPUsPerSocket")),
        default_memory_per_node=number(record.get("DefMemPerNode")) or None,
        default_memory_per_cpu=number(record.get("DefMemPerCPU")) or None,
        default_memory_per_gpu=number(defaults.get("DefMemPerGPU")),
        max_memory_per_node=number(record.get("MaxMemPerNode")) or None,
        max_memory_per_cpu=number(record.get("MaxMemPerCPU")) or None,
        default_cpus_per_gpu=number(defaults.get("DefCpuPerGPU")),
        whole_nodes=shared.upper().startswith("EXCLUSIVE") or record.get("Exclusive") in ("NODE", "TOPO"),
        reservation_required=record.get("ReqResv") == "YES",
        root_only=record.get("RootOnly") == "YES",
        qos=qos if qos not in (None, "N/A", "(null)") else None,
        allow_qos=listed(record.get("AllowQos")),
        deny_qos=listed(record.get("DenyQos")),
        allow_accounts=listed(record.get("AllowAccounts")) if private else None,
        deny_accounts=listed(record.get("DenyAccounts")) if private else None,
        allow_groups=listed(record.get("AllowGroups")) if private else None,
    )


def _job_defaults(record: Record) -> list[str]:
    """`DefCpuPerGPU=4,DefMemPerGPU=1000`: after `JobDefaults=`, which the first pair swallows whole."""
    value = record.get("JobDefaults", "")
    return [] if value in ("", "(null)") else value.split(",")


def _time(value: str, of: str) -> str:
    word = value.upper()
    if word in (NO_DEFAULT, NO_LIMIT, "INFINITE"):
        return NO_LIMIT if word == "INFINITE" else word
    if minutes(value) is None:
        raise Damaged(f"the record of {of} has {value!r} for a time")
    return value
