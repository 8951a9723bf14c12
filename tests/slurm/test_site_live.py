"""What SB91x says of a job for a cluster, its controller says too, and the other way round.

The jobs are submitted for later (`--begin`), so that the controller looks at all that it looks at, and none runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sbatchlint.linting import inspect_file
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.site.reading import parsed
from sbatchlint.site.writing import as_toml
from sbatchlint.source.text import Source

from .local_slurm import Unavailable
from .sites import SiteSlurm

SMALL = "Boards=1 SocketsPerBoard=2 CoresPerSocket=8"
NODES = f"""\
DefMemPerCPU=1000
Licenses=matlab:4,ansys@flex:2
NodeName=c[1-4] CPUs=16 {SMALL} ThreadsPerCore=1 RealMemory=64000 TmpDisk=100000 Feature=rome,ib
NodeName=s[1-2] CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=256000 Feature=icelake
"""
GPUS = f"""\
NodeName=g[1-2] CPUs=32 {SMALL} ThreadsPerCore=2 RealMemory=128000 Gres=gpu:a100:4 Feature=a100
NodeName=b1 CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 RealMemory=512000 Gres=gpu:h100:8 Feature=h100
"""
CLUSTERS = {
    "GPUs by GRES, limits refuse": f"""\
{NODES}{GPUS}EnforcePartLimits=ALL
PartitionName=batch Nodes=c[1-4],s[1-2] Default=YES MaxTime=2-00:00:00 State=UP
PartitionName=gpu Nodes=g[1-2] MaxTime=1-00:00:00 State=UP
PartitionName=big Nodes=b1,s1 MaxTime=4:00:00 State=UP""",
    "no GPUs, limits let wait": f"""\
{NODES}EnforcePartLimits=NO
MaxArraySize=51
PartitionName=batch Nodes=c[1-4] Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=long Nodes=s[1-2] MaxTime=UNLIMITED State=UP""",
    "whole nodes": f"""\
{NODES}{GPUS}EnforcePartLimits=ANY
PartitionName=batch Nodes=c[1-4],s[1-2] Default=YES MaxTime=1-00:00:00 OverSubscribe=EXCLUSIVE State=UP
PartitionName=gpu Nodes=g[1-2],b1 MaxTime=1-00:00:00 OverSubscribe=EXCLUSIVE MaxNodes=2 State=UP
PartitionName=closed Nodes=c1 State=DRAIN""",
    "narrow limits": f"""\
{NODES}{GPUS}EnforcePartLimits=ALL
MaxArraySize=101
PartitionName=batch Nodes=c[1-4] Default=YES MaxTime=04:00:00 MaxNodes=2 MaxCPUsPerNode=8 State=UP
PartitionName=gpu Nodes=g[1-2] MaxTime=04:00:00 MaxNodes=1 State=UP
PartitionName=low Nodes=ALL MaxTime=UNLIMITED MinNodes=2 State=UP""",
}
COUNT = 40
SIZES = (
    "-N 1", "-N 2", "-N 5", "-N 1-2", "-n 8", "-n 64", "-n 200", "-N 2 --ntasks-per-node=16", "-c 8", "-c 32", "-c 65",
    "-N 1 -n 20", "--ntasks-per-node=8 -c 2", "-N 2 --exclusive", "",
)  # fmt: skip
MEMORY = ("", "", "", "--mem=16G", "--mem=60G", "--mem=120G", "--mem=300G", "--mem-per-cpu=2G", "--mem-per-cpu=20G")
RESOURCES = (
    "", "", "", "--gres=gpu:1", "--gres=gpu:4", "--gres=gpu:8", "--gres=gpu:a100:2", "--gres=gpu:h100:8",
    "--gpus=2 -N 1", "--gpus-per-node=v100:1", "--gres=nvme:1",
)  # fmt: skip
OTHERS = (
    "", "", "", "", "-C rome", "-C nope", "-C 'icelake|a100'", "-w c1", "-w zz", "-x q1", "--array=0-50",
    "--array=0-100", "--array=1-1001", "--time=0", "--hold", "--tmp=90G",
    "--tmp=1T", "--tmp=0", "-L matlab:4", "-L matlab:5",
    "-L ansys@flex,matlab", "-L ansys", "-L matlab:2,matlab:3",
)  # fmt: skip
TIMES = ("-t 30", "-t 4:00:00", "-t 10:00:00", "-t 1-0", "-t 9-0", "")


def scripts(partitions: list[str], seed: str) -> Iterator[str]:
    chosen = random.Random(seed)
    for _ in range(COUNT):
        names = chosen.choice([*partitions, *partitions, *partitions, "", "nope", ",".join(partitions[:2])])
        lines = [chosen.choice(each) for each in (SIZES, MEMORY, RESOURCES, TIMES, OTHERS)]
        head = "".join(f"#SBATCH {line}\n" for line in [f"-p {names}" if names else "", *lines] if line)
        yield f"#!/bin/bash\n{head}sleep 1\n"


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_controller_says_the_same(name: str, tmp_path: Path) -> None:
    try:
        cluster = SiteSlurm(CLUSTERS[name])
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        try:
            cluster.start()
        except Unavailable as error:
            pytest.skip(f"no Slurm: {error}")
        profile = cluster.profile()
        assert parsed(as_toml(profile).encode(), "site.toml") == profile
        path = tmp_path / "site.toml"
        path.write_text(as_toml(profile))
        settings = Resolver(Overrides(site=str(path), isolated=True)).settings("job.sh")
        wrong = []
        for script in scripts(list(profile.partitions), name):
            verdict = cluster.delayed(script)
            found = inspect_file(Source(script, "job.sh"), settings).diagnostics
            own = [each for each in found if each.code.startswith("SB91")]
            if verdict.accepted and any(each.severity == "error" for each in own):
                wrong.append((script, "accepted", [each.message for each in own]))
            if not verdict.accepted and not own and not any(each.severity == "error" for each in found):
                wrong.append((script, verdict.messages, []))
        assert not wrong
    finally:
        cluster.stop()
