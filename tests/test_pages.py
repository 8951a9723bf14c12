"""The site of the documentation: what it is made of, and what its build refuses (tools/site)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools" / "site"))

import build
import links


def test_every_page_has_its_place() -> None:
    named = set(re.findall(r": (\S+\.md)$", (ROOT / "tools" / "site" / "mkdocs.yml").read_text(), re.MULTILINE))
    named |= set(re.findall(r": (\S+\.md)$", build.checks(), re.MULTILINE))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert named == pages


def test_links_out_of_the_documentation_lead_to_the_repository() -> None:
    text = (
        "[a](../SECURITY.md) [b](plan.md#x) [c](../editors/vscode) [d](ci/gitlab.yml) [e](nowhere.md) [f](https://a.b/)"
    )
    found = re.findall(r"\((.*?)\)", build.led(text, ROOT / "docs"))
    kept = [each for each in found if not each.startswith(build.SOURCE)]
    assert kept == ["plan.md#x", "nowhere.md", "https://a.b/"]
    assert f"{build.SOURCE}/blob/main/docs/ci/gitlab.yml" in found
    assert f"{build.SOURCE}/tree/main/editors/vscode" in found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="b/">there</a> <a href="b/#at">a place</a> <a href="#own">here</a><p id="own">', ""),
        ('<a href="https://example.org/">elsewhere, if a reader wants to</a>', ""),
        ('<a href="c/">', "leads nowhere: c/"),
        ('<a href="../../etc">', "leads nowhere: ../../etc"),
        ('<a href="b/#no">', "no such place: b/#no"),
        ('<img src="picture.svg">', "leads nowhere: picture.svg"),
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', "loads //fonts.example/a.css"),
        ('<link rel="canonical" href="https://example.org/">', ""),
    ],
)
def test_what_is_wrong_with_a_page(tmp_path: Path, body: str, said: str) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.html").write_text('<h1 id="at">b</h1>')
    (tmp_path / "index.html").write_text(body)
    assert links.problems(tmp_path) == ([f"index.html: {said}"] if said else [])


# What Pyodide has not: other processes, the machine's users, and what is installed beside sbatchlint.
LACKING = ("multiprocessing", "fcntl", "pwd", "grp", "resource", "termios", "msgspec", "markdown_it", "yaml")
IN_A_BROWSER = f"""
import json, sys
sys.modules |= dict.fromkeys({LACKING})
exec(open("tools/site/playground/playground.py").read())
text = "#!/bin/bash\\n#SBATCH --nodes =2\\nsrun ./a\\n"
found = json.loads(answer(text, "23.11"))
print([each["code"] for each in found["findings"]], found["fixed"] == text.replace(" =", "="), found["picture"][:4])
"""


def test_the_core_needs_nothing_that_a_browser_lacks() -> None:
    command = [sys.executable, "-c", IN_A_BROWSER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "['SB108'] True <svg\n", done.stderr


def test_directives_are_told_from_comments() -> None:
    pygments = pytest.importorskip("pygments")
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import BashLexer

    script = "#!/bin/bash\n#SBATCH --nodes=2\n##SBATCH --time=1\n# a comment\n  #SBATCH -c 4\nsrun ./a #SBATCH\n"
    for anchors in ({}, {"lineanchors": "x", "anchorlinenos": True}):
        page = build.with_directives(pygments.highlight(script, BashLexer(), HtmlFormatter(**anchors)))
        assert re.findall(r'class="c1 directive">([^<]*)<', page) == ["#SBATCH --nodes=2"]
