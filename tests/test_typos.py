"""Faults in the writing of directive lines: what is one, who reports it, and that what it says is what Slurm does.

tests/data/typos.jsonl holds option blocks and the verdicts of live Slurms 22.05.8 and 26.05.3: accepted or not, with
which message, and the options as sbatch read them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from sbatchlint.analysis.directives.continuations import continuations
from sbatchlint.analysis.directives.near_misses import near_misses
from sbatchlint.analysis.directives.typos import dashed, gap_at_equals, typo
from sbatchlint.bash.values import Text
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import lint_source
from sbatchlint.settings import Settings
from sbatchlint.slurm.directives import Directives, read_directives
from sbatchlint.source.edits import apply
from sbatchlint.source.text import Source

DATA = Path(__file__).parent / "data" / "typos.jsonl"
VERSIONS = ("22.05", "26.05")
# What only a cluster decides, or the value's own grammar.
_NOT_HERE = (
    "Batch job submission failed",
    "Invalid --",
    "Invalid numeric",
    "Invalid time spec",
    "invalid partition",
    "is not a valid node count",
    "Invalid mail",
)


def rows() -> list[dict[str, object]]:
    return [json.loads(line) for line in DATA.read_text().splitlines()]


def read(block: str, version: str | None = None) -> Directives:
    versions = (version, version) if version else ("22.05", "26.05")
    return read_directives(Text.of_file(f"#!/bin/bash\n{block}\n"), versions, ())


def findings(block: str, version: str | None = None, *checks: str) -> list[Diagnostic]:
    table = {} if version is None else {"slurm-version": version}
    return lint_source(Source(f"#!/bin/bash\n{block}\n", "job.sbatch"), Settings.of_table(table, select=list(checks)))


def line(options: str) -> Directives:
    return read(f"#SBATCH {options}\n#SBATCH --comment=behind")


@pytest.mark.parametrize("version", VERSIONS)
def test_blocks_are_refused_as_slurm_does(version: str) -> None:
    wrong: list[object] = []
    for row in rows():
        verdict = row[version]
        assert isinstance(verdict, dict)
        assert isinstance(row["block"], str)
        message = str(verdict["message"])
        if any(each in message for each in _NOT_HERE):
            continue
        problem = next(iter(read(row["block"], version).problems), None)
        if bool(verdict["accepted"]) != (problem is None):
            wrong.append((row["block"], message, problem))
        elif problem is not None and problem.kind in ("stray-word", "leading-colon", "unmatched-quote"):
            if problem.message.strip() not in message:
                wrong.append((row["block"], message, problem.message))
    assert wrong == []


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_said_to_be_refused_is_refused(version: str) -> None:
    counts = {"SB104": 0, "SB106": 0}
    for row in rows():
        verdict = row[version]
        assert isinstance(verdict, dict)
        for finding in findings(str(row["block"]), version, *counts):
            if "refuses the script" in finding.message:
                counts[finding.code] += 1
                assert not verdict["accepted"], (row["block"], finding)
    assert counts["SB104"] > 60 and counts["SB106"] > 10


@pytest.mark.parametrize("version", VERSIONS)
def test_near_misses_set_nothing(version: str) -> None:
    """What is reported as not read is not among the options that sbatch read."""
    seen = 0
    for row in rows():
        verdict = row[version]
        assert isinstance(verdict, dict)
        if not verdict["accepted"]:
            continue
        for miss in near_misses(read(str(row["block"]), version)):
            if miss.kind in ("spelling", "indented", "blank", "case"):
                seen += 1
                assert not {each.name for each in miss.settings} & set(verdict["options"]), row
            elif miss.kind == "old-word":
                assert {each.name for each in miss.settings} <= set(verdict["options"]), row
    assert seen > 15


@pytest.mark.parametrize(
    ("options", "name", "expected"),
    [
        ("--time=5", "time", None),
        ("--time = 5", "time", "blank-at-equals"),
        ("--time =5", "time", "blank-at-equals"),
        ("--time= 5", "time", "blank-at-equals"),
        ('--time ="5"', "time", "blank-at-equals"),
        ('--time "=5"', "time", None),
        ("--exclusive = user", "exclusive", "blank-at-equals"),
        ("-t= 5", "time", "blank-at-equals"),
        ("-t=5", "time", "short-equals"),
        ("-J'=a'", "job-name", None),
        ("-t=", "time", "short-equals"),
        ("--job-name=", "job-name", None),
        ("--job-name= --nodes=2", "job-name", None),
        ("-nodes=2", "ntasks", "single-dash"),
        ("-n4", "ntasks", None),
        ("-J $USER", "job-name", "expansion"),
        ("-J \\$USER", "job-name", None),
        ("-J `date`", "job-name", "expansion"),
        ("-A <account>", "account", "placeholder"),
        ("--time=5\u00a0", "time", "invisible"),
        ("-J \u201ca\u201d", "job-name", "invisible"),
        ("-J é", "job-name", None),
        ("-J a#b", "job-name", "hash"),
        ("-J a #b", "job-name", None),
        ("-J a\\#b", "job-name", None),
        ("-J #b", "job-name", "hash"),
        ("-J", "job-name", None),
    ],
)
def test_typo(options: str, name: str, expected: str | None) -> None:
    directives = line(options)
    setting = next(each for each in directives.settings if each.name == name)
    assert typo(directives, setting) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("-nodes", "nodes"),
        ("---nodes=2", "nodes"),
        ("----time", "time"),
        ("--nodes", None),
        ("-N2", None),
        ("-n", None),
        ("nodes", None),
        ("-", None),
        ("-nodess", None),
        ("-container-image=x", "container-image"),
    ],
)
def test_dashed(word: str, expected: str | None) -> None:
    assert dashed(word) == expected


@pytest.mark.parametrize(
    ("block", "pieces", "swallowed"),
    [
        ("#SBATCH -N2 \\\n  --mem=4G\n#SBATCH -n2", 1, True),
        ("#SBATCH -N2 \\\n  --mem=4G \\\n\t-t 5 \\\nsrun a", 2, True),
        ("#SBATCH -N2 \\\n#  --mem=4G \\\n  -t 5", 2, True),
        ("#SBATCH -N2 \\\n#  --mem=4G", 1, False),
        ("#SBATCH -N2 \\\n# --- memory", 0, False),
        ("#SBATCH -N2 \\\n# --mem is given below", 0, False),
        ("#SBATCH -N2 \\\n#SBATCH -n2", 0, False),
        ("#SBATCH -N2 \\", 0, False),
    ],
)
def test_continuation(block: str, pieces: int, swallowed: bool) -> None:
    (found,) = continuations(read(block))
    assert (len(found.pieces), found.swallowed) == (pieces, swallowed)


@pytest.mark.parametrize("options", ["-J a\\\\", "-J 'a\\", "-N2 # \\", "-N2#\\", "-J \\a", '-J "a\\"'])
def test_no_continuation(options: str) -> None:
    assert continuations(line(options)) == []


PARTS = st.sampled_from(
    [
        *(
            "--time=5",
            "--time =",
            "--mem",
            "4",
            "G",
            "4 GB",
            "-J",
            "My",
            "Job",
            "it's",
            '"',
            "'",
            "a#b",
            "#",
            "#SBATCH",
        ),
        *("\\", "\\ ", "--", "-", ":", ":4", ",", "BEGIN,", "END", "--mail-type=", "-nodes=2", "---ntasks", "nodes=2"),
        *(
            "hetjob",
            '""',
            "(x)",
            ";",
            "$HOME",
            "$(date",
            "+%F)",
            "<a",
            "b>",
            "{{ x }}",
            "--exclusive",
            "user",
            "\u00a0",
        ),
        *("--foo", "-l", "walltime=1", "--array=1-10", "%2", "-w", "n[1,", "2]", "\t", "\r"),
    ]
)
LINES = st.builds(
    lambda magic, parts, glue: magic + glue.join(parts),
    st.sampled_from(["#SBATCH ", "#SBATCH", "# SBATCH ", "#SBTACH ", " #SBATCH ", "#SLURM ", "  ", "#"]),
    st.lists(PARTS, max_size=6),
    st.sampled_from([" ", " ", " ", ""]),
)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(LINES, min_size=1, max_size=4),
    st.sampled_from([("22.05", "26.05"), ("22.05", "22.05"), ("20.11", "26.05")]),
)
def test_anything_can_be_looked_at(lines: list[str], versions: tuple[str, str]) -> None:
    block = "\n".join(lines)
    string = f"#!/bin/bash\n{block}\n"
    directives = read_directives(Text.of_file(string), versions, ())
    for setting in directives.settings:
        gap = gap_at_equals(directives, setting)
        assert gap is None or 0 < gap.start < gap.last <= len(string)
    for miss in near_misses(directives):
        assert miss.start < miss.end <= miss.last and "#" in string[miss.start : miss.end]
    for found in continuations(directives):
        assert string[found.backslash] == "\\" and found.start <= found.backslash < found.end
        for piece in found.pieces:
            assert found.end <= piece.start <= piece.words < piece.last <= piece.end
    for finding in findings(block, "-".join(versions), "SB1"):
        if finding.fix is not None:
            assert apply(string, finding.fix.edits) != string, finding


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=5))
def test_a_corrected_quote_is_one_no_more(parts: list[str]) -> None:
    block = "#SBATCH " + " ".join(parts)
    for finding in findings(block, "26.05", "SB106"):
        if finding.fix is not None:
            changed = apply(f"#!/bin/bash\n{block}\n", finding.fix.edits)
            assert findings(changed.removeprefix("#!/bin/bash\n"), "26.05", "SB106") == []
