"""The reading of #PBS and #BSUB lines, compared with what Slurm did.

tests/data/foreign.jsonl holds scripts and what the sbatch of four Slurms (22.05.8, 23.11.4, 24.11.7 and 26.05.3) made
of them: the options that it had set for each component (`sbatch --verbose`), or the message with which it gave up.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbatchlint.bash.values import Text
from sbatchlint.engine import lint_source
from sbatchlint.settings import Settings
from sbatchlint.slurm.directives import UNKNOWN, Directives, read_directives
from sbatchlint.slurm.foreign import Foreign, read_foreign
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.slurm.model import ForeignSetting, Problem
from sbatchlint.slurm.versions import MAJORS, is_before
from sbatchlint.source.text import Source

DATA = Path(__file__).parent / "data" / "foreign.jsonl"
VERSIONS = ("22.05", "23.11", "24.11", "26.05")


def read(text: str, versions: tuple[str, str] = ("22.05", "26.05")) -> Directives:
    return read_directives(Text.of_file(text), versions)


def foreign(*lines: str, versions: tuple[str, str] = ("22.05", "26.05")) -> Foreign:
    found = read("#!/bin/bash\n" + "".join(f"{line}\n" for line in lines), versions).foreign
    assert found is not None
    return found


def values(found: Foreign) -> list[tuple[str, str | None]]:
    return [(each.name, each.value) for each in found.settings]


def records() -> list[tuple[str, dict[str, object]]]:
    lines = DATA.read_text(encoding="utf-8").splitlines()
    return [(record["script"], record["slurm"]) for record in map(json.loads, lines)]


def plain(name: str, value: str | None) -> object:
    """A value in the form in which sbatch shows it, or both in a common one."""
    if value is None:
        return {"nice": "100", "exclusive": "exclusive"}.get(name, "set")
    if name == "time":
        return minutes(value.partition(".")[0])
    if name in ("mem", "mem-per-cpu", "tmp"):
        return megabytes(value)
    if name in ("output", "error", "chdir"):
        return value.removeprefix("/cwd/")
    if name in ("gres", "gpus-per-node"):
        return re.sub(r"gres[:/]|gpu[:/]", "", value)
    if name == "nodelist":
        return value.replace("node[1-2]", "node1,node2")
    if name == "nice":
        return value if value.lstrip("-").isdigit() else "0"
    # Shown as the day that it comes to be.
    return "a day" if name == "begin" else value


def expected(directives: Directives, component: int, version: str) -> dict[str, object]:
    """The options of a component as we read them, the foreign ones over the block's own."""
    found: dict[str, str | None] = {}
    for setting in directives.settings:
        if directives.last(setting.name, component) is setting:
            found[setting.name] = setting.value
    for other_setting in directives.foreign.settings if directives.foreign is not None else ():
        found[other_setting.name] = other_setting.applied_to(found.get(other_setting.name))
    # Set through an option that sbatch does not show.
    found.pop("umask", None)
    return {name: plain(name, value) for name, value in found.items()}


# Said only when all options are read, and no business of these lines alone.
LATER = re.compile("mutually exclusive|unrecognized option")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_sbatch_made_of_it(version: str) -> None:
    counted: Counter[str] = Counter()
    for script, verdicts in records():
        verdict = verdicts.get(version) or verdicts["all"]
        assert isinstance(verdict, dict)
        directives = read(script, (version, version))
        found = directives.foreign
        rejection = found.rejection(version) if found is not None else None
        if "options" in verdict:
            counted["accepted"] += 1
            assert rejection is None, (script, rejection)
            ours = expected(directives, 0, version)
            theirs = {name: plain(name, value) for name, value in verdict["options"][0].items()}
            if list(ours) == ["mail-type"] and is_before(version, "25.05"):
                # Types of several lines came together; that is no matter of these lines.
                assert ours["mail-type"] == "END" or ours == theirs
                continue
            assert ours == theirs, (script, version)
        elif LATER.search(verdict["message"]):
            counted["later"] += 1
        else:
            counted["refused"] += 1
            assert rejection is not None, (script, verdict["message"])
            assert verdict["message"].endswith(rejection), (script, rejection, verdict["message"])
    assert counted["accepted"] > 170 and counted["refused"] >= 58 and counted["later"] <= 4


def test_table_has_both_dialects() -> None:
    scripts = [script for script, _ in records()]
    assert sum("#PBS" in script for script in scripts) > 150
    assert sum("#BSUB" in script for script in scripts) > 35


def test_spans_are_of_the_part_that_says_it() -> None:
    script = "#!/bin/bash\n#SBATCH -N 1\n#PBS -l nodes=2:ppn=4:gpus=1,walltime=5 -N 'my job' -Vq gpu  # and so on\n"
    found = read(script).foreign
    assert found is not None
    written = [(each.name, script[each.span.start : each.span.end]) for each in found.settings]
    assert written == [
        ("gpus-per-node", "gpus=1"),
        ("nodes", "nodes=2:ppn=4:gpus=1"),
        ("ntasks", "nodes=2:ppn=4:gpus=1"),
        ("time", "walltime=5"),
        ("job-name", "-N 'my job'"),
        ("partition", "q gpu"),
    ]
    problem = foreign("#PBS -V -P project -q batch").problem
    assert problem is not None
    assert (problem.written, problem.message) == ("-P", "Unrecognized command line parameter ?")


def test_releases() -> None:
    found = foreign("#PBS -w /tmp")
    assert [(each.name, each.versions) for each in found.settings] == [("chdir", MAJORS[3:])]
    assert [(each.kind, each.versions) for each in found.problems] == [("unknown-option", ("22.05",))]
    found = foreign("#PBS -N a\\ b")
    assert [(each.value, each.versions) for each in found.settings] == [
        ("a", ("22.05", "23.02", "23.11")),
        ("a b", MAJORS[5:]),
    ]
    assert found.rejection("23.11") == "Invalid argument: b" and found.rejection("24.05") is None


def test_unknown_parts_are_not_known() -> None:
    found = foreign("#PBS -l nodes={{ nodes }}:ppn=8,walltime={{ hours }}:00:00", "#PBS -q {{ queue }} {{ more }}")
    assert found.problem is None and not found.certain
    assert {name for name, value in values(found) if UNKNOWN in (value or "")} == {
        "nodes", "ntasks", "time", "partition",
    }  # fmt: skip
    assert all(each.text is None for each in found.settings)
    assert foreign("#PBS -q batch").certain


def test_reading_goes_on_behind_a_problem() -> None:
    found = foreign("#BSUB -P project", '#BSUB -R "span[hosts=1] rusage[mem=4]"', "#BSUB -q batch extra words")
    assert [each.written for each in found.problems] == ["-P", "-R", "extra"]
    assert values(found) == [("partition", "batch")]


def test_nothing_foreign() -> None:
    assert read("#!/bin/bash\n#SBATCH -N 1\n# PBS\n").foreign is None
    assert read("#!/bin/bash\n#SBATCH --ignore-pbs\n#PBS -q x\n").foreign is None
    assert read_foreign(Text.of_file("echo '#PBS'\n"), MAJORS) is None


def effects(*lines: str, version: str = "22.05-26.05") -> list[tuple[str, str]]:
    text = "#!/bin/bash\n" + "".join(f"{line}\n" for line in lines)
    found = lint_source(Source(text, "a"), Settings.of_table({"slurm-version": version}, select=["foreign-directive"]))
    return [(each.severity, re.split(" lines too, (?:so )?", each.message)[1].partition("; ")[0]) for each in found]


def test_effects() -> None:
    assert effects("#SBATCH -t 60", "#PBS -l walltime=01:00:00") == []
    assert effects("#SBATCH -t 60", "#PBS -l walltime=3600") == [
        ("warning", "--time=3600 (minutes) replaces -t 60 on line 2")
    ]
    assert effects("#SBATCH -t 60", "#PBS -l walltime=00:01:00")[0][0] == "error"
    assert effects("#SBATCH --mem=4G", "#PBS -l mem=4096mb") == []
    assert effects("#SBATCH -N 2 --ntasks-per-node=4", "#PBS -l nodes=2:ppn=4") == []
    more = effects("#SBATCH -N 2 --ntasks-per-node=4", "#PBS -l nodes=2:ppn=8")
    assert more == [("warning", "this one sets --ntasks=16")]
    gres = effects("#SBATCH --gres=gpu:1", "#PBS -l naccelerators=2")
    assert gres == [("error", "--gres=gpu:1,gpu:2 replaces --gres=gpu:1 on line 2")]
    # What sbatch does with the other lines is of no interest where it refuses one.
    refused = effects("#SBATCH -t 60", "#PBS -P x", "#PBS -l walltime=5")
    assert refused == [("error", "and refuses the script: there is no option -P")]
    ((_, beside),) = effects("#SBATCH --mem-per-cpu=1G", "#PBS -l mem=4gb")
    assert beside == "and refuses --mem=4g together with --mem-per-cpu on line 2"
    mail = "--mail-type=END replaces --mail-type=ALL on line 2"
    assert effects("#SBATCH --mail-type=ALL", "#PBS -m e") == [("warning", f"{mail} (in Slurm 25.05 and later)")]
    assert effects("#SBATCH --mail-type=ALL", "#PBS -m e", version="22.05-24.11") == []
    # An unknown value may well be the same.
    assert effects("#SBATCH -t {{ time }}", "#PBS -l walltime=5") == []


_WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["-l", "-q", "-N", "--", "--jo", "-Vh", "-n", "-R", "-cwd", "''", "'a b'", "\\ ", "#", ":", "-"]
        ),
        st.sampled_from(["nodes=2:ppn=3", "select=1:ncpus=4:mpiprocs=2", "mem=b", "walltime=", "naccelerators=x"]),
        st.text("-+=:,a1'\"\\ {}#", max_size=6),
    ),
    max_size=8,
)


@given(st.sampled_from(["#PBS", "#BSUB"]), st.lists(_WORDS, min_size=1, max_size=4))
def test_any_words(magic: str, lines: list[list[str]]) -> None:
    """Never an error, and every span lies in a line of its own."""
    script = "#!/bin/bash\n" + "".join(f"{magic} {' '.join(words)}\n" for words in lines)
    found = read_foreign(Text.of_file(script), MAJORS)
    assert found is not None
    entries: list[ForeignSetting | Problem] = [*found.settings, *found.problems]
    for entry in entries:
        assert entry.span.start < entry.span.end, (script, entry)
        assert entry.line.span.start <= entry.span.start and entry.span.end <= entry.line.span.end
        assert entry.versions is None or 0 < len(entry.versions) < len(MAJORS)
