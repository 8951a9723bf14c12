"""What findings rest on: nothing but what is recorded, and can be asked again."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from sbatchlint.engine import inspect
from sbatchlint.settings import Settings
from sbatchlint.source import lookups
from sbatchlint.source.text import Source

# Modules that look at files, programs or the environment; and what may be done with them where findings are made.
LAYERS = (
    "checks",
    "sbatchlint/analysis",
    "sbatchlint/bash",
    "sbatchlint/job",
    "sbatchlint/slurm",
    "sbatchlint/check.py",
)
ON_TEXT = {
    "abspath",
    "basename",
    "commonpath",
    "dirname",
    "isabs",
    "join",
    "normpath",
    "relpath",
    "sep",
    "split",
    "splitext",
}
# What is read of our own data; and bash, of which `lookups` tells where it is.
ALLOWED = {
    ("sbatchlint/slurm/environment.py", "open"),
    ("sbatchlint/slurm/notes.py", "open"),
    ("sbatchlint/slurm/options.py", "open"),
    ("checks/sb001_syntax_error.py", "os.environ"),
    ("checks/sb001_syntax_error.py", "os.environ.items"),
    ("checks/sb001_syntax_error.py", "subprocess"),
}
FORBIDDEN = {"pathlib", "glob", "shutil", "subprocess", "socket", "platform", "time", "datetime", "random", "tempfile"}


def looks(path: Path) -> Iterator[str]:
    """What a module asks of the system."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            yield "open"
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in FORBIDDEN | {"os"}:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in FORBIDDEN)
        elif isinstance(node, ast.Attribute):
            said = ast.unparse(node)
            if said.startswith("os.") and said.count(".") < 3 and said != "os.path" and node.attr not in ON_TEXT:
                yield said


@pytest.mark.slow
def test_findings_rest_on_nothing_that_is_not_recorded() -> None:
    found = set()
    for layer in LAYERS:
        place = ROOT / layer
        for path in [place] if place.is_file() else place.rglob("*.py"):
            found |= {(path.relative_to(ROOT).as_posix(), each) for each in looks(path)}
    assert found - ALLOWED == set(), "ask sbatchlint.source.lookups, so that kept results are given up when it changes"


def test_the_record_of_every_lookup(tmp_path: Path) -> None:
    """Every question has the same answer again, and another one after what it is about has changed."""
    (tmp_path / "folder").mkdir()
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("text")
    link.symlink_to(file)
    record = lookups.begin_record()
    assert lookups.exists(str(file))
    assert lookups.is_file(str(file))
    assert lookups.is_folder(str(tmp_path / "folder"))
    assert lookups.is_same_file(str(file), str(link))
    assert lookups.real_path(str(link)) == os.path.realpath(file)
    assert lookups.names_in(str(tmp_path)) == ("file", "folder", "link")
    assert lookups.names_in(str(file)) == ()
    assert lookups.read(str(file), 3) == b"tex"
    assert lookups.read(str(tmp_path / "none"), 3) is None
    assert lookups.program("bash")
    assert lookups.program("no-such-program") is None
    lookups.end_record()
    lookups.exists("not recorded any more")
    assert len(record.answers) == 11
    kept = json.loads(json.dumps(list(record.answers.items())))
    assert all(lookups.ask_again(tuple(question)) == answer for question, answer in kept)
    file.unlink()
    (tmp_path / "folder").rmdir()
    link.unlink()
    changed = {question for question, answer in record.answers.items() if lookups.ask_again(question) != answer}
    assert {str(name) for name, *_ in changed} == {
        "exists", "is_file", "is_folder", "is_same_file", "real_path", "names_in", "read",
    }  # fmt: skip


def test_at_rest_a_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    os.utime(file, (0, 0))
    lookups.assume_unchanged(True)
    assert lookups.read(str(file), 3) == b"old"
    file.write_text("new")
    assert lookups.read(str(file), 3) == b"old"
    lookups.assume_unchanged(False)
    assert lookups.read(str(file), 3) == b"new"


@pytest.mark.parametrize(("folder", "codes"), [("runs", []), ("other", ["SB707"])])
def test_a_folder_that_holds_the_script_is_there(tmp_path: Path, folder: str, codes: list[str]) -> None:
    script = tmp_path / "runs" / "job.sh"
    script.parent.mkdir()
    text = f"#!/bin/bash\n#SBATCH --chdir=/home/ada/{folder}\nmkdir -p /home/ada/{folder}\nsrun ./solve\n"
    script.write_text(text)
    found = inspect(Source(text, str(script)), Settings.of_table({}, select=["SB707"])).diagnostics
    assert [each.code for each in found] == codes
