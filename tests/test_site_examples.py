"""The profiles of known systems that come with sbatchlint: each says where it is from, and takes what its system takes.

The scripts ask for what the documentation of each system asks for in its own examples, in our words.
"""

from __future__ import annotations

import re

import pytest

from sbatchlint.engine import lint_source
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.site.reading import examples, path_of, read_profile
from sbatchlint.source.files import content
from sbatchlint.source.text import Source

SYSTEMS = [name for name in examples() if name != "example"]
TAKEN = {
    "aion": ["-p batch -N 2 --ntasks-per-node=128 -t 2-0", "-p batch --qos=aion-batch-long -N 1 -t 14-0"],
    "andes": ["-N 4 -t 1:00:00", "-p gpu -N 2 -t 48:00:00 --mem=0"],
    "archer2": [
        "-p standard --qos=standard -N 4 --ntasks-per-node=128 -c 1 -t 0:20:00",
        "-p gpu --qos=gpu-exc --gpus=8 -N 2",
    ],
    "bede": ["-p gpu -N 2 --gres=gpu:4 -t 1:0:0", "-p ghtest -N 1 --gres=gpu:1 -t 0:15:0"],
    "cirrus": ["-p standard --qos=standard -N 2 --exclusive --ntasks-per-node=288 --hint=nomultithread -t 0:20:00"],
    "daint": ["-p debug -N 2 -t 30 --ntasks-per-node=4 --gpus-per-task=1", "-p normal -N 64 -t 24:00:00"],
    "frontier": ["-p batch -N 1024 -t 12:00:00", "-p extended -N 64 -t 24:00:00", "-q debug -N 1 -t 2:00:00"],
    "iris": [
        "-p gpu -N 1 -G 4 -t 2-0 -C volta32",
        "-p bigmem --mem=3000G -t 1-0",
        "-p gpu --qos=iris-gpu-long -G 8 -N 2 -t 9-0",
    ],
    "lonestar6": [
        "-p gpu-a100 -N 8 -n 8 -t 48:00:00",
        "-p normal -N 64 -n 8192 -t 48:00:00",
        "-p vm-small -N 1 -n 16 -t 1:0:0",
    ],
    "lumi": ["-p standard-g -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 1-12", "-p small --mem=900G -n 16 -t 3-0"],
    "mila": [
        "-p main --gres=gpu:2 -c 8 --mem=48G -t 5-0",
        "-p short-unkillable --gres=gpu:a100l:4 --mem=1000G -t 3:00:00",
    ],
    "pelle": [
        "-t 10-0 -n 96",
        "-p gpu --gpus=l40s:10 -t 2-0",
        "-p fat -C 3TB -t 1:0:0",
        "-p haswell --gpus=t4:16 -t 1:0:0",
    ],
    "roihu": ["-p medium -N 6 --ntasks-per-node=384 -t 36:00:00", "-p gpumedium --gres=gpu:gh200:4 -t 36:00:00"],
    "stampede3": ["-p skx -N 256 -n 12288 -t 48:00:00", "-p h100 -N 4 -n 16 -t 2-0"],
    "vaughan": ["-p ampere_gpu --gpus-per-node=4 -t 24:00:00", "-N 2 --ntasks-per-node=64 -t 3-0"],
    "vista": ["-p gh -N 64 -n 64 -t 48:00:00", "-p gg -N 32 --ntasks-per-node=144 -t 48:00:00"],
    "wice": ["-N 2 --ntasks-per-node=72 -t 2:00:00", "-p bigmem -N 2 --ntasks-per-node=72 --mem-per-cpu=28000M -t 3-0"],
}
REFUSED = {
    "aion": ("-p gpu", "SB910"), "andes": ("-p fat", "SB910"), "archer2": ("-p serial -N 3", "SB915"),
    "bede": ("-p gh --gres=gpu:2", "SB915"), "cirrus": ("-p standard --qos=short -t 60", "SB914"),
    "daint": ("-p debug -t 60", "SB914"), "frontier": ("-p extended -N 65", "SB915"),
    "iris": ("-p gpu --gpus-per-node=5", "SB915"), "lonestar6": ("-p large -N 2", "SB915"),
    "lumi": ("-p standard -N 513", "SB915"), "mila": ("-p main -t 6-0", "SB914"), "pelle": ("-p gpu -t 3-0", "SB914"),
    "roihu": ("-p small -c 385", "SB915"), "stampede3": ("-p spr -c 113", "SB915"),
    "vaughan": ("-p zen3 -N 25", "SB915"),
    "vista": ("-p gh-dev -N 9", "SB915"), "wice": ("-p hugemem -t 7-0", "SB914"),
}  # fmt: skip


def codes(name: str, words: str) -> list[tuple[str, str]]:
    settings = Resolver(Overrides(isolated=True, site=name)).settings("job.sbatch")
    source = Source.from_bytes(f"#!/bin/bash\n#SBATCH {words}\nsrun ./solver\n".encode(), "job.sbatch")
    found = lint_source(source, settings)
    return [(each.code, each.severity) for each in found if each.code.startswith("SB91") and each.severity != "info"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_says_where_it_is_from(name: str) -> None:
    profile = read_profile(path_of(name))
    assert profile.cluster == name and re.fullmatch(r"20\d\d-\d\d-\d\d", profile.date)
    assert all(re.match(r"https://github\.com/\S+/blob/[0-9a-f]{7,}/\S+$", each) for each in profile.source)
    assert profile.source and b"not asked of the cluster" in content(path_of(name))


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_takes_what_its_system_takes(name: str) -> None:
    assert [codes(name, words) for words in TAKEN[name]] == [[]] * len(TAKEN[name])


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_tells_what_is_beyond_it_and_never_as_an_error(name: str) -> None:
    words, code = REFUSED[name]
    assert (code, "warning") in codes(name, words)


def test_each_is_read_and_none_is_missing() -> None:
    assert set(TAKEN) == set(REFUSED) == set(SYSTEMS) and len(SYSTEMS) >= 12
