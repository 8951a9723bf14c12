"""What a check leaves open for the site, the profile of the cluster decides: the same script with two of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.api import lint

PROFILE = """\
format = 1
cluster = "tests"
release = "{release}"
complete = ["partitions", "nodes", "qos"]
select-type = "cons_tres"
select-parameters = ["CR_CORE_MEMORY"]
task-plugins = [{plugins}]
task-parameters = [{parameters}]
submit-plugins = []
gres-types = ["gpu"]
gpus = "{kind}"
plugin-options = []

[partitions.work]
nodes = 8
default = {default}
{work}
[partitions.other]
nodes = 4
default = {other_is_default}

[[nodes]]
names = "n[1-8]"
count = 8
cpus = 64
memory = 256000
{gpus}
features = []
partitions = ["work"]

[[nodes]]
names = "o[1-4]"
count = 4
cpus = 64
memory = 256000
gres = ["gpu:a100:8"]
features = []
partitions = ["other"]
"""
PLAIN = {
    "release": "23.11.4", "plugins": '"affinity", "cgroup"', "kind": "gres", "work": "",
    "gpus": 'gres = ["gpu:a100:8"]', "default": "true", "other_is_default": "false", "parameters": "",
}  # fmt: skip
TORCHRUN = "srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py"
HALF = TORCHRUN.replace("=8", "=4")
WHOLE = {"work": "whole-nodes = true"}
SHARED = "default-memory-per-cpu = 1000"
BINDS = {"release": "22.05.8", "parameters": '"autobind=cores"'}
# A check, a script, two clusters, and how loud the finding is without one, in the first and in the second.
EVERY = [
    ("SB201", f"-p work -N 2 --ntasks-per-node=1 -c 8\n{TORCHRUN}", {}, {"kind": "whole-node", "gpus": "gpus = 8"},
     ("warning", "warning", "")),
    ("SB206", "-p work -N 2\nsrun -n 16 ./a.out", {}, WHOLE, ("", "error", "")),
    ("SB207", f"-p work -N 2 --ntasks-per-node=1 -c 8 --gpus=8\n{HALF}", {}, {"gpus": 'gres = ["gpu:a100:4"]'},
     ("warning", "warning", "")),
    ("SB208", f"-p work -N 2 -c 8 --ntasks-per-node=1\n{TORCHRUN}", WHOLE, {}, ("", "warning", "")),
    ("SB209", "-p work --exclusive\nsrun ./a.out", {"work": SHARED}, {}, ("info", "warning", "")),
    ("SB213", f"-p work -N 2 --gpus-per-node=8\n{TORCHRUN}", {}, {"work": "default-cpus-per-gpu = 8"},
     ("info", "warning", "")),
    ("SB331", "-N 1 -n 1\nsrun -p work ./a.out", {"default": "false", "other_is_default": "true"}, {},
     ("warning", "warning", "info")),
    ("SB701", "-p work -o logs/%j.out\nmkdir -p logs\nsrun ./a.out", {"release": "22.05.8"}, {}, ("info", "error", "")),
    ("SB804", "-p work -n 4 -c 8\nsrun ./a.out", BINDS, {**BINDS, "plugins": ""}, ("info", "error", "")),
    ("SB804", "-p work -n 4 -c 8\nsrun ./a.out", BINDS, {**BINDS, "release": "23.11.4"}, ("info", "error", "")),
    ("SB918", "-p work -n 4\nsrun ./a.out", {"work": 'default-time = "00:10:00"'}, {}, ("", "warning", "")),
    ("SB918", "-p work -n 4\nsrun ./a.out", {"work": 'default-time = "NONE"\nmax-time = "2-00:00:00"'},
     {"work": 'default-time = "08:00:00"\nmax-time = "2-00:00:00"'}, ("", "info", "")),
    ("SB917", "-p work -n 4\nsrun ./a.out", {**WHOLE, "gpus": "gres = []"}, {"gpus": "gres = []"}, ("", "info", "")),
]  # fmt: skip
# What the finding says in the first cluster.
NUMBERS = {
    "SB209": "64000M of 256000M",
    "SB917": "64 CPUs, but requests 4",
    "SB206": "`-n 16`: the step needs 16 CPUs, but the job gets 2 (line 2) in partition `work`",
}


def said(text: str, code: str, profile: Path | None = None) -> list[tuple[str, str]]:
    """The severities and messages of a check, for the cluster of a profile or (None) for any."""
    settings = {} if profile is None else {"site": {"profile": str(profile)}}
    head, _, body = text.partition("\n")
    script = f"#!/bin/bash\n#SBATCH {head}\n{body}\n"
    done = lint(script, path="job.sh", isolated=True, settings=settings, min_severity="info")
    assert not done.faults
    return [(each.severity, each.message) for each in done.findings if each.code == code]


@pytest.mark.parametrize(
    ("code", "text", "first", "second", "levels"), EVERY, ids=[f"{n}-{each[0]}" for n, each in enumerate(EVERY)]
)
def test_the_profile_decides_what_is_left_open(
    code: str, text: str, first: dict[str, str], second: dict[str, str], levels: tuple[str, str, str], tmp_path: Path
) -> None:
    found = [said(text, code)]
    for number, changes in enumerate((first, second)):
        path = tmp_path / f"{number}.toml"
        path.write_text(PROFILE.format(**{**PLAIN, **changes}))
        found.append(said(text, code, path))
    assert tuple("".join(level for level, _ in each) for each in found) == levels
    assert all(NUMBERS.get(code, "") in message for _, message in found[1])


def test_gpus_that_the_partition_lacks_are_named_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(PROFILE.format(**{**PLAIN, "gpus": "gres = []"}))
    ((_, message),) = said(f"-p work -N 2 --ntasks-per-node=1 -c 8\n{TORCHRUN}", "SB201", path)
    assert message.startswith("partition `work` has no GPUs")
    assert "choose `other`" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-p batsh", "no partition `batsh`; write `batch` (100 nodes), if"),
        ("-p fat", "no partition `fat`; available: batch (100 nodes), whole (40 nodes), gpu (20 nodes) and 1 more"),
        ("-q debgu", "no QOS `debgu`; write `debug` (at most 00:30:00), if"),
        ("-q premium", "no QOS `premium`; available: normal, debug (at most 00:30:00), course"),
        ("-p gpu --gres=gpu:A100:2", "has a type `A100`; write `a100` (4 a node), if"),
        ("-p gpu --gpus=h100:2", "has a type of GPU `h100`; partition `gpu` has a100 (4 a node)"),
        ("-p gpu --gpus-per-node=8", "it requests 8 GPUs on a node, and partition `gpu` has nodes with 4"),
        ("--gres=nvme:1", "has a resource `nvme`; available: gpu"),
        ("-L matlba", "no license `matlba`; write `matlab` (4), if"),
        ("-L abaqus", "no license `abaqus`; available: matlab (4), ansys@flex (2)"),
        ("-C icelak", "the feature `icelak`; write `icelake` (40 nodes), if"),
        ("-C haswell", "available: a100 (20 nodes), icelake (40 nodes), nvlink (20 nodes) and 1 more"),
        ("-w n101", "no node `n101`; its 140 nodes are n[041-080], n[001-040,081-100], g[01-20] and 1 more"),
        ("-p batch -t 3-0", "it requests 3-00:00:00, and partition `batch` allows 2-00:00:00"),
        ("--array=0-5000", "the largest index of an array is 1000 here, not 5000"),
        ("-p gpu -N 9", "it requests 9 nodes, and partition `gpu` "),
        (
            "-p whole -n 4",
            "partition `whole` gets whole nodes, of 128 CPUs, but requests 4; use all, or choose partition `batch`",
        ),
        ("-p whole -n 128", "without --time the job gets up to 1-00:00:00, the most there is in partition `whole`"),
    ],
)
def test_a_finding_names_the_numbers_of_the_cluster(options: str, message: str) -> None:
    script = f"#!/bin/bash\n#SBATCH {options}\nsrun ./a.out\n"
    settings = {"site": {"profile": "example"}}
    found = lint(script, path="job.sh", isolated=True, settings=settings, min_severity="info").findings
    own = [each.message for each in found if each.code >= "SB910"]
    assert any(message in each for each in own), own
    assert all(len(each) <= 150 for each in own)
