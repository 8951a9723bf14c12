"""The formats that other programs read, each read back as such a program does."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import jsonschema
import pytest

from conftest import HEAD, Command
from sbatchlint.check import Fix, Span, insert, replace
from sbatchlint.diagnostics import Diagnostic, Related
from sbatchlint.report import FORMATS
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.text import Source

DATA = Path(__file__).parent / "data"
TEXT = "#!/bin/bash\n#SBATCH -n 1\necho é日; srun a | b\x1b[31m\n"
# Every character that a line, a list, a URI, a table, XML or a terminal gives a meaning; bytes that are not UTF-8.
PATHS = (
    *("a b.sh", "a,b:c%20d.sh", "<a>&\"'.sh", "a|b`c*d.sh", "new\nline.sh", "tab\there\r.sh", "\x1b[31m.sh", "é日.sh"),
    *("\xa0\u202e.sh", "raw\udcff.sh", "line\u2028.sh"),
)
MESSAGE = 'it says "x" & <y>\x1b[31m, 100% | done;\nand more\udcff'


@pytest.fixture(autouse=True)
def no_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


def finding(path: str = "a.sh", text: str = TEXT, marked: str = "srun", severity: str = "error") -> Diagnostic:
    at = text.index(marked)
    span = Span(at, at + len(marked))
    fix = Fix("write it so", [replace(span, "srun\udcff -l")], safe=True)
    related = (Related(Span(0, 11), "the first\nline"),)
    url = "https://example.org/early-task-variable.md"
    return Diagnostic("SB401", "early-task-variable", severity, MESSAGE, span, related, fix, Source(text, path), url)


def rendered(output_format: str, found: list[Diagnostic]) -> str:
    text = renderer(output_format)(Report(found, len(found)), Terminal())
    assert text.endswith("\n")
    text.encode()  # no lone surrogates
    assert not {each for each in text if each < " "} - {"\n"}
    return text


def run_of(found: list[Diagnostic]) -> dict[str, Any]:
    value = json.loads(rendered("sarif", found))
    schema = json.loads((DATA / "sarif-schema-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER).validate(value)
    run: dict[str, Any] = value["runs"][0]
    return run


def test_sarif_is_valid_and_points_at_the_place() -> None:
    run = run_of([finding(path) for path in PATHS] + [finding(severity="info")])
    results = run["results"]
    assert [each["level"] for each in results] == ["error"] * len(PATHS) + ["note"]
    for path, result in zip(PATHS, results):
        place = result["locations"][0]["physicalLocation"]
        assert unquote_to_bytes(place["artifactLocation"]["uri"]) == path.encode("utf-8", "surrogateescape")
        assert place["region"] == {"startLine": 3, "startColumn": 10, "endLine": 3, "endColumn": 14}
        assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 1
        change = result["fixes"][0]["artifactChanges"][0]
        assert change["artifactLocation"] == place["artifactLocation"]
        assert change["replacements"][0]["deletedRegion"] == place["region"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("SB401", "EarlyTaskVariable")
    assert rule["shortDescription"]["text"] in rule["help"]["text"]


def test_sarif_without_findings_is_valid() -> None:
    assert run_of([])["results"] == []


def test_an_unsafe_fix_is_called_so() -> None:
    unsafe = finding()._replace(fix=Fix("guess", [insert(0, "#")]))
    assert run_of([unsafe])["results"][0]["fixes"][0]["description"]["text"] == "guess (unsafe: encodes a guess)"


def test_fingerprints_live_through_changes_elsewhere() -> None:
    moved = TEXT.replace("#SBATCH", "#SBATCH -N 1\n#SBATCH")
    twice = TEXT + "echo é日; srun a | b\x1b[31m\n"

    def prints(text: str, *places: int) -> list[str]:
        found = [finding(text=text)._replace(span=Span(at, at + 4)) for at in places]
        return [each["fingerprint"] for each in json.loads(rendered("gitlab", found))]

    assert prints(TEXT, TEXT.index("srun")) == prints(moved, moved.index("srun"))
    first, second = prints(twice, twice.index("srun"), twice.rindex("srun"))
    assert first != second
    assert [first] == prints(TEXT, TEXT.index("srun"))


def test_gitlab() -> None:
    values = json.loads(rendered("gitlab", [finding(path) for path in PATHS]))
    assert len({each["fingerprint"] for each in values}) == len(PATHS)
    for path, value in zip(PATHS, values):
        assert value["location"] == {"path": path.replace("\udcff", "\\xff"), "lines": {"begin": 3, "end": 3}}
        assert (value["check_name"], value["severity"]) == ("SB401", "major")
    assert rendered("gitlab", []) == "[]\n"


def test_junit() -> None:
    root = ElementTree.fromstring(rendered("junit", [finding(PATHS[0]), finding(PATHS[2]), finding(PATHS[0])]))
    assert [(each.get("name"), each.get("failures")) for each in root] == [(PATHS[0], "2"), (PATHS[2], "1")]
    assert root.get("tests") == "3"
    case = root[1][0]
    assert (case.get("name"), case.get("line")) == ("SB401 early-task-variable (3:10)", "3")
    assert case[0].get("message", "").startswith('it says "x" & <y>\\x1b[31m, 100% | done;\\nand more\\xff')
    clean = ElementTree.fromstring(rendered("junit", []))
    assert (clean.get("tests"), clean.get("failures"), len(clean.findall(".//failure"))) == ("1", "0", 0)


def test_checkstyle() -> None:
    root = ElementTree.fromstring(rendered("checkstyle", [finding(path) for path in PATHS]))
    shown = [path.replace("\x1b", "\\x1b").replace("\udcff", "\\xff") for path in PATHS]  # what XML cannot hold
    assert [each.get("name") for each in root] == shown
    error = root[0][0]
    assert (error.get("line"), error.get("column"), error.get("source")) == (
        "3",
        "10",
        "sbatchlint.SB401.early-task-variable",
    )


def test_github_finds_the_file() -> None:
    """What the runner makes of a property of a command is the path, but for what a log must not hold."""
    text = renderer("github")(Report([finding(path) for path in PATHS], 1), Terminal())
    paths = re.findall("^::error file=([^,]*),", text, re.M)
    expected = list(PATHS)
    for code, character in {"%2C": ",", "%3A": ":", "%0A": "\n", "%0D": "\r", "%25": "%"}.items():
        paths = [each.replace(code, character) for each in paths]
    for character, shown in {"\x1b": "\\x1b", "\u202e": "<U+202E>", "\u2028": "<U+2028>", "\udcff": "\\xff"}.items():
        expected = [each.replace(character, shown) for each in expected]
    assert paths == expected


def test_rdjson_counts_columns_in_bytes() -> None:
    (value,) = json.loads(rendered("rdjson", [finding()]))["diagnostics"]
    assert value["location"]["range"] == {"start": {"line": 3, "column": 13}, "end": {"line": 3, "column": 17}}
    assert value["suggestions"][0]["range"] == value["location"]["range"]
    several = finding()._replace(fix=Fix("x", [insert(0, "a"), insert(5, "b")]))
    assert "suggestions" not in json.loads(rendered("rdjson", [several]))["diagnostics"][0]


def test_markdown_is_a_table_with_one_row_for_each_finding() -> None:
    lines = rendered("markdown", [finding(path) for path in PATHS]).splitlines()
    rows = lines[4:]
    assert len(rows) == len(PATHS)
    for row in rows:
        bare = row.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 5
        assert "<a>" not in row and "<y>" not in row
    assert rendered("markdown", []).count("|") == 0


def test_a_step_of_github_gets_the_table(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG\n")
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    command()
    assert page.read_text().startswith("before\n**sbatchlint**: 1 finding")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "x"))
    assert "cannot write the step summary" in command().err


def test_paths_are_relative_to_the_workspace(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command.write("sub/a.sbatch", f"{HEAD}WRONG\n")
    top = Path.cwd()
    monkeypatch.chdir(top / "sub")
    monkeypatch.setenv("CI_PROJECT_DIR", str(top))
    (value,) = json.loads(command("--output-format", "gitlab").out)
    assert value["location"]["path"] == "sub/a.sbatch"


def test_a_report_with_wrong_names_is_read_by_git(command: Command, tmp_path: Path) -> None:
    """Names with blanks and control characters are what git finds under them."""
    name = "a b%\t,:.sbatch"
    command.write(name, f"{HEAD}WRONG\n")
    (value,) = json.loads(command("--output-format", "gitlab").out)
    listed = subprocess.run(["git", "hash-object", "--", value["location"]["path"]], capture_output=True, check=False)
    assert listed.returncode == 0


@pytest.mark.parametrize("form", FORMATS)
def test_names_that_are_not_utf_8_stay_apart(form: str) -> None:
    paths = ("\udcff\udcfe.sh", "\udcfe\udcff.sh")
    shown = renderer(form)(Report([finding(path) for path in paths], 2), Terminal())
    for code, uri in (("\\xff\\xfe.sh", "%FF%FE.sh"), ("\\xfe\\xff.sh", "%FE%FF.sh")):
        assert code in shown or code.replace("\\", "\\\\") in shown or uri in shown
