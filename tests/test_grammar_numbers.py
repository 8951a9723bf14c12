"""The grammars of numbers, against what sbatch and slurmctld 22.05, 23.11, 24.11 and 26.05 said to each value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_helper import SEEN, check_table, option, said, words
from sbatchlint.slurm.grammar import arrays, hosts, numbers, refusals, signals, sizes, times
from sbatchlint.slurm.versions import MAJORS

COUNTS = ["1", "04", "+4", "999999999", "2147483646", " 4", "\t4"]
NO_COUNTS = words("0 -0 -1 4.0 4x x4 4k 1-2 1,2 2:4 0x4 1e2 none * 4; \uff14 -99999999999999999999")


@pytest.mark.parametrize(
    "name",
    [
        "ntasks",
        "cpus-per-task",
        "ntasks-per-node",
        "ntasks-per-core",
        "ntasks-per-socket",
        "ntasks-per-gpu",
        "ntasks-per-tres",
        "cpus-per-gpu",
        "threads-per-core",
        "sockets-per-node",
        "cores-per-socket",
        "mincpus",
        "thread-spec",
    ],
)
def test_counts(name: str) -> None:
    for version in SEEN:
        for value in COUNTS:
            assert said(name, value, version) == "", (version, value)
        for value in [*NO_COUNTS, "", " ", "4 ", "4 4"]:
            assert said(name, value, version) == f'Invalid numeric value "{value}" for --{name}.', (version, value)


def test_counts_that_are_too_large() -> None:
    newer = "Numeric argument (2147483647) too large for --ntasks."
    assert [said("ntasks", "2147483647", version) for version in SEEN] == ["", newer, newer, newer]
    assert said("ntasks", "2147483647", "23.02") == "Numeric argument (2147483647) to big for --ntasks."
    assert said("ntasks", "2147483648", "22.05") == "invalid number of tasks (-n -2147483648)"
    assert said("ntasks", "4294967296", "22.05") == ""
    assert said("cpus-per-task", "4294967296", "22.05") == "invalid number of cpus per task (-c 0)"
    assert said("mincpus", "2147483648", "22.05") == ""
    longest = "99999999999999999999"
    assert said("mincpus", longest, "22.05") == "Numeric argument (9223372036854775807) to big for --mincpus."
    assert said("mincpus", longest, "26.05") == "Numeric argument (9223372036854775807) too large for --mincpus."


def test_counts_from_0() -> None:
    for value in ("0", "-0", "4", ""):
        assert said("core-spec", value, "26.05") == "", value
    assert said("core-spec", "-1", "26.05") == 'Invalid numeric value "-1" for --core-spec.'
    assert said("resv-ports", "x", "26.05") == 'Invalid numeric value "x" for --resv-port.'
    assert said("wait-all-nodes", "2", "22.05") == "Invalid --wait-all-nodes specification"
    assert said("wait-all-nodes", "65536", "22.05") == ""
    assert said("wait-all-nodes", "yes", "22.05") == 'Invalid numeric value "yes" for --wait-all-nodes.'


def test_other_numbers() -> None:
    for value in ("0", "+1", "01", "", " 1"):
        assert said("oom-kill-step", value, "24.11") == "", value
    for value in ("2", "-1", "true", "1x", "65536", " ", "1 "):
        assert said("oom-kill-step", value, "24.11") == "Invalid --oom-kill-step specification", value
    for value in ("0", "18", "65533", ""):
        assert said("segment", value, "26.05") == "", value
    for value in ("-1", "65534", "1x", "1,2", "99999999999999999999"):
        assert said("segment", value, "26.05") == "Invalid --segment specification", value
    for value in ("abc", "5x", "-100", "2147483645", "-9223372036854775808", ""):
        assert said("nice", value, "22.05") == "", value
    for value in ("2147483646", "-2147483646", "99999999999999999999"):
        assert said("nice", value, "22.05") == "Invalid --nice value, out of range (+/- 2147483645)", value
    for value in ("top", "topx", "abc", "1.5", "4294967293", ""):
        assert said("priority", value, "22.05") == "", value
    assert said("priority", "-1", "22.05") == "Priority must be >= 0"
    assert said("priority", "4294967294", "22.05") == "Priority must be < 4294967294"
    for value in ("1@10:00", "1@2h", "1@", "2@@1", "+1@5"):
        assert said("switches", value, "22.05") == "", value
    assert said("switches", "0@5", "22.05") == 'Invalid numeric value "0" for --switches.'
    assert said("switches", "1 @5", "22.05") == 'Invalid numeric value "1 " for --switches.'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2:4:1", ""),
        ("*:*", ""),
        ("*x", ""),
        ("2:4:1:x", ""),
        ("1-2:3-4", ""),
        ("2-1", ""),
        ("0", ""),
        (":", ""),
        ("", ""),
        ("2k", ""),
        ("2: 4", ""),
        ("1-0", 'Invalid numeric value "1-0" for first arg of -B.'),
        ("-1", 'Invalid numeric value "-1" for first arg of -B.'),
        ("2:x", 'Invalid numeric value "x" for second arg of -B.'),
        ("2:4:x", 'Invalid numeric value "x" for third arg of -B.'),
        ("1-*", 'Invalid numeric value "1-*" for first arg of -B.'),
        ("2:4 ", 'Invalid numeric value "4 " for second arg of -B.'),
        ("1-2147483648", "Numeric argument (2147483648) too large for first arg of -B."),
    ],
)
def test_extra_node_info(value: str, message: str) -> None:
    assert said("extra-node-info", value, "26.05") == message
    assert said("extra-node-info", value, "22.05") == message.replace("too large", "to big")


NODES = {
    "1": (1, 1),
    "1-2": (1, 2),
    "0-2": (0, 2),
    "-4": (1, 4),
    "2-0": (2, 0),
    "1k": (1024, 1024),
    "1km": (2**30, 2**30),
    "2-4k": (2, 4096),
    "+2": (2, 2),
    " 2": (2, 2),
    "2 ": (2, 2),
    "1 - 2": (1, 2),
    "2147483647": (2**31 - 1, 2**31 - 1),
}
LISTS = {
    "1,2": (1, 2),
    "2,1": (1, 2),
    "1,2,4": (1, 2, 4),
    "1-2,4": (1, 2, 4),
    "1,": (0, 1),
    "2,,4": (0, 2, 4),
    "1-10:2": (1, 3, 5, 7, 9),
    "20-100:20": (20, 40, 60, 80),
    "1-17:4": (1, 5, 9, 13),
    "3-1,4": (4,),
    "1-2-3,5": (2, 3, 5),
    "1,2-3-4": (1, 3, 4),
    "1, 2": (1, 2),
}
# The message of 22.05, and that of 26.05 where it differs.
NO_NODES = {
    "0": ("Batch job submission failed: Node count specification invalid",),
    "2-1": ("Maximum node count 1 is less than minimum node count 2",),
    "2-": ("Maximum node count -1 is less than minimum node count 2",),
    "-": ("Maximum node count -1 is less than minimum node count 1",),
    "1--2": (
        "Maximum node count -2 is less than minimum node count 1",
        "Maximum node count -1 is less than minimum node count 1",
    ),
    "--": ('"-" is not a valid node count',),
    "1-2-3": ('"2-3" is not a valid node count',),
    "1mk": ('"1mk" is not a valid node count',),
    "1:4": ('"1:4" is not a valid node count',),
    "2.0": ('"2.0" is not a valid node count',),
    "1-max": ('"max" is not a valid node count',),
    "MIN-MAX": ('"MIN" is not a valid node count',),
    "": ('"" is not a valid node count',),
    "1 2": ('"1 2" is not a valid node count',),
    "2147483648": ('"2147483648" is not a valid node count',),
    ",1": ('",1" is not a valid node count', "invalid number of nodes (-N -1--1)"),
    "5-5:1": ('"5:1" is not a valid node count', "invalid number of nodes (-N -1--1)"),
    "1-4:": ('"4:" is not a valid node count', '"1-4:" is not a valid node count'),
    "1-4:2,8": ('"4:2,8" is not a valid node count', '"1-4:2,8" is not a valid node count'),
    "1,x": ('"1,x" is not a valid node count', '"x" is not a valid node count'),
    "1,2k": ('"1,2k" is not a valid node count', '"2k" is not a valid node count'),
    "1 ,2": ('"1 ,2" is not a valid node count', '"1 " is not a valid node count'),
    "16384,1": ('"16384,1" is not a valid node count', '"16384" is not a valid node count'),
}


def test_node_counts() -> None:
    for version in SEEN:
        for text, (minimum, maximum) in NODES.items():
            assert numbers.node_count(text, version) == (minimum, maximum, ()), (version, text)
            assert said("nodes", text, version) == ""


def test_lists_of_node_counts() -> None:
    for text, listed in LISTS.items():
        assert numbers.node_count(text, "26.05") == (listed[0], listed[-1], listed), text
        assert numbers.node_count(text, "23.02") == (listed[0], listed[-1], listed), text
        assert numbers.node_count(text, "22.05") is None, text
        assert "is not a valid node count" in said("nodes", text, "22.05")


def test_no_node_counts() -> None:
    for text, messages in NO_NODES.items():
        assert said("nodes", text, "22.05") == messages[0], text
        assert said("nodes", text, "26.05") == messages[-1], text
    assert said("nodes", "16384,1", "23.11") == ""
    assert numbers.node_count("4294967298", "22.05") == (2, 2, ()), "cut down to 32 bits"
    assert numbers.node_count("4294967298", "23.11") is None


ARRAYS = {
    "5": (1, 5, 5, 1, 0),
    "1-10": (10, 1, 10, 1, 0),
    "1-10:2": (5, 1, 9, 2, 0),
    "1-10%2": (10, 1, 10, 1, 2),
    "1-10:2%3": (5, 1, 9, 2, 3),
    "1-5%2,8": (6, 1, 8, 1, 2),
    "1-10%2,20-30%3": (21, 1, 30, 1, 2),
    "1-3,5-7:2%4": (5, 1, 7, 2, 4),
    "[1-10]%2": (10, 1, 10, 1, 2),
    "[1-10%2]": (10, 1, 10, 1, 2),
    "[1-3],5": (4, 1, 5, 1, 0),
    "1-10,5-20": (20, 1, 20, 1, 0),
    "1,1,1": (1, 1, 1, 1, 0),
    ",1,,": (1, 1, 1, 1, 0),
    "1-10%-1": (10, 1, 10, 1, 0),
    "1-10%x": (10, 1, 10, 1, 0),
    "+1-+5": (5, 1, 5, 1, 0),
    "001": (1, 1, 1, 1, 0),
    "-": (1, 0, 0, 1, 0),
    "%5,1": (2, 0, 1, 1, 5),
    "1-5]:2]": (3, 1, 5, 2, 0),
    "1- 5": (5, 1, 5, 1, 0),
    "1, 3": (2, 1, 3, 1, 0),
}
NO_ARRAYS = words(
    "10-1 1-10:0 1-10:-1 1..10 1-5-7 -1-5 -5 1- 1-: 1-x x 1-10x 1.5 1-10: 1-10:2x : 1:2 1-2:3:4 1-10,x 0x1 1;2 all"
    " 1--5 [[1-3]] 1-[5] ]1 9223372036854775808",
    " ",
    "1 ",
    "1 -5",
    "1-5 ",
    "1 ,3",
    "1-5 %2",
    "1 3",
    "1-10 :2",
)


def test_arrays() -> None:
    for text, expected in ARRAYS.items():
        found = arrays.indexes(text)
        assert found is not None and found[:5] == expected, text
    check_table("array", "Batch job submission failed: Invalid job array specification", list(ARRAYS), NO_ARRAYS)
    for text in ("", ",", ",,"):
        assert arrays.indexes(text) is None
        assert said("array", text, "26.05") == "", "no array is asked for"


def test_what_a_site_allows() -> None:
    assert arrays.indexes("0-1000", limit=1001) is not None
    assert arrays.indexes("0-1001", limit=1001) is None
    assert said("array", "4000000", "26.05") == "", "some site may allow it"
    assert said("array", "4000001", "26.05") != ""


def test_a_step_behind_the_limit_is_dropped() -> None:
    found = arrays.indexes("1-10%3:2")
    assert found is not None and (found.tasks, found.throttle, found.dropped_step) == (10, 3, ":2")
    other = arrays.indexes("1-10:2%3")
    assert other is not None and other.dropped_step == ""


SIGNALS = {
    "USR1": ("USR1", 60, False, False),
    "sigusr1@0": ("USR1", 0, False, False),
    "10": ("USR1", 60, False, False),
    "B:USR1@120": ("USR1", 120, True, False),
    "BUSR1": ("USR1", 60, True, False),
    "B10@5": ("USR1", 5, True, False),
    "RB:TERM": ("TERM", 60, True, True),
    "br:term": ("TERM", 60, True, True),
    "RR:INT": ("INT", 60, False, True),
    ":USR2": ("USR2", 60, False, False),
    "USR1@": ("USR1", 0, False, False),
    "USR1@+60": ("USR1", 60, False, False),
    "1000": ("1000", 60, False, False),
    "65537@9": ("HUP", 9, False, False),
    " USR1": ("USR1", 60, False, False),
    "USR1 @60": ("USR1", 60, False, False),
    "USR1@ 60": ("USR1", 60, False, False),
    "B: USR1@60": ("USR1", 60, True, False),
}
NO_SIGNALS = words(
    "USR1@65536 USR1@-1 USR1@5m USR1:60 USR1=60 USR1@60@60 BB:USR1 RRB:USR1 BRB:USR1 B:R:USR1 ::USR1 B::USR1 B B: R @60"
    " USR3 SEGV SIGSEGV 0 65536 +USR1 10x 10.5 0x0a USR1@60.5 USR1@1:00 SIG10 SIG SIGSIGTERM USR USR11 S:USR1",
    "",
    " ",
    "USR1@60 ",
    "B :USR1",
)


def test_signals() -> None:
    for text, expected in SIGNALS.items():
        assert signals.early_signal(text) == expected, text
    check_table("signal", "Invalid --signal specification", list(SIGNALS), NO_SIGNALS)


@pytest.mark.parametrize("name", ["CHLD", "PIPE"])
def test_signals_that_came_with_23_11(name: str) -> None:
    (refused,) = refusals(option("signal"), name, MAJORS)
    assert refused.versions == ("20.11", "21.08", "22.05", "23.02")
    assert refused.instead is not None
    assert said("signal", refused.instead, "22.05") == ""


HOSTS = {
    "node1": ["node1"],
    "node1,node2,node1": ["node1", "node2"],
    "node[01-03,7],gpu5": ["node01", "node02", "node03", "node7", "gpu5"],
    "r[1-2]n[1-2]": ["r1n1", "r1n2", "r2n1", "r2n2"],
    ",node1,,node2 ": ["node1", "node2"],
    "node1 node2": ["node1", "node2"],
    "node[1-]": ["node1"],
    "node[1- 2]": ["node1", "node2"],
    "[1-2]": ["1", "2"],
    "": [],
}
RANGES = words("node[] node[-2] node[2-1] node[a-b] node[1-2-3] node[1,] node[1-99999] node[1:2] node[1x2]")


def test_hosts() -> None:
    for text, names in HOSTS.items():
        assert hosts.hosts(text) == tuple(names), text
    for text in ("/etc/hosts", "./nodes", "a{b}", *RANGES):
        assert hosts.hosts(text) is None, text


def test_ranges_of_hosts() -> None:
    for text in RANGES:
        assert said("nodelist", text, "23.11") == "memory allocation failure", text
        assert said("nodelist", text, "26.05") == "Invalid node list specified", text
        for version in SEEN:
            assert said("exclude", text, version) == "Batch job submission failed: Invalid node name specified", text


def test_brackets_of_hosts() -> None:
    unnamed = "Batch job submission failed: Invalid node name specified"
    assert said("nodelist", "node[1-2", "22.05") == unnamed
    assert said("nodelist", "node[1-2", "23.11") == "memory allocation failure"
    assert said("nodelist", "node[1-2]x", "22.05") == "memory allocation failure"
    assert hosts.hosts("node[1-2]x", "23.11") == ("node1x", "node2x")


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("time", "2h", "2:00:00"),
        ("time", "30m", "0:30:00"),
        ("time", "1d", "1-00:00:00"),
        ("time", "1.5h", "1:30:00"),
        ("time", "1d12h", "1-12:00:00"),
        ("time", "2 days", "2-00:00:00"),
        ("time", "24:00:00:00", "24-00:00:00"),
        ("time", ":30:00", "0:30:00"),
        ("time", "10;", "10"),
        ("time", "10.5", None),
        ("time", "1h1d", None),
        ("mem", "1.5G", "1536M"),
        ("mem", "4Gi", "4G"),
        ("mem", "4 GB", "4G"),
        ("mem", "0.5T", "512G"),
        ("mem", "1,5G", "1536M"),
        ("mem", "4,000M", None),
        ("mem", "max", "0"),
        ("mem-per-cpu", "max", None),
        ("ntasks", "4.0", "4"),
        ("ntasks", "4.5", None),
        ("nodes", "4-2", "2-4"),
        ("nodes", "1..4", "1-4"),
        ("array", "1..10", "1-10"),
        ("array", "10-1", "1-10"),
        ("array", "1;3", "1,3"),
        ("array", "1-5-7", None),
        ("signal", "USR1:60", "USR1@60"),
        ("signal", "B:USR1@5m", "B:USR1@300"),
        ("signal", "USR1@2d", None),
        ("signal", "SEGV@60", "11@60"),
        ("nodelist", "node[1-3", "node[1-3]"),
        ("begin", "now+90min", "now+90minutes"),
        ("begin", "1hour", "now+1hour"),
        ("begin", "2027-01-02 8", "2027-01-02T8:00"),
        ("begin", "monday", None),
    ],
)
def test_what_was_meant(name: str, value: str, meant: str | None) -> None:
    (refused,) = refusals(option(name), value, ("26.05",))
    assert refused.instead == meant
    assert meant is None or refusals(option(name), meant, MAJORS) == ()


JUDGED = words(
    "time mem tmp mem-update ntasks core-spec nodes extra-node-info switches segment nice priority oom-kill-step"
    " wait-all-nodes signal array nodelist exclude begin deadline"
)


@given(st.sampled_from(JUDGED), st.text("0123456789-:,.@%[]+ kKmMgGbBxhTBR/nowusig\u0663\u00b2", max_size=14))
def test_any_text_is_judged(name: str, value: str) -> None:
    for refused in refusals(option(name), value, MAJORS):
        assert refused.message and refused.reason
        assert refused.instead != value
        newest = refused.versions[-1] if refused.versions else MAJORS[-1]
        assert refused.instead is None or refusals(option(name), refused.instead, (newest,)) == ()


@given(st.integers(0, 10**25), st.sampled_from(["ntasks", "nodes", "mem", "time"]))
def test_the_short_way_gives_the_same(number: int, name: str) -> None:
    judges = {"ntasks": numbers, "nodes": numbers, "mem": sizes, "time": times}
    for version in MAJORS:
        plain = refusals(option(name), str(number), (version,))
        judged = judges[name].refusal(name, str(number), version)
        assert plain == (() if judged is None else (judged,))
