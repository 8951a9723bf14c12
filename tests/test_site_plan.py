"""What a plan says with the profile of a cluster: shares, waste, hours, cost and energy, each worked out by hand.

The invented cluster `example`: nodes of 128 CPUs with 512000M (40) or 256000M (60) at 1.28 an hour, and 20 nodes of 64
CPUs with 512000M and 4 GPUs, at 8 an hour and 2500 watts, 16 CPUs for each GPU without a word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sbatchlint import api
from sbatchlint.linting import inspect_file
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.text import Source


def plan(head: str, profile: str = "example", **options: Any) -> dict[str, Any]:
    text = f"#!/bin/bash\n#SBATCH {head}\nsrun ./a.out\n"
    found = api.plan(text, settings={"site": {"profile": profile}}, isolated=True, **options)
    cluster: dict[str, Any] = found.data["request"]["components"][0]["cluster"]
    return cluster


@pytest.mark.parametrize(
    ("head", "takes", "idle", "hours"),
    [
        # 0.75 of each node for its GPUs: 20 h x 0.75 x 8, and x 2.5 kW
        (
            "-p gpu -N 2 --gpus-per-node=3 --cpus-per-task=20 --mem=100G -t 10:00:00",
            {"cpus": [20, 64], "gpus": [3, 4], "memory_mb": [102400, 512000]},
            0,
            {"node": 20.0, "gpu": 60.0, "cost": 120.0, "currency": "EUR", "kwh": 37.5},
        ),
        # all CPUs, and so all of the node is paid for; three GPUs that nobody can use
        (
            "-p gpu -N 1 --gpus-per-node=1 --cpus-per-task=64 --mem=64G -t 4:00:00",
            {"cpus": [64, 64], "gpus": [1, 4], "memory_mb": [65536, 512000]},
            3,
            {"node": 4.0, "gpu": 4.0, "cost": 32.0, "currency": "EUR", "kwh": 10.0},
        ),
        # all memory: two GPUs left
        (
            "-p gpu -N 1 --gpus-per-node=2 --cpus-per-task=8 --mem=0 -t 2:00:00",
            {"cpus": [8, 64], "gpus": [2, 4], "memory_mb": [512000, 512000]},
            2,
            {"node": 2.0, "gpu": 4.0, "cost": 16.0, "currency": "EUR", "kwh": 5.0},
        ),
        # six GPUs in all need two nodes
        (
            "-p gpu --gpus=6 --ntasks=6 --cpus-per-task=8 --mem=10G -t 1:00:00",
            {"cpus": [24, 64], "gpus": [3, 4], "memory_mb": [10240, 512000]},
            0,
            {"node": 2.0, "gpu": 6.0, "cost": 12.0, "currency": "EUR", "kwh": 3.8},
        ),
        # 2000M for each CPU by default: a quarter of the CPUs; ten tasks of an array
        (
            "-p batch -n 1 -c 32 -t 1:00:00 --array=1-10%2",
            {"cpus": [32, 128], "memory_mb": [64000, 512000]},
            0,
            {"node": 10.0, "cost": 3.2, "currency": "EUR"},
        ),
        # without a time, that of the partition; whole nodes
        (
            "-p whole -N 3 -n 3",
            {"cpus": [1, 128], "memory_mb": [256000, 512000]},
            0,
            {"node": 72.0},
        ),
    ],
)  # fmt: skip
def test_shares_waste_and_hours(head: str, takes: dict[str, list[int]], idle: int, hours: dict[str, Any]) -> None:
    (partition,) = plan(head)["partitions"]
    nodes = partition["nodes"][0]
    assert (nodes["takes"], nodes["idle_gpus"], partition["hours"]) == (takes, idle, hours)


@pytest.mark.parametrize(
    ("head", "more"),
    [
        ("-p batch --mem=300G -t 60", {"count": 60, "memory_mb": 256000}),
        ("-p batch --mem=200G -t 60", None),
        ("-p batch --mem=600G -t 60", None),
    ],
)
def test_the_sooner_of_two_ways_to_ask(head: str, more: dict[str, int] | None) -> None:
    assert plan(head)["partitions"][0].get("more_nodes") == more


NODES = """\
format = 1
release = "23.11.4"
complete = ["partitions", "nodes"]
enforce-part-limits = "ALL"
[partitions.all]
max-time = "1-00:00:00"
"""


@pytest.mark.parametrize(
    ("head", "more"),
    [
        ("-p all -N 1 --gpus-per-node=4", {"count": 5, "gpus": 2}),
        ("-p all -N 1 -c 64", {"count": 9, "cpus": 48}),
        ("-p all -N 1 --gpus-per-node=2", None),
    ],
)
def test_nodes_with_fewer_gpus_or_cpus(head: str, more: dict[str, int] | None, tmp_path: Path) -> None:
    kinds = ((2, 64, "gpu:a100:4"), (5, 64, "gpu:a100:2"), (9, 48, ""))
    text = NODES + "".join(
        f'[[nodes]]\nnames = "n{cpus}-{count}"\ncount = {count}\ncpus = {cpus}\nmemory = 256000\n'
        f'gres = {[gres] if gres else []}\nfeatures = []\npartitions = ["all"]\n'
        for count, cpus, gres in kinds
    )
    path = tmp_path / "site.toml"
    path.write_text(text)
    assert plan(head, str(path))["partitions"][0].get("more_nodes") == more


@pytest.mark.parametrize(("nodes", "accepted"), [(1, True), (8, True), (9, False), (21, False)])
def test_as_many_nodes_as_the_partition_allows(nodes: int, accepted: bool) -> None:
    found = plan("-p gpu -N 2 --gpus-per-node=4 -t 1:00:00", sbatch_options=f"--nodes={nodes}")
    assert found["accepted"] is accepted
    if accepted:
        hours = found["partitions"][0]["hours"]
        assert (hours["node"], hours["gpu"], hours["cost"]) == (nodes, 4 * nodes, 8 * nodes)


# --- what only some releases do ------------------------------------------------------------------

LOGS = "#!/bin/bash\n#SBATCH --output=logs/%j.out\nmkdir -p logs\nsrun ./a.out\n"
CPUS = "#!/bin/bash\n#SBATCH -n 4 -c 8\nsrun ./solver\n"


@pytest.mark.parametrize(
    ("release", "text", "code", "severity"),
    [
        ("22.05.8", LOGS, "SB701", "error"),
        ("23.02.1", LOGS, "SB701", None),
        ("26.05.3", LOGS, "SB701", None),
        ("22.05.8", CPUS, "SB804", "warning"),
        ("23.02.1", CPUS, "SB804", "warning"),
        ("24.11.0", CPUS, "SB804", None),
        ("26.05.3", CPUS, "SB804", None),
    ],
)
def test_the_release_of_the_profile_decides(
    release: str, text: str, code: str, severity: str | None, tmp_path: Path
) -> None:
    (tmp_path / "site.toml").write_text(f'format = 1\nrelease = "{release}"\n')
    settings = Resolver(Overrides(isolated=True, site=str(tmp_path / "site.toml"))).settings("job.sh")
    found = inspect_file(Source(text, "job.sh"), settings).diagnostics
    assert [each.severity for each in found if each.code == code] == ([severity] if severity else []), found
