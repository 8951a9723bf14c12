"""The profile of a cluster: from what Slurm prints to TOML and back, and from the settings to a job.

The outputs in tests/data/site: 22.05 is of a live cluster (tests/slurm asks one again); 24.11 and 26.05 are written by
`slurm_sprint_partition_info()`, `slurm_sprint_node_table()` and `slurm_ctl_conf_2_key_pairs()` of these releases.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from conftest import ROOT
from sbatchlint import api
from sbatchlint.analysis.site.names import nearest
from sbatchlint.linting import inspect_file
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.site import collecting
from sbatchlint.site.collecting import Output, carried_over, profile_of
from sbatchlint.site.host_lists import folded
from sbatchlint.site.model import Nodes, Partition, Profile
from sbatchlint.site.profile import Gres, gpus_of, gres_of, limit, nodes_of, whole_minutes
from sbatchlint.site.reading import examples, parsed, path_of, read_profile
from sbatchlint.site.writing import as_toml
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.source.files import InputError
from sbatchlint.source.text import Source

SAVED = ROOT / "tests" / "data" / "site"


def saved(name: str, private: bool = False) -> Profile:
    return profile_of([Output(name, (SAVED / f"{name}.txt").read_text())], private)


# --- from outputs -------------------------------------------------------------------------------


def test_a_small_live_cluster() -> None:
    profile = saved("22.05")
    assert (profile.cluster, profile.release, profile.max_array_size) == ("local", "22.05.8", 1001)
    assert (profile.select_type, profile.enforce_part_limits, profile.gpus) == ("cons_tres", "NO", "gres")
    assert profile.accounting_enforce is None and profile.submit_plugins == () and profile.gpus_bound is None
    assert profile.complete == ("partitions", "nodes")
    assert profile.default_partition == "batch"
    assert limit(profile.partitions["batch"].max_time) is None
    assert limit(profile.partitions["interactive"].max_time) == 480
    (nodes,) = nodes_of(profile, "batch")
    assert (nodes.names, nodes.count, nodes.cpus, nodes.memory, gpus_of(nodes)) == ("node[1-2]", 2, 64, 512000, 8)


def test_a_large_one_with_accounting() -> None:
    profile = saved("24.11")
    assert profile.submit_plugins == ("lua",) and profile.enforce_part_limits == "ANY"
    assert profile.accounting_enforce == ("associations", "limits", "qos", "safe")
    assert profile.gpus_bound and profile.x11 and profile.task_plugins == ("cgroup", "affinity")
    gpu = profile.partitions["gpu"]
    assert (gpu.max_nodes, gpu.min_nodes, gpu.whole_nodes, gpu.qos) == (1, 1, True, "gpu")
    assert (gpu.default_cpus_per_gpu, gpu.default_memory_per_gpu, gpu.default_memory_per_cpu) == (16, 120000, 7000)
    assert gpu.allow_qos == ("normal", "long") and gpu.max_memory_per_cpu == 8000
    cpu, elbe = profile.nodes
    assert (cpu.count, cpu.cpus, cpu.threads_per_core, cpu.memory) == (3, 252, 2, 504000)
    assert gres_of(elbe) == [Gres("gpu", "a100", 4), Gres("shard", "a100", 40), Gres("nvme", "", 2**40)]
    assert profile.qos["long"].max_time == "7-00:00:00" and profile.qos["long"].denies
    assert profile.qos["long"].max_tres == {"cpu": 64, "gres/gpu": 4, "mem": 102400}
    assert profile.qos["gpu"].min_tres == {"gres/gpu": 1}


def test_why_a_command_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scontrol").write_bytes(b"\x7fELF, but no program")
    (tmp_path / "sinfo").write_text("#!/bin/sh\n")
    (tmp_path / "sacctmgr").write_text("#!/bin/sh\nexit 3\n")
    for program in tmp_path.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="scontrol show config: cannot be started: "):
        collecting.printed()
    assert collecting._run(["sinfo"]).args == ("printed nothing",)
    assert collecting._run(["sacctmgr"]).args == ("ended with 3",)


def test_names_of_accounts_stand_in_it_only_where_they_are_asked_for() -> None:
    for name in ("hydro", "maria"):
        assert name not in as_toml(saved("24.11"))
    private = saved("24.11", private=True)
    assert private.partitions["gpu"].allow_accounts is None  # which accounts are below them is not said
    assert [each.names for each in private.accounts] == [("hydro",)] and "accounts" in private.complete
    assert "maria" not in as_toml(private)


def test_the_newest_release() -> None:
    profile = saved("26.05")
    assert profile.release == "26.05.1" and profile.submit_plugins == ("lua", "cli_filter/lua")
    assert profile.plugin_options == ("container-image", "tmpfs[=]")
    assert "nodes" not in profile.complete and profile.nodes == ()


def test_sinfo_stands_in_where_scontrol_is_forbidden() -> None:
    profile = saved("sinfo")
    assert profile.default_partition == "cpu" and profile.complete == ()
    assert limit(profile.partitions["cpu"].max_time) == 4320 and profile.partitions["gpu"].state == "INACTIVE"
    cpu, gpu = sorted(profile.nodes, key=lambda each: -each.count)
    assert (cpu.partitions, cpu.cpus, cpu.memory, cpu.count) == (("all", "cpu"), 256, None, 3)
    assert gpus_of(gpu, "a100") == 4 and gpu.memory == 1000000


def test_one_line_records_and_several_files_come_to_the_same() -> None:
    text = (SAVED / "22.05.txt").read_text()
    config, _, rest = text.partition("PartitionName=")
    partitions, _, nodes = ("PartitionName=" + rest).partition("NodeName=")
    nodes = "NodeName=" + nodes
    flat = ["\n".join(" ".join(each.split()) for each in part.split("\n\n")) for part in (partitions, nodes)]
    parts = [Output("a", flat[1]), Output("b", config), Output("c", flat[0])]
    made, whole = profile_of(parts), saved("22.05")
    assert (made.nodes, made.partitions, made.release) == (whole.nodes, whole.partitions, whole.release)


def test_what_some_nodes_of_a_line_exceed_is_not_known() -> None:
    rows = "PARTITION|NODES|CPUS|MEMORY|NODELIST\na*|2|64+|256000+|n[1-2]\na*|1|32|128000|m1\n"
    profile = profile_of([Output("a", rows)])
    assert sorted((each.names, each.cpus, each.memory) for each in profile.nodes if each.cpus) == [("m1", 32, 128000)]
    (larger,) = (each for each in profile.nodes if each.cpus is None)
    assert (larger.names, larger.count, larger.memory, larger.gres) == ("n[1-2]", 2, None, None)


def test_the_limits_of_a_qos() -> None:
    head = "Name|Flags|GrpTRES|GrpSubmit|MaxTRES|MaxWall|MaxTRESPU|MaxSubmitPU|MaxTRESPA|MaxSubmitPA|MinTRES\n"
    row = "q|DenyOnLimit|mem=100G,node=3|9|cpu=16|02:00:00|gres/gpu=2|5|node=2|7|cpu=4\n"
    qos = profile_of([Output("a", head + row)]).qos["q"]
    assert (qos.group_tres, qos.max_tres, qos.min_tres) == ({"mem": 102400, "node": 3}, {"cpu": 16}, {"cpu": 4})
    assert (qos.max_tres_per_user, qos.max_tres_per_account) == ({"gres/gpu": 2}, {"node": 2})
    numbers = qos.max_submitted_jobs, qos.max_submitted_jobs_per_user, qos.max_submitted_jobs_per_account
    assert numbers == (9, 5, 7) and qos.denies


def test_licences_and_temporary_disks() -> None:
    assert saved("22.05").licenses == {"matlab": 4, "ansys@flex": 2} and saved("24.11").licenses is None
    assert [each.tmp_disk for each in saved("22.05").nodes] == [0]
    assert profile_of([Output("a", "No licenses configured in Slurm.\n")]).licenses == {}
    rows = "PARTITION|NODES|CPUS|TMP_DISK|NODELIST\na|2|8|900|n[1-2]\nb|2|8|0+|m[1-2]\n"
    assert [each.tmp_disk for each in profile_of([Output("b", rows)]).nodes] == [900, None]


WRONG = {
    "": "is empty",
    "hello\n": "is not what one of these commands prints",
    '{"nodes": []}': "without --json",
    "ClusterName=x\nNodeName=n[1-4] CPUs=4\n": "looks like a slurm.conf",
    "normal|0|00:00:00|||cluster\n": "has no header",
    "NodeName=n1 CPUTot=4 RealMemory=1000\n": "the record of node n1 has no State=",
    "NodeName=n1 CPUTot=4 RealMemory=1000 State=IDLE\n": "has no CfgTRES=",
    "NodeName=n1 CPUTot=x RealMemory=1 State=IDLE CfgTRES=\n": "no number of CPUs",
    "PartitionName=a State=UP\n": "the record of partition a has no OverSubscribe=",
    "PartitionName=a State=UP OverSubscribe=NO TRES= TotalNodes=1 MaxTime=soon\n": "'soon' for a time",
    "Configuration data as of 2026-01-01T00:00:00\nGresTypes = gpu\n": "the configuration has no SLURM_VERSION",
    "LicenseName=x\n    Total=1 Used=0\n": "the record of licence x has no Remote=",
    "LicenseName=x\n    Total=all Used=0 Remote=no\n": "the record of licence x has 'all'",
    "Name|Flags|MaxWall\nnormal|\n": "has 2 columns, and its header 3",
    "Name|Flags|MaxWall\nnormal||soon\n": "'soon' for a time",
    "Usage: sbatch [OPTIONS(0)...] script(0)\n": "the help of sbatch has no --version",
    "Usage: sbatch script\n  -V, --version\n": "is not what `sbatch --help` prints",
    "\x7fELF\0|a|b|c|d\0": "is not text",
    "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n": "looks like a web page",
    '[{"nodes": 2}]': "without --json",
    "scontrol: error: Unable to contact slurm controller\n": "is not what one of these commands prints",
    "   State=UP TotalCPUs=8 TotalNodes=1\nName|Flags|MaxWall\n": "begins in the middle of an output",
    "SelectType              = select/cons_tres\nName|Flags|MaxWall\n": "begins in the middle of an output",
    "Configuration data as of 2026-01-01T00:00:00\nPartitionName =batch\n": "has a blank before the `=`",
    "NodeName=n\0ode1 CPUTot=4\n": "is not text",
    "uid=1(ada) gid=1(ada) groups=1(ada)\n": "says nothing of a cluster",
    "> PARTITION|AVAIL|TIMELIMIT|NODES\nbatch*|up|1:00|2\n": "has no column PARTITION",
    "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\nbatch* up\n": "fewer columns than its header",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_damaged_or_foreign_output_is_told(text: str) -> None:
    with pytest.raises(InputError, match=r"^out\.txt: ") as raised:
        profile_of([Output("out.txt", text)])
    assert WRONG[text] in str(raised.value)


def test_outputs_of_two_clusters_are_two_profiles() -> None:
    outputs = [Output(name, (SAVED / f"{name}.txt").read_text()) for name in ("22.05", "24.11")]
    with pytest.raises(InputError, match="is of the cluster rivers, and what came before of local"):
        profile_of(outputs)
    later = outputs[0].text.replace("= 22.05", "= 23.02")
    assert later != outputs[0].text
    with pytest.raises(InputError, match=r"is of release 23\.02\.8, and what came before of 22\.05\.8"):
        profile_of([outputs[0], Output("later", later)])


def test_what_a_shell_and_standard_error_add_is_left_out() -> None:
    lines = []
    for line in (SAVED / "22.05.txt").read_text().splitlines():
        if line.startswith(("PartitionName=", "NodeName=", "LicenseName=")):
            lines += ["[ada@login1 ~]$ scontrol show something", "+ scontrol show something"]
        lines.append(f"\x1b[1m{line}\x1b[0m" if line.startswith("PartitionName=") else line)
    lines += ["PARTITION AVAIL TIMELIMIT NODES STATE NODELIST", "batch* up infinite 2 idle node[1-2]"]
    lines += ["You are not running a supported accounting_storage plugin", "ada@login1:~> sinfo --format='%P|%a|%l|%D'"]
    lines += ["Name|Flags|MaxWall", "normal||1:00:00", "sacctmgr: error: no association", "$ sinfo --format=%P|%a"]
    made = profile_of([Output("out", "\n".join(lines))])
    assert (made.partitions, made.nodes) == (saved("22.05").partitions, saved("22.05").nodes)
    assert list(made.qos) == ["normal"]


def test_what_is_hidden_or_cut_off_between_records_is_not_complete() -> None:
    text = (SAVED / "22.05.txt").read_text()
    without_node = text[: text.index("NodeName=node2")]
    without_partition = text[: text.index("PartitionName=interactive")] + text[text.index("NodeName=node1") :]
    assert profile_of([Output("a", text)]).complete == ("partitions", "nodes")
    assert profile_of([Output("a", without_node)]).complete == ("partitions",)
    assert profile_of([Output("a", without_partition)]).complete == ("nodes",)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["22.05", "24.11", "26.05", "sinfo"]), st.integers(0, 12000), st.text(max_size=40))
def test_any_damage_gives_a_profile_or_an_error(name: str, at: int, noise: str) -> None:
    text = (SAVED / f"{name}.txt").read_text()
    for damaged in (text[:at], text[:at] + noise + text[at:], text[at:]):
        try:
            profile = profile_of([Output("out.txt", damaged)])
        except InputError:
            continue
        assert parsed(as_toml(profile).encode(), "out") == profile


# --- as TOML ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["22.05", "24.11", "26.05", "sinfo"])
def test_what_is_written_is_read_again(name: str) -> None:
    profile = replace(saved(name, private=True), licenses={"a b@c": 2} if name == "sinfo" else {})
    assert parsed(as_toml(profile).encode(), name) == profile


@pytest.mark.parametrize("name", examples())
def test_examples_are_valid_and_round_trip(name: str) -> None:
    profile = read_profile(path_of(name))
    assert parsed(as_toml(profile).encode(), name) == profile
    assert profile.date and all(each.partitions for each in profile.nodes)


BROKEN = {
    "cluster = 1": "`format = 1` is missing",
    "format = 2": "its format is 2",
    "format = 1\nmax-array = 1": "max-array: unknown key (did you mean 'max-array-size'?)",
    "format = 1\nmax-array-size = 'x'": "max-array-size: Expected `int",
    "format = 1\nmax-array-size = -1": "max-array-size: must be 0 or more",
    "format = 1\nrelease = '17.02'": "release: '17.02' is not a Slurm release",
    "format = 1\ngpus = 'some'": "gpus: must be gres or whole-node",
    "format = 1\n[partitions.a]\nmax-time = 'soon'": "partitions.a.max-time: 'soon' is not a time",
    "format = 1\n[partitions.a]\nnodes = 'two'": "partitions.a.nodes: Expected `int",
    "format = 1\npartitions = ['a']": "partitions: must be a table of tables",
    "format = 1\n[partitions.a]\n[[nodes]]\ncount = 1\npartitions = ['b']": "there is no [partitions.b]",
    "format = ": "is not valid TOML",
    "\udcff": "is not UTF-8",
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_profile_is_told(text: str) -> None:
    with pytest.raises(InputError) as raised:
        parsed(text.encode("utf-8", "surrogateescape"), "site.toml")
    assert str(raised.value).startswith("site.toml: ") and BROKEN[text] in str(raised.value)


def test_prices_written_by_hand_are_kept() -> None:
    made = saved("22.05")
    text = as_toml(made).replace("[partitions.batch]\n", "[partitions.batch]\nprice = 2.5\nwatts = 4000\n")
    before = parsed(text.replace("x11 = false", 'x11 = false\ncurrency = "EUR"').encode(), "x")
    kept = carried_over(made, before)
    assert kept.partitions["batch"].price == 2.5 and kept.currency == "EUR"
    assert "\nwatts = 4000\nprice = 2.5\n" in as_toml(kept), "numbers as they were written"
    assert kept.partitions["interactive"] == made.partitions["interactive"]


@given(st.sets(st.from_regex(r"[a-c]{1,2}-?0?[0-9]{0,3}", fullmatch=True).filter(lambda name: name[-1] != "-")))
def test_names_of_hosts_are_folded(names: set[str]) -> None:
    assert set(hosts(folded(names)) or ()) == names


@pytest.mark.parametrize(
    "written", ["v100", "h100", "a10", "p100", "a1000", "l40", "a40", "gh200", "rtx8000", "mi250", "a100_40gb", "a100l"]
)
def test_another_number_is_another_thing(written: str) -> None:
    assert nearest(written, ["a100", "l40s", "a4000", "h200", "rtx6000", "mi210", "a100_80gb", "mi250x"]) is None
    assert nearest(f"nvidia_{written}", ["nvidia_a100", "nvidia_l40s", "nvidia_h200"]) is None


def test_what_is_plainly_meant_is_told() -> None:
    for written, meant in {"A100": "a100", "nvida_a100": "nvidia_a100", "node-12": "node12", "bacth": "batch"}.items():
        assert nearest(written, [meant, "other"]) == meant


def test_small_things() -> None:
    assert folded(["n9", "n10", "login", "n11"]) == "login,n9,n[10-11]"
    assert whole_minutes(1500) == "1-01:00:00" and whole_minutes(90) == "01:30:00"
    assert gpus_of(Nodes(count=1, gpus=4)) == 4
    assert Partition().state == "UP"


# --- in the settings ----------------------------------------------------------------------------


def test_a_profile_is_named_by_the_settings_or_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(as_toml(saved("22.05")))
    (tmp_path / "sbatchlint.toml").write_text('[site]\nprofile = "own.toml"\ngpus-per-node = 4\n')
    script = str(tmp_path / "job.sh")
    site = Resolver(Overrides()).settings(script).site
    assert site.profile is not None and site.profile.cluster == "local"
    assert (site.slurm_versions, site.versions_named, site.gpus) == (("22.05", "22.05"), True, "gres")
    assert site.gpus_per_node == 4, "what the settings say by hand stands above the profile"
    other = Resolver(Overrides(site="example", slurm_version="24.05")).settings(script).site
    assert other.profile is not None and other.profile.cluster == "example"
    assert other.slurm_versions == ("24.05", "24.05")
    assert (other.gpu_vendor, other.gpu_arch, other.gpus_required) == ("nvidia", "sm_80", True)


def test_settings_may_extend_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site.toml").write_text(as_toml(saved("22.05")))
    own = tmp_path / "sbatchlint.toml"
    own.write_text('extend = "site.toml"\nignore = ["SB105"]\n[site]\ngpus-per-node = 4\n')
    site = Resolver(Overrides()).settings(str(tmp_path / "job.sh")).site
    assert site.profile is not None and site.profile.cluster == "local" and site.gpus_per_node == 4
    (tmp_path / "some_cluster").mkdir()
    (tmp_path / "some_cluster" / "__init__.py").write_text("")
    (tmp_path / "some_cluster" / "site.toml").write_text("format = 1\ncluster = 'ours'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    own.write_text('extend = "some_cluster"\n')
    site = Resolver(Overrides()).settings(str(tmp_path / "job.sh")).site
    assert site.profile is not None and site.profile.cluster == "ours"


def test_a_missing_profile_is_told(tmp_path: Path) -> None:
    (tmp_path / "sbatchlint.toml").write_text('[site]\nprofile = "gone.toml"\n')
    with pytest.raises(InputError, match=r"sbatchlint.toml: there is no profile .*gone.toml"):
        Resolver(Overrides()).settings(str(tmp_path / "job.sh"))
    with pytest.raises(InputError, match="--site: there is no profile 'lum'"):
        Resolver(Overrides(site="lum", isolated=True)).settings("job.sh")


def test_the_profile_of_the_machine_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tmp_path / "found.toml"
    found.write_text(as_toml(saved("22.05")))
    monkeypatch.setattr("sbatchlint.settings.FOUND", str(found))
    script = str(tmp_path / "job.sh")
    site = Resolver(Overrides()).settings(script).site
    assert site.profile is not None and site.profile.cluster == "local"
    assert Resolver(Overrides(isolated=True)).settings(script).site.profile is None
    other = Resolver(Overrides(site="example")).settings(script).site
    assert other.profile is not None and other.profile.cluster == "example"


def test_a_package_may_hold_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "our_cluster").mkdir()
    (tmp_path / "our_cluster" / "__init__.py").write_text("raise RuntimeError('it is not imported')\n")
    (tmp_path / "our_cluster" / "site.toml").write_text("format = 1\ncluster = 'ours'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert read_profile(path_of("our_cluster")).cluster == "ours"


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "sbatchlint", *arguments]
    return subprocess.run(argv, input=text, capture_output=True, text=True, cwd=ROOT, check=False)


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "site.toml"
    made = run("site", "--from", str(SAVED / "24.11.txt"), "-o", str(out))
    assert made.returncode == 0 and "2 partitions, 2 kinds of nodes" in made.stderr
    assert run("site", "--from", "-", text=(SAVED / "24.11.txt").read_text()).stdout == out.read_text()
    assert run("site", "--from", str(out)).returncode == 2
    assert run("site", "--show", "example").stdout.startswith("# An invented cluster")
    shown = tmp_path / "shown.toml"
    assert run("site", "--show", "example", "-o", str(shown)).returncode == 0
    assert shown.read_text() == run("site", "--show", "example").stdout
    for arguments in (("-o", str(shown)), ("--from", str(out)), ("--for-user", "ada")):  # it is there already; no use
        assert run("site", "--show", "example", *arguments).returncode == 2
    wrong = run("site", "--from", str(ROOT / "pyproject.toml"))
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ") and "Traceback" not in wrong.stderr


# --- the plan -----------------------------------------------------------------------------------


def plan(head: str, **options: object) -> dict[str, Any]:
    settings = {"site": {"profile": "example"}}
    text = f"#!/bin/bash\n#SBATCH {head}\nsrun ./a.out\n"
    found = api.plan(text, settings=settings, isolated=True, **options)  # type: ignore[arg-type]
    cluster: dict[str, Any] = found.data["request"]["components"][0]["cluster"]
    return cluster


def test_the_plan_says_which_nodes_can_run_a_job_and_what_it_takes() -> None:
    found = plan("-p gpu -N 2 --gpus-per-node=2 --cpus-per-task=64 --time=10:00:00")
    (partition,) = found["partitions"]
    (nodes,) = partition["nodes"]
    assert nodes["takes"] == {"cpus": [64, 64], "gpus": [2, 4], "memory_mb": [128000, 512000]}
    assert nodes["idle_gpus"] == 2, "no CPU is left for them"
    assert partition["hours"] == {"node": 20.0, "gpu": 40.0, "cost": 160.0, "currency": "EUR", "kwh": 50.0}
    more = plan("-p batch --mem=300G -t 60 -a 1-10")["partitions"][0]
    assert more["more_nodes"] == {"count": 60, "memory_mb": 256000} and more["hours"]["node"] == 10


def test_what_if_the_job_were_larger() -> None:
    found = plan("-p gpu -N 2 --gpus-per-node=2", sbatch_options="--nodes=9")
    assert not found["accepted"] and found["reason"] == "requests 9 nodes, and partition `gpu` allows 8 nodes"
    said = run("plan", "--site", "example", "--isolated", "--nodes", "9", "examples/ranks.sbatch").stdout
    assert " 9 " in said and "in the default" not in said


@pytest.mark.parametrize(
    ("parameters", "severity"),
    [("", "warning"), ("task-parameters = []", None), ('task-parameters = ["autobind=cores"]', "error")],
)
def test_whether_tasks_are_bound_decides_how_loud_lost_cpus_are(
    tmp_path: Path, parameters: str, severity: str | None
) -> None:
    (tmp_path / "site.toml").write_text(f'format = 1\nrelease = "22.05.8"\ntask-plugins = ["affinity"]\n{parameters}\n')
    settings = Resolver(Overrides(isolated=True, site=str(tmp_path / "site.toml"))).settings("job.sh")
    script = "#!/bin/bash\n#SBATCH -n 4 -c 8\nsrun ./solver\n"
    found = inspect_file(Source(script, "job.sh"), settings).diagnostics
    assert [each.severity for each in found if each.code == "SB804"] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("head", "release", "refused"),
    [
        ("-n 9 -c 6", "22.05.8", True),
        ("-n 9 -c 6 --mem=1G", "22.05.8", False),
        ("-n 9 -c 6 --mem=1G --exclusive", "22.05.8", False),
        ("-N 3 -n 9 -c 6 --mem=1G", "22.05.8", True),
        ("-n 9 -c 6 --mem=1G", "26.05.3", True),
        ("-n 8 -c 6 --mem=1G", "26.05.3", False),
    ],
)
def test_which_release_lays_tasks_out_for_a_job_with_memory_of_a_node(
    tmp_path: Path, head: str, release: str, refused: bool
) -> None:
    """As sbatch of 22.05.8 and of 26.05.3 said: four nodes of 16 CPUs have 64, and room for eight tasks of six."""
    lines = ('format = 1\ncomplete = ["partitions", "nodes"]\nselect-type = "cons_tres"\nsubmit-plugins = []',
             f'release = "{release}"', '[partitions.full]\nnodes = 4\ncpus = 64\nstate = "UP"',
             '[[nodes]]\nnames = "c[1-4]"\ncount = 4\ncpus = 16\nmemory = 64000\npartitions = ["full"]\n')  # fmt: skip
    (tmp_path / "site.toml").write_text("\n".join(lines))
    settings = Resolver(Overrides(isolated=True, site=str(tmp_path / "site.toml"))).settings("job.sh")
    script = f"#!/bin/bash\n#SBATCH -p full\n#SBATCH {head}\nsleep 1\n"
    found = inspect_file(Source(script, "job.sh"), settings).diagnostics
    assert any(each.code == "SB915" for each in found) == refused
