"""The reading of options is glibc's: what it says is compared with the C library's own getopt_long."""

from __future__ import annotations

import ctypes
import platform

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from sbatchlint.slurm.getopt import UNKNOWN, parse, site_option
from sbatchlint.slurm.options import find, meanings, plugin_options, table
from sbatchlint.slurm.versions import DEFAULT, MAJORS, Range, describe, expand, major, parse_range, shorten

ALL = DEFAULT.majors
NEW = ("26.05",)


def read(*words: str, command: str = "sbatch", versions: tuple[str, ...] = NEW) -> list[tuple[str, str | None]]:
    return [(each.name, each.value) for each in parse(words, command, versions).options]


def kinds(*words: str, command: str = "sbatch", versions: tuple[str, ...] = NEW) -> list[str]:
    return [each.kind for each in parse(words, command, versions).problems]


@pytest.mark.parametrize(
    "words, expected",
    [
        (["-N2", "-n", "4"], [("nodes", "2"), ("ntasks", "4")]),
        (["-sN2"], [("oversubscribe", None), ("nodes", "2")]),
        (["-N=2"], [("nodes", "=2")]),
        (["--nodes", "=", "2"], [("nodes", "=")]),
        (["-J", "--nodes=2"], [("job-name", "--nodes=2")]),
        (["--tasks=4"], [("ntasks-per-node", "4")]),
        (["--task=4"], [("ntasks-per-node", "4")]),
        (["--job=a", "--out=b", "--dep=c"], [("job-name", "a"), ("output", "b"), ("dependency", "c")]),
        (["--exclusive=user", "--nice"], [("exclusive", "user"), ("nice", None)]),
        (["--cluster=a"], [("clusters", "a")]),
        (["--job-name="], [("job-name", "")]),
        (["-ntasks=4"], [("ntasks", "tasks=4")]),
    ],
)
def test_options(words: list[str], expected: list[tuple[str, str | None]]) -> None:
    assert read(*words) == expected
    assert kinds(*words) == []


def test_positions() -> None:
    nodes, name, time = parse(["-vN", "2", "--job-name=a", "-t5"], "sbatch", NEW).options[1:]
    assert (nodes.word, nodes.start, nodes.value_word, nodes.value_start, nodes.separate) == (0, 2, 1, 0, True)
    assert (name.word, name.start, name.value_word, name.value_start, name.separate) == (2, 0, 2, 11, False)
    assert (time.written, time.start, time.value_start) == ("-t", 1, 2)


def test_the_command_of_srun_ends_the_options() -> None:
    parsed = parse(["-N", "2", "--mpi=pmix", "python", "-c", "x"], "srun", ALL)
    assert (parsed.rest, parsed.uncertain, parsed.ended) == (3, False, False)
    parsed = parse(["-l", "--", "-n", "3"], "srun", ALL)
    assert (parsed.rest, parsed.ended) == (2, True)
    assert parse(["-"], "srun", ALL).rest == 0
    assert read("--wait=60", command="srun") == [("wait", "60")]
    assert read("-W", "60", command="srun") == [("wait", "60")]
    assert read("-W", "60", command="sbatch") == [("wait", None)]


def test_problems() -> None:
    assert kinds("--walltime=1") == ["unknown-option"]
    assert kinds("-K") == ["unknown-option"]
    assert kinds("--gpu=8") == ["ambiguous-option"]
    assert kinds("--=8") == ["ambiguous-option"]
    assert kinds("--wait=60") == ["unexpected-value"]
    assert kinds("--output") == kinds("-o") == ["missing-value"]
    (problem,) = parse(["--cpus=4"], "sbatch", NEW).problems
    assert problem.candidates == ("cpus-per-gpu", "cpus-per-task")
    assert "ambiguous" in problem.message and "--cpus=4" in problem.message


def test_releases() -> None:
    parsed = parse(["--requeue=expedite", "--extra=3"], "sbatch", ("22.05", "26.05"))
    assert [(each.name, each.versions) for each in parsed.options] == [
        ("requeue", ("26.05",)),
        ("extra-node-info", ("22.05",)),
        ("extra", ("26.05",)),
    ]
    assert [(each.kind, each.versions) for each in parsed.problems] == [("unexpected-value", ("22.05",))]
    without = [version for version in MAJORS if "export-file" not in table("sbatch", version).names]
    assert without == ["23.11"]
    assert [each.argument for each in meanings("get-user-env", "sbatch", ("24.11", "25.05"))] == ["optional", "none"]


def test_unknown_words() -> None:
    parsed = parse([f"{UNKNOWN}", "-N", UNKNOWN, f"--{UNKNOWN}=3", f"-n{UNKNOWN}2", "cmd"], "srun", ALL)
    assert [(each.name, each.value) for each in parsed.options] == [("nodes", UNKNOWN), ("ntasks", UNKNOWN + "2")]
    assert (parsed.rest, parsed.uncertain, parsed.problems) == (5, True, ())
    assert not parse(["-N", UNKNOWN, "cmd"], "srun", ALL).uncertain


def test_plugins_and_site_options() -> None:
    assert read("--container-image", "x", "--no-container-mount-home") == [
        ("container-image", "x"),
        ("no-container-mount-home", None),
    ]
    assert kinds("--container-mount=x") == ["unknown-option"]
    assert {"uenv", "view", "environment", "image", "module", "ear"} <= set(plugin_options())
    assert site_option("--beeond=") == ("beeond", "required")
    parsed = parse(
        ["--cuda-mps", "--beeond", "2", "--tmpfs=4", "x"], "sbatch", ALL, ("cuda-mps", "beeond=", "tmpfs[=]")
    )
    assert [(each.name, each.value) for each in parsed.options] == [("cuda-mps", None), ("beeond", "2"), ("tmpfs", "4")]
    assert (parsed.rest, parsed.problems) == (4, ())


def test_versions() -> None:
    assert major("23.11.4") == "23.11" and parse_range("22.05-26.05") == Range("22.05", "26.05")
    for wrong in ("19.05", "23.12", "x", "26.05-22.05", ""):
        with pytest.raises(ValueError):
            parse_range(wrong)
    for releases in ({"20.11"}, {"22.05", "23.02", "24.05"}, set(MAJORS)):
        assert expand(shorten(releases)) == releases
    assert describe(["22.05"], ALL) == "before Slurm 23.02"
    assert describe(["25.11", "26.05"], ALL) == "in Slurm 25.11 and later"
    assert describe(ALL, ALL) == ""
    assert describe([each for each in ALL if each != "25.11"], ALL) == "before Slurm 25.11 and in Slurm 26.05 and later"
    assert Range("23.02", "24.05").all_since("23.02") and Range("23.02", "24.05").all_before("24.11")


class _COption(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("has_arg", ctypes.c_int),
        ("flag", ctypes.c_void_p),
        ("val", ctypes.c_int),
    )


ARGUMENTS = {"none": 0, "required": 1, "optional": 2}


def libc_getopt(words: list[str], command: str, version: str) -> tuple[list[tuple[str, str | None]], bool, int]:
    """What glibc reads: options up to the first error, whether there is one, and the index behind the options."""
    libc = ctypes.CDLL(None)
    names = table(command, version).names
    values: dict[str, int] = {}
    letters = "+"
    for option in names.values():
        if option.letter:
            values[option.canonical] = ord(option.letter)
            letters += option.letter + ":" * ARGUMENTS[option.argument(version)]
    for option in names.values():
        values.setdefault(option.canonical, 1000 + len(values))
    by_value = {value: name for name, value in values.items()}
    rows = (_COption * (len(names) + 1))()
    for row, (name, option) in zip(rows, names.items()):
        row.name, row.has_arg = name.encode(), ARGUMENTS[option.argument(version)]
        row.val = values[option.canonical]
    argv = (ctypes.c_char_p * (len(words) + 2))(command.encode(), *[word.encode() for word in words], None)
    ctypes.c_int.in_dll(libc, "optind").value = 0
    ctypes.c_int.in_dll(libc, "opterr").value = 0
    found: list[tuple[str, str | None]] = []
    while (code := libc.getopt_long(len(words) + 1, argv, letters.encode(), rows, None)) != -1:
        if code == ord("?"):
            return found, True, -1
        value = ctypes.c_char_p.in_dll(libc, "optarg").value
        found.append((by_value[code], None if value is None else value.decode()))
    return found, False, ctypes.c_int.in_dll(libc, "optind").value - 1


def _long_words() -> st.SearchStrategy[str]:
    names = sorted({name for command in ("sbatch", "srun", "salloc") for name in table(command, "26.05").names})
    cut = st.tuples(st.sampled_from(names), st.integers(1, 30)).map(lambda pair: "--" + pair[0][: pair[1]])
    return st.tuples(cut, st.sampled_from(["", "=", "=2", "=a=b"])).map("".join)


WORDS = st.one_of(
    _long_words(),
    st.text("NncJtoGpvQHsWKuIX=2a-", min_size=0, max_size=4).map(lambda text: "-" + text),
    st.sampled_from(["", "-", "--", "2", "cmd", "a b", "--nodes", "--ntasks=1", "-N"]),
)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="compares with glibc")
@settings(max_examples=examples(400))
@given(
    st.lists(WORDS, max_size=6),
    st.sampled_from(["sbatch", "srun", "salloc"]),
    st.sampled_from(["20.11", "23.11", "26.05"]),
)
def test_like_glibc(words: list[str], command: str, version: str) -> None:
    options, failed, rest = libc_getopt(words, command, version)
    parsed = parse(words, command, (version,))
    assert bool(parsed.problems) == failed
    ours = list(parsed.options)
    if failed:
        problem = parsed.problems[0]
        ours = [each for each in ours if (each.word, each.start) < (problem.word, problem.start)]
    else:
        assert parsed.rest == rest
    assert [(each.name, each.value) for each in ours] == options


def test_every_option_is_found_by_its_name() -> None:
    for version in MAJORS:
        for command in ("sbatch", "srun", "salloc"):
            known = table(command, version)
            assert len(known.names) > 60
            for name in known.names:
                option = find(name, command, version)
                assert option is not None and option.name == name
            for letter, option in known.letters.items():
                assert option.letter == letter
