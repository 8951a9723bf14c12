"""Values of words and resources: what sbatch and slurmctld take, and how the values are understood.

The verdicts of the three tables were seen on Slurm 22.05.8, 23.11.4, 24.11.7 and 26.05.3 (`sbatch --test-only`), with
features a to c, licences x to z, and GPUs.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbatchlint.slurm.grammar import (
    bindings,
    choices,
    dependencies,
    features,
    mail,
    patterns,
    refusals,
    resources,
)
from sbatchlint.slurm.options import find
from sbatchlint.slurm.versions import MAJORS

SEEN = ("22.05", "23.11", "24.11", "26.05")

# fmt: off
TAKEN: dict[str, list[str]] = {
    "acctg-freq": [
        "30", "task=30", "energy=10,task=5", "30s", "filesystem=1,network=2", "", "TASK=5",
    ],
    "constraint": [
        "a", "a&b", "a|b", "a,b", "[a|b]", "[a*2&b*2]", "a*2", "a&", "(a|b)&c", "[(a)]", "", "a*2*3", "(a)*2",
    ],
    "cpu-freq": [
        "low", "medium", "high", "highm1", "2000000", "low-high:performance", "ondemand", "performance", "Performance",
        "high-highm1:performance", "1000-2000:ondemand", "userspace",
    ],
    "dependency": [
        "afterany:1", "afterany:1:2", "afterany:1,2", "after:1", "after:1:2", "after:1,2", "aftercorr:1",
        "aftercorr:1:2", "aftercorr:1,2", "afterburstbuffer:1", "afterburstbuffer:1:2", "afterburstbuffer:1,2",
        "singleton", "Singleton", "singleton,afterany:1", "1", "1,2", "afterany:1?2", "afterany:1,afterany:2",
        "afterany:1?afterany:2", "afterany:1?2,3", "", "0", "afterany: 1", "after:1+5", "after:1+5:2", "afterany:1_2",
        "afterany:1_*", "1_2", "1_*", "afterany:1_[1-3]", "afterany:1_[x]", "afterany:1(failed)", "AFTERANY:1",
        "afterany:-1", "afterburstb:1", "afterburstbxx:1", "singleton?afterany:1", "afterany:1,afterany:2(x)",
        "after:1+5,2", "after:01",
    ],
    "distribution": [
        "block", "cyclic", "block:block", "block:cyclic", "cyclic:fcyclic", "plane=4", "PLANE=4", "*", "*:*", "*:*:*",
        "block:*:block", "block,pack", "block,nopack", "pack", "nopack", "pack,nopack", "block,", "cyclic:cyclic,Pack",
        "block::cyclic", "block:", "plane= 4", "Cyclic:Block", "planes=3",
    ],
    "exclusive": [
        "user", "USER", "mcs", "exclusive", "oversubscribe", "",
    ],
    "gpu-bind": [
        "closest", "none", "single:1", "single:2", "per_task:1", "map_gpu:0,1", "mask_gpu:0x3,0xc", "verbose,closest",
        "single:x", "closest,verbose", "map_gpu:0*4", "map_gpu:", "Closest",
    ],
    "gpu-freq": [
        "low", "medium", "high", "highm1", "450", "450,memory=900", "memory=high", "verbose", "medium,verbose", "low,",
        "low;gpu:high",
    ],
    "gpus": [
        "4", "a100:4", "gpu:4", "a100", "0", "-1", "a100:2,h100:1", "a100=2", "=2", "4k", "", "x", "2,", "4gb",
    ],
    "gpus-per-task": [
        "4", "a100:4", "gpu:4", "a100", "0", "a100=2", "=2", "4k", "x", "2,", "4gb",
    ],
    "gres": [
        "gpu", "gpu:4", "gpu:0", "gpu:a100:4", "gpu:a100", "gpu:a100=4", "gpu:4k", "gpu:4K", "gpu:1kb", "gpu:1kib",
        "gpu:-1", "gpu:+1", "none", "NONE", "gpu:=2", "gpu: 2", "gpu:k", "gpu:2;gpu:1", "gpu:two", "gpu:a-b:2",
        "gpu:A100_80:1", "gpu:1,gpu",
    ],
    "gres-flags": [
        "disable-binding", "enforce-binding", "Enforce-Binding",
    ],
    "hint": [
        "compute_bound", "memory_bound", "multithread", "nomultithread", "MULTITHREAD", "compute_bound,nomultithread",
        "compute_bound;multithread",
    ],
    "kill-on-invalid-dep": [
        "yes", "no", "YES",
    ],
    "licenses": [
        "x", "x:1", "x:0", "x:1,y:2", "x:1;y", "", ",",
    ],
    "mail-type": [
        "END", "end,Fail", "ALL", "NONE", "BEGIN,ENDS", "END, FAIL", "ALL,NONE", "NONE,FOO", "FOO,NONE",
        "TIME_LIMIT_80,x", "time_limit", ",END", "STAGE_OUT", "ARRAY_TASKS", "INVALID_DEPEND",
    ],
    "mem-bind": [
        "none", "local", "rank", "map_mem:0,1", "mask_mem:0x1,0x2", "quiet", "verbose,local", "v,none", "prefer",
        "map_mem:0*2", "mapmem:0", "map_mem=0,1", "q", "mask_mem:f", "map_mem:0,1,local",
    ],
    "no-kill": [
        "off", "no", "set", "OFF", "",
    ],
    "open-mode": [
        "append", "a", "Trunc", "A",
    ],
    "prefer": [
        "a", "a&",
    ],
    "profile": [
        "all", "none", "task", "energy,task", "Task", "tasks", "lustre,network", "nonexistent",
    ],
    "propagate": [
        "ALL", "NONE", "STACK", "STACK,CORE", "RLIMIT_STACK", "RLIMIT_STACK,NOFILE", "STACK CORE", "MEMLOCK", "",
    ],
    "tres-bind": [
        "gres/gpu:closest", "gres/gpu:single:1", "gres/shard:none", "gres/gpu:map:0,1",
        "gres/gpu:none+gres/nic:closest", "",
    ],
    "tres-per-task": [
        "cpu=4", "cpu:4", "gres/gpu=1", "gres:gpu:1", "gres/gpu:1", "gres/gpu:a100=1", "gres/gpu:a100:1",
        "gres:gpu:a100:1", "cpu=2,gres/gpu=1", "cpu:2,gres:gpu:1", "gres/gpu", "", "foo", "cpu=1k",
    ],
}

REFUSED: dict[str, list[str]] = {
    "acctg-freq": [
        "foo", "task", "task=", "task=x", "-1", "gpu=3", "task=-1", "task=5,foo",
    ],
    "constraint": [
        "a*0", "a*x", "*2", "&a", "a&&b", "a||b", "(a&b", "a)", "[a", "a]", "[a][b]", "[a]|[b]", "a[b]", "(a(b))",
        "((a))", "[a*2&b]", "()", "[]", "a*-1", "[a*2|b*2]", "(a*2)", "[a&b]*2", "[(a&b)*2&c]",
    ],
    "cpu-freq": [
        "", "0", "high-low:performance", "low:performance", "ondemand:low", "ondemand:performance", "foo", "low-foo",
        "low-foo:performance", "low-high:foo", "highm1-high:performance", "2000-1000:ondemand", "-", "low-", "x-high",
        "ondemand-high", "ondemand-high:performance", "high:2",
    ],
    "dependency": [
        "afterok=1", "afterok", "afterok:", "afterok:0", "afterany=1", "afterany", "afterany:", "afterany:0",
        "after=1", "after", "after:", "after:0", "afternotok=1", "afternotok", "afternotok:", "afternotok:0",
        "aftercorr=1", "aftercorr", "aftercorr:", "aftercorr:0", "afterburstbuffer=1", "afterburstbuffer",
        "afterburstbuffer:", "afterburstbuffer:0", "singletons", "singleton:1", "1:2", "1?2", "1,afterany:2",
        "afterany:1,2?3", "00", "x", "1x", "afterany:1x", "afterany:x", "after_any:1", "afterany:1 ",
        "afterany:1, afterany:2", "afterany:1;afterany:2", "after:1+0", "after:1+x", "afterany:1_x", "afterany:1_[1-",
        "afterany:1(failed", "afterany:1)", "afterany:1,", "afterany:1?", ",afterany:1", "afterany:1:", "afterany::1",
        "afterall:1", "afterany:1&afterany:2", "afterany:1|afterany:2", "afterany:[1]", "afterany:<jobid>",
        "afterburst:1", "afterany:1,,afterany:2", "afterany,1", "afterany 1", "afterany:4294967296", "1?", "1,",
        "1,2,", "afterany:1.batch", "afterany:1.0", "on:1", "afterany:1:afterany:2",
    ],
    "distribution": [
        "fcyclic", "plane=0", "plane=x", "plane=4,pack", "plane", "plane:4", "block:block:block:block", "block,foo",
        ",pack", "", "block:arbitrary", "blocked", "cyclicc", "plane=-2", "plane=4 ", "block,pack,nopack",
        "roundrobin", "em=4G", ":",
    ],
    "exclusive": [
        "yes", "true", "no", "users", "node",
    ],
    "gpu-bind": [
        "verbose", "single", "single:-1", "per_task", "foo", "", "map_gpu:0,x", "mask_gpu:0xg", "map_gpu:0;1",
        "single=1", "map_gpu=0,1", "map_gpu:0*x", "per-task:1",
    ],
    "gpu-freq": [
        "Low", "foo", "", "1.5", "450MHz", "memory=", "memory", "memory=x", "gpu:450", "low;high",
    ],
    "gpus": [
        "a100:", "a100:x", "a100:-1",
    ],
    "gpus-per-task": [
        "a100:-1",
    ],
    "gres": [
        "gpu:", "gpu:a100:", "gpu:4:a100", "gpu:a100:x", "gpu:a100:-1", "2", "gpu=", "=2", ":2", "gpu=2:a100",
        "gpu:a100:2:",
    ],
    "gres-flags": [
        "disable-binding,enforce-binding", "foo", "disable_binding", "allow-task-sharing", "disable-binding,foo",
    ],
    "hint": [
        "foo", "nomultithread,5", "", "compute", "no_multithread", ",",
    ],
    "kill-on-invalid-dep": [
        "true", "y", "",
    ],
    "licenses": [
        "x:-1", "x:1y", "x y", "x|y,z", "x:1:2",
    ],
    "mail-type": [
        "ENDS", "TIMEOUT", "END|FAIL", "END;FAIL", "END FAIL", "", "abort", ",", "STAGE_IN",
    ],
    "mem-bind": [
        "foo", "map_mem", "map_mem:", "map_mem:x", "mask_mem:g", "map_mem:0*0", "local,foo", "", "mask_mem:0X1",
        "local,0",
    ],
    "no-kill": [
        "yes", "on",
    ],
    "open-mode": [
        "x", "write", "",
    ],
    "prefer": [
        "[a", "(a",
    ],
    "profile": [
        "foo", "", "filesystem",
    ],
    "propagate": [
        "stack", "all", "ALL,STACK", "foo", "SIGPENDING",
    ],
    "tres-bind": [
        "gpu:closest", "gres/gpu", "gres/gpu:foo", "gres/shard:closest", "gres/gpu:none+nic:closest", "closest",
    ],
    "tres-per-task": [
        "cpu=x", "gpu=1", "gpu:1", "mem=4G", "MEM=4", "cpu=1,mem=4G", "energy=1", "node=1", "billing=1", "fs/disk=1",
        "vmem=1", "pages=1", "bb/x=1", "nodes=1", "gres/gpu=", "gres/gpu:", "gres/gpu=x", "cpu=-1", "memory=1",
        "gres=1", "foo=1", "cpu=4x", "cpu=2 ", "cpu:4,gpu=2",
    ],
}

# By the releases that refuse them.
PARTLY: dict[str, dict[str, str]] = {
    "constraint": {
        "a*2&b*2": "23.11 24.11 26.05", "([a])": "23.11 24.11 26.05", "a*2|b": "23.11 24.11 26.05",
        "a*2,b": "23.11 24.11 26.05", "(a)b": "23.11 24.11 26.05", "[a]b": "23.11 24.11 26.05",
        "(a&b)*2&c": "23.11 24.11 26.05",
    },
    "cpu-freq": {
        "2.4GHz": "23.11 24.11 26.05", "2400MHz": "23.11 24.11 26.05", "low-high:userspace": "23.11 24.11 26.05",
        "low:userspace": "22.05",
    },
    "dependency": {
        "afterany:1?afterany:2,afterany:3": "26.05", "afterany:1,afterany:2?afterany:3": "26.05",
        "after:1+5x": "26.05", "afterany:1_": "26.05", "1_": "26.05", "singleton?singleton,singleton": "26.05",
        "afterany:1+2+3": "26.05", "after:1(failed)+5": "26.05",
    },
    "exclusive": {
        "topo": "22.05 23.11", "allocation": "22.05 23.11 24.11",
    },
    "gpu-bind": {
        "map:0,1": "22.05", "mask:0x3": "22.05", "c": "23.11 24.11 26.05", "n": "23.11 24.11 26.05",
        "closet": "23.11 24.11 26.05",
    },
    "gpus": {
        "1.5": "22.05", ":2": "22.05", "a100:2:3": "22.05", "1 ": "22.05",
    },
    "gpus-per-task": {
        "-1": "24.11 26.05", "1.5": "22.05", "a100:": "22.05 23.11", ":2": "22.05", "a100:x": "22.05 23.11",
        "a100:2:3": "22.05", "1 ": "22.05",
    },
    "gres": {
        "gpu=4": "22.05", "gpu::4": "22.05", "gpu:a:b:2": "22.05", "gpu:1.5": "22.05", "gpu:4x": "22.05",
        "gres:gpu:2": "23.11 24.11 26.05", "gres/gpu:2": "22.05", "gres/gpu=2": "22.05", "gpu:2,": "22.05",
        ",gpu:2": "22.05", "gpu:2,,gpu:1": "22.05", "gpu:a100=x": "23.11 24.11 26.05", "gpu:2 ": "22.05", "": "22.05",
        "gpu:a100:k": "23.11 24.11 26.05", "gpu:18446744073709551615": "22.05",
        "gpu:4,gres:gpu:2": "23.11 24.11 26.05",
    },
    "gres-flags": {
        "multiple-tasks-per-sharing": "22.05", "": "22.05", "enforce-binding,": "22.05",
    },
    "licenses": {
        "x=1": "22.05", "x|y": "22.05 23.11 24.11", "x:": "26.05",
    },
    "mem-bind": {
        "sort": "26.05", "nosort": "26.05",
    },
    "prefer": {
        "a*2&b": "23.11 24.11 26.05",
    },
    "tres-per-task": {
        "cpu=0": "24.11 26.05", "cpu": "24.11 26.05",
    },
}
# fmt: on


def refusing(name: str, value: str) -> set[str]:
    """The releases, of those that have the option, whose refusal is found."""
    found = set()
    for version in SEEN:
        option = find(name, "sbatch", version)
        if option is not None and refusals(option, value, (version,)):
            found.add(version)
    return found


def having(name: str) -> set[str]:
    return {version for version in SEEN if find(name, "sbatch", version) is not None}


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_values_that_are_taken(name: str) -> None:
    assert having(name)
    assert {value: refusing(name, value) for value in TAKEN[name] if refusing(name, value)} == {}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_values_that_are_refused(name: str) -> None:
    assert {value for value in REFUSED[name] if refusing(name, value) != having(name)} == set()


@pytest.mark.parametrize("name", sorted(PARTLY))
def test_values_that_some_releases_refuse(name: str) -> None:
    assert {value: refusing(name, value) for value in PARTLY[name]} == {
        value: set(versions.split()) for value, versions in PARTLY[name].items()
    }


@pytest.mark.parametrize(
    ("name", "value", "version", "message", "stage"),
    [
        ("mail-type", "ENDS", "26.05", "Invalid --mail-type specification", "option"),
        ("exclusive", "yes", "22.05", "Invalid --exclusive specification", "option"),
        ("hint", "multithread,foo", "22.05", 'unrecognized --hint argument "foo", see --hint=help', "verify"),
        ("gres-flags", "foo", "22.05", "Invalid --gres-flags specification", "option"),
        ("gres-flags", "enforce-binding,foo", "26.05", "Invalid --gres-flags specification: foo", "option"),
        ("profile", "foo", "26.05", "invalid --profile=foo option", "option"),
        ("propagate", "stack", "22.05", "--propagate=stack is not valid.", "verify"),
        ("gpu-bind", "foo", "22.05", "Invalid --gpu-bind argument: gpu:foo", "option"),
        ("gpu-bind", "foo", "26.05", "Invalid --gpu-bind argument: foo", "option"),
        ("gpu-freq", "foo", "26.05", "Invalid --gpu-freq argument: gpu:foo", "option"),
        ("mem-bind", "map_mem:x", "22.05", "Failed to validate number: x, the offending character is x", "option"),
        ("acctg-freq", "task=5,foo", "22.05", "Invalid --acctg-freq specification: foo", "option"),
        ("gres", "gpu:", "22.05", "Invalid generic resource (gres) specification", "verify"),
        ("gres", "gpu:", "26.05", "Invalid Trackable RESource (TRES) specification", "verify"),
        (
            "gres",
            "gpu:1.5",
            "22.05",
            "Batch job submission failed: Invalid Trackable RESource (TRES) specification",
            "controller",
        ),
        ("tres-per-task", "cpu=1,mem=4G", "26.05", "Invalid TRES for --tres-per-task: mem", "verify"),
        ("tres-per-task", "cpu=-1", "26.05", "Invalid --tres-per-task=cpu=-1", "verify"),
        ("licenses", "x y", "22.05", "Batch job submission failed: Invalid license specification", "controller"),
        ("constraint", "a&&b", "26.05", "Batch job submission failed: Invalid feature specification", "controller"),
        ("prefer", "(a", "26.05", "Batch job submission failed: Invalid preferred feature specification", "controller"),
        ("dependency", "afterok:", "26.05", "Batch job submission failed: Job dependency problem", "controller"),
    ],
)
def test_messages(name: str, value: str, version: str, message: str, stage: str) -> None:
    option = find(name, "sbatch", version)
    assert option is not None
    (refusal,) = refusals(option, value, (version,))
    assert (refusal.message, refusal.stage) == (message, stage)


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("mail-type", "END|FAIL", "END,FAIL"),
        ("mail-type", "abort", "FAIL"),
        ("mail-type", "everything", None),
        ("exclusive", "yes", ""),
        ("exclusive", "users", "user"),
        ("kill-on-invalid-dep", "TRUE", "yes"),
        ("hint", "nomultithreading", "nomultithread"),
        ("hint", "foo", None),
        ("distribution", "plane:4", "plane=4"),
        ("distribution", "cyclicc:block", "cyclic:block"),
        ("gpu-bind", "single=1", "single:1"),
        ("gres", "gpu=4", "gpu:4"),
        ("gres", "gpu:a:b", None),
        ("dependency", "afterok=12", "afterok:12"),
        ("dependency", "afterany:1;afterany:2", "afterany:1,afterany:2"),
        ("dependency", "afterok:", None),
        ("constraint", "a*2,b*3", "[a*2&b*3]"),
    ],
)
def test_what_was_meant(name: str, value: str, instead: str | None) -> None:
    option = find(name)
    assert option is not None
    assert [refusal.instead for refusal in refusals(option, value, MAJORS[2:])][-1:] == [instead]


def test_counts_of_features_are_a_kind_of_their_own() -> None:
    option = find("constraint")
    assert option is not None
    (refusal,) = refusals(option, "a*2&b*2", MAJORS[2:])
    assert (refusal.kind, refusal.versions) == ("constraint", MAJORS[3:])
    assert [each.kind for each in refusals(option, "a&&b", MAJORS[2:])] == ["choice"]
    assert features.fault("[a*2&b]", "26.05") == "in brackets every feature of an `&` needs a count, [a*2&b*2]"


def test_mail_events() -> None:
    assert mail.events("fail,BEGIN,requ") == mail.Mail(("BEGIN", "FAIL"), ("requ",), False, ())
    assert set(mail.events("ALL").events) == mail.ALL
    assert mail.events("END,NONE,FAIL") == mail.Mail((), (), True, ("FAIL",))
    assert mail.merged(["END", "FAIL"], "24.11") == ("END", "FAIL")
    assert mail.merged(["END", "NONE"], "24.11") == ("END",)
    assert mail.merged(["END", "FAIL"], "25.05") == ("FAIL",)
    assert mail.merged(["END", "NONE"], "25.05") == ()
    assert mail.merged([], "26.05") == ()


def terms(value: str, version: str = "26.05") -> list[tuple[str, int, int | None, int]]:
    return [(term.type, term.job, term.task, term.minutes) for term in dependencies.parse(value, version)]


def test_dependencies() -> None:
    assert terms("afterok:1,2") == [("afterok", 1, None, 0), ("afterany", 2, None, 0)]
    assert terms("afterok:1:2_3:4_*") == [("afterok", 1, None, 0), ("afterok", 2, 3, 0), ("afterok", 4, -1, 0)]
    assert terms("after:1+5:2,singleton") == [("after", 1, None, 5), ("after", 2, None, 5), ("singleton", 0, None, 0)]
    assert terms("0") == terms("") == []
    assert terms("afterok:1?afterany:2", "22.05") == [("afterok", 1, None, 0), ("afterany", 2, None, 0)]
    # A state takes all that stands before its parentheses with it.
    assert terms("afterany:1,afterany:2(failed)") == [("afterany", 1, None, 0)]
    with pytest.raises(dependencies.DependencyFault, match="` ` cannot follow a job ID"):
        dependencies.parse("afterany:1 ", "22.05")


def test_where_a_term_stands() -> None:
    read = dependencies.parse("afterok:11,12", "26.05")
    assert ["afterok:11,12"[term.start : term.end] for term in read] == ["afterok:11", "12"]
    assert [term.bare for term in read] == [False, True]


def items(value: str, version: str = "26.05") -> list[tuple[str, str, int]]:
    read = resources.gres_items(value, version)
    assert not isinstance(read, resources.ResourceFault)
    return [(item.name, item.type, item.count) for item in read]


def test_gres_items() -> None:
    assert items("gpu") == items("gpu:1") == items("gpu=1") == [("gpu", "", 1)]
    assert items("gpu:a100:4,nvme:2k") == [("gpu", "a100", 4), ("nvme", "", 2048)]
    assert items("gres/gpu:a100=4") == [("gpu", "a100", 4)]
    assert items("gres:gpu:2", "22.05") == [("gpu", "", 2)]
    assert items("gpu:a100") == [("gpu", "a100", 1)]
    assert items("none") == items("") == []
    assert isinstance(resources.gres_items("gpu=4", "22.05"), resources.ResourceFault)


def test_gpu_lists() -> None:
    for version in SEEN:
        assert resources.gpu_list("gpu:4", version) == (resources.Item("gpu", "gpu", 4, "gpu:4"),)
        assert resources.gpu_list("a100:2,h100:1", version) == (
            resources.Item("gpu", "a100", 2, "a100:2"),
            resources.Item("gpu", "h100", 1, "h100:1"),
        )


def test_tres_items() -> None:
    new = resources.tres_items("cpu=4,gres/gpu:a100=2,license/x=3", "24.11")
    assert not isinstance(new, resources.ResourceFault)
    assert [item[:3] for item in new] == [("cpu", "", 4), ("gpu", "a100", 2), ("license/x", "", 3)]
    old = resources.tres_items("cpu:4,gres:gpu:a100:2,license:x:3", "23.02")
    assert not isinstance(old, resources.ResourceFault)
    assert [item[:3] for item in old] == [item[:3] for item in new]


@pytest.mark.parametrize(
    ("text", "number"),
    [("4", 4), ("4k", 4096), ("4kb", 4000), ("1MiB", 2**20), ("1.5", None), ("4x", None), ("", None), ("-1", None)],
)
def test_counts_with_suffixes(text: str, number: int | None) -> None:
    assert resources.count(text) == number


def test_patterns() -> None:
    assert patterns.uses("logs/%A_%4a.out", "a") and not patterns.uses("100%%a.out", "a")
    assert not patterns.uses("a\\%j", "j")
    assert "b" not in patterns.letters("24.05") and "b" in patterns.letters("24.11")
    assert [(use.letter, versions) for use, versions in patterns.unknown("%q-%b-%j", ("24.05", "24.11"))] == [
        ("q", ("24.05", "24.11")),
        ("b", ("24.05",)),
    ]
    assert patterns.directory("logs/%x/%j.out") == "logs/%x"
    assert patterns.directory("x.out") == "" and patterns.directory("/x.out") == "/"


def test_choices_as_understood() -> None:
    assert choices.distribution("*:*,Pack") == ("block", "cyclic")
    assert choices.distribution("plane=4") == ("plane",) and choices.plane_size("plane=4") == 4
    assert choices.distribution("nopack") == () and choices.distribution("fcyclic") is None
    assert choices.profiles("energy,Task") == {"energy", "task"}
    assert choices.words("exclusive", "23.11") == ("exclusive", "oversubscribe", "user", "mcs")
    assert bindings.governor("perf") == "performance"
    assert bindings.frequency("2.4GHz", "22.05") == 2 and bindings.frequency("2.4GHz", "23.11") is None


@pytest.mark.parametrize("name", sorted(TAKEN))
@given(st.text(st.sampled_from("gpua1,:=*&|()[]+-_?;/ %0x."), max_size=12))
def test_any_value_has_a_verdict(name: str, value: str) -> None:
    option = find(name)
    assert option is not None
    for refusal in refusals(option, value, MAJORS):
        assert refusal.message and refusal.reason and refusal.instead != value
