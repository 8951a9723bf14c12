"""The extension for VS Code in editors/vscode: what it expects of sbatchlint is so, and its snippets have no findings.

What the extension does is tested by `npm test` in its folder, which .ci/run runs.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from sbatchlint import __version__
from sbatchlint.configuration import LEVELS
from sbatchlint.source.discover import BATCH_ENDINGS

EXTENSION = ROOT / "editors" / "vscode"


def read(name: str) -> Any:
    return json.loads((EXTENSION / name).read_text(encoding="utf-8"))


PACKAGE = read("package.json")
SNIPPETS = read("snippets/sbatch.json")


def sbatchlint(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sbatchlint", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


def test_the_versions_agree() -> None:
    assert PACKAGE["version"] == read("package-lock.json")["version"] == __version__
    oldest, ours = ([*map(int, re.findall(r"\d+", each))] for each in (PACKAGE["sbatchlint"]["oldest"], __version__))
    assert oldest <= ours


def test_the_version_is_told_as_the_extension_reads_it() -> None:
    done = sbatchlint(*PACKAGE["sbatchlint"]["version"])
    assert done.returncode == 0
    assert re.match(r"sbatchlint (\d+(?:\.\d+)*)", done.stdout)[1] == __version__


def test_the_server_offers_what_the_extension_asks_for() -> None:
    sent = ""
    for message in (
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ):
        body = json.dumps({"jsonrpc": "2.0", **message})
        sent += f"Content-Length: {len(body)}\r\n\r\n{body}"
    command = [sys.executable, "-m", "sbatchlint", *PACKAGE["sbatchlint"]["server"]]
    done = subprocess.run(command, input=sent.encode(), cwd=ROOT, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    answers = [json.loads(each) for each in re.findall(rb"\r\n\r\n(\{.*?\})(?=Content-Length:|\Z)", done.stdout, re.S)]
    (offered,) = [each["result"]["capabilities"] for each in answers if each.get("id") == 1]
    assert "source.fixAll.sbatchlint" in offered["codeActionProvider"]["codeActionKinds"]
    commands = {*offered["executeCommandProvider"]["commands"]}
    assert PACKAGE["sbatchlint"]["plan"] in commands
    # VS Code registers those of the server itself, and refuses a second one of the same name.
    assert not commands & {each["command"] for each in PACKAGE["contributes"]["commands"]}


def test_the_endings_are_those_of_batch_scripts() -> None:
    (language,) = PACKAGE["contributes"]["languages"]
    # Some clusters call their scripts .sl, which are otherwise S-Lang; .job and .batch have other meanings, too.
    assert {*language["extensions"]} == {*BATCH_ENDINGS} - {".job", ".batch"} | {".sl"}


def test_what_it_contributes_exists() -> None:
    contributed = PACKAGE["contributes"]
    for each in [*contributed["grammars"], *contributed["snippets"]]:
        read(each["path"])
    read(contributed["languages"][0]["configuration"])
    declared = {each["command"] for each in contributed["commands"]}
    registered = {*re.findall(r'registerCommand\("([^"]+)"', (EXTENSION / "src/extension.ts").read_text())}
    assert declared == registered
    assert {each["command"] for menu in contributed["menus"].values() for each in menu} <= declared
    assert set(PACKAGE["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]) <= set(
        contributed["configuration"]["properties"]
    )


def test_the_lock_file_names_no_registry() -> None:
    text = (EXTENSION / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "registry" not in text


def script_of(body: list[str]) -> str:
    """A script as the snippet leaves it when nothing is typed over."""
    defaults: dict[str, str] = {}

    def text(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"]
        if match["default"] is not None:
            defaults[match["stop"]] = match["default"]
            return match["default"]
        return defaults[match["again"]]

    part = r"\\(?P<escaped>[$}\\])|\$\{(?P<stop>\d+):(?P<default>[^}]*)\}|\$(?P<again>\d+)"
    return re.sub(part, text, "\n".join(body))


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_has_no_findings(name: str, tmp_path: Path) -> None:
    script = script_of(SNIPPETS[name]["body"])
    assert script.startswith("#!/bin/bash\n#SBATCH ") and script.endswith("\n")
    (tmp_path / "job.sbatch").write_text(script)
    options = ("--isolated", "--no-cache", "--min-severity", "info", "--fail-on", "info")
    done = sbatchlint(*options, "job.sbatch", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no findings in 1 script" in done.stdout, done.stdout
    plan = json.loads(sbatchlint("plan", "--output-format", "json", "job.sbatch", cwd=tmp_path).stdout)
    assert plan["request"]["accepted"] is True
    assert len(plan["steps"]) == 1


def test_docs_name_every_command_and_setting() -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    for each in PACKAGE["contributes"]["commands"]:
        assert f"{each['category']}: {each['title']}" in text
    for name, setting in PACKAGE["contributes"]["configuration"]["properties"].items():
        assert f"`{name}`" in text
        assert set(setting.get("enum", [])) <= {"", "off", "messages", "verbose", *LEVELS}
    assert PACKAGE["sbatchlint"]["install"].replace("--upgrade ", "") in text
    assert shlex.split(PACKAGE["sbatchlint"]["install"])[-1] == "sbatchlint[lsp]"
