"""Counts and conflicts between options, compared with what Slurm did.

tests/data/conflicts.jsonl holds option lines and what four live Slurms (22.05.8, 23.11.4, 24.11.7 and 26.05.3; two
nodes of 64 CPUs and 8 GPUs) made of them: the first message where they were refused, or what `scontrol show job` said
of the held job, without what is the same for every job.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from sbatchlint.analysis.directives.conflicts import Conflict, conflicts
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.site import Site
from sbatchlint.slurm.conflicts.by_task import UnknownValue
from sbatchlint.slurm.conflicts.clashes import clashes
from sbatchlint.slurm.conflicts.clashing_settings import ClashingSettings, clashing_settings, values_of
from sbatchlint.slurm.conflicts.counts import Counts, job_counts
from sbatchlint.slurm.conflicts.gpu_arithmetic import gpus_of, task_resources
from sbatchlint.slurm.directives import Directives, read_directives
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.text import Source
from shown import shown_counts

FOLDER = Path(__file__).parent / "data"
LIVE = ("22.05", "23.11", "24.11", "26.05")
# What scontrol shows of a job that asks for nothing.
PLAIN = {
    "NumTasks": "1",
    "CPUs/Task": "1",
    "ReqB:S:C:T": "0:0:*:*",
    "NtasksPerN:B:S:C": "0:0:*:*",
    "Socks/Node": "*",
}
NODE_CPUS = 64


def block(*lines: str, versions: tuple[str, str] = ("22.05", "26.05")) -> Directives:
    text = "#!/bin/bash\n" + "".join(f"#SBATCH {line}\n" for line in lines) + "srun ./a.out\n"
    return read_directives(Text.of_file(text), versions)


def counts(line: str, version: str = "26.05") -> Counts:
    found = job_counts(values_of(block(line, versions=(version, version)), 0, version), version)
    assert found is not None
    return found


def refused(line: str, version: str = "26.05") -> str | None:
    found = [each for each in clashing_settings(block(line, versions=(version, version))) if each.effect == "refused"]
    return found[0].message if found else None


def records() -> list[tuple[str, str, dict[str, Any]]]:
    found = []
    for line in (FOLDER / "conflicts.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for versions, verdict in record["slurm"].items():
            each = LIVE if versions == "all" else versions.split(",")
            found += [(record["options"], version, verdict) for version in each]
    return found


def test_live_refusals() -> None:
    """The first message, for every line and release; and none where the job was taken."""
    wrong = []
    seen = Counter[str]()
    for line, version, verdict in records():
        message = verdict.get("message")
        ours = refused(line, version)
        seen["refused" if message else "taken"] += 1
        if (ours or "").strip() != (message or ""):
            wrong.append(f"{version} {line}: {ours!r}, Slurm: {message!r}")
    assert not wrong, "\n".join(wrong[:20])
    assert seen["refused"] > 200 and seen["taken"] > 600


def test_live_counts() -> None:
    """The numbers of nodes, tasks, sockets, cores and threads, as shown by scontrol."""
    wrong = []
    for line, version, verdict in records():
        job = verdict.get("job")
        if not isinstance(job, dict):
            continue
        ours = shown_counts(
            values_of(block(line, versions=(version, version)), 0, version), version, NODE_CPUS, NODE_CPUS
        )
        if ours != {**PLAIN, **job}:
            wrong.append(f"{version} {line}: {ours}, Slurm: {job}")
        warned = [
            setting.message
            for setting in clashing_settings(block(line, versions=(version, version)))
            if setting.effect == "warning"
        ]
        if warned != ([verdict["warning"]] if "warning" in verdict else []):
            wrong.append(f"{version} {line}: {warned}, Slurm: {verdict.get('warning')}")
    assert not wrong, "\n".join(wrong[:20])


FIELDS = ("NumNodes", "NumTasks", "CPUs/Task", "ReqB:S:C:T", "NtasksPerN:B:S:C")
# Fields are left out of the data where they are as for a job without options.
NO_OPTIONS = {"22.05": "1", "23.11": "1-1", "24.11": "1-1", "26.05": "1-1"}


def test_counts_of_whole_scripts() -> None:
    """The scripts of directives.jsonl that were accepted."""
    wrong = []
    compared = 0
    for line in (FOLDER / "directives.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for version in LIVE:
            verdict = record["slurm"].get(version) or record["slurm"].get("all")
            if not verdict or not verdict["accepted"]:
                continue
            directives = read_directives(Text.of_file(record["script"]), (version, version))
            for component, job in enumerate(verdict["jobs"]):
                ours = shown_counts(values_of(directives, component, version), version, NODE_CPUS, NODE_CPUS)
                if ours is None:
                    continue
                compared += 1
                plain = {**PLAIN, "NumNodes": NO_OPTIONS[version]}
                theirs = {field: job.get(field, plain[field]) for field in FIELDS}
                if {field: ours.get(field) for field in FIELDS} != theirs:
                    wrong.append(f"{version} {record['script']!r}: {ours}, Slurm: {theirs}")
    assert not wrong, "\n".join(wrong[:20])
    assert compared > 550


@pytest.mark.parametrize(
    ("line", "minimum", "maximum", "tasks", "given"),
    [
        ("", 1, None, 1, False),
        ("--nodes=2", 2, 2, 2, False),
        ("--nodes=2 --ntasks=8", 2, 2, 8, True),
        ("--ntasks=8", 1, 8, 8, True),
        ("--ntasks=1 --nodes=2", 1, 1, 1, True),
        ("--ntasks=5 --ntasks-per-node=2", 3, 5, 5, True),
        ("--ntasks-per-node=4", 1, 4, 4, True),
        ("--nodes=2-4 --ntasks=3", 2, 3, 3, True),
        ("--nodes=2-4", 2, 4, 2, False),
        ("--gpus=4 --gpus-per-task=1", 1, 4, 4, True),
        ("--gpus=8 --gpus-per-node=4", 2, 2, 2, False),
        ("--gpus=4 --ntasks-per-gpu=2", 1, 8, 8, True),
        ("--nodes=2 --threads-per-core=2", 2, 2, 4, True),
        ("--nodelist=node[1-3],node2", 3, None, 3, False),
    ],
)
def test_counts_of_26_05(line: str, minimum: int, maximum: int | None, tasks: int, given: bool) -> None:
    found = counts(line)
    assert (found.min_nodes, found.max_nodes, found.ntasks, found.ntasks_given) == (minimum, maximum, tasks, given)


def test_counts_by_release() -> None:
    assert counts("--ntasks=5 --ntasks-per-node=2", "22.05").min_nodes == 1, "slurmctld finds the nodes itself"
    assert counts("--nodes=2 --ntasks-per-node=4 --distribution=plane=2", "22.05").ntasks == 8
    assert counts("--ntasks=4", "25.11").max_nodes is None
    assert counts("--nodes=1 --nodelist=node[1-3]", "22.05").min_nodes == 3
    assert counts("--nodes=1 --nodelist=node[1-3]", "23.02").min_nodes == 1
    assert counts("--ntasks=1 --nodes=4").shrunk_from == 4
    assert counts("--nodes=1 --sockets-per-node=2 --hint=compute_bound", "25.05").sockets_per_node is None
    assert counts("--nodes=1 --sockets-per-node=2 --hint=compute_bound", "25.11").sockets_per_node == 2


def test_sizes() -> None:
    assert counts("--nodes=2,4").sizes == (2, 4)
    assert counts("--nodes=4,2-3").sizes == (2, 3, 4)
    assert counts("--nodes=2-6:2").sizes == (2, 4), "the last number is never among them"
    assert counts("--nodes=2,4 --ntasks=3").sizes is None, "no more nodes than tasks: a plain range"
    assert job_counts({"nodes": "2,4"}, "22.05") is None


@pytest.mark.parametrize(
    "values",
    [
        {"nodes": "many"},
        {"nodes": "4-2"},
        {"ntasks": "\ue000"},
        {"nodelist": "hosts/file"},
        {"nodefile": "hosts"},
        {"gpus": "x:y:z"},
        {"hint": "fast"},
        {"tres-per-task": "energy=1"},
        {"extra-node-info": "1:2:3:4"},
    ],
)
def test_what_is_not_known_gives_no_counts(values: dict[str, str | None]) -> None:
    assert job_counts(values, "26.05") is None
    assert shown_counts(values, "26.05") is None
    assert [each for each in clashes(values, ["26.05"])["26.05"] if each.effect == "refused"] == []


def test_nodes_that_depend_on_the_site_are_not_shown() -> None:
    assert "NumNodes" not in (shown_counts({"ntasks": "4"}, "26.05") or {})
    assert (shown_counts({"ntasks": "200"}, "26.05", 64) or {})["NumNodes"] == "4-200"
    assert (shown_counts({"nodes": "4", "ntasks": "4"}, "26.05") or {})["NumNodes"] == "4-4"


SINCE = [
    ("--mem=1G --mem-per-cpu=1G", "20.11"),
    ("-S 1 --thread-spec=1", "21.08"),
    ("--exclusive --oversubscribe", "23.02"),
    ("--nodes=2 --ntasks-per-node=8 -m plane=4", "23.02"),
    ("--ntasks-per-core=2 --threads-per-core=1", "23.02"),
    ("--cpus-per-gpu=2", "23.02"),
    ("--mem-per-gpu=2G", "21.08"),
    ("--nodes=2 --distribution=arbitrary --nodelist=node1,node2", "23.11"),
    ("--gpus=2 --gpus-per-task=1 --tres-per-task=gres/gpu=1", "23.11"),
    ("--nodes=3 --segment=2", "26.05"),
    ("--gpus-per-node=2 --gres=gpu:2", "26.05"),
    ("--gpus=8 --gpus-per-node=3", "20.11"),
    ("--bb=x --bbf=y", "20.11"),
]


@pytest.mark.parametrize(("line", "since"), SINCE)
def test_since(line: str, since: str) -> None:
    """From which release on options are refused together; releases that do not have one of them do not count."""
    first = MAJORS.index(since)
    assert [refused(line, version) is not None for version in MAJORS] == [
        index >= first for index in range(len(MAJORS))
    ]


def test_20_11_leaves_the_sums_to_slurmctld() -> None:
    found = clashing_settings(block("--gpus=8 --gpus-per-node=3", versions=("20.11", "20.11")))
    assert [(each.stage, each.message) for each in found] == [
        ("controller", "Invalid generic resource (gres) specification")
    ]


def test_a_type_without_a_number_asks_for_nothing_since_24_05() -> None:
    assert refused("--gpus-per-task=a100", "23.11") is not None, "one GPU for each of how many tasks?"
    assert refused("--gpus-per-task=a100", "24.05") is None
    assert refused("--gpus-per-task=a100:1", "24.05") is not None


def test_only_the_last_setting_counts() -> None:
    assert refused("--mem-per-cpu=1G --mem-per-cpu=2G") is None
    assert refused("--nodes=3 --nodes=4 --segment=2") is None
    assert refused("--nodes=4 --segment=2 --nodes=3") is not None


def test_settings_in_order_and_the_first_message_first() -> None:
    directives = block("--mem-per-cpu=1G --oversubscribe", "--exclusive --mem=2G")
    found = clashing_settings(directives, versions=("26.05",))
    assert [(each.kind, each.names) for each in found] == [
        ("memory", ("mem-per-cpu", "mem")),
        ("exclusive", ("oversubscribe", "exclusive")),
    ]
    assert [each.versions for each in found] == [None, None]


def test_versions_and_effects() -> None:
    found: list[ClashingSettings] = clashing_settings(block("--exclusive --oversubscribe"))
    assert [(each.effect, each.versions) for each in found] == [
        ("refused", ("23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")),
        ("ignored", ("22.05",)),
    ]
    assert clashing_settings(block("--exclusive --oversubscribe"), versions=("22.05",))[0].versions is None


def of_job(line: str) -> list[Conflict]:
    text = f"#!/bin/bash\n#SBATCH {line}\nsrun ./a.out\n"
    return conflicts(Job.from_source(Source(text, "job.sh"), Site(slurm_versions=("22.05", "26.05"))))


def test_conflicts_join_what_is_one_fault() -> None:
    (found,) = of_job("--gpus-per-node=a100:4 --gres=gpu:4")
    assert found.kind == "gres-twice"
    assert found.message == "--gpus-per-node and --gres=gpu are mutually exclusive."
    assert found.refused == block().versions.majors, "before 26.05 for the type that only one of them names"
    (found,) = of_job("--ntasks-per-gpu=2 --gpus-per-task=1")
    assert found.kind == "tasks-per-gpu", "the sum that does not come out either is no fault of its own"
    (found,) = of_job("--gpus=4 --cpus-per-gpu=2 --cpus-per-task=2")
    assert found.refused == block().versions.majors, "for two reasons, at two places of sbatch"


def test_components_of_a_heterogeneous_job() -> None:
    directives = block("--mem-per-cpu=1G", "hetjob", "--mem-per-gpu=1G --gpus=1")
    assert [clashing_settings(directives, component) for component in (0, 1)] == [[], []]
    directives = block("--mem=1G", "hetjob", "--mem-per-cpu=1G")
    assert [len(clashing_settings(directives, component)) for component in (0, 1)] == [0, 1], "--mem goes on to count"


def test_words_of_another_scheduler_count() -> None:
    directives = read_directives(
        Text.of_file("#!/bin/bash\n#SBATCH --ntasks=1\n#PBS -l nodes=4\nsrun ./a.out\n"), ("26.05", "26.05")
    )
    assert [(each.kind, each.names) for each in clashing_settings(directives)] == [("fewer-tasks", ("ntasks", "nodes"))]


def test_resources_of_a_task() -> None:
    cpus, items = task_resources("cpu=4,gres/gpu:a100=1,license/x=1", "26.05")
    assert (cpus, [(each.name, each.type, each.count) for each in items]) == (4, [("gpu", "a100", 1)])
    assert task_resources("cpu=4", "23.11") == (None, []), "sbatch looks for cpu:4"
    assert task_resources("cpu:4", "23.11") == (4, [])
    with pytest.raises(UnknownValue):
        task_resources("energy=1", "26.05")
    with pytest.raises(UnknownValue):
        gpus_of("\ue000", "26.05")


OPTIONS: dict[str, list[str | None]] = {
    "nodes": ["1", "2", "4", "1-2", "2-4", "2,4", "0", "x"],
    "ntasks": ["1", "3", "8"],
    "ntasks-per-node": ["1", "4"],
    "cpus-per-task": ["1", "2", "0"],
    "gpus": ["1", "4", "a100:4", "0"],
    "gpus-per-node": ["2", "4", "a100:2"],
    "gpus-per-task": ["1", "2"],
    "gpus-per-socket": ["1"],
    "sockets-per-node": ["2"],
    "gres": ["gpu:2", "gpu:a100:1", "none", "nvme"],
    "ntasks-per-gpu": ["1", "2"],
    "cpus-per-gpu": ["2"],
    "tres-per-task": ["cpu=2", "gres/gpu=1"],
    "distribution": ["plane=2", "arbitrary", "block"],
    "nodelist": ["node[1-3]", "node1"],
    "extra-node-info": ["2:2", "*"],
    "hint": ["nomultithread"],
    "segment": ["0", "2"],
    "exclusive": [None, "user"],
    "mem": ["1G", "\ue000"],
}
CHOSEN = st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.integers(0, 7), max_size=6).map(
    lambda chosen: {name: OPTIONS[name][index % len(OPTIONS[name])] for name, index in chosen.items()}
)


@settings(max_examples=examples(300), deadline=None)
@given(values=CHOSEN, version=st.sampled_from(MAJORS))
def test_any_options_have_counts_or_none(values: dict[str, str | None], version: str) -> None:
    found = clashes(values, [version])[version]
    assert all(set(each.names) <= values.keys() for each in found)
    result = job_counts(values, version)
    if result is None or any(each.effect == "refused" for each in found):
        return
    assert result.max_nodes is None or result.min_nodes <= result.max_nodes
    if result.ntasks_given and "nodelist" not in values and version >= "23.02":
        assert result.ntasks >= result.min_nodes, "slurmctld refuses fewer tasks than nodes"
